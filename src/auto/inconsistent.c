/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of which no x meets the tolerance: 1^T (b - A x) = 1^T b where the columns of A sum to 0. */
#include <math.h>

#include "auto/auto.h"

/* By this factor at least the tolerance must be missed: the bound holds up to rounding. */
#define CLEARLY 2.0

/* An attempt ends this near to the least residual: from there on x grows along the null vector. */
#define NEAR_LEAST 1.01

/* A lower bound of the relative residual of any x, |1^T b| / (sqrt(n) ||b||); 0: none is known. */
static double least_residual(int64_t n, const double *b, double *norm)
{
    double largest = 0.0, squares = 0.0, sum = 0.0, magnitude = 0.0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(b[i]));
    }
    for (int64_t i = 0; i < n && largest > 0.0; i++) {
        const double value = b[i] / largest;

        sum += value;
        magnitude += fabs(value);
        squares += value * value;
    }
    *norm = largest * sqrt(squares);
    if (!isfinite(sum) || is_null_sum(sum, magnitude, n)) { return 0.0; }
    return fabs(sum) / sqrt((double)n * squares);
}

tess_status find_unreachable(const tess_solver *s, auto_solve *state, const tess_vector *b)
{
    double *values = NULL, least = 0.0, norm = 0.0;
    tess_status status = TESS_SUCCESS;

    state->unreachable = state->floor = 0.0;
    if (!state->facts.symmetric || !state->facts.null_sums || s->options.atol > 0.0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, b->n, sizeof *values, (void **)&values));
    TESS_TRY(s->ctx->backend->download(s->ctx, values, b->data, (size_t)b->n * sizeof *values));
    least = least_residual(b->n, values, &norm);
    if (least > CLEARLY * s->options.rtol) {
        state->unreachable = least;
        state->floor = NEAR_LEAST * least * norm;
    }
cleanup:
    tess_host_release(s->ctx, values, b->n, sizeof *values);
    return status;
}
