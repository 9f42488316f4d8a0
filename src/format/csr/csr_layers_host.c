/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR matrices in layers on the host (csr.h): one pass over the rows. A run of rows goes through all layers, whose
 * loops know their precision, before its sums are finished; so the sums stay in the first-level cache. Each sum has one
 * order for any number of threads.
 */
#include <string.h>

#include "format/csr/csr_host.h"
#include "format/csr/csr_sums.h"
#include "format/row_epilogue.h"

/* Rows of a run. */
enum { RUN = 256 };

struct csr_layers {
    int count;
    csr_plan *plan[TESS_MAX_LEVELS]; /* of each layer, for its long rows */
    int64_t nchunks;
    int32_t *chunk_row; /* nchunks + 1; chunks of about CSR_CHUNK rows + nonzeros of all layers */
};

/* ---- plan ---- */

void csr_host_free_layers(tess_context *ctx, csr_layers *plan)
{
    if (!plan) { return; }
    for (int l = 0; l < plan->count; l++) {
        csr_host_free_plan(ctx, plan->plan[l]);
    }
    tess_host_release(ctx, plan->chunk_row, plan->nchunks + 1, sizeof *plan->chunk_row);
    tess_host_release(ctx, plan, 1, sizeof *plan);
}

/* Rows and nonzeros before row i. */
static int64_t work_before(int count, const csr_view *layers, int64_t i)
{
    int64_t work = i;

    for (int l = 0; l < count; l++) {
        work += csr_offset(&layers[l], i);
    }
    return work;
}

/* First row before which there is at least so much work. */
static int64_t find_row(int count, const csr_view *layers, int64_t target)
{
    int64_t low = 0, high = layers->nrows;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (work_before(count, layers, middle) >= target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

tess_status csr_host_make_layers(tess_context *ctx, int count, const csr_view *layers, csr_layers **out)
{
    const int64_t nrows = layers->nrows, work = work_before(count, layers, nrows);
    const csr_view *views[TESS_MAX_LEVELS];
    csr_layers *plan = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    for (int l = 0; l < count; l++) {
        views[l] = &layers[l];
    }
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *plan, (void **)&plan));
    memset(plan, 0, sizeof *plan);
    plan->count = count;
    plan->nchunks = (work + CSR_CHUNK - 1) / CSR_CHUNK;
    TESS_TRY(tess_host_allocate(ctx, plan->nchunks + 1, sizeof *plan->chunk_row, (void **)&plan->chunk_row));
    for (int64_t c = 0; c < plan->nchunks; c++) {
        plan->chunk_row[c] = (int32_t)find_row(count, layers, c * CSR_CHUNK);
    }
    plan->chunk_row[plan->nchunks] = (int32_t)nrows;
    TESS_TRY(csr_host_make_plans(ctx, count, views, plan->plan));
    *out = plan;
cleanup:
    if (status != TESS_SUCCESS) { csr_host_free_layers(ctx, plan); }
    return status;
}

/* ---- sums ---- */

/* Adds a layer's sums of rows [first, last); the constants fold away in each instance. */
TESS_INLINE void add_rows(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t first, int64_t last,
                          double *sums, int bits, tess_precision precision, bool low)
{
    const csr_entries entries = {v->val, v->col_ind, args->x, args->x_shadow, low};
    const int32_t *ptr32 = v->row_ptr;
    const int64_t *ptr64 = v->row_ptr;
    int64_t end = bits == 32 ? ptr32[first] : ptr64[first];

    for (int64_t row = first; row < last; row++) {
        int64_t begin = end;

        end = bits == 32 ? ptr32[row + 1] : ptr64[row + 1];
        sums[row - first] += end - begin <= SHORT         ? sum_short_row(entries, precision, begin, end)
                             : end - begin <= CSR_SEGMENT ? sum_range(entries, precision, begin, end)
                                                          : csr_host_long_row_sum(v, p, args, row);
    }
}

typedef void (*add_function)(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t first,
                             int64_t last, double *sums);

#define ADD_FUNCTION(name, bits, precision, low)                                                                    \
    static void name(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t first, int64_t last, \
                     double *sums)                                                                                  \
    {                                                                                                               \
        add_rows(v, p, args, first, last, sums, bits, precision, low);                                              \
    }
#define ADD_FUNCTIONS(NAME, value, name, ...)                          \
    ADD_FUNCTION(add_32_##name, 32, TESS_PRECISION_##NAME, false)      \
    ADD_FUNCTION(add_32_##name##_low, 32, TESS_PRECISION_##NAME, true) \
    ADD_FUNCTION(add_64_##name, 64, TESS_PRECISION_##NAME, false)      \
    ADD_FUNCTION(add_64_##name##_low, 64, TESS_PRECISION_##NAME, true)
TESS_PRECISION_LIST(ADD_FUNCTIONS)
#undef ADD_FUNCTIONS
#undef ADD_FUNCTION

static add_function select_function(const csr_view *v, const tess_spmv_args *args)
{
#define ADD_ENTRY(NAME, value, name, ...) \
    [value] = {{add_32_##name, add_32_##name##_low}, {add_64_##name, add_64_##name##_low}},
    static const add_function functions[TESS_PRECISION_COUNT][2][2] = {TESS_PRECISION_LIST(ADD_ENTRY)};
#undef ADD_ENTRY

    return functions[v->precision][v->row_ptr_bits == 64][csr_host_is_low(v, args)];
}

/* ---- products ---- */

/* A product, and its layers' functions. */
typedef struct layered_product {
    int count;
    const csr_view *layers;
    const csr_layers *plan;
    const tess_spmv_args *args;
    add_function add[TESS_MAX_LEVELS];
} layered_product;

static void multiply_run(const layered_product *m, int64_t first, int64_t last, double *dots)
{
    const tess_spmv_args args = *m->args;
    const bool plain = args.update.kind == TESS_UPDATE_NONE && !args.y_shadow && args.reduction.ndots == 0;
    double sums[RUN] = {0.0};

    for (int l = 0; l < m->count; l++) {
        m->add[l](&m->layers[l], m->plan->plan[l], &args, first, last, sums);
    }
    for (int64_t i = first; i < last; i++) {
        if (plain) {
            args.y[i] = spmv_result(&args, i, sums[i - first]);
        } else {
            spmv_add_row_dots(&args, args.reduction.ndots, i, spmv_finish_row(&args, i, sums[i - first]), dots);
        }
    }
}

tess_status csr_host_spmv_layers(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                                 const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const int64_t nchunks = plan->nchunks;
    layered_product m = {count, layers, plan, args, {NULL}};
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
    for (int l = 0; l < count; l++) {
        m.add[l] = select_function(&layers[l], args);
        csr_host_sum_long_rows(ctx, &layers[l], plan->plan[l], args);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nchunks > 1)
    for (int64_t c = 0; c < nchunks; c++) {
        const int64_t end = plan->chunk_row[c + 1];
        double dots[2] = {0.0, 0.0};

        for (int64_t row = plan->chunk_row[c]; row < end; row += RUN) {
            multiply_run(&m, row, row + RUN < end ? row + RUN : end, dots);
        }
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}
