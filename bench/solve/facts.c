/* SPDX-License-Identifier: Apache-2.0 */
/* What an automatic solve takes to look at a matrix before it chooses a method, and what that reads. */
#include <string.h>

#include "auto/facts.h"
#include "harness/record.h"
#include "harness/stages.h"
#include "matrix/null_parts.h"
#include "solve/contest.h"
#include "solve/solve.h"

/* Bytes of an entry and of a row, by model: of what is read and written at the least by the passes that it takes. */
typedef struct look {
    const char *name;
    bench_call call;
    double entry, row;
} look;

/* Symmetry is known once for the values of a matrix: it is forgotten before each call. */
static tess_status find_all(void *user, int k)
{
    tess_matrix *a = user;
    matrix_facts facts;

    (void)k;
    a->symmetry_version = a->values_version - 1;
    return find_facts(a, &facts);
}

static tess_status find_triangle(void *user, int k)
{
    tess_matrix *a = user;
    matrix_facts facts = {.n = a->nrows};

    (void)k;
    return find_levels(a, &facts);
}

static tess_status find_null(void *user, int k)
{
    null_parts parts;
    const tess_matrix *a = user;
    const tess_status status = null_parts_of(a, &parts);

    (void)k;
    null_parts_release(a->ctx, &parts);
    return status;
}

static tess_status find_pattern(void *user, int k)
{
    const tess_matrix *a = user;
    uint64_t hash = 0;

    (void)k;
    return facts_ops_of(a->ctx)->pattern(a, &hash);
}

/* Facts: two products, a search for the diagonal, a pass over entries. Levels: a sweep, and paths of rows ten times. */
static const look looks[] = {{"facts", find_all, 2 * 12.0 + 4.0 + 12.0, 2 * 20.0 + 12.0 + 12.0},
                             {"levels", find_triangle, 4.0 / 2, 12.0 + 10 * 24.0},
                             {"null-parts", find_null, 8.0 + 12.0, 8.0 + 20.0},
                             {"pattern", find_pattern, 4.0, 4.0}};

static void time_look(bench_run *run, const look *l, tess_matrix *a, const char *matrix)
{
    bench_record record = {.part = "times",
                           .matrix = matrix,
                           .nrows = a->nrows,
                           .ncols = a->ncols,
                           .nnz = a->nnz,
                           .contestant = l->name,
                           .ours = true,
                           .precision = "fp64",
                           .of = "facts",
                           .bytes = l->entry * (double)a->nnz + l->row * (double)a->nrows};
    const tess_status status = bench_measure(run, l->call, a, &record.time);

    if (status != TESS_SUCCESS) { record.refused = tess_status_text(status); }
    bench_record_add(run, &record, bench_record_row(run, &record), "%.2f ns an entry",
                     1e9 * record.time.median / (double)(a->nnz > 0 ? a->nnz : 1));
}

static void run_case(bench_run *run, const bench_case *which, const char *parts)
{
    tess_matrix *a = bench_problem_load(run, which);

    if (!a) { return; }
    for (size_t k = 0; k < sizeof looks / sizeof *looks; k++) {
        if (bench_is_named(parts, "times")) { time_look(run, &looks[k], a, which->name); }
        if (!parts || !bench_is_named(parts, "stages")) { continue; }
        if (bench_stages(run, looks[k].call, a, which->name, looks[k].name, 0.0) != TESS_SUCCESS) {
            bench_fault(run, which->name, "stages", a->ctx->error.status);
        }
    }
    tess_matrix_destroy(a);
}

int study_facts(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .doc = "Times what an automatic solve does before it chooses a method, with the bytes that it moves at the "
               "least. Part stages waits for each launch, and runs only if it is named."};
    static const char *const usual[] = {"gallery:laplace3d:150", "gallery:laplace3d:256", "gallery:laplace3d27:128"};
    bench_options options;
    bench_cases cases;
    bench_run run;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, NULL);
    if (options.nsets == 0 && options.nmatrices == 0) {
        memcpy(options.matrices, usual, sizeof usual);
        options.nmatrices = (int)(sizeof usual / sizeof *usual);
    }
    cases = bench_cases_select(&options, NULL);
    bench_begin(&run, &options, "facts", true);
    for (size_t k = 0; k < cases.count; k++) {
        run_case(&run, &cases.items[k], parts);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
