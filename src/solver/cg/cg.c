/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad, Iterative Methods for Sparse Linear Systems, 2nd
 * ed. 2003, Algorithm 9.1) in three passes: q = A p with (p, q); r -= alpha q with (r, r), (r, z); x and p together.
 */
#include "solver/cg/cg.h"

static int cg_vectors(const tess_precond *m)
{
    return krylov_precond_is_apart(m) ? 3 : 2;
}

static double *direction(const tess_krylov *k)
{
    return k->v[0];
}

static double *image(const tess_krylov *k)
{
    return k->v[1];
}

static double *preconditioned(const tess_krylov *k)
{
    return k->v[2];
}

static tess_status start_cg(tess_krylov *k)
{
    double *p = direction(k), *z = preconditioned(k);
    tess_status status = TESS_SUCCESS;

    if (!krylov_precond_is_apart(k->precond)) {
        /* p = z = M^-1 r, rho = (r, z) */
        return krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_START,
                                            .in = {k->r},
                                            .out = {p},
                                            .scale = tess_precond_scale(k->precond),
                                            .step = TESS_STEP_CG_START});
    }
    TESS_TRY(krylov_precondition(k, k->r, z,
                                 (tess_reduction){.ndots = 2, .with = {k->r, k->r}, .step = TESS_STEP_CG_START}));
    TESS_TRY(k->ctx->backend->copy(k->ctx, p, z, (size_t)k->n * sizeof *p));
cleanup:
    return status;
}

tess_status cg_close_iteration(const tess_krylov *k, const double *image, double *z)
{
    const bool apart = krylov_precond_is_apart(k->precond);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_RESIDUAL,
                                          .in = {image},
                                          .out = {k->r},
                                          .scale = tess_precond_scale(k->precond),
                                          .step = apart ? TESS_STEP_NONE : TESS_STEP_CG_BETA}));
    if (apart) { /* z = M^-1 r */
        TESS_TRY(krylov_precondition(k, k->r, z,
                                     (tess_reduction){.ndots = 1, .with = {k->r}, .step = TESS_STEP_CG_BETA_SPLIT}));
    }
cleanup:
    return status;
}

static tess_status iterate_cg(void *krylov)
{
    tess_krylov *k = krylov;
    const double *scale = tess_precond_scale(k->precond);
    bool apart = krylov_precond_is_apart(k->precond);
    double *p = direction(k), *q = image(k), *z = apart ? preconditioned(k) : k->r;
    tess_status status = TESS_SUCCESS;

    /* q = A p; alpha = rho / (p, q) */
    TESS_TRY(krylov_narrowed_spmv(k, 0, p, q, (tess_reduction){.ndots = 1, .with = {p}, .step = TESS_STEP_CG_ALPHA}));
    /* r -= alpha q; beta = (r, z)_new / (r, z) */
    TESS_TRY(cg_close_iteration(k, q, z));
    /* d += alpha p; p = z + beta p */
    TESS_TRY(krylov_fused(
        k,
        (tess_fused){.op = TESS_FUSED_CG_DIRECTION, .in = {z}, .out = {k->d, p}, .scale = scale, .finishing = true}));
cleanup:
    return status;
}

const tess_method tess_method_cg = {
    .kind = TESS_SOLVER_CG, .needs_symmetry = true, .vectors = cg_vectors, .start = start_cg, .iterate = iterate_cg};
