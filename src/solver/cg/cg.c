/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad, Iterative Methods for Sparse Linear Systems, 2nd
 * ed. 2003, Algorithm 9.1) in three passes: q = A p with (p, q); r -= alpha q with (r, r), (r, z); x and p together.
 * And the variant predict-and-recompute (Chen and Carson, SIAM J. Sci. Comput. 42 (2020), PR-CG): beta is known with
 * alpha, at the cost of one more pass, which a single kernel joins with the first; and (r, z) is computed anew for the
 * next iteration. Here (q, M^-1 q) must be in range; a single kernel takes care of this (cg_product_scale).
 */
#include "solver/cg/cg.h"
#include "solver/method_solver.h"

int cg_vectors(const tess_precond *m)
{
    return krylov_precond_is_apart(m) ? 3 : 2;
}

static double *direction(const tess_krylov *k)
{
    return k->v[0];
}

static double *product(const tess_krylov *k)
{
    return k->v[1];
}

static double *preconditioned(const tess_krylov *k)
{
    return k->v[2];
}

tess_status cg_start(tess_krylov *k)
{
    double *p = direction(k), *z = preconditioned(k);
    tess_status status = TESS_SUCCESS;

    if (!krylov_precond_is_apart(k->precond)) {
        /* p = z = M^-1 r, rho = (r, z) */
        return krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_START,
                                            .in = {k->r},
                                            .out = {p},
                                            .scale = tess_precond_scale(k->precond),
                                            .scalar = TESS_SCALAR_CG_START});
    }
    TESS_TRY(krylov_precondition(k, k->r, z,
                                 (tess_reduction){.ndots = 2, .with = {k->r, k->r}, .scalar = TESS_SCALAR_CG_START}));
    TESS_TRY(k->ctx->backend->copy(k->ctx, p, z, (size_t)k->n * sizeof *p));
cleanup:
    return status;
}

tess_status cg_close_iteration(const tess_krylov *k, const double *q, double *z, bool predicted)
{
    const bool apart = krylov_precond_is_apart(k->precond);
    const tess_scalar_update together = predicted ? TESS_SCALAR_CG_RECOMPUTE : TESS_SCALAR_CG_BETA;
    const tess_scalar_update split = predicted ? TESS_SCALAR_CG_RECOMPUTE_SPLIT : TESS_SCALAR_CG_BETA_SPLIT;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_RESIDUAL,
                                          .in = {q},
                                          .out = {k->r},
                                          .scale = tess_precond_scale(k->precond),
                                          .scalar = apart ? TESS_SCALAR_NONE : together}));
    if (apart) { /* z = M^-1 r */
        TESS_TRY(krylov_precondition(k, k->r, z, (tess_reduction){.ndots = 1, .with = {k->r}, .scalar = split}));
    }
cleanup:
    return status;
}

/* beta from (q, w) and (r, w), w = M^-1 q. */
static tess_status predict(const tess_krylov *k, const double *q)
{
    double *w = preconditioned(k);

    if (tess_precond_is_identity(k->precond)) {
        return krylov_fused(
            k, (tess_fused){.op = TESS_FUSED_DOT_TWO, .in = {q, q, k->r}, .scalar = TESS_SCALAR_CG_PREDICT});
    }
    return krylov_precondition(k, q, w,
                               (tess_reduction){.ndots = 2, .with = {q, k->r}, .scalar = TESS_SCALAR_CG_PREDICT});
}

static tess_status iterate(const tess_krylov *k, bool predicts)
{
    const double *scale = tess_precond_scale(k->precond);
    bool apart = krylov_precond_is_apart(k->precond);
    double *p = direction(k), *q = product(k), *z = apart ? preconditioned(k) : k->r;
    tess_status status = TESS_SUCCESS;

    /* q = A p; alpha = rho / (p, q) */
    TESS_TRY(
        krylov_iteration_spmv(k, 0, p, q, (tess_reduction){.ndots = 1, .with = {p}, .scalar = TESS_SCALAR_CG_ALPHA}));
    if (predicts) { TESS_TRY(predict(k, q)); }
    /* r -= alpha q; beta = (r, z)_new / (r, z) */
    TESS_TRY(cg_close_iteration(k, q, z, predicts));
    /* d += alpha p; p = z + beta p */
    TESS_TRY(krylov_fused(
        k,
        (tess_fused){.op = TESS_FUSED_CG_DIRECTION, .in = {z}, .out = {k->d, p}, .scale = scale, .finishing = true}));
cleanup:
    return status;
}

tess_status cg_iterate(void *krylov)
{
    return iterate(krylov, false);
}

static tess_status iterate_recomputing(void *krylov)
{
    return iterate(krylov, true);
}

static int recomputing_vectors(const tess_precond *m)
{
    return tess_precond_is_identity(m) ? 2 : 3;
}

/* Options of CG have an inner precision only where the library sets it. */
static tess_status choose(const method_solver *s, const tess_method **other)
{
    const tess_role_precision *inner = &s->options->gmres.inner;

    if (inner->given && inner->arithmetic == TESS_ARITHMETIC_FP32) { *other = &tess_method_cg_fp32; }
    return TESS_SUCCESS;
}

const tess_method tess_method_cg = {.kind = TESS_SOLVER_CG,
                                    .needs_symmetry = true,
                                    .choose = choose,
                                    .has_recurrence = true,
                                    .vectors = cg_vectors,
                                    .start = cg_start,
                                    .takes_columns = true,
                                    .iterate = cg_iterate};

const tess_method tess_recurrence_cg_recomputing = {.kind = TESS_SOLVER_CG,
                                                    .needs_symmetry = true,
                                                    .has_recurrence = true,
                                                    .recurrence = TESS_RECURRENCE_PREDICT_AND_RECOMPUTE,
                                                    .vectors = recomputing_vectors,
                                                    .start = cg_start,
                                                    .iterate = iterate_recomputing};
