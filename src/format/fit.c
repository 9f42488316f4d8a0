/* SPDX-License-Identifier: Apache-2.0 */
/* Whether storage options fit a format, decided by the formats' tables. */
#include "format/fit.h"

#include "format/choose.h"
#include "format/fit_words.h"
#include "matrix/matrix.h"
#include "matrix/storage_options.h"
#include "policy/assignment.h"

/* ---- capabilities ---- */

static bool is_any(const tess_format_capabilities *can)
{
    return can->precisions != 0;
}

static bool is_on_gpu(const tess_format_capabilities *can)
{
    return can->gpu_precisions != 0;
}

static bool is_base(const tess_format_capabilities *can)
{
    return can->as_base != 0;
}

static bool may_differ(const tess_format_capabilities *can)
{
    return can->as_base != 0 && !can->one_base;
}

static bool computes_in_fp32(const tess_format_capabilities *can)
{
    return tess_in_set(can->arithmetics, TESS_ARITHMETIC_FP32);
}

static bool computes_in_pairs(const tess_format_capabilities *can)
{
    return tess_in_set(can->arithmetics, TESS_ARITHMETIC_FP32X2);
}

unsigned tess_format_precisions(const tess_context *ctx, const tess_format_capabilities *can)
{
    return ctx->device == TESS_DEVICE_GPU ? can->gpu_precisions : can->precisions;
}

void tess_storage_settle(tess_storage_options *options)
{
    const tess_format_capabilities *can = tess_format_can(options->format);
    tess_granularity *granularity = &options->policy.granularity;
    const bool open = !options->policy.granularity_given &&
                      (*granularity == TESS_GRANULARITY_MATRIX || *granularity == TESS_GRANULARITY_ROW);

    if (can->granularities != 0 && open && !tess_in_set(can->granularities, (int)*granularity)) {
        *granularity = can->granularity;
    }
}

/* ---- what a conversion asks ---- */

static tess_status check_format(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    fit_words list = {.count = 0};

    if (!is_any(can)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_format(is_any, &list), "unknown format %d", (int)o->format);
    }
    if (tess_format_precisions(ctx, can) == 0) {
        return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_format(is_on_gpu, &list),
                         "format %s is only for the host (--device cpu)", tess_format_name(o->format));
    }
    return TESS_SUCCESS;
}

/* Checks every precision that values may be stored in, and the scales of levels. */
static tess_status check_levels(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    const bool levels = can->takes_parts || fit_chooses_whole(can, o);
    tess_policy_options policy = o->policy;
    fit_words list = {.count = 0};

    tess_policy_default_levels(&policy);
    for (int l = 0; l < (levels ? policy.nlevels : 1) && l < TESS_MAX_LEVELS; l++) {
        const tess_precision precision = levels ? policy.level[l].precision : o->precision;

        if (!tess_in_set(can->precisions, (int)precision)) {
            return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_precision(tess_format_precisions(ctx, can), &list),
                             "format %s cannot store %s", tess_format_name(o->format), tess_precision_name(precision));
        }
        if (!tess_in_set(tess_format_precisions(ctx, can), (int)precision)) {
            return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_precision(tess_format_precisions(ctx, can), &list),
                             "format %s cannot store %s on %s", tess_format_name(o->format),
                             tess_precision_name(precision), ctx->backend->name);
        }
        if (levels && policy.level[l].scaled && !tess_in_set(can->scales, (int)policy.granularity)) {
            return tess_fail(ctx, TESS_UNSUPPORTED, "choose levels without :scaled, or another format or granularity",
                             "format %s with granularity %s has no scaled levels", tess_format_name(o->format),
                             tess_granularity_name(policy.granularity));
        }
    }
    return TESS_SUCCESS;
}

static tess_status check_granularity(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    fit_words list = {.count = 0};

    if (!can->takes_parts && !fit_chooses_whole(can, o)) { return TESS_SUCCESS; } /* it is not read */
    if (tess_in_set(can->granularities, (int)o->policy.granularity)) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "format %s has no granularity %s; it takes %s",
                     tess_format_name(o->format), tess_granularity_name(o->policy.granularity),
                     fit_granularities(can->granularities, &list));
}

static tess_status check_arithmetic(tess_context *ctx, const tess_storage_options *o)
{
    fit_words list = {.count = 0};

    if (!tess_in_set(TESS_EVERY_ARITHMETIC, (int)o->arithmetic)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_arithmetic", "unknown arithmetic %d",
                         (int)o->arithmetic);
    }
    if (tess_in_set(tess_format_can(o->format)->arithmetics, (int)o->arithmetic)) { return TESS_SUCCESS; }
    return tess_fail(
        ctx, TESS_UNSUPPORTED,
        fit_choose_format(o->arithmetic == TESS_ARITHMETIC_FP32X2 ? computes_in_pairs : computes_in_fp32, &list),
        "format %s has no %s arithmetic (--arithmetic)", tess_format_name(o->format),
        tess_arithmetic_name(o->arithmetic));
}

/* Formats of one precision ignore the order. */
static tess_status check_row_order(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    fit_words list = {.count = 0};

    if (!can->takes_parts) { return TESS_SUCCESS; }
    if (o->split.row_order != TESS_ROW_ORDER_ORIGINAL && o->split.row_order != TESS_ROW_ORDER_PERMUTED &&
        o->split.row_order != TESS_ROW_ORDER_SYMMETRIC) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_row_order", "unknown row order %d",
                         (int)o->split.row_order);
    }
    if (!tess_in_set(can->row_orders, (int)o->split.row_order)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_format(fit_permutes, &list),
                         "format %s keeps the rows in their order (--row-order original)", tess_format_name(o->format));
    }
    if (o->split.row_order == TESS_ROW_ORDER_SYMMETRIC && nrows >= 0 && ncols >= 0 && nrows != ncols) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use --row-order permuted, which permutes the rows alone",
                         "a symmetric row order needs a square matrix, but this one is %lld by %lld", (long long)nrows,
                         (long long)ncols);
    }
    return TESS_SUCCESS;
}

static tess_status check_papers(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    const bool paper = storage_papers(o)->kernel == TESS_KERNEL_PAPER;
    fit_words list = {.count = 0};

    if (storage_papers(o)->kernel != TESS_KERNEL_DEFAULT && !paper) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use TESS_KERNEL_DEFAULT or TESS_KERNEL_PAPER",
                         "unknown kernel %d", (int)storage_papers(o)->kernel);
    }
    if (storage_papers(o)->layout != TESS_LAYOUT_GROUPED && storage_papers(o)->layout != TESS_LAYOUT_RESIDENT) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use TESS_LAYOUT_GROUPED or TESS_LAYOUT_RESIDENT",
                         "unknown layout %d", (int)storage_papers(o)->layout);
    }
    if (paper && !fit_has_paper_kernel(can)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_format(fit_has_paper_kernel, &list),
                         "format %s has no kernel paper", tess_format_name(o->format));
    }
    if (storage_papers(o)->layout == TESS_LAYOUT_RESIDENT && !fit_takes_papers(can)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_format(fit_takes_papers, &list),
                         "format %s has no layout resident", tess_format_name(o->format));
    }
    if (paper && can->takes_bases && (o->split.base != TESS_FORMAT_CSR || o->split.low_base != TESS_FORMAT_CSR)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "use --base csr", "kernel paper of format %s multiplies parts in csr",
                         tess_format_name(o->format));
    }
    return TESS_SUCCESS;
}

/* ---- bases ---- */

static bool is_for_all_parts(tess_format base)
{
    return base == TESS_FORMAT_AUTO || tess_format_can(base)->one_base;
}

/* Checks one of the two formats that parts may have. For auto the library chooses by the bytes. */
static tess_status check_base(tess_context *ctx, const tess_storage_options *o, tess_format base)
{
    static const char *const plural[] = {[TESS_GRANULARITY_MATRIX] = "the matrix",
                                         [TESS_GRANULARITY_ROW] = "rows",
                                         [TESS_GRANULARITY_ENTRY] = "entries",
                                         [TESS_GRANULARITY_BLOCK] = "blocks"};
    const tess_format_capabilities *can = tess_format_can(base);
    const tess_granularity granularity = o->policy.granularity; /* the format has this granularity */
    const tess_format rules = base == TESS_FORMAT_AUTO ? tess_format_in_role(TESS_ROLE_SLICES) : base;
    const tess_format_ops *ops = tess_find_format(rules);
    fit_words list = {.count = 0};

    if (base != TESS_FORMAT_AUTO && can->as_base == 0) {
        return tess_fail(ctx, TESS_UNSUPPORTED, fit_choose_format(is_base, &list),
                         "format %s cannot have parts in format %s (--base)", tess_format_name(o->format),
                         tess_format_name(base));
    }
    if (base != TESS_FORMAT_AUTO && !tess_in_set(can->as_base, (int)granularity)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL,
                         "format %s by %s cannot have parts in format %s (--base), which needs granularity %s",
                         tess_format_name(o->format), plural[granularity], tess_format_name(base),
                         fit_granularities(can->as_base, &list));
    }
    return ops->check_options ? ops->check_options(ctx, -1, -1, o) : TESS_SUCCESS;
}

/* Products take all parts in one launch: either CSR parts, or parts in slices and diagonals. */
static tess_status check_bases(tess_context *ctx, const tess_storage_options *o)
{
    const bool one = o->split.low_base == TESS_FORMAT_CSR || o->split.low_base == o->split.base;
    fit_words list = {.count = 0};
    tess_status status = TESS_SUCCESS;

    if (!tess_format_can(o->format)->takes_bases) { return TESS_SUCCESS; }
    TESS_TRY(check_base(ctx, o, o->split.base));
    TESS_TRY(check_base(ctx, o, o->split.low_base));
    if (!one && (is_for_all_parts(o->split.base) || is_for_all_parts(o->split.low_base))) {
        const tess_format alone = is_for_all_parts(o->split.base) ? o->split.base : o->split.low_base;

        return tess_fail(
            ctx, TESS_UNSUPPORTED, NULL,
            "format %s cannot have parts in both %s and %s (--base): %s is for all parts; only %s can be combined",
            tess_format_name(o->format), tess_format_name(o->split.base), tess_format_name(o->split.low_base),
            tess_format_name(alone), fit_list_formats(may_differ, " and ", &list));
    }
cleanup:
    return status;
}

tess_status tess_storage_fits(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    const tess_format_ops *ops = tess_find_storage(o);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_format(ctx, o));
    TESS_TRY(check_papers(ctx, o));
    TESS_TRY(check_granularity(ctx, o));
    TESS_TRY(check_levels(ctx, o));
    TESS_TRY(check_arithmetic(ctx, o));
    TESS_TRY(check_row_order(ctx, nrows, ncols, o));
    TESS_TRY(check_bases(ctx, o));
    if (ops->check_options) { status = ops->check_options(ctx, nrows, ncols, o); }
cleanup:
    return status;
}

/* ---- public ---- */

static tess_status check_one(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options)
{
    const tess_format_capabilities *can = tess_format_can(options->format);
    tess_storage_options o = *options;
    tess_policy_options resolved;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_format(ctx, &o));
    TESS_TRY(tess_storage_require_read(ctx, &o));
    tess_storage_settle(&o);
    TESS_TRY(tess_storage_fits(ctx, nrows, ncols, &o));
    TESS_TRY(tess_storage_require_effect(ctx, &o));
    if (can->takes_parts || fit_chooses_whole(can, &o)) { status = tess_policy_resolve(ctx, &o.policy, &resolved); }
cleanup:
    return status;
}

/* Auto tries formats that pad where one precision may be the choice; their options decide whether they are taken. Takes
   from the options what those have judged. */
static tess_status check_tried(tess_context *ctx, tess_storage_options *o)
{
    const bool one = o->policy.policy == TESS_POLICY_NONE;
    const bool open = o->policy.policy == TESS_POLICY_LOSSLESS && o->policy.granularity == TESS_GRANULARITY_MATRIX;
    tess_storage_options plain;
    tess_status status = TESS_SUCCESS;

    if (!one && !open) { return TESS_SUCCESS; }
    tess_storage_options_init(&plain);
    TESS_TRY(tess_find_format(tess_format_in_role(TESS_ROLE_SLICES))->check_options(ctx, -1, -1, o));
    o->slices.max_padding = plain.slices.max_padding;
    if (one) { o->slices.window = plain.slices.window; } /* lossless tries diagonals, not slices */
cleanup:
    return status;
}

/* Auto has no granularity matrix: without a choice, that leaves open which. */
static tess_status check_auto_granularity(tess_context *ctx, const tess_storage_options *o)
{
    fit_words list = {.count = 0};
    unsigned set = 0;

    if (!o->policy.granularity_given || o->policy.granularity != TESS_GRANULARITY_MATRIX) { return TESS_SUCCESS; }
    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format_capabilities *can = tess_format_can(tess_format_at(i));

        if (can->takes_parts) { set |= can->granularities; }
    }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "format auto has no granularity matrix; it takes %s",
                     fit_granularities(set, &list));
}

/* Options for several precisions need a policy; the option for one precision excludes a policy. */
static tess_status check_auto(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options)
{
    tess_storage_options o = *options;
    const char *unread = tess_storage_find_unread(tess_format_can(TESS_FORMAT_CSR), &o);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_auto_granularity(ctx, &o));
    if (o.policy.policy == TESS_POLICY_NONE && unread) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s needs a policy (--policy) with format auto", unread);
    }
    if (o.policy.policy != TESS_POLICY_NONE && o.precision != TESS_PRECISION_FP64) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "leave --matrix-precision fp64, and choose --levels",
                         "the precision %s is not used: with a policy, format auto has the precisions of --levels",
                         tess_precision_name(o.precision));
    }
    TESS_TRY(check_tried(ctx, &o));
    o.format = tess_format_that_takes(ctx, &o);
    status = check_one(ctx, nrows, ncols, &o);
cleanup:
    return status;
}

static tess_status judge(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    return o->format == TESS_FORMAT_AUTO ? check_auto(ctx, nrows, ncols, o) : check_one(ctx, nrows, ncols, o);
}

tess_context tess_storage_judge(void)
{
    return (tess_context){.device = TESS_DEVICE_CPU, .backend = &tess_host_backend, .host = &tess_host_backend};
}

/* What no device takes contradicts itself: the host takes all that a device takes. */
static bool contradicts(const tess_context *ctx, const tess_storage_options *o)
{
    tess_context host = tess_storage_judge();

    return ctx->device == TESS_DEVICE_CPU || judge(&host, -1, -1, o) != TESS_SUCCESS;
}

tess_status tess_storage_options_check(tess_context *ctx, int64_t nrows, int64_t ncols,
                                       const tess_storage_options *options)
{
    TESS_REQUIRE(NULL, ctx);
    storage_request request;
    tess_status status = storage_request_take(ctx, options, &request);

    if (status == TESS_SUCCESS) { status = judge(ctx, nrows, ncols, &request.options); }
    if (status == TESS_UNSUPPORTED && contradicts(ctx, &request.options)) {
        ctx->error.status = status = TESS_INVALID_ARGUMENT;
    }
    return status;
}
