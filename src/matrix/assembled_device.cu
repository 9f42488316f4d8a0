/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of assembled matrices on the GPU besides products: the true residual in two words, the diagonal. */
#include <limits.h>

#include "device/gpu/long_rows.cuh"
#include "device/gpu/reduce.cuh"
#include "matrix/assembled.h"
#include "matrix/residual_rows.h"

/* Blocks per multiprocessor of the residual pass, as many on each, and with groups of threads. Rows with more entries
   than LONG_ROW are left to a second pass, whose blocks take one each; where each thread takes a row, those with more
   than LONG_STAGED. */
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

/* What a block finds: the sums of its rows, and whether it left some. */
struct block_sums {
    tess_residual_sums sums;
    int64_t left;
};

/* Those of all blocks fit into the memory that host and device share. */
enum { MAX_RESIDUAL_BLOCKS = GPU_MAPPED_BYTES / sizeof(block_sums) };

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

/* Adds over a block in a fixed order, and stores the result. */
__device__ static inline void store_over_block(tess_residual_sums *of_thread, const tess_residual_sums &sums, bool left,
                                               block_sums *of_block)
{
    const bool some_left = __syncthreads_or(left);

    of_thread[threadIdx.x] = sums;
    __syncthreads();
    for (int half = GPU_BLOCK / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            tess_residual_sums_add(&of_thread[threadIdx.x], &of_thread[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) { of_block[blockIdx.x] = {of_thread[0], some_left}; }
}

/* One row by all threads of a block, in a fixed order; the result is in thread 0. */
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

/* Each thread takes a row of up to LONG_STAGED entries; every block stores its sums. */
template <typename OFFSET>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, STAGED_BLOCKS)
    staged_residual_kernel(int64_t nrows, const OFFSET *row_ptr, const int32_t *col_ind, const double *val,
                           const double *b, const double *x, double *residual, double scale, block_sums *of_block)
{
    __shared__ residual_space space;
    tess_residual_sums sums = tess_residual_sums_start();
    bool left = false;

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
        }
        left = left || is_long;
        if (i < nrows && !is_long) {
            const tess_row_terms row = tess_row_sum_terms(&r, i, rhs, end - begin, 0);

            if (residual) { residual[i] = row.value; }
            tess_residual_sums_add_row(&sums, &row, scale);
        }
    }
    store_over_block(space.sums, sums, left, of_block);
}

/* Groups of `width` threads take a row of up to LONG_ROW entries each; every block stores its sums. */
template <typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    residual_kernel(int64_t nrows, const OFFSET *row_ptr, const int32_t *col_ind, const double *val, const double *b,
                    const double *x, double *residual, double scale, int width, block_sums *of_block)
{
    __shared__ residual_space space;
    int64_t groups = (int64_t)gridDim.x * GPU_BLOCK / width;
    int64_t group = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / width;
    int lane = (int)threadIdx.x % width;
    tess_residual_sums sums = tess_residual_sums_start();
    bool left = false;

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
        left = left || is_long;
        if (leads && !is_long) {
            const tess_row_terms row = tess_row_sum_terms(&r, i, b[i], end - begin, MOST_JOINS);

            if (residual) { residual[i] = row.value; }
            tess_residual_sums_add_row(&sums, &row, scale);
        }
    }
    store_over_block(space.sums, sums, left, of_block);
}

/* Rows of more than `limit` entries, one to a block; every block stores its sums. */
template <typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    long_residual_kernel(int64_t nrows, const OFFSET *row_ptr, int64_t limit, const int32_t *col_ind, const double *val,
                         const double *b, const double *x, double *residual, double scale, block_sums *of_block)
{
    __shared__ residual_space space;
    tess_row_sum *const of_thread = space.rows;
    tess_residual_sums sums = tess_residual_sums_start();

    for_long_rows(nrows, row_ptr, limit, [&](int64_t i, int64_t begin, int64_t end) {
        const tess_row_sum whole = sum_long_row(of_thread, begin, end, col_ind, val, b[i], x);

        if (threadIdx.x > 0) { return; }
        const tess_row_terms row = tess_row_sum_terms(&whole, i, b[i], end - begin, MOST_JOINS);

        if (residual) { residual[i] = row.value; }
        tess_residual_sums_add_row(&sums, &row, scale);
    });
    store_over_block(space.sums, sums, false, of_block);
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

/* A pass over the rows of a matrix. */
struct residual_pass {
    const csr_view *v;
    const double *b, *x;
    double *residual, scale;
};

template <typename OFFSET>
static tess_status launch_residual(tess_context *ctx, const residual_pass &pass, unsigned grid, block_sums *of_block)
{
    const csr_view *v = pass.v;
    const double *val = (const double *)v->val;
    const OFFSET *row_ptr = (const OFFSET *)v->row_ptr;

    if (has_short_rows(v)) {
        return gpu_launch(ctx, "the true residual", staged_residual_kernel<OFFSET>, grid, 0, v->nrows, row_ptr,
                          v->col_ind, val, pass.b, pass.x, pass.residual, pass.scale, of_block);
    }
    return gpu_launch(ctx, "the true residual", residual_kernel<OFFSET>, grid, 0, v->nrows, row_ptr, v->col_ind, val,
                      pass.b, pass.x, pass.residual, pass.scale, choose_width(v), of_block);
}

template <typename OFFSET>
static tess_status launch_long(tess_context *ctx, const residual_pass &pass, unsigned grid, block_sums *of_block)
{
    const csr_view *v = pass.v;

    return gpu_launch(ctx, "the true residual of long rows", long_residual_kernel<OFFSET>, grid, 0, v->nrows,
                      (const OFFSET *)v->row_ptr, (int64_t)(has_short_rows(v) ? LONG_STAGED : LONG_ROW), v->col_ind,
                      (const double *)v->val, pass.b, pass.x, pass.residual, pass.scale, of_block);
}

static unsigned residual_grid(tess_context *ctx, int64_t threads, int blocks)
{
    const unsigned grid = gpu_grid(ctx, threads, blocks);

    return grid < (unsigned)MAX_RESIDUAL_BLOCKS ? grid : (unsigned)MAX_RESIDUAL_BLOCKS;
}

/* Adds what the blocks found, in their order. */
static tess_status add_blocks(tess_context *ctx, unsigned grid, tess_residual_sums *sums, bool *left)
{
    const block_sums *of_block = (const block_sums *)gpu_state_of(ctx)->mapped.host;
    const tess_status status = ctx->backend->synchronize(ctx);

    if (status != TESS_SUCCESS) { return status; }
    *left = false;
    for (unsigned block = 0; block < grid; block++) {
        tess_residual_sums_add(sums, &of_block[block].sums);
        *left = *left || of_block[block].left;
    }
    return TESS_SUCCESS;
}

static tess_status true_residual(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                                 int exponent, tess_residual_sums *sums)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const csr_view *v = &csr_of(assembled)->view;
    const residual_pass pass = {v, b, x, residual, ldexp(1.0, -exponent)};
    const bool narrow = v->row_ptr_bits == 32;
    unsigned grid = has_short_rows(v) ? residual_grid(ctx, v->nrows, STAGED_BLOCKS)
                                      : residual_grid(ctx, v->nrows * choose_width(v), RESIDUAL_BLOCKS);
    block_sums *of_block = (block_sums *)gpu_state_of(ctx)->mapped.device;
    bool left = false;
    tess_status status = TESS_SUCCESS;

    *sums = tess_residual_sums_start();
    TESS_TRY(narrow ? launch_residual<int32_t>(ctx, pass, grid, of_block)
                    : launch_residual<int64_t>(ctx, pass, grid, of_block));
    TESS_TRY(add_blocks(ctx, grid, sums, &left));
    if (!left) { goto cleanup; }
    grid = residual_grid(ctx, v->nrows, RESIDUAL_BLOCKS);
    TESS_TRY(narrow ? launch_long<int32_t>(ctx, pass, grid, of_block)
                    : launch_long<int64_t>(ctx, pass, grid, of_block));
    status = add_blocks(ctx, grid, sums, &left);
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

/* Offsets from `begin` to `end` of row i lie in the arrays. */
__device__ static inline bool is_sound_row(int64_t i, int64_t nrows, int64_t begin, int64_t end, int64_t nnz)
{
    return begin >= 0 && end >= begin && end <= nnz && (i > 0 || begin == 0) && (i < nrows - 1 || end == nnz);
}

/* The column of entry k ascends from the one before; `begin`: of its row. */
__device__ static inline bool is_sound_entry(const int32_t *col_ind, int64_t k, int64_t begin, int64_t ncols)
{
    return col_ind[k] > (k > begin ? col_ind[k - 1] : -1) && col_ind[k] < ncols;
}

/* A thread takes a row; the entries of rows of more than LONG_ROW are left to the next kernel. */
template <typename OFFSET>
__global__ static void check_kernel(int64_t nrows, int64_t ncols, int64_t nnz, const OFFSET *row_ptr,
                                    const int32_t *col_ind, unsigned long long *first_bad)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t begin = row_ptr[i], end = row_ptr[i + 1];
        bool sound = is_sound_row(i, nrows, begin, end, nnz);

        for (int64_t k = begin; sound && k < end && end - begin <= LONG_ROW; k++) {
            sound = is_sound_entry(col_ind, k, begin, ncols);
        }
        if (!sound) { atomicMin(first_bad, (unsigned long long)i); }
    }
}

template <typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    check_long_kernel(int64_t nrows, int64_t ncols, int64_t nnz, const OFFSET *row_ptr, const int32_t *col_ind,
                      unsigned long long *first_bad)
{
    for_long_rows(nrows, row_ptr, LONG_ROW, [&](int64_t i, int64_t begin, int64_t end) {
        bool sound = is_sound_row(i, nrows, begin, end, nnz);

        for (int64_t k = begin + threadIdx.x; sound && k < end; k += GPU_BLOCK) {
            sound = is_sound_entry(col_ind, k, begin, ncols);
        }
        if (!sound) { atomicMin(first_bad, (unsigned long long)i); }
    });
}

template <typename OFFSET>
static tess_status launch_check(tess_context *ctx, const csr_view *v, unsigned long long *first_bad)
{
    const char *const name = "checking a borrowed matrix";
    const OFFSET *row_ptr = (const OFFSET *)v->row_ptr;
    const unsigned grid = gpu_grid(ctx, v->nrows, 8);
    const tess_status status = gpu_launch(ctx, name, check_kernel<OFFSET>, grid, 0, v->nrows, v->ncols, v->nnz, row_ptr,
                                          v->col_ind, first_bad);

    if (status != TESS_SUCCESS || v->nnz <= LONG_ROW) { return status; }
    return gpu_launch(ctx, name, check_long_kernel<OFFSET>, grid, 0, v->nrows, v->ncols, v->nnz, row_ptr, v->col_ind,
                      first_bad);
}

static tess_status check(tess_context *ctx, const csr_view *v, int64_t *bad_row)
{
    gpu_scope scope(ctx);
    unsigned long long first = ULLONG_MAX, *device_first = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof first, (void **)&device_first));
    TESS_TRY(ctx->backend->upload(ctx, device_first, &first, sizeof first));
    TESS_TRY(v->row_ptr_bits == 32 ? launch_check<int32_t>(ctx, v, device_first)
                                   : launch_check<int64_t>(ctx, v, device_first));
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
