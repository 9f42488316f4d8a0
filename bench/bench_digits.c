/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many significant digits products keep with policy mean-3std, at the paper's F = 0.5 and with F chosen by the
 * library, and what either takes (Zhao et al. 2024, sections 4.2 and 4.4.1: Tables 3 and 4, the compliance rate of
 * Figure 4). Exact is the product of CSR in FP64. The seeds of x here are none of those that the library chooses by.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { DISTRIBUTIONS = 2, WAYS = 2, MAX_SEEDS = 1000 };

static const char *const distributions[DISTRIBUTIONS] = {"random", "uniform"}; /* in (-1, 1), in (0, 1) */
static const double lowest[DISTRIBUTIONS] = {-1.0, 0.0};
static const char *const ways[WAYS] = {"mean-3std:0.5", "mean-3std:auto"};

typedef struct digits_options {
    tess_storage_options storage;
    int seeds;
} digits_options;

/* What became of a matrix with one policy. */
typedef struct digits_row {
    double parameter, low_share;
    int64_t bytes;
    double first[DISTRIBUTIONS], mean[DISTRIBUTIONS],
        worst[DISTRIBUTIONS];    /* accuracy ratios: with seed 1, of all seeds */
    int accurate[DISTRIBUTIONS]; /* seeds */
    bool first_accurate[DISTRIBUTIONS];
} digits_row;

/* Sums over the matrices. */
typedef struct digits_totals {
    int matrices, first[WAYS][DISTRIBUTIONS], all[WAYS], worse;
    int64_t products[WAYS], accurate[WAYS];
    double bytes_ratio;
    bench_mean geometric;
} digits_totals;

typedef struct digits_run {
    bench_run *run;
    const digits_options *own;
    digits_totals *totals;
} digits_run;

/* ---- one matrix ---- */

static tess_status count(const tess_matrix *exact, const tess_matrix *stored, double low, uint64_t seed, tess_vector *x,
                         tess_vector *const y[2], tess_digit_counts *out)
{
    const tess_matrix *const matrices[2] = {exact, stored};
    tess_status status = tess_vector_set_random(x, seed, low, 1.0);

    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) {
        status = tess_matrix_spmv(matrices[k], TESS_OP_NONE, 1.0, x, 0.0, y[k]);
    }
    return status == TESS_SUCCESS ? tess_vector_count_digits(y[0], y[1], out) : status;
}

static tess_status count_seeds(const digits_run *r, const tess_matrix *a, const tess_matrix *stored, int d,
                               tess_vector *x, tess_vector *const y[2], digits_row *row)
{
    const int seeds = r->own->seeds;
    tess_status status = TESS_SUCCESS;

    row->worst[d] = 1.0;
    for (int seed = 1; seed <= seeds && status == TESS_SUCCESS; seed++) {
        tess_digit_counts counts = {.not_finite = 0};
        double ratio;

        status = count(a, stored, lowest[d], (uint64_t)seed, x, y, &counts);
        ratio = tess_digits_accuracy_ratio(&counts);
        row->mean[d] += ratio / seeds;
        row->worst[d] = fmin(row->worst[d], ratio);
        row->accurate[d] += tess_digits_accurate(&counts);
        if (seed == 1) {
            row->first[d] = ratio;
            row->first_accurate[d] = tess_digits_accurate(&counts) != 0;
        }
    }
    return status;
}

static tess_status measure(const digits_run *r, const tess_matrix *a, int way, digits_row *row)
{
    tess_storage_options storage = r->own->storage;
    tess_assignment_summary summary;
    tess_matrix *stored = NULL;
    tess_vector *x = NULL, *y[2] = {NULL, NULL};
    tess_status status = tess_policy_options_parse(ways[way], &storage.policy);

    memset(row, 0, sizeof *row);
    if (status == TESS_SUCCESS) { status = tess_matrix_convert(a, &storage, &stored); }
    if (status == TESS_SUCCESS) { status = tess_matrix_get_assignment(stored, &summary); }
    if (status == TESS_SUCCESS) {
        row->parameter = summary.options.parameter;
        row->low_share = 1.0 - (double)summary.nonzeros_at[0] / fmax(1.0, (double)tess_matrix_nnz(a));
        row->bytes = tess_matrix_bytes(stored);
        status = tess_vector_create(r->run->ctx, tess_matrix_ncols(a), TESS_PRECISION_FP64, &x);
    }
    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) {
        status = tess_vector_create(r->run->ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &y[k]);
    }
    for (int d = 0; d < DISTRIBUTIONS && status == TESS_SUCCESS; d++) {
        status = count_seeds(r, a, stored, d, x, y, row);
    }
    tess_vector_destroy(x);
    tess_vector_destroy(y[0]);
    tess_vector_destroy(y[1]);
    tess_matrix_destroy(stored);
    return status;
}

/* ---- report ---- */

static json_t *row_json(const digits_run *r, const char *name, const tess_matrix *a, int way, const digits_row *row)
{
    json_t *item =
        json_pack("{s:s, s:I, s:I, s:s, s:f, s:f, s:I, s:i}", "matrix", name, "n", (json_int_t)tess_matrix_nrows(a),
                  "nnz", (json_int_t)tess_matrix_nnz(a), "policy", ways[way], "parameter", row->parameter, "low_share",
                  row->low_share, "bytes", (json_int_t)row->bytes, "seeds", r->own->seeds);

    for (int d = 0; d < DISTRIBUTIONS; d++) {
        json_object_set_new(item, distributions[d],
                            json_pack("{s:f, s:f, s:f, s:b, s:i}", "ratio_of_seed_1", row->first[d], "mean_ratio",
                                      row->mean[d], "worst_ratio", row->worst[d], "accurate_with_seed_1",
                                      (int)row->first_accurate[d], "accurate_seeds", row->accurate[d]));
    }
    return item;
}

static void add_to_totals(const digits_run *r, const digits_row *row)
{
    digits_totals *t = r->totals;
    const double ratio = row[0].bytes > 0 ? (double)row[1].bytes / (double)row[0].bytes : 1.0;

    t->matrices += 1;
    t->bytes_ratio += ratio;
    bench_mean_add(&t->geometric, ratio);
    for (int w = 0; w < WAYS; w++) {
        bool all = true;

        for (int d = 0; d < DISTRIBUTIONS; d++) {
            t->first[w][d] += row[w].first_accurate[d];
            t->products[w] += r->own->seeds;
            t->accurate[w] += row[w].accurate[d];
            all = all && row[w].accurate[d] == r->own->seeds;
        }
        t->all[w] += all;
    }
    t->worse += row[1].bytes > row[0].bytes;
}

static void print_row(const char *name, const tess_matrix *a, const digits_row *row)
{
    printf("%-26.26s %8lld %9lld", name, (long long)tess_matrix_nrows(a), (long long)tess_matrix_nnz(a));
    for (int w = 0; w < WAYS; w++) {
        printf("  %9.3g %6.2f %10lld", row[w].parameter, 100.0 * row[w].low_share, (long long)row[w].bytes);
        for (int d = 0; d < DISTRIBUTIONS; d++) {
            printf(" %6.2f %6.2f%c", 100.0 * row[w].first[d], 100.0 * row[w].worst[d],
                   row[w].first_accurate[d] ? ' ' : '!');
        }
    }
    printf("  %.3f\n", row[0].bytes > 0 ? (double)row[1].bytes / (double)row[0].bytes : 1.0);
}

static void print_head(const digits_options *own)
{
    printf("mean-3std by blocks of %dx%d in format %s, products in %s; x random in (-1, 1), then in (0, 1), %d seeds "
           "each\n\n",
           own->storage.policy.block_rows, own->storage.policy.block_cols, tess_format_name(own->storage.format),
           own->storage.arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64", own->seeds);
    printf("%-26s %8s %9s", "", "", "");
    for (int w = 0; w < WAYS; w++) {
        printf("  %-57s", ways[w]);
    }
    printf("\n%-26s %8s %9s", "matrix", "n", "nonzeros");
    for (int w = 0; w < WAYS; w++) {
        printf("  %9s %6s %10s %6s %6s  %6s %6s ", "F", "low %", "bytes", "first", "worst", "first", "worst");
    }
    printf("  bytes\n");
}

static void print_totals(const digits_run *r)
{
    const digits_totals *t = r->totals;
    const double n = t->matrices > 0 ? t->matrices : 1;
    json_t *totals =
        json_pack("{s:i, s:f, s:f, s:i}", "matrices", t->matrices, "mean_bytes_ratio", t->bytes_ratio / n,
                  "geometric_mean_bytes_ratio", bench_mean_value(&t->geometric), "with_more_bytes", t->worse);

    printf("\n%d matrices; accurate: more than 95 %% of the elements have at least 7 digits\n", t->matrices);
    for (int w = 0; w < WAYS; w++) {
        printf("%-15s %d accurate with seed 1 in (-1, 1), %d in (0, 1); %d with every seed of both; %lld of %lld "
               "products\n",
               ways[w], t->first[w][0], t->first[w][1], t->all[w], (long long)t->accurate[w],
               (long long)t->products[w]);
        json_object_set_new(totals, ways[w],
                            json_pack("{s:i, s:i, s:i, s:I, s:I}", "accurate_random_seed_1", t->first[w][0],
                                      "accurate_uniform_seed_1", t->first[w][1], "accurate_every_seed", t->all[w],
                                      "accurate_products", (json_int_t)t->accurate[w], "products",
                                      (json_int_t)t->products[w]));
    }
    printf("bytes, auto over 0.5: mean %.4f, geometric mean %.4f; %d matrices take more\n", t->bytes_ratio / n,
           bench_mean_value(&t->geometric), t->worse);
    json_object_set_new(r->run->root, "totals", totals);
}

static void run_matrix(const digits_run *r, const bench_case *which)
{
    char reason[256] = "";
    tess_matrix *a = NULL;
    digits_row row[WAYS];
    tess_status status = bench_case_load(r->run->ctx, r->run->options, which, &a, reason, sizeof reason);

    if (!a) {
        bench_skip(r->run, which->name, reason);
        return;
    }
    if (tess_matrix_nrows(a) != tess_matrix_ncols(a)) {
        tess_matrix_destroy(a);
        return;
    }
    for (int w = 0; w < WAYS && status == TESS_SUCCESS; w++) {
        status = measure(r, a, w, &row[w]);
    }
    if (status == TESS_SUCCESS) {
        print_row(which->name, a, row);
        add_to_totals(r, row);
        for (int w = 0; w < WAYS; w++) {
            bench_add(r->run, row_json(r, which->name, a, w, &row[w]));
        }
    } else {
        bench_fault(r->run, which->name, "a product", status);
    }
    tess_matrix_destroy(a);
}

/* ---- the program ---- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    digits_options *own = state->input;

    switch (key) {
    case 'S':
        own->seeds = atoi(arg);
        if (own->seeds < 1 || own->seeds > MAX_SEEDS) { argp_error(state, "--seeds: '%s' is not in 1..1000", arg); }
        break;
    case 'a':
        own->storage.arithmetic = strcmp(arg, "fp32") == 0 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
        own->storage.format = strcmp(arg, "fp32") == 0 ? TESS_FORMAT_SPLIT : TESS_FORMAT_TILES;
        if (strcmp(arg, "fp32") != 0 && strcmp(arg, "fp64") != 0) { argp_error(state, "--arithmetic: fp64 or fp32"); }
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option table[] = {
        {"seeds", 'S', "N", 0, "default 10", 0},
        {"arithmetic", 'a', "fp64|fp32", 0, "of products of low values: fp64 (default) in tiles, fp32 in split", 0},
        {0}};
    static const struct argp program = {
        .options = table,
        .parser = parse,
        .doc =
            "Significant digits of products with policy mean-3std by blocks, at F = 0.5 and with F chosen, and the "
            "bytes of "
            "both, for the square matrices of --set and --matrix (default: all).\v"
            "Columns for each policy: F, percent of the nonzeros below FP64, bytes, then accuracy ratios in percent: "
            "with "
            "seed 1 and the worst of all seeds, for x in (-1, 1) and for x in (0, 1). '!': not accurate with seed 1."};
    digits_options own = {.seeds = 10};
    digits_totals totals = {.matrices = 0};
    bench_options options;
    bench_run run;
    digits_run r = {.run = &run, .own = &own, .totals = &totals};
    bench_cases cases;

    tess_storage_options_init(&own.storage);
    own.storage.format = TESS_FORMAT_TILES;
    own.storage.policy.granularity = TESS_GRANULARITY_BLOCK;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    bench_begin(&run, &options, "bench_digits", false);
    print_head(&own);
    cases = bench_cases_select(&options, "all");
    for (size_t i = 0; i < cases.count; i++) {
        run_matrix(&r, &cases.items[i]);
    }
    bench_cases_free(&cases);
    print_totals(&r);
    return bench_end(&run);
}
