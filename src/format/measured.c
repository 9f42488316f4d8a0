/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in a lower precision that holds every value, where a host multiplies them faster. A sum has the same order in
 * every precision, so that the measured choice changes times and bytes, but no bit of a result.
 */
#include <math.h>

#include "format/choose.h"

/* Products with each of the two: the first is not timed, and the fastest of the others counts. */
enum { PRODUCTS = 5 };
/* Smaller matrices are not measured: their products take less time than this would. */
enum { LEAST_NONZEROS = 1 << 14 };
/* The lower precision must be faster by more than measurements differ. */
#define FASTER 0.97

static tess_status time_product(const tess_matrix *m, const double *x, double *y, double *seconds)
{
    const tess_spmv_args args = {.operation = TESS_OP_NONE, .x = x, .y = y, .alpha = 1.0};
    const double start = tess_wall_seconds();
    tess_status status = m->ops->spmv(m, &args);

    if (status == TESS_SUCCESS) { status = m->ctx->backend->synchronize(m->ctx); }
    *seconds = tess_wall_seconds() - start;
    return status;
}

/* Turn by turn, so that other work on the machine meets both alike. */
static tess_status time_turns(const tess_matrix *const pair[2], const double *x, double *y, double *least)
{
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < 2; k++) {
        least[k] = INFINITY;
        TESS_TRY(pair[k]->ops->prepare(pair[k]));
    }
    for (int turn = 0; turn < PRODUCTS; turn++) {
        for (int k = 0; k < 2; k++) {
            double seconds = 0.0;

            TESS_TRY(time_product(pair[k], x, y, &seconds));
            if (turn > 0 && seconds < least[k]) { least[k] = seconds; }
        }
    }
cleanup:
    return status;
}

static tess_status is_faster(const tess_matrix *lower, const tess_matrix *a, bool *faster)
{
    const tess_matrix *const pair[2] = {lower, a};
    tess_context *ctx = a->ctx;
    double *x = NULL, *y = NULL, least[2];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, a->ncols, sizeof *x, (void **)&x));
    TESS_TRY(tess_device_allocate(ctx, a->nrows, sizeof *y, (void **)&y));
    TESS_TRY(ctx->backend->zero(ctx, x, (size_t)a->ncols * sizeof *x));
    TESS_TRY(time_turns(pair, x, y, least));
    *faster = least[0] < FASTER * least[1];
cleanup:
    tess_device_release(ctx, x, a->ncols, sizeof *x);
    tess_device_release(ctx, y, a->nrows, sizeof *y);
    return status;
}

/* Lower levels than the second are not tried: to decode them takes a host longer than their bytes save
   (docs/howto/choose-formats.md). */
tess_status tess_matrix_try_lower(const tess_matrix *a, const tess_policy_options *policy, tess_precision *level,
                                  tess_matrix **out)
{
    tess_storage_options o;
    tess_matrix *lower = NULL;
    bool pays = true;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    *level = TESS_PRECISION_FP64;
    tess_storage_options_init(&o);
    if (a->is_complex) { o.format = tess_format_in_role(TESS_ROLE_NODES); }
    o.policy = *policy;
    tess_policy_default_levels(&o.policy);
    if (o.policy.nlevels < 2) { return TESS_SUCCESS; }
    o.policy.choose_fp8 = policy->choose_fp8 && o.policy.nlevels == 2;
    o.policy.nlevels = 2;
    o.policy.granularity = TESS_GRANULARITY_MATRIX;
    TESS_TRY(tess_matrix_convert(a, &o, &lower));
    *level = lower->precision;
    if (*level == TESS_PRECISION_FP64) { goto cleanup; }
    if (a->nnz >= LEAST_NONZEROS) { TESS_TRY(is_faster(lower, a, &pays)); }
    if (!pays) { goto cleanup; }
    *out = lower;
    lower = NULL;
cleanup:
    tess_matrix_destroy(lower);
    return status;
}
