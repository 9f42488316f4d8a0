/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tiles take with policy lossless, bit-exact and with a relative loss of 1e-15: the share of tiles and of nonzeros
 * in each precision, and bytes against CSR in FP64 (Yang et al. 2024, section II-A, Figure 13).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_goal.h"

enum { WAYS = 2 };

static const char *const ways[WAYS] = {"lossless", "lossless:1e-15"};
static const double blocky_from = 4.0; /* nonzeros a tile */
static const double paper_ratio = 1.04;
static const bench_goal goal = {"bytes of csr", BENCH_ARITHMETIC, true, 0.80};

typedef struct lossless_row {
    tess_assignment_summary summary;
    int64_t bytes;
    double ratio; /* of bytes, to CSR in FP64 */
} lossless_row;

/* Sums of ratios over all matrices, and over those with several nonzeros a tile. */
typedef struct lossless_totals {
    int matrices, blocky;
    double ratio[WAYS], blocky_ratio[WAYS];
    bench_reached reached[WAYS]; /* over the latter */
} lossless_totals;

typedef struct lossless_run {
    bench_run *run;
    tess_storage_options storage;
    lossless_totals totals;
} lossless_run;

/* ---- one matrix ---- */

static tess_status measure(const lossless_run *r, const tess_matrix *a, int way, lossless_row *row)
{
    tess_storage_options storage = r->storage;
    tess_assignment *made = NULL;
    tess_matrix *stored = NULL;
    tess_status status = tess_policy_options_parse(ways[way], &storage.policy);

    if (status == TESS_SUCCESS) { status = tess_assignment_create(a, &storage.policy, &made); }
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(made, a); }
    if (status == TESS_SUCCESS) { status = tess_matrix_convert_assigned(a, &storage, made, &stored); }
    if (status == TESS_SUCCESS) {
        tess_assignment_get_summary(made, &row->summary);
        row->bytes = tess_matrix_bytes(stored);
        row->ratio = (double)row->bytes / (double)tess_matrix_bytes(a);
    }
    tess_matrix_destroy(stored);
    tess_assignment_destroy(made);
    return status;
}

/* ---- report ---- */

static double per_tile(const tess_matrix *a, const lossless_row *row)
{
    return row->summary.items > 0 ? (double)tess_matrix_nnz(a) / (double)row->summary.items : 0.0;
}

static json_t *row_json(const char *name, const tess_matrix *a, int way, const lossless_row *row)
{
    const tess_assignment_summary *s = &row->summary;
    json_t *levels = json_array();

    for (int l = 0; l < s->options.nlevels; l++) {
        json_array_append_new(levels, json_pack("{s:s, s:I, s:I}", "precision",
                                                tess_precision_name(s->options.level[l].precision), "tiles",
                                                (json_int_t)s->items_at[l], "nonzeros", (json_int_t)s->nonzeros_at[l]));
    }
    return json_pack("{s:s, s:I, s:I, s:s, s:I, s:f, s:o, s:I, s:I, s:f, s:f}", "matrix", name, "n",
                     (json_int_t)tess_matrix_nrows(a), "nnz", (json_int_t)tess_matrix_nnz(a), "policy", ways[way],
                     "tiles", (json_int_t)s->items, "nonzeros_per_tile", per_tile(a, row), "levels", levels, "bytes",
                     (json_int_t)row->bytes, "fp64_csr_bytes", (json_int_t)tess_matrix_bytes(a), "ratio", row->ratio,
                     "largest_relative_error", s->largest_relative_error);
}

static void print_row(const char *name, const tess_matrix *a, int way, const lossless_row *row)
{
    const tess_assignment_summary *s = &row->summary;
    const double nnz = (double)tess_matrix_nnz(a), tiles = (double)s->items;
    const int lowest = s->options.nlevels - 1;

    printf("%-24.24s %-14s %10lld %8.2f ", name, ways[way], (long long)tess_matrix_nnz(a), per_tile(a, row));
    for (int l = 0; l <= lowest; l++) {
        printf(" %6.2f %6.2f", tiles > 0.0 ? 100.0 * (double)s->items_at[l] / tiles : 0.0,
               nnz > 0.0 ? 100.0 * (double)s->nonzeros_at[l] / nnz : 0.0);
    }
    printf("  %-4s %6.3f %9.2g\n", tess_precision_name(s->options.level[lowest].precision), row->ratio,
           s->largest_relative_error);
}

static void print_head(const lossless_run *r)
{
    tess_policy_options policy = r->storage.policy;

    policy.policy = TESS_POLICY_LOSSLESS;
    tess_policy_default_levels(&policy);
    printf("tiles of %dx%d; percent of the tiles and of the nonzeros in each precision; bytes over those of CSR in "
           "FP64\n\n%-24s %-14s %10s %8s ",
           policy.block_rows, policy.block_cols, "matrix", "policy", "nonzeros", "per tile");
    for (int l = 0; l < policy.nlevels; l++) {
        const bool either = policy.choose_fp8 && l == policy.nlevels - 1;

        printf(" %6s %6s", either ? "fp8" : tess_precision_name(policy.level[l].precision), "");
    }
    printf("  %-4s %6s %9s\n", "low", "bytes", "error");
}

static void print_totals(const lossless_run *r)
{
    const lossless_totals *t = &r->totals;
    json_t *totals = json_array(), *goals = json_array();

    printf("\n%d matrices, %d of them with at least %g nonzeros a tile\n", t->matrices, t->blocky, blocky_from);
    for (int w = 0; w < WAYS; w++) {
        const double mean = t->matrices > 0 ? t->ratio[w] / t->matrices : 0.0;
        const double blocky = t->blocky > 0 ? t->blocky_ratio[w] / t->blocky : 0.0;

        printf("%-14s mean bytes over FP64 CSR: %.3f; of those with that many a tile %.3f (the paper %.2f)\n", ways[w],
               mean, blocky, paper_ratio);
        json_array_append_new(totals, json_pack("{s:s, s:i, s:f, s:i, s:f}", "policy", ways[w], "matrices", t->matrices,
                                                "mean_ratio", mean, "blocky", t->blocky, "mean_ratio_blocky", blocky));
    }
    printf("\ngoals\n");
    for (int w = 0; w < WAYS; w++) {
        bench_goal_report(&goal, ways[w], &t->reached[w], goals);
    }
    json_object_set_new(r->run->root, "totals", totals);
    json_object_set_new(r->run->root, "goals", goals);
}

static void run_matrix(lossless_run *r, const bench_case *which)
{
    char reason[256] = "";
    tess_matrix *a = NULL;
    tess_status status = bench_case_load(r->run->ctx, r->run->options, which, &a, reason, sizeof reason);

    if (!a) {
        bench_skip(r->run, which->name, reason);
        return;
    }
    for (int w = 0; w < WAYS && status == TESS_SUCCESS; w++) {
        lossless_row row = {.bytes = 0};

        status = measure(r, a, w, &row);
        if (status != TESS_SUCCESS) { break; }
        print_row(which->name, a, w, &row);
        bench_add(r->run, row_json(which->name, a, w, &row));
        r->totals.matrices += w == 0;
        r->totals.ratio[w] += row.ratio;
        if (per_tile(a, &row) >= blocky_from) {
            r->totals.blocky += w == 0;
            r->totals.blocky_ratio[w] += row.ratio;
            bench_goal_add(&goal, which->name, row.ratio, &r->totals.reached[w]);
        }
    }
    if (status != TESS_SUCCESS) { bench_fault(r->run, which->name, "tiles", status); }
    tess_matrix_destroy(a);
}

/* ---- the program ---- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    tess_policy_options *policy = state->input;

    switch (key) {
    case 'L':
        if (tess_precision_levels_parse(arg, policy) != TESS_SUCCESS) {
            argp_error(state, "--levels: '%s' is none", arg);
        }
        break;
    case 'B':
        policy->block_rows = policy->block_cols = atoi(arg);
        if (policy->block_rows != 16 && policy->block_rows != 32) { argp_error(state, "--side: 16 or 32"); }
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option table[] = {{"levels", 'L', "HIGH,..,LOW", 0, "default fp64,fp32,fp16,fp8", 0},
                                               {"side", 'B', "16|32", 0, "of a tile, default 16", 0},
                                               {0}};
    static const struct argp program = {
        .options = table,
        .parser = parse,
        .doc = "Precisions and bytes of tiles with policy lossless, for the matrices of --set and --matrix (default: "
               "large).\vColumns: percent of the tiles, then of the nonzeros, in each precision from high to low; "
               "what the lowest is; bytes of tiles over those of CSR in FP64; the largest relative error of storage."};
    lossless_run r = {.run = NULL};
    bench_options options;
    bench_run run;
    bench_cases cases;

    tess_storage_options_init(&r.storage);
    r.storage.format = TESS_FORMAT_TILES;
    r.storage.policy.granularity = TESS_GRANULARITY_BLOCK;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &r.storage.policy);
    bench_begin(&run, &options, "bench_lossless", false);
    r.run = &run;
    print_head(&r);
    cases = bench_cases_select(&options, "large");
    for (size_t i = 0; i < cases.count; i++) {
        run_matrix(&r, &cases.items[i]);
    }
    bench_cases_free(&cases);
    print_totals(&r);
    return bench_end(&run);
}
