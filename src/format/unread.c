/* SPDX-License-Identifier: Apache-2.0 */
/* Storage options that a format does not read: a request that sets one of them is refused. */
#include "format/fit.h"
#include "format/fit_words.h"
#include "matrix/matrix.h"
#include "matrix/storage_options.h"

/* ---- capabilities ---- */

static bool takes_bases(const tess_format_capabilities *can)
{
    return can->takes_bases != 0;
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

static bool pads(const tess_format_capabilities *can)
{
    return can->pads != 0;
}

static bool has_node_blocks(const tess_format_capabilities *can)
{
    return can == tess_format_can(tess_format_in_role(TESS_ROLE_NODES));
}

static bool sorts_rows(const tess_format_capabilities *can)
{
    return can->sorts_rows != 0;
}

/* ---- which options were set ---- */

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
    const bool other = o->policy.granularity != plain->policy.granularity || o->policy.granularity_given;

    return other && o->policy.granularity != TESS_GRANULARITY_MATRIX;
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
    fit_capability read;
    bool whole; /* formats of one precision also read it, with a policy that chooses that precision */
} optional_field;

static const optional_field optional_fields[] = {
    {"kernel paper (--kernel)", gives_kernel, fit_has_paper_kernel, false},
    {"layout resident (--layout)", gives_layout, fit_takes_papers, false},
    {"tcki_thresholds (--tcki-thresholds)", gives_thresholds, fit_takes_papers, false},
    {"granularity (--granularity)", gives_granularity, fit_takes_parts, true},
    {"block_rows (--block)", gives_block, has_blocks, false},
    {"level (--levels)", gives_levels, fit_takes_parts, true},
    {"allow_underflow (--allow-underflow)", gives_underflow, fit_takes_parts, false},
    {"share (--share)", gives_share, has_rows, false},
    {"base (--base)", gives_base, takes_bases, false},
    {"row_order (--row-order)", gives_row_order, fit_permutes, false},
    {"without_diagonal", gives_diagonal, omits_diagonal, false},
};

/* Kernel paper is that of split only where split is named: where the library chooses, it is that of tiles. */
static bool reads(const optional_field *field, const tess_format_capabilities *can, const tess_storage_options *o)
{
    if (field->given == gives_kernel && o->format != TESS_FORMAT_SPLIT) { return fit_takes_papers(can); }
    return field->read(can);
}

static const optional_field *find_unread(const tess_format_capabilities *can, const tess_storage_options *o)
{
    tess_storage_options plain;

    tess_storage_options_init(&plain);
    for (size_t i = 0; i < sizeof optional_fields / sizeof *optional_fields; i++) {
        const optional_field *field = &optional_fields[i];

        if (field->given(o, &plain) && !reads(field, can, o) && !(field->whole && fit_chooses_whole(can, o))) {
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

/* ---- padding ---- */

/* Read by formats that pad, and by formats in parts whose parts are in one of those. */
typedef struct slices_field {
    const char *name;
    bool (*given)(const tess_storage_options *o);
    fit_capability read;
    bool of_rows; /* layers, by entries or blocks, do not read it */
} slices_field;

static bool gives_padding(const tess_storage_options *o)
{
    return o->slices.max_padding != 0.0 && o->slices.max_padding != storage_max_padding(&(tess_storage_options){0});
}

static bool gives_window(const tess_storage_options *o)
{
    return storage_window(o) != storage_window(&(tess_storage_options){0});
}

static bool gives_block_size(const tess_storage_options *o)
{
    return o->slices.bsr_block_size != 0;
}

static const slices_field slices_fields[] = {
    {"max_padding (--max-padding)", gives_padding, pads, false},
    {"window (--sell-window)", gives_window, sorts_rows, true},
    {"bsr_block_size (--bsr-block-size)", gives_block_size, has_node_blocks, false},
};

/* Auto takes any base. */
static bool base_reads(tess_format base, fit_capability read)
{
    return base == TESS_FORMAT_AUTO || read(tess_format_can(base));
}

static tess_status refuse_in_parts(tess_context *ctx, const slices_field *field, const tess_storage_options *o)
{
    fit_words list = {.count = 0};

    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format_capabilities *can = tess_format_can(tess_format_at(i));

        if (can->as_base != 0 && field->read(can)) { fit_add_word(&list, tess_format_name(tess_format_at(i))); }
    }
    fit_add_word(&list, "auto");
    return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s of format %s is for --base %s, not %s", field->name,
                     tess_format_name(o->format), fit_join(&list, " or "), tess_format_name(o->split.base));
}

static tess_status check_slices(tess_context *ctx, const slices_field *field, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    fit_words list = {.count = 0};

    if (!field->given(o) || field->read(can)) { return TESS_SUCCESS; }
    if (!can->takes_bases) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s is for format %s, not %s", field->name,
                         fit_formats(field->read, &list), tess_format_name(o->format));
    }
    if (!base_reads(o->split.base, field->read) && !base_reads(o->split.low_base, field->read)) {
        return refuse_in_parts(ctx, field, o);
    }
    if (field->of_rows && o->policy.granularity != TESS_GRANULARITY_ROW) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s of format %s is for granularity row, not %s", field->name,
                         tess_format_name(o->format), tess_granularity_name(o->policy.granularity));
    }
    return TESS_SUCCESS;
}

/* ---- what a granularity or a policy does not read ---- */

/* An option of formats in parts that one granularity reads. */
static tess_status check_granular(tess_context *ctx, const char *name, tess_granularity reads,
                                  const tess_storage_options *o)
{
    if (o->policy.granularity == reads) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s of format %s is for granularity %s, not %s", name,
                     tess_format_name(o->format), tess_granularity_name(reads),
                     tess_granularity_name(o->policy.granularity));
}

/* Lossless asks each value alone, and error-bound each error; without a policy all are at the highest level. Sweeps,
   whose matrix has no diagonal, keep copies in all levels. */
static tess_status check_policy(tess_context *ctx, const tess_storage_options *o, bool share, bool underflow)
{
    const char *name = share ? "share (--share)" : underflow ? "allow_underflow (--allow-underflow)" : NULL;

    if (tess_policy_judges_values(o->policy.policy) && name) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s is for policy fixed-range, mean-range or mean-3std, not %s",
                         name, tess_policy_name(o->policy.policy));
    }
    if (!name && o->policy.nlevels > 1) { name = "level (--levels)"; }
    if (o->policy.policy == TESS_POLICY_NONE && name && !o->policy.without_diagonal) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s needs a policy (--policy) with format %s", name,
                         tess_format_name(o->format));
    }
    return TESS_SUCCESS;
}

tess_status tess_storage_require_effect(tess_context *ctx, const tess_storage_options *o)
{
    tess_storage_options plain;
    tess_status status = TESS_SUCCESS;

    if (!tess_format_can(o->format)->takes_parts) { return TESS_SUCCESS; }
    tess_storage_options_init(&plain);
    const bool share = gives_share(o, &plain);
    if (gives_block(o, &plain)) { TESS_TRY(check_granular(ctx, "block_rows (--block)", TESS_GRANULARITY_BLOCK, o)); }
    if (share) { TESS_TRY(check_granular(ctx, "share (--share)", TESS_GRANULARITY_ROW, o)); }
    status = check_policy(ctx, o, share, gives_underflow(o, &plain));
cleanup:
    return status;
}

/* ---- all ---- */

tess_status tess_storage_require_read(tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(o->format);
    const optional_field *field = find_unread(can, o);
    const bool whole = fit_chooses_whole(can, o);
    tess_storage_options settled = *o;
    tess_status status = TESS_SUCCESS;
    fit_words list = {.count = 0};

    if (!tess_in_set(can->policies, (int)o->policy.policy)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL,
                         "policy %s chooses among several precisions, but format %s has one; choose --format auto, %s",
                         tess_policy_name(o->policy.policy), tess_format_name(o->format),
                         fit_formats(fit_takes_parts, &list));
    }
    if (field) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "%s is for format %s, not %s", field->name,
                         fit_formats(field->read, &list), tess_format_name(o->format));
    }
    if (o->precision != TESS_PRECISION_FP64 && (can->takes_parts || whole)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "leave --matrix-precision fp64, and choose --levels",
                         "the precision %s is not used: format %s has the precisions of --levels%s%s",
                         tess_precision_name(o->precision), tess_format_name(o->format), whole ? " with policy " : "",
                         whole ? tess_policy_name(o->policy.policy) : "");
    }
    tess_storage_settle(&settled);
    for (size_t i = 0; i < sizeof slices_fields / sizeof *slices_fields; i++) {
        TESS_TRY(check_slices(ctx, &slices_fields[i], &settled));
    }
cleanup:
    return status;
}
