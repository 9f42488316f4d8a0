/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conjugate gradients with one reduction (Chronopoulos and Gear, J. Comput. Appl. Math. 25 (1989), section 4),
 * preconditioned: with w = A z, the inner products (r, z) and (w, z) of one residual give alpha and beta at once, and s
 * = A p follows from s = w + beta s. Here in passes, with the scalar updates of a single kernel that has the sums in
 * one. Rounding adds up in s and r: every ONE_REDUCTION_REPLACE_EVERY iterations of a cycle both are computed anew.
 */
#include "papers/one_reduction/one_reduction.h"
#include "solver/cg/cg.h"

enum { DIRECTION, A_DIRECTION, PRODUCT, FIRST_RESIDUAL, PRECONDITIONED };

static int one_reduction_vectors(const tess_precond *m)
{
    return tess_precond_is_identity(m) ? PRECONDITIONED : PRECONDITIONED + 1;
}

/* z; without a preconditioner it is r itself. */
static double *preconditioned(const tess_krylov *k)
{
    return tess_precond_is_identity(k->precond) ? k->r : k->v[PRECONDITIONED];
}

static tess_status start_one_reduction(tess_krylov *k)
{
    const tess_backend *backend = k->ctx->backend;
    const size_t bytes = (size_t)k->n * sizeof(double);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_method_cg.start(k)); /* p = z, rho = (r, z) */
    TESS_TRY(backend->copy(k->ctx, k->v[FIRST_RESIDUAL], k->r, bytes));
    if (preconditioned(k) != k->r) { TESS_TRY(backend->copy(k->ctx, preconditioned(k), k->v[DIRECTION], bytes)); }
    TESS_TRY(backend->zero(k->ctx, k->v[DIRECTION], bytes));
    status = backend->zero(k->ctx, k->v[A_DIRECTION], bytes);
cleanup:
    return status;
}

/* r := r_0 - A d, the residual that the cycle began with less what it has done since; s := A p. */
static tess_status replace_residual(const tess_krylov *k)
{
    double *product = k->v[PRODUCT];
    const tess_fused subtract = {.op = TESS_FUSED_AXPBY,
                                 .x = {.data = k->v[FIRST_RESIDUAL]},
                                 .y = {.data = product},
                                 .result = k->r,
                                 .a = 1.0,
                                 .b = -1.0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(krylov_spmv(k, k->d, product, (tess_reduction){0}));
    TESS_TRY(krylov_fused(k, subtract));
    status = krylov_spmv(k, k->v[DIRECTION], k->v[A_DIRECTION], (tess_reduction){0});
cleanup:
    return status;
}

static tess_status iterate_one_reduction(void *krylov)
{
    tess_krylov *k = krylov;
    const double *scale = tess_precond_scale(k->precond);
    double *p = k->v[DIRECTION], *s = k->v[A_DIRECTION], *w = k->v[PRODUCT], *z = preconditioned(k);
    tess_status status = TESS_SUCCESS;

    k->iterated += 1;
    /* w = A z; alpha = rho / ((w, z) - beta rho / alpha) */
    TESS_TRY(krylov_spmv(k, z, w, (tess_reduction){.ndots = 1, .with = {z}, .scalar = TESS_SCALAR_CG_ALPHA_AT_ONCE}));
    /* p = z + beta p; s = w + beta s */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_DIRECTION_PAIR, .in = {z, w}, .out = {p, s}}));
    if (k->iterated % ONE_REDUCTION_REPLACE_EVERY == 0) { TESS_TRY(replace_residual(k)); }
    /* r -= alpha s; beta = (r, z)_new / (r, z) */
    TESS_TRY(cg_close_iteration(k, s, z, false));
    /* d += alpha p; z = D^-1 r */
    TESS_TRY(krylov_fused(
        k, (tess_fused){
               .op = TESS_FUSED_CG_ADVANCE, .in = {p, k->r}, .out = {k->d, z}, .scale = scale, .finishing = true}));
cleanup:
    return status;
}

const tess_method tess_recurrence_cg_one_reduction = {.kind = TESS_SOLVER_CG,
                                                      .recurrence = TESS_RECURRENCE_ONE_REDUCTION,
                                                      .needs_symmetry = true,
                                                      .has_recurrence = true,
                                                      .counts_iterations = true,
                                                      .vectors = one_reduction_vectors,
                                                      .start = start_one_reduction,
                                                      .iterate = iterate_one_reduction};
