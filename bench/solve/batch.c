/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: many small systems of one pattern in one call, against solves of them one after another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/batch.h>

#include "harness/record.h"
#include "matrix/matrix.h"
#include "solve/contest.h"
#include "solve/solve.h"

/* Systems of a batch on a GPU, on a host and in a quick run; of these, so many are also solved one after another. */
enum { ON_GPU = 10000, ON_HOST = 2000, QUICK = 20, SAMPLE = 500, REPETITIONS = 3 };

typedef struct problem {
    bench_run *run;
    const char *name;
    tess_matrix *a;
    int64_t systems, sample;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val, *b, *x; /* of all systems, on the host */
    tess_batch_result *results;
} problem;

/* What a way took: seconds a system, iterations a system, and the worst residual of a verified one. */
typedef struct outcome {
    double seconds, iterations, worst;
    tess_status status;
} outcome;

static void note(outcome *o, int64_t iterations, int verified, double residual, int64_t systems)
{
    o->iterations += (double)iterations / (double)systems;
    o->worst = fmax(o->worst, verified ? residual : INFINITY);
}

static outcome solve_together(problem *p, const tess_solve_options *options)
{
    outcome o = {.status = TESS_SUCCESS};
    tess_batch batch;
    double start;

    tess_batch_init(&batch);
    batch.systems = p->systems;
    batch.n = p->a->nrows;
    batch.nnz = p->a->nnz;
    batch.row_ptr = p->row_ptr;
    batch.row_ptr_bits = 64;
    batch.col_ind = p->col_ind;
    batch.col_ind_bits = 32;
    batch.val = p->val;
    batch.b = p->b;
    batch.x = p->x;
    memset(p->x, 0, (size_t)(p->systems * batch.n) * sizeof *p->x);
    start = bench_wall_seconds();
    o.status = tess_batch_solve(p->run->ctx, &batch, options, p->results);
    o.seconds = (bench_wall_seconds() - start) / (double)p->systems;
    for (int64_t s = 0; s < p->systems && o.status == TESS_SUCCESS; s++) {
        const tess_batch_result *r = &p->results[s];

        note(&o, r->iterations, r->verified, r->relative_residual, p->systems);
    }
    return o;
}

/* New values, a new b, a solve: with a solver that is set up before, and vectors that are there. */
static tess_status solve_one(const problem *p, tess_solver *solver, tess_vector *b, tess_vector *x, int64_t s,
                             tess_solve_result *r)
{
    const int64_t n = p->a->nrows;
    tess_status status = tess_matrix_update_values(p->a, p->val + s * p->a->nnz, TESS_PRECISION_FP64, TESS_MEMORY_HOST);

    tess_solve_result_init(r);
    if (status == TESS_SUCCESS) { status = tess_vector_set(b, p->b + s * n, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(x, 0.0); }
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, b, x, r); }
    return status == TESS_SUCCESS ? tess_vector_get(x, p->x + s * n, TESS_PRECISION_FP64, TESS_MEMORY_HOST) : status;
}

static outcome solve_one_after_another(problem *p, const tess_solve_options *options)
{
    outcome o = {.status = TESS_SUCCESS};
    tess_solver *solver = NULL;
    tess_vector *b = NULL, *x = NULL;
    double start;

    o.status = tess_solver_create(p->a, options, &solver);
    if (o.status == TESS_SUCCESS) { o.status = tess_vector_create(p->run->ctx, p->a->nrows, TESS_PRECISION_FP64, &b); }
    if (o.status == TESS_SUCCESS) { o.status = tess_vector_create(p->run->ctx, p->a->nrows, TESS_PRECISION_FP64, &x); }
    start = bench_wall_seconds();
    for (int64_t s = 0; s < p->sample && o.status == TESS_SUCCESS; s++) {
        tess_solve_result r;

        o.status = solve_one(p, solver, b, x, s, &r);
        note(&o, r.iterations, r.verified, r.relative_residual, p->sample);
    }
    o.seconds = (bench_wall_seconds() - start) / (double)p->sample;
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_solver_destroy(solver);
    return o;
}

static void write_row(const problem *p, const char *method, bool together, const outcome *o, double ratio)
{
    const bench_record record = {
        .part = "solve",
        .matrix = p->name,
        .nrows = p->a->nrows,
        .ncols = p->a->ncols,
        .nnz = p->a->nnz,
        .contestant = together ? method : "one after another",
        .ours = together,
        .precision = "fp64",
        .of = "solve",
        .time = bench_time_once(o->seconds),
        .solved = isfinite(o->worst),
        .iterations = llround(o->iterations),
        .true_residual = o->worst,
        .refused = o->status == TESS_SUCCESS ? NULL : tess_status_text(o->status),
    };
    json_t *row = bench_record_row(p->run, &record);

    json_object_set_new(row, "systems", json_integer(together ? p->systems : p->sample));
    json_object_set_new(row, "method", json_string(method));
    bench_record_add(p->run, &record, row, "%lld systems, %s: %.2f times as fast a system as one after another",
                     (long long)(together ? p->systems : p->sample), method, ratio);
}

/* Least of a few, after one that prepares. */
static void run_method(problem *p, const char *name, tess_solver_kind solver)
{
    const int repetitions = p->run->options->quick ? 1 : REPETITIONS;
    tess_solve_options options;
    outcome best[2] = {{.seconds = INFINITY}, {.seconds = INFINITY}};

    tess_solve_options_init(&options);
    options.solver = solver;
    options.precond.kind = TESS_PRECOND_JACOBI;
    options.rtol = 1e-8;
    for (int r = 0; r <= repetitions; r++) {
        const outcome now[2] = {solve_one_after_another(p, &options), solve_together(p, &options)};

        for (int way = 0; way < 2; way++) {
            if (r > 0 && now[way].seconds < best[way].seconds) { best[way] = now[way]; }
        }
    }
    write_row(p, name, false, &best[0], 1.0);
    write_row(p, name, true, &best[1], best[0].seconds / best[1].seconds);
}

/* The matrix with a diagonal up to 1 % larger, and a b, for each system. */
static void fill(problem *p)
{
    const int64_t n = p->a->nrows, nnz = p->a->nnz;

    srand(1);
    for (int64_t s = 0; s < p->systems; s++) {
        memcpy(p->val + s * nnz, p->val, (size_t)(s > 0 ? nnz : 0) * sizeof *p->val);
    }
    for (int64_t i = 0; i < p->systems * n; i++) {
        const int64_t s = i / n, row = i % n;

        p->b[i] = 2.0 * (double)rand() / (double)RAND_MAX - 1.0;
        for (int64_t k = p->row_ptr[row]; k < p->row_ptr[row + 1]; k++) {
            if (p->col_ind[k] == row) { p->val[s * nnz + k] *= 1.0 + 0.01 * (double)s / (double)p->systems; }
        }
    }
}

static void run_case(bench_run *run, const bench_case *which)
{
    problem p = {.run = run, .name = which->name, .a = bench_problem_load(run, which)};

    if (!p.a) { return; }
    p.systems = run->options->quick ? QUICK : run->gpu ? ON_GPU : ON_HOST;
    p.sample = p.systems < SAMPLE ? p.systems : SAMPLE;
    p.row_ptr = bench_allocate((size_t)p.a->nrows + 1, sizeof *p.row_ptr);
    p.col_ind = bench_allocate((size_t)p.a->nnz, sizeof *p.col_ind);
    p.val = bench_allocate((size_t)(p.systems * p.a->nnz), sizeof *p.val);
    p.b = bench_allocate((size_t)(p.systems * p.a->nrows), sizeof *p.b);
    p.x = bench_allocate((size_t)(p.systems * p.a->nrows), sizeof *p.x);
    p.results = bench_allocate((size_t)p.systems, sizeof *p.results);
    if (tess_matrix_get_csr(p.a, p.row_ptr, p.col_ind, p.val) == TESS_SUCCESS) {
        fill(&p);
        run_method(&p, "cg-jacobi", TESS_SOLVER_CG);
        run_method(&p, "bicgstab-jacobi", TESS_SOLVER_BICGSTAB);
    }
    free(p.row_ptr);
    free(p.col_ind);
    free(p.val);
    free(p.b);
    free(p.x);
    free(p.results);
    tess_matrix_destroy(p.a);
}

int study_batch(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .doc =
            "Times batches of systems of one pattern, 10,000 on a GPU and 2,000 on a host, against up to 500 of them "
            "one after another by a solver that is set up, a system; with transfers, each verified."};
    static const char *const usual[] = {"gallery:laplace3d:10", "gallery:laplace2d:32"};
    bench_options options;
    bench_cases cases;
    bench_run run;

    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, NULL);
    bench_begin(&run, &options, "batch", true);
    if (options.nsets == 0 && options.nmatrices == 0) {
        memcpy(options.matrices, usual, sizeof usual);
        options.nmatrices = (int)(sizeof usual / sizeof *usual);
    }
    cases = bench_cases_select(&options, NULL);
    for (size_t k = 0; k < cases.count; k++) {
        run_case(&run, &cases.items[k]);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
