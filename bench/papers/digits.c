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

#include "harness/record.h"
#include "papers/papers.h"

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

typedef struct digits_run {
    bench_run *run;
    const digits_options *own;
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
    tess_assignment_summary summary = {.size = sizeof summary};
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

static json_t *ratios_json(const digits_row *row, int d)
{
    return json_pack("{s:f, s:f, s:f, s:b, s:i}", "ratio_of_seed_1", row->first[d], "mean_ratio", row->mean[d],
                     "worst_ratio", row->worst[d], "accurate_with_seed_1", (int)row->first_accurate[d],
                     "accurate_seeds", row->accurate[d]);
}

static void report(const digits_run *r, const char *name, const tess_matrix *a, int way, const digits_row *row)
{
    const bench_record record = {.matrix = name,
                                 .nrows = tess_matrix_nrows(a),
                                 .ncols = tess_matrix_ncols(a),
                                 .nnz = tess_matrix_nnz(a),
                                 .contestant = ways[way],
                                 .ours = true,
                                 .precision = ways[way],
                                 .bytes = (double)row->bytes};
    json_t *json = bench_record_row(r->run, &record);

    json_object_set_new(json, "format", json_string(tess_format_name(r->own->storage.format)));
    json_object_set_new(json, "arithmetic",
                        json_string(r->own->storage.arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64"));
    json_object_set_new(json, "fp64_csr_bytes", json_integer(tess_matrix_bytes(a)));
    json_object_set_new(json, "parameter", json_real(row->parameter));
    json_object_set_new(json, "low_share", json_real(row->low_share));
    json_object_set_new(json, "seeds", json_integer(r->own->seeds));
    for (int d = 0; d < DISTRIBUTIONS; d++) {
        json_object_set_new(json, distributions[d], ratios_json(row, d));
    }
    bench_record_add(r->run, &record, json,
                     "F %.3g, %.2f %% low, %lld bytes; accurate %.2f %% and %.2f %%, worst %.2f %% "
                     "and %.2f %%",
                     row->parameter, 100.0 * row->low_share, (long long)row->bytes, 100.0 * row->first[0],
                     100.0 * row->first[1], 100.0 * row->worst[0], 100.0 * row->worst[1]);
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
        bench_skip(r->run, which->name, "is not square");
        tess_matrix_destroy(a);
        return;
    }
    for (int w = 0; w < WAYS && status == TESS_SUCCESS; w++) {
        status = measure(r, a, w, &row[w]);
    }
    for (int w = 0; w < WAYS && status == TESS_SUCCESS; w++) {
        report(r, which->name, a, w, &row[w]);
    }
    if (status != TESS_SUCCESS) { bench_fault(r->run, which->name, "a product", status); }
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

int study_digits(int argc, char **argv, const char *parts)
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
            "A line has F, the percent of the nonzeros below FP64, bytes, and accuracy ratios in percent: with seed 1 "
            "and the worst of all seeds, for x in (-1, 1) and for x in (0, 1)."};
    digits_options own = {.seeds = 10};
    bench_options options;
    bench_run run;
    digits_run r = {.run = &run, .own = &own};
    bench_cases cases;

    tess_storage_options_init(&own.storage);
    own.storage.format = TESS_FORMAT_TILES;
    own.storage.policy.granularity = TESS_GRANULARITY_BLOCK;
    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    bench_begin(&run, &options, "digits", false);
    cases = bench_cases_select(&options, "all");
    for (size_t i = 0; i < cases.count; i++) {
        run_matrix(&r, &cases.items[i]);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
