/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of ELLPACK-R and SELL-C-sigma on the host: GROUP neighbouring rows of a slice at once up to their common
 * length, then the rest of each row. A row's entries are added in their order, so that the result has the same bits for
 * any number of threads.
 */
#include <math.h>
#include <string.h>

#include "device/host/host.h"
#include "format/ellr/ellr_rows.h"
#include "format/row_epilogue.h"

/* Slices per task; their dot products are one partial sum. */
enum { GROUP = 8, CHUNK = 8 };

/* What an instance is compiled for; constants wherever the functions below are inlined. */
typedef struct product_kind {
    tess_precision stored, vectors;
    tess_arithmetic arithmetic;
    bool low;      /* products in FP32, sums in FP64 */
    bool wide;     /* columns */
    bool permuted; /* rows, or rows of y that are looked up */
} product_kind;

/* GROUP rows from `position` on. */
typedef struct row_group {
    const void *val;    /* of the matrix */
    int64_t first;      /* value 0 of the first row */
    const int16_t *col; /* column 0 of the first row */
    int64_t row[GROUP]; /* of y */
    int32_t length[GROUP];
    int32_t common; /* length of the shortest */
    int64_t ahead;  /* from an entry to the same entry of the next slice, if both have the same width */
} row_group;

/* Column of entry k of row `lane`. */
TESS_INLINE int64_t column_of(const row_group *g, product_kind kind, int64_t k, int lane)
{
    int64_t place = k * ELLR_SLICE + lane;

    if (kind.wide) { return ((const int32_t *)(const void *)g->col)[place]; }
    return (kind.permuted ? g->row[lane] : g->row[0] + ellr_rank_at(lane)) + g->col[place];
}

/* Prefetches the next slice's entries: hardware prefetchers alone leave many short streams far below the memory's
   bandwidth. Beyond the end of the arrays it prefetches addresses that are never used. */
TESS_INLINE void prefetch(const row_group *g, product_kind kind, int64_t k)
{
    uintptr_t place = (uintptr_t)(g->first + k * ELLR_SLICE + g->ahead) * tess_storage_bytes(kind.stored);
    uintptr_t column = (uintptr_t)(k * ELLR_SLICE + g->ahead) * (kind.wide ? sizeof(int32_t) : sizeof(int16_t));

    __builtin_prefetch((const void *)((uintptr_t)g->val + place), 0, 3);
    __builtin_prefetch((const void *)((uintptr_t)g->col + column), 0, 3);
}

/* Values are decoded separately from their use, so that the compiler may decode several at once. */
TESS_INLINE void sum_group64(const row_group *g, product_kind kind, const void *x, double *out)
{
    double sum[GROUP] = {0.0}, value[GROUP];

    for (int64_t k = 0; k < g->common; k++) {
        prefetch(g, kind, k);
        for (int l = 0; l < GROUP; l++) {
            value[l] = tess_load(kind.stored, g->val, g->first + k * ELLR_SLICE + l);
        }
        for (int l = 0; l < GROUP; l++) {
            sum[l] += value[l] * tess_load(kind.vectors, x, column_of(g, kind, k, l));
        }
    }
    for (int l = 0; l < GROUP; l++) {
        for (int64_t k = g->common; k < g->length[l]; k++) {
            sum[l] += tess_load(kind.stored, g->val, g->first + k * ELLR_SLICE + l) *
                      tess_load(kind.vectors, x, column_of(g, kind, k, l));
        }
        out[l] = sum[l];
    }
}

TESS_INLINE void sum_group32(const row_group *g, product_kind kind, const void *x, double *out)
{
    float sum[GROUP] = {0.0F}, value[GROUP];

    for (int64_t k = 0; k < g->common; k++) {
        prefetch(g, kind, k);
        for (int l = 0; l < GROUP; l++) {
            value[l] = tess_load_float(kind.stored, g->val, g->first + k * ELLR_SLICE + l);
        }
        for (int l = 0; l < GROUP; l++) {
            sum[l] += value[l] * tess_load_float(kind.vectors, x, column_of(g, kind, k, l));
        }
    }
    for (int l = 0; l < GROUP; l++) {
        for (int64_t k = g->common; k < g->length[l]; k++) {
            sum[l] += tess_load_float(kind.stored, g->val, g->first + k * ELLR_SLICE + l) *
                      tess_load_float(kind.vectors, x, column_of(g, kind, k, l));
        }
        out[l] = (double)sum[l];
    }
}

TESS_INLINE void sum_group_low(const row_group *g, product_kind kind, const void *x, double *out)
{
    double sum[GROUP] = {0.0};
    float value[GROUP];

    for (int64_t k = 0; k < g->common; k++) {
        prefetch(g, kind, k);
        for (int l = 0; l < GROUP; l++) {
            value[l] = tess_load_float(kind.stored, g->val, g->first + k * ELLR_SLICE + l);
        }
        for (int l = 0; l < GROUP; l++) {
            sum[l] += (double)(value[l] * tess_load_float(kind.vectors, x, column_of(g, kind, k, l)));
        }
    }
    for (int l = 0; l < GROUP; l++) {
        for (int64_t k = g->common; k < g->length[l]; k++) {
            sum[l] += (double)(tess_load_float(kind.stored, g->val, g->first + k * ELLR_SLICE + l) *
                               tess_load_float(kind.vectors, x, column_of(g, kind, k, l)));
        }
        out[l] = sum[l];
    }
}

TESS_INLINE row_group find_group(const ellr_view *v, ellr_slice s, int64_t position, product_kind kind)
{
    int64_t lane = position % ELLR_SLICE;
    row_group g = {.val = v->val, .first = ellr_first_value(s) + lane, .common = INT32_MAX};

    g.ahead = (int64_t)s.width * ELLR_SLICE;
    g.col = (const int16_t *)v->column + ellr_first_column(s) + (kind.wide ? 2 * lane : lane);
    for (int l = 0; l < GROUP; l++) {
        g.row[l] =
            kind.permuted ? ellr_target(v, ellr_row(v, s, position + l)) : ellr_rank_at(position + l) + v->row_shift;
        g.length[l] = ellr_length(v, position + l);
        g.common = g.length[l] < g.common ? g.length[l] : g.common;
    }
    return g;
}

/* Sums of all rows of slice s. */
TESS_INLINE void sum_slice(const ellr_view *v, int64_t s, const void *x, product_kind kind, double *sum)
{
    for (int64_t lane = 0; lane < ELLR_SLICE; lane += GROUP) {
        row_group g = find_group(v, v->slice[s], s * ELLR_SLICE + lane, kind);

        if (kind.low) {
            sum_group_low(&g, kind, x, sum + lane);
        } else if (kind.arithmetic == TESS_ARITHMETIC_FP64) {
            sum_group64(&g, kind, x, sum + lane);
        } else {
            sum_group32(&g, kind, x, sum + lane);
        }
    }
}

/* The same for any columns and order of the slice; absolute columns need no rows. */
TESS_INLINE void sum_any_slice(const ellr_view *v, int64_t s, const void *x, product_kind kind, double *sum)
{
    product_kind wide = kind, permuted = kind;

    wide.wide = true;
    permuted.permuted = true;
    if (ellr_has_wide_columns(v->slice[s])) {
        sum_slice(v, s, x, wide, sum);
    } else if (v->row_of || ellr_is_permuted(v->slice[s])) {
        sum_slice(v, s, x, permuted, sum);
    } else {
        sum_slice(v, s, x, kind, sum);
    }
}

typedef void (*slice_function)(const ellr_view *v, int64_t s, const void *x, double *sum);

#define SLICE_FUNCTION(name, stored, vectors, arithmetic, low)                                       \
    static void name(const ellr_view *v, int64_t s, const void *x, double *sum)                      \
    {                                                                                                \
        sum_any_slice(v, s, x, (product_kind){stored, vectors, arithmetic, low, false, false}, sum); \
    }
#define SLICE_FUNCTIONS(NAME, ...)                                                                                     \
    SLICE_FUNCTION(sum_##NAME, TESS_PRECISION_##NAME, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64, false)                \
    SLICE_FUNCTION(sum_##NAME##_vectors32, TESS_PRECISION_##NAME, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64, false)    \
    SLICE_FUNCTION(sum_##NAME##_arithmetic32, TESS_PRECISION_##NAME, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32, false) \
    SLICE_FUNCTION(sum_##NAME##_low, TESS_PRECISION_##NAME, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64, true)
TESS_PRECISION_LIST(SLICE_FUNCTIONS)
#undef SLICE_FUNCTIONS
#undef SLICE_FUNCTION

static bool is_low(const ellr_view *v, const tess_spmv_args *args)
{
    return args->low_arithmetic == TESS_ARITHMETIC_FP32 && v->precision != TESS_PRECISION_FP64;
}

/* The same, with the x that the arithmetic needs. */
static slice_function select_slice_function(const ellr_view *v, const tess_spmv_args *args, const void **x)
{
#define SLICE_ROW(NAME, ...) {sum_##NAME, sum_##NAME##_vectors32, sum_##NAME##_arithmetic32, sum_##NAME##_low},
    static const slice_function functions[TESS_PRECISION_COUNT][4] = {TESS_PRECISION_LIST(SLICE_ROW)};
#undef SLICE_ROW

    if (is_low(v, args)) {
        *x = args->x_shadow;
        return functions[v->precision][3];
    }
    *x = args->vectors == TESS_PRECISION_FP32 ? (const void *)args->x_fp32 : args->x;
    if (args->vectors == TESS_PRECISION_FP64) { return functions[v->precision][0]; }
    return functions[v->precision][v->arithmetic == TESS_ARITHMETIC_FP64 ? 1 : 2];
}

/* ---- epilogue ---- */

/* y of a slice in FP32, from sums in the arithmetic. */
static void store_fp32(const ellr_view *v, int64_t s, const tess_spmv_args *args, const double *sum)
{
    for (int64_t lane = 0; lane < ELLR_SLICE; lane++) {
        int64_t row = ellr_row(v, v->slice[s], s * ELLR_SLICE + lane);

        if (row < v->nrows) { args->y_fp32[row] = spmv_result_fp32(args, v->arithmetic, row, sum[lane]); }
    }
}

static void store_fp64(const ellr_view *v, int64_t s, const tess_spmv_args *args, const double *sum, double *dots)
{
    for (int64_t lane = 0; lane < ELLR_SLICE; lane++) {
        int64_t row = ellr_row(v, v->slice[s], s * ELLR_SLICE + lane);

        if (row < v->nrows) {
            double value = spmv_result(args, row, sum[lane]);

            args->y[row] = value;
            spmv_add_dots(&args->reduction, args->y, row, value, dots);
        }
    }
}

/* A step of a polynomial. */
static void store_step(const ellr_view *v, int64_t s, const tess_spmv_args *args, bool fp32, const double *sum)
{
    for (int64_t lane = 0; lane < ELLR_SLICE; lane++) {
        int64_t row = ellr_row(v, v->slice[s], s * ELLR_SLICE + lane);

        if (row < v->nrows) { spmv_finish_step(args, fp32, row, sum[lane]); }
    }
}

static int64_t chunks_of(const ellr_view *v)
{
    return (v->nslices + CHUNK - 1) / CHUNK;
}

static tess_status prepare(tess_context *ctx, const ellr_view *v)
{
    double *partials = NULL;

    return host_partials(ctx, 2 * chunks_of(v), &partials);
}

static tess_status spmv(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const void *x = NULL;
    slice_function sum_rows = select_slice_function(v, args, &x);
    int64_t nchunks = chunks_of(v);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t c = 0; c < nchunks; c++) {
        int64_t end = (c + 1) * CHUNK < v->nslices ? (c + 1) * CHUNK : v->nslices;
        double sum[ELLR_SLICE], dots[2] = {0.0, 0.0};

        for (int64_t s = c * CHUNK; s < end; s++) {
            sum_rows(v, s, x, sum);
            if (args->update.kind == TESS_UPDATE_POLYNOMIAL) {
                store_step(v, s, args, fp32, sum);
            } else if (fp32) {
                store_fp32(v, s, args, sum);
            } else {
                store_fp64(v, s, args, sum, dots);
            }
        }
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

/* ---- products by parts ---- */

/* Rows of an empty part per task: as many as of slices. */
static int64_t part_chunks(const ellr_view *v)
{
    return v->slice ? chunks_of(v) : (v->nrows + CHUNK * ELLR_SLICE - 1) / (CHUNK * ELLR_SLICE);
}

/* Row i of a part. */
static void finish_part_row(const ellr_view *v, const tess_spmv_args *args, int64_t i, double sum, double *dots)
{
    int64_t row = ellr_target(v, i);
    double value = spmv_finish_row(args, row, v->exponent ? sum * part_row_scale(v->exponent, i) : sum);

    spmv_add_row_dots(args, args->reduction.ndots, row, value, dots);
}

/* A chunk of a part. */
static void multiply_part(const ellr_view *v, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    int64_t last = (chunk + 1) * CHUNK, end = last < v->nslices ? last : v->nslices;
    int64_t empty_end = last * ELLR_SLICE < v->nrows ? last * ELLR_SLICE : v->nrows;
    const void *x = NULL;
    slice_function sum_rows = select_slice_function(v, args, &x);
    double sum[ELLR_SLICE];

    for (int64_t s = chunk * CHUNK; s < end; s++) {
        sum_rows(v, s, x, sum);
        for (int64_t lane = 0; lane < ELLR_SLICE; lane++) {
            int64_t row = ellr_row(v, v->slice[s], s * ELLR_SLICE + lane);

            if (row < v->nrows) { finish_part_row(v, args, row, sum[lane], dots); }
        }
    }
    for (int64_t i = chunk * CHUNK * ELLR_SLICE; !v->slice && i < empty_end; i++) {
        finish_part_row(v, args, i, 0.0, dots);
    }
}

static tess_status spmv_parts(tess_context *ctx, int count, const ellr_view *views, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    int64_t nchunks = 0;
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    for (int p = 0; p < count; p++) {
        nchunks += part_chunks(&views[p]);
    }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (nchunks > 4)
    for (int64_t c = 0; c < nchunks; c++) {
        int64_t chunk = c;
        double dots[2] = {0.0, 0.0};
        int p = 0;

        for (; chunk >= part_chunks(&views[p]); p++) {
            chunk -= part_chunks(&views[p]);
        }
        multiply_part(&views[p], args, chunk, dots);
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

/* ---- products by layers ---- */

void ellr_host_add_slice(const ellr_view *v, const tess_spmv_args *args, int64_t s, double *sum)
{
    const void *x = NULL;
    double own[ELLR_SLICE];

    select_slice_function(v, args, &x)(v, s, x, own);
    for (int lane = 0; lane < ELLR_SLICE; lane++) {
        sum[lane] += own[lane];
    }
}

/* Slices s of all layers have the same rows. */
static void multiply_layers(int count, const ellr_view *layers, const tess_spmv_args *args, int64_t s, double *dots)
{
    double sum[ELLR_SLICE] = {0.0};

    for (int l = 0; l < count; l++) {
        ellr_host_add_slice(&layers[l], args, s, sum);
    }
    for (int64_t lane = 0; lane < ELLR_SLICE; lane++) {
        int64_t row = ellr_rank_at(s * ELLR_SLICE + lane);

        if (row < layers->nrows) { finish_part_row(layers, args, row, sum[lane], dots); }
    }
}

static tess_status spmv_layers(tess_context *ctx, int count, const ellr_view *layers, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const int64_t nchunks = chunks_of(layers), nslices = layers->nslices;
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (nchunks > 4)
    for (int64_t c = 0; c < nchunks; c++) {
        double dots[2] = {0.0, 0.0};

        for (int64_t s = c * CHUNK; s < (c + 1) * CHUNK && s < nslices; s++) {
            multiply_layers(count, layers, args, s, dots);
        }
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

const ellr_ops ellr_host_ops = {
    .longest_row = ellr_host_longest_row,
    .arrange = ellr_host_arrange,
    .fill_columns = ellr_host_fill_columns,
    .fill_values = ellr_host_fill_values,
    .decode = ellr_host_decode,
    .prepare = prepare,
    .spmv = spmv,
    .spmv_parts = spmv_parts,
    .spmv_layers = spmv_layers,
    .multiply_columns = ellr_host_multiply_columns,
};
