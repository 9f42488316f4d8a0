/* SPDX-License-Identifier: Apache-2.0 */
/* The diagonal rounded to powers of two: M^-1 r is exact, but for underflow. */
#include <math.h>

#include "precond/precond.h"

static tess_status check(const tess_matrix *a, const tess_precond_options *options)
{
    if (!options->role.given || options->role.storage == TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_UNSUPPORTED, "leave --precond-precision at fp64", "the preconditioner powers in %s",
                     tess_precision_name(options->role.storage));
}

/* value := 2^-e with 2^(e-1) <= |value| < 2^e; false where there is none. */
static bool invert(double *value)
{
    int exponent = 0;

    if (*value == 0.0 || !isfinite(*value)) { return false; }
    (void)frexp(*value, &exponent);
    *value = copysign(ldexp(1.0, -exponent), *value);
    return isfinite(*value) != 0;
}

/* m->own: n factors on the device. */
static tess_status renew(tess_precond *m)
{
    const tess_backend *backend = m->ctx->backend;
    const size_t bytes = (size_t)m->n * sizeof(double);
    double *factors = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *factors, (void **)&factors));
    TESS_TRY(tess_matrix_raw_diagonal(m->matrix, m->own));
    TESS_TRY(backend->download(m->ctx, factors, m->own, bytes));
    for (int64_t i = 0; i < m->n; i++) {
        if (!invert(&factors[i])) {
            status =
                tess_fail(m->ctx, TESS_SINGULAR, "choose another preconditioner",
                          "powers: the diagonal entry of row %lld is zero, missing or not finite", (long long)i + 1);
            goto cleanup;
        }
    }
    status = backend->upload(m->ctx, m->own, factors, bytes);
cleanup:
    tess_host_release(m->ctx, factors, m->n, sizeof *factors);
    return status;
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    tess_status status = tess_device_allocate(m->ctx, m->n, sizeof(double), &m->own);

    (void)options;
    return status == TESS_SUCCESS ? renew(m) : status;
}

/* z = D^-1 r, by the pass that CG begins with. */
static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const tess_fused pass = {.op = TESS_FUSED_CG_START,
                             .n = m->n,
                             .in = {r},
                             .out = {z},
                             .scale = m->own,
                             .scalar = TESS_SCALAR_NONE,
                             .state = reduction->state};

    if (vectors == TESS_PRECISION_FP64) { return m->ctx->backend->fused(m->ctx, &pass); }
    return tess_fail(m->ctx, TESS_UNSUPPORTED, "use --inner-precision fp64", "the preconditioner powers of %s vectors",
                     tess_precision_name(vectors));
}

static const double *scale(const tess_precond *m)
{
    return m->own;
}

static int64_t bytes(const tess_precond *m)
{
    return m->n * (int64_t)sizeof(double);
}

static void destroy(tess_precond *m)
{
    tess_device_release(m->ctx, m->own, m->n, sizeof(double));
}

const tess_precond_ops precond_powers = {.kind = TESS_PRECOND_POWERS,
                                         .check = check,
                                         .create = create,
                                         .renew = renew,
                                         .apply = apply,
                                         .scale = scale,
                                         .bytes = bytes,
                                         .destroy = destroy};
