/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of a matrix on the GPU, from the arrays where they lie. A thread takes a row; where a row of its wave is
 * longer than a part (fact_rows.h), the wave's threads take the parts of all its rows, and each row joins its own in
 * order. Rows of more than FACT_LONG entries, if there are some, get a block each in a second pass. Blocks store what
 * they found, and one block joins that.
 */
#include "auto/facts.h"
#include "device/gpu/long_rows.cuh"
#include "device/gpu/wave_sums.cuh"

namespace {

/* Blocks per multiprocessor. */
enum { FACT_BLOCKS = 8, WAVES = GPU_BLOCK / GPU_WAVE };

/* ---- over a block ---- */

template <typename T>
__device__ T joined(T mine, T other);

template <>
__device__ int64_t joined(int64_t mine, int64_t other)
{
    return mine + other;
}

template <>
__device__ double joined(double mine, double other)
{
    return other > mine ? other : mine;
}

/* Joins N values of each thread; those of thread 0 are the block's. */
template <typename T, int N>
__device__ void join_values(T (&value)[N])
{
    __shared__ T of_wave[N][WAVES];
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;

#pragma unroll
    for (int k = 0; k < N; k++) {
#pragma unroll
        for (int distance = GPU_WAVE / 2; distance > 0; distance /= 2) {
            value[k] = joined(value[k], (T)GPU_SHUFFLE_DOWN(value[k], distance, GPU_WAVE));
        }
        if (lane == 0) { of_wave[k][wave] = value[k]; }
    }
    __syncthreads();
    for (int k = 0; threadIdx.x == 0 && k < N; k++) {
        for (int w = 1; w < WAVES; w++) {
            value[k] = joined(value[k], of_wave[k][w]);
        }
    }
}

__device__ void store_joined(fact_sums *mine, fact_sums *out)
{
    join_values(mine->count);
    join_values(mine->most);
    if (threadIdx.x == 0) { *out = *mine; }
}

__global__ void __launch_bounds__(GPU_BLOCK) join_kernel(const fact_sums *of_block, unsigned count, fact_sums *out)
{
    fact_sums sums;

    fact_sums_start(&sums);
    for (unsigned b = threadIdx.x; b < count; b += GPU_BLOCK) {
        const fact_sums one = of_block[b];

        fact_sums_join(&sums, &one);
    }
    store_joined(&sums, out);
}

/* ---- rows ---- */

struct row_place {
    int64_t row, begin, end;
    double d;
};

/* The rows of a wave, for threads that take parts of them. */
struct wave_rows {
    row_place place[GPU_WAVE];
    int64_t parts[GPU_WAVE]; /* of the rows up to this one */
    fact_part part[GPU_WAVE];
};

__device__ fact_part take_entries(const csr_view &v, const double *diagonal, const row_place &p, int64_t from,
                                  int64_t to, fact_sums *sums)
{
    const double *val = (const double *)v.val;
    fact_part part = fact_part_start();

    for (int64_t k = from; k < to; k++) {
        fact_take_entry(p.row, v.col_ind[k], val[k], diagonal, p.d, &part, sums);
    }
    return part;
}

/* The first row of the wave whose parts reach beyond number `part`. */
__device__ int owner_of(const wave_rows &w, int64_t part)
{
    int low = 0, high = GPU_WAVE - 1;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (w.parts[middle] > part) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

__device__ fact_part take_part(const csr_view &v, const double *diagonal, const wave_rows &w, int64_t number,
                               fact_sums *sums)
{
    const int owner = owner_of(w, number);
    const row_place p = w.place[owner];
    const int64_t earlier = owner > 0 ? w.parts[owner - 1] : 0, from = p.begin + (number - earlier) * FACT_PART;

    return take_entries(v, diagonal, p, from, p.end - from > FACT_PART ? from + FACT_PART : p.end, sums);
}

__device__ int64_t parts_of(int64_t length)
{
    return (length + FACT_PART - 1) / FACT_PART;
}

/* All threads of a wave call it; returns what this thread's row has. */
__device__ fact_part take_long_rows(const csr_view &v, const double *diagonal, const row_place &p, wave_rows *w,
                                    fact_sums *sums)
{
    const int lane = (int)threadIdx.x % GPU_WAVE;
    const int64_t mine = parts_of(p.end - p.begin);
    int64_t up_to = mine;
    fact_part row = fact_part_start();

    for (int distance = 1; distance < GPU_WAVE; distance *= 2) {
        const int64_t before = (int64_t)GPU_SHUFFLE_UP(up_to, distance, GPU_WAVE);

        if (lane >= distance) { up_to += before; }
    }
    w->place[lane] = p;
    w->parts[lane] = up_to;
    GPU_SYNC_WAVE();
    const int64_t total = w->parts[GPU_WAVE - 1];

    for (int64_t base = 0; base < total; base += GPU_WAVE) {
        if (base + lane < total) { w->part[lane] = take_part(v, diagonal, *w, base + lane, sums); }
        GPU_SYNC_WAVE();
        const int64_t first = up_to - mine > base ? up_to - mine : base;

        for (int64_t q = first; q < up_to && q < base + GPU_WAVE; q++) {
            fact_part_join(&row, &w->part[q - base]);
        }
        GPU_SYNC_WAVE();
    }
    return row;
}

__global__ void __launch_bounds__(GPU_BLOCK) rows_kernel(csr_view v, const double *diagonal, fact_sums *of_block)
{
    __shared__ wave_rows shared[WAVES];
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    fact_sums sums;

    fact_sums_start(&sums);
    for (int64_t base = (int64_t)blockIdx.x * GPU_BLOCK + wave * GPU_WAVE; base < v.nrows; base += step) {
        const int64_t i = base + lane;
        const bool there = i < v.nrows;
        const int64_t begin = there ? tess_row_offset(v.row_ptr, v.row_ptr_bits, i) : 0;
        const int64_t length = there ? tess_row_offset(v.row_ptr, v.row_ptr_bits, i + 1) - begin : 0;
        const bool is_left = length > FACT_LONG;
        const row_place p = {i, begin, is_left ? begin : begin + length, there ? diagonal[i] : 0.0};
        fact_part row;

        if (GPU_BALLOT(p.end - p.begin > FACT_PART)) {
            row = take_long_rows(v, diagonal, p, &shared[wave], &sums);
        } else {
            const fact_part only = take_entries(v, diagonal, p, p.begin, p.end, &sums);

            row = fact_part_start();
            fact_part_join(&row, &only);
        }
        sums.count[FACT_LEFT] += is_left;
        if (there && !is_left) { fact_end_row(p.d, length, &row, &sums); }
    }
    store_joined(&sums, of_block + blockIdx.x);
}

/* A row by all threads of a block; the result is in thread 0. `parts`: GPU_BLOCK of them, shared. */
__device__ fact_part take_by_block(const csr_view &v, const double *diagonal, const row_place &p, fact_part *parts,
                                   fact_sums *sums)
{
    const int64_t count = parts_of(p.end - p.begin);
    fact_part row = fact_part_start();

    for (int64_t base = 0; base < count; base += GPU_BLOCK) {
        const int64_t from = p.begin + (base + threadIdx.x) * FACT_PART;
        const int there = count - base < GPU_BLOCK ? (int)(count - base) : GPU_BLOCK;

        if ((int)threadIdx.x < there) {
            parts[threadIdx.x] =
                take_entries(v, diagonal, p, from, p.end - from > FACT_PART ? from + FACT_PART : p.end, sums);
        }
        __syncthreads();
        for (int q = 0; threadIdx.x == 0 && q < there; q++) {
            fact_part_join(&row, &parts[q]);
        }
        __syncthreads(); /* before the next parts replace these */
    }
    return row;
}

template <typename OFFSET>
__global__ void __launch_bounds__(GPU_BLOCK) long_rows_kernel(csr_view v, const double *diagonal, fact_sums *of_block)
{
    __shared__ fact_part parts[GPU_BLOCK];
    fact_part *const of_thread = parts;
    fact_sums sums;

    fact_sums_start(&sums);
    for_long_rows(v.nrows, (const OFFSET *)v.row_ptr, FACT_LONG, [&](int64_t i, int64_t begin, int64_t end) {
        const row_place p = {i, begin, end, diagonal[i]};
        const fact_part row = take_by_block(v, diagonal, p, of_thread, &sums);

        if (threadIdx.x == 0) { fact_end_row(p.d, end - begin, &row, &sums); }
    });
    store_joined(&sums, of_block + blockIdx.x);
}

/* What `grid` blocks have found; the place for the result is behind theirs. */
tess_status take_joined(tess_context *ctx, fact_sums *of_block, unsigned grid, fact_sums *sums)
{
    const tess_status status = gpu_launch(ctx, "joining facts", join_kernel, 1, 0, of_block, grid, of_block + grid);

    return status == TESS_SUCCESS ? ctx->backend->download(ctx, sums, of_block + grid, sizeof *sums) : status;
}

tess_status look_at_long_rows(tess_context *ctx, const csr_view *v, const double *diagonal, fact_sums *of_block,
                              unsigned grid, fact_sums *sums)
{
    const char *const name = "facts of long rows";
    fact_sums found;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(v->row_ptr_bits == 32 ? gpu_launch(ctx, name, long_rows_kernel<int32_t>, grid, 0, *v, diagonal, of_block)
                                   : gpu_launch(ctx, name, long_rows_kernel<int64_t>, grid, 0, *v, diagonal, of_block));
    TESS_TRY(take_joined(ctx, of_block, grid, &found));
    fact_sums_join(sums, &found);
cleanup:
    return status;
}

tess_status look(const tess_matrix *a, const double *diagonal, fact_sums *sums)
{
    tess_context *ctx = a->ctx;
    gpu_scope scope(ctx);
    const csr_view *v = &csr_of(a)->view;
    const unsigned grid = gpu_grid(ctx, v->nrows, FACT_BLOCKS);
    double *space = NULL;
    tess_status status = gpu_parts(ctx, (int64_t)(sizeof *sums / sizeof *space) * (grid + 1), &space);
    fact_sums *const of_block = (fact_sums *)(void *)space;

    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(gpu_launch(ctx, "facts of rows", rows_kernel, grid, 0, *v, diagonal, of_block));
    TESS_TRY(take_joined(ctx, of_block, grid, sums));
    if (sums->count[FACT_LEFT] > 0) { status = look_at_long_rows(ctx, v, diagonal, of_block, grid, sums); }
cleanup:
    return status;
}

/* ---- pairs ---- */

__global__ void __launch_bounds__(FACT_LANES)
    pairs_kernel(csr_view v, int64_t step, int64_t reach, int64_t count, fact_way *ways)
{
    __shared__ fact_way of_lane[FACT_LANES];
    const int lane = (int)threadIdx.x;

    for (int64_t at = blockIdx.x; at < count; at += gridDim.x) {
        const int64_t i = at * step, begin = tess_row_offset(v.row_ptr, v.row_ptr_bits, i);
        const int64_t end = tess_row_offset(v.row_ptr, v.row_ptr_bits, i + 1), apart = fact_pair_step(end - begin);
        fact_way mine = {0.0, 0.0, 0.0};

        for (int64_t k = begin + lane * apart; k < end; k += FACT_LANES * apart) {
            fact_take_pair(&v, reach, i, k, &mine);
        }
        of_lane[lane] = mine;
        __syncthreads();
        for (int half = FACT_LANES / 2; half > 0; half /= 2) {
            if (lane < half) { fact_way_join(&of_lane[lane], &of_lane[lane + half]); }
            __syncthreads();
        }
        if (lane == 0) { ways[at] = of_lane[0]; }
        __syncthreads();
    }
}

tess_status pair(const tess_matrix *a, int64_t step, int64_t reach, fact_way *ways)
{
    gpu_scope scope(a->ctx);
    const csr_view *v = &csr_of(a)->view;
    const int64_t count = (v->nrows + step - 1) / step;
    const unsigned grid = gpu_grid(a->ctx, count * GPU_BLOCK, 2 * FACT_BLOCKS);

    return gpu_launch_blocks(a->ctx, "pairs of entries", pairs_kernel, grid, FACT_LANES, 0, *v, step, reach, count,
                             ways);
}

/* ---- the pattern ---- */

/* A wave takes its rows of more than FACT_PART entries together. */
__global__ void __launch_bounds__(GPU_BLOCK) pattern_kernel(csr_view v, unsigned long long *hash)
{
    const int lane = (int)threadIdx.x % GPU_WAVE;
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    unsigned long long sum = 0;

    for (int64_t base = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x - lane; base < v.nrows; base += step) {
        const int64_t i = base + lane;
        const int64_t length = i < v.nrows ? tess_row_offset(v.row_ptr, v.row_ptr_bits, i + 1) -
                                                 tess_row_offset(v.row_ptr, v.row_ptr_bits, i)
                                           : 0;
        auto together = GPU_BALLOT(length > FACT_PART);

        if (length <= FACT_PART && i < v.nrows) { sum += fact_hash_row(&v, i, 0, 1); }
        for (int q = 0; together != 0; q++, together >>= 1) {
            if (together & 1) { sum += fact_hash_row(&v, base + q, lane, GPU_WAVE); }
        }
    }
    sum = lanes_sum_down(sum, GPU_WAVE);
    if (lane == 0) { atomicAdd(hash, sum); }
}

tess_status pattern(const tess_matrix *a, uint64_t *hash)
{
    tess_context *ctx = a->ctx;
    gpu_scope scope(ctx);
    unsigned long long *sum = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *sum, (void **)&sum));
    TESS_TRY(ctx->backend->zero(ctx, sum, sizeof *sum));
    TESS_TRY(gpu_launch(ctx, "hash of the pattern", pattern_kernel, gpu_grid(ctx, a->nrows, FACT_BLOCKS), 0,
                        csr_of(a)->view, sum));
    status = ctx->backend->download(ctx, hash, sum, sizeof *hash);
cleanup:
    tess_device_release(ctx, sum, 1, sizeof *sum);
    return status;
}

} // namespace

extern "C" const facts_ops *facts_gpu_ops(void)
{
    static const facts_ops table = {look, pair, facts_levels_gpu, pattern};

    return &table;
}
