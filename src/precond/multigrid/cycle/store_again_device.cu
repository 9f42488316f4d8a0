/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New values of stored levels on the GPU: scaled, rounded and put to their places in one pass, which also finds the
 * magnitudes that the precision of a level depends on.
 */
#include "format/bsr/bsr_rows.h"
#include "format/dia/dia_tiles.cuh"
#include "format/ellr/ellr_rows.h"
#include "matrix/assembled.h"
#include "precond/multigrid/extremes_device.cuh"

namespace {

/* What a thread knows of the rows that it has seen: the largest entry, and the smallest of the rows' largest. */
struct row_extremes {
    double largest, smallest;

    __device__ inline void add_row(double most)
    {
        largest = fmax(largest, most);
        if (most > 0.0) { smallest = fmin(smallest, most); }
    }
};

/* The largest of the team's values. All lanes of the wave call it. */
__device__ inline double largest_of_team(double value)
{
    for (int distance = TEAM / 2; distance > 0; distance /= 2) {
        value = fmax(value, GPU_SHUFFLE_XOR(value, distance));
    }
    return value;
}

/* ---- rows ---- */

__global__ void __launch_bounds__(GPU_BLOCK)
    store_rows_kernel(const amg_device_scaled s, tess_precision precision, void *val, amg_device_extremes *of_all)
{
    row_extremes found = {0.0, DBL_MAX};

    for (int64_t base = first_team(); base - team_in_wave() < s.a.nrows; base += all_teams()) {
        const team_span row = open_span(s.a.nrows, s.a.row_ptr, base);
        double most = 0.0;

        for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
            const double value = scaled_entry(s, row.row, k);

            most = fmax(most, fabs(value));
            store_value(precision, val, static_cast<int64_t>(k), value);
        }
        found.add_row(largest_of_team(most));
    }
    if (of_all) { join_extremes(of_all, found.smallest, found.largest); }
}

/* ---- slices: a thread takes a row ---- */

__global__ void __launch_bounds__(GPU_BLOCK)
    store_slices_kernel(const amg_device_scaled s, const ellr_view v, amg_device_extremes *of_all)
{
    row_extremes found = {0.0, DBL_MAX};

    for (int64_t p = first_thread(); p < v.nslices * ELLR_SLICE; p += all_threads()) {
        const ellr_slice slice = v.slice[p / ELLR_SLICE];
        const int64_t row = ellr_row(&v, slice, p), place = ellr_first_value(slice) + p % ELLR_SLICE;
        const int32_t length = ellr_length(&v, p), begin = length > 0 ? s.a.row_ptr[row] : 0;
        double most = 0.0;

        for (int32_t k = 0; k < length; k++) {
            const double value = scaled_entry(s, row, begin + k);

            most = fmax(most, fabs(value));
            store_value(v.precision, v.val, place + static_cast<int64_t>(k) * ELLR_SLICE, value);
        }
        found.add_row(most);
    }
    if (of_all) { join_extremes(of_all, found.smallest, found.largest); }
}

/* ---- blocks of nodes ---- */

/* The block of a block row that has a column. Where all rows of a node have the same columns it is that of the entry's
   number in its row; else it is searched. */
__device__ inline int64_t block_with(const bsr_view &v, int64_t block_row, int32_t entry, int32_t column)
{
    int64_t low = bsr_offset(&v, block_row), high = bsr_offset(&v, block_row + 1);
    const int64_t likely = low + entry / v.width;

    if (likely < high) {
        const int64_t first = bsr_column(&v, block_row, likely);

        if (first <= column && column < first + v.width) { return likely; }
    }
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;

        if (bsr_column(&v, block_row, middle) <= column) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Places without an entry stay 0. */
__global__ void __launch_bounds__(GPU_BLOCK)
    store_nodes_kernel(const amg_device_scaled s, const bsr_view v, amg_device_extremes *of_all)
{
    row_extremes found = {0.0, DBL_MAX};

    for (int64_t base = first_team(); base - team_in_wave() < s.a.nrows; base += all_teams()) {
        const team_span row = open_span(s.a.nrows, s.a.row_ptr, base);
        const int64_t block_row = row.row / v.height;
        const int r = static_cast<int>(row.row % v.height);
        double most = 0.0;

        for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
            const double value = scaled_entry(s, row.row, k);
            const int32_t column = s.a.col_ind[k];
            const int64_t block = block_with(v, block_row, k - row.begin, column);

            most = fmax(most, fabs(value));
            store_value(v.precision, v.val, bsr_place(&v, block, r, column - bsr_column(&v, block_row, block)), value);
        }
        found.add_row(largest_of_team(most));
    }
    if (of_all) { join_extremes(of_all, found.smallest, found.largest); }
}

/* ---- diagonals ---- */

/* The rows of a scaled matrix for tiles of diagonals. */
struct scaled_rows {
    amg_device_scaled s;
    row_extremes found;

    __device__ inline int64_t begin(int64_t row) const
    {
        return row < s.a.nrows ? s.a.row_ptr[row] : 0;
    }
    __device__ inline int64_t end(int64_t row) const
    {
        return row < s.a.nrows ? s.a.row_ptr[row + 1] : 0;
    }
    __device__ inline int64_t column(int64_t k) const
    {
        return s.a.col_ind[k];
    }
    __device__ inline double value(int64_t row, int64_t k) const
    {
        return scaled_entry(s, row, static_cast<int32_t>(k));
    }
    __device__ inline void see(double most)
    {
        found.add_row(largest_of_team(most));
    }
};

__global__ void __launch_bounds__(GPU_BLOCK)
    store_diagonals_kernel(const amg_device_scaled s, const dia_view v, amg_device_extremes *of_all)
{
    scaled_rows rows = {s, {0.0, DBL_MAX}};

    static_assert((int)DIA_TILE_GROUP == (int)TEAM, "a row is a team's");
    dia_store_tiles(v, rows);
    if (of_all) { join_extremes(of_all, rows.found.smallest, rows.found.largest); }
}

/* ---- launches ---- */

tess_status store_diagonals(tess_context *ctx, const amg_device_scaled *s, const dia_view *v,
                            amg_device_extremes *of_all)
{
    store_diagonals_kernel<<<dia_tile_grid(ctx, v, PASS_BLOCKS), GPU_BLOCK, dia_tile_space(v), gpu_stream_of(ctx)>>>(
        *s, *v, of_all);
    return gpu_check_launch(ctx, "new values of diagonals");
}

tess_status store_slices(tess_context *ctx, const amg_device_scaled *s, const ellr_view *v, amg_device_extremes *of_all)
{
    store_slices_kernel<<<gpu_grid(ctx, v->nslices * ELLR_SLICE, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        *s, *v, of_all);
    return gpu_check_launch(ctx, "new values of slices");
}

tess_status store_nodes(tess_context *ctx, const amg_device_scaled *s, const bsr_view *v, amg_device_extremes *of_all)
{
    store_nodes_kernel<<<gpu_grid(ctx, s->a.nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*s, *v,
                                                                                                            of_all);
    return gpu_check_launch(ctx, "new values of blocks");
}

tess_status store_rows(tess_context *ctx, const amg_device_scaled *s, csr_storage *storage, amg_device_extremes *of_all)
{
    store_rows_kernel<<<gpu_grid(ctx, s->a.nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        *s, storage->view.precision, csr_own_values(storage), of_all);
    return gpu_check_launch(ctx, "new values of rows");
}

} // namespace

tess_status amg_device_store_again(tess_context *ctx, const amg_device_scaled *s, amg_device_extremes *of_all,
                                   tess_matrix *m, bool *taken)
{
    gpu_scope scope(ctx);

    *taken = true;
    if (m->ops->role == TESS_ROLE_SLICES) {
        return store_slices(ctx, s, &static_cast<const ellr_storage *>(m->storage)->view, of_all);
    }
    if (m->ops->role == TESS_ROLE_NODES) {
        return store_nodes(ctx, s, &static_cast<const bsr_storage *>(m->storage)->view, of_all);
    }
    if (m->format == TESS_FORMAT_CSR) { return store_rows(ctx, s, static_cast<csr_storage *>(m->storage), of_all); }
    if (m->ops->role == TESS_ROLE_DIAGONALS) {
        const dia_view *v = &static_cast<const dia_storage *>(m->storage)->view;

        if (v->ndiagonals <= DIA_MOST_TILED) { return store_diagonals(ctx, s, v, of_all); }
    }
    *taken = false;
    return TESS_SUCCESS;
}
