/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The K-cycle: a coarse level is solved by up to two steps of flexible CG with the cycle below as its preconditioner.
 * The host reads its scalars. Source: Notay, Vassilevski, Numer. Linear Algebra Appl. 15 (2008), Algorithm 3.1.
 */
#include <math.h>

#include "precond/multigrid/cycle/cycle.h"

/* The second step is left out if the first one reduces the residual by this factor. */
static const double enough = 0.25;

static tess_status dot(const amg_cycle *c, const amg_cycle_level *l, const void *x, const void *y, double *out)
{
    tess_fused op = {.op = TESS_FUSED_DOT, .n = l->n, .x = {x, c->vectors}, .y = {y, c->vectors}};

    return tess_fused_dots(c->ctx, &op, 1, out);
}

/* y := a x + b y */
static tess_status add(const amg_cycle *c, const amg_cycle_level *l, double a, const void *x, double b, void *y)
{
    const tess_fused op = {.op = b == 0.0 ? TESS_FUSED_SCALE : TESS_FUSED_AXPBY,
                           .n = l->n,
                           .x = {x, c->vectors},
                           .y = {y, c->vectors},
                           .result = y,
                           .a = a,
                           .b = b};

    return c->ctx->backend->fused(c->ctx, &op);
}

static tess_status multiply(const amg_cycle *c, const amg_cycle_level *l, const void *x, void *y)
{
    tess_spmv_args args = {.operation = TESS_OP_NONE, .alpha = 1.0, .vectors = c->vectors};

    if (c->vectors == TESS_PRECISION_FP32) {
        args.x_fp32 = x;
        args.y_fp32 = y;
    } else {
        args.x = x;
        args.y = y;
    }
    return l->a->ops->spmv(l->a, &args);
}

/* The second step: c_2 = M r is in l->x; x := c_1 (alpha_1 / rho_1 - gamma alpha_2 / (rho_1 rho_2)) + c_2 alpha_2 /
 * rho_2.
 */
static tess_status combine(const amg_cycle *c, const amg_cycle_level *l, double alpha_1, double rho_1)
{
    double gamma = 0.0, beta = 0.0, alpha_2 = 0.0, rho_2 = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(multiply(c, l, l->x, l->product));
    TESS_TRY(dot(c, l, l->x, l->first_product, &gamma));
    TESS_TRY(dot(c, l, l->x, l->product, &beta));
    TESS_TRY(dot(c, l, l->x, l->rhs, &alpha_2));
    rho_2 = beta - gamma * (gamma / rho_1); /* no product of two inner products: that would leave the range */
    if (!(rho_1 > 0.0 ? rho_2 > 0.0 : rho_2 < 0.0) || !isfinite(rho_2) || !isfinite(alpha_2)) {
        return add(c, l, alpha_1 / rho_1, l->first, 0.0, l->x);
    }
    status = add(c, l, alpha_1 / rho_1 - gamma / rho_1 * (alpha_2 / rho_2), l->first, alpha_2 / rho_2, l->x);
cleanup:
    return status;
}

tess_status amg_run_flexible(const amg_cycle *c, int level)
{
    const amg_cycle_level *l = &c->level[level];
    double rho_1 = 0.0, alpha_1 = 0.0, before = 0.0, after = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(add(c, l, 1.0, l->residual, 0.0, l->rhs));
    TESS_TRY(amg_run_cycle(c, level));
    TESS_TRY(add(c, l, 1.0, l->x, 0.0, l->first));
    TESS_TRY(multiply(c, l, l->first, l->first_product));
    TESS_TRY(dot(c, l, l->first, l->first_product, &rho_1));
    TESS_TRY(dot(c, l, l->first, l->rhs, &alpha_1));
    if (!(c->negative ? rho_1 < 0.0 : rho_1 > 0.0) || !isfinite(rho_1) || !isfinite(alpha_1)) {
        return TESS_SUCCESS; /* zero, indefinite, or out of range: the cycle's x stays */
    }
    TESS_TRY(dot(c, l, l->rhs, l->rhs, &before));
    TESS_TRY(add(c, l, -alpha_1 / rho_1, l->first_product, 1.0, l->rhs));
    TESS_TRY(dot(c, l, l->rhs, l->rhs, &after));
    if (sqrt(after) <= enough * sqrt(before)) { return add(c, l, alpha_1 / rho_1, l->first, 0.0, l->x); }
    TESS_TRY(add(c, l, 1.0, l->rhs, 0.0, l->residual));
    TESS_TRY(amg_run_cycle(c, level));
    status = combine(c, l, alpha_1, rho_1);
cleanup:
    return status;
}
