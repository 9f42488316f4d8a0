/* SPDX-License-Identifier: Apache-2.0 */
/* An application of the preconditioner saddle: products with its blocks between solves with A and with S. */
#include "precond/saddle/rows.h"
#include "precond/saddle/saddle.h"

/* y := base - A x, or A x without a base. */
static tess_status multiply(const tess_matrix *a, const double *x, const double *base, double *y,
                            tess_loop_state *state)
{
    const tess_spmv_args args = {
        .operation = TESS_OP_NONE, .x = x, .y = y, .alpha = 1.0, .residual = base, .reduction = {.state = state}};

    return a->ops->spmv(a, &args);
}

static tess_status solve(const tess_precond *m, const double *r, double *z, tess_loop_state *state)
{
    const tess_reduction none = {.state = state};

    return tess_precond_apply_fused(m, TESS_PRECISION_FP64, r, z, &none);
}

/* z := S^-1 r but for the sign of `schur_factor`; r may be t[1]. lsc: S^-1 = -s^-1 (B D^-1 A D^-1 F) s^-1. */
static tess_status solve_schur(const saddle *o, const double *r, double *z, tess_loop_state *state)
{
    tess_status status = TESS_SUCCESS;

    if (o->schur != TESS_SCHUR_LSC) { return solve(o->on_s, r, z, state); }
    TESS_TRY(solve(o->on_s, r, z, state));
    TESS_TRY(multiply(o->divided_f, z, NULL, o->t[0], state));
    TESS_TRY(multiply(o->a, o->t[0], NULL, o->w, state));
    TESS_TRY(multiply(o->divided_b, o->w, NULL, o->t[1], state));
    status = solve(o->on_s, o->t[1], z, state);
cleanup:
    return status;
}

/* z2 := S^-1 r2 is so many times what solve_schur gives. */
static double schur_factor(const saddle *o)
{
    return o->schur == TESS_SCHUR_LSC ? -1.0 : o->schur == TESS_SCHUR_USER ? o->user_sign : 1.0;
}

/* x := factor x */
static tess_status scale(tess_context *ctx, int64_t n, double factor, double *x, tess_loop_state *state)
{
    const tess_fused op = {.op = TESS_FUSED_SCALE,
                           .n = n,
                           .x = {x, TESS_PRECISION_FP64},
                           .y = {x, TESS_PRECISION_FP64},
                           .result = x,
                           .a = factor,
                           .state = state};

    return factor == 1.0 ? TESS_SUCCESS : ctx->backend->fused(ctx, &op);
}

/* z2 := S^-1 r2, with its sign; the workspace changes. */
static tess_status solve_second(tess_context *ctx, const saddle *o, const double *r, tess_loop_state *state)
{
    const tess_status status = solve_schur(o, r, o->z[1], state);

    return status == TESS_SUCCESS ? scale(ctx, o->split.constraints, schur_factor(o), o->z[1], state) : status;
}

/* z1 := A^-1 (r1 - F z2) */
static tess_status solve_first(const saddle *o, tess_loop_state *state)
{
    const tess_status status = multiply(o->f, o->z[1], o->r[0], o->t[0], state);

    return status == TESS_SUCCESS ? solve(o->on_a, o->t[0], o->z[0], state) : status;
}

/* z1 := A^-1 r1, and t2 := r2 - B z1 */
static tess_status eliminate(const saddle *o, tess_loop_state *state)
{
    const tess_status status = solve(o->on_a, o->r[0], o->z[0], state);

    return status == TESS_SUCCESS ? multiply(o->b, o->z[0], o->r[1], o->t[1], state) : status;
}

static tess_status apply_factors(tess_context *ctx, const saddle *o, tess_loop_state *state)
{
    const tess_saddle_factorization kind = o->options.factorization;
    const bool lower = kind == TESS_SADDLE_LOWER || kind == TESS_SADDLE_FULL;
    const bool upper = kind == TESS_SADDLE_UPPER || kind == TESS_SADDLE_FULL;
    tess_status status = TESS_SUCCESS;

    if (lower) { TESS_TRY(eliminate(o, state)); }
    TESS_TRY(solve_second(ctx, o, lower ? o->t[1] : o->r[1], state));
    if (upper) { TESS_TRY(solve_first(o, state)); }
    if (kind == TESS_SADDLE_DIAG) { status = solve(o->on_a, o->r[0], o->z[0], state); }
cleanup:
    return status;
}

tess_status saddle_apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const saddle *o = own_of(m);
    tess_context *ctx = m->ctx;
    const rows_ops *ops = rows_ops_of(ctx);
    const int64_t n1 = o->split.unknowns, n2 = o->split.constraints;
    const bool diag = o->options.factorization == TESS_SADDLE_DIAG;
    tess_loop_state *state = reduction->state;
    tess_status status = TESS_SUCCESS;

    if (!o->ready) {
        return tess_fail(ctx, TESS_SINGULAR, "renew the preconditioner with other values",
                         "saddle cannot be applied, because its set-up failed");
    }
    TESS_TRY(ops->take(ctx, n1, o->rows, vectors, r, o->r[0], state));
    TESS_TRY(ops->take(ctx, n2, o->rows + n1, vectors, r, o->r[1], state));
    TESS_TRY(apply_factors(ctx, o, state));
    TESS_TRY(ops->put(ctx, n1, o->rows, diag ? o->sign_a : 1.0, o->z[0], vectors, z, state));
    status = ops->put(ctx, n2, o->rows + n1, diag ? o->sign_s : 1.0, o->z[1], vectors, z, state);
cleanup:
    return status;
}
