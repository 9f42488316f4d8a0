/* SPDX-License-Identifier: Apache-2.0 */
/*
 * False convergences: CG over spd and BiCGSTAB over unsym, without preconditioner and with Jacobi, b = ones, x0 = 0.
 * What the library claims is held against a residual in quadruple precision that shares no code with it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record.h"
#include "solve/contest.h"
#include "solve/solve.h"

enum { TOLERANCES = 3, PRECONDS = 2, METHODS = 2 };
static const double tolerances[TOLERANCES] = {1e-5, 1e-8, 1e-10};
static const tess_precond_kind preconds[PRECONDS] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI};
static const tess_solver_kind methods[METHODS] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};

typedef struct verify_options {
    int64_t max_iterations, max_nnz;
    double work; /* most (nonzeros + 10 rows) x iterations of one solve; it caps the iterations */
    tess_guard guard;
} verify_options;

typedef struct verification {
    bench_run *run;
    const verify_options *options;
    int wrong;   /* false convergences */
    int unbound; /* residual norms that are off by more than the bound that is reported with them */
} verification;

/* One matrix and what is solved on it. */
typedef struct subject {
    const bench_case *which;
    bench_problem problem;
    int method;
} subject;

/* ---- one solve ---- */

static int64_t capped_iterations(const verification *v, const subject *s)
{
    double each = (double)s->problem.host.nnz + 10.0 * (double)s->problem.host.nrows;

    return (int64_t)fmin((double)v->options->max_iterations, fmax(100.0, v->options->work / each));
}

/* A fixed matrix and method iterate the same way until a tolerance is met: one that was never met implies the rest. */
static bool implies_rest(const tess_solve_result *r)
{
    return !r->converged && r->refinements == 0 && r->reason != TESS_REASON_FALSE_CONVERGENCE;
}

/* What the independent residual says of a solve. */
typedef struct judgement {
    bench_residual truth;
    bool holds, off; /* the claim would be true; the reported norm is outside of its bound */
} judgement;

static void report(verification *v, const subject *s, int precond, double rtol, const tess_solve_result *r,
                   const judgement *j)
{
    const bool capped = capped_iterations(v, s) < v->options->max_iterations && r->reason == TESS_REASON_ITERATIONS;
    const char *verdict = r->converged ? (j->holds ? "true" : "FALSE") : (j->holds ? "modest" : "not converged");
    char name[32];
    bench_record record = {.matrix = s->which->name,
                           .nrows = s->problem.host.nrows,
                           .ncols = s->problem.host.ncols,
                           .nnz = s->problem.host.nnz,
                           .contestant = name,
                           .ours = true,
                           .precision = "fp64",
                           .of = "solve",
                           .time = bench_time_once(r->solve_seconds),
                           .solved = true,
                           .iterations = r->iterations,
                           .true_residual = j->truth.norm / j->truth.rhs_norm};
    json_t *row = NULL;

    snprintf(name, sizeof name, "%s, %s", tess_solver_kind_name(methods[s->method]),
             tess_precond_kind_name(preconds[precond]));
    row = bench_record_row(v->run, &record);
    bench_set(row, "{s:s, s:s, s:f, s:s, s:b, s:b, s:s, s:b, s:b, s:b, s:I}", "solver",
              tess_solver_kind_name(methods[s->method]), "precond", tess_precond_kind_name(preconds[precond]), "rtol",
              rtol, "reason", tess_reason_name(r->reason), "claimed", r->converged != 0, "verified",
              r->converged && j->holds, "verdict", verdict, "capped", capped, "outside_bound", j->off,
              "implies_tighter", implies_rest(r), "refinements", (json_int_t)r->refinements);
    bench_set_real(row, "reported_relative_residual", r->relative_residual);
    bench_record_add(v->run, &record, row, "rtol %.0e: %s, %s%s", rtol, tess_reason_name(r->reason), verdict,
                     j->off ? ", RESIDUAL OUTSIDE ITS BOUND" : "");
}

/* The claim is b - A x <= rtol ||b||; the comparison allows for the rounding of rtol ||b|| itself. */
static void judge(verification *v, const subject *s, int precond, int tolerance, const tess_solve_result *r)
{
    const double rtol = tolerances[tolerance];
    judgement j = {.truth = bench_true_residual(&s->problem.host, s->problem.host_b, s->problem.host_x)};

    j.holds = j.truth.norm <= rtol * j.truth.rhs_norm * (1.0 + 1e-15);
    j.off = isfinite(j.truth.norm) && fabs(r->residual_norm - j.truth.norm) > r->residual_bound + 1e-15 * j.truth.norm;
    v->wrong += r->converged && !j.holds;
    v->unbound += j.off;
    report(v, s, precond, rtol, r, &j);
}

static tess_status solve_tolerances(verification *v, const subject *s, int precond, tess_solver *solver,
                                    tess_solve_options *options)
{
    tess_status status = TESS_SUCCESS;
    tess_solve_result r;

    for (int i = 0; i < TOLERANCES && status == TESS_SUCCESS; i++) {
        options->rtol = tolerances[i];
        status = tess_solver_set_limits(solver, options);
        if (status == TESS_SUCCESS) { status = tess_vector_fill(s->problem.x, 0.0); }
        tess_solve_result_init(&r);
        if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->problem.b, s->problem.x, &r); }
        if (status == TESS_SUCCESS) {
            status = tess_vector_get(s->problem.x, s->problem.host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        }
        if (status != TESS_SUCCESS) { break; }
        judge(v, s, precond, i, &r);
        if (implies_rest(&r)) { break; }
    }
    return status;
}

static tess_status solve_precond(verification *v, const subject *s, int precond)
{
    tess_solve_options options;
    tess_solver *solver = NULL;
    tess_status status = TESS_SUCCESS;

    tess_solve_options_init(&options);
    options.solver = methods[s->method];
    options.precond.kind = preconds[precond];
    options.guard = v->options->guard;
    options.max_iterations = capped_iterations(v, s);
    options.history_capacity = 0;
    status = tess_solver_create(s->problem.a, &options, &solver);
    if (status == TESS_SUCCESS) { status = solve_tolerances(v, s, precond, solver, &options); }
    tess_solver_destroy(solver);
    return status;
}

/* ---- one matrix ---- */

/* b = 1 in place of a random one. */
static tess_status make_problem(bench_run *run, const tess_matrix *a, bench_problem *out)
{
    tess_status status = bench_problem_make(run, a, out);

    if (status == TESS_SUCCESS) { status = tess_vector_fill(out->b, 1.0); }
    if (status != TESS_SUCCESS) { return status; }
    return tess_vector_get(out->b, out->host_b, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

static void verify_case(verification *v, const bench_case *which)
{
    subject s = {.which = which};
    tess_matrix *a = NULL;
    tess_status status = TESS_SUCCESS;

    if (which->nnz > v->options->max_nnz) {
        bench_skip(v->run, which->name, "more nonzeros than --max-nnz");
        return;
    }
    a = bench_problem_load(v->run, which);
    if (!a) { return; }
    status = make_problem(v->run, a, &s.problem);
    for (int m = 0; m < METHODS && status == TESS_SUCCESS; m++) {
        if (strcmp(which->class_name, m == 0 ? "unsym" : "spd") == 0) { continue; }
        s.method = m;
        for (int p = 0; p < PRECONDS && status == TESS_SUCCESS; p++) {
            status = solve_precond(v, &s, p);
        }
    }
    if (status != TESS_SUCCESS) { bench_fault(v->run, which->name, "solve", status); }
    bench_problem_free(&s.problem);
    tess_matrix_destroy(a);
}

/* ---- options ---- */

enum { KEY_ITERATIONS = 500, KEY_NNZ, KEY_WORK, KEY_GUARD };

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    verify_options *o = state->input;

    switch (key) {
    case KEY_ITERATIONS: o->max_iterations = strtoll(arg, NULL, 10); break;
    case KEY_NNZ: o->max_nnz = strtoll(arg, NULL, 10); break;
    case KEY_WORK: o->work = strtod(arg, NULL); break;
    case KEY_GUARD:
        if (strcmp(arg, "repair") != 0 && strcmp(arg, "report") != 0) {
            argp_error(state, "--guard: '%s' is neither repair nor report", arg);
        }
        o->guard = strcmp(arg, "repair") == 0 ? TESS_GUARD_REPAIR : TESS_GUARD_REPORT;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int study_verify(int argc, char **argv, const char *parts)
{
    static const struct argp_option table[] = {
        {"max-iterations", KEY_ITERATIONS, "N", 0, "default 5000", 0},
        {"max-nnz", KEY_NNZ, "N", 0, "leave out matrices with more nonzeros (default: none)", 0},
        {"work", KEY_WORK, "W", 0,
         "cap the iterations of a solve at W / (nonzeros + 10 rows); default 2e8 on the host, no cap on a GPU", 0},
        {"guard", KEY_GUARD, "repair|report", 0, "default repair", 0},
        {0}};
    static const struct argp program = {
        .options = table,
        .parser = parse_option,
        .doc =
            "Counts false convergences. Default sets: spd (CG) and unsym (BiCGSTAB).\v"
            "A claim is true or FALSE by an independent residual in quadruple precision; modest: it is true, but not "
            "claimed. A tolerance is not run where a looser one was never met: the iterates are the same. Exit code 1 "
            "when there is a false convergence, a residual outside its reported bound, or a failure."};
    verify_options own = {.max_iterations = 5000, .max_nnz = INT64_MAX, .work = 0.0, .guard = TESS_GUARD_REPAIR};
    bench_options options;
    bench_run run;
    bench_cases cases;
    verification v = {.run = &run, .options = &own};

    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    if (options.nsets + options.nmatrices == 0) {
        options.sets[options.nsets++] = "spd";
        options.sets[options.nsets++] = "unsym";
    }
    cases = bench_cases_select(&options, NULL);
    bench_begin(&run, &options, "verify", false);
    if (own.work <= 0.0) { own.work = run.gpu ? INFINITY : 2e8; }
    for (size_t i = 0; i < cases.count; i++) {
        verify_case(&v, &cases.items[i]);
    }
    bench_cases_free(&cases);
    printf("false convergences: %d; residuals outside their bound: %d\n", v.wrong, v.unbound);
    bench_set(run.root, "{s:i, s:i, s:[f, f, f]}", "false_convergences", v.wrong, "outside_bound", v.unbound,
              "tolerances", tolerances[0], tolerances[1], tolerances[2]);
    return bench_end(&run) != 0 || v.wrong + v.unbound > 0 ? 1 : 0;
}
