/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MINRES (Paige and Saunders, SIAM J. Numer. Anal. 12 (1975), section 6) with a symmetric positive definite
 * preconditioner, for symmetric matrices, definite or not. Lanczos' process makes A tridiagonal, rotations make that
 * triangular, and the residual is the least in the norm of M^-1. The recurrence of the unpreconditioned residual,
 *   r_j = s_j^2 r_(j-1) - phibar_j c_j v_(j+1)   (v_(j+1) of unit length in M^-1),
 * costs one vector more; its norm is the estimate, so that the tolerance means the same as for all methods.
 *
 * A Lanczos vector is kept divided by the norm of the product that it is made of, which is known before the pass. Its
 * own norm, near 1, is computed with it. Coefficients: minres_scalars.h.
 */
#include "solver/krylov.h"
#include "solver/minres/minres_scalars.h"

/* Two Lanczos vectors, two directions (gamma_j w_j), the product; and M^-1 v if it needs a pass of its own. */
enum { LANCZOS, LANCZOS_BEFORE, DIRECTION, DIRECTION_BEFORE, PRODUCT, PRECONDITIONED };

static int minres_vectors(const tess_precond *m)
{
    return tess_precond_is_identity(m) ? 5 : 6;
}

/* z = M^-1 v; without a preconditioner v itself. */
static double *preconditioned(const tess_krylov *k)
{
    return tess_precond_is_identity(k->precond) ? k->v[LANCZOS] : k->v[PRECONDITIONED];
}

/* Of the loop's device: only passes read them. */
static const minres_numbers *numbers_of(const tess_krylov *k, int set)
{
    return (const minres_numbers *)k->numbers + set;
}

static tess_status start_minres(tess_krylov *k)
{
    const tess_backend *backend = k->ctx->backend;
    const size_t bytes = (size_t)k->n * sizeof(double);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(backend->copy(k->ctx, k->v[LANCZOS], k->r, bytes));
    TESS_TRY(backend->zero(k->ctx, k->v[LANCZOS_BEFORE], bytes));
    TESS_TRY(backend->zero(k->ctx, k->v[DIRECTION], bytes));
    TESS_TRY(backend->zero(k->ctx, k->v[DIRECTION_BEFORE], bytes));
    /* z = M^-1 r; (r, z) */
    if (krylov_precond_is_apart(k->precond)) {
        return krylov_precondition(
            k, k->r, preconditioned(k),
            (tess_reduction){.ndots = 2, .with = {k->r, k->r}, .scalar = TESS_SCALAR_MINRES_START});
    }
    status = krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_START,
                                          .in = {k->r},
                                          .out = {preconditioned(k)},
                                          .scale = tess_precond_scale(k->precond),
                                          .scalar = TESS_SCALAR_MINRES_START});
cleanup:
    return status;
}

/* The next Lanczos vector and its products, and the next direction, which needs only what was known before. */
static tess_status continue_lanczos(const tess_krylov *k)
{
    const minres_numbers *numbers = numbers_of(k, MINRES_PRODUCT);
    const bool identity = tess_precond_is_identity(k->precond), apart = krylov_precond_is_apart(k->precond);
    const double *scale = tess_precond_scale(k->precond);
    double *v = k->v[LANCZOS], *z = k->v[PRECONDITIONED];
    tess_status status = TESS_SUCCESS;

    /* v_(j+1) = (A z_j - alpha v_j - beta v_(j-1)) / ||A z_j|| */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_MINRES_LANCZOS,
                                          .in = {k->v[PRODUCT]},
                                          .out = {v, k->v[LANCZOS_BEFORE]},
                                          .scale = scale,
                                          .coefficients = numbers->lanczos,
                                          .scalar = apart ? TESS_SCALAR_NONE : TESS_SCALAR_MINRES_ROTATE}));
    /* gamma_j w_j = z_j - delta w_(j-1) - epsilon w_(j-2); z_(j+1) if that is a diagonal times v_(j+1) */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_MINRES_DIRECTION,
                                          .in = {identity ? k->v[LANCZOS_BEFORE] : z, v},
                                          .out = {k->v[DIRECTION], k->v[DIRECTION_BEFORE], z},
                                          .scale = scale,
                                          .coefficients = numbers->direction}));
    if (apart) { /* z_(j+1) = M^-1 v_(j+1) */
        TESS_TRY(krylov_precondition(
            k, v, z, (tess_reduction){.ndots = 1, .with = {v}, .scalar = TESS_SCALAR_MINRES_ROTATE_SPLIT}));
    }
cleanup:
    return status;
}

static tess_status iterate_minres(void *krylov)
{
    tess_krylov *k = krylov;
    double *z = preconditioned(k), *q = k->v[PRODUCT];
    tess_status status = TESS_SUCCESS;

    /* q = A z; alpha_j = (z, q), ||q|| */
    TESS_TRY(krylov_spmv(k, z, q, (tess_reduction){.ndots = 2, .with = {z, q}, .scalar = TESS_SCALAR_MINRES_PRODUCT}));
    TESS_TRY(continue_lanczos(k));
    /* d += phi_j w_j; r_j = s^2 r_(j-1) - phibar c v_(j+1) */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_ADVANCE,
                                          .in = {k->v[DIRECTION], k->v[LANCZOS]},
                                          .out = {k->d, k->r},
                                          .coefficients = numbers_of(k, MINRES_ROTATED)->advance,
                                          .scalar = TESS_SCALAR_MINRES_END}));
cleanup:
    return status;
}

const tess_method tess_method_minres = {.kind = TESS_SOLVER_MINRES,
                                        .needs_symmetry = true,
                                        .pauses = true,
                                        .numbers = MINRES_SETS * sizeof(minres_numbers),
                                        .vectors = minres_vectors,
                                        .start = start_minres,
                                        .takes_columns = true,
                                        .iterate = iterate_minres};
