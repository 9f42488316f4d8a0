/* SPDX-License-Identifier: Apache-2.0 */
/* Goals of the study of storage by blocks, over blocky matrices that do not lie in the cache. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness_block.h"
#include "harness_goal.h"

typedef enum measure {
    OVER_CUSPARSE,
    OVER_SELL,
    OVER_FP64,
    OF_ITS_BYTES, /* the speed-up over FP64 CSR, by the one that the bytes of both predict */
    STORED,
    SETUP
} measure;

static const char *const measure_names[] = {"over cusparse-csr", "over cusparse-sell", "over csr-fp64",
                                            "of its bytes",      "bytes of csr",       "set-up in products"};

enum { MAX_KERNELS = 7 };
#define BASES "pbp-csr", "pbp-ellr", "pbp-sell", "pbp-dia", "pbp-csr-sell", "pbp-csr-dia", "pbp-auto"

typedef struct block_goal {
    const char *name;
    const char *kernels[MAX_KERNELS]; /* of several the best one of each matrix */
    measure what;
    bench_statistic statistic;
    double bound;
} block_goal;

static const block_goal goals[] = {
    {"tiles", {"tiles"}, OVER_CUSPARSE, BENCH_GEOMETRIC, 2.0},
    {"tiles", {"tiles"}, OVER_SELL, BENCH_GEOMETRIC, 1.5},
    {"tiles", {"tiles"}, OVER_FP64, BENCH_GEOMETRIC, 1.4},
    {"pbp, the best base", {BASES}, OVER_CUSPARSE, BENCH_GEOMETRIC, 1.5},
    {"pbp-auto", {"pbp-auto"}, OVER_CUSPARSE, BENCH_GEOMETRIC, 1.5},
    {"pbp-csr", {"pbp-csr"}, OF_ITS_BYTES, BENCH_WORST, 0.94},
    {"pbp-ellr", {"pbp-ellr"}, OF_ITS_BYTES, BENCH_WORST, 0.94},
    {"pbp-sell", {"pbp-sell"}, OF_ITS_BYTES, BENCH_WORST, 0.94},
    {"pbp-dia", {"pbp-dia"}, OF_ITS_BYTES, BENCH_WORST, 0.94},
    {"pbp-csr", {"pbp-csr"}, STORED, BENCH_GEOMETRIC, 0.88},
    {"pbp, the best base", {BASES}, STORED, BENCH_GEOMETRIC, 0.78},
    {"tiles", {"tiles"}, STORED, BENCH_GEOMETRIC, 0.60},
    {"pbp-csr", {"pbp-csr"}, SETUP, BENCH_GEOMETRIC, 5.0},
    {"pbp-ellr", {"pbp-ellr"}, SETUP, BENCH_GEOMETRIC, 5.0},
    {"pbp-sell", {"pbp-sell"}, SETUP, BENCH_GEOMETRIC, 5.0},
    {"tiles", {"tiles"}, SETUP, BENCH_GEOMETRIC, 10.0},
};

static double value_of(const bench_block_result *r, measure what)
{
    switch (what) {
    case OVER_CUSPARSE: return r->over_cusparse;
    case OVER_SELL: return r->over_sell;
    case OVER_FP64: return r->over_fp64;
    case OF_ITS_BYTES: return r->of_its_bytes;
    case STORED: return r->stored_ratio;
    default: return r->setup;
    }
}

static bool is_named(const block_goal *g, const char *name)
{
    for (int k = 0; k < MAX_KERNELS; k++) {
        if (g->kernels[k] && strcmp(g->kernels[k], name) == 0) { return true; }
    }
    return false;
}

/* NaN: none of them ran. */
static double best_of(const block_goal *g, bool at_most, const bench_contestant *list, int count,
                      const bench_block_record *record)
{
    double best = NAN;

    for (int i = 0; i < count; i++) {
        const bench_block_result *r = &record->of[i];

        if (!r->ran || !is_named(g, list[i].name)) { continue; }
        best = at_most ? fmin(best, value_of(r, g->what)) : fmax(best, value_of(r, g->what));
    }
    return best;
}

void bench_block_report_goals(bench_run *run, const bench_contestant *list, int count,
                              const bench_block_records *records)
{
    json_t *rows = json_array();

    json_object_set_new(run->root, "goals", rows);
    if (bench_block_count(records, true) == 0) { return; }
    printf("\ngoals, over blocky matrices that do not lie in the cache\n");
    for (size_t k = 0; k < sizeof goals / sizeof goals[0]; k++) {
        const block_goal *g = &goals[k];
        const bool at_most = g->what == STORED || g->what == SETUP;
        const bench_goal goal = {measure_names[g->what], g->statistic, at_most, g->bound};
        bench_reached reached = {.worst = 0.0};

        for (int m = 0; m < records->count; m++) {
            const bench_block_record *r = &records->items[m];

            if (bench_block_counts(r, true)) {
                bench_goal_add(&goal, r->name, best_of(g, at_most, list, count, r), &reached);
            }
        }
        bench_goal_report(&goal, g->name, &reached, rows);
    }
}
