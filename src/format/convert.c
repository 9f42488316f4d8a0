/* SPDX-License-Identifier: Apache-2.0 */
/* Makes stored matrices from assembled ones, and renews their values. */
#include <math.h>

#include <tessera/names.h>

#include "format/choose.h"
#include "format/fit.h"
#include "format/storage_precision.h"
#include "matrix/storage_options.h"
#include "policy/assignment.h"

/* The precision of the stored matrix; if a policy decides, that of the highest level. */
static tess_precision precision_of(const tess_storage_options *options)
{
    const tess_policy_options *policy = &options->policy;

    if (!tess_format_takes_parts(options->format)) { return options->precision; }
    return policy->nlevels > 0 ? policy->level[0].precision : TESS_PRECISION_FP64;
}

/* Options and what decides on precisions: an assignment, or if `judged` the values, whose loss is found too. */
typedef struct conversion {
    const tess_storage_options *options;
    const tess_assignment *assignment;
    bool judged;
} conversion;

/* Builds the matrix; the options name the format, and the precision of a format with one. */
static tess_status build(tess_matrix *stored, const conversion *c)
{
    const tess_matrix *a = stored->original;
    const tess_storage_options *options = c->options;
    tess_storage_options chosen = *options;
    tess_status status = TESS_SUCCESS;

    if (c->assignment || !c->judged) {
        stored->loss = INFINITY; /* it may have been found for other values */
        return stored->ops->build(a, options, c->assignment, &stored->storage);
    }
    if (!tess_format_takes_parts(options->format)) {
        TESS_TRY(tess_matrix_choose_precision(a, options, &chosen.precision, &stored->loss));
        stored->precision = chosen.precision;
        stored->accepted_loss = isfinite(tess_policy_loss(&options->policy)) ? tess_policy_loss(&options->policy) : 0.0;
    }
    status = stored->ops->build(a, &chosen, NULL, &stored->storage);
cleanup:
    return status;
}

/* Keeps the options of a matrix with entries that are stored nowhere: new values may need them. */
static tess_status keep_options(tess_matrix *stored, const tess_storage_options *options)
{
    const tess_assignment_summary *summary = tess_matrix_assigned_to(stored);
    tess_status status = TESS_SUCCESS;

    if (!summary || summary->left_out == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(stored->ctx, 1, sizeof *stored->asked, (void **)&stored->asked));
    storage_request_set(stored->asked, options);
cleanup:
    return status;
}

/* Builds the storage anew, with levels for the values that the original has now. */
static tess_status build_again(tess_matrix *a)
{
    void *storage = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(a->ops->build(a->original, &a->asked->options, NULL, &storage));
    a->ops->destroy(a->ctx, a->storage);
    a->storage = storage;
    a->builds += 1;
    if (a->assignment) { a->release_assignment(a->assignment); }
    a->assignment = NULL;
    if (a->ops->prepare) { status = a->ops->prepare(a); }
cleanup:
    return status;
}

/* Gives a stored matrix the values that its original has now. */
static tess_status renew(tess_matrix *a)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(a->asked ? build_again(a) : a->ops->refresh(a->original, a->storage));
    if (tess_format_takes_parts(a->format)) {
        a->loss = INFINITY; /* the levels were chosen for the earlier values */
    } else {
        TESS_TRY(tess_matrix_find_loss(a->original, a->precision, a->accepted_loss, &a->loss));
    }
    a->values_version = a->original->values_version;
cleanup:
    return status;
}

/* options: with a format, not auto. The policy of a given assignment replaces theirs. */
static tess_status convert(const tess_matrix *a, const conversion *c, tess_matrix **out)
{
    const tess_assignment *assignment = c->assignment;
    tess_storage_options options = *c->options;
    tess_matrix *stored = NULL;
    tess_status status = TESS_SUCCESS;

    if (assignment) { options.policy = assignment->summary.options; }
    if (!assignment) { tess_storage_settle(&options); }
    TESS_TRY(tess_storage_fits(a->ctx, a->nrows, a->ncols, &options));
    TESS_TRY(tess_matrix_make(a->ctx, a->nrows, a->ncols, a->nnz, &stored));
    stored->format = options.format;
    stored->precision = precision_of(&options);
    stored->arithmetic = options.arithmetic;
    stored->ops = tess_find_storage(&options);
    stored->original = a;
    stored->is_complex = a->is_complex;
    tess_matrix_hold(a);
    stored->renew = renew;
    stored->assignment = assignment;
    stored->release_assignment = tess_assignment_release;
    tess_assignment_hold(assignment);
    stored->values_version = a->values_version;
    TESS_TRY(build(stored, &(conversion){&options, assignment, c->judged}));
    TESS_TRY(keep_options(stored, &options));
    *out = stored;
cleanup:
    if (status != TESS_SUCCESS) { tess_matrix_destroy(stored); }
    return status;
}

tess_status tess_matrix_convert(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    storage_request request;
    tess_status status = tess_matrix_require_assembled(a, "tess_matrix_convert");

    if (status == TESS_SUCCESS) { status = storage_request_take(a->ctx, options, &request); }
    if (status != TESS_SUCCESS) { return status; }
    return request.options.format == TESS_FORMAT_AUTO ? tess_matrix_convert_chosen(a, &request.options, out)
                                                      : convert(a, &(conversion){&request.options, NULL, true}, out);
}

tess_status tess_matrix_convert_unjudged(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    return convert(a, &(conversion){options, NULL, false}, out);
}

tess_status tess_matrix_convert_assigned(const tess_matrix *a, const tess_storage_options *options,
                                         const tess_assignment *assignment, tess_matrix **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    TESS_REQUIRE(a->ctx, assignment);
    storage_request request;
    tess_storage_options *chosen = &request.options;
    tess_status status = tess_matrix_require_assembled(a, "tess_matrix_convert_assigned");

    if (status == TESS_SUCCESS) { status = storage_request_take(a->ctx, options, &request); }
    if (status != TESS_SUCCESS) { return status; }
    if (chosen->format == TESS_FORMAT_AUTO) { chosen->format = tess_format_of_assignment(a, chosen, assignment); }
    if (!tess_format_takes_parts(chosen->format)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED,
                         "choose a format with a precision for each part, such as split, composite, tiles or packed",
                         "format %s has one precision and takes no assignment", tess_format_name(chosen->format));
    }
    if (assignment->ctx != a->ctx || assignment->nrows != a->nrows || assignment->nnz != a->nnz) {
        return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "make the assignment from the matrix that is converted",
                         "the assignment is for a matrix of %s and %s, but this one has %lld and %lld",
                         tess_count(assignment->nrows, "row").text, tess_count(assignment->nnz, "nonzero").text,
                         (long long)a->nrows, (long long)a->nnz);
    }
    return convert(a, &(conversion){chosen, assignment, true}, out);
}
