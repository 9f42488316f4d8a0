/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and goals of the study of split and composite storage, from what one run measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness_goal.h"
#include "harness_split.h"

/* ---- Table II: by density ---- */

enum { CLASSES = 6 };
static const double class_ends[CLASSES] = {0.5, 1.0, 2.5, 5.0, INFINITY, INFINITY}; /* the last one holds all */
static const char *const class_names[CLASSES] = {"below 0.5", "0.5 to 1", "1 to 2.5", "2.5 to 5", "above 5", "all"};

static bool in_class(const bench_split_record *r, int class)
{
    if (r->left_out) { return false; }
    if (class == CLASSES - 1) { return true; }
    return r->density < class_ends[class] && (class == 0 || r->density >= class_ends[class - 1]);
}

static void add_class(json_t *rows, const bench_split_records *records, const bench_contestant *c, int index, int class)
{
    bench_mean speedup = {0}, residual = {0};
    json_t *row = NULL;

    for (int m = 0; m < records->count; m++) {
        const bench_split_result *r = &records->items[m].of[index];

        if (!r->ran || !in_class(&records->items[m], class)) { continue; }
        bench_mean_add(&speedup, r->speedup);
        if (r->residual > 0.0 && isfinite(r->residual)) { bench_mean_add(&residual, r->residual); }
    }
    if (speedup.count == 0) { return; }
    printf("  %-10s %-34s %8d %9.3f", class_names[class], c->name, speedup.count, bench_mean_value(&speedup));
    if (residual.count > 0) { printf(" %10.2e (%d)", bench_mean_value(&residual), residual.count); }
    putchar('\n');
    row = json_pack("{s:s, s:s, s:i, s:f, s:i}", "density", class_names[class], "kernel", c->name, "matrices",
                    speedup.count, "speedup", bench_mean_value(&speedup), "residuals", residual.count);
    json_object_set_new(row, "relative_residual",
                        residual.count > 0 ? json_real(bench_mean_value(&residual)) : json_null());
    json_array_append_new(rows, row);
}

static json_t *count_not_slower(const bench_contestant *list, int count, const bench_split_records *records)
{
    json_t *rows = json_object();

    printf("\nmatrices that are not slower than %s, of all that ran\n", list[BENCH_SPLIT_FP64].name);
    for (int i = BENCH_SPLIT_ENTRY; i < count; i++) {
        int faster = 0, ran = 0;

        for (int m = 0; m < records->count; m++) {
            const bench_split_result *r = &records->items[m].of[i];

            ran += r->ran;
            faster += r->ran && r->speedup >= 1.0;
        }
        printf("  %-45s %4d of %d\n", list[i].name, faster, ran);
        json_object_set_new(rows, list[i].name, json_pack("{s:i, s:i}", "not_slower", faster, "matrices", ran));
    }
    return rows;
}

void bench_split_report_classes(bench_run *run, const bench_contestant *list, int count,
                                const bench_split_records *records)
{
    json_t *rows = json_array();

    printf("\ngeometric means by density (nonzeros / (rows x columns) x 10,000); residuals of zero have no mean\n");
    printf("  %-10s %-34s %8s %9s %10s\n", "density", "kernel", "matrices", "speed-up", "residual");
    for (int class = 0; class < CLASSES; class ++) {
        for (int i = BENCH_SPLIT_CUSPARSE; i < count; i++) {
            add_class(rows, records, &list[i], i, class);
        }
    }
    json_object_set_new(run->root, "density_classes", rows);
    json_object_set_new(run->root, "not_slower", count_not_slower(list, count, records));
}

/* ---- goals ---- */

typedef enum measure {
    OF_ITS_BYTES, /* measured speed-up over the one that the bytes predict */
    SPEEDUP,
    OVER_CUSPARSE,
    SETUP /* in products of FP64 */
} measure;

typedef struct split_goal {
    const char *kernel; /* how its name begins; * stands for the base's */
    const char *matrix; /* NULL: all */
    measure what;
    bench_statistic statistic;
    double bound;
} split_goal;

static const split_goal goals[] = {
    {"*-fp32", NULL, OF_ITS_BYTES, BENCH_WORST, 0.92},
    {"*-fp32", NULL, SPEEDUP, BENCH_GEOMETRIC, 1.30},
    {"split-row", NULL, OF_ITS_BYTES, BENCH_WORST, 0.94},
    {"split-row", NULL, SPEEDUP, BENCH_WORST, 0.97},
    {"split-row", "rowscale-75", SPEEDUP, BENCH_WORST, 1.25},
    {"split-row", "rowscale-100", SPEEDUP, BENCH_WORST, 1.35},
    {"split-row", "rowscale-75", OVER_CUSPARSE, BENCH_WORST, 1.30 * 1.25},
    {"split-row", "rowscale-100", OVER_CUSPARSE, BENCH_WORST, 1.30 * 1.35},
    {"split-row", NULL, SETUP, BENCH_WORST, 10.0},
    {"composite-row", NULL, OF_ITS_BYTES, BENCH_WORST, 0.94},
    {"composite-row", NULL, SPEEDUP, BENCH_WORST, 0.97},
    {"composite-row", "rowscale-75", SPEEDUP, BENCH_WORST, 1.25},
    {"composite-row", "rowscale-100", SPEEDUP, BENCH_WORST, 1.35},
    {"composite-row", "rowscale-75", OVER_CUSPARSE, BENCH_WORST, 1.30 * 1.25},
    {"composite-row", "rowscale-100", OVER_CUSPARSE, BENCH_WORST, 1.30 * 1.35},
    {"composite-row", NULL, SETUP, BENCH_WORST, 10.0},
};

static const char *const measure_names[] = {"of its bytes", "speed-up", "over cusparse-csr", "set-up in products"};

static double value_of(const bench_split_result *r, measure what)
{
    switch (what) {
    case OF_ITS_BYTES: return r->speedup / r->predicted;
    case SPEEDUP: return r->speedup;
    case OVER_CUSPARSE: return r->over_cusparse;
    default: return r->setup_in_spmvs;
    }
}

static bool is_of(const split_goal *g, const char *name)
{
    if (g->kernel[0] == '*') { return strstr(name, g->kernel + 1) != NULL; }
    return strncmp(name, g->kernel, strlen(g->kernel)) == 0;
}

static void report_goal(const split_goal *g, const char *kernel, int index, const bench_split_records *records,
                        json_t *rows)
{
    const bench_goal goal = {measure_names[g->what], g->statistic, g->what == SETUP, g->bound};
    bench_reached reached = {.worst = 0.0};

    for (int m = 0; m < records->count; m++) {
        const bench_split_record *r = &records->items[m];

        if (!r->of[index].ran || r->in_cache || r->left_out || (g->matrix && strcmp(g->matrix, r->name) != 0)) {
            continue;
        }
        bench_goal_add(&goal, r->name, value_of(&r->of[index], g->what), &reached);
    }
    bench_goal_report(&goal, kernel, &reached, rows);
}

void bench_split_report_goals(bench_run *run, const bench_contestant *list, int count,
                              const bench_split_records *records)
{
    json_t *rows = json_array();

    printf("\ngoals, over matrices that do not lie in the cache\n");
    for (size_t k = 0; k < sizeof goals / sizeof goals[0]; k++) {
        for (int i = BENCH_SPLIT_FP32; i < count; i++) {
            if (is_of(&goals[k], list[i].name)) { report_goal(&goals[k], list[i].name, i, records, rows); }
        }
    }
    json_object_set_new(run->root, "goals", rows);
}
