/* SPDX-License-Identifier: Apache-2.0 */
/* The options that choose precisions. */
#include "cli.h"

#include <string.h>

/* ---- options ---- */

enum { KEY_GRANULARITY = 400, KEY_POLICY, KEY_SHARE, KEY_LEVELS, KEY_UNDERFLOW, KEY_BASE, KEY_ROW_ORDER, KEY_BLOCK };

static tess_granularity parse_granularity(struct argp_state *state, const char *text)
{
    return (tess_granularity)cli_parse_name(state, "granularity", text, "tess_granularity");
}

void cli_parse_policy(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy)
{
    static const char *const available[] = {"none",      "fixed-range", "fixed-range:R",  "mean-range", "mean-range:F",
                                            "mean-3std", "mean-3std:F", "mean-3std:auto", "lossless",   "lossless:E",
                                            NULL};
    static const char *const later[] = {"error-bound", NULL};
    char name[32];
    if (tess_policy_options_parse(text, policy) == TESS_SUCCESS) { return; }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    if (strchr(text, ':') != NULL && (strcmp(name, "fixed-range") == 0 || strcmp(name, "mean-range") == 0 ||
                                      strcmp(name, "mean-3std") == 0 || strcmp(name, "lossless") == 0)) {
        argp_error(state, "--%s: '%s' is not a number above 0%s", option, strchr(text, ':') + 1,
                   strcmp(name, "mean-3std") == 0 ? " or auto" : "");
    }
    if (strcmp(name, "none") == 0) { argp_error(state, "--%s: the policy none takes no parameter", option); }
    cli_parse_word(state, option, name, available, later);
}

void cli_parse_share(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy)
{
    policy->at_most_one = strcmp(text, "at-most-one") == 0;
    if (policy->at_most_one) { return; }
    policy->share = cli_parse_real(state, option, text, 0.0, 100.0);
    if (policy->share == 0.0) { argp_error(state, "--%s: give a percentage above 0 and at most 100", option); }
}

void cli_parse_levels(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy)
{
    if (tess_precision_levels_parse(text, policy) != TESS_SUCCESS) {
        argp_error(state,
                   "--%s: '%s' is not a list of up to %s from high to low, such as fp64,fp32 or fp64,fp16:scaled (fp8 "
                   "comes last)",
                   option, text, tess_count((int)TESS_MAX_LEVELS, "precision").text);
    }
    for (int l = 1; l < policy->nlevels; l++) {
        if (tess_precision_unit_roundoff(policy->level[l].precision) <=
            tess_precision_unit_roundoff(policy->level[l - 1].precision)) {
            argp_error(state, "--%s: '%s' does not go from high to low, as fp64,fp32 does", option, text);
        }
    }
}

static void parse_block(struct argp_state *state, const char *text, tess_policy_options *policy)
{
    static const char *const available[] = {"16x16", "16x32", "32x16", "32x32", NULL};
    int shape = cli_parse_word(state, "block", text, available, NULL);
    policy->block_rows = shape < 2 ? 16 : 32;
    policy->block_cols = shape % 2 == 0 ? 16 : 32;
}

/* HIGH or HIGH,LOW. */
static void parse_base(struct argp_state *state, const char *text, tess_storage_options *options)
{
    const char *available[CLI_MAX_NAMES + 1];
    const int count = cli_list_formats(cli_is_base, available);
    const char *comma = strchr(text, ',');
    char high[32], differ[64];
    available[count] = tess_format_name(TESS_FORMAT_AUTO);
    available[count + 1] = NULL;
    snprintf(high, sizeof high, "%.*s", (int)strcspn(text, ","), text);
    const char *const word[2] = {high, comma ? comma + 1 : high};
    tess_format *const base[2] = {&options->split.base, &options->split.low_base};
    for (int k = 0; k < 2; k++) {
        (void)tess_format_parse(available[cli_parse_word(state, "base", word[k], available, NULL)], base[k]);
    }
    for (int k = 0; k < 2 && *base[0] != *base[1]; k++) {
        if (!cli_may_differ(tess_format_can(*base[k]))) {
            argp_error(state, "--base: '%s' combines %s with another format, but only %s can be combined", text,
                       tess_format_name(*base[k]), cli_formats_text(cli_may_differ, " and ", differ, sizeof differ));
        }
    }
}

/* Sets the format's granularity if none was given. Format auto without a granularity gets matrix, which leaves the
   choice open. */
static void complete_granularity(struct argp_state *state, const cli_storage_choice *choice)
{
    tess_storage_options *options = choice->options;
    const char *given = choice->granularity;
    char text[64];
    if (options->format == TESS_FORMAT_AUTO) {
        if (!given) { options->policy.granularity = TESS_GRANULARITY_MATRIX; }
        if (given && options->policy.granularity == TESS_GRANULARITY_MATRIX) {
            argp_error(state, "--granularity matrix does not fit --format auto, which takes row, entry or block");
        }
        return;
    }
    if (choice->assigns) { return; }
    cli_settle_granularity(options);
    if (given && parse_granularity(state, given) != options->policy.granularity) {
        argp_error(state, "--granularity %s does not fit the format, which is by %s", given,
                   tess_granularity_name(options->policy.granularity));
    }
    if (given && !choice->shorthand && cli_takes_policy(options->format) && !cli_storage_is_possible(options)) {
        argp_error(state, "--granularity %s does not fit --format %s, which takes %s", given,
                   tess_format_name(options->format), cli_granularities_text(options->format, text, sizeof text));
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    cli_storage_choice *choice = state->input;
    tess_storage_options *options = choice->options;
    switch (key) {
    case KEY_GRANULARITY:
        options->policy.granularity = parse_granularity(state, arg);
        choice->granularity = arg;
        return 0;
    case KEY_POLICY:
        cli_parse_policy(state, "policy", arg, &options->policy);
        choice->policy = true;
        return 0;
    case KEY_SHARE: cli_parse_share(state, "share", arg, &options->policy); return 0;
    case KEY_LEVELS: cli_parse_levels(state, "levels", arg, &options->policy); return 0;
    case KEY_UNDERFLOW: options->policy.allow_underflow = 1; return 0;
    case KEY_BLOCK: parse_block(state, arg, &options->policy); return 0;
    case KEY_BASE: parse_base(state, arg, options); return 0;
    case KEY_ROW_ORDER:
        options->split.row_order = (tess_row_order)cli_parse_name(state, "row-order", arg, "tess_row_order");
        return 0;
    case ARGP_KEY_END: complete_granularity(state, choice); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option policy_options[] = {
    {"policy", KEY_POLICY, "NAME", 0, CLI_POLICY_HELP("none"), CLI_GROUP_PRECISION + 1},
    {"levels", KEY_LEVELS, "LIST", 0,
     "up to 4 precisions, high to low (default fp64,fp32; "
     "lossless: fp64,fp32,fp16,fp8)\n"
     "P:scaled: stored over a power of two per row or block\n"
     "fp8, for lossless: e4m3 or e5m2, whichever stores more of the matrix",
     CLI_GROUP_PRECISION + 1},
    {"granularity", KEY_GRANULARITY, "NAME", 0,
     "what shares a precision: {tess_granularity} "
     "(default row; {by-blocks}: block; {whole}: matrix)",
     CLI_GROUP_PRECISION + 1},
    {"block", KEY_BLOCK, "SHAPE", 0, "16x16, 16x32, 32x16 or 32x32 rows and columns (default 16x16)",
     CLI_GROUP_PRECISION + 1},
    {"share", KEY_SHARE, "P", 0,
     "percent of the values of a low row that must be in the range, or "
     "at-most-one: all but one of up to 100 (default 99)",
     CLI_GROUP_PRECISION + 1},
    {"allow-underflow", KEY_UNDERFLOW, NULL, 0, "let values become 0 that are too small for a low precision",
     CLI_GROUP_PRECISION + 1},
    {"base", KEY_BASE, "NAME[,LOW]", 0,
     "{takes-bases}: format of the parts, {bases}, or auto "
     "(default csr); LOW: parts below the highest level, if they differ: "
     "{differ}\n"
     "{layers}: by entries and blocks only; auto: what takes the fewest bytes",
     CLI_GROUP_PRECISION + 2},
    {"row-order", KEY_ROW_ORDER, "NAME", 0,
     "{permutes}: {tess_row_order} (default original)\n"
     "order of the rows of y (permuted), or of x and y (symmetric)",
     CLI_GROUP_PRECISION + 2},
    {0}};
const struct argp cli_policy_argp = {.options = policy_options, .parser = parse_option};

void cli_note_sweep(tess_storage_options *options)
{
    options->split.row_order = TESS_ROW_ORDER_SYMMETRIC;
    options->arithmetic = TESS_ARITHMETIC_FP32;
    options->policy.without_diagonal = 1;
}

void cli_note_choices(const tess_matrix *stored, tess_storage_options *options)
{
    tess_assignment_summary summary = {.size = sizeof summary};
    cli_note_format(tess_matrix_format(stored), options);
    if (options->split.base == TESS_FORMAT_AUTO) {
        options->split.base = tess_matrix_base(stored);
        options->split.low_base = tess_matrix_low_base(stored);
    }
    if (cli_is_lossless_whole(options)) { options->precision = tess_matrix_precision(stored); }
    if (tess_matrix_get_assignment(stored, &summary) != TESS_SUCCESS) { return; }
    if (options->policy.choose_parameter) { options->policy.parameter = summary.options.parameter; }
    if (summary.options.choose_fp8) {
        memcpy(options->policy.level, summary.options.level, sizeof options->policy.level);
        options->policy.nlevels = summary.options.nlevels;
        options->policy.choose_fp8 = 0; /* it has been chosen */
    }
}
