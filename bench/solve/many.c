/* SPDX-License-Identifier: Apache-2.0 */
/* Several right-hand sides: solves and products of k columns, against the same columns one after another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/many.h>

#include "base/context.h"
#include "harness/record.h"
#include "matrix/matrix.h"
#include "solve/contest.h"
#include "solve/solve.h"

enum { REPETITIONS = 3, MOST_COLUMNS = 32, MOST_COUNTS = 8, KEY_COLUMNS = 800 };

/* A method and what it is told by. */
typedef struct method {
    const char *name;
    tess_solver_kind solver;
    tess_precond_kind precond;
} method;

static const method methods[] = {{"cg-jacobi", TESS_SOLVER_CG, TESS_PRECOND_JACOBI},
                                 {"block-cg-jacobi", TESS_SOLVER_BLOCK_CG, TESS_PRECOND_JACOBI},
                                 {"minres-jacobi", TESS_SOLVER_MINRES, TESS_PRECOND_JACOBI},
                                 {"bicgstab-jacobi", TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI},
                                 {"gmres-jacobi", TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI},
                                 {"cg-ic0", TESS_SOLVER_CG, TESS_PRECOND_IC0},
                                 {"cg-amg", TESS_SOLVER_CG, TESS_PRECOND_AMG},
                                 {"cg-cholesky", TESS_SOLVER_CG, TESS_PRECOND_CHOLESKY},
                                 {"auto", TESS_SOLVER_AUTO, TESS_PRECOND_AUTO}};
/* Complete factors of more rows, in three dimensions, take longer than the rest of the study. */
enum { FACTORS_ROWS = 100000 };
/* What the user asks for: numbers of columns, ended by 0, and methods. */
static int64_t counts[MOST_COUNTS + 1] = {2, 8, 32};
static const char *chosen;

typedef struct problem {
    bench_run *run;
    const char *name;
    tess_matrix *a;
    double *b, *x; /* MOST_COLUMNS columns, in the memory of the device that solves */
    tess_memory where;
    tess_solve_result results[MOST_COLUMNS];
} problem;

/* Seconds of a solve of k columns, together or one after another, arrays on the device that solves; the iterations of
 * all. */
static tess_status solve_columns(problem *p, tess_solver *solver, int k, bool together, double *seconds,
                                 int64_t *iterations, double *worst)
{
    const int64_t n = p->a->nrows;
    const tess_columns b = tess_columns_by_column(n, k, p->b, p->where),
                       x = tess_columns_by_column(n, k, p->x, p->where);
    double start;
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < k; c++) {
        tess_solve_result_init(&p->results[c]);
    }
    TESS_TRY(p->run->ctx->backend->zero(p->run->ctx, p->x, (size_t)(n * k) * sizeof *p->x));
    TESS_TRY(tess_context_synchronize(p->run->ctx));
    start = bench_wall_seconds();
    if (together) {
        status = tess_solver_solve_many(solver, &b, &x, p->results);
    } else {
        for (int c = 0; c < k && status == TESS_SUCCESS; c++) {
            tess_columns one_b = b, one_x = x;

            one_b.columns = one_x.columns = 1;
            one_b.data += c * n;
            one_x.data += c * n;
            status = tess_solver_solve_many(solver, &one_b, &one_x, &p->results[c]);
        }
    }
    *seconds = bench_wall_seconds() - start;
    *iterations = 0;
    *worst = 0.0;
    for (int c = 0; c < k; c++) {
        *iterations += p->results[c].iterations;
        *worst = fmax(*worst, p->results[c].verified ? p->results[c].relative_residual : INFINITY);
    }
cleanup:
    return status;
}

/* Least of a few, after one that prepares. */
static void time_columns(problem *p, tess_solver *solver, const method *m, int k)
{
    double best[2] = {INFINITY, INFINITY}, worst = 0.0;
    int64_t iterations = 0;
    tess_status status = TESS_SUCCESS;

    const int repetitions = p->run->options->quick ? 1 : REPETITIONS;

    for (int r = 0; r <= repetitions && status == TESS_SUCCESS; r++) {
        for (int together = 0; together < 2 && status == TESS_SUCCESS; together++) {
            double seconds = 0.0;

            status = solve_columns(p, solver, k, together, &seconds, &iterations, &worst);
            if (r > 0 && seconds < best[together]) { best[together] = seconds; }
        }
    }
    for (int together = 0; together < 2; together++) {
        const bench_record record = {.part = "solve",
                                     .matrix = p->name,
                                     .nrows = p->a->nrows,
                                     .ncols = p->a->ncols,
                                     .nnz = p->a->nnz,
                                     .contestant = together ? m->name : "one after another",
                                     .ours = together,
                                     .precision = "fp64",
                                     .of = "solve",
                                     .time = bench_time_once(best[together]),
                                     .solved = true,
                                     .iterations = iterations,
                                     .true_residual = worst,
                                     .refused = status == TESS_SUCCESS ? NULL : tess_status_text(status)};
        json_t *row = bench_record_row(p->run, &record);

        json_object_set_new(row, "columns", json_integer(k));
        json_object_set_new(row, "method", json_string(m->name));
        bench_record_add(p->run, &record, row, "%d columns, %s: %.2f times as fast a column as alone", k, m->name,
                         together ? best[0] / best[1] : 1.0);
    }
}

static void run_method(problem *p, const method *m)
{
    const bool quick = p->run->options->quick;
    tess_solve_options options;
    tess_solver *solver = NULL;

    tess_solve_options_init(&options);
    options.solver = m->solver;
    options.precond.kind = m->precond;
    options.rtol = 1e-8;
    if (tess_solver_create(p->a, &options, &solver) != TESS_SUCCESS) {
        bench_fault(p->run, p->name, m->name, tess_context_last_error(p->run->ctx)->status);
        return;
    }
    for (size_t k = 0; counts[k] > 0 && !(quick && k > 0); k++) {
        time_columns(p, solver, m, (int)counts[k]);
    }
    tess_solver_destroy(solver);
}

static tess_status make_arrays(problem *p)
{
    tess_context *ctx = p->run->ctx;
    const int64_t count = p->a->nrows * MOST_COLUMNS;
    double *values = bench_allocate((size_t)count, sizeof *values);
    tess_status status = TESS_SUCCESS;

    p->where = p->run->gpu ? TESS_MEMORY_DEVICE : TESS_MEMORY_HOST;
    srand(1);
    for (int64_t i = 0; i < count; i++) {
        values[i] = 2.0 * (double)rand() / (double)RAND_MAX - 1.0;
    }
    TESS_TRY(tess_device_allocate(ctx, count, sizeof *p->b, (void **)&p->b));
    TESS_TRY(tess_device_allocate(ctx, count, sizeof *p->x, (void **)&p->x));
    status = ctx->backend->upload(ctx, p->b, values, (size_t)count * sizeof *values);
cleanup:
    free(values);
    return status;
}

static void run_case(bench_run *run, const bench_case *which)
{
    problem p = {.run = run, .name = which->name, .a = bench_problem_load(run, which)};

    if (!p.a) { return; }
    if (make_arrays(&p) == TESS_SUCCESS) {
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            const bool too_large = methods[m].precond == TESS_PRECOND_CHOLESKY && p.a->nrows > FACTORS_ROWS;

            if (bench_is_named(chosen, methods[m].name) && !too_large) { run_method(&p, &methods[m]); }
        }
    } else {
        bench_fault(run, p.name, "arrays of several columns", tess_context_last_error(run->ctx)->status);
    }
    tess_device_release(run->ctx, p.b, p.a->nrows * MOST_COLUMNS, sizeof *p.b);
    tess_device_release(run->ctx, p.x, p.a->nrows * MOST_COLUMNS, sizeof *p.x);
    tess_matrix_destroy(p.a);
}

static error_t parse_columns(int key, char *arg, struct argp_state *state)
{
    if (key != KEY_COLUMNS) { return ARGP_ERR_UNKNOWN; }
    bench_read_sizes(state, arg, MOST_COUNTS, counts);
    for (int k = 0; counts[k] > 0; k++) {
        if (counts[k] > MOST_COLUMNS) { argp_error(state, "--columns: %d at most", MOST_COLUMNS); }
    }
    return 0;
}

int study_many(int argc, char **argv, const char *parts)
{
    static const char *const on_gpu[] = {"gallery:laplace3d:150", "gallery:laplace3d27:128", "gallery:laplace2d:256",
                                         "gallery:elasticity3d:48", NULL};
    static const char *const on_host[] = {"gallery:laplace3d27:64", "gallery:laplace3d:64", "gallery:laplace2d:256",
                                          NULL};
    static const struct argp_option own[] = {
        {"columns", KEY_COLUMNS, "K[,K..]", 0, "numbers of columns (default 2,8,32)", 0}, {0}};
    static const bench_case_study study = {
        .name = "many",
        .doc = "Times solves of 2, 8 and 32 right-hand sides together and one after another, set-up excluded, "
               "each column verified.",
        .on_gpu = on_gpu,
        .on_host = on_host,
        .run = run_case,
        .own = own,
        .parse = parse_columns};

    chosen = parts;
    return bench_case_study_run(&study, argc, argv);
}
