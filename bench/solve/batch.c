/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: many small systems of one pattern in one call, against solves of them one after another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/batch.h>

#include "harness/record.h"
#include "matrix/matrix.h"
#include "peers/krylov.h"
#include "solve/contest.h"
#include "solve/solve.h"

/* Systems of a batch on a GPU, on a host and in a quick run; of these, so many are also solved one after another. */
enum { ON_GPU = 10000, ON_HOST = 2000, QUICK = 20, SAMPLE = 500, REPETITIONS = 3 };
#define RTOL 1e-8
/* Of theirs, which verify nothing. */
#define TRUE_SLACK 10.0
enum { MOST_ITERATIONS = 10000 };

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

/* ---- theirs ---- */

#ifdef BENCH_CUDA
/* CG with Jacobi in a CUDA graph that is set up. Norms and inverted diagonals of the sample are known before. */
typedef struct graph_solver {
    bench_csr host;
    bench_krylov_handles *handles;
    bench_krylov_jacobi jacobi;
    bench_krylov *solver;
    tess_vector *b, *x, *inverse;
    double *norms, *inverses;
} graph_solver;

static void find_inverses(const problem *p, graph_solver *g)
{
    const int64_t n = p->a->nrows, nnz = p->a->nnz;

    for (int64_t s = 0; s < p->sample; s++) {
        double square = 0.0;

        for (int64_t i = 0; i < n; i++) {
            square += p->b[s * n + i] * p->b[s * n + i];
            for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
                if (p->col_ind[k] == i) { g->inverses[s * n + i] = 1.0 / p->val[s * nnz + k]; }
            }
        }
        g->norms[s] = sqrt(square);
    }
}

static tess_status open_graph(problem *p, graph_solver *g)
{
    const int64_t n = p->a->nrows;
    tess_status status = bench_csr_get(p->a, &g->host);

    g->norms = bench_allocate((size_t)p->sample, sizeof *g->norms);
    g->inverses = bench_allocate((size_t)(p->sample * n), sizeof *g->inverses);
    find_inverses(p, g);
    if (status == TESS_SUCCESS) { status = tess_vector_create(p->run->ctx, n, TESS_PRECISION_FP64, &g->b); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(p->run->ctx, n, TESS_PRECISION_FP64, &g->x); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(p->run->ctx, n, TESS_PRECISION_FP64, &g->inverse); }
    if (status != TESS_SUCCESS) { return status; }
    g->handles = bench_krylov_open_renewed(p->a, &g->host);
    g->jacobi = (bench_krylov_jacobi){g->handles, tess_vector_data_const(g->inverse)};
    g->solver = bench_krylov_create(g->handles, TESS_SOLVER_CG, BENCH_CUDA_GRAPH,
                                    (bench_krylov_precond){bench_krylov_apply_jacobi, &g->jacobi});
    return tess_context_synchronize(p->run->ctx);
}

static void close_graph(graph_solver *g)
{
    bench_krylov_destroy(g->solver);
    bench_krylov_close(g->handles);
    tess_vector_destroy(g->b);
    tess_vector_destroy(g->x);
    tess_vector_destroy(g->inverse);
    bench_csr_free(&g->host);
    free(g->norms);
    free(g->inverses);
}

static tess_status solve_by_graph(const problem *p, const graph_solver *g, int64_t s, int64_t *iterations)
{
    const int64_t n = p->a->nrows;
    tess_status status = tess_matrix_update_values(p->a, p->val + s * p->a->nnz, TESS_PRECISION_FP64, TESS_MEMORY_HOST);

    if (status == TESS_SUCCESS) {
        status = tess_vector_set(g->inverse, g->inverses + s * n, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    }
    if (status == TESS_SUCCESS) { status = tess_vector_set(g->b, p->b + s * n, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status != TESS_SUCCESS) { return status; }
    *iterations = bench_krylov_solve(g->solver, tess_vector_data_const(g->b), tess_vector_data(g->x),
                                     RTOL * g->norms[s], MOST_ITERATIONS);
    return tess_vector_get(g->x, p->x + s * n, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

/* True residuals are looked at after the time. Theirs stop at an estimate, and are right up to TRUE_SLACK times it. */
static outcome solve_sample_by_graph(problem *p, const graph_solver *g)
{
    const int64_t n = p->a->nrows;
    bench_csr own = g->host;
    outcome o = {.status = TESS_SUCCESS};
    double start = bench_wall_seconds();

    for (int64_t s = 0; s < p->sample && o.status == TESS_SUCCESS; s++) {
        int64_t iterations = 0;

        o.status = solve_by_graph(p, g, s, &iterations);
        o.iterations += (double)iterations / (double)p->sample;
    }
    o.seconds = (bench_wall_seconds() - start) / (double)p->sample;
    for (int64_t s = 0; s < p->sample && o.status == TESS_SUCCESS; s++) {
        bench_residual r;

        own.val = p->val + s * p->a->nnz;
        r = bench_true_residual(&own, p->b + s * n, p->x + s * n);
        note(&o, 0, r.norm <= TRUE_SLACK * RTOL * r.rhs_norm, r.norm / r.rhs_norm, p->sample);
    }
    return o;
}
#endif

static void write_row(const problem *p, const char *method, const char *contestant, const outcome *o, double ratio)
{
    const bool together = contestant == NULL;
    const bench_record record = {
        .part = "solve",
        .matrix = p->name,
        .nrows = p->a->nrows,
        .ncols = p->a->ncols,
        .nnz = p->a->nnz,
        .contestant = together ? method : contestant,
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
static void keep_least(int turn, outcome now, outcome *best)
{
    if (turn > 0 && now.seconds < best->seconds) { *best = now; }
}

static int turns_of(const problem *p)
{
    return p->run->options->quick ? 1 : REPETITIONS;
}

/* The seconds of one after another. */
static double run_method(problem *p, const char *name, tess_solver_kind solver, tess_precond_kind precond)
{
    tess_solve_options options;
    outcome alone = {.seconds = INFINITY}, together = {.seconds = INFINITY};

    tess_solve_options_init(&options);
    options.solver = solver;
    options.precond.kind = precond;
    options.rtol = RTOL;
    for (int turn = 0; turn <= turns_of(p); turn++) {
        keep_least(turn, solve_one_after_another(p, &options), &alone);
        keep_least(turn, solve_together(p, &options), &together);
    }
    write_row(p, name, "one after another", &alone, 1.0);
    write_row(p, name, NULL, &together, alone.seconds / together.seconds);
    return alone.seconds;
}

/* `seconds`: of one after another by ours. */
static void run_theirs(problem *p, double seconds)
{
#ifdef BENCH_CUDA
    outcome best = {.seconds = INFINITY};
    graph_solver g = {0};

    if (!p->run->gpu) { return; }
    best.status = open_graph(p, &g);
    for (int turn = 0; turn <= turns_of(p) && best.status == TESS_SUCCESS; turn++) {
        keep_least(turn, solve_sample_by_graph(p, &g), &best);
    }
    write_row(p, "cg-jacobi", "cuSPARSE+cuBLAS graph", &best, seconds / best.seconds);
    close_graph(&g);
#else
    (void)p, (void)seconds;
#endif
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
        run_theirs(&p, run_method(&p, "cg-jacobi", TESS_SOLVER_CG, TESS_PRECOND_JACOBI));
        run_method(&p, "cg-ilu0", TESS_SOLVER_CG, TESS_PRECOND_ILU0);
        run_method(&p, "bicgstab-jacobi", TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI);
        run_method(&p, "gmres-jacobi", TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI);
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
    static const char *const usual[] = {"gallery:laplace3d:10", "gallery:laplace2d:32", NULL};
    static const bench_case_study study = {
        .name = "batch",
        .doc =
            "Times batches of systems of one pattern, 10,000 on a GPU and 2,000 on a host, against up to 500 of them "
            "one after another: by a solver that is set up, and on a GPU by CG of cuSPARSE and cuBLAS in a CUDA "
            "graph; a system, with transfers, each verified.",
        .on_gpu = usual,
        .on_host = usual,
        .run = run_case};

    (void)parts;
    return bench_case_study_run(&study, argc, argv);
}
