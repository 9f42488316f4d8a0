/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = A x with one matrix in several precisions, by rows and by entries, against FP64: Tables I and II and Figures 13
 * and 14 of Tezcan et al. (2022). Results are checked twice before times count: against the exact product of the stored
 * values, and against the product in FP64, by the bound that storing the matrix so allows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/one_product.h"
#include "papers/papers.h"
#include "papers/set_up.h"
#include "papers/split.h"

enum { WARM_UP = 200 };
static const double least_low_share = 0.10; /* of the protocol */

/* One matrix under test. */
typedef struct trial {
    bench_trial of;
    const bench_split_options *options;
    const bench_contestant *list;
    int count;
    bench_split_levels rows, entries;
    double *y64;     /* of FP64 */
    double y64_norm; /* Euclidean */
    double density;  /* nonzeros by rows and columns, in ten thousandths */
} trial;

/* ---- one contestant ---- */

static const bench_split_levels *levels_of(const trial *t, const bench_contestant *c)
{
    return c->storage.policy.granularity == TESS_GRANULARITY_ENTRY ? &t->entries : &t->rows;
}

static tess_status read_permutation(const bench_contestant *c, const tess_matrix *stored, int32_t **row_of)
{
    if (c->storage.split.row_order != TESS_ROW_ORDER_PERMUTED) { return TESS_SUCCESS; }
    *row_of = bench_allocate((size_t)tess_matrix_nrows(stored), sizeof **row_of);
    return tess_matrix_row_permutation(stored, *row_of);
}

/* The exact product of what is stored, with its bound. */
static tess_status make_exact(trial *t, const bench_contestant *c, const tess_matrix *stored, bench_product *out)
{
    bench_csr held = {0};
    uint8_t *low = NULL;
    tess_status status = bench_csr_get(stored, &held);

    if (status == TESS_SUCCESS) {
        low = bench_split_low(c, levels_of(t, c), &held);
        bench_split_make_product(&held, t->of.fp64.host_x, low, out);
    }
    free(low);
    bench_csr_free(&held);
    return status;
}

static tess_status measure_ours(trial *t, const bench_contestant *c, const tess_matrix *stored, double *y,
                                bench_outcome *o)
{
    bench_pairs *v = &t->of.fp64;
    bench_product_call call = {v, t->of.rotation.pairs, t->options->tezcan ? 1.0 : 0.0, stored};
    bench_product exact = {0};
    int32_t *row_of = NULL;
    tess_status status = read_permutation(c, stored, &row_of);
    const bench_expectation expected = {&exact, row_of, y};

    if (status == TESS_SUCCESS) { status = make_exact(t, c, stored, &exact); }
    if (status == TESS_SUCCESS) {
        o->bytes = bench_split_bytes(c, stored, t->options->tezcan);
        status = bench_trial_measure(&t->of, v, bench_product_run, &call, &expected, o);
    }
    bench_product_free(&exact);
    free(row_of);
    return status;
}

static tess_status run_ours(trial *t, const bench_contestant *c, double *y, bench_outcome *o)
{
    tess_matrix *stored = NULL;
    tess_status status = bench_trial_set_up(&t->of, c, o, &stored);

    if (status == TESS_SUCCESS) { status = measure_ours(t, c, stored, y, o); }
    tess_matrix_destroy(stored);
    return status == TESS_UNSUPPORTED ? TESS_SUCCESS : status;
}

static tess_status run_contestant(trial *t, const bench_contestant *c, double *y, bench_outcome *o)
{
    return c->ours ? run_ours(t, c, y, o) : bench_trial_theirs(&t->of, c, y, o);
}

/* ---- report ---- */

static double norm_of(int64_t n, const double *y)
{
    return sqrt((double)bench_exact_dot(n, y, y, NULL));
}

/* ||y - y64|| */
static double distance(int64_t n, const double *y, const double *y64)
{
    double *d = bench_allocate((size_t)n, sizeof *d), norm;

    for (int64_t i = 0; i < n; i++) {
        d[i] = y[i] - y64[i];
    }
    norm = norm_of(n, d);
    free(d);
    return norm;
}

/* Share of the nonzeros below the first level. */
static double low_share(const bench_split_levels *levels, int64_t nnz)
{
    return 1.0 - (double)levels->summary.nonzeros_at[0] / (double)nnz;
}

/* The residual against FP64 and its bound: above it something is wrong that the first check cannot see. */
static void report_row(trial *t, int index, const double *y, const bench_outcome *o)
{
    const bench_contestant *c = &t->list[index];
    const bench_split_levels *levels = levels_of(t, c);
    const double difference = distance(t->of.host.nrows, y, t->y64);
    const double bound = bench_split_bound(c, levels, &t->of.host, t->of.fp64.host_x);
    const bench_split_row line = {.trial = &t->of,
                                  .contestant = c,
                                  .outcome = o,
                                  .density = t->density,
                                  .low_share = bench_split_has_policy(c) ? low_share(levels, t->of.host.nnz) : NAN,
                                  .residual = difference == 0.0 ? 0.0 : difference / t->y64_norm,
                                  .bound = bound / t->y64_norm,
                                  .over_bound = difference == 0.0 ? 0.0 : difference / bound};

    bench_split_report(&line);
    if (line.over_bound > 1.0) {
        char text[128];

        snprintf(text, sizeof text, "%s: residual %.3g times its bound", c->name, line.over_bound);
        bench_fault(t->of.run, t->of.which->name, text, TESS_SUCCESS);
    }
}

/* ---- one matrix ---- */

static tess_status make_levels(trial *t)
{
    tess_status status = bench_split_levels_make(t->of.a, &t->options->rows, &t->rows);
    tess_policy_options entries = t->options->entries;

    for (int l = 0; l < entries.nlevels; l++) {
        entries.level[l].scaled = 0; /* then there is no contestant by entries; this assignment is not used */
    }
    return status == TESS_SUCCESS ? bench_split_levels_make(t->of.a, &entries, &t->entries) : status;
}

static tess_status warm_up(trial *t)
{
    tess_matrix *stored = NULL;
    const tess_storage_options storage = bench_contestant_storage(&t->list[BENCH_SPLIT_FP64]);
    tess_status status = tess_matrix_convert(t->of.a, &storage, &stored);

    for (int k = 0; k < WARM_UP && status == TESS_SUCCESS; k++) {
        status = tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, t->of.fp64.x[0], 0.0, t->of.fp64.y[0]);
    }
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(t->of.run->ctx); }
    tess_matrix_destroy(stored);
    return status == TESS_UNSUPPORTED ? TESS_SUCCESS : status;
}

/* FP64 first: the base of all that follows. Then cuSPARSE, then the others; false: no FP64, so nothing to compare with.
 */
static tess_status run_all(trial *t)
{
    double *y = bench_allocate((size_t)t->of.host.nrows, sizeof *y);
    bench_outcome first[2] = {{0}, {0}};
    tess_status status = run_contestant(t, &t->list[BENCH_SPLIT_FP64], t->y64, &first[0]);

    if (status == TESS_SUCCESS && first[0].ran) {
        status = run_contestant(t, &t->list[BENCH_SPLIT_CUSPARSE], y, &first[1]);
        t->y64_norm = norm_of(t->of.host.nrows, t->y64);
        report_row(t, BENCH_SPLIT_FP64, t->y64, &first[0]);
        if (first[1].ran) { report_row(t, BENCH_SPLIT_CUSPARSE, y, &first[1]); }
    }
    for (int i = BENCH_SPLIT_FP32; i < t->count && status == TESS_SUCCESS && first[0].ran; i++) {
        bench_outcome o = {0};

        status = run_contestant(t, &t->list[i], y, &o);
        if (status == TESS_SUCCESS && o.ran) { report_row(t, i, y, &o); }
    }
    free(y);
    return status;
}

/* Whether the protocol leaves the matrix out; then it is recorded as skipped. */
static bool is_left_out(const trial *t)
{
    const double share = low_share(&t->rows, t->of.host.nnz);
    char text[96];

    if (!t->options->tezcan || share >= least_low_share) { return false; }
    snprintf(text, sizeof text, "left out: %.1f %% of its nonzeros are low by rows", 100.0 * share);
    bench_skip(t->of.run, t->of.which->name, text);
    return true;
}

static void run_case(trial *t, bench_run *run, const bench_case *which)
{
    const bench_trial_options options = {.adds = t->options->tezcan, .reach = t->options->tezcan ? 5.0 : 1.0};
    tess_status status = TESS_SUCCESS;

    if (!bench_trial_open(run, which, &options, &t->of)) { return; }
    t->density = 1e4 * (double)t->of.host.nnz / ((double)t->of.host.nrows * (double)t->of.host.ncols);
    t->y64 = bench_allocate((size_t)t->of.host.nrows, sizeof *t->y64);
    status = make_levels(t);
    if (status == TESS_SUCCESS && !is_left_out(t)) {
        if (t->options->tezcan) { status = warm_up(t); }
        if (status == TESS_SUCCESS) { status = run_all(t); }
    }
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, "split", status); }
    bench_split_levels_free(&t->rows);
    bench_split_levels_free(&t->entries);
    free(t->y64);
    bench_trial_close(&t->of);
}

/* ---- driver ---- */

static void run_study(bench_run *run, const bench_cases *cases, const bench_split_options *split,
                      const bench_contestant *list, int count)
{
    json_object_set_new(run->root, "protocol", json_string(split->tezcan ? "tezcan" : "default"));
    bench_load_kernels(run, list, count);
    for (size_t i = 0; i < cases->count; i++) {
        trial t = {.options = split, .list = list, .count = count};

        run_case(&t, run, &cases->items[i]);
    }
}

int study_split(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .options = bench_split_table,
        .parser = bench_split_parse,
        .doc =
            "Times y = A x in split and composite storage against FP64, and checks every result. Default: the set "
            "large.\vNAME-shadow multiplies in FP32, by an FP32 shadow of x that is made within the time, and sums in "
            "FP64; the others read x in FP64 and compute in FP64. NAME-permuted leaves y in the row order of the "
            "format. Set-up is conversion with its policy and what the first product would prepare. Residuals are "
            "relative to the FP64 product."};
    bench_options options;
    bench_split_options split;
    bench_contestant list[BENCH_SPLIT_MAX] = {0};
    bench_run run;
    bench_cases cases;
    int count;

    (void)parts;
    bench_options_init(&options);
    bench_split_options_init(&split);
    bench_parse(argc, argv, &program, &options, &split);
    cases = bench_cases_select(&options, "large");
    bench_begin(&run, &options, "split", split.product == NULL);
    count = bench_split_contestants(&split, list);
    if (split.product) {
        bench_run_products(&run, &cases, split.product, list, count);
    } else {
        run_study(&run, &cases, &split, list, count);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
