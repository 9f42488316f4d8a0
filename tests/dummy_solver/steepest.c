/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preconditioned steepest descent (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. 2003, Algorithm 5.2): CG
 * that forgets its direction after each iteration, written with CG's passes and scalar updates.
 */
#include "solver/krylov.h"

enum { DIRECTION, PRODUCT };

static int count_vectors(const tess_precond *m)
{
    (void)m;
    return 2;
}

/* p = M^-1 r, rho = (r, p) */
static tess_status point_downhill(tess_krylov *k)
{
    double *p = k->v[DIRECTION];
    tess_status status = TESS_SUCCESS;

    if (!krylov_precond_is_apart(k->precond)) {
        return krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_START,
                                            .in = {k->r},
                                            .out = {p},
                                            .scale = tess_precond_scale(k->precond),
                                            .scalar = TESS_SCALAR_CG_START});
    }
    TESS_TRY(krylov_precondition(k, k->r, p,
                                 (tess_reduction){.ndots = 2, .with = {k->r, k->r}, .scalar = TESS_SCALAR_CG_START}));
cleanup:
    return status;
}

static tess_status iterate(void *krylov)
{
    tess_krylov *k = krylov;
    double *p = k->v[DIRECTION], *q = k->v[PRODUCT];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(point_downhill(k));
    /* q = A p; alpha = rho / (p, q) */
    TESS_TRY(krylov_spmv(k, p, q, (tess_reduction){.ndots = 1, .with = {p}, .scalar = TESS_SCALAR_CG_ALPHA}));
    /* r -= alpha q; ||r|| ends the iteration */
    TESS_TRY(krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_CG_RESIDUAL, .in = {q}, .out = {k->r}, .scalar = TESS_SCALAR_CG_BETA}));
    /* d += alpha p */
    TESS_TRY(krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_CG_DIRECTION, .in = {k->r}, .out = {k->d, p}, .finishing = true}));
cleanup:
    return status;
}

const tess_method tess_method_steepest = {.kind = TESS_SOLVER_STEEPEST,
                                          .needs_symmetry = true,
                                          .vectors = count_vectors,
                                          .start = point_downhill,
                                          .iterate = iterate};
