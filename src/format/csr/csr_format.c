/* SPDX-License-Identifier: Apache-2.0 */
/* The CSR format over a backend's functions: building, renewing, transposing, decoding. */
#include <string.h>

#include "format/csr/csr.h"
#include "matrix/matrix.h"

static size_t offset_bytes(const csr_view *v)
{
    return (size_t)v->row_ptr_bits / 8;
}

static void csr_destroy(tess_context *ctx, void *pointer)
{
    csr_storage *s = pointer;
    const csr_view *v = &s->view;

    if (s->transpose) {
        csr_destroy(ctx, s->transpose);
        tess_device_release(ctx, s->transpose_source, v->nnz, sizeof *s->transpose_source);
    }
    if (s->shared) { csr_shared_release(ctx, s); }
    if (s->owns_index) {
        tess_device_release(ctx, v->row_ptr, v->nrows + 1, offset_bytes(v));
        tess_device_release(ctx, v->col_ind, v->nnz, sizeof *v->col_ind);
    }
    if (s->owns_values) { tess_device_release(ctx, v->val, v->nnz, tess_precision_bytes(v->precision)); }
    if (s->owns_plan && s->plan) { csr_ops_of(ctx)->free_plan(ctx, s->plan); }
    tess_host_release(ctx, s, 1, sizeof *s);
}

static tess_status ensure_plan(tess_context *ctx, csr_storage *s)
{
    const csr_view *const view = &s->view;
    tess_status status = TESS_SUCCESS;

    if (s->plan) { return TESS_SUCCESS; }
    status = csr_ops_of(ctx)->make_plans(ctx, 1, &view, &s->plan);
    s->owns_plan = status == TESS_SUCCESS;
    return status;
}

static tess_status csr_prepare(const tess_matrix *a)
{
    return ensure_plan(a->ctx, a->storage);
}

static tess_status csr_refresh(const tess_matrix *assembled, void *storage);

static tess_status csr_build(const tess_matrix *assembled, const tess_storage_options *options,
                             const tess_assignment *assignment, void **out)
{
    (void)assignment; /* one precision */
    tess_context *ctx = assembled->ctx;
    csr_storage *from = assembled->storage, *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ensure_plan(ctx, from));
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    s->view = from->view;
    s->plan = from->plan;
    s->view.precision = options->precision;
    if (options->precision != TESS_PRECISION_FP64) {
        void *val = NULL;

        s->view.val = NULL;
        TESS_TRY(tess_device_allocate(ctx, s->view.nnz, tess_precision_bytes(options->precision), &val));
        s->view.val = val;
        s->owns_values = true;
    }
    TESS_TRY(csr_refresh(assembled, s));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { csr_destroy(ctx, s); }
    return status;
}

/* The entries that the transpose takes its values from. */
static tess_status refresh_transpose(tess_context *ctx, csr_storage *s)
{
    if (!s->transpose || s->transpose->values_version == s->values_version) { return TESS_SUCCESS; }
    s->transpose->values_version = s->values_version;
    return csr_ops_of(ctx)->gather(ctx, s->view.nnz, s->view.val, s->transpose_source, csr_own_values(s->transpose));
}

static tess_status csr_refresh(const tess_matrix *assembled, void *storage)
{
    csr_storage *s = storage;
    const csr_storage *from = assembled->storage;
    tess_context *ctx = assembled->ctx;

    s->values_version = assembled->values_version;
    if (!s->owns_values) {
        s->view.val = from->view.val;
        return TESS_SUCCESS;
    }
    return ctx->backend->convert(ctx, s->view.nnz, TESS_PRECISION_FP64, from->view.val, s->view.precision,
                                 csr_own_values(s));
}

/* ---- transpose ---- */

/* Host arrays of a transpose under construction. */
typedef struct transpose_arrays {
    int64_t *row_ptr, *source, *own_ptr;
    int32_t *col_ind, *own_ind;
    double *val;
} transpose_arrays;

static void fill_transpose(const csr_view *v, transpose_arrays *t)
{
    memset(t->row_ptr, 0, (size_t)(v->ncols + 1) * sizeof *t->row_ptr);
    for (int64_t k = 0; k < v->nnz; k++) {
        t->row_ptr[t->own_ind[k] + 1] += 1;
    }
    for (int64_t j = 0; j < v->ncols; j++) {
        t->row_ptr[j + 1] += t->row_ptr[j];
    }
    for (int64_t i = 0; i < v->nrows; i++) {
        for (int64_t k = t->own_ptr[i]; k < t->own_ptr[i + 1]; k++) {
            int64_t place = t->row_ptr[t->own_ind[k]]++;

            t->col_ind[place] = (int32_t)i;
            t->source[place] = k;
            t->val[place] = 0.0;
        }
    }
    for (int64_t j = v->ncols; j > 0; j--) {
        t->row_ptr[j] = t->row_ptr[j - 1];
    }
    t->row_ptr[0] = 0;
}

static tess_status allocate_transpose(tess_context *ctx, const csr_view *v, transpose_arrays *t)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, v->nrows + 1, sizeof *t->own_ptr, (void **)&t->own_ptr));
    TESS_TRY(tess_host_allocate(ctx, v->nnz, sizeof *t->own_ind, (void **)&t->own_ind));
    TESS_TRY(tess_host_allocate(ctx, v->nnz, sizeof *t->source, (void **)&t->source));
    TESS_TRY(tess_host_allocate(ctx, v->ncols + 1, sizeof *t->row_ptr, (void **)&t->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, v->nnz, sizeof *t->col_ind, (void **)&t->col_ind));
    TESS_TRY(tess_host_allocate(ctx, v->nnz, sizeof *t->val, (void **)&t->val));
cleanup:
    return status;
}

static void release_transpose(tess_context *ctx, const csr_view *v, transpose_arrays *t)
{
    tess_host_release(ctx, t->own_ptr, v->nrows + 1, sizeof *t->own_ptr);
    tess_host_release(ctx, t->own_ind, v->nnz, sizeof *t->own_ind);
    tess_host_release(ctx, t->source, v->nnz, sizeof *t->source);
    tess_host_release(ctx, t->row_ptr, v->ncols + 1, sizeof *t->row_ptr);
    tess_host_release(ctx, t->col_ind, v->nnz, sizeof *t->col_ind);
    tess_host_release(ctx, t->val, v->nnz, sizeof *t->val);
}

/*
 * Made on the host at the first transposed product, then kept. A product by scattering would need atomics, and its sums
 * would have no fixed order. Costs one more copy of the matrix, and 8 bytes per entry to renew it.
 */
static tess_status make_transpose(const tess_matrix *a, csr_storage *s)
{
    tess_context *ctx = a->ctx;
    const csr_view *v = &s->view;
    transpose_arrays t = {0};
    tess_matrix *made = NULL;
    int64_t *source = NULL;
    csr_view transposed;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_transpose(ctx, v, &t));
    TESS_TRY(a->ops->decode(a, t.own_ptr, t.own_ind, NULL));
    fill_transpose(v, &t);
    TESS_TRY(tess_device_allocate(ctx, v->nnz, sizeof *source, (void **)&source));
    TESS_TRY(ctx->backend->upload(ctx, source, t.source, (size_t)v->nnz * sizeof *source));
    transposed = (csr_view){.nrows = v->ncols,
                            .ncols = v->nrows,
                            .nnz = v->nnz,
                            .row_ptr = t.row_ptr,
                            .row_ptr_bits = 64,
                            .col_ind = t.col_ind,
                            .val = t.val,
                            .precision = TESS_PRECISION_FP64};
    TESS_TRY(tess_matrix_upload_csr(ctx, &transposed, &made));
    s->transpose = made->storage;
    s->transpose->values_version = s->values_version - 1;
    s->transpose_source = source;
    source = NULL;
    made->storage = NULL;
    status = ensure_plan(ctx, s->transpose);
cleanup:
    tess_matrix_destroy(made);
    tess_device_release(ctx, source, v->nnz, sizeof *source);
    release_transpose(ctx, v, &t);
    return status;
}

static tess_status csr_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    csr_storage *s = a->storage;
    tess_status status = TESS_SUCCESS;

    if (args->operation == TESS_OP_TRANSPOSE) {
        const tess_matrix *source = a->original ? a->original : a;
        csr_storage *own = source->storage;

        TESS_TRY(tess_spmv_require_fp64_vectors(a, args));
        if (!tess_matrix_is_exact(a)) {
            return tess_fail(a->ctx, TESS_UNSUPPORTED, "multiply with the FP64 matrix",
                             "a matrix stored in %s has no transposed product", tess_precision_name(a->precision));
        }
        own->values_version = source->values_version;
        if (!own->transpose) { TESS_TRY(make_transpose(source, own)); }
        TESS_TRY(refresh_transpose(a->ctx, own));
        s = own->transpose;
    }
    if (a->arithmetic == TESS_ARITHMETIC_FP32X2 && args->operation != TESS_OP_TRANSPOSE) {
        return csr_ops_of(a->ctx)->multiply_pairs(a->ctx, &s->view, args);
    }
    TESS_TRY(ensure_plan(a->ctx, s));
    status = csr_ops_of(a->ctx)->spmv(a->ctx, &s->view, s->plan, args);
cleanup:
    return status;
}

static tess_status csr_multiply_columns(const tess_matrix *a, const tess_spmv_args *args)
{
    csr_storage *s = a->storage;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ensure_plan(a->ctx, s));
    status = csr_ops_of(a->ctx)->multiply_columns(a->ctx, &s->view, s->plan, args);
cleanup:
    return status;
}

static bool csr_takes_columns(const tess_matrix *a, bool steps)
{
    return a->arithmetic == TESS_ARITHMETIC_FP64 && (!steps || csr_ops_of(a->ctx)->columns_take_steps);
}

/* ---- back to the host ---- */

static tess_status decode_offsets(const tess_matrix *a, const csr_view *v, int64_t *row_ptr)
{
    tess_context *ctx = a->ctx;
    void *narrow = row_ptr;
    size_t bytes = (size_t)(v->nrows + 1) * offset_bytes(v);
    tess_status status = TESS_SUCCESS;

    /* 32-bit offsets are copied to the upper half of the caller's array and widened from the front. */
    if (v->row_ptr_bits == 32) { narrow = (char *)row_ptr + bytes; }
    status = ctx->backend->download(ctx, narrow, v->row_ptr, bytes);
    if (status != TESS_SUCCESS || v->row_ptr_bits == 64) { return status; }
    for (int64_t i = 0; i <= v->nrows; i++) {
        int32_t offset = 0;

        memcpy(&offset, (char *)narrow + (size_t)i * sizeof offset, sizeof offset);
        row_ptr[i] = offset;
    }
    return TESS_SUCCESS;
}

static tess_status decode_values(const tess_matrix *a, const csr_view *v, double *val)
{
    const tess_value_array from = {v->val, v->precision, a->ctx->device == TESS_DEVICE_GPU};
    const tess_value_place to = {val, TESS_PRECISION_FP64, false};

    return tess_move_values(a->ctx, v->nnz, from, to);
}

static tess_status csr_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const csr_view *v = &csr_of(a)->view;
    tess_status status = TESS_SUCCESS;

    if (row_ptr) { TESS_TRY(decode_offsets(a, v, row_ptr)); }
    if (col_ind) { TESS_TRY(a->ctx->backend->download(a->ctx, col_ind, v->col_ind, (size_t)v->nnz * sizeof *col_ind)); }
    if (val) { TESS_TRY(decode_values(a, v, val)); }
cleanup:
    return status;
}

static int64_t csr_bytes(const tess_matrix *a)
{
    const csr_view *v = &csr_of(a)->view;

    return (v->nrows + 1) * (int64_t)offset_bytes(v) + v->nnz * (int64_t)sizeof *v->col_ind +
           v->nnz * (int64_t)tess_precision_bytes(v->precision);
}

const tess_format_ops csr_format = {
    .can =
        {
            .description = "rows one after another",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = TESS_EVERY_PRECISION,
            .policies = TESS_WHOLE_POLICIES,
            .granularities = 1U << TESS_GRANULARITY_MATRIX,
            .granularity = TESS_GRANULARITY_MATRIX,
            .arithmetics = 1U << TESS_ARITHMETIC_FP64 | 1U << TESS_ARITHMETIC_FP32X2,
            .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL,
            .as_base = 1U << TESS_GRANULARITY_ROW | 1U << TESS_GRANULARITY_ENTRY | 1U << TESS_GRANULARITY_BLOCK,
            .one_base = 1,
        },
    .build = csr_build,
    .refresh = csr_refresh,
    .destroy = csr_destroy,
    .prepare = csr_prepare,
    .spmv = csr_spmv,
    .takes_columns = csr_takes_columns,
    .multiply_columns = csr_multiply_columns,
    .decode = csr_decode,
    .bytes = csr_bytes,
};
