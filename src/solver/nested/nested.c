/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer iteration of the nested solver for symmetric definite matrices: flexible CG in FP64 (Golub and Ye, SIAM J.
 * Sci. Comput. 21 (1999); Notay, SIAM J. Sci. Comput. 22 (2000), with one direction kept), whose preconditioner is an
 * inner CG on a copy of the matrix in a lower precision (inner.c). Other matrices take flexible GMRES (gmres/gmres.c),
 * as in F3R (Suzuki and Iwashita). An iteration begins with the preconditioner, so that the last residual needs none.
 */
#include "solver/nested/nested.h"

#include "solver/gmres/gmres.h"
#include "solver/symmetry.h"

enum { DIRECTION, PRODUCT, PRECONDITIONED, VECTORS };

tess_status nested_choose(const method_solver *s, const tess_method **other)
{
    bool symmetric = false, one_sign = false;
    tess_status status = TESS_SUCCESS;

    if (!s->original->ops) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use fgmres with a preconditioner of your own",
                         "nested needs an assembled matrix, of which it makes a copy, not a shell");
    }
    TESS_TRY(probe_symmetry(s->original, &symmetric));
    if (symmetric) { TESS_TRY(solver_diagonal_has_one_sign(s->original, &one_sign)); }
    if (one_sign) { *other = &tess_method_nested_cg; }
cleanup:
    return status;
}

static int vectors(const tess_precond *m)
{
    (void)m;
    return VECTORS;
}

static tess_status start(tess_krylov *k)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(k->ctx->backend->zero(k->ctx, k->v[DIRECTION], (size_t)k->n * sizeof(double)));
    status = k->ctx->backend->zero(k->ctx, k->v[PRODUCT], (size_t)k->n * sizeof(double));
cleanup:
    return status;
}

static tess_status iterate(void *krylov)
{
    tess_krylov *k = krylov;
    double *p = k->v[DIRECTION], *q = k->v[PRODUCT], *z = k->v[PRECONDITIONED];
    tess_status status = TESS_SUCCESS;

    k->iterated += 1;
    /* z = M^-1 r; beta = -alpha (z, q) / rho, rho = (z, r) */
    TESS_TRY(krylov_precondition(k, k->r, z, (tess_reduction){0}));
    TESS_TRY(
        krylov_fused(k, (tess_fused){.op = TESS_FUSED_DOT_TWO, .in = {z, k->r, q}, .scalar = TESS_SCALAR_CG_FLEXIBLE}));
    /* p = z + beta p: the direction of BiCGSTAB with omega = 0 */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_BICGSTAB_DIRECTION, .in = {z, z}, .out = {p}}));
    /* q = A p; alpha = rho / (p, q) */
    TESS_TRY(krylov_spmv(k, p, q, (tess_reduction){.ndots = 1, .with = {p}, .scalar = TESS_SCALAR_CG_ALPHA}));
    /* d += alpha p; r -= alpha q; ||r|| ends the iteration */
    TESS_TRY(krylov_fused(k, (tess_fused){.op = TESS_FUSED_CG_ADVANCE, .in = {p, k->r}, .out = {k->d}}));
    status = krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_CG_RESIDUAL, .in = {q}, .out = {k->r}, .scalar = TESS_SCALAR_WATCHED_END});
cleanup:
    return status;
}

static tess_status renew(method_solver *s)
{
    return nested_begin(s);
}

const tess_method tess_method_nested_cg = {.kind = TESS_SOLVER_NESTED,
                                           .needs_symmetry = true,
                                           .counts_iterations = true,
                                           .vectors = vectors,
                                           .complete_options = gmres_complete_options,
                                           .make_precond = nested_make,
                                           .renew = renew,
                                           .start = start,
                                           .iterate = iterate,
                                           .describe = nested_describe,
                                           .report = nested_report};
