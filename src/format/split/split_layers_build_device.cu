/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building split storage in layers on the GPU. Blocks take neighbouring rows. They count the entries of each level, one
 * scan turns the counts into places, and one pass over the matrix copies the entries to their places; the entries of a
 * level in a block's rows are neighbours. A row's offsets follow from the number of entries of each level before its
 * first, within its run.
 */
#include "device/gpu/scan.cuh"
#include "device/gpu/wave_sums.cuh"
#include "format/split/split_build.cuh"

/* Where the entries of each level go; entries of a level without offsets are not copied. */
struct layer_targets {
    csr_view to[TESS_MAX_LEVELS];
    split_target target[TESS_MAX_LEVELS];
    split_target wanted;  /* of any entry: that of a level that goes somewhere */
    const int64_t *first; /* levels by entry, from those of the blocks; NULL: to[].row_ptr exists and tells */
    int64_t nblocks;
};

/* Blocks of GPU_BLOCK rows, with one place more than there are rows: the end of the last row. */
static int64_t blocks_of(const split_source *source)
{
    return source->csr->nrows / GPU_BLOCK + 1;
}

/* ---- counting ---- */

/* The number of entries of each level in each block's rows, to counts[level * nblocks + block]. */
template <int LEVELS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_layers_kernel(const device_source s, int nlevels, int64_t nblocks, int64_t *counts)
{
    __shared__ int count[LEVELS];
    const int64_t first_row = (int64_t)blockIdx.x * GPU_BLOCK;
    const int64_t end = assign_row_start(&s.csr, min(first_row + GPU_BLOCK, s.csr.nrows));
    int own[LEVELS] = {};

    if (threadIdx.x < LEVELS) { count[threadIdx.x] = 0; }
#pragma unroll 4
    for (int64_t k = assign_row_start(&s.csr, first_row) + threadIdx.x; k < end; k += GPU_BLOCK) {
        const int level = s.source.level[k];

#pragma unroll
        for (int l = 0; l < LEVELS; l++) {
            own[l] += level == l;
        }
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        own[l] = lanes_sum_down(own[l], GPU_WAVE);
        if (threadIdx.x % GPU_WAVE == 0 && own[l] > 0) { atomicAdd(&count[l], own[l]); }
    }
    __syncthreads();
    if (threadIdx.x < LEVELS && (int)threadIdx.x < nlevels) {
        counts[threadIdx.x * nblocks + blockIdx.x] = count[threadIdx.x];
    }
}

/* *first: by level, the number of entries before each block's rows; *totals: of each level. In a workspace that the
   next request reuses. */
static tess_status place_layers(tess_context *ctx, const split_source *source, int nlevels, int64_t **first,
                                int64_t **totals)
{
    const int64_t nblocks = blocks_of(source);
    const device_source s = make_source(source, NULL);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const series_base zero = {};
    double *workspace = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, nlevels * (nblocks + 1), &workspace));
    *first = (int64_t *)(void *)workspace;
    *totals = *first + nlevels * nblocks;
    if (nlevels <= 2) {
        count_layers_kernel<2><<<(unsigned)nblocks, GPU_BLOCK, 0, stream>>>(s, nlevels, nblocks, *first);
    } else {
        count_layers_kernel<TESS_MAX_LEVELS><<<(unsigned)nblocks, GPU_BLOCK, 0, stream>>>(s, nlevels, nblocks, *first);
    }
    TESS_TRY(gpu_check_launch(ctx, "counting entries by level"));
    scan_series_kernel<<<(unsigned)nlevels, SCAN_BLOCK, 0, stream>>>(nblocks, zero, *first, *totals);
    status = gpu_check_launch(ctx, "placing entries by level");
cleanup:
    return status;
}

extern "C" tess_status split_gpu_count_layers(tess_context *ctx, const split_source *source, int nlevels, int64_t *nnz)
{
    gpu_scope scope(ctx);
    int64_t *first = NULL, *totals = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(place_layers(ctx, source, nlevels, &first, &totals));
    status = ctx->backend->download(ctx, nnz, totals, (size_t)nlevels * sizeof *nnz);
cleanup:
    return status;
}

/* ---- copying ---- */

/* ALL: every level is copied, so that entries are loaded before their level is known. */
template <int LEVELS, bool ALL>
__device__ static inline void load_run(const device_source &s, const layer_targets &t, int64_t first, int64_t end,
                                       int (&series)[COPIES], copied_entries *e)
{
    int64_t from[COPIES];
    uint8_t level[COPIES];

#pragma unroll
    for (int c = 0; c < COPIES; c++) {
        const int64_t k = first + c * GPU_BLOCK + threadIdx.x;

        level[c] = k < end ? s.source.level[k] : (uint8_t)TESS_LEVEL_NONE;
        from[c] = k < end ? k : -1;
    }
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
        series[c] = -1;
#pragma unroll
        for (int l = 0; l < LEVELS; l++) {
            if (level[c] == l && (ALL || t.to[l].row_ptr)) { series[c] = l; }
        }
        if (!ALL && series[c] < 0) { from[c] = -1; }
    }
    load_entries(s.csr, t.wanted, from, e);
}

template <int LEVELS>
__device__ static inline void store_run(const layer_targets &t, const int64_t (&place)[LEVELS],
                                        const int (&series)[COPIES], const int (&rank)[COPIES], const copied_entries &e)
{
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
#pragma unroll
        for (int l = 0; l < LEVELS; l++) {
            if (series[c] != l) { continue; }
            if (t.wanted.col_ind) { t.target[l].col_ind[place[l] + rank[c]] = e.column[c]; }
            if (t.wanted.val) { store_value(t.to[l].precision, t.target[l].val, place[l] + rank[c], e.value[c]); }
        }
    }
}

/* Stores the offsets of the thread's row, which begins at place `at` of the run; at < 0: after all entries of the
   block, when no run is left. */
template <int LEVELS>
__device__ static inline void store_offsets(const layer_targets &t, const int64_t (&place)[LEVELS], int64_t row, int at,
                                            const run_counts<LEVELS> &run)
{
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        if (!t.to[l].row_ptr) { continue; }
        tess_row_offset_set(t.target[l].row_ptr, t.to[l].row_ptr_bits, row,
                            place[l] + (at < 0 ? 0 : run.count_before(l, at)));
    }
}

template <int LEVELS, bool ALL>
__global__ static void __launch_bounds__(GPU_BLOCK) copy_layers_kernel(const device_source s, const layer_targets t)
{
    __shared__ run_counts<LEVELS> run;
    const int64_t first_row = (int64_t)blockIdx.x * GPU_BLOCK, row = first_row + threadIdx.x;
    const int64_t begin = assign_row_start(&s.csr, min(first_row, s.csr.nrows));
    const int64_t end = assign_row_start(&s.csr, min(first_row + GPU_BLOCK, s.csr.nrows));
    const bool has_row = t.first && row <= s.csr.nrows;
    const int64_t own = has_row ? assign_row_start(&s.csr, row) : 0;
    int64_t place[LEVELS] = {};

#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        if (!t.to[l].row_ptr) { continue; }
        place[l] = t.first ? t.first[l * t.nblocks + blockIdx.x]
                           : tess_row_offset(t.to[l].row_ptr, t.to[l].row_ptr_bits, min(first_row, s.csr.nrows));
    }
    for (int64_t first = begin; first < end; first += RUN) {
        copied_entries e;
        int series[COPIES], rank[COPIES];

        load_run<LEVELS, ALL>(s, t, first, end, series, &e);
        rank_in_run(series, rank, &run);
        store_run(t, place, series, rank, e);
        if (has_row && own >= first && own < min(first + RUN, end)) {
            store_offsets(t, place, row, (int)(own - first), run);
        }
#pragma unroll
        for (int l = 0; l < LEVELS; l++) {
            place[l] += run.all[l];
        }
        __syncthreads(); /* the counts may be overwritten */
    }
    if (has_row && own >= end) { store_offsets(t, place, row, -1, run); }
}

template <int LEVELS>
static void launch_levels(tess_context *ctx, const device_source &s, const layer_targets &t, bool all)
{
    if (all) {
        copy_layers_kernel<LEVELS, true><<<(unsigned)t.nblocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s, t);
    } else {
        copy_layers_kernel<LEVELS, false><<<(unsigned)t.nblocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s, t);
    }
}

/* `count` levels from number `level` on. */
static tess_status launch_copy(tess_context *ctx, const split_source *source, int level, int count, const csr_view *to,
                               const split_target *target, const int64_t *first)
{
    const device_source s = make_source(source, NULL);
    layer_targets t = {};

    for (int l = 0; l < count; l++) {
        t.to[level + l] = to[l];
        t.target[level + l] = target[l];
    }
    t.wanted = target[0];
    t.first = first;
    t.nblocks = blocks_of(source);
    if (level + count <= 2) {
        launch_levels<2>(ctx, s, t, count == 2);
    } else {
        launch_levels<TESS_MAX_LEVELS>(ctx, s, t, count == TESS_MAX_LEVELS);
    }
    return gpu_check_launch(ctx, "copying entries by level");
}

extern "C" tess_status split_gpu_copy_layers(tess_context *ctx, const split_source *source, int nlevels,
                                             const csr_view *to, const split_target *target, bool with_offsets)
{
    gpu_scope scope(ctx);
    int64_t *first = NULL, *totals = NULL;
    tess_status status = TESS_SUCCESS;

    if (with_offsets) { TESS_TRY(place_layers(ctx, source, nlevels, &first, &totals)); }
    status = launch_copy(ctx, source, 0, nlevels, to, target, first);
cleanup:
    return status;
}

extern "C" tess_status split_gpu_copy_layer(tess_context *ctx, const split_source *source, int level,
                                            const csr_view *to, const split_target *target)
{
    gpu_scope scope(ctx);

    return launch_copy(ctx, source, level, 1, to, target, NULL);
}
