/* SPDX-License-Identifier: Apache-2.0 */
/* The contestants of the studies krylov and factors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/csr/csr.h"
#include "peers/factor_values.h"
#include "solve/contest.h"
#ifdef BENCH_CUDA
#include "peers/factors.h"
#include "peers/krylov.h"
#endif

bool bench_contestant_is_ours(bench_contestant which)
{
    return which <= BENCH_OURS_PLAIN;
}

bool bench_contestant_runs(const bench_run *run, bench_contestant which)
{
    if (which == BENCH_OURS_PLAIN) { return true; }
#ifdef BENCH_CUDA
    return run->gpu;
#else
    return run->gpu && bench_contestant_is_ours(which);
#endif
}

tess_matrix *bench_problem_load(bench_run *run, const bench_case *which)
{
    tess_matrix *a = NULL;
    char reason[640];
    const tess_status status = bench_case_load(run->ctx, run->options, which, &a, reason, sizeof reason);

    if (status == TESS_SUCCESS && tess_matrix_nrows(a) == tess_matrix_ncols(a)) { return a; }
    bench_skip(run, which->name, status != TESS_SUCCESS ? reason : "not square");
    tess_matrix_destroy(a);
    return NULL;
}

int bench_case_study_run(const bench_case_study *study, int argc, char **argv)
{
    const struct argp program = {.options = study->own, .parser = study->parse, .doc = study->doc};
    bench_options options;
    bench_cases cases;
    bench_run run;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, NULL);
    bench_begin(&run, &options, study->name, true);
    if (options.nsets == 0 && options.nmatrices == 0) {
        const char *const *usual = run.gpu ? study->on_gpu : study->on_host;

        while (usual[options.nmatrices]) {
            options.matrices[options.nmatrices] = usual[options.nmatrices];
            options.nmatrices += 1;
        }
    }
    cases = bench_cases_select(&options, NULL);
    for (size_t k = 0; k < cases.count; k++) {
        study->run(&run, &cases.items[k]);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}

tess_status bench_problem_make(bench_run *run, const tess_matrix *a, bench_problem *out)
{
    int64_t n = tess_matrix_nrows(a);
    tess_status status = TESS_SUCCESS;

    *out = (bench_problem){.run = run, .a = a};
    out->host_b = bench_allocate((size_t)n, sizeof *out->host_b);
    out->host_x = bench_allocate((size_t)n, sizeof *out->host_x);
    status = bench_csr_get(a, &out->host);
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, n, TESS_PRECISION_FP64, &out->b); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, n, TESS_PRECISION_FP64, &out->x); }
    if (status == TESS_SUCCESS) { status = bench_problem_set_rhs(out, 1); }
    return status;
}

tess_status bench_problem_set_rhs(bench_problem *problem, uint64_t seed)
{
    tess_status status = TESS_SUCCESS;

    if (seed > 0) {
        status = tess_vector_set_random(problem->b, seed, -1.0, 1.0);
    } else {
        status = tess_vector_fill(problem->x, 1.0);
        if (status == TESS_SUCCESS) {
            status = tess_matrix_spmv(problem->a, TESS_OP_NONE, 1.0, problem->x, 0.0, problem->b);
        }
    }
    if (status == TESS_SUCCESS) { status = tess_vector_norm2(problem->b, TESS_ARITHMETIC_FP64, &problem->rhs_norm); }
    if (status == TESS_SUCCESS) {
        status = tess_vector_get(problem->b, problem->host_b, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    }
    return status;
}

void bench_problem_free(bench_problem *problem)
{
#ifdef BENCH_CUDA
    bench_krylov_close(problem->handles);
#endif
    bench_csr_free(&problem->host);
    tess_vector_destroy(problem->b);
    tess_vector_destroy(problem->x);
    free(problem->host_b);
    free(problem->host_x);
}

tess_status bench_problem_shift(const bench_problem *problem, tess_precond_kind kind, double shift, tess_vector **out,
                                const char **made_by)
{
    const bool cholesky = kind == TESS_PRECOND_IC0;
    double *val = bench_allocate((size_t)problem->host.nnz, sizeof *val);
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    *made_by = "none";
#ifdef BENCH_CUDA
    *made_by = bench_cufactors_source();
#endif
    bench_shift_values(&problem->host, cholesky, shift, val);
    if (strcmp(*made_by, "host") == 0 && !bench_factor_values(&problem->host, cholesky, val)) {
        status = TESS_UNSUPPORTED;
    }
    if (status == TESS_SUCCESS) {
        status = tess_vector_create(problem->run->ctx, problem->host.nnz, TESS_PRECISION_FP64, out);
    }
    if (status == TESS_SUCCESS) { status = tess_vector_set(*out, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    free(val);
    return status;
}

/* ---- ours ---- */

/* What is a paper's goes to *papers, which the options point to. */
static void our_options(const bench_contest *c, double rtol, int64_t max_iterations, tess_papers_solve *papers,
                        tess_solve_options *options)
{
    tess_solve_options_init(options);
    tess_papers_solve_init(papers);
    papers->narrowing = c->narrowing;
    papers->narrowing_epsilon = c->narrowing == TESS_NARROWING_OFF ? 0.0 : c->narrowing_epsilon;
    papers->one_reduction = c->recurrence == TESS_RECURRENCE_ONE_REDUCTION;
    options->papers = papers;
    options->solver = c->solver;
    options->engine = c->which == BENCH_OURS_GRAPH ? c->engine : TESS_ENGINE_PLAIN;
    options->cg.recurrence = papers->one_reduction ? TESS_RECURRENCE_AUTO : c->recurrence;
    if (c->storage) { options->storage = *c->storage; }
    options->guard = rtol > 0.0 ? TESS_GUARD_REPAIR : TESS_GUARD_REPORT;
    options->rtol = rtol;
    options->max_iterations = max_iterations;
    options->history_capacity = c->history_capacity;
    options->timings = c->timings;
}

static tess_status precondition_ours(bench_contest *c)
{
    const double start = bench_wall_seconds();
    tess_status status = TESS_SUCCESS;

    if (c->precond.kind == TESS_PRECOND_NONE) { return TESS_SUCCESS; }
    status = tess_precond_create(c->own, &c->precond, &c->m);
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(c->problem->run->ctx); }
    c->precond_seconds = bench_wall_seconds() - start;
    return status;
}

static tess_status open_ours(bench_contest *c)
{
    const csr_view *v = &csr_of(c->problem->a)->view;
    tess_csr_arrays arrays = {.size = sizeof arrays,
                              .nrows = v->nrows,
                              .ncols = v->ncols,
                              .nnz = v->nnz,
                              .row_ptr = v->row_ptr,
                              .col_ind = v->col_ind,
                              .val = v->val,
                              .row_ptr_bits = v->row_ptr_bits,
                              .col_ind_bits = 32,
                              .where = c->problem->run->gpu ? TESS_MEMORY_DEVICE : TESS_MEMORY_HOST,
                              .ownership = TESS_BORROW};
    tess_papers_solve papers;
    tess_solve_options options;
    tess_status status = tess_matrix_create_csr(c->problem->run->ctx, &arrays, &c->own);

    our_options(c, 0.0, c->history_capacity > 0 ? c->history_capacity : 1, &papers, &options);
    if (status == TESS_SUCCESS) { status = precondition_ours(c); }
    if (status == TESS_SUCCESS) { status = tess_solver_create_with_precond(c->own, c->m, &options, &c->ours); }
    return status;
}

static tess_status run_ours(bench_contest *c, double rtol, int64_t max_iterations, int64_t *done)
{
    tess_papers_solve papers;
    tess_solve_options options;
    tess_status status = TESS_SUCCESS;

    our_options(c, rtol, max_iterations, &papers, &options);
    tess_solve_result_init(&c->result);
    tess_papers_result_init(&c->papers);
    status = tess_solver_set_limits(c->ours, &options);
    if (status == TESS_SUCCESS) { status = tess_vector_fill(c->problem->x, 0.0); }
    if (status == TESS_SUCCESS) { status = tess_solver_solve(c->ours, c->problem->b, c->problem->x, &c->result); }
    if (status == TESS_SUCCESS) { status = tess_solver_papers_result(c->ours, &c->papers); }
    if (status != TESS_SUCCESS) { return status; }
    *done = c->result.iterations;
    c->reason = c->result.reason;
    c->claimed = c->result.converged != 0;
    return TESS_SUCCESS;
}

/* ---- theirs ---- */

#ifdef BENCH_CUDA
static tess_status open_theirs(bench_contest *c)
{
    bench_problem *p = c->problem;
    const bench_krylov_variant variant = (bench_krylov_variant)(c->which - BENCH_THEIRS_PLAIN);
    bench_krylov_precond precond = {0};
    double start = 0.0;

    if (!p->handles) { p->handles = bench_krylov_open(p->a, &p->host); } /* no time counts of a first opening */
    start = bench_wall_seconds();
    if (c->precond.kind != TESS_PRECOND_NONE) {
        c->factors = bench_cufactors_create(p->handles, p->a, c->precond.kind, tess_vector_data_const(c->shifted),
                                            c->refusal, sizeof c->refusal);
        if (!c->factors) { return TESS_UNSUPPORTED; }
        precond = (bench_krylov_precond){bench_cufactors_apply, c->factors};
        c->precond_seconds = bench_wall_seconds() - start;
    }
    if (variant != BENCH_PLAIN_CALLS && c->factors &&
        !bench_cufactors_recordable(c->factors, tess_vector_data_const(p->b), tess_vector_data(p->x))) {
        snprintf(c->refusal, sizeof c->refusal, "not capturable: cusparseSpSV_solve fails within a graph");
        return TESS_UNSUPPORTED;
    }
    c->theirs = bench_krylov_create(p->handles, c->solver, variant, precond);
    return tess_context_synchronize(p->run->ctx);
}

static tess_status run_theirs(bench_contest *c, double rtol, int64_t max_iterations, int64_t *done)
{
    *done = bench_krylov_solve(c->theirs, tess_vector_data_const(c->problem->b), tess_vector_data(c->problem->x),
                               rtol * c->problem->rhs_norm, max_iterations);
    c->claimed = rtol > 0.0 && *done < max_iterations;
    return TESS_SUCCESS;
}
#endif

/* ---- both ---- */

tess_status bench_contest_open(bench_contest *c)
{
    if (bench_contestant_is_ours(c->which)) { return open_ours(c); }
#ifdef BENCH_CUDA
    return open_theirs(c);
#else
    return TESS_UNSUPPORTED;
#endif
}

tess_status bench_contest_run(bench_contest *c, double rtol, int64_t max_iterations, int64_t *done)
{
#ifdef BENCH_CUDA
    if (!bench_contestant_is_ours(c->which)) { return run_theirs(c, rtol, max_iterations, done); }
#endif
    return run_ours(c, rtol, max_iterations, done);
}

void bench_contest_close(bench_contest *c)
{
    tess_solver_destroy(c->ours);
    tess_precond_destroy(c->m);
    tess_matrix_destroy(c->own);
#ifdef BENCH_CUDA
    bench_krylov_destroy(c->theirs);
    bench_cufactors_destroy(c->factors);
#endif
    c->ours = NULL;
    c->m = NULL;
    c->own = NULL;
    c->theirs = NULL;
    c->factors = NULL;
}

tess_status bench_contest_precondition(void *user, int k)
{
    const bench_contest *c = user;

    (void)k;
#ifdef BENCH_CUDA
    if (c->factors) {
        bench_cufactors_apply(c->factors, tess_vector_data_const(c->problem->b), tess_vector_data(c->problem->x));
        return TESS_SUCCESS;
    }
#endif
    return tess_precond_apply(c->m, c->problem->b, c->problem->x);
}

void bench_contest_describe(const bench_problem *problem, bench_contestant which, tess_solver_kind solver, json_t *row)
{
    if (bench_contestant_is_ours(which)) { return; }
#ifdef BENCH_CUDA
    if (problem->handles) { bench_krylov_describe(problem->handles, solver, row); }
#else
    (void)problem, (void)solver, (void)row;
#endif
}

int64_t bench_contest_precond_bytes(const bench_contest *c)
{
#ifdef BENCH_CUDA
    if (c->factors) { return bench_cufactors_bytes(c->factors); }
#endif
    return c->m ? tess_precond_bytes(c->m) : 0;
}

void bench_contest_explain(const bench_contest *c, tess_status status, char *why, size_t size)
{
    const tess_error *error = tess_context_last_error(c->problem->run->ctx);
    const char *detail = c->refusal[0] != '\0' ? c->refusal : error ? error->message : "";

    snprintf(why, size, "%s: %s", tess_status_text(status), detail);
}

const char *bench_contest_reason(const bench_contest *c)
{
    if (bench_contestant_is_ours(c->which)) { return tess_reason_name(c->reason); }
    return c->claimed ? "rtol" : "iterations";
}
