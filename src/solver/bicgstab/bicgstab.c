/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BiCGSTAB with right preconditioning (van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), the algorithm of section 4
 * with K1 = I), in five passes: p and p^; v = A p^; s and s^; t = A s^; x and r.
 */
#include "solver/complex/choice.h"

enum { SHADOW, DIRECTION, V, T, DIRECTION_HAT, S_HAT };

static int bicgstab_vectors(const tess_precond *m)
{
    return tess_precond_is_identity(m) ? 4 : 6;
}

/* p^ and s^; without a preconditioner they are p and s (kept in r) themselves. */
static double *direction_hat(const tess_krylov *k)
{
    return tess_precond_is_identity(k->precond) ? k->v[DIRECTION] : k->v[DIRECTION_HAT];
}

static double *s_hat(const tess_krylov *k)
{
    return tess_precond_is_identity(k->precond) ? k->r : k->v[S_HAT];
}

static tess_status start_bicgstab(tess_krylov *k)
{
    const tess_backend *backend = k->ctx->backend;
    size_t bytes = (size_t)k->n * sizeof(double);
    double *shadow = k->v[SHADOW];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(backend->zero(k->ctx, k->v[DIRECTION], bytes));
    TESS_TRY(backend->zero(k->ctx, k->v[V], bytes));
    if (k->attempt == 0) { /* r~ = r, the usual choice */
        TESS_TRY(backend->copy(k->ctx, shadow, k->r, bytes));
    } else { /* that choice broke down without progress: choose another r~ */
        TESS_TRY(backend->random(k->ctx, k->n, (uint64_t)k->attempt, -1.0, 1.0, shadow));
    }
    TESS_TRY(krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_DOT_TWO, .in = {shadow, k->r, shadow}, .scalar = TESS_SCALAR_BICGSTAB_START}));
cleanup:
    return status;
}

static tess_status iterate_bicgstab(void *krylov)
{
    tess_krylov *k = krylov;
    const double *scale = tess_precond_scale(k->precond);
    bool apart = krylov_precond_is_apart(k->precond);
    double *p = k->v[DIRECTION], *v = k->v[V], *t = k->v[T], *p_hat = direction_hat(k), *s_h = s_hat(k);
    tess_status status = TESS_SUCCESS;

    /* p = r + beta (p - omega v); p^ = M^-1 p */
    TESS_TRY(krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_BICGSTAB_DIRECTION, .in = {k->r, v}, .out = {p, p_hat}, .scale = scale}));
    if (apart) { TESS_TRY(krylov_precondition(k, p, p_hat, (tess_reduction){0})); }
    /* v = A p^; alpha = rho / (r~, v) */
    TESS_TRY(krylov_iteration_spmv(
        k, 0, p_hat, v, (tess_reduction){.ndots = 1, .with = {k->v[SHADOW]}, .scalar = TESS_SCALAR_BICGSTAB_ALPHA}));
    /* s = r - alpha v, kept in r; s^ = M^-1 s */
    TESS_TRY(
        krylov_fused(k, (tess_fused){.op = TESS_FUSED_BICGSTAB_HALF, .in = {v}, .out = {k->r, s_h}, .scale = scale}));
    if (apart) { TESS_TRY(krylov_precondition(k, k->r, s_h, (tess_reduction){0})); }
    /* t = A s^; omega = (t, s) / (t, t) */
    TESS_TRY(krylov_iteration_spmv(
        k, 1, s_h, t, (tess_reduction){.ndots = 2, .with = {k->r, t}, .scalar = TESS_SCALAR_BICGSTAB_OMEGA}));
    /* d += alpha p^ + omega s^; r = s - omega t; rho = (r~, r) */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_BICGSTAB_UPDATE,
                                          .in = {p_hat, s_h, t, k->v[SHADOW]},
                                          .out = {k->d, k->r},
                                          .scalar = TESS_SCALAR_BICGSTAB_BETA}));
cleanup:
    return status;
}

const tess_method tess_method_bicgstab = {.kind = TESS_SOLVER_BICGSTAB,
                                          .choose = complex_choose,
                                          .has_recurrence = true,
                                          .vectors = bicgstab_vectors,
                                          .start = start_bicgstab,
                                          .takes_columns = true,
                                          .iterate = iterate_bicgstab};
