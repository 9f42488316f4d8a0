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
    if (strcmp(name, "none") == 0) { argp_error(state, "--%s: none takes no parameter", option); }
    cli_parse_word(state, option, name, available, later);
}

static void parse_share(struct argp_state *state, const char *text, tess_policy_options *policy)
{
    policy->at_most_one = strcmp(text, "at-most-one") == 0;
    if (policy->at_most_one) { return; }
    policy->share = cli_parse_real(state, "share", text, 0.0, 100.0);
    if (policy->share == 0.0) { argp_error(state, "--share: a share of 0 would ask for nothing"); }
}

void cli_parse_levels(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy)
{
    if (tess_levels_parse(text, policy) != TESS_SUCCESS) {
        argp_error(state,
                   "--%s: '%s' is not a list of up to %d precisions from high to low, such as fp64,fp32 or "
                   "fp64,fp16:scaled (fp8 comes last)",
                   option, text, (int)TESS_MOST_LEVELS);
    }
    for (int l = 1; l < policy->nlevels; l++) {
        if (tess_precision_unit_roundoff(policy->level[l].precision) <=
            tess_precision_unit_roundoff(policy->level[l - 1].precision)) {
            argp_error(state, "--%s: '%s' does not go from high to low", option, text);
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
    static const char *const available[] = {"csr", "ellr", "sell", "dia", "auto", NULL};
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_ELLR, TESS_FORMAT_SELL, TESS_FORMAT_DIA,
                                          TESS_FORMAT_AUTO};
    const char *comma = strchr(text, ',');
    char high[32];
    snprintf(high, sizeof high, "%.*s", (int)strcspn(text, ","), text);
    options->split.base = formats[cli_parse_word(state, "base", high, available, NULL)];
    options->split.low_base =
        comma ? formats[cli_parse_word(state, "base", comma + 1, available, NULL)] : options->split.base;
    if (options->split.base == options->split.low_base) { return; }
    for (int k = 0; k < 2; k++) {
        const tess_format base = k == 0 ? options->split.base : options->split.low_base;
        if (base == TESS_FORMAT_CSR || base == TESS_FORMAT_AUTO) {
            argp_error(state, "--base: in '%s' %s is for all parts; ellr, sell and dia may differ", text,
                       tess_format_name(base));
        }
    }
}

bool cli_is_lossless_whole(const tess_storage_options *options)
{
    switch (options->format) {
    case TESS_FORMAT_CSR:
    case TESS_FORMAT_ELLR:
    case TESS_FORMAT_SELL:
    case TESS_FORMAT_DIA: return options->policy.policy == TESS_POLICY_LOSSLESS;
    default: return false;
    }
}

void cli_settle_granularity(tess_storage_options *options)
{
    if (options->policy.granularity != TESS_GRANULARITY_ROW) { return; }
    if (options->format == TESS_FORMAT_TILES) { options->policy.granularity = TESS_GRANULARITY_BLOCK; }
    if (cli_is_lossless_whole(options)) { options->policy.granularity = TESS_GRANULARITY_MATRIX; }
}

/* Formats of one granularity have it unless another was asked for; format auto leaves it open (matrix) where none was. */
static void complete_granularity(struct argp_state *state, const cli_storage_choice *choice)
{
    tess_storage_options *options = choice->options;
    const char *given = choice->granularity;
    if (options->format == TESS_FORMAT_AUTO) {
        if (!given) { options->policy.granularity = TESS_GRANULARITY_MATRIX; }
        if (given && options->policy.granularity == TESS_GRANULARITY_MATRIX) {
            argp_error(state, "--granularity matrix: --format auto takes row, entry or block");
        }
        return;
    }
    if (!choice->assigns) { cli_settle_granularity(options); }
    if (given && parse_granularity(state, given) != options->policy.granularity) {
        argp_error(state, "--granularity %s: the format is by %s", given,
                   tess_granularity_name(options->policy.granularity));
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
    case KEY_SHARE: parse_share(state, arg, &options->policy); return 0;
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
    {"granularity", KEY_GRANULARITY, "matrix|row|entry|block", 0,
     "what has one precision (default row, for tiles block, for csr, ellr, sell and dia matrix)", 0},
    {"policy", KEY_POLICY, "NAME", 0,
     "none (default), fixed-range[:R]: magnitudes below R (1) may be low, mean-range[:F]: those below F (0.1) times "
     "the mean, or mean-3std[:F]: those below F (0.5) times the mean and three standard deviations; mean-3std:auto: "
     "the "
     "largest F up to 0.5 that leaves 95 % of the rows 7 digits; lossless[:E]: what keeps every bit, or loses up to E "
     "of "
     "each value, is low, and what csr, ellr, sell and dia take",
     0},
    {"block", KEY_BLOCK, "16x16|16x32|32x16|32x32", 0, "granularity block: rows and columns of a block (default 16x16)",
     0},
    {"share", KEY_SHARE, "P|at-most-one", 0,
     "percent of a row's values that must be in the range (default 99); at-most-one: all but one of up to 100", 0},
    {"levels", KEY_LEVELS, "HIGH,..,LOW", 0,
     "precisions to choose from (default fp64,fp32, for lossless fp64,fp32,fp16,fp8; up to four; P:scaled: over a "
     "power "
     "of two per row or block; fp8, for lossless: e4m3 or e5m2, whichever holds more)",
     0},
    {"allow-underflow", KEY_UNDERFLOW, NULL, 0, "values too small for a low precision keep nothing high", 0},
    {"base", KEY_BASE, "csr|ellr|sell|dia|auto[,LOW]", 0,
     "split, composite: format of the parts (default csr), and of those below the highest level if another of ellr, "
     "sell, dia; "
     "dia: by entries and blocks; auto: what takes the fewest bytes of csr, sell and dia",
     0},
    {"row-order", KEY_ROW_ORDER, "original|permuted|symmetric", 0,
     "split, composite: order of y, or of x and y (default original)", 0},
    {0}};
const struct argp cli_policy_argp = {.options = policy_options, .parser = parse_option};

bool cli_takes_policy(tess_format format)
{
    return format == TESS_FORMAT_SPLIT || format == TESS_FORMAT_COMPOSITE || format == TESS_FORMAT_TILES;
}

bool cli_is_mixed(const tess_storage_options *options)
{
    return options->format == TESS_FORMAT_AUTO ? options->policy.policy != TESS_POLICY_NONE
                                               : cli_takes_policy(options->format);
}

/* Whether parts of that granularity may have a precision each. */
static bool takes_granularity(tess_format format, tess_granularity granularity)
{
    switch (format) {
    case TESS_FORMAT_SPLIT: return granularity != TESS_GRANULARITY_MATRIX;
    case TESS_FORMAT_TILES: return granularity == TESS_GRANULARITY_BLOCK;
    default: return granularity == TESS_GRANULARITY_ROW;
    }
}

static const char *granularities_of(tess_format format)
{
    return format == TESS_FORMAT_SPLIT ? "row, entry or block" : format == TESS_FORMAT_TILES ? "block" : "row";
}

bool cli_storage_is_possible(const tess_storage_options *options)
{
    return takes_granularity(options->format, options->policy.granularity);
}

tess_row_order cli_row_order(const tess_storage_options *options)
{
    return cli_takes_policy(options->format) ? options->split.row_order : TESS_ROW_ORDER_ORIGINAL;
}

void cli_note_sweep(tess_storage_options *options)
{
    options->split.row_order = TESS_ROW_ORDER_SYMMETRIC;
    options->arithmetic = TESS_ARITHMETIC_FP32;
    options->policy.without_diagonal = 1;
}

void cli_note_format(tess_format format, tess_storage_options *options)
{
    if (options->format != TESS_FORMAT_AUTO) { return; }
    options->format = format;
    if (options->policy.granularity == TESS_GRANULARITY_MATRIX) {
        options->policy.granularity = format == TESS_FORMAT_TILES ? TESS_GRANULARITY_BLOCK : TESS_GRANULARITY_ROW;
    }
}

void cli_note_choices(const tess_matrix *stored, tess_storage_options *options)
{
    tess_assignment_summary summary;
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
        options->policy.choose_fp8 = 0; /* it is chosen */
    }
}

/* The first option that only split and composite take and that is not at its default; NULL: none is. */
static const char *find_parts_option(const tess_storage_options *o)
{
    tess_storage_options defaults;
    tess_storage_options_init(&defaults);
    if (o->policy.share != defaults.policy.share || o->policy.at_most_one) { return "share"; }
    if (o->split.base != defaults.split.base) { return "base"; }
    return o->split.row_order != defaults.split.row_order ? "row-order" : NULL;
}

/* The same of those beside --policy that tiles take as well. */
static const char *find_mixed_option(const tess_storage_options *o)
{
    tess_storage_options defaults;
    tess_storage_options_init(&defaults);
    const tess_policy_options *policy = &o->policy, *plain = &defaults.policy;
    if (policy->granularity != plain->granularity) { return "granularity"; }
    if (policy->block_rows != plain->block_rows || policy->block_cols != plain->block_cols) { return "block"; }
    if (policy->nlevels != plain->nlevels) { return "levels"; }
    return policy->allow_underflow ? "allow-underflow" : NULL;
}

/* Format auto: what belongs to several precisions needs a policy, and what belongs to one none. */
static int require_policy_for_auto(const tess_storage_options *options)
{
    tess_storage_options asked = *options;
    cli_note_format(TESS_FORMAT_CSR, &asked); /* a granularity that was not given is the default */
    const char *option = find_parts_option(&asked);
    if (option == NULL) { option = find_mixed_option(&asked); }
    const bool mixed = cli_is_mixed(options), one = (int)options->precision > (int)TESS_PRECISION_FP64;
    if (!mixed && option != NULL) {
        cli_error("--%s: --format auto takes it with a --policy", option);
    } else if (mixed && one) {
        cli_error("--matrix-precision %s: with a --policy --format auto has the precisions of --levels",
                  tess_precision_name(options->precision));
    } else {
        return 0;
    }
    return CLI_USAGE;
}

/* Formats of one precision take policy lossless alone, which needs --levels and nothing else. */
static int require_one_precision(const tess_storage_options *options)
{
    tess_storage_options rest = *options;
    const char *format = tess_format_name(options->format);
    if (cli_is_lossless_whole(options)) {
        if (options->policy.granularity != TESS_GRANULARITY_MATRIX) {
            cli_error("--granularity %s: --format %s takes matrix", tess_granularity_name(options->policy.granularity),
                      format);
            return CLI_USAGE;
        }
        rest.policy.granularity = TESS_GRANULARITY_ROW;
        rest.policy.nlevels = 0;
    } else if (options->policy.policy != TESS_POLICY_NONE) {
        cli_error("--policy %s chooses among precisions, but --format %s has one; --format split, composite or "
                  "tiles takes it",
                  tess_policy_name(options->policy.policy), format);
        return CLI_USAGE;
    }
    const char *option = find_mixed_option(&rest);
    if (option == NULL) { return 0; }
    cli_error("--%s is for --format split, composite or tiles, not %s", option, format);
    return CLI_USAGE;
}

int cli_require_policy_format(const tess_storage_options *options)
{
    if (cli_require_kernel(options) != 0) { return CLI_USAGE; }
    if (options->format == TESS_FORMAT_AUTO) { return require_policy_for_auto(options); }
    const char *format = tess_format_name(options->format);
    const char *parts_option = options->format == TESS_FORMAT_SPLIT || options->format == TESS_FORMAT_COMPOSITE
                                   ? NULL
                                   : find_parts_option(options);
    bool one = (int)options->precision > (int)TESS_PRECISION_FP64; /* compare: below 0 where none is given */
    if (!cli_takes_policy(options->format) && require_one_precision(options) != 0) { return CLI_USAGE; }
    const bool mixed = cli_takes_policy(options->format);
    if (parts_option != NULL) {
        cli_error("--%s is for --format split or composite, not %s", parts_option, format);
    } else if ((mixed || cli_is_lossless_whole(options)) && one) {
        cli_error("--matrix-precision %s: --format %s has the precisions of --levels%s",
                  tess_precision_name(options->precision), format, mixed ? "" : " with policy lossless");
    } else if (mixed && !takes_granularity(options->format, options->policy.granularity)) {
        cli_error("--granularity %s: --format %s takes %s", tess_granularity_name(options->policy.granularity), format,
                  granularities_of(options->format));
    } else {
        return 0;
    }
    return CLI_USAGE;
}
