/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR on the host. Rows are cut into chunks of about equal work (rows + nonzeros), independent of the number of threads;
 * a row longer than a chunk is summed by all threads in segments beforehand.
 */
#include <math.h>
#include <string.h>

#include "backend/host/host.h"
#include "format/csr/csr.h"
#include "format/csr/csr_rows.h"

enum { CHUNK = 16384, SEGMENT = 16384 };

struct csr_plan {
    int64_t nchunks;
    int32_t *chunk_row; /* nchunks + 1 */
    int64_t nlong;      /* rows longer than SEGMENT */
    int32_t *long_row;
    double *long_sum;
    double *partials; /* 2 * nchunks */
    int64_t segments; /* of the longest row */
    double *segment_sum;
};

static inline int64_t offset_at(const csr_view *v, int64_t i)
{
    return v->row_ptr_bits == 64 ? ((const int64_t *)v->row_ptr)[i] : ((const int32_t *)v->row_ptr)[i];
}

/* First row i with offset(i) + i >= target. */
static int64_t find_row(const csr_view *v, int64_t target)
{
    int64_t low = 0, high = v->nrows;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (offset_at(v, middle) + middle >= target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void free_plan(tess_context *ctx, csr_plan *p)
{
    if (!p) { return; }
    tess_host_release(ctx, p->chunk_row, p->nchunks + 1, sizeof *p->chunk_row);
    tess_host_release(ctx, p->long_row, p->nlong, sizeof *p->long_row);
    tess_host_release(ctx, p->long_sum, p->nlong, sizeof *p->long_sum);
    tess_host_release(ctx, p->partials, 2 * p->nchunks, sizeof *p->partials);
    tess_host_release(ctx, p->segment_sum, p->segments, sizeof *p->segment_sum);
    tess_host_release(ctx, p, 1, sizeof *p);
}

static void find_long_rows(const csr_view *v, csr_plan *p)
{
    int64_t found = 0;

    for (int64_t i = 0; i < v->nrows && found < p->nlong; i++) {
        if (offset_at(v, i + 1) - offset_at(v, i) > SEGMENT) { p->long_row[found++] = (int32_t)i; }
    }
}

static void count_long_rows(const csr_view *v, csr_plan *p)
{
    for (int64_t i = 0; i < v->nrows; i++) {
        int64_t length = offset_at(v, i + 1) - offset_at(v, i);
        int64_t segments = (length + SEGMENT - 1) / SEGMENT;

        if (length <= SEGMENT) { continue; }
        p->nlong += 1;
        if (segments > p->segments) { p->segments = segments; }
    }
}

static tess_status make_plan(tess_context *ctx, const csr_view *v, csr_plan **out)
{
    csr_plan *p = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *p, (void **)&p));
    memset(p, 0, sizeof *p);
    p->nchunks = (v->nnz + v->nrows + CHUNK - 1) / CHUNK;
    count_long_rows(v, p);
    TESS_TRY(tess_host_allocate(ctx, p->nchunks + 1, sizeof *p->chunk_row, (void **)&p->chunk_row));
    TESS_TRY(tess_host_allocate(ctx, p->nlong, sizeof *p->long_row, (void **)&p->long_row));
    TESS_TRY(tess_host_allocate(ctx, p->nlong, sizeof *p->long_sum, (void **)&p->long_sum));
    TESS_TRY(tess_host_allocate(ctx, 2 * p->nchunks, sizeof *p->partials, (void **)&p->partials));
    TESS_TRY(tess_host_allocate(ctx, p->segments, sizeof *p->segment_sum, (void **)&p->segment_sum));
    for (int64_t c = 0; c <= p->nchunks; c++) { p->chunk_row[c] = (int32_t)find_row(v, c * CHUNK); }
    p->chunk_row[p->nchunks] = (int32_t)v->nrows;
    find_long_rows(v, p);
    *out = p;
cleanup:
    if (status != TESS_SUCCESS) { free_plan(ctx, p); }
    return status;
}

/* sum of val[k] x[col_ind[k]] for k in [begin, end): four running sums, added in a fixed order */
#define DEFINE_SUM(name, value_type)                                                                                \
    static inline double name(const value_type *val, const int32_t *col_ind, const double *x, int64_t begin,        \
                              int64_t end)                                                                          \
    {                                                                                                               \
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;                                                              \
        int64_t k = begin;                                                                                          \
                                                                                                                    \
        for (; k + 4 <= end; k += 4) {                                                                              \
            s0 += (double)val[k] * x[col_ind[k]];                                                                   \
            s1 += (double)val[k + 1] * x[col_ind[k + 1]];                                                           \
            s2 += (double)val[k + 2] * x[col_ind[k + 2]];                                                           \
            s3 += (double)val[k + 3] * x[col_ind[k + 3]];                                                           \
        }                                                                                                           \
        if (k < end) { s0 += (double)val[k] * x[col_ind[k]]; }                                                      \
        if (k + 1 < end) { s1 += (double)val[k + 1] * x[col_ind[k + 1]]; }                                          \
        if (k + 2 < end) { s2 += (double)val[k + 2] * x[col_ind[k + 2]]; }                                          \
        return (s0 + s1) + (s2 + s3);                                                                               \
    }
DEFINE_SUM(sum_fp64, double)
DEFINE_SUM(sum_fp32, float)
#undef DEFINE_SUM

static inline double sum_range(const csr_view *v, const double *x, int64_t begin, int64_t end)
{
    return v->precision == TESS_PRECISION_FP64 ? sum_fp64(v->val, v->col_ind, x, begin, end)
                                               : sum_fp32(v->val, v->col_ind, x, begin, end);
}

static void sum_long_rows(tess_context *ctx, const csr_view *v, const csr_plan *p, const double *x)
{
    for (int64_t r = 0; r < p->nlong; r++) {
        int64_t begin = offset_at(v, p->long_row[r]), end = offset_at(v, p->long_row[r] + 1);
        int64_t segments = (end - begin + SEGMENT - 1) / SEGMENT;
        double sum = 0.0;

#pragma omp parallel for num_threads(ctx->threads) schedule(static)
        for (int64_t s = 0; s < segments; s++) {
            int64_t from = begin + s * SEGMENT, to = from + SEGMENT < end ? from + SEGMENT : end;

            p->segment_sum[s] = sum_range(v, x, from, to);
        }
        for (int64_t s = 0; s < segments; s++) { sum += p->segment_sum[s]; }
        p->long_sum[r] = sum;
    }
}

/* The sum of a long row, summed beforehand. */
static double long_row_sum(const csr_plan *p, int64_t row)
{
    int64_t r = 0;

    while (r + 1 < p->nlong && p->long_row[r] != row) { r++; }
    return p->long_sum[r];
}

/* One chunk of rows; the constants fold away in each instance. */
static inline __attribute__((always_inline)) void multiply_rows(const csr_view *v, const csr_plan *p,
                                                                const tess_spmv_args *args, int64_t chunk, int bits,
                                                                tess_precision precision, double *dots)
{
    const int32_t *ptr32 = v->row_ptr;
    const int64_t *ptr64 = v->row_ptr;
    int64_t row = p->chunk_row[chunk], last = p->chunk_row[chunk + 1];
    int64_t end = bits == 32 ? ptr32[row] : ptr64[row];

    for (; row < last; row++) {
        int64_t begin = end;
        double sum;

        end = bits == 32 ? ptr32[row + 1] : ptr64[row + 1];
        if (end - begin > SEGMENT) {
            sum = long_row_sum(p, row);
        } else if (precision == TESS_PRECISION_FP64) {
            sum = sum_fp64(v->val, v->col_ind, args->x, begin, end);
        } else {
            sum = sum_fp32(v->val, v->col_ind, args->x, begin, end);
        }
        sum = spmv_result(args, row, sum);
        args->y[row] = sum;
        spmv_add_dots(&args->reduction, args->y, row, sum, dots);
    }
}

#define DEFINE_CHUNK(name, bits, precision)                                                                        \
    static void name(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t chunk, double *dots) \
    {                                                                                                              \
        const tess_spmv_args local = *args;                                                                        \
        multiply_rows(v, p, &local, chunk, bits, precision, dots);                                                 \
    }
DEFINE_CHUNK(multiply_32_fp64, 32, TESS_PRECISION_FP64)
DEFINE_CHUNK(multiply_32_fp32, 32, TESS_PRECISION_FP32)
DEFINE_CHUNK(multiply_64_fp64, 64, TESS_PRECISION_FP64)
DEFINE_CHUNK(multiply_64_fp32, 64, TESS_PRECISION_FP32)
#undef DEFINE_CHUNK

typedef void (*chunk_function)(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t chunk,
                               double *dots);

static chunk_function select_chunk_function(const csr_view *v)
{
    bool fp64 = v->precision == TESS_PRECISION_FP64;

    if (v->row_ptr_bits == 32) { return fp64 ? multiply_32_fp64 : multiply_32_fp32; }
    return fp64 ? multiply_64_fp64 : multiply_64_fp32;
}

static tess_status spmv(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    chunk_function multiply = select_chunk_function(v);
    const tess_reduction *reduction = &args->reduction;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    sum_long_rows(ctx, v, p, args->x);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (p->nchunks > 1)
    for (int64_t c = 0; c < p->nchunks; c++) {
        double dots[2] = {0.0, 0.0};

        multiply(v, p, args, c, dots);
        p->partials[c] = dots[0];
        p->partials[p->nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(p->partials, p->nchunks, reduction->ndots, reduction->step, reduction->state);
    }
    return TESS_SUCCESS;
}

static tess_status gather(tess_context *ctx, int64_t n, const double *source, const int64_t *from,
                          tess_precision precision, void *values)
{
    double *fp64 = values;
    float *fp32 = values;

#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t k = 0; k < n; k++) {
        double value = source[from ? from[k] : k];

        if (precision == TESS_PRECISION_FP64) {
            fp64[k] = value;
        } else {
            fp32[k] = (float)value;
        }
    }
    return TESS_SUCCESS;
}

static bool row_is_sound(const csr_view *v, int64_t i)
{
    int64_t begin = offset_at(v, i), end = offset_at(v, i + 1), previous = -1;

    if (begin < 0 || end < begin || end > v->nnz) { return false; }
    for (int64_t k = begin; k < end; k++) {
        if (v->col_ind[k] <= previous || v->col_ind[k] >= v->ncols) { return false; }
        previous = v->col_ind[k];
    }
    return true;
}

static tess_status check(tess_context *ctx, const csr_view *v, int64_t *bad_row)
{
    int64_t first = v->nrows;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(min : first)
    for (int64_t i = 0; i < v->nrows; i++) {
        if (i < first && !row_is_sound(v, i)) { first = i; }
    }
    if (offset_at(v, 0) != 0 || offset_at(v, v->nrows) != v->nnz) {
        *bad_row = 0;
    } else {
        *bad_row = first < v->nrows ? first : -1;
    }
    return TESS_SUCCESS;
}

/* ---- on assembled matrices ---- */

tess_status host_csr_diagonal(const tess_matrix *assembled, double *diagonal)
{
    const csr_view *v = &csr_of(assembled)->view;
    const double *val = v->val;
    int64_t n = v->nrows < v->ncols ? v->nrows : v->ncols;

#pragma omp parallel for num_threads(assembled->ctx->threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double d = 0.0;

        for (int64_t k = offset_at(v, i); k < offset_at(v, i + 1); k++) {
            if (v->col_ind[k] == i) { d = val[k]; }
        }
        diagonal[i] = d;
    }
    return TESS_SUCCESS;
}

/* b_i - (A x)_i in two words and its bound. */
static double residual_of_row(const csr_view *v, const double *b, const double *x, int64_t i, double *bound)
{
    const double *val = v->val;
    int64_t begin = offset_at(v, i), end = offset_at(v, i + 1);
    row_residual r = {{b[i], 0.0}, fabs(b[i])};
    double value;

    for (int64_t k = begin; k < end; k++) { row_residual_add(&r, val[k], x[v->col_ind[k]]); }
    value = two_word_value(r.sum);
    *bound = dot2_bound((double)(end - begin + 1), r.magnitude, value);
    return value;
}

/* Sums of one block of rows. */
typedef struct block_norm {
    two_word squares;
    double bounds;
} block_norm;

static block_norm residual_of_block(const csr_view *v, const double *b, const double *x, double *residual,
                                    int64_t block, double scale)
{
    int64_t end = (block + 1) * HOST_BLOCK < v->nrows ? (block + 1) * HOST_BLOCK : v->nrows;
    block_norm sums = {{0.0, 0.0}, 0.0};

    for (int64_t i = block * HOST_BLOCK; i < end; i++) {
        double bound = 0.0, value = residual_of_row(v, b, x, i, &bound);

        if (residual) { residual[i] = value; }
        norm_add_row(&sums.squares, &sums.bounds, value, bound, scale);
    }
    return sums;
}

tess_status host_csr_true_residual(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                                   tess_residual_norm *norm)
{
    tess_context *ctx = assembled->ctx;
    const csr_view *v = &csr_of(assembled)->view;
    int64_t nblocks = (v->nrows + HOST_BLOCK - 1) / HOST_BLOCK;
    double scale = ldexp(1.0, -norm->exponent), *partials = NULL;
    two_word squares = {0.0, 0.0};
    tess_status status = host_partials(ctx, 3 * nblocks, &partials);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (nblocks > 1)
    for (int64_t block = 0; block < nblocks; block++) {
        block_norm sums = residual_of_block(v, b, x, residual, block, scale);

        partials[3 * block] = sums.squares.high;
        partials[3 * block + 1] = sums.squares.low;
        partials[3 * block + 2] = sums.bounds;
    }
    norm->bound = 0.0;
    for (int64_t block = 0; block < nblocks; block++) {
        two_word_add_pair(&squares, (two_word){partials[3 * block], partials[3 * block + 1]});
        norm->bound += partials[3 * block + 2];
    }
    norm->high = squares.high;
    norm->low = squares.low;
    return TESS_SUCCESS;
}

const csr_backend csr_host = {make_plan, free_plan, spmv, gather, check};

const tess_format_ops csr_host_ops = {
    .format = TESS_FORMAT_CSR,
    .build = csr_build,
    .refresh = csr_refresh,
    .destroy = csr_destroy,
    .prepare = csr_prepare,
    .spmv = csr_spmv,
    .decode = csr_decode,
    .bytes = csr_bytes,
    .precisions = (1U << TESS_PRECISION_FP64) | (1U << TESS_PRECISION_FP32),
};
