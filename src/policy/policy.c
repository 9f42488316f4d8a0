/* SPDX-License-Identifier: Apache-2.0 */
/* Names, defaults and checks of granularities, policies and levels, and the rules that follow from them. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include <tessera/names.h>

#include "base/decimal.h"
#include "base/options.h"
#include "base/precision_traits.h"
#include "policy/assignment.h"
#include "policy/rules.h"

static const double default_share = 99.0, default_range = 1.0;
static const double default_factor = 0.1, default_std_factor = 0.5;
enum { DEFAULT_SIDE = 16 };

void tess_policy_options_init_sized(tess_policy_options *options, size_t size)
{
    tess_policy_options o;

    memset(&o, 0, sizeof o);
    o.granularity = TESS_GRANULARITY_ROW;
    o.policy = TESS_POLICY_NONE;
    o.share = default_share;
    o.block_rows = o.block_cols = DEFAULT_SIDE;
    options_init_bare(options, size, &o, sizeof o);
}

/* ---- texts ---- */

/* `length` characters as a finite number above 0. */
static bool parse_parameter(const char *text, size_t length, double *out)
{
    char padded[64 + TESS_DECIMAL_PADDING] = {0};
    const char *end = NULL;
    double value = 0.0;

    if (length >= 64) { return false; }
    memcpy(padded, text, length);
    end = tess_decimal_parse(padded, &value);
    if (!end || *end != '\0' || !isfinite(value) || value <= 0.0) { return false; }
    *out = value;
    return true;
}

/* Whether `kind`, with its colon, follows E. */
static bool names_kind(tess_policy policy, const char *text, const char *kind)
{
    return policy == TESS_POLICY_ERROR_BOUND && strcasecmp(text + strcspn(text, ":"), kind) == 0;
}

tess_status tess_policy_options_parse(const char *text, tess_policy_options *out)
{
    if (!text || !out) { return TESS_INVALID_ARGUMENT; }
    const size_t length = strcspn(text, ":");
    const char *after = text + length + (text[length] == ':');
    tess_policy policy = TESS_POLICY_NONE;
    double parameter = 0.0;
    char name[32] = "";
    bool chosen = false, matrix = false, componentwise = false;

    if (length >= sizeof name) { return TESS_INVALID_ARGUMENT; }
    memcpy(name, text, length);
    if (tess_policy_parse(name, &policy) != TESS_SUCCESS) { return TESS_INVALID_ARGUMENT; }
    chosen = policy == TESS_POLICY_MEAN_3STD && strcasecmp(text + length, ":auto") == 0;
    matrix = names_kind(policy, after, ":matrix");
    componentwise = names_kind(policy, after, ":componentwise");
    if (text[length] == ':' && !chosen &&
        (policy == TESS_POLICY_NONE ||
         !parse_parameter(after, matrix || componentwise ? strcspn(after, ":") : strlen(after), &parameter))) {
        return TESS_INVALID_ARGUMENT;
    }
    out->policy = policy;
    out->parameter = parameter;
    out->choose_parameter = chosen;
    out->matrix_norm = matrix ? 1 : 0;
    out->componentwise = componentwise ? 1 : 0;
    return TESS_SUCCESS;
}

/* The first `length` characters as a precision, perhaps with `:scaled`. fp8 gives e4m3 and sets *either. */
static bool parse_level(const char *text, size_t length, tess_precision_level *out, bool *either)
{
    char word[32] = "", *suffix = NULL;

    if (length >= sizeof word) { return false; }
    memcpy(word, text, length);
    suffix = strchr(word, ':');
    if (suffix) { *suffix++ = '\0'; }
    out->scaled = suffix != NULL;
    *either = strcasecmp(word, "fp8") == 0;
    return (!suffix || strcasecmp(suffix, "scaled") == 0) &&
           tess_precision_parse(*either ? "e4m3" : word, &out->precision) == TESS_SUCCESS;
}

tess_status tess_precision_levels_parse(const char *text, tess_policy_options *out)
{
    if (!text || !out) { return TESS_INVALID_ARGUMENT; }
    tess_precision_level level[TESS_MAX_LEVELS] = {{TESS_PRECISION_FP64, 0}};
    int count = 0;
    bool either = false;

    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");

        if (either || count == TESS_MAX_LEVELS || !parse_level(at, length, &level[count], &either)) {
            return TESS_INVALID_ARGUMENT;
        }
        count++;
        at += length;
        if (*at == '\0') { break; }
    }
    out->nlevels = count;
    out->choose_fp8 = either;
    memcpy(out->level, level, sizeof level);
    return TESS_SUCCESS;
}

void tess_policy_default_levels(tess_policy_options *o)
{
    if (!o) { return; }
    if (o->nlevels != 0) { return; }
    (void)tess_precision_levels_parse(o->policy == TESS_POLICY_LOSSLESS      ? "fp64,fp32,fp16,fp8"
                                      : o->policy == TESS_POLICY_ERROR_BOUND ? "fp64,fp32,fp16"
                                                                             : "fp64,fp32",
                                      o);
}

/* ---- options without defaults ---- */

/* Whether values, not ranges, decide: then level 0 must hold every value. */
static bool judges_values(const tess_policy_options *o)
{
    return o->policy == TESS_POLICY_LOSSLESS || o->policy == TESS_POLICY_ERROR_BOUND;
}

static tess_status check_levels(tess_context *ctx, const tess_policy_options *o)
{
    if (o->choose_fp8 &&
        (!judges_values(o) || o->nlevels < 2 || tess_precision_bytes(o->level[o->nlevels - 1].precision) != 1)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "name e4m3 or e5m2 in --levels, or choose policy lossless or error-bound",
                         "policy %s cannot choose the kind of fp8", tess_policy_name(o->policy));
    }
    if (judges_values(o) && o->level[0].precision != TESS_PRECISION_FP64) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "begin --levels with fp64", "policy %s needs the level fp64",
                         tess_policy_name(o->policy));
    }
    for (int l = 0; l < o->nlevels; l++) {
        const tess_precision_level *level = &o->level[l];

        if (tess_precision_bytes(level->precision) == 0) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_precision",
                             "level %d has the unknown precision %d", l, (int)level->precision);
        }
        if (l > 0 &&
            !(tess_precision_unit_roundoff(level->precision) > tess_precision_unit_roundoff(level[-1].precision))) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "name the precisions from high to low, such as fp64,fp32",
                             "the levels do not go from high to low: %s comes after %s",
                             tess_precision_name(level->precision), tess_precision_name(level[-1].precision));
        }
        if (level->scaled && o->granularity != TESS_GRANULARITY_ROW && o->granularity != TESS_GRANULARITY_BLOCK) {
            return tess_fail(ctx, TESS_UNSUPPORTED, "use --granularity row or block",
                             "granularity %s has no scaled levels", tess_granularity_name(o->granularity));
        }
        if (level->scaled && o->granularity == TESS_GRANULARITY_BLOCK && o->policy == TESS_POLICY_ERROR_BOUND &&
            !o->componentwise) {
            return tess_fail(ctx, TESS_UNSUPPORTED, "use --granularity row, or levels without :scaled",
                             "policy error-bound has no scaled levels with granularity block");
        }
    }
    return TESS_SUCCESS;
}

static bool is_side(int side)
{
    return side == 16 || side == 32;
}

static tess_status check_blocks(tess_context *ctx, const tess_policy_options *o)
{
    if (!is_side(o->block_rows) || !is_side(o->block_cols)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use 16x16, 16x32, 32x16 or 32x32", "blocks cannot have %d x %s",
                         o->block_rows, tess_count(o->block_cols, "entry").text);
    }
    if (o->granularity == TESS_GRANULARITY_BLOCK && o->without_diagonal) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL,
                         "parts by blocks hold the diagonal too, which Jacobi and time steps need apart; choose "
                         "--format split or composite, by rows or entries");
    }
    return TESS_SUCCESS;
}

static tess_status check_numbers(tess_context *ctx, const tess_policy_options *o)
{
    if ((int)o->granularity < 0 || (int)o->granularity > TESS_GRANULARITY_BLOCK) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_granularity", "unknown granularity %d",
                         (int)o->granularity);
    }
    if ((int)o->policy < 0 || (int)o->policy > TESS_POLICY_ERROR_BOUND) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_policy", "unknown policy %d", (int)o->policy);
    }
    if (o->granularity == TESS_GRANULARITY_MATRIX && o->policy != TESS_POLICY_NONE && !judges_values(o)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "choose policy none, lossless or error-bound, or granularity row",
                         "policy %s cannot choose one precision for the matrix (granularity matrix)",
                         tess_policy_name(o->policy));
    }
    if (!(o->share > 0.0 && o->share <= 100.0)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give a percentage above 0 and at most 100",
                         "the share (--share) of a row's values cannot be %g", o->share);
    }
    if (o->policy == TESS_POLICY_LOSSLESS && !(o->parameter >= 0.0 && o->parameter < 1.0)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give a number from 0 (exact) to below 1",
                         "policy lossless cannot allow a loss of %g", o->parameter);
    }
    if (o->policy == TESS_POLICY_ERROR_BOUND && !(o->parameter > 0.0 && o->parameter < 1.0)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give E above 0 and below 1, such as error-bound:1e-7",
                         "policy error-bound cannot have the bound %g", o->parameter);
    }
    if (o->matrix_norm && o->policy != TESS_POLICY_ERROR_BOUND) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use error-bound:E:matrix, or leave matrix_norm 0",
                         "policy %s has no bound against the matrix's norm", tess_policy_name(o->policy));
    }
    if (o->componentwise && o->policy != TESS_POLICY_ERROR_BOUND) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use error-bound:E:componentwise, or leave componentwise 0",
                         "policy %s has no componentwise bound", tess_policy_name(o->policy));
    }
    if (o->componentwise && o->matrix_norm) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set one of matrix_norm and componentwise",
                         "a bound cannot be componentwise and against the matrix's norm");
    }
    if (o->policy != TESS_POLICY_NONE && !judges_values(o) && !(o->parameter > 0.0 && isfinite(o->parameter))) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give a finite number above 0",
                         "policy %s cannot have the parameter %g", tess_policy_name(o->policy), o->parameter);
    }
    if (o->choose_parameter && o->policy != TESS_POLICY_MEAN_3STD) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use mean-3std:auto, or give the parameter",
                         "policy %s cannot choose its parameter", tess_policy_name(o->policy));
    }
    if (o->arithmetic != TESS_ARITHMETIC_FP64 && o->arithmetic != TESS_ARITHMETIC_FP32) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use TESS_ARITHMETIC_FP64 or TESS_ARITHMETIC_FP32",
                         "unknown arithmetic %d", (int)o->arithmetic);
    }
    if (o->nlevels < 1 || o->nlevels > TESS_MAX_LEVELS) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give fewer levels", "there are %s, but 1 to %d are possible",
                         tess_count(o->nlevels, "level").text, (int)TESS_MAX_LEVELS);
    }
    return TESS_SUCCESS;
}

tess_status tess_policy_resolve(tess_context *ctx, const tess_policy_options *options, tess_policy_options *resolved)
{
    tess_policy_options o, defaults;
    tess_status status = TESS_SUCCESS;

    tess_policy_options_init(&defaults);
    o = options ? *options : defaults;
    if (o.share == 0.0) { o.share = defaults.share; }
    tess_policy_default_levels(&o);
    if (o.policy == TESS_POLICY_NONE) { o.parameter = 0.0; }
    if (o.policy == TESS_POLICY_FIXED_RANGE && o.parameter == 0.0) { o.parameter = default_range; }
    if (o.policy == TESS_POLICY_MEAN_RANGE && o.parameter == 0.0) { o.parameter = default_factor; }
    if (o.policy == TESS_POLICY_MEAN_3STD && (o.parameter == 0.0 || o.choose_parameter)) {
        o.parameter = default_std_factor;
    }
    if (o.block_rows == 0) { o.block_rows = DEFAULT_SIDE; }
    if (o.block_cols == 0) { o.block_cols = DEFAULT_SIDE; }
    TESS_TRY(options_require_reserved(ctx, "tess_policy_options", o.reserved));
    TESS_TRY(check_numbers(ctx, &o));
    TESS_TRY(check_blocks(ctx, &o));
    TESS_TRY(check_levels(ctx, &o));
    for (int l = o.nlevels; l < TESS_MAX_LEVELS; l++) {
        o.level[l] = (tess_precision_level){TESS_PRECISION_FP64, 0};
    }
    *resolved = o;
cleanup:
    return status;
}

/* ---- rules ---- */

/* The largest magnitude that rounds to `largest`: half a spacing, 2^half, below the next number. Ties go to even, which
   is the next number if it is a power of two. */
static double largest_rounded_to(double largest, int half)
{
    const double middle = largest + ldexp(1.0, half), next = middle + ldexp(1.0, half);

    return frexp(next, &(int){0}) == 0.5 ? nextafter(middle, 0.0) : middle;
}

static policy_limits limits_of(tess_precision precision, bool lossless)
{
    const precision_traits p = precision_traits_of(precision);
    policy_limits limits = {p.largest, ldexp(1.0, p.emin), p.emax < 64 ? p.emax - 1 : 62};

    if (precision == TESS_PRECISION_FP64) {
        limits.smallest = 0.0;
    } else if (lossless) {
        limits.largest = largest_rounded_to(p.largest, p.emax - p.digits);
        limits.smallest = ldexp(1.0, p.emin - (p.digits - 1));
    }
    return limits;
}

policy_rules tess_policy_rules(const tess_policy_options *o)
{
    const bool error_bound = o->policy == TESS_POLICY_ERROR_BOUND;
    const bool bounded = error_bound && !o->componentwise; /* each value by itself is as lossless:E */
    const bool lossless = o->policy == TESS_POLICY_LOSSLESS || (error_bound && o->componentwise);
    policy_rules rules = {.nlevels = o->policy == TESS_POLICY_NONE ? 1 : o->nlevels,
                          .entries = o->granularity == TESS_GRANULARITY_ENTRY,
                          .every_value = o->granularity == TESS_GRANULARITY_ENTRY ||
                                         o->granularity == TESS_GRANULARITY_BLOCK || lossless,
                          .at_most_one = o->at_most_one != 0,
                          .allow_underflow = o->allow_underflow != 0 && !lossless,
                          .lossless = lossless,
                          .bounded = bounded,
                          .share = o->share};
    double first = lossless ? 1.0 : tess_precision_unit_roundoff(o->level[1].precision);

    for (int l = 0; l < rules.nlevels; l++) {
        rules.limits[l] = limits_of(o->level[l].precision, lossless);
        rules.precision[l] = o->level[l].precision;
        rules.scaled[l] = o->level[l].scaled != 0;
        rules.ratio[l] = first / tess_precision_unit_roundoff(o->level[l].precision);
    }
    return rules;
}
