/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the study of split and composite storage, and its options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/split.h"

/* ---- who takes part ---- */

bool bench_split_has_policy(const bench_contestant *c)
{
    return c->ours && c->storage.policy.policy != TESS_POLICY_NONE;
}

/* NAME-permuted: y in the format's row order; NAME-shadow: products in FP32 of the shadow of x, sums in FP64. */
static bench_contestant mixed(const char *name, const bench_split_options *o, tess_format format, bool permuted,
                              bool shadow)
{
    bench_contestant c = {.ours = true, .vectors = TESS_PRECISION_FP64};

    c.storage = (tess_storage_options){.size = sizeof(tess_storage_options),
                                       .format = format,
                                       .arithmetic = shadow ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64,
                                       .policy = o->rows,
                                       .split.base = o->base,
                                       .split.row_order = permuted ? TESS_ROW_ORDER_PERMUTED : TESS_ROW_ORDER_ORIGINAL};
    snprintf(c.name, sizeof c.name, "%s%s%s", name, permuted ? "-permuted" : "", shadow ? "-shadow" : "");
    return c;
}

static bool any_scaled(const tess_policy_options *policy)
{
    for (int l = 0; l < policy->nlevels; l++) {
        if (policy->level[l].scaled) { return true; }
    }
    return false;
}

/* The whole matrix in one precision: in the base's own format, and as a split of a single level, whose products are
 * FP32. */
static void add_whole(const bench_split_options *o, bench_contestant *list)
{
    const char *base = tess_format_name(o->base);
    char name[40];

    list[BENCH_SPLIT_FP64] = (bench_contestant){.ours = true, .storage = {.format = o->base}};
    snprintf(list[BENCH_SPLIT_FP64].name, sizeof list->name, "%s-fp64", base);
    list[BENCH_SPLIT_CUSPARSE] = (bench_contestant){.name = "cusparse-csr"};
    list[BENCH_SPLIT_FP32] =
        (bench_contestant){.ours = true, .storage = {.format = o->base, .precision = TESS_PRECISION_FP32}};
    snprintf(name, sizeof name, "%s-fp32", base);
    snprintf(list[BENCH_SPLIT_FP32].name, sizeof list->name, "%s", name);
    list[BENCH_SPLIT_FP32_SHADOW] = mixed(name, o, TESS_FORMAT_SPLIT, false, true);
    list[BENCH_SPLIT_FP32_SHADOW].storage.policy =
        (tess_policy_options){.granularity = TESS_GRANULARITY_ROW, .nlevels = 1, .level = {{TESS_PRECISION_FP32, 0}}};
}

/* The same storage by the paper's kernels, CSR-Vector. */
static int add_papers(const bench_split_options *o, bench_contestant *list, int count)
{
    for (int k = 0; k < 4; k++) {
        const bool by_rows = k < 2;

        if (!by_rows && any_scaled(&o->entries)) { continue; }
        list[count] = mixed(by_rows ? "paper-row" : "paper-entry", o, TESS_FORMAT_SPLIT, false, k % 2 != 0);
        tess_papers_storage_init(&list[count].papers);
        list[count].papers.kernel = TESS_KERNEL_PAPER;
        if (!by_rows) { list[count].storage.policy = o->entries; }
        count += 1;
    }
    return count;
}

int bench_split_contestants(const bench_split_options *o, bench_contestant *list)
{
    int count = BENCH_SPLIT_ENTRY;

    add_whole(o, list);
    for (int shadow = 0; shadow < 2 && !any_scaled(&o->entries); shadow++) {
        list[count] = mixed("split-entry", o, TESS_FORMAT_SPLIT, false, shadow != 0);
        list[count++].storage.policy = o->entries;
    }
    for (int k = 0; k < 4; k++) {
        list[count++] = mixed("split-row", o, TESS_FORMAT_SPLIT, (k & 1) != 0, (k & 2) != 0);
    }
    for (int k = 0; k < 4; k++) {
        list[count++] = mixed("composite-row", o, TESS_FORMAT_COMPOSITE, (k & 1) != 0, (k & 2) != 0);
    }
    return o->base == TESS_FORMAT_CSR ? add_papers(o, list, count) : count;
}

/* ---- options ---- */

enum { KEY_POLICY = 700, KEY_SHARE, KEY_LEVELS, KEY_ENTRY, KEY_BASE, KEY_PROTOCOL, KEY_PRODUCT };

const struct argp_option bench_split_table[] = {
    {"policy", KEY_POLICY, "NAME[:X]", 0, "by rows: fixed-range[:R] or mean-range[:F] (default mean-range:0.1)", 0},
    {"share", KEY_SHARE, "P|at-most-one", 0,
     "percent of a row's values that must be in the range (default at-most-one)", 0},
    {"levels", KEY_LEVELS, "HIGH,..,LOW", 0, "precisions (default fp64,fp32; with P:scaled by rows alone)", 0},
    {"entry-policy", KEY_ENTRY, "NAME[:X]", 0, "by entries (default fixed-range:1)", 0},
    {"base", KEY_BASE, "csr|ellr", 0, "format of the parts, and of FP64 and FP32 (default csr)", 0},
    {"protocol", KEY_PROTOCOL, "tezcan", 0,
     "as published: y := y + A x from 0, x in (-5, 5), 200 FP64 products before each matrix, those with less than 10 % "
     "of "
     "their nonzeros low left out",
     0},
    {"product", KEY_PRODUCT, "KERNEL", 0, "only one product of this kernel with each matrix, for profilers", 0},
    {0}};

void bench_split_options_init(bench_split_options *o)
{
    memset(o, 0, sizeof *o);
    tess_policy_options_init(&o->rows);
    (void)tess_precision_levels_parse("fp64,fp32", &o->rows); /* the models of bytes and errors read the levels */
    o->rows.policy = TESS_POLICY_MEAN_RANGE;
    o->rows.parameter = 0.1;
    o->rows.at_most_one = 1; /* the tables come from the published code */
    o->entries = o->rows;
    o->entries.granularity = TESS_GRANULARITY_ENTRY;
    o->entries.policy = TESS_POLICY_FIXED_RANGE;
    o->entries.parameter = 1.0;
}

void bench_read_policy(struct argp_state *state, const char *text, tess_policy_options *policy)
{
    if (tess_policy_options_parse(text, policy) != TESS_SUCCESS || policy->policy == TESS_POLICY_NONE) {
        argp_error(state, "'%s' is neither fixed-range[:R] nor mean-range[:F]", text);
    }
}

void bench_read_levels(struct argp_state *state, const char *text, tess_policy_options *policy)
{
    if (tess_precision_levels_parse(text, policy) != TESS_SUCCESS) {
        argp_error(state, "'%s' is not a list of up to %d precisions such as fp64,fp32", text, (int)TESS_MAX_LEVELS);
    }
}

const char *bench_levels_text(const tess_policy_options *policy, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int l = 0; l < policy->nlevels && used < size; l++) {
        used +=
            (size_t)snprintf(buffer + used, size - used, "%s%s%s", l == 0 ? "" : ",",
                             tess_precision_name(policy->level[l].precision), policy->level[l].scaled ? ":scaled" : "");
    }
    return buffer;
}

void bench_read_share(struct argp_state *state, const char *text, tess_policy_options *policy)
{
    char *end = NULL;

    policy->at_most_one = strcmp(text, "at-most-one") == 0;
    if (policy->at_most_one) { return; }
    policy->share = strtod(text, &end);
    if (*end != '\0' || !(policy->share > 0.0 && policy->share <= 100.0)) {
        argp_error(state, "--share: '%s' is neither a percentage nor at-most-one", text);
    }
}

static tess_format read_base(struct argp_state *state, const char *text)
{
    if (strcmp(text, "ellr") == 0) { return TESS_FORMAT_ELLR; }
    if (strcmp(text, "csr") != 0) { argp_error(state, "--base: '%s' is neither csr nor ellr", text); }
    return TESS_FORMAT_CSR;
}

error_t bench_split_parse(int key, char *arg, struct argp_state *state)
{
    bench_split_options *o = state->input;

    switch (key) {
    case KEY_POLICY: bench_read_policy(state, arg, &o->rows); return 0;
    case KEY_SHARE: bench_read_share(state, arg, &o->rows); return 0;
    case KEY_LEVELS:
        bench_read_levels(state, arg, &o->rows);
        bench_read_levels(state, arg, &o->entries);
        return 0;
    case KEY_ENTRY: bench_read_policy(state, arg, &o->entries); return 0;
    case KEY_PRODUCT: o->product = arg; return 0;
    case KEY_BASE: o->base = read_base(state, arg); return 0;
    case KEY_PROTOCOL:
        if (strcmp(arg, "tezcan") != 0) { argp_error(state, "--protocol: there is tezcan, not '%s'", arg); }
        o->tezcan = true;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}
