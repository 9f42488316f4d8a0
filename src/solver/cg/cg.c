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

/*
 * ---- FP32 vectors ----
 *
 * As the inner iteration of the nested solver. The passes compute in FP64, and sums are FP64: each step rounds its new
 * vectors once. d and r of the Krylov process stay FP64 and are converted at both ends.
 */

enum { DIRECTION, PRODUCT, RESIDUAL, CORRECTION, PRECONDITIONED };

static int fp32_vectors(const tess_precond *m)
{
    return krylov_precond_is_apart(m) ? PRECONDITIONED + 1 : PRECONDITIONED;
}

/* The passes' FP32 vectors go by the FP64 pointers of tess_fused (device/fused_bodies.h). */
static double *vector_fp32(const tess_krylov *k, int which)
{
    return k->v[which];
}

/* z = M^-1 r */
static tess_status precondition_fp32(const tess_krylov *k)
{
    const tess_reduction none = {.state = k->state};

    tess_enter_phase(k->ctx, TESS_PHASE_PRECOND);
    return tess_precond_apply_fused(k->precond, TESS_PRECISION_FP32, k->v[RESIDUAL], k->v[PRECONDITIONED], &none);
}

/* (x, y) of FP32 vectors, then the scalar update. */
static tess_status dot_fp32(const tess_krylov *k, int x, int y, tess_scalar_update scalar)
{
    return krylov_fused(k, (tess_fused){.op = TESS_FUSED_DOT,
                                        .x = {k->v[x], TESS_PRECISION_FP32},
                                        .y = {k->v[y], TESS_PRECISION_FP32},
                                        .scalar = scalar});
}

/* to := z = M^-1 r, whose own pass has made it where it has one; (r, r), (r, z), then the scalar update. */
static tess_status take_preconditioned(const tess_krylov *k, int to, tess_scalar_update scalar)
{
    const bool apart = krylov_precond_is_apart(k->precond);

    return krylov_fused(k, (tess_fused){.op = TESS_FUSED_FP32_CG_START,
                                        .in = {vector_fp32(k, RESIDUAL), apart ? vector_fp32(k, PRECONDITIONED) : NULL},
                                        .out = {vector_fp32(k, to)},
                                        .scale = tess_precond_scale(k->precond),
                                        .scalar = scalar});
}

/* p := a p + b y, y in the place of the product */
static tess_status change_direction(const tess_krylov *k, double a, double b)
{
    return krylov_fused(k, (tess_fused){.op = TESS_FUSED_AXPBY,
                                        .x = {k->v[DIRECTION], TESS_PRECISION_FP32},
                                        .y = {k->v[PRODUCT], TESS_PRECISION_FP32},
                                        .result = k->v[DIRECTION],
                                        .a = a,
                                        .b = b});
}

static tess_status take_residual(const tess_krylov *k)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(k->ctx->backend->convert(k->ctx, k->n, TESS_PRECISION_FP64, k->r, TESS_PRECISION_FP32, k->v[RESIDUAL]));
    if (krylov_precond_is_apart(k->precond)) { status = precondition_fp32(k); }
cleanup:
    return status;
}

/*
 * rho = (r, z) with z = M^-1 r; d = 0; p = z. Or, as CG with reliable updates of the residual does (Clark, Babich,
 * Barros, Brower, Rebbi, Comput. Phys. Commun. 181 (2010)): the next direction of the loop before, z~ + beta p, with
 * the new z in place of z~, which was that of its own last residual.
 */
static tess_status start_fp32(tess_krylov *k)
{
    const cg_resume *how = k->own;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(k->ctx->backend->zero(k->ctx, k->v[CORRECTION], (size_t)k->n * sizeof(float)));
    if (!how->resumes) {
        TESS_TRY(take_residual(k));
        return take_preconditioned(k, DIRECTION, TESS_SCALAR_CG_START);
    }
    TESS_TRY(take_preconditioned(k, PRODUCT, TESS_SCALAR_NONE));
    TESS_TRY(change_direction(k, how->factor, -how->factor));
    TESS_TRY(take_residual(k));
    TESS_TRY(take_preconditioned(k, PRODUCT, TESS_SCALAR_CG_START));
    status = change_direction(k, 1.0, 1.0);
cleanup:
    return status;
}

static tess_status iterate_fp32(void *krylov)
{
    const tess_krylov *k = krylov;
    const bool apart = krylov_precond_is_apart(k->precond);
    const double *scale = tess_precond_scale(k->precond);
    const tess_spmv_args product = {.alpha = 1.0,
                                    .vectors = TESS_PRECISION_FP32,
                                    .x_fp32 = k->v[DIRECTION],
                                    .y_fp32 = k->v[PRODUCT],
                                    .reduction = {.state = k->state}};
    tess_status status = TESS_SUCCESS;

    /* q = A p; alpha = rho / (p, q) */
    tess_enter_phase(k->ctx, TESS_PHASE_SPMV);
    TESS_TRY(k->matrix->ops->spmv(k->matrix, &product));
    TESS_TRY(dot_fp32(k, PRODUCT, DIRECTION, TESS_SCALAR_CG_ALPHA));
    /* r -= alpha q; beta = (r, z)_new / (r, z) */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_FP32_CG_RESIDUAL,
                                          .in = {vector_fp32(k, PRODUCT)},
                                          .out = {vector_fp32(k, RESIDUAL)},
                                          .scale = scale,
                                          .scalar = apart ? TESS_SCALAR_NONE : TESS_SCALAR_CG_BETA}));
    if (apart) {
        TESS_TRY(precondition_fp32(k));
        TESS_TRY(dot_fp32(k, PRECONDITIONED, RESIDUAL, TESS_SCALAR_CG_BETA_SPLIT));
    }
    /* d += alpha p; p = z + beta p */
    status = krylov_fused(k, (tess_fused){.op = TESS_FUSED_FP32_CG_DIRECTION,
                                          .in = {vector_fp32(k, apart ? PRECONDITIONED : RESIDUAL)},
                                          .out = {vector_fp32(k, CORRECTION), vector_fp32(k, DIRECTION)},
                                          .scale = scale,
                                          .finishing = true});
cleanup:
    return status;
}

static tess_status finish_fp32(tess_krylov *k)
{
    return k->ctx->backend->convert(k->ctx, k->n, TESS_PRECISION_FP32, k->v[CORRECTION], TESS_PRECISION_FP64, k->d);
}

static tess_status setup_fp32(method_solver *s)
{
    s->krylov.vectors = TESS_PRECISION_FP32;
    return solver_setup_storage(s);
}

/* ---- the tables ---- */

/* The nested solver has looked at the symmetry. */
const tess_method tess_method_cg_fp32 = {.kind = TESS_SOLVER_CG,
                                         .vectors = fp32_vectors,
                                         .setup = setup_fp32,
                                         .start = start_fp32,
                                         .iterate = iterate_fp32,
                                         .finish = finish_fp32};

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
