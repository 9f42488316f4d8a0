/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of Krylov methods over the backend. */
#include "solver/krylov.h"

#include "dense/columns.h"
#include "device/iteration_end.h"
#include "solver/extension.h"

tess_status krylov_fused(const tess_krylov *k, tess_fused op)
{
    op.n = k->n;
    op.state = k->state;
    op.columns = k->columns;
    op.coefficient_stride = k->numbers_stride;
    tess_enter_phase(k->ctx, TESS_PHASE_OTHER);
    return k->ctx->backend->fused(k->ctx, &op);
}

/* segments: as in tess_spmv_args. */
static tess_status multiply(const tess_krylov *k, const double *x, double *y, tess_reduction reduction,
                            const uint8_t *segments)
{
    tess_spmv_args args = {
        .operation = TESS_OP_NONE, .x = x, .y = y, .alpha = 1.0, .reduction = reduction, .segments = segments};
    tess_fused dots = {.op = reduction.ndots == 1 ? TESS_FUSED_DOT : TESS_FUSED_DOT_TWO,
                       .x = {.data = y},
                       .y = {.data = reduction.with[0]},
                       .in = {y, reduction.with[0], reduction.with[1]},
                       .scalar = reduction.scalar};
    tess_status status = TESS_SUCCESS;

    args.reduction.state = k->state;
    tess_enter_phase(k->ctx, TESS_PHASE_SPMV);
    if (k->columns > 1) {
        args.columns = k->columns;
        return k->matrix->ops->multiply_columns(k->matrix, &args);
    }
    if (k->matrix->ops) { return k->matrix->ops->spmv(k->matrix, &args); }
    status = tess_matrix_apply_shell(k->matrix, TESS_OP_NONE, x, y);
    return status == TESS_SUCCESS && reduction.ndots > 0 ? krylov_fused(k, dots) : status;
}

tess_status krylov_spmv(const tess_krylov *k, const double *x, double *y, tess_reduction reduction)
{
    return multiply(k, x, y, reduction, NULL);
}

tess_status krylov_iteration_spmv(const tess_krylov *k, int product, const double *x, double *y,
                                  tess_reduction reduction)
{
    const uint8_t *segments = NULL;
    tess_status status = TESS_SUCCESS;

    if (k->extension) { TESS_TRY(k->extension->before_product(k, product, x, &segments)); }
    status = multiply(k, x, y, reduction, segments);
cleanup:
    return status;
}

/* z = M^-1 r of each column alone: its bits are those of one. */
static tess_status precondition_one_by_one(const tess_krylov *k, double *r, double *z)
{
    const columns_ops *ops = columns_ops_of(k->ctx);
    const int64_t n = k->n / k->columns;
    const columns_place of_r = {k->apart[0], 1, n}, of_z = {k->apart[1], 1, n};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ops->move(k->ctx, n, k->columns, (columns_place){r, k->columns, 1}, of_r));
    for (int c = 0; c < k->columns; c++) {
        const tess_reduction none = {.state = k->state ? k->state + c : NULL};

        TESS_TRY(
            tess_precond_apply_fused(k->precond, TESS_PRECISION_FP64, of_r.data + c * n, of_z.data + c * n, &none));
    }
    status = ops->move(k->ctx, n, k->columns, of_z, (columns_place){z, k->columns, 1});
cleanup:
    return status;
}

/* The same for several columns, whose dot products are a pass of their own. */
static tess_status precondition_columns(const tess_krylov *k, const double *r, double *z, tess_reduction reduction)
{
    tess_status status = TESS_SUCCESS;

    if (k->apart[0]) {
        TESS_TRY(precondition_one_by_one(k, (double *)r, z));
    } else {
        TESS_TRY(k->precond->ops->apply_columns(k->precond, k->columns, r, z));
    }
    if (reduction.ndots == 0) { return TESS_SUCCESS; }
    status = krylov_fused(k, (tess_fused){.op = reduction.ndots == 1 ? TESS_FUSED_DOT_ONE : TESS_FUSED_DOT_TWO,
                                          .in = {z, reduction.with[0], reduction.with[1]},
                                          .scalar = reduction.scalar});
cleanup:
    return status;
}

tess_status krylov_precondition(const tess_krylov *k, const double *r, double *z, tess_reduction reduction)
{
    reduction.state = k->state;
    tess_enter_phase(k->ctx, TESS_PHASE_PRECOND);
    if (k->columns > 1) { return precondition_columns(k, r, z, reduction); }
    return tess_precond_apply_fused(k->precond, TESS_PRECISION_FP64, r, z, &reduction);
}

bool krylov_precond_is_apart(const tess_precond *m)
{
    return !tess_precond_is_identity(m) && !tess_precond_scale(m);
}

bool krylov_precond_takes_one(const tess_precond *m)
{
    return krylov_precond_is_apart(m) && !tess_precond_takes_columns(m);
}

tess_status krylov_stop(const tess_krylov *k, tess_reason reason)
{
    tess_loop_state state;
    const tess_status status = k->ctx->backend->download(k->ctx, &state, k->state, sizeof state);

    if (status != TESS_SUCCESS) { return status; }
    loop_stop(&state, TESS_LOOP_STOPPED, reason);
    return k->ctx->backend->upload(k->ctx, k->state, &state, sizeof state);
}
