/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the studies of storage by blocks, and their options. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/block.h"
#include "papers/published_products.h"
#include "peers/cusparse_products.h"

/* ---- contestants ---- */

/* Blocks of `rows` by `cols`, low below f (mean + 3 std). */
static bench_contestant by_blocks(tess_format format, tess_format base, double f, int rows, int cols)
{
    return (bench_contestant){.ours = true,
                              .storage = {.format = format,
                                          .split.base = base,
                                          .policy = {.granularity = TESS_GRANULARITY_BLOCK,
                                                     .policy = TESS_POLICY_MEAN_3STD,
                                                     .parameter = f,
                                                     .block_rows = rows,
                                                     .block_cols = cols}}};
}

/* Tiles and split by blocks over each base; `suffix` ends their names. */
static int add_all(bench_contestant *list, int count, double f, int rows, int cols, const char *suffix)
{
    static const struct {
        const char *name;
        tess_format format, base;
    } kinds[] = {{"tiles", TESS_FORMAT_TILES, TESS_FORMAT_CSR},
                 {"pbp-csr", TESS_FORMAT_SPLIT, TESS_FORMAT_CSR},
                 {"pbp-ellr", TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR},
                 {"pbp-sell", TESS_FORMAT_SPLIT, TESS_FORMAT_SELL},
                 {"pbp-dia", TESS_FORMAT_SPLIT, TESS_FORMAT_DIA}};

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        list[count] = by_blocks(kinds[k].format, kinds[k].base, f, rows, cols);
        snprintf(list[count].name, sizeof list->name, "%s%s", kinds[k].name, suffix);
        count += 1;
    }
    return count;
}

/* Splits whose parts have different bases, and what --base auto takes. */
static int add_mixed(bench_contestant *list, int count)
{
    static const struct {
        const char *name;
        tess_format base, low_base;
    } kinds[] = {{"pbp-csr-sell", TESS_FORMAT_CSR, TESS_FORMAT_SELL},
                 {"pbp-csr-dia", TESS_FORMAT_CSR, TESS_FORMAT_DIA},
                 {"pbp-auto", TESS_FORMAT_AUTO, TESS_FORMAT_AUTO}};

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        list[count] = by_blocks(TESS_FORMAT_SPLIT, kinds[k].base, 0.5, 16, 16);
        list[count].storage.split.low_base = kinds[k].low_base;
        snprintf(list[count].name, sizeof list->name, "%s", kinds[k].name);
        count += 1;
    }
    return count;
}

/* Formats by block and the four kernels of the paper. */
static int add_paper(bench_contestant *list, int count, double low, double high, const char *name)
{
    list[count] = by_blocks(TESS_FORMAT_TILES, TESS_FORMAT_CSR, 0.5, 16, 16);
    tess_papers_storage_init(&list[count].papers);
    list[count].papers.kernel = TESS_KERNEL_PAPER;
    list[count].papers.tcki_thresholds = (tess_tcki_thresholds){.low = low, .high = high};
    snprintf(list[count].name, sizeof list->name, "%s", name);
    return count + 1;
}

/* The layout of Yang et al. 2024, in the same precisions. */
static int add_resident(bench_contestant *list, int count)
{
    list[count] = by_blocks(TESS_FORMAT_TILES, TESS_FORMAT_CSR, 0.5, 16, 16);
    tess_papers_storage_init(&list[count].papers);
    list[count].papers.layout = TESS_LAYOUT_RESIDENT;
    snprintf(list[count].name, sizeof list->name, "tiles-resident");
    return count + 1;
}

static int add_goals(bench_contestant *list, int count)
{
    list[count++] = (bench_contestant){.name = "cusparse-csr-alg2", .kind = BENCH_CUSPARSE_CSR_ALG2};
    list[count++] = (bench_contestant){.name = "cusparse-sell", .kind = BENCH_CUSPARSE_SELL};
    list[count++] = (bench_contestant){
        .name = "merge-csr-reimplemented", .run = bench_block_run_published, .kind = BENCH_PEER_MERGE};
    list[count++] = (bench_contestant){
        .name = "balanced-csr-reimplemented", .run = bench_block_run_published, .kind = BENCH_PEER_BALANCED};
    list[count++] = (bench_contestant){.name = "sell-fp64", .ours = true, .storage = {.format = TESS_FORMAT_SELL}};
    count = add_all(list, count, 0.5, 16, 16, "");
    count = add_mixed(list, count);
    count = add_resident(list, count);
    return add_paper(list, count, 0.0, 0.0, "tiles-paper"); /* the paper's thresholds */
}

static int add_factors(bench_contestant *list, int count)
{
    for (int tenths = 1; tenths <= 9; tenths++) {
        char suffix[16];

        snprintf(suffix, sizeof suffix, "-f0.%d", tenths);
        count = add_all(list, count, 0.1 * tenths, 16, 16, suffix);
    }
    return count;
}

static int add_shapes(bench_contestant *list, int count)
{
    for (int k = 0; k < 4; k++) {
        const int rows = (k & 2) != 0 ? 32 : 16, cols = (k & 1) != 0 ? 32 : 16;
        char suffix[16];

        snprintf(suffix, sizeof suffix, "-%dx%d", rows, cols);
        count = add_all(list, count, 0.5, rows, cols, suffix);
    }
    return count;
}

static int add_thresholds(bench_contestant *list, int count)
{
    for (int k = 0; k < 9; k++) {
        const double low = 0.1 * (k / 3 + 1), high = 0.9 + 0.05 * (k % 3);
        char name[32];

        snprintf(name, sizeof name, "tiles-paper-%.1f-%.2f", low, high);
        count = add_paper(list, count, low, high, name);
    }
    return count;
}

static int add_setups(bench_contestant *list, int count)
{
    return add_all(list, add_resident(list, count), 0.5, 16, 16, "");
}

/* ---- parts ---- */

static const bench_block_study studies[] = {
    {"goals", "against FP64 (Figs. 6, 7), bytes (Fig. 8), set-up (Fig. 9)", add_goals, false},
    {"factor", "the factor f of the range (Fig. 4)", add_factors, false},
    {"shape", "the sides of a block (section 3.1.1)", add_shapes, false},
    {"thresholds", "where formats of blocks change, t_l and t_u (Fig. 5)", add_thresholds, false},
    {"setup", "what set-up is made of (Fig. 9)", add_setups, true},
};
enum { STUDIES = sizeof studies / sizeof studies[0] };

const bench_block_study *bench_block_study_at(int index)
{
    return index < STUDIES ? &studies[index] : NULL;
}

/* Whether a name matches one of the patterns of a list. */
static bool is_chosen(const char *patterns, const char *name)
{
    char text[256], *rest = NULL;
    bool chosen = false;

    snprintf(text, sizeof text, "%s", patterns);
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        chosen = chosen || fnmatch(word, name, 0) == 0;
    }
    return chosen;
}

int bench_block_choose(const char *patterns, bench_contestant *list, int count)
{
    int kept = BENCH_BLOCK_OTHERS;

    for (int i = BENCH_BLOCK_OTHERS; i < count && patterns; i++) {
        if (is_chosen(patterns, list[i].name)) { list[kept++] = list[i]; }
    }
    return patterns ? kept : count;
}

int bench_block_contestants(const bench_block_study *study, bench_contestant *list)
{
    memset(list, 0, BENCH_BLOCK_MAX * sizeof *list);
    list[BENCH_BLOCK_FP64] = (bench_contestant){.name = "csr-fp64", .ours = true};
    list[BENCH_BLOCK_CUSPARSE] = (bench_contestant){.name = "cusparse-csr", .kind = BENCH_CUSPARSE_CSR};
    return study->add(list, BENCH_BLOCK_OTHERS);
}

/* ---- options ---- */

enum { KEY_PRODUCT = 700, KEY_CONTESTANT };

const struct argp_option bench_block_table[] = {
    {"product", KEY_PRODUCT, "KERNEL", 0,
     "only one product of this kernel of the first part with each matrix, for profilers", 0},
    {"contestant", KEY_CONTESTANT, "LIST", 0, "names and patterns beside the two of CSR (default: those of the part)",
     0},
    {0}};

error_t bench_block_parse(int key, char *arg, struct argp_state *state)
{
    bench_block_options *o = state->input;

    switch (key) {
    case KEY_PRODUCT: o->product = arg; return 0;
    case KEY_CONTESTANT: o->contestants = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}
