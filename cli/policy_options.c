/* SPDX-License-Identifier: Apache-2.0 */
/* The options that choose precisions, and what an assignment amounts to, as text and JSON. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

enum {
    KEY_GRANULARITY = 400,
    KEY_POLICY,
    KEY_SHARE,
    KEY_LEVELS,
    KEY_UNDERFLOW,
    KEY_BASE,
    KEY_ROW_ORDER,
    KEY_BLOCK,
    KEY_KERNEL,
    KEY_TCKI
};

static const char *const kernels[] = {"default", "paper", NULL};
static const char *const row_orders[] = {"original", "permuted", "symmetric", NULL};

static tess_granularity parse_granularity(struct argp_state *state, const char *text)
{
#define WORD(NAME, value, name) name,
    static const char *const available[] = {TESS_GRANULARITY_LIST(WORD) NULL};
#undef WORD
    return (tess_granularity)cli_parse_word(state, "granularity", text, available, NULL);
}

void cli_parse_policy(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy)
{
    static const char *const available[] = {"none",      "fixed-range", "fixed-range:R",  "mean-range", "mean-range:F",
                                            "mean-3std", "mean-3std:F", "mean-3std:auto", "lossless",   "lossless:E",
                                            NULL};
    static const char *const later[] = {"error-bound", NULL};
    char name[32];
    if (tess_policy_parse(text, policy) == TESS_SUCCESS) { return; }
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

/* D,TL,TU; 0 would stand for the default, and is refused. */
static void parse_thresholds(struct argp_state *state, const char *text, tess_tcki_thresholds *out)
{
    double value[3];
    const char *at = text;
    for (int k = 0; k < 3; k++) {
        char *end = NULL;
        value[k] = strtod(at, &end);
        if (end == at || *end != (k < 2 ? ',' : '\0') || !(value[k] > 0.0) || !isfinite(value[k])) {
            argp_error(state, "--tcki-thresholds: '%s' is not three numbers above 0, such as 0.02,0.2,0.9", text);
        }
        at = end + 1;
    }
    if (value[1] > value[2]) { argp_error(state, "--tcki-thresholds: in '%s' the second is above the third", text); }
    *out = (tess_tcki_thresholds){value[0], value[1], value[2]};
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
    options->base = formats[cli_parse_word(state, "base", high, available, NULL)];
    options->low_base = comma ? formats[cli_parse_word(state, "base", comma + 1, available, NULL)] : options->base;
    if (options->base == options->low_base) { return; }
    for (int k = 0; k < 2; k++) {
        const tess_format base = k == 0 ? options->base : options->low_base;
        if (base == TESS_FORMAT_CSR || base == TESS_FORMAT_AUTO) {
            argp_error(state, "--base: in '%s' %s is for all parts; ellr, sell and dia may differ", text,
                       tess_format_name(base));
        }
    }
}

void cli_settle_granularity(tess_storage_options *options)
{
    if (options->format == TESS_FORMAT_TILES && options->policy.granularity == TESS_GRANULARITY_ROW) {
        options->policy.granularity = TESS_GRANULARITY_BLOCK;
    }
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
    cli_settle_granularity(options);
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
    case KEY_KERNEL: options->kernel = (tess_kernel)cli_parse_word(state, "kernel", arg, kernels, NULL); return 0;
    case KEY_TCKI: parse_thresholds(state, arg, &options->tcki_thresholds); return 0;
    case KEY_BASE: parse_base(state, arg, options); return 0;
    case KEY_ROW_ORDER:
        options->row_order = (tess_row_order)cli_parse_word(state, "row-order", arg, row_orders, NULL);
        return 0;
    case ARGP_KEY_END: complete_granularity(state, choice); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option policy_options[] = {
    {"granularity", KEY_GRANULARITY, "matrix|row|entry|block", 0, "what has one precision (default row)", 0},
    {"policy", KEY_POLICY, "NAME", 0,
     "none (default), fixed-range[:R]: magnitudes below R (1) may be low, mean-range[:F]: those below F (0.1) times "
     "the mean, or mean-3std[:F]: those below F (0.5) times the mean and three standard deviations; mean-3std:auto: "
     "the "
     "largest F up to 0.5 that leaves 95 % of the rows 7 digits; lossless[:E]: what keeps every bit, or loses up to E "
     "of "
     "each value, is low",
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
    {"kernel", KEY_KERNEL, "default|paper", 0, "tiles: the library's design, or that of the paper as printed", 0},
    {"tcki-thresholds", KEY_TCKI, "D,TL,TU", 0,
     "kernel paper: blocks are COO below density D, else ELL below the variation TL of their rows' lengths, HYB above "
     "TU, "
     "CSR between (default 0.02,0.2,0.9)",
     0},
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
    return cli_takes_policy(options->format) ? options->row_order : TESS_ROW_ORDER_ORIGINAL;
}

void cli_note_sweep(tess_storage_options *options)
{
    options->row_order = TESS_ROW_ORDER_SYMMETRIC;
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
    if (options->base == TESS_FORMAT_AUTO) {
        options->base = tess_matrix_base(stored);
        options->low_base = tess_matrix_low_base(stored);
    }
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
    if (o->base != defaults.base) { return "base"; }
    return o->row_order != defaults.row_order ? "row-order" : NULL;
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

int cli_require_kernel(const tess_storage_options *options)
{
    const tess_tcki_thresholds *t = &options->tcki_thresholds;
    const bool paper = options->kernel == TESS_KERNEL_PAPER;
    const bool tiles = options->format == TESS_FORMAT_TILES || options->format == TESS_FORMAT_AUTO;
    if (paper && !(tiles && cli_is_mixed(options))) {
        cli_error("--kernel paper is for --format tiles");
    } else if (!paper && (t->density != 0.0 || t->low != 0.0 || t->high != 0.0)) {
        cli_error("--tcki-thresholds is for --kernel paper");
    } else {
        return 0;
    }
    return CLI_USAGE;
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

int cli_require_policy_format(const tess_storage_options *options)
{
    if (cli_require_kernel(options) != 0) { return CLI_USAGE; }
    if (options->format == TESS_FORMAT_AUTO) { return require_policy_for_auto(options); }
    const char *format = tess_format_name(options->format);
    const char *parts_option = options->format == TESS_FORMAT_SPLIT || options->format == TESS_FORMAT_COMPOSITE
                                   ? NULL
                                   : find_parts_option(options);
    bool one = (int)options->precision > (int)TESS_PRECISION_FP64; /* compare: below 0 where none is given */
    if (!cli_takes_policy(options->format)) {
        const char *option = find_mixed_option(options);
        if (options->policy.policy != TESS_POLICY_NONE) {
            cli_error("--policy %s chooses among precisions, but --format %s has one; --format split, composite or "
                      "tiles takes it",
                      tess_policy_name(options->policy.policy), format);
            return CLI_USAGE;
        }
        if (option != NULL) { cli_error("--%s is for --format split, composite or tiles, not %s", option, format); }
        if (option != NULL) { return CLI_USAGE; }
    }
    const bool mixed = cli_takes_policy(options->format);
    if (parts_option != NULL) {
        cli_error("--%s is for --format split or composite, not %s", parts_option, format);
    } else if (mixed && one) {
        cli_error("--matrix-precision %s: --format %s has the precisions of --levels",
                  tess_precision_name(options->precision), format);
    } else if (mixed && !takes_granularity(options->format, options->policy.granularity)) {
        cli_error("--granularity %s: --format %s takes %s", tess_granularity_name(options->policy.granularity), format,
                  granularities_of(options->format));
    } else {
        return 0;
    }
    return CLI_USAGE;
}

/* ---- text ---- */

const char *cli_levels_text(const tess_policy_options *options, char *buffer, size_t size)
{
    size_t used = 0;
    tess_policy_options o = *options;
    tess_policy_default_levels(&o);
    buffer[0] = '\0';
    for (int l = 0; l < o.nlevels && used < size; l++) {
        const bool either = o.choose_fp8 && l == o.nlevels - 1;
        int n =
            snprintf(buffer + used, size - used, "%s%s%s", l == 0 ? "" : ",",
                     either ? "fp8" : tess_precision_name(o.level[l].precision), o.level[l].scaled ? ":scaled" : "");
        used += n > 0 ? (size_t)n : 0;
    }
    return buffer;
}

/* `16x16`; NULL where there are no blocks. */
static const char *block_text(const tess_policy_options *o, char *buffer, size_t size)
{
    if (o->granularity != TESS_GRANULARITY_BLOCK) { return NULL; }
    snprintf(buffer, size, "%dx%d", o->block_rows, o->block_cols);
    return buffer;
}

static int64_t all_nonzeros(const tess_assignment_summary *s)
{
    int64_t all = 0;
    for (int l = 0; l < TESS_MOST_LEVELS; l++) {
        all += s->nonzeros_at[l];
    }
    return all;
}

/* 0 where there are none. */
static double nonzeros_per_granule(const tess_assignment_summary *s)
{
    return s->granules > 0 ? (double)all_nonzeros(s) / (double)s->granules : 0.0;
}

static bool has_range(const tess_policy_options *o)
{
    return o->policy != TESS_POLICY_NONE && o->policy != TESS_POLICY_LOSSLESS;
}

static bool has_mean(const tess_policy_options *o)
{
    return o->policy == TESS_POLICY_MEAN_RANGE || o->policy == TESS_POLICY_MEAN_3STD;
}

static void print_choice(const tess_assignment_summary *s)
{
    const tess_policy_options *o = &s->options;
    printf("%-17s by %s, policy %s", "assignment", tess_granularity_name(o->granularity), tess_policy_name(o->policy));
    if (o->parameter > 0.0) { printf(":%g%s", o->parameter, o->choose_parameter ? " (chosen)" : ""); }
    if (has_range(o) && o->granularity == TESS_GRANULARITY_ROW) {
        if (o->at_most_one) {
            printf(", share at-most-one");
        } else {
            printf(", share %g %%", o->share);
        }
    }
    if (has_mean(o)) { printf("; mean magnitude %.4g", s->mean_magnitude); }
    if (o->policy == TESS_POLICY_MEAN_3STD) { printf(", standard deviation %.4g", s->std_magnitude); }
    if (o->policy == TESS_POLICY_MEAN_3STD && o->nlevels > 1) { printf(", lambda %.4g", s->range[1]); }
    if (o->allow_underflow) { printf("; underflow allowed"); }
    if (s->empty > 0) { printf("; %lld empty rows", (long long)s->empty); }
    putchar('\n');
}

static void print_level(const tess_assignment_summary *s, int l)
{
    static const char *const granules[] = {"matrix", "rows", "entries", "blocks"};
    const tess_policy_options *o = &s->options;
    int64_t all = all_nonzeros(s);
    char label[32], range[32] = "all else";
    snprintf(label, sizeof label, "  %s%s", tess_precision_name(o->level[l].precision), s->scaled[l] ? ":scaled" : "");
    if (l > 0 && has_range(o)) { snprintf(range, sizeof range, "|a| < %.4g", s->range[l]); }
    if (l > 0 && o->policy == TESS_POLICY_LOSSLESS) {
        snprintf(range, sizeof range, "no loss");
        if (o->parameter > 0.0) { snprintf(range, sizeof range, "loss up to %g", o->parameter); }
    }
    printf("%-17s %s: %lld %s, %lld nonzeros (%.4g %%)\n", label, range, (long long)s->granules_at[l],
           granules[o->granularity], (long long)s->nonzeros_at[l],
           all > 0 ? 100.0 * (double)s->nonzeros_at[l] / (double)all : 0.0);
}

/* ---- bytes by formula ---- */

typedef struct policy_bytes {
    double split, composite; /* row pointers over the rows that are not empty; composite < 0: there is none */
    double paper_split, paper_composite; /* Tezcan et al. 2022, Table I, for any number of levels */
    double permutation;                  /* 4 bytes a row, where y is scattered to its original order */
} policy_bytes;

/*
 * With M rows (m not empty), V nonzeros, V_l of them at level l of L, b_l bytes a value and offsets of o bytes: split is
 * o (m + 1) + sum V_l (4 + b_l), composite o (m + 1) + V (4 + sum b_l); scales add 2 m. The paper's have a row pointer per
 * part, o (M + L), or one, o (M + 1), and 4 bytes for each separation. Split by entry or block: L row pointers of M + 1 (Zhao et
 * al. 2024, Table 2, without the vectors).
 */
static policy_bytes bytes_of(const tess_assignment_summary *s, int64_t nrows)
{
    double nnz = 0.0, values = 0.0, copies = 0.0, rows = (double)(nrows - s->empty), scales = 0.0;
    double levels = s->options.nlevels, all_rows = (double)nrows;
    for (int l = 0; l < s->options.nlevels; l++) {
        double bytes = (double)tess_precision_bytes(s->options.level[l].precision);
        nnz += (double)s->nonzeros_at[l];
        values += (double)s->nonzeros_at[l] * (4.0 + bytes);
        copies += bytes;
        if (s->scaled[l]) { scales = 2.0 * rows; }
    }
    double offset = nnz < 0x1p31 ? 4.0 : 8.0, separations = 4.0 * (levels - 1.0);
    if (s->options.granularity == TESS_GRANULARITY_ENTRY || s->options.granularity == TESS_GRANULARITY_BLOCK) {
        double split = levels * offset * (all_rows + 1.0) + values + (scales > 0.0 ? 2.0 * (double)s->granules : 0.0);
        return (policy_bytes){split, -1.0, split, -1.0, 0.0};
    }
    return (policy_bytes){.split = offset * (rows + 1.0) + values + scales,
                          .composite = offset * (rows + 1.0) + nnz * (4.0 + copies) + scales,
                          .paper_split = offset * (all_rows + levels) + separations + values,
                          .paper_composite = offset * (all_rows + 1.0) + separations + nnz * (4.0 + copies),
                          .permutation = 4.0 * rows};
}

void cli_print_parameter(const tess_storage_options *options)
{
    const tess_policy_options *o = &options->policy;
    if (!o->choose_parameter || !cli_takes_policy(options->format)) { return; }
    printf("%-17s %s:%g by %s, chosen for %s\n", "policy", tess_policy_name(o->policy), o->parameter,
           tess_granularity_name(o->granularity), tess_format_name(options->format));
}

void cli_print_assignment(const tess_assignment_summary *s, int64_t nrows)
{
    char split[32], composite[32], permutation[32], block[16];
    policy_bytes bytes = bytes_of(s, nrows);
    print_choice(s);
    if (block_text(&s->options, block, sizeof block) != NULL) {
        printf("%-17s %lld of %s, %.4g nonzeros each on average\n", "blocks", (long long)s->granules, block,
               nonzeros_per_granule(s));
    }
    for (int l = 0; l < s->options.nlevels; l++) {
        print_level(s, l);
    }
    printf("%-17s %.3g relative at most\n", "storage error", s->largest_relative_error);
    printf("%-17s split %s", "mixed memory", cli_bytes_text(bytes.split, split, sizeof split));
    if (bytes.composite >= 0.0) {
        printf(", composite %s; y in its original order adds %s",
               cli_bytes_text(bytes.composite, composite, sizeof composite),
               cli_bytes_text(bytes.permutation, permutation, sizeof permutation));
    }
    putchar('\n');
}

/* ---- JSON ---- */

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

void cli_add_policy_json(json_t *object, const tess_storage_options *options)
{
    char text[64];
    const tess_policy_options *o = &options->policy;
    set(object, "granularity", json_string(tess_granularity_name(o->granularity)));
    set(object, "policy", json_string(tess_policy_name(o->policy)));
    set(object, "policy_parameter", o->parameter > 0.0 ? cli_json_real(o->parameter) : json_null());
    set(object, "parameter_chosen", json_boolean(o->choose_parameter));
    set(object, "share", o->at_most_one ? json_string("at-most-one") : cli_json_real(o->share));
    set(object, "block", json_pack("s?", block_text(o, text, sizeof text)));
    set(object, "levels", json_string(cli_levels_text(o, text, sizeof text)));
    set(object, "allow_underflow", json_boolean(o->allow_underflow));
    set(object, "base", json_string(tess_format_name(options->base)));
    set(object, "low_base",
        json_string(tess_format_name(options->low_base == TESS_FORMAT_CSR ? options->base : options->low_base)));
    set(object, "row_order", json_string(row_orders[options->row_order]));
    const tess_tcki_thresholds *t = &options->tcki_thresholds;
    set(object, "kernel", json_string(kernels[options->kernel]));
    set(object, "tcki_thresholds",
        t->density > 0.0 ? json_pack("[f, f, f]", t->density, t->low, t->high) : json_null());
}

/* ---- formats of blocks ---- */

void cli_print_block_formats(const cli_block_formats *formats)
{
    if (!formats->known) { return; }
    printf("%-17s %lld COO, %lld CSR, %lld ELL, %lld HYB\n", "blocks stored as",
           (long long)formats->count[TESS_TCKI_COO], (long long)formats->count[TESS_TCKI_CSR],
           (long long)formats->count[TESS_TCKI_ELL], (long long)formats->count[TESS_TCKI_HYB]);
}

json_t *cli_block_formats_json(const cli_block_formats *formats)
{
    if (!formats->known) { return json_null(); }
    return json_pack("{sI sI sI sI}", "coo", (json_int_t)formats->count[TESS_TCKI_COO], "csr",
                     (json_int_t)formats->count[TESS_TCKI_CSR], "ell", (json_int_t)formats->count[TESS_TCKI_ELL], "hyb",
                     (json_int_t)formats->count[TESS_TCKI_HYB]);
}

cli_block_formats cli_find_block_formats(const tess_matrix *stored, const tess_storage_options *options)
{
    cli_block_formats formats = {.known = false};
    if (options->kernel == TESS_KERNEL_PAPER) {
        formats.known = tess_matrix_tcki_counts(stored, formats.count) == TESS_SUCCESS;
    }
    return formats;
}

static json_t *level_json(const tess_assignment_summary *s, int l)
{
    return json_pack("{ss sb so sI sI}", "precision", tess_precision_name(s->options.level[l].precision), "scaled",
                     s->scaled[l], "range", cli_json_real(l == 0 ? (double)INFINITY : s->range[l]), "granules",
                     (json_int_t)s->granules_at[l], "nonzeros", (json_int_t)s->nonzeros_at[l]);
}

static json_t *bytes_json(double bytes)
{
    return bytes < 0.0 ? json_null() : json_integer((json_int_t)bytes);
}

json_t *cli_assignment_json(const tess_assignment_summary *s, int64_t nrows)
{
    policy_bytes bytes = bytes_of(s, nrows);
    const tess_policy_options *o = &s->options;
    char block[16];
    json_t *root = json_object(), *levels = json_array();
    for (int l = 0; l < o->nlevels; l++) {
        json_array_append_new(levels, level_json(s, l));
    }
    set(root, "granularity", json_string(tess_granularity_name(o->granularity)));
    set(root, "policy", json_string(tess_policy_name(o->policy)));
    set(root, "policy_parameter", o->policy == TESS_POLICY_NONE ? json_null() : cli_json_real(o->parameter));
    set(root, "parameter_chosen", json_boolean(o->choose_parameter));
    set(root, "share", o->at_most_one ? json_string("at-most-one") : cli_json_real(o->share));
    set(root, "fp8_chosen", json_boolean(o->choose_fp8));
    set(root, "allow_underflow", json_boolean(o->allow_underflow));
    set(root, "granules", json_integer(s->granules));
    set(root, "empty", json_integer(s->empty));
    set(root, "mean_magnitude", has_mean(o) ? cli_json_real(s->mean_magnitude) : json_null());
    set(root, "std_magnitude", o->policy == TESS_POLICY_MEAN_3STD ? cli_json_real(s->std_magnitude) : json_null());
    set(root, "block", json_pack("s?", block_text(o, block, sizeof block)));
    set(root, "nonzeros_per_block",
        o->granularity == TESS_GRANULARITY_BLOCK ? cli_json_real(nonzeros_per_granule(s)) : json_null());
    set(root, "levels", levels);
    set(root, "largest_relative_error", cli_json_real(s->largest_relative_error));
    set(root, "split_bytes", bytes_json(bytes.split));
    set(root, "composite_bytes", bytes_json(bytes.composite));
    set(root, "paper_split_bytes", bytes_json(bytes.paper_split));
    set(root, "paper_composite_bytes", bytes_json(bytes.paper_composite));
    set(root, "permutation_bytes", bytes_json(bytes.permutation));
    return root;
}
