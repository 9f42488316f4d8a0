/* SPDX-License-Identifier: Apache-2.0 */
/* The options of GMRES and its kin: checks, and the precisions that they leave open. */
#include "solver/gmres/gmres.h"

#include <tessera/names.h>

#include "base/precision_traits.h"

/* For options.inner_auto. */
enum { SMALL_BYTES = 48 << 20 };

static tess_status check_role(tess_context *ctx, const tess_role_precision *role, const char *name)
{
    if ((int)role->storage < 0 || (int)role->storage >= TESS_PRECISION_COUNT) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, PRECISION_NAMES, "the %s precision has the unknown storage %d",
                         name, (int)role->storage);
    }
    if (role->arithmetic != TESS_ARITHMETIC_FP64 && role->arithmetic != TESS_ARITHMETIC_FP32) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use fp64 or fp32",
                         "the %s precision has the unknown arithmetic %d", name, (int)role->arithmetic);
    }
    if (role->storage == TESS_PRECISION_FP64 && role->arithmetic == TESS_ARITHMETIC_FP32) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "use fp64/fp64, or a lower storage; a basis has the inner arithmetic",
                         "the %s precision fp64/fp32 would store in fp64 what is computed in fp32", name);
    }
    return TESS_SUCCESS;
}

/* Of matrix and basis in FP64: small ones stay in caches, and launches take the time. */
static bool is_small(const method_solver *s)
{
    const int64_t n = s->original->nrows, most = n < s->options->gmres.restart ? n : s->options->gmres.restart;
    const int64_t matrix = s->original->ops ? tess_matrix_bytes(s->original) : 0;

    return matrix + n * (most + 1) * (int64_t)sizeof(double) <= SMALL_BYTES;
}

static bool begins_low(tess_solver_kind kind)
{
    return kind == TESS_SOLVER_GMRES_IR || kind == TESS_SOLVER_GMRES_FD;
}

tess_precision gmres_basis_precision(const tess_solve_options *o)
{
    if (o->gmres.basis.given) { return o->gmres.basis.storage; }
    if (o->gmres.inner.given) { return o->gmres.inner.storage; }
    return begins_low(o->solver) ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
}

static tess_status check_numbers(const method_solver *s)
{
    const tess_solve_options *o = s->options;

    if (o->gmres.restart < 1) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "give 1 or more; the default is 50",
                         "GMRES cannot restart after %s", tess_count(o->gmres.restart, "vector").text);
    }
    if (o->gmres.switch_at < 0) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "give 0 or more; at 0 progress decides",
                         "GMRES cannot change to FP64 at iteration %lld", (long long)o->gmres.switch_at);
    }
    if (o->gmres.orthogonalization != TESS_ORTHOGONALIZATION_CGS2 &&
        o->gmres.orthogonalization != TESS_ORTHOGONALIZATION_CGS2_DELAYED) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "use cgs2 or cgs2-delayed", "unknown orthogonalization %d",
                         (int)o->gmres.orthogonalization);
    }
    return TESS_SUCCESS;
}

static void complete_precond_role(method_solver *s)
{
    tess_solve_options *o = s->options;

    if (o->precond.role.given) { return; }
    o->precond.role = tess_precond_default_role(o->precond.kind, o->gmres.inner);
    if (!s->original->ops) { o->precond.role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}; }
    if (o->precond.block_jacobi.adaptive && o->precond.kind == TESS_PRECOND_BLOCK_JACOBI) {
        o->precond.role.storage = TESS_PRECISION_FP16;
    }
}

/* The precisions are those of the inner iterations: by default each entry of the copy has 16 bits. */
static tess_status complete_nested(method_solver *s)
{
    tess_gmres_options *o = &s->options->gmres;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_numbers(s));
    if (!o->inner.given) { o->inner = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32}; }
    if (!o->basis.given) {
        o->basis.storage = o->inner.arithmetic == TESS_ARITHMETIC_FP32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
    }
    o->basis.given = 1;
    o->basis.arithmetic = o->inner.arithmetic;
    TESS_TRY(check_role(s->ctx, &o->inner, "inner"));
    status = check_role(s->ctx, &o->basis, "basis");
cleanup:
    return status;
}

tess_status gmres_complete_options(method_solver *s)
{
    tess_solve_options *o = s->options;
    const bool low = o->gmres.inner_auto ? !is_small(s) : begins_low(o->solver);
    tess_storage_options *matrix = &o->storage;
    tess_status status = TESS_SUCCESS;

    if (o->solver == TESS_SOLVER_NESTED) { return complete_nested(s); }
    TESS_TRY(check_numbers(s));
    if (!o->gmres.inner.given) {
        o->gmres.inner = (tess_role_precision){1, low ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64,
                                               low ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};
    }
    if (o->solver == TESS_SOLVER_FGMRES) { o->gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
    if (!o->gmres.basis.given) { o->gmres.basis = o->gmres.inner; }
    o->gmres.basis.arithmetic = o->gmres.inner.arithmetic;
    complete_precond_role(s);
    if ((matrix->format == TESS_FORMAT_CSR || matrix->format == TESS_FORMAT_AUTO) &&
        matrix->precision == TESS_PRECISION_FP64 && s->original->ops) {
        matrix->precision = o->gmres.inner.storage;
    }
    TESS_TRY(check_role(s->ctx, &o->gmres.inner, "inner"));
    status = check_role(s->ctx, &o->gmres.basis, "basis"); /* the preconditioner checks its own */
cleanup:
    return status;
}
