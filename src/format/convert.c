/* SPDX-License-Identifier: Apache-2.0 */
/* From assembled matrices to stored ones, and new values for these. */
#include <math.h>

#include "format/choose.h"
#include "matrix/storage_options.h"
#include "policy/assignment.h"

tess_status tess_storage_require_fp64_arithmetic(tess_context *ctx, const tess_storage_options *options,
                                                 const char *purpose)
{
    if (options->arithmetic == TESS_ARITHMETIC_FP64) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "FP32 arithmetic is for products of ellr, sell and dia with FP32 vectors",
                     "%s in arithmetic other than fp64", purpose);
}

/* The precision that the stored matrix goes by: where a policy decides, that of the highest level. */
static tess_precision precision_of(const tess_storage_options *options, const tess_assignment *assignment)
{
    const tess_policy_options *policy = assignment ? &assignment->summary.options : &options->policy;

    if (!tess_format_takes_parts(options->format)) { return options->precision; }
    return policy->nlevels > 0 ? policy->level[0].precision : TESS_PRECISION_FP64;
}

/* Whether the format takes, on that device, every precision that values may be stored in. */
static bool takes_precisions(const tess_format_ops *ops, bool on_gpu, const tess_storage_options *options,
                             const tess_assignment *assignment, tess_precision *refused)
{
    const unsigned precisions = on_gpu ? ops->gpu_precisions : ops->precisions;
    tess_policy_options policy = assignment ? assignment->summary.options : options->policy;
    int count = 1;

    tess_policy_default_levels(&policy);
    if (tess_format_takes_parts(options->format) && policy.nlevels > 1) { count = policy.nlevels; }
    for (int l = 0; l < count && l < TESS_MOST_LEVELS; l++) {
        *refused = l == 0 ? precision_of(options, assignment) : policy.level[l].precision;
        if (tess_precision_bytes(*refused) == 0 || !(precisions & (1U << *refused))) { return false; }
    }
    return true;
}

static tess_status require_layout(const tess_matrix *a, const tess_storage_options *options)
{
    const tess_layout layout = storage_papers(options)->layout;

    if (layout != TESS_LAYOUT_TCKI && layout != TESS_LAYOUT_RESIDENT) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "TESS_LAYOUT_TCKI or TESS_LAYOUT_RESIDENT", "layout %d",
                         (int)layout);
    }
    if (layout == TESS_LAYOUT_RESIDENT && options->format != TESS_FORMAT_TILES) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "layout resident is for format tiles",
                         "layout resident of format %s", tess_format_name(options->format));
    }
    return TESS_SUCCESS;
}

static tess_status require_kernel(const tess_matrix *a, const tess_storage_options *options)
{
    const tess_kernel kernel = storage_papers(options)->kernel;

    if (kernel != TESS_KERNEL_DEFAULT && kernel != TESS_KERNEL_PAPER) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "TESS_KERNEL_DEFAULT or TESS_KERNEL_PAPER", "kernel %d",
                         (int)kernel);
    }
    if (kernel == TESS_KERNEL_PAPER && options->format != TESS_FORMAT_TILES) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "kernel paper is for format tiles", "kernel paper of format %s",
                         tess_format_name(options->format));
    }
    return TESS_SUCCESS;
}

/* Builds what the options ask for; they name the format, and the precision of one that has but one. */
static tess_status build(tess_matrix *stored, const tess_storage_options *options, const tess_assignment *assignment)
{
    const tess_matrix *a = stored->original;
    tess_storage_options chosen = *options;
    tess_status status = TESS_SUCCESS;

    if (assignment) {
        stored->loss = INFINITY; /* it may have been found for other values */
        return stored->ops->build(a, options, assignment, &stored->storage);
    }
    if (!tess_format_takes_parts(options->format)) {
        TESS_TRY(tess_matrix_choose_precision(a, options, &chosen.precision, &stored->loss));
        stored->precision = chosen.precision;
        stored->accepted_loss = options->policy.policy == TESS_POLICY_LOSSLESS ? options->policy.parameter : 0.0;
    }
    status = stored->ops->build(a, &chosen, NULL, &stored->storage);
cleanup:
    return status;
}

static tess_status convert(const tess_matrix *a, const tess_storage_options *options, const tess_assignment *assignment,
                           tess_matrix **out)
{
    const tess_format_ops *ops = tess_find_format(options->format);
    tess_precision refused = TESS_PRECISION_FP64;
    tess_matrix *stored = NULL;
    tess_status status = TESS_SUCCESS;

    if (!ops || !takes_precisions(ops, a->ctx->device == TESS_DEVICE_GPU, options, assignment, &refused)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED,
                         "csr, ellr, sell, dia and tiles take every precision, split and composite on a GPU fp64, "
                         "fp32, bf16 and fp16 "
                         "(--levels fp64,fp32,fp16)",
                         "format %s in %s on %s", tess_format_name(options->format), tess_precision_name(refused),
                         a->ctx->backend->name);
    }
    TESS_TRY(require_kernel(a, options));
    TESS_TRY(require_layout(a, options));
    TESS_TRY(tess_matrix_make(a->ctx, a->nrows, a->ncols, a->nnz, &stored));
    stored->format = options->format;
    stored->precision = precision_of(options, assignment);
    stored->ops = ops;
    stored->original = a;
    stored->values_version = a->values_version;
    TESS_TRY(build(stored, options, assignment));
    *out = stored;
cleanup:
    if (status != TESS_SUCCESS) { tess_matrix_destroy(stored); }
    return status;
}

tess_status tess_matrix_convert(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    storage_request request;
    tess_status status = tess_matrix_require_assembled(a, "tess_matrix_convert");

    *out = NULL;
    if (status == TESS_SUCCESS) { status = storage_request_take(a->ctx, options, &request); }
    if (status != TESS_SUCCESS) { return status; }
    return request.options.format == TESS_FORMAT_AUTO ? tess_matrix_convert_chosen(a, &request.options, out)
                                                      : convert(a, &request.options, NULL, out);
}

tess_status tess_matrix_convert_assigned(const tess_matrix *a, const tess_storage_options *options,
                                         const tess_assignment *assignment, tess_matrix **out)
{
    storage_request request;
    tess_storage_options *chosen = &request.options;
    tess_status status = tess_matrix_require_assembled(a, "tess_matrix_convert_assigned");

    *out = NULL;
    if (status == TESS_SUCCESS) { status = storage_request_take(a->ctx, options, &request); }
    if (status != TESS_SUCCESS) { return status; }
    if (chosen->format == TESS_FORMAT_AUTO) { chosen->format = tess_format_of_assignment(a, chosen, assignment); }
    if (!tess_format_takes_parts(chosen->format)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "split, composite and tiles take one", "an assignment for format %s",
                         tess_format_name(chosen->format));
    }
    return convert(a, chosen, assignment, out);
}

tess_status tess_matrix_refresh(tess_matrix *a)
{
    tess_status status = TESS_SUCCESS;

    if (!a->original || a->values_version == a->original->values_version) { return TESS_SUCCESS; }
    TESS_TRY(a->ops->refresh(a->original, a->storage));
    if (tess_format_takes_parts(a->format)) {
        a->loss = INFINITY; /* levels are those of the values before */
    } else {
        TESS_TRY(tess_matrix_find_loss(a->original, a->precision, a->accepted_loss, &a->loss));
    }
    a->values_version = a->original->values_version;
cleanup:
    return status;
}
