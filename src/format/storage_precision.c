/* SPDX-License-Identifier: Apache-2.0 */
/* The precision of formats with one: the requested one, or the lowest that a policy finds for the matrix; and
   whether every value is stored exactly. */
#include "format/storage_precision.h"

#include <math.h>

tess_status tess_storage_require_fp64_arithmetic(tess_context *ctx, const tess_storage_options *options,
                                                 const char *purpose)
{
    if (options->arithmetic == TESS_ARITHMETIC_FP64) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED,
                     "leave the arithmetic fp64; fp32 is for products of ellr, sell, dia and bsr with fp32 vectors",
                     "%s cannot compute in %s arithmetic", purpose, tess_arithmetic_name(options->arithmetic));
}

tess_status tess_storage_require_wide_arithmetic(tess_context *ctx, const tess_storage_options *options,
                                                 const char *purpose)
{
    if (options->arithmetic == TESS_ARITHMETIC_FP32X2) { return TESS_SUCCESS; }
    return tess_storage_require_fp64_arithmetic(ctx, options, purpose);
}

bool tess_format_takes_parts(tess_format format)
{
    return tess_format_can(format)->takes_parts != 0;
}

/* The precision that a policy of granularity matrix chooses. */
static tess_status assign_whole(const tess_matrix *a, const tess_policy_options *policy, tess_precision *precision)
{
    tess_assignment *assignment = NULL;
    tess_assignment_summary summary = {.size = sizeof summary};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_assignment_create(a, policy, &assignment));
    tess_assignment_get_summary(assignment, &summary);
    for (int l = 0; l < summary.options.nlevels; l++) {
        if (summary.items_at[l] > 0) { *precision = summary.options.level[l].precision; }
    }
cleanup:
    tess_assignment_destroy(assignment);
    return status;
}

/* Whether a precision stores every value up to a relative loss. */
static tess_status keeps(const tess_matrix *a, tess_precision precision, double loss, bool *kept)
{
    const tess_policy_options policy = {.granularity = TESS_GRANULARITY_MATRIX,
                                        .policy = TESS_POLICY_LOSSLESS,
                                        .parameter = loss,
                                        .nlevels = 2,
                                        .level = {{TESS_PRECISION_FP64, 0}, {precision, 0}}};
    tess_precision found = precision;
    const tess_status status = precision == TESS_PRECISION_FP64 ? TESS_SUCCESS : assign_whole(a, &policy, &found);

    *kept = found == precision;
    return status;
}

tess_status tess_matrix_find_loss(const tess_matrix *a, tess_precision precision, double accepted, double *loss)
{
    bool kept = false;
    tess_status status = TESS_SUCCESS;

    *loss = INFINITY;
    TESS_TRY(keeps(a, precision, 0.0, &kept));
    if (kept) {
        *loss = 0.0;
        return TESS_SUCCESS;
    }
    if (accepted > 0.0) { TESS_TRY(keeps(a, precision, accepted, &kept)); }
    if (kept) { *loss = accepted; }
cleanup:
    return status;
}

tess_status tess_matrix_choose_precision(const tess_matrix *a, const tess_storage_options *options,
                                         tess_precision *precision, double *loss)
{
    tess_policy_options policy = options->policy;
    tess_status status = TESS_SUCCESS;

    *precision = options->precision;
    if (policy.policy != TESS_POLICY_LOSSLESS && policy.policy != TESS_POLICY_ERROR_BOUND) {
        return tess_matrix_find_loss(a, *precision, 0.0, loss);
    }
    policy.without_diagonal = 0; /* it is stored with the other values */
    TESS_TRY(assign_whole(a, &policy, precision));
    *loss = tess_policy_loss(&policy);
    if (*loss > 0.0) { status = tess_matrix_find_loss(a, *precision, isfinite(*loss) ? *loss : 0.0, loss); }
cleanup:
    return status;
}
