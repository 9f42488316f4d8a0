/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/factors.h"

#include <math.h>

#include "base/deadline.h"
#include "precond/multigrid/device.h"
#include "precond/precond.h"

enum { SERIAL = 4096 };

/* Entries scaled by l1 norms are at most 1. Products of a symmetric matrix are symmetric but for rounding. */
static const double rounding = 0x1p-33;

static bool is_symmetric_row(const host_csr *a, const host_csr *t, int64_t i)
{
    const int64_t first = a->row_ptr[i], count = a->row_ptr[i + 1] - first;

    if (t->row_ptr[i] != first || t->row_ptr[i + 1] != first + count) { return false; }
    for (int64_t k = first; k < first + count; k++) {
        if (t->col_ind[k] != a->col_ind[k] || !(fabs(t->val[k] - a->val[k]) <= rounding)) { return false; }
    }
    return true;
}

static tess_status find_symmetry(tess_context *ctx, const host_csr *a, bool *symmetric)
{
    host_csr t = {0};
    int64_t others = 0;
    tess_status status = host_csr_transpose(ctx, a, &t);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : others) if (a->nrows > SERIAL)
    for (int64_t i = 0; i < a->nrows; i++) {
        others += !is_symmetric_row(a, &t, i);
    }
    *symmetric = others == 0;
    host_csr_release(ctx, &t);
    return TESS_SUCCESS;
}

/* The scaled matrix in FP64, on the context's device, and whether it is symmetric. */
static tess_status copy_scaled(tess_context *ctx, const amg_scaled *s, tess_matrix **out, bool *symmetric)
{
    const int64_t nnz = host_csr_nnz(s->a);
    host_csr scaled = *s->a;
    tess_status status = tess_host_allocate(ctx, nnz, sizeof *scaled.val, (void **)&scaled.val);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (scaled.nrows > SERIAL)
    for (int64_t i = 0; i < scaled.nrows; i++) {
        for (int64_t k = scaled.row_ptr[i]; k < scaled.row_ptr[i + 1]; k++) {
            scaled.val[k] = s->a->val[k] * (s->left[i] * s->right[scaled.col_ind[k]]);
        }
    }
    status = find_symmetry(ctx, &scaled, symmetric);
    if (status == TESS_SUCCESS) { status = host_csr_to_matrix(ctx, &scaled, out); }
    tess_host_release(ctx, scaled.val, nnz, sizeof *scaled.val);
    return status;
}

/* Of incomplete factors: FP64. Of inverses: the precision of the level, where that holds their entries. */
static void set_options(const amg_cycle *c, const amg_cycle_level *l, bool symmetric, tess_precond_options *out)
{
    tess_precond_options_init(out);
    if (c->options.smoother == TESS_AMG_ILU0) {
        out->kind = symmetric ? TESS_PRECOND_IC0 : TESS_PRECOND_ILU0; /* IC(0) stays positive definite */
        return;
    }
    out->kind = symmetric ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI; /* and so does G^T G */
    out->role = (tess_role_precision){1, tess_precision_bytes(l->precision) < 2 ? TESS_PRECISION_FP16 : l->precision,
                                      TESS_ARITHMETIC_FP64};
}

bool amg_has_factors(const tess_amg_options *o)
{
    return o->smoother == TESS_AMG_ILU0 || o->smoother == TESS_AMG_FSAI;
}

static void drop_factors(amg_cycle_level *l)
{
    tess_precond_destroy(l->factors);
    l->factors = NULL;
}

static bool wants_factors(const amg_cycle *c, const amg_cycle_level *l)
{
    return amg_has_factors(&c->options) && !l->inverse && l->n > 0;
}

/* Of the scaled matrix. New values make new factors, so that inverses need it no longer. */
static tess_status make_factors(const amg_cycle *c, const tess_matrix *matrix, bool symmetric, amg_cycle_level *l)
{
    const tess_error before = c->ctx->error;
    tess_precond_options options;
    tess_status status = TESS_SUCCESS;

    set_options(c, l, symmetric, &options);
    status = tess_precond_create(matrix, &options, &l->factors);
    if (status == TESS_SINGULAR && options.kind == TESS_PRECOND_FSAI) { /* not definite, or not on this level */
        c->ctx->error = before;
        drop_factors(l);
        options.kind = TESS_PRECOND_ISAI;
        status = tess_precond_create(matrix, &options, &l->factors);
    }
    if (status == TESS_SUCCESS && options.kind != TESS_PRECOND_IC0 && options.kind != TESS_PRECOND_ILU0) {
        tess_precond_settle(l->factors);
    }
    return status;
}

tess_status amg_factor_level(const amg_cycle *c, const amg_scaled *a, amg_cycle_level *l)
{
    tess_matrix *matrix = NULL;
    bool symmetric = false;
    tess_status status = TESS_SUCCESS;

    drop_factors(l); /* of the values before */
    if (!wants_factors(c, l)) { return TESS_SUCCESS; }
    TESS_TRY(tess_deadline_check(c->ctx, "amg"));
    TESS_TRY(copy_scaled(c->ctx, a, &matrix, &symmetric));
    status = make_factors(c, matrix, symmetric, l);
cleanup:
    tess_matrix_destroy(matrix); /* the factors may hold it */
    return status;
}

tess_status amg_factor_device_level(const amg_cycle *c, const device_csr *a, const double *scale, amg_cycle_level *l)
{
    const amg_device_ops *ops = amg_device_ops_of(c->ctx);
    device_csr scaled = {0};
    tess_matrix *matrix = NULL;
    bool symmetric = false;
    tess_status status = TESS_SUCCESS;

    drop_factors(l);
    if (!wants_factors(c, l)) { return TESS_SUCCESS; }
    TESS_TRY(tess_deadline_check(c->ctx, "amg"));
    TESS_TRY(device_csr_copy_pattern(c->ctx, a, &scaled));
    TESS_TRY(tess_device_allocate(c->ctx, scaled.nnz, sizeof *scaled.val, (void **)&scaled.val));
    TESS_TRY(ops->scaled_values(c->ctx, &(amg_device_scaled){*a, scale, scale}, scaled.val));
    TESS_TRY(ops->find_symmetry(c->ctx, &scaled, rounding, &symmetric));
    TESS_TRY(device_csr_to_matrix(c->ctx, &scaled, &matrix));
    status = make_factors(c, matrix, symmetric, l);
cleanup:
    device_csr_release(c->ctx, &scaled);
    tess_matrix_destroy(matrix);
    return status;
}

static tess_status convert(const amg_cycle *c, int64_t n, tess_operand from, tess_operand to)
{
    const tess_fused op = {
        .op = TESS_FUSED_SCALE, .n = n, .x = from, .y = to, .result = (void *)(uintptr_t)to.data, .a = 1.0};

    return c->ctx->backend->fused(c->ctx, &op);
}

/* Factors take columns in FP64. */
static tess_status apply_to_columns(const amg_cycle *c, const amg_cycle_level *l, const void *r, void *z)
{
    const tess_precond_ops *ops = l->factors->ops;
    const int64_t n = l->n * c->columns;
    double *const wide_r = c->factor_work[0], *const wide_z = c->factor_work[1];
    tess_status status = TESS_SUCCESS;

    if (c->vectors == TESS_PRECISION_FP64) { return ops->apply_columns(l->factors, c->columns, r, z); }
    TESS_TRY(convert(c, n, (tess_operand){r, c->vectors}, (tess_operand){wide_r, TESS_PRECISION_FP64}));
    TESS_TRY(ops->apply_columns(l->factors, c->columns, wide_r, wide_z));
    status = convert(c, n, (tess_operand){wide_z, TESS_PRECISION_FP64}, (tess_operand){z, c->vectors});
cleanup:
    return status;
}

tess_status amg_apply_factors(const amg_cycle *c, const amg_cycle_level *l, const void *r, void *z,
                              tess_loop_state *state)
{
    const tess_reduction none = {.state = state};

    if (c->columns > 1) { return apply_to_columns(c, l, r, z); }
    return l->factors->ops->apply(l->factors, c->vectors, r, z, &none);
}
