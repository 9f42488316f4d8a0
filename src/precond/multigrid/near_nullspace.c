/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "precond/multigrid/modes.h"

/* The largest magnitude of a vector; NaN if it has NaN. */
static double largest(const double *x, int64_t n)
{
    double most = 0.0;

    for (int64_t i = 0; i < n && !isnan(most); i++) {
        most = isnan(x[i]) ? x[i] : fmax(most, fabs(x[i]));
    }
    return most;
}

/* A vector times the power of two that brings its largest magnitude to 1/2 or more, below 1: squares stay in range, and
   digits as they are. */
static void copy_scaled(const double *x, int64_t n, double most, double *out)
{
    int exponent = 0;

    (void)frexp(most, &exponent);
    for (int64_t i = 0; i < n; i++) {
        out[i] = ldexp(x[i], -exponent);
    }
}

tess_status amg_copy_near_nullspace(tess_context *ctx, int64_t n, tess_amg_options *o, double **copy)
{
    const double *given = o->near_nullspace;
    int taken = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n * o->near_nullspace_columns, sizeof **copy, (void **)copy));
    for (int c = 0; c < o->near_nullspace_columns; c++) {
        const double most = largest(given + c * n, n);

        if (!isfinite(most)) {
            status = tess_fail(ctx, TESS_INVALID_ARGUMENT, "give finite vectors",
                               "amg: column %lld of the near-nullspace has NaN or Inf", tess_number(ctx, c));
            goto cleanup;
        }
        if (most > 0.0) { copy_scaled(given + c * n, n, most, *copy + n * taken++); }
    }
    if (taken == 0) {
        status = tess_fail(ctx, TESS_INVALID_ARGUMENT, "give vectors that A nearly maps to zero, or none",
                           "amg: the near-nullspace is zero");
    }
    o->near_nullspace = *copy;
    o->near_nullspace_columns = taken;
cleanup:
    return status;
}
