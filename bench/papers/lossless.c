/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tiles take with policy lossless, bit-exact and with a relative loss of 1e-15: the share of tiles and of nonzeros
 * in each precision, and bytes against CSR in FP64 (Yang et al. 2024, section II-A, Figure 13).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record.h"
#include "papers/papers.h"

enum { WAYS = 2 };

static const char *const ways[WAYS] = {"lossless", "lossless:1e-15"};

typedef struct lossless_row {
    tess_assignment_summary summary;
    int64_t bytes;
} lossless_row;

typedef struct lossless_run {
    bench_run *run;
    tess_storage_options storage;
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
        tess_assignment_summary_init(&row->summary);
        tess_assignment_get_summary(made, &row->summary);
        row->bytes = tess_matrix_bytes(stored);
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

static json_t *levels_json(const tess_assignment_summary *s)
{
    json_t *levels = json_array();

    for (int l = 0; l < s->options.nlevels; l++) {
        json_array_append_new(levels, json_pack("{s:s, s:I, s:I}", "precision",
                                                tess_precision_name(s->options.level[l].precision), "tiles",
                                                (json_int_t)s->items_at[l], "nonzeros", (json_int_t)s->nonzeros_at[l]));
    }
    return levels;
}

static void report(lossless_run *r, const char *name, const tess_matrix *a, int way, const lossless_row *row)
{
    const double csr = (double)tess_matrix_bytes(a);
    const bench_record record = {.matrix = name,
                                 .nrows = tess_matrix_nrows(a),
                                 .ncols = tess_matrix_ncols(a),
                                 .nnz = tess_matrix_nnz(a),
                                 .contestant = ways[way],
                                 .ours = true,
                                 .precision = ways[way],
                                 .bytes = (double)row->bytes};
    json_t *json = bench_record_row(r->run, &record);

    json_object_set_new(json, "fp64_csr_bytes", json_integer(tess_matrix_bytes(a)));
    json_object_set_new(json, "bytes_over_fp64_csr", json_real((double)row->bytes / csr));
    json_object_set_new(json, "tiles", json_integer(row->summary.items));
    json_object_set_new(json, "nonzeros_per_tile", json_real(per_tile(a, row)));
    json_object_set_new(json, "levels", levels_json(&row->summary));
    json_object_set_new(json, "largest_relative_error", json_real(row->summary.largest_relative_error));
    bench_record_add(r->run, &record, json, "%.2f nonzeros a tile, %.3f of the bytes of FP64 CSR, error %.2g",
                     per_tile(a, row), (double)row->bytes / csr, row->summary.largest_relative_error);
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
        report(r, which->name, a, w, &row);
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

int study_lossless(int argc, char **argv, const char *parts)
{
    static const struct argp_option table[] = {{"levels", 'L', "HIGH,..,LOW", 0, "default fp64,fp32,fp16,fp8", 0},
                                               {"side", 'B', "16|32", 0, "of a tile, default 16", 0},
                                               {0}};
    static const struct argp program = {
        .options = table,
        .parser = parse,
        .doc =
            "Precisions and bytes of tiles with policy lossless, for the matrices of --set and --matrix (default: "
            "large).\vA line has bytes of tiles over those of CSR in FP64 and the largest relative error of storage; "
            "the report has the shares of the tiles and of the nonzeros in each precision."};
    lossless_run r = {.run = NULL};
    bench_options options;
    bench_run run;
    bench_cases cases;

    tess_storage_options_init(&r.storage);
    r.storage.format = TESS_FORMAT_TILES;
    r.storage.policy.granularity = TESS_GRANULARITY_BLOCK;
    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &r.storage.policy);
    bench_begin(&run, &options, "lossless", false);
    r.run = &run;
    cases = bench_cases_select(&options, "large");
    for (size_t i = 0; i < cases.count; i++) {
        run_matrix(&r, &cases.items[i]);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
