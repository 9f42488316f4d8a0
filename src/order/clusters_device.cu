/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of the order by clusters on a GPU, a thread for each row. Whatever the order of threads, the results are
 * those of the host: passes read labels of the pass before, sums are of integers, and of several neighbours in a slot
 * the highest stays.
 */
#include "device/gpu/scan_grid.cuh"
#include "matrix/device_csr.h"
#include "matrix/team.cuh"
#include "order/clusters.h"

namespace {

enum { CLUSTER_BLOCKS = 16, ROW_TEAM = 8, MOST_RANKED = 64 };

#define FOR_EACH(i, n) \
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < (n); i += (int64_t)gridDim.x * GPU_BLOCK)

__device__ int64_t offset_of(const csr_view &v, int64_t i)
{
    return tess_row_offset(v.row_ptr, v.row_ptr_bits, i);
}

unsigned grid_of(const tess_context *ctx, int64_t n)
{
    return gpu_grid(ctx, n, CLUSTER_BLOCKS);
}

/* ---- cells ---- */

__global__ void __launch_bounds__(GPU_BLOCK) seed_kernel(int64_t n, int generation, int32_t *label)
{
    FOR_EACH(i, n)
    {
        label[i] = cluster_label(generation, i, label[i]);
    }
}

tess_status seed(tess_context *ctx, int64_t n, int generation, int32_t *label)
{
    gpu_scope scope(ctx);

    return gpu_launch(ctx, "seeds of cells", seed_kernel, grid_of(ctx, n), 0, n, generation, label);
}

__global__ void __launch_bounds__(GPU_BLOCK)
    grow_kernel(csr_view v, int pass, const int32_t *from, int32_t *to, uint8_t *reached)
{
    FOR_EACH(i, v.nrows)
    {
        int32_t label = from[i];

        if (label < 0) {
            const int64_t end = offset_of(v, i + 1);

            for (int64_t k = offset_of(v, i); label < 0 && k < end; k++) {
                label = from[v.col_ind[k]];
            }
            if (label >= 0) { reached[i] = (uint8_t)pass; }
        }
        to[i] = label;
    }
}

tess_status grow(tess_context *ctx, const csr_view *v, int pass, const int32_t *from, int32_t *to, uint8_t *reached)
{
    gpu_scope scope(ctx);

    return gpu_launch(ctx, "growing cells", grow_kernel, grid_of(ctx, v->nrows), 0, *v, pass, from, to, reached);
}

__global__ void __launch_bounds__(GPU_BLOCK) count_kernel(int64_t n, const int32_t *label, unsigned long long *count)
{
    unsigned long long mine = 0;

    FOR_EACH(i, n)
    {
        mine += label[i] < 0;
    }
    if (mine > 0) { atomicAdd(count, mine); }
}

tess_status count(tess_context *ctx, int64_t n, const int32_t *label, int64_t *out)
{
    gpu_scope scope(ctx);
    unsigned long long *sum = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *sum, (void **)&sum));
    TESS_TRY(ctx->backend->zero(ctx, sum, sizeof *sum));
    TESS_TRY(gpu_launch(ctx, "rows without a cell", count_kernel, grid_of(ctx, n), 0, n, label, sum));
    status = ctx->backend->download(ctx, out, sum, sizeof *out);
cleanup:
    tess_device_release(ctx, sum, 1, sizeof *sum);
    return status;
}

__global__ void __launch_bounds__(GPU_BLOCK) mark_kernel(int64_t n, const int32_t *label, int32_t *first)
{
    FOR_EACH(i, n)
    {
        first[i + 1] = label[i] == i;
    }
}

__global__ void __launch_bounds__(GPU_BLOCK)
    number_kernel(int64_t n, const int32_t *of_seed, int64_t cells, int32_t *label)
{
    FOR_EACH(i, n)
    {
        label[i] = cluster_number(of_seed, cells, label[i], i);
    }
}

tess_status number(tess_context *ctx, int64_t n, int32_t *label, int64_t *cells)
{
    gpu_scope scope(ctx);
    int32_t *of_seed = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, n + 1, sizeof *of_seed, (void **)&of_seed));
    TESS_TRY(gpu_launch(ctx, "marking cells", mark_kernel, grid_of(ctx, n), 0, n, label, of_seed));
    TESS_TRY(gpu_sum_lengths(ctx, n, of_seed, cells));
    status = gpu_launch(ctx, "numbering cells", number_kernel, grid_of(ctx, n), 0, n, of_seed, *cells, label);
cleanup:
    tess_device_release(ctx, of_seed, n + 1, sizeof *of_seed);
    return status;
}

__global__ void __launch_bounds__(GPU_BLOCK)
    neighbours_kernel(csr_view v, int64_t cells, const int32_t *cell, int32_t *slot)
{
    FOR_EACH(i, v.nrows)
    {
        const int64_t end = offset_of(v, i + 1);
        const int32_t mine = cell[i];

        for (int64_t k = offset_of(v, i); mine < cells && k < end; k++) {
            const int32_t other = cell[v.col_ind[k]];

            if (other == mine || other >= cells) { continue; }
            int32_t *const to = &slot[cluster_slot(mine, other)];

            if (*(volatile const int32_t *)to <= other) { atomicMax(to, other + 1); }
        }
    }
}

tess_status neighbours(tess_context *ctx, const csr_view *v, int64_t cells, const int32_t *cell, int32_t *slot)
{
    gpu_scope scope(ctx);

    return gpu_launch(ctx, "neighbours of cells", neighbours_kernel, grid_of(ctx, v->nrows), 0, *v, cells, cell, slot);
}

/* ---- the order ---- */

/* Rows of one key in `pieces` bins, so that no block sorts all rows of a large cell. */
struct key_bins {
    int64_t bins, pieces, rows; /* rows of the matrix in a piece */
};

__global__ void __launch_bounds__(GPU_BLOCK)
    keys_kernel(int64_t n, int64_t cells, int depth, const int32_t *cell, const int32_t *cell_place,
                const uint8_t *reached, const key_bins by, int32_t *key, int32_t *row_ptr)
{
    FOR_EACH(i, n + 1)
    {
        row_ptr[i] = (int32_t)i;
        if (i == n) { continue; }
        key[i] = (int32_t)(cluster_key(cells, depth, cell_place, cell[i], reached[i]) * by.pieces + i / by.rows);
    }
}

/* Rows with one entry each, in the column of their key: the rows of the transpose have them in order. */
tess_status sort(tess_context *ctx, int64_t n, int64_t cells, int depth, const int32_t *cell, const int32_t *cell_place,
                 const uint8_t *reached, int32_t *perm)
{
    gpu_scope scope(ctx);
    key_bins by = {(cells + n / CLUSTER_REST + 1) * depth, 1, n};
    device_csr rows = {}, sorted = {};
    tess_status status = TESS_SUCCESS;

    if (n / by.bins > 1) {
        by.pieces = n / by.bins;
        by.rows = (n + by.pieces - 1) / by.pieces;
    }
    TESS_TRY(device_csr_allocate_rows(ctx, n, by.bins * by.pieces, &rows));
    TESS_TRY(device_csr_allocate_entries(ctx, n, false, &rows));
    TESS_TRY(gpu_launch(ctx, "keys of rows", keys_kernel, grid_of(ctx, n), 0, n, cells, depth, cell, cell_place,
                        reached, by, rows.col_ind, rows.row_ptr));
    TESS_TRY(device_csr_gpu_ops()->transpose(ctx, &rows, &sorted, NULL));
    status = ctx->backend->copy(ctx, perm, sorted.col_ind, (size_t)n * sizeof *perm);
cleanup:
    device_csr_release(ctx, &sorted);
    device_csr_release(ctx, &rows);
    return status;
}

__global__ void __launch_bounds__(GPU_BLOCK) invert_kernel(int64_t n, const int32_t *perm, int32_t *place)
{
    FOR_EACH(i, n)
    {
        place[perm[i]] = (int32_t)i;
    }
}

tess_status invert(tess_context *ctx, int64_t n, const int32_t *perm, int32_t *place)
{
    gpu_scope scope(ctx);

    return gpu_launch(ctx, "the inverse of an order", invert_kernel, grid_of(ctx, n), 0, n, perm, place);
}

/* ---- the matrix in that order ---- */

__global__ void __launch_bounds__(GPU_BLOCK) lengths_kernel(csr_view v, const int32_t *perm, int32_t *row_ptr)
{
    FOR_EACH(i, v.nrows)
    {
        row_ptr[i + 1] = (int32_t)(offset_of(v, perm[i] + 1) - offset_of(v, perm[i]));
    }
}

/* A team of threads takes a row; each entry counts those that go before it. Longer rows stay. */
__global__ void __launch_bounds__(GPU_BLOCK)
    short_rows_kernel(csr_view v, const int32_t *perm, const int32_t *place, const device_csr to)
{
    const double *val = (const double *)v.val;
    const int64_t teams = (int64_t)gridDim.x * GPU_BLOCK / ROW_TEAM;

    for (int64_t r = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / ROW_TEAM; r < v.nrows; r += teams) {
        const int64_t begin = offset_of(v, perm[r]), end = offset_of(v, perm[r] + 1);

        for (int64_t k = begin + (int)threadIdx.x % ROW_TEAM; k < end && end - begin <= MOST_RANKED; k += ROW_TEAM) {
            const int32_t column = place[v.col_ind[k]];
            int64_t at = to.row_ptr[r];

            for (int64_t other = begin; other < end; other++) {
                at += place[v.col_ind[other]] < column;
            }
            to.col_ind[at] = column;
            to.val[at] = val[k];
        }
    }
}

/* A block sorts the columns of a long row; then each entry finds its own. */
__global__ void __launch_bounds__(GPU_BLOCK)
    long_rows_kernel(csr_view v, const int32_t *perm, const int32_t *place, const device_csr to)
{
    const double *val = (const double *)v.val;

    for (int64_t r = blockIdx.x; r < v.nrows; r += gridDim.x) {
        const int64_t begin = offset_of(v, perm[r]), count = offset_of(v, perm[r] + 1) - begin;
        const int32_t first = to.row_ptr[r];

        if (count <= MOST_RANKED) { continue; }
        for (int64_t k = threadIdx.x; k < count; k += GPU_BLOCK) {
            to.col_ind[first + k] = place[v.col_ind[begin + k]];
        }
        __syncthreads();
        sort_by_block(to.col_ind + first, count);
        __syncthreads();
        for (int64_t k = threadIdx.x; k < count; k += GPU_BLOCK) {
            to.val[csr_column_from(to.col_ind, first, first + count, place[v.col_ind[begin + k]])] = val[begin + k];
        }
        __syncthreads();
    }
}

tess_status permute(const tess_matrix *a, const int32_t *perm, const int32_t *place, tess_matrix **out)
{
    tess_context *ctx = a->ctx;
    gpu_scope scope(ctx);
    const csr_view *v = &csr_of(a)->view;
    const int64_t n = v->nrows;
    device_csr to = {};
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, n, n, &to));
    TESS_TRY(gpu_launch(ctx, "lengths of rows", lengths_kernel, grid_of(ctx, n), 0, *v, perm, to.row_ptr));
    TESS_TRY(gpu_sum_lengths(ctx, n, to.row_ptr, &nnz));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, true, &to));
    TESS_TRY(gpu_launch(ctx, "rows in another order", short_rows_kernel, grid_of(ctx, n * ROW_TEAM), 0, *v, perm, place,
                        to));
    TESS_TRY(gpu_launch(ctx, "long rows in another order", long_rows_kernel, grid_of(ctx, n * GPU_BLOCK), 0, *v, perm,
                        place, to));
    status = device_csr_to_matrix(ctx, &to, out);
cleanup:
    device_csr_release(ctx, &to);
    return status;
}

__global__ void __launch_bounds__(GPU_BLOCK)
    map_kernel(int64_t n, const int32_t *column, int32_t *row_ptr, int32_t *col_ind, double *val)
{
    FOR_EACH(i, n + 1)
    {
        row_ptr[i] = (int32_t)i;
        if (i == n) { continue; }
        col_ind[i] = column[i];
        val[i] = 1.0;
    }
}

tess_status map(tess_context *ctx, int64_t n, const int32_t *column, tess_matrix **out)
{
    gpu_scope scope(ctx);
    device_csr to = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, n, n, &to));
    TESS_TRY(device_csr_allocate_entries(ctx, n, true, &to));
    TESS_TRY(gpu_launch(ctx, "the map of an order", map_kernel, grid_of(ctx, n + 1), 0, n, column, to.row_ptr,
                        to.col_ind, to.val));
    status = device_csr_to_matrix(ctx, &to, out);
cleanup:
    device_csr_release(ctx, &to);
    return status;
}

/* ---- what a product fetches ---- */

/* A block takes a slice, and a team of threads each of its rows. Sums are of integers. */
__global__ void __launch_bounds__(GPU_BLOCK)
    fetch_kernel(csr_view v, const int32_t *perm, const int32_t *place, int64_t step, unsigned long long *sums)
{
    __shared__ int32_t line[FETCH_ENTRIES];
    __shared__ int64_t begin[FETCH_ROWS];
    __shared__ int before[FETCH_ROWS + 1];
    const int64_t slices = (v.nrows + FETCH_ROWS - 1) / FETCH_ROWS;

    for (int64_t slice = (int64_t)blockIdx.x * step; slice < slices; slice += (int64_t)gridDim.x * step) {
        unsigned long long lines = 0;

        if (threadIdx.x == 0) {
            before[0] = 0;
            for (int r = 0; r < FETCH_ROWS; r++) {
                const int64_t row = slice * FETCH_ROWS + r, i = row >= v.nrows ? -1 : perm ? perm[row] : row;
                const int64_t length = i >= 0 ? offset_of(v, i + 1) - offset_of(v, i) : 0;
                const int room = FETCH_ENTRIES - before[r];

                begin[r] = i >= 0 ? offset_of(v, i) : 0;
                before[r + 1] = before[r] + (length < room ? (int)length : room);
            }
        }
        __syncthreads();
        for (int r = (int)threadIdx.x / ROW_TEAM; r < FETCH_ROWS; r += GPU_BLOCK / ROW_TEAM) {
            for (int k = (int)threadIdx.x % ROW_TEAM; k < before[r + 1] - before[r]; k += ROW_TEAM) {
                line[before[r] + k] = fetch_line(&v, place, begin[r] + k);
            }
        }
        __syncthreads();
        const int count = before[FETCH_ROWS];

        sort_by_block(line, count);
        __syncthreads();
        for (int k = (int)threadIdx.x; k < count; k += GPU_BLOCK) {
            lines += k == 0 || line[k] != line[k - 1];
        }
        if (lines > 0) { atomicAdd(&sums[0], lines); }
        if (threadIdx.x == 0) { atomicAdd(&sums[1], (unsigned long long)count); }
        __syncthreads();
    }
}

tess_status fetch(tess_context *ctx, const csr_view *v, const int32_t *perm, const int32_t *place, int64_t step,
                  fetch_sums *sums)
{
    gpu_scope scope(ctx);
    unsigned long long *on_device = NULL, found[2] = {0, 0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 2, sizeof *on_device, (void **)&on_device));
    TESS_TRY(ctx->backend->zero(ctx, on_device, sizeof found));
    TESS_TRY(gpu_launch(ctx, "lines that slices fetch", fetch_kernel,
                        grid_of(ctx, (v->nrows / FETCH_ROWS / step + 1) * GPU_BLOCK), 0, *v, perm, place, step,
                        on_device));
    TESS_TRY(ctx->backend->download(ctx, found, on_device, sizeof found));
    sums->lines = (int64_t)found[0];
    sums->entries = (int64_t)found[1];
cleanup:
    tess_device_release(ctx, on_device, 2, sizeof *on_device);
    return status;
}

} // namespace

extern "C" const cluster_ops *clusters_gpu_ops(void)
{
    static const cluster_ops table = {seed, grow, count, number, neighbours, sort, fetch};

    return &table;
}

extern "C" const order_device_ops *order_device_gpu_ops(void)
{
    static const order_device_ops table = {invert, permute, map};

    return &table;
}
