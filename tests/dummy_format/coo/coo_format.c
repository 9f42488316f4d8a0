/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COO: a row, a column and a value for each nonzero, row by row. For the host alone, by one thread: the smallest format
 * that keeps the contract of matrix/format.h. docs/howto/add-a-format.md walks through it.
 */
#include <string.h>

#include <tessera/codec.h>

#include "device/host/host.h"
#include "format/row_epilogue.h"
#include "matrix/assembled.h"

/* Rows ascend, and columns within a row. */
typedef struct coo_storage {
    int64_t nrows, nnz;
    int32_t *row, *column;
    void *val;
    tess_precision precision;
} coo_storage;

static void coo_destroy(tess_context *ctx, void *storage)
{
    coo_storage *s = storage;

    tess_device_release(ctx, s->row, s->nnz, sizeof *s->row);
    tess_device_release(ctx, s->column, s->nnz, sizeof *s->column);
    tess_device_release(ctx, s->val, s->nnz, tess_precision_bytes(s->precision));
    tess_host_release(ctx, s, 1, sizeof *s);
}

/* ---- building ---- */

static tess_status coo_refresh(const tess_matrix *assembled, void *storage)
{
    const coo_storage *s = storage;
    const csr_view *csr = &csr_of(assembled)->view;

    return assembled->ctx->backend->convert(assembled->ctx, s->nnz, TESS_PRECISION_FP64, csr->val, s->precision,
                                            s->val);
}

static void fill_places(const csr_view *csr, const coo_storage *s)
{
    for (int64_t i = 0; i < csr->nrows; i++) {
        const int64_t end = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, i + 1);

        for (int64_t k = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, i); k < end; k++) {
            s->row[k] = (int32_t)i;
            s->column[k] = csr->col_ind[k];
        }
    }
}

static tess_status coo_build(const tess_matrix *assembled, const tess_storage_options *options,
                             const tess_assignment *assignment, void **out)
{
    (void)assignment; /* one precision */
    tess_context *ctx = assembled->ctx;
    coo_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    s->nrows = assembled->nrows;
    s->nnz = assembled->nnz;
    s->precision = options->precision;
    TESS_TRY(tess_device_allocate(ctx, s->nnz, sizeof *s->row, (void **)&s->row));
    TESS_TRY(tess_device_allocate(ctx, s->nnz, sizeof *s->column, (void **)&s->column));
    TESS_TRY(tess_device_allocate(ctx, s->nnz, tess_precision_bytes(s->precision), &s->val));
    fill_places(&csr_of(assembled)->view, s);
    TESS_TRY(coo_refresh(assembled, s));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { coo_destroy(ctx, s); }
    return status;
}

/* ---- products ---- */

/* Two partial sums of dot products, so that no product allocates. */
static tess_status coo_prepare(const tess_matrix *a)
{
    double *partials = NULL;

    return host_partials(a->ctx, 2, &partials);
}

static tess_status coo_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    const coo_storage *s = a->storage;
    const tess_reduction *reduction = &args->reduction;
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    double *dots = NULL;
    int64_t k = 0;
    tess_status status = TESS_SUCCESS;

    if (args->operation == TESS_OP_TRANSPOSE) { return tess_spmv_of_original(a, args); }
    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    TESS_TRY(host_partials(a->ctx, 2, &dots));
    dots[0] = dots[1] = 0.0;
    for (int64_t i = 0; i < s->nrows; i++) {
        double sum = 0.0;

        for (; k < s->nnz && s->row[k] == i; k++) {
            const int32_t j = s->column[k];

            sum += tess_load(s->precision, s->val, k) * (fp32 ? (double)args->x_fp32[j] : args->x[j]);
        }
        spmv_finish_single(args, i, sum, dots);
    }
    if (reduction->ndots > 0) { host_finish_reduction(dots, 1, reduction->ndots, reduction->step, reduction->state); }
cleanup:
    return status;
}

/* ---- back to the host ---- */

static tess_status coo_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const coo_storage *s = a->storage;
    const tess_value_array from = {s->val, s->precision, false}, to = {val, TESS_PRECISION_FP64, false};
    tess_status status = TESS_SUCCESS;

    if (row_ptr) { TESS_TRY(a->original->ops->decode(a->original, row_ptr, NULL, NULL)); }
    if (col_ind && s->nnz > 0) { memcpy(col_ind, s->column, (size_t)s->nnz * sizeof *col_ind); }
    if (val) { status = tess_move_values(a->ctx, s->nnz, from, to); }
cleanup:
    return status;
}

static int64_t coo_bytes(const tess_matrix *a)
{
    const coo_storage *s = a->storage;

    return s->nnz * (int64_t)(sizeof *s->row + sizeof *s->column + tess_precision_bytes(s->precision));
}

const tess_format_ops coo_format = {
    .can =
        {
            .description = "a row, a column and a value for each nonzero",
            .precisions = TESS_EVERY_PRECISION,
            .policies = TESS_WHOLE_POLICIES,
            .granularities = 1U << TESS_GRANULARITY_MATRIX,
            .granularity = TESS_GRANULARITY_MATRIX,
            .arithmetics = 1U << TESS_ARITHMETIC_FP64,
            .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL,
        },
    .build = coo_build,
    .refresh = coo_refresh,
    .destroy = coo_destroy,
    .prepare = coo_prepare,
    .spmv = coo_spmv,
    .decode = coo_decode,
    .bytes = coo_bytes,
};
