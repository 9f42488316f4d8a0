/* SPDX-License-Identifier: Apache-2.0 */
/* CG with vectors in FP32, as the inner iteration of the nested solver. The passes compute in FP64, and sums are FP64:
   each step rounds its new vectors once. d and r of the Krylov process stay FP64 and are converted at both ends. */
#include "solver/cg/cg.h"
#include "solver/method_solver.h"

enum { DIRECTION, PRODUCT, RESIDUAL, CORRECTION, PRECONDITIONED };

static int fp32_vectors(const tess_precond *m)
{
    return krylov_precond_is_apart(m) ? PRECONDITIONED + 1 : PRECONDITIONED;
}

/* The passes' FP32 vectors go by the FP64 pointers of tess_fused (device/fused_bodies.h). */
static double *vector(const tess_krylov *k, int which)
{
    return k->v[which];
}

/* z = M^-1 r */
static tess_status precondition(const tess_krylov *k)
{
    const tess_reduction none = {.state = k->state};

    tess_enter_phase(k->ctx, TESS_PHASE_PRECOND);
    return tess_precond_apply_fused(k->precond, TESS_PRECISION_FP32, k->v[RESIDUAL], k->v[PRECONDITIONED], &none);
}

/* (x, y) of FP32 vectors, then the scalar update. */
static tess_status dot(const tess_krylov *k, int x, int y, tess_scalar_update scalar)
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

    return krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_FP32_CG_START,
                        .in = {vector(k, RESIDUAL), apart ? vector(k, PRECONDITIONED) : NULL},
                        .out = {vector(k, to)},
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
    if (krylov_precond_is_apart(k->precond)) { status = precondition(k); }
cleanup:
    return status;
}

/*
 * rho = (r, z) with z = M^-1 r; d = 0; p = z. Or, as CG with reliable updates of the residual does (Clark, Babich,
 * Barros, Brower, Rebbi, Comput. Phys. Commun. 181 (2010)): the next direction of the loop before, z~ + beta p, with
 * the new z in place of z~, which was that of its own last residual.
 */
static tess_status start(tess_krylov *k)
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

static tess_status iterate(void *krylov)
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
    TESS_TRY(dot(k, PRODUCT, DIRECTION, TESS_SCALAR_CG_ALPHA));
    /* r -= alpha q; beta = (r, z)_new / (r, z) */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_FP32_CG_RESIDUAL,
                                          .in = {vector(k, PRODUCT)},
                                          .out = {vector(k, RESIDUAL)},
                                          .scale = scale,
                                          .scalar = apart ? TESS_SCALAR_NONE : TESS_SCALAR_CG_BETA}));
    if (apart) {
        TESS_TRY(precondition(k));
        TESS_TRY(dot(k, PRECONDITIONED, RESIDUAL, TESS_SCALAR_CG_BETA_SPLIT));
    }
    /* d += alpha p; p = z + beta p */
    status = krylov_fused(k, (tess_fused){.op = TESS_FUSED_FP32_CG_DIRECTION,
                                          .in = {vector(k, apart ? PRECONDITIONED : RESIDUAL)},
                                          .out = {vector(k, CORRECTION), vector(k, DIRECTION)},
                                          .scale = scale,
                                          .finishing = true});
cleanup:
    return status;
}

static tess_status finish(tess_krylov *k)
{
    return k->ctx->backend->convert(k->ctx, k->n, TESS_PRECISION_FP32, k->v[CORRECTION], TESS_PRECISION_FP64, k->d);
}

static tess_status setup(method_solver *s)
{
    s->krylov.vectors = TESS_PRECISION_FP32;
    return solver_setup_storage(s);
}

/* The nested solver has looked at the symmetry. */
const tess_method tess_method_cg_fp32 = {.kind = TESS_SOLVER_CG,
                                         .vectors = fp32_vectors,
                                         .setup = setup,
                                         .start = start,
                                         .iterate = iterate,
                                         .finish = finish};
