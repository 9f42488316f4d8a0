/* SPDX-License-Identifier: Apache-2.0 */
/* Level sets on the GPU: found one after another, then rows are sorted by them, in tiles that count and place. */
#include "triangular/leveled.h"

#include "device/gpu/gpu.h"
#include "device/gpu/scan_grid.cuh"

namespace {

enum {
    PASS_BLOCKS = 8,
    STEP_BLOCKS = 2,   /* of a multiprocessor, for one level set */
    STEPS_AT_ONCE = 64 /* level sets between looks at how many rows are solved */
};
/* Tiles times level sets that there is space to count. */
constexpr int64_t MOST_COUNTS = INT64_C(1) << 26;

struct search {
    device_csr t, needed_by;
    int32_t *needs; /* rows that a row still waits for */
    int32_t *level;
    int32_t *rows;  /* in the order in which they are solved */
    int32_t *begin; /* where level sets begin in it */
    int32_t *found; /* rows that are there */
};

__device__ inline int64_t first_thread()
{
    return static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x;
}

__device__ inline int64_t threads()
{
    return static_cast<int64_t>(gridDim.x) * GPU_BLOCK;
}

/* The rows that need nothing. */
__global__ void __launch_bounds__(GPU_BLOCK) start_search(const search s)
{
    for (int64_t i = first_thread(); i < s.t.nrows; i += threads()) {
        const int32_t needs = s.t.row_ptr[i + 1] - s.t.row_ptr[i];

        s.needs[i] = needs;
        if (needs == 0) { s.rows[atomicAdd(s.found, 1)] = static_cast<int32_t>(i); }
    }
}

/* Level set l is whole: the next one begins. */
__global__ void close_level(const search s, int l)
{
    s.begin[l + 1] = *s.found;
}

/* The rows of level set l + 1, in any order. */
__global__ void __launch_bounds__(GPU_BLOCK) step_level(const search s, int l)
{
    const int64_t end = s.begin[l + 1];

    for (int64_t p = s.begin[l] + first_thread(); p < end; p += threads()) {
        const int32_t row = s.rows[p];

        s.level[row] = l;
        for (int32_t k = s.needed_by.row_ptr[row]; k < s.needed_by.row_ptr[row + 1]; k++) {
            const int32_t next = s.needed_by.col_ind[k];

            if (atomicAdd(&s.needs[next], -1) == 1) { s.rows[atomicAdd(s.found, 1)] = next; }
        }
    }
}

/* ---- sorting: count[l * tiles + tile] rows of level set l in a tile, then their places ---- */

struct sorting {
    int64_t n, tiles;
    const int32_t *level;
    int32_t *place; /* offsets: of number k the rows before are place[k] */
    int32_t *order;
};

__global__ void __launch_bounds__(GPU_BLOCK) count_levels(const sorting s)
{
    for (int64_t i = first_thread(); i < s.n; i += threads()) {
        atomicAdd(&s.place[s.level[i] * s.tiles + i / SCAN_TILE + 1], 1);
    }
}

/* A block takes a tile, in steps of a row for each thread. */
__global__ void __launch_bounds__(GPU_BLOCK) place_levels(const sorting s)
{
    __shared__ int32_t level[GPU_BLOCK];

    for (int step = 0; step < SCAN_STEPS; step++) {
        const int64_t i = static_cast<int64_t>(blockIdx.x) * SCAN_TILE + step * GPU_BLOCK + threadIdx.x;
        const int32_t own = i < s.n ? s.level[i] : -1;
        int32_t *cursor = own < 0 ? nullptr : s.place + own * s.tiles + blockIdx.x;
        int before = 0, after = 0;

        level[threadIdx.x] = own;
        __syncthreads();
        for (int t = 0; t < GPU_BLOCK; t++) {
            const bool same = level[t] == own;

            before += same && t < static_cast<int>(threadIdx.x);
            after += same && t > static_cast<int>(threadIdx.x);
        }
        const int32_t at = cursor ? *cursor + before : 0;

        if (cursor) { s.order[at] = static_cast<int32_t>(i); }
        __syncthreads();
        if (cursor && after == 0) { *cursor = at + 1; }
        __syncthreads();
    }
}

/* ---- rows in an order ---- */

__global__ void __launch_bounds__(GPU_BLOCK) count_rows(const device_csr t, const int32_t *order, device_csr to)
{
    for (int64_t p = first_thread(); p < t.nrows; p += threads()) {
        to.row_ptr[p + 1] = t.row_ptr[order[p] + 1] - t.row_ptr[order[p]];
    }
}

__global__ void __launch_bounds__(GPU_BLOCK)
    copy_rows(const device_csr t, const int64_t *source, const int32_t *order, device_csr to, int64_t *to_source)
{
    for (int64_t p = first_thread(); p < t.nrows; p += threads()) {
        const int32_t from = t.row_ptr[order[p]];

        for (int32_t k = to.row_ptr[p]; k < to.row_ptr[p + 1]; k++) {
            to.col_ind[k] = t.col_ind[from + k - to.row_ptr[p]];
            to_source[k] = source[from + k - to.row_ptr[p]];
        }
    }
}

/* ---- the steps ---- */

/* *level_sets: not less than there are; -1 if there are more than `most`. */
tess_status find_levels(tess_context *ctx, const search &s, int64_t most, int64_t *level_sets)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const unsigned grid = gpu_grid(ctx, s.t.nrows, STEP_BLOCKS);
    int32_t solved = 0; /* rows of the level sets before l */
    int l = 0;
    tess_status status = TESS_SUCCESS;

    start_search<<<gpu_grid(ctx, s.t.nrows, PASS_BLOCKS), GPU_BLOCK, 0, stream>>>(s);
    while (solved < s.t.nrows && l < most) {
        for (int k = 0; k < STEPS_AT_ONCE && l < most; k++, l++) {
            close_level<<<1, 1, 0, stream>>>(s, l);
            step_level<<<grid, GPU_BLOCK, 0, stream>>>(s, l);
        }
        TESS_TRY(gpu_check_launch(ctx, "level sets"));
        TESS_TRY(ctx->backend->download(ctx, &solved, s.begin + l, sizeof solved));
    }
    *level_sets = solved == s.t.nrows ? l : -1;
cleanup:
    return status;
}

/* Where level sets begin, from what the search noted; those without rows at the end do not exist. */
tess_status list_runs(tess_context *ctx, const search &s, int64_t steps, leveled_rows *out)
{
    int32_t *begin = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, steps + 1, sizeof *begin, reinterpret_cast<void **>(&begin)));
    TESS_TRY(ctx->backend->download(ctx, begin, s.begin, static_cast<size_t>(steps + 1) * sizeof *begin));
    while (out->level_sets < steps && begin[out->level_sets] < out->n) {
        out->level_sets += 1;
    }
    TESS_TRY(tess_host_allocate(ctx, out->level_sets, sizeof *out->runs, reinterpret_cast<void **>(&out->runs)));
    for (int64_t l = 0; l < out->level_sets; l++) {
        out->runs[l] = {begin[l], l + 1 < out->level_sets ? begin[l + 1] : out->n, true};
    }
cleanup:
    tess_host_release(ctx, begin, steps + 1, sizeof *begin);
    return status;
}

tess_status sort_rows(tess_context *ctx, const int32_t *level, leveled_rows *out)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    sorting s = {out->n, (out->n + SCAN_TILE - 1) / SCAN_TILE, level, nullptr, nullptr};
    const int64_t counts = s.tiles * out->level_sets;
    int64_t total = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, counts + 1, sizeof *s.place, reinterpret_cast<void **>(&s.place)));
    TESS_TRY(tess_device_allocate(ctx, out->n, sizeof *out->order, reinterpret_cast<void **>(&out->order)));
    s.order = out->order;
    TESS_TRY(ctx->backend->zero(ctx, s.place, static_cast<size_t>(counts + 1) * sizeof *s.place));
    count_levels<<<gpu_grid(ctx, s.n, PASS_BLOCKS), GPU_BLOCK, 0, stream>>>(s);
    TESS_TRY(gpu_check_launch(ctx, "rows of level sets"));
    TESS_TRY(gpu_sum_lengths(ctx, counts, s.place, &total));
    place_levels<<<static_cast<unsigned>(s.tiles), GPU_BLOCK, 0, stream>>>(s);
    status = gpu_check_launch(ctx, "rows by level sets");
cleanup:
    tess_device_release(ctx, s.place, counts + 1, sizeof *s.place);
    return status;
}

} // namespace

extern "C" tess_status leveled_find(tess_context *ctx, const device_csr *t, const device_csr *needed_by, int64_t most,
                                    leveled_rows *out, bool *found)
{
    gpu_scope scope(ctx);
    const int64_t n = t->nrows, tiles = (n + SCAN_TILE - 1) / SCAN_TILE;
    const int64_t sorted = tiles > 0 ? MOST_COUNTS / tiles : 0, steps = most < sorted ? most : sorted;
    search s = {*t, *needed_by, nullptr, nullptr, nullptr, nullptr, nullptr};
    int64_t last = -1;
    tess_status status = TESS_SUCCESS;

    *out = {};
    out->n = n;
    *found = n == 0;
    if (n == 0 || steps == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *s.needs, reinterpret_cast<void **>(&s.needs)));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *s.level, reinterpret_cast<void **>(&s.level)));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *s.rows, reinterpret_cast<void **>(&s.rows)));
    TESS_TRY(tess_device_allocate(ctx, steps + 1, sizeof *s.begin, reinterpret_cast<void **>(&s.begin)));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *s.found, reinterpret_cast<void **>(&s.found)));
    TESS_TRY(ctx->backend->zero(ctx, s.begin, static_cast<size_t>(steps + 1) * sizeof *s.begin));
    TESS_TRY(ctx->backend->zero(ctx, s.found, sizeof *s.found));
    TESS_TRY(find_levels(ctx, s, steps, &last));
    if (last < 0) { goto cleanup; }
    TESS_TRY(list_runs(ctx, s, last, out));
    TESS_TRY(sort_rows(ctx, s.level, out));
    *found = true;
cleanup:
    tess_device_release(ctx, s.needs, n, sizeof *s.needs);
    tess_device_release(ctx, s.level, n, sizeof *s.level);
    tess_device_release(ctx, s.rows, n, sizeof *s.rows);
    tess_device_release(ctx, s.begin, steps + 1, sizeof *s.begin);
    tess_device_release(ctx, s.found, 1, sizeof *s.found);
    return status;
}

extern "C" tess_status leveled_take_rows(tess_context *ctx, const device_csr *t, const int64_t *source,
                                         const int32_t *order, device_csr *to, int64_t **to_source)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, t->nrows, PASS_BLOCKS);
    int64_t total = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, t->nrows, t->ncols, to));
    count_rows<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t, order, *to);
    TESS_TRY(gpu_check_launch(ctx, "rows of a triangle by level sets"));
    TESS_TRY(gpu_sum_lengths(ctx, t->nrows, to->row_ptr, &total));
    TESS_TRY(device_csr_allocate_entries(ctx, total, false, to));
    TESS_TRY(tess_device_allocate(ctx, total, sizeof **to_source, reinterpret_cast<void **>(to_source)));
    copy_rows<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t, source, order, *to, *to_source);
    status = gpu_check_launch(ctx, "entries of a triangle by level sets");
cleanup:
    return status;
}
