/* SPDX-License-Identifier: Apache-2.0 */
/* Whether storage options fit a format, decided by the formats' tables. */
#include "format/fit.h"

#include <stdio.h>

#include "format/choose.h"
#include "matrix/matrix.h"
#include "matrix/storage_options.h"
#include "policy/assignment.h"

/* ---- lists of words for messages ---- */

enum { MAX_WORDS = 32, TEXT = 192 };

typedef struct word_list {
    const char *word[MAX_WORDS];
    int count;
    const char *lead; /* begins the text; may be NULL */
    char text[TEXT];
} word_list;

static void add_word(word_list *list, const char *word)
{
    if (list->count < MAX_WORDS) { list->word[list->count++] = word; }
}

/* "row, entry or block" */
static const char *join(word_list *list, const char *last)
{
    size_t length = (size_t)snprintf(list->text, sizeof list->text, "%s", list->lead ? list->lead : "");

    for (int i = 0; i < list->count && length < sizeof list->text; i++) {
        const char *before = i == 0 ? "" : i == list->count - 1 ? last : ", ";

        length += (size_t)snprintf(list->text + length, sizeof list->text - length, "%s%s", before, list->word[i]);
    }
    return list->text;
}

static const char *granularities_text(unsigned set, word_list *list)
{
    for (int g = 0; g < 32; g++) {
        if (tess_in_set(set, g)) { add_word(list, tess_granularity_name((tess_granularity)g)); }
    }
    return join(list, " or ");
}

static const char *precisions_text(unsigned set, word_list *list)
{
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        if (tess_in_set(set, p)) { add_word(list, tess_precision_name((tess_precision)p)); }
    }
    return join(list, " or ");
}

typedef bool (*capability)(const tess_format_capabilities *can);

static const char *list_formats(capability has, const char *last, word_list *list)
{
    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format format = tess_format_at(i);

        if (has(tess_format_can(format))) { add_word(list, tess_format_name(format)); }
    }
    return join(list, last);
}

/* The names of the formats with a capability, joined by "or". */
static const char *formats_text(capability has, word_list *list)
{
    return list_formats(has, " or ", list);
}

/* As a hint: "choose csr or ellr". */
static const char *choose_format(capability has, word_list *list)
{
    list->lead = "choose ";
    return formats_text(has, list);
}

static const char *choose_precision(unsigned set, word_list *list)
{
    list->lead = "choose ";
    return precisions_text(set, list);
}

/* ---- capabilities ---- */

static bool is_any(const tess_format_capabilities *can)
{
    return can->precisions != 0;
}

static bool is_on_gpu(const tess_format_capabilities *can)
{
    return can->gpu_precisions != 0;
}

static bool takes_parts(const tess_format_capabilities *can)
{
    return can->takes_parts != 0;
}

static bool takes_bases(const tess_format_capabilities *can)
{
    return can->takes_bases != 0;
}

static bool takes_papers(const tess_format_capabilities *can)
{
    return can->takes_papers != 0;
}

/* Tiles; and split, whose parts are multiplied as Tezcan et al. 2022 do. */
static bool has_paper_kernel(const tess_format_capabilities *can)
{
    return can->takes_papers != 0 || (can->takes_bases != 0 && can->copies_levels == 0);
}

static bool omits_diagonal(const tess_format_capabilities *can)
{
    return can->omits_diagonal != 0;
}

static bool has_rows(const tess_format_capabilities *can)
{
    return tess_in_set(can->granularities, TESS_GRANULARITY_ROW);
}

static bool has_blocks(const tess_format_capabilities *can)
{
    return tess_in_set(can->granularities, TESS_GRANULARITY_BLOCK);
}

static bool permutes(const tess_format_capabilities *can)
{
    return tess_in_set(can->row_orders, TESS_ROW_ORDER_PERMUTED);
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

unsigned tess_format_precisions(const tess_context *ctx, const tess_format_capabilities *can)
{
    return ctx->device == TESS_DEVICE_GPU ? can->gpu_precisions : can->precisions;
}

/* Whether policy lossless chooses the precision of the whole matrix. */
static bool is_lossless_whole(const tess_format_capabilities *can, const tess_storage_options *o)
{
    return !can->takes_parts && o->policy.policy == TESS_POLICY_LOSSLESS;
}

void tess_storage_settle(tess_storage_options *options)
{
    const tess_format_capabilities *can = tess_format_can(options->format);
    tess_granularity *granularity = &options->policy.granularity;
    const bool open = *granularity == TESS_GRANULARITY_MATRIX || *granularity == TESS_GRANULARITY_ROW;

    if (can->granularities != 0 && open && !tess_in_set(can->granularities, (int)*granularity)) {
        *granularity = can->granularity;
    }
}

/* ---- what a conversion asks ---- */

static tess_status check_format(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    word_list list = {.count = 0};

    if (!is_any(can)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, choose_format(is_any, &list), "unknown format %d", (int)o->format);
    }
    if (tess_format_precisions(ctx, can) == 0) {
        return tess_fail(ctx, TESS_UNSUPPORTED, choose_format(is_on_gpu, &list),
                         "format %s is only for the host (--device cpu)", tess_format_name(o->format));
    }
    return TESS_SUCCESS;
}

/* Checks every precision that values may be stored in, and the scales of levels. */
static tess_status check_levels(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    const bool levels = can->takes_parts || is_lossless_whole(can, o);
    tess_policy_options policy = o->policy;
    word_list list = {.count = 0};

    tess_policy_default_levels(&policy);
    for (int l = 0; l < (levels ? policy.nlevels : 1) && l < TESS_MAX_LEVELS; l++) {
        const tess_precision precision = levels ? policy.level[l].precision : o->precision;

        if (!tess_in_set(tess_format_precisions(ctx, can), (int)precision)) {
            return tess_fail(ctx, TESS_UNSUPPORTED, choose_precision(tess_format_precisions(ctx, can), &list),
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
    word_list list = {.count = 0};

    if (!can->takes_parts && !is_lossless_whole(can, o)) { return TESS_SUCCESS; } /* it is not read */
    if (tess_in_set(can->granularities, (int)o->policy.granularity)) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "format %s has no granularity %s; it takes %s",
                     tess_format_name(o->format), tess_granularity_name(o->policy.granularity),
                     granularities_text(can->granularities, &list));
}

static tess_status check_arithmetic(tess_context *ctx, const tess_storage_options *o)
{
    word_list list = {.count = 0};

    if (!tess_in_set(TESS_EVERY_ARITHMETIC, (int)o->arithmetic)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use TESS_ARITHMETIC_FP64 or TESS_ARITHMETIC_FP32",
                         "unknown arithmetic %d", (int)o->arithmetic);
    }
    if (tess_in_set(tess_format_can(o->format)->arithmetics, (int)o->arithmetic)) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, choose_format(computes_in_fp32, &list),
                     "format %s has no fp32 arithmetic (--arithmetic)", tess_format_name(o->format));
}

/* Formats of one precision ignore the order. */
static tess_status check_row_order(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    word_list list = {.count = 0};

    if (!can->takes_parts) { return TESS_SUCCESS; }
    if (o->split.row_order != TESS_ROW_ORDER_ORIGINAL && o->split.row_order != TESS_ROW_ORDER_PERMUTED &&
        o->split.row_order != TESS_ROW_ORDER_SYMMETRIC) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_row_order", "unknown row order %d",
                         (int)o->split.row_order);
    }
    if (!tess_in_set(can->row_orders, (int)o->split.row_order)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, choose_format(permutes, &list),
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
    word_list list = {.count = 0};

    if (storage_papers(o)->kernel != TESS_KERNEL_DEFAULT && !paper) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use TESS_KERNEL_DEFAULT or TESS_KERNEL_PAPER",
                         "unknown kernel %d", (int)storage_papers(o)->kernel);
    }
    if (storage_papers(o)->layout != TESS_LAYOUT_GROUPED && storage_papers(o)->layout != TESS_LAYOUT_RESIDENT) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use TESS_LAYOUT_GROUPED or TESS_LAYOUT_RESIDENT",
                         "unknown layout %d", (int)storage_papers(o)->layout);
    }
    if (paper && !has_paper_kernel(can)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, choose_format(has_paper_kernel, &list), "format %s has no kernel paper",
                         tess_format_name(o->format));
    }
    if (storage_papers(o)->layout == TESS_LAYOUT_RESIDENT && !takes_papers(can)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, choose_format(takes_papers, &list), "format %s has no layout resident",
                         tess_format_name(o->format));
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
    word_list list = {.count = 0};

    if (base != TESS_FORMAT_AUTO && can->as_base == 0) {
        return tess_fail(ctx, TESS_UNSUPPORTED, choose_format(is_base, &list),
                         "format %s cannot have parts in format %s (--base)", tess_format_name(o->format),
                         tess_format_name(base));
    }
    if (base != TESS_FORMAT_AUTO && !tess_in_set(can->as_base, (int)granularity)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL,
                         "format %s by %s cannot have parts in format %s (--base), which needs granularity %s",
                         tess_format_name(o->format), plural[granularity], tess_format_name(base),
                         granularities_text(can->as_base, &list));
    }
    return ops->check_options ? ops->check_options(ctx, -1, -1, o) : TESS_SUCCESS;
}

/* Products take all parts in one launch: either CSR parts, or parts in slices and diagonals. */
static tess_status check_bases(tess_context *ctx, const tess_storage_options *o)
{
    const bool one = o->split.low_base == TESS_FORMAT_CSR || o->split.low_base == o->split.base;
    word_list list = {.count = 0};
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
            tess_format_name(alone), list_formats(may_differ, " and ", &list));
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

/* ---- what a format does not read ---- */

static bool gives_kernel(const tess_storage_options *o, const tess_storage_options *plain)
{
    return storage_papers(o)->kernel != storage_papers(plain)->kernel;
}

static bool gives_layout(const tess_storage_options *o, const tess_storage_options *plain)
{
    return storage_papers(o)->layout != storage_papers(plain)->layout;
}

static bool gives_thresholds(const tess_storage_options *o, const tess_storage_options *plain)
{
    const tess_tcki_thresholds *t = &storage_papers(o)->tcki_thresholds, *p = &storage_papers(plain)->tcki_thresholds;

    return t->density != p->density || t->low != p->low || t->high != p->high;
}

static bool gives_granularity(const tess_storage_options *o, const tess_storage_options *plain)
{
    return o->policy.granularity != plain->policy.granularity && o->policy.granularity != TESS_GRANULARITY_MATRIX;
}

static bool is_other_side(int side, int plain)
{
    return side != 0 && side != plain;
}

static bool gives_block(const tess_storage_options *o, const tess_storage_options *plain)
{
    return is_other_side(o->policy.block_rows, plain->policy.block_rows) ||
           is_other_side(o->policy.block_cols, plain->policy.block_cols);
}

static bool gives_levels(const tess_storage_options *o, const tess_storage_options *plain)
{
    return o->policy.nlevels != plain->policy.nlevels;
}

static bool gives_underflow(const tess_storage_options *o, const tess_storage_options *plain)
{
    return o->policy.allow_underflow != plain->policy.allow_underflow;
}

static bool gives_share(const tess_storage_options *o, const tess_storage_options *plain)
{
    return (o->policy.share != 0.0 && o->policy.share != plain->policy.share) || o->policy.at_most_one;
}

static bool gives_base(const tess_storage_options *o, const tess_storage_options *plain)
{
    return o->split.base != plain->split.base || o->split.low_base != plain->split.low_base;
}

static bool gives_row_order(const tess_storage_options *o, const tess_storage_options *plain)
{
    return o->split.row_order != plain->split.row_order;
}

static bool gives_diagonal(const tess_storage_options *o, const tess_storage_options *plain)
{
    return o->policy.without_diagonal != plain->policy.without_diagonal;
}

/* Options that only some formats read, and the function that tells which formats do. */
typedef struct optional_field {
    const char *name;
    bool (*given)(const tess_storage_options *o, const tess_storage_options *plain);
    capability read;
    bool lossless; /* formats of one precision also read it, with policy lossless */
} optional_field;

static const optional_field optional_fields[] = {
    {"kernel paper (--kernel)", gives_kernel, has_paper_kernel, false},
    {"layout resident (--layout)", gives_layout, takes_papers, false},
    {"tcki_thresholds (--tcki-thresholds)", gives_thresholds, takes_papers, false},
    {"granularity (--granularity)", gives_granularity, takes_parts, true},
    {"block_rows (--block)", gives_block, has_blocks, false},
    {"level (--levels)", gives_levels, takes_parts, true},
    {"allow_underflow (--allow-underflow)", gives_underflow, takes_parts, false},
    {"share (--share)", gives_share, has_rows, false},
    {"base (--base)", gives_base, takes_bases, false},
    {"row_order (--row-order)", gives_row_order, permutes, false},
    {"without_diagonal", gives_diagonal, omits_diagonal, false},
};

/* Kernel paper is that of split only where split is named: where the library chooses, it is that of tiles. */
static bool reads(const optional_field *field, const tess_format_capabilities *can, const tess_storage_options *o)
{
    if (field->given == gives_kernel && o->format != TESS_FORMAT_SPLIT) { return takes_papers(can); }
    return field->read(can);
}

static const optional_field *find_unread(const tess_format_capabilities *can, const tess_storage_options *o)
{
    tess_storage_options plain;

    tess_storage_options_init(&plain);
    for (size_t i = 0; i < sizeof optional_fields / sizeof *optional_fields; i++) {
        const optional_field *field = &optional_fields[i];

        if (field->given(o, &plain) && !reads(field, can, o) && !(field->lossless && is_lossless_whole(can, o))) {
            return field;
        }
    }
    return NULL;
}

const char *tess_storage_find_unread(const tess_format_capabilities *can, const tess_storage_options *options)
{
    const optional_field *field = find_unread(can, options);

    return field ? field->name : NULL;
}

static tess_status check_all_read(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    const optional_field *field = find_unread(can, o);
    const bool whole = is_lossless_whole(can, o);
    word_list list = {.count = 0};

    if (!tess_in_set(can->policies, (int)o->policy.policy)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL,
                         "policy %s chooses among several precisions, but format %s has one; choose --format %s",
                         tess_policy_name(o->policy.policy), tess_format_name(o->format),
                         formats_text(takes_parts, &list));
    }
    if (field) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s is for format %s, not %s", field->name,
                         formats_text(field->read, &list), tess_format_name(o->format));
    }
    if (o->precision != TESS_PRECISION_FP64 && (can->takes_parts || whole)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "leave --matrix-precision fp64, and choose --levels",
                         "the precision %s is not used: format %s has the precisions of --levels%s",
                         tess_precision_name(o->precision), tess_format_name(o->format),
                         whole ? " with policy lossless" : "");
    }
    return TESS_SUCCESS;
}

/* ---- public ---- */

static tess_status check_one(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options)
{
    const tess_format_capabilities *can = tess_format_can(options->format);
    tess_storage_options o = *options;
    tess_policy_options resolved;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_format(ctx, &o));
    TESS_TRY(check_all_read(ctx, &o));
    tess_storage_settle(&o);
    TESS_TRY(tess_storage_fits(ctx, nrows, ncols, &o));
    if (can->takes_parts || is_lossless_whole(can, &o)) { status = tess_policy_resolve(ctx, &o.policy, &resolved); }
cleanup:
    return status;
}

/* Options for several precisions need a policy; the option for one precision excludes a policy. */
static tess_status check_auto(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options)
{
    tess_storage_options o = *options;
    const char *unread = tess_storage_find_unread(tess_format_can(TESS_FORMAT_CSR), &o);

    if (o.policy.policy == TESS_POLICY_NONE && unread) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s needs a policy (--policy) with format auto", unread);
    }
    if (o.policy.policy != TESS_POLICY_NONE && o.precision != TESS_PRECISION_FP64) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "leave --matrix-precision fp64, and choose --levels",
                         "the precision %s is not used: with a policy, format auto has the precisions of --levels",
                         tess_precision_name(o.precision));
    }
    o.format = tess_format_that_takes(ctx, &o);
    return check_one(ctx, nrows, ncols, &o);
}

tess_status tess_storage_options_check(tess_context *ctx, int64_t nrows, int64_t ncols,
                                       const tess_storage_options *options)
{
    TESS_REQUIRE(NULL, ctx);
    storage_request request;
    const tess_storage_options *o = &request.options;
    tess_status status = storage_request_take(ctx, options, &request);

    if (status != TESS_SUCCESS) { return status; }
    return o->format == TESS_FORMAT_AUTO ? check_auto(ctx, nrows, ncols, o) : check_one(ctx, nrows, ncols, o);
}
