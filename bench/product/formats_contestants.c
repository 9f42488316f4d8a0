/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the SpMV benchmark, and its own options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "product/formats.h"
#ifdef BENCH_CUDA
#include "peers/cusparse_products.h"
#endif

/* ---- who takes part ---- */

static void name_contestant(bench_contestant *c, const char *format, tess_precision precision)
{
    const bool fp32 = c->vectors == TESS_PRECISION_FP32, pairs = c->storage.arithmetic == TESS_ARITHMETIC_FP32X2;
    const char *suffix = pairs                                           ? "-fp32x2"
                         : !fp32                                         ? ""
                         : c->storage.arithmetic == TESS_ARITHMETIC_FP64 ? "-fp64-on-fp32"
                                                                         : "-all-fp32";

    snprintf(c->name, sizeof c->name, "%s-%s%s", format, tess_precision_name(precision), suffix);
}

/* One precision for all entries: that of a single level, in a format in parts. */
static void store_in(tess_storage_options *storage, tess_precision precision)
{
    if (!tess_format_can(storage->format)->takes_parts) {
        storage->precision = precision;
        return;
    }
    storage->policy.nlevels = 1;
    storage->policy.level[0].precision = precision;
}

static void add_ours(bench_contestant *list, int *count, const formats_options *o, tess_format format,
                     tess_precision precision)
{
    const bool padded = tess_format_can(format)->pads != 0;
    bench_contestant c = {.ours = true, .vectors = TESS_PRECISION_FP64};

    c.storage = (tess_storage_options){.size = sizeof(tess_storage_options),
                                       .format = format,
                                       .slices.max_padding = o->max_padding,
                                       .slices.window = o->window};
    store_in(&c.storage, precision);
    name_contestant(&c, tess_format_name(format), precision);
    list[(*count)++] = c;
    if (o->pairs && ((unsigned)tess_format_can(format)->arithmetics >> TESS_ARITHMETIC_FP32X2 & 1U) != 0) {
        c.storage.arithmetic = TESS_ARITHMETIC_FP32X2;
        name_contestant(&c, tess_format_name(format), precision);
        list[(*count)++] = c;
        c.storage.arithmetic = TESS_ARITHMETIC_FP64;
    }
    if (!padded || precision != TESS_PRECISION_FP32) { return; }
    c.vectors = TESS_PRECISION_FP32;
    name_contestant(&c, tess_format_name(format), precision);
    list[(*count)++] = c;
    c.storage.arithmetic = TESS_ARITHMETIC_FP32;
    name_contestant(&c, tess_format_name(format), precision);
    list[(*count)++] = c;
}

/* Entries in the precisions that a policy gives them. */
static void add_by_policy(bench_contestant *list, int *count, tess_format format, const char *policy)
{
    bench_contestant c = {.ours = true, .vectors = TESS_PRECISION_FP64};

    if (!tess_format_can(format)->takes_parts) { return; }
    c.storage = (tess_storage_options){.size = sizeof(tess_storage_options), .format = format};
    (void)tess_policy_options_parse(policy, &c.storage.policy);
    snprintf(c.name, sizeof c.name, "%s-%s", tess_format_name(format), policy);
    list[(*count)++] = c;
}

bool formats_has_fp32_vectors(const bench_contestant *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (list[i].vectors == TESS_PRECISION_FP32) { return true; }
    }
    return false;
}

#ifdef BENCH_CUDA
static void add_cusparse(bench_contestant *list, int *count, tess_precision precision)
{
    for (int kind = 0; kind < BENCH_CUSPARSE_KINDS; kind++) {
        bench_contestant c = {.kind = kind, .vectors = precision, .storage = {.precision = precision}};

        snprintf(c.name, sizeof c.name, "%s%s", bench_cusparse_name((bench_cusparse_kind)kind),
                 precision == TESS_PRECISION_FP32 ? "-fp32" : "");
        list[(*count)++] = c;
    }
}
#endif

int formats_contestants(const formats_options *o, bool gpu, bench_contestant *list)
{
    int count = 0;

    for (int f = 0; f < o->nformats; f++) {
        for (int p = 0; p < o->nprecisions; p++) {
            add_ours(list, &count, o, o->formats[f], o->precisions[p]);
        }
        for (int p = 0; p < o->npolicies; p++) {
            add_by_policy(list, &count, o->formats[f], o->policies[p]);
        }
    }
#ifdef BENCH_CUDA
    bool fp32 = formats_has_fp32_vectors(list, count);

    if (gpu) { add_cusparse(list, &count, TESS_PRECISION_FP64); }
    if (gpu && fp32) { add_cusparse(list, &count, TESS_PRECISION_FP32); }
#else
    (void)gpu;
#endif
    return count;
}

/* ---- options ---- */

enum { KEY_FORMAT = 700, KEY_PRECISION, KEY_POLICY, KEY_PADDING, KEY_WINDOW, KEY_PAIRS };

const struct argp_option formats_table[] = {
    {"format", KEY_FORMAT, "NAME[,NAME..]", 0,
     "formats: csr, ellr, sell, dia, bsr, tiles, packed, auto; may be repeated (default csr)", 0},
    {"precision", KEY_PRECISION, "P[,P..]", 0,
     "storage precisions; may be repeated; those that a format does not have are skipped (default fp64,fp32)", 0},
    {"policy", KEY_POLICY, "NAME[:X]", 0, "formats in parts: entries by this policy, too; may be repeated", 0},
    {"max-padding", KEY_PADDING, "R", 0, "ellr, sell, dia, bsr: the most entries stored per nonzero (default 3)", 0},
    {"pairs", KEY_PAIRS, NULL, 0, "csr, dia: also with sums in pairs of fp32 numbers", 0},
    {"sell-window", KEY_WINDOW, "N", 0, "sell: rows of a sorting window (default 256)", 0},
    {0}};

static void add_formats(struct argp_state *state, formats_options *o, char *text)
{
    char *rest = NULL;

    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (o->nformats == BENCH_FORMATS || tess_format_parse(name, &o->formats[o->nformats++]) != TESS_SUCCESS) {
            argp_error(state, "--format: '%s' is unknown, or one too many", name);
        }
    }
}

static void add_precisions(struct argp_state *state, formats_options *o, char *text)
{
    char *rest = NULL;

    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (o->nprecisions == TESS_PRECISION_COUNT ||
            tess_precision_parse(name, &o->precisions[o->nprecisions++]) != TESS_SUCCESS) {
            argp_error(state, "--precision: '%s' is unknown, or one too many", name);
        }
    }
}

static void add_policy(struct argp_state *state, formats_options *o, const char *text)
{
    tess_policy_options policy = {.nlevels = 0};

    if (o->npolicies == BENCH_POLICIES || tess_policy_options_parse(text, &policy) != TESS_SUCCESS) {
        argp_error(state, "--policy: '%s' is no policy, or one too many", text);
    }
    o->policies[o->npolicies++] = text;
}

error_t formats_parse(int key, char *arg, struct argp_state *state)
{
    formats_options *o = state->input;
    char *end = NULL;

    switch (key) {
    case KEY_FORMAT: add_formats(state, o, arg); return 0;
    case KEY_PRECISION: add_precisions(state, o, arg); return 0;
    case KEY_POLICY: add_policy(state, o, arg); return 0;
    case KEY_PAIRS: o->pairs = true; return 0;
    case KEY_PADDING:
        o->max_padding = strtod(arg, &end);
        if (*end != '\0' || !(o->max_padding >= 1.0)) { argp_error(state, "--max-padding: '%s' is not above 1", arg); }
        return 0;
    case KEY_WINDOW:
        o->window = strtol(arg, &end, 10);
        if (*end != '\0' || o->window < 1) { argp_error(state, "--sell-window: '%s' is no number of rows", arg); }
        return 0;
    case ARGP_KEY_END:
        for (int k = 0; k < o->nusual && o->nformats <= k; k++) {
            o->formats[o->nformats++] = o->usual[k];
        }
        if (o->nformats == 0) { o->formats[o->nformats++] = TESS_FORMAT_CSR; }
        if (o->nprecisions == 0) {
            o->precisions[o->nprecisions++] = TESS_PRECISION_FP64;
            o->precisions[o->nprecisions++] = TESS_PRECISION_FP32;
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}
