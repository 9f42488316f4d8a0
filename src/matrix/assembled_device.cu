/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of assembled matrices on the GPU besides products: the true residual in two words, the diagonal. */
#include <limits.h>

#include "device/gpu/reduce.cuh"
#include "matrix/assembled.h"
#include "matrix/residual_rows.h"

/* Blocks per multiprocessor of the residual pass, as many on each, and with groups of threads. Rows with more entries
   than LONG_ROW are summed by their block; where each thread takes a row, those with more than LONG_STAGED. */
enum { STAGED_BLOCKS = 3, RESIDUAL_BLOCKS = 8, LONG_ROW = 4 * GPU_BLOCK, LONG_STAGED = GPU_BLOCK };

/* The most entries of an average row for which each thread takes a row. */
enum { SHORT_ROW = 64 };

/* Binary logarithm of the most parts that a row is summed in. */
enum { MOST_JOINS = 10 };
static_assert((1 << MOST_JOINS) >= GPU_BLOCK, "a row has a part for each thread of a block");

__device__ static inline void join_shuffled(tess_row_sum *r, int distance)
{
    tess_row_sum other;

    other.sum.high = GPU_SHUFFLE_DOWN(r->sum.high, distance, GPU_WAVE);
    other.sum.low = GPU_SHUFFLE_DOWN(r->sum.low, distance, GPU_WAVE);
    other.errors = GPU_SHUFFLE_DOWN(r->errors, distance, GPU_WAVE);
    other.magnitude = GPU_SHUFFLE_DOWN(r->magnitude, distance, GPU_WAVE);
    other.largest = GPU_SHUFFLE_DOWN(r->largest, distance, GPU_WAVE);
    tess_row_sum_join(r, &other);
}

/* The sums of all blocks fit into the memory that host and device share. */
enum { MAX_RESIDUAL_BLOCKS = GPU_MAPPED_BYTES / sizeof(tess_residual_sums) };

/* Entries that a block has in shared memory, and the places for them: rows whose lengths are a multiple of two would
   else be in the same banks. */
enum { STAGED_TURNS = 7, STAGED = STAGED_TURNS * GPU_BLOCK, STAGED_BANKS = 16 };
enum { STAGED_PLACES = STAGED + STAGED / STAGED_BANKS };

/* Shared memory of a block. Between two uses is a barrier. */
union residual_space {
    struct {
        double val[STAGED_PLACES], x[STAGED_PLACES];
    } staged;
    tess_row_sum rows[GPU_BLOCK];
    tess_residual_sums sums[GPU_BLOCK];
};

__device__ static inline int staged_place(int k)
{
    return k + k / STAGED_BANKS;
}

/* Adds over a block in a fixed order; the result is in thread 0. */
__device__ static inline void add_over_block(tess_residual_sums *of_thread, tess_residual_sums *sums)
{
    __syncthreads();
    of_thread[threadIdx.x] = *sums;
    __syncthreads();
    for (int half = GPU_BLOCK / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            tess_residual_sums_add(&of_thread[threadIdx.x], &of_thread[threadIdx.x + half]);
        }
        __syncthreads();
    }
    *sums = of_thread[0];
}

/* One row by all threads of a block, in a fixed order; every thread gets the result. */
__device__ static inline tess_row_sum sum_long_row(tess_row_sum *of_thread, int64_t begin, int64_t end,
                                                   const int32_t *col_ind, const double *val, double rhs,
                                                   const double *x)
{
    tess_row_sum r = tess_row_sum_start(threadIdx.x == 0 ? rhs : 0.0);

    for (int64_t k = begin + threadIdx.x; k < end; k += GPU_BLOCK) {
        tess_row_sum_add(&r, val[k], x[col_ind[k]]);
    }
    __syncthreads(); /* all threads have read the previous row */
    of_thread[threadIdx.x] = r;
    __syncthreads();
    for (int half = GPU_BLOCK / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) { tess_row_sum_join(&of_thread[threadIdx.x], &of_thread[threadIdx.x + half]); }
        __syncthreads();
    }
    return of_thread[0];
}

/* Copies up to STAGED entries from `at` on, with the values of x for them. */
__device__ static inline void stage_entries(residual_space *space, int64_t at, int count, const int32_t *col_ind,
                                            const double *val, const double *x)
{
    int32_t column[STAGED_TURNS];
    double value[STAGED_TURNS];

#pragma unroll
    for (int turn = 0; turn < STAGED_TURNS; turn++) {
        const int k = turn * GPU_BLOCK + (int)threadIdx.x;

        column[turn] = k < count ? gpu_load_once(col_ind + at + k) : 0;
        value[turn] = k < count ? gpu_load_once(val + at + k) : 0.0;
    }
#pragma unroll
    for (int turn = 0; turn < STAGED_TURNS; turn++) {
        const int k = turn * GPU_BLOCK + (int)threadIdx.x;

        if (k < count) {
            space->staged.val[staged_place(k)] = value[turn];
            space->staged.x[staged_place(k)] = x[column[turn]];
        }
    }
}

/* The sums of a block's rows without long ones, whose entries are those from `first` to `last`: each thread adds its
   row's entries in their order, as a host does. */
__device__ static inline void sum_staged_rows(residual_space *space, int64_t first, int64_t last, int64_t begin,
                                              int64_t end, const int32_t *col_ind, const double *val, const double *x,
                                              tess_row_sum *r)
{
    for (int64_t at = first; at < last; at += STAGED) {
        const int count = last - at < STAGED ? (int)(last - at) : STAGED;
        const int from = begin > at ? (int)(begin - at < count ? begin - at : count) : 0;
        const int to = end < at ? 0 : end - at < count ? (int)(end - at) : count;

        stage_entries(space, at, count, col_ind, val, x);
        __syncthreads();
        for (int k = from; k < to; k++) {
            tess_row_sum_add(r, space->staged.val[staged_place(k)], space->staged.x[staged_place(k)]);
        }
        __syncthreads(); /* before the next entries replace these */
    }
}

/* Each thread takes a row, and rows with more entries than LONG_STAGED are summed by their block; every block stores
   its sums. */
template <typename OFFSET>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, STAGED_BLOCKS)
    staged_residual_kernel(int64_t nrows, const OFFSET *row_ptr, const int32_t *col_ind, const double *val,
                           const double *b, const double *x, double *residual, double scale,
                           tess_residual_sums *of_block)
{
    __shared__ residual_space space;
    tess_residual_sums sums = tess_residual_sums_start();

    for (int64_t base = (int64_t)blockIdx.x * GPU_BLOCK; base < nrows; base += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t i = base + threadIdx.x, next = base + GPU_BLOCK < nrows ? base + GPU_BLOCK : nrows;
        const int64_t begin = i < nrows ? (int64_t)row_ptr[i] : 0, end = i < nrows ? (int64_t)row_ptr[i + 1] : 0;
        const bool is_long = end - begin > LONG_STAGED;
        const double rhs = i < nrows ? b[i] : 0.0;
        tess_row_sum r = tess_row_sum_start(rhs);

        if (!__syncthreads_or(is_long)) {
            sum_staged_rows(&space, row_ptr[base], row_ptr[next], begin, end, col_ind, val, x, &r);
        } else {
            for (int64_t k = begin; k < end && !is_long; k++) {
                tess_row_sum_add(&r, val[k], x[col_ind[k]]);
            }
            for (int64_t row = base; row < next; row++) {
                const int64_t from = row_ptr[row], to = row_ptr[row + 1];

                if (to - from <= LONG_STAGED) { continue; }
                const tess_row_sum whole = sum_long_row(space.rows, from, to, col_ind, val, b[row], x);

                if (row == i) { r = whole; }
            }
        }
        if (i < nrows) {
            const tess_row_terms row = tess_row_sum_terms(&r, i, rhs, end - begin, is_long ? MOST_JOINS : 0);

            if (residual) { residual[i] = row.value; }
            tess_residual_sums_add_row(&sums, &row, scale);
        }
    }
    add_over_block(space.sums, &sums);
    if (threadIdx.x == 0) { of_block[blockIdx.x] = sums; }
}

/* Groups of `width` threads take a row each; every block stores its sums. */
template <typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    residual_kernel(int64_t nrows, const OFFSET *row_ptr, const int32_t *col_ind, const double *val, const double *b,
                    const double *x, double *residual, double scale, int width, tess_residual_sums *of_block)
{
    __shared__ residual_space space;
    int64_t groups = (int64_t)gridDim.x * GPU_BLOCK / width;
    int64_t group = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / width;
    int lane = (int)threadIdx.x % width;
    tess_residual_sums sums = tess_residual_sums_start();

    for (int64_t base = 0; base < nrows; base += groups) {
        int64_t i = base + group;
        int64_t begin = i < nrows ? (int64_t)row_ptr[i] : 0, end = i < nrows ? (int64_t)row_ptr[i + 1] : 0;
        const bool leads = i < nrows && lane == 0, is_long = end - begin > LONG_ROW;
        tess_row_sum r = tess_row_sum_start(leads ? b[i] : 0.0);

        for (int64_t k = begin + lane; k < end && !is_long; k += width) {
            tess_row_sum_add(&r, val[k], x[col_ind[k]]);
        }
        for (int distance = width / 2; distance > 0; distance /= 2) {
            join_shuffled(&r, distance);
        }
        if (__syncthreads_or(is_long)) {
            for (int64_t row = i - (int)threadIdx.x / width, one = 0; one < GPU_BLOCK / width && row < nrows;
                 one++, row++) {
                const int64_t from = row_ptr[row], to = row_ptr[row + 1];

                if (to - from <= LONG_ROW) { continue; }
                const tess_row_sum whole = sum_long_row(space.rows, from, to, col_ind, val, b[row], x);

                if (row == i) { r = whole; }
            }
        }
        if (leads) {
            const tess_row_terms row = tess_row_sum_terms(&r, i, b[i], end - begin, MOST_JOINS);

            if (residual) { residual[i] = row.value; }
            tess_residual_sums_add_row(&sums, &row, scale);
        }
    }
    add_over_block(space.sums, &sums);
    if (threadIdx.x == 0) { of_block[blockIdx.x] = sums; }
}

static int choose_width(const csr_view *v)
{
    int width = 1;

    while (width < GPU_WAVE && width * v->nrows * 2 < v->nnz) {
        width *= 2;
    }
    return width;
}

static bool has_short_rows(const csr_view *v)
{
    return v->nnz / SHORT_ROW <= v->nrows;
}

template <typename OFFSET>
static void launch_residual(tess_context *ctx, const csr_view *v, const double *b, const double *x, double *residual,
                            double scale, unsigned grid, tess_residual_sums *of_block)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const double *val = (const double *)v->val;
    const OFFSET *row_ptr = (const OFFSET *)v->row_ptr;

    if (has_short_rows(v)) {
        staged_residual_kernel<<<grid, GPU_BLOCK, 0, stream>>>(v->nrows, row_ptr, v->col_ind, val, b, x, residual,
                                                               scale, of_block);
    } else {
        residual_kernel<<<grid, GPU_BLOCK, 0, stream>>>(v->nrows, row_ptr, v->col_ind, val, b, x, residual, scale,
                                                        choose_width(v), of_block);
    }
}

static tess_status true_residual(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                                 int exponent, tess_residual_sums *sums)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const csr_view *v = &csr_of(assembled)->view;
    unsigned grid = has_short_rows(v) ? gpu_grid(ctx, v->nrows, STAGED_BLOCKS)
                                      : gpu_grid(ctx, v->nrows * choose_width(v), RESIDUAL_BLOCKS);
    tess_residual_sums *of_device = (tess_residual_sums *)gpu_state_of(ctx)->mapped.device;
    double scale = ldexp(1.0, -exponent);
    const tess_residual_sums *of_block = (const tess_residual_sums *)gpu_state_of(ctx)->mapped.host;
    tess_status status = TESS_SUCCESS;

    grid = grid < (unsigned)MAX_RESIDUAL_BLOCKS ? grid : (unsigned)MAX_RESIDUAL_BLOCKS;
    if (v->row_ptr_bits == 32) {
        launch_residual<int32_t>(ctx, v, b, x, residual, scale, grid, of_device);
    } else {
        launch_residual<int64_t>(ctx, v, b, x, residual, scale, grid, of_device);
    }
    TESS_TRY(gpu_check_launch(ctx, "the true residual"));
    TESS_TRY(ctx->backend->synchronize(ctx));
    *sums = tess_residual_sums_start();
    for (unsigned block = 0; block < grid; block++) {
        tess_residual_sums_add(sums, of_block + block);
    }
cleanup:
    return status;
}

template <typename OFFSET>
__global__ static void diagonal_kernel(int64_t n, const OFFSET *row_ptr, const int32_t *col_ind, const double *val,
                                       double *diagonal)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        OFFSET low = row_ptr[i], high = row_ptr[i + 1], end = high;

        while (low < high) {
            OFFSET middle = low + (high - low) / 2;

            if (col_ind[middle] >= i) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        diagonal[i] = low < end && col_ind[low] == i ? val[low] : 0.0;
    }
}

static tess_status diagonal_of(const tess_matrix *assembled, double *diagonal)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const csr_view *v = &csr_of(assembled)->view;
    const double *val = (const double *)v->val;
    int64_t n = v->nrows < v->ncols ? v->nrows : v->ncols;
    unsigned grid = gpu_grid(ctx, n, 8);

    if (v->row_ptr_bits == 32) {
        diagonal_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, (const int32_t *)v->row_ptr, v->col_ind, val,
                                                                    diagonal);
    } else {
        diagonal_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, (const int64_t *)v->row_ptr, v->col_ind, val,
                                                                    diagonal);
    }
    return gpu_check_launch(ctx, "reading the diagonal");
}

/* ---- soundness ---- */

template <typename OFFSET>
__global__ static void check_kernel(int64_t nrows, int64_t ncols, int64_t nnz, const OFFSET *row_ptr,
                                    const int32_t *col_ind, unsigned long long *first_bad)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t begin = row_ptr[i], end = row_ptr[i + 1], previous = -1;
        bool sound = begin >= 0 && end >= begin && end <= nnz && (i > 0 || begin == 0) && (i < nrows - 1 || end == nnz);

        for (int64_t k = begin; sound && k < end; k++) {
            sound = col_ind[k] > previous && col_ind[k] < ncols;
            previous = col_ind[k];
        }
        if (!sound) { atomicMin(first_bad, (unsigned long long)i); }
    }
}

static tess_status check(tess_context *ctx, const csr_view *v, int64_t *bad_row)
{
    gpu_scope scope(ctx);
    unsigned long long first = ULLONG_MAX, *device_first = NULL;
    unsigned grid = gpu_grid(ctx, v->nrows, 8);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof first, (void **)&device_first));
    TESS_TRY(ctx->backend->upload(ctx, device_first, &first, sizeof first));
    if (v->row_ptr_bits == 32) {
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz,
                                                                 (const int32_t *)v->row_ptr, v->col_ind, device_first);
    } else {
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz,
                                                                 (const int64_t *)v->row_ptr, v->col_ind, device_first);
    }
    TESS_TRY(gpu_check_launch(ctx, "checking a borrowed matrix"));
    TESS_TRY(ctx->backend->download(ctx, &first, device_first, sizeof first));
    *bad_row = first == ULLONG_MAX ? -1 : (int64_t)first;
cleanup:
    tess_device_release(ctx, device_first, 1, sizeof first);
    return status;
}

extern "C" const assembled_ops *assembled_gpu_ops(void)
{
    static const assembled_ops table = {diagonal_of, true_residual, check, NULL};

    return &table;
}
