/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Jacobi iteration in FP64, in FP32, split by entries, and in rising precisions: Figure 15 and Table IV of Tezcan
 * et al. (2022), and schedules that begin in 16 bits or end by their own progress. Residuals are computed in quadruple
 * precision.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/papers.h"
#include "papers/schedule.h"
#include "solver/jacobi/jacobi.h"

enum { QUICK_ITERATIONS = 200, FULL_ITERATIONS = 2000, TOLERANCE_FACTOR = 4 };

/* Variants from SWITCHED on stop at a tolerance, and the entries of their schedules by their own progress. */
enum { FP64 = 0, SWITCHED = 8, VARIANTS = 11 };
static const bench_schedule_variant variants[VARIANTS] = {
    {"fp64", "fp64", false, NULL, FP64},
    {"fp32", "fp32", false, NULL, FP64},
    {"entry-wise", "mixed", true, NULL, FP64},
    {"1-step", "mixed", false, NULL, FP64},
    {"2-step", "mixed,fp64", false, NULL, FP64},
    {"3-step", "fp32,mixed,fp64", false, NULL, FP64},
    {"3-step, fp16 first", "fp16,mixed,fp64", false, NULL, FP64},
    {"3-step, bf16 first", "bf16,mixed,fp64", false, NULL, FP64},
    {"fp64, tolerance", "fp64", false, NULL, SWITCHED},
    {"3-step, switched", "fp32,mixed,fp64", false, NULL, SWITCHED},
    {"fp16, switched", "fp16,fp32,fp64", false, NULL, SWITCHED},
};

typedef struct jacobi_options {
    int64_t iterations; /* 0: by --quick */
    double rtol;        /* of the runs to a tolerance; 0: four times what FP64 reaches in the fixed run */
    double most;        /* matrices where FP64 stays above this are left out */
    bool scale;
    bench_schedule_policies policies;
} jacobi_options;

typedef struct record {
    char name[80];
    bool in_cache;
    bench_schedule_result of[VARIANTS];
} record;

typedef struct problem {
    bench_run *run;
    const jacobi_options *options;
    tess_matrix *a;
    bench_csr host;
    tess_vector *b, *x;
    double *host_b, *host_x;
    record *record;
} problem;

/* ---- the problem ---- */

/* B = P D_r A D_c with the largest product on the diagonal, in place of A. */
static tess_status scale_matrix(problem *p)
{
    size_t n = (size_t)tess_matrix_nrows(p->a);
    int32_t *perm = bench_allocate(n, sizeof *perm);
    double *rows = bench_allocate(n, sizeof *rows), *columns = bench_allocate(n, sizeof *columns);
    tess_matrix *scaled = NULL;
    tess_status status = tess_order_max_product(p->a, perm, rows, columns);

    if (status == TESS_SUCCESS) { status = tess_matrix_reorder(p->a, perm, NULL, rows, columns, &scaled); }
    if (status == TESS_SUCCESS) {
        tess_matrix_destroy(p->a);
        p->a = scaled;
    }
    free(perm);
    free(rows);
    free(columns);
    return status;
}

/* b = A x* in FP64 with x* = [1/n, 2/n, .., 1]. */
static tess_status make_vectors(problem *p)
{
    int64_t n = tess_matrix_nrows(p->a);
    tess_status status = tess_vector_create(p->run->ctx, n, TESS_PRECISION_FP64, &p->b);

    p->host_b = bench_allocate((size_t)n, sizeof *p->host_b);
    p->host_x = bench_allocate((size_t)n, sizeof *p->host_x);
    for (int64_t i = 0; i < n; i++) {
        p->host_x[i] = (double)(i + 1) / (double)n;
    }
    if (status == TESS_SUCCESS) { status = tess_vector_create(p->run->ctx, n, TESS_PRECISION_FP64, &p->x); }
    if (status == TESS_SUCCESS) { status = tess_vector_set(p->x, p->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(p->a, TESS_OP_NONE, 1.0, p->x, 0.0, p->b); }
    if (status == TESS_SUCCESS) { status = tess_vector_get(p->b, p->host_b, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    return status;
}

static void close_problem(problem *p)
{
    tess_vector_destroy(p->b);
    tess_vector_destroy(p->x);
    free(p->host_b);
    free(p->host_x);
    bench_csr_free(&p->host);
    tess_matrix_destroy(p->a);
}

static bool open_problem(problem *p, const bench_case *which)
{
    char reason[640];
    tess_status status = bench_case_load(p->run->ctx, p->run->options, which, &p->a, reason, sizeof reason);

    if (status != TESS_SUCCESS) {
        bench_skip(p->run, which->name, reason);
        return false;
    }
    if (tess_matrix_nrows(p->a) != tess_matrix_ncols(p->a)) {
        bench_skip(p->run, which->name, "is not square");
        close_problem(p);
        return false;
    }
    if (p->options->scale) { status = scale_matrix(p); }
    if (status != TESS_SUCCESS) {
        bench_skip(p->run, which->name, tess_context_last_error(p->run->ctx)->message);
        close_problem(p);
        return false;
    }
    status = bench_csr_get(p->a, &p->host);
    if (status == TESS_SUCCESS) { status = make_vectors(p); }
    if (status == TESS_SUCCESS) { return true; }
    bench_fault(p->run, which->name, "matrix and vectors", status);
    close_problem(p);
    return false;
}

/* ---- one variant ---- */

typedef struct solve_call {
    problem *p;
    tess_solver *solver;
    tess_solve_result result;
} solve_call;

static tess_status call_solve(void *user, double *seconds)
{
    solve_call *c = user;
    tess_status status = tess_vector_fill(c->p->x, 0.0);

    tess_solve_result_init(&c->result);
    if (status == TESS_SUCCESS) { status = tess_solver_solve(c->solver, c->p->b, c->p->x, &c->result); }
    *seconds = c->result.solve_seconds;
    return status;
}

static tess_status make_options(const problem *p, int index, tess_solve_options *o)
{
    const bench_schedule_variant *v = &variants[index];
    const bool fixed = index < SWITCHED;

    tess_solve_options_init(o);
    o->solver = TESS_SOLVER_JACOBI;
    o->guard = TESS_GUARD_REPORT;
    o->rtol = 0.0;
    o->max_iterations = p->options->iterations * (fixed ? 1 : TOLERANCE_FACTOR);
    o->history_capacity = 0;
    if (!fixed) { o->rtol = p->options->rtol > 0.0 ? p->options->rtol : 4.0 * p->record->of[FP64].error; }
    if (!bench_schedule_storage(v, &p->options->policies, &o->storage)) { return TESS_INVALID_ARGUMENT; }
    return tess_schedule_parse(v->schedule, &o->jacobi.schedule);
}

/* Each entry's bytes as the solver counts them: values, columns and offsets, x read and written, b, D^-1. */
static double bytes_of(const tess_solver *solver, const tess_precision_schedule *schedule)
{
    const tess_sweep *sweep = ((const tess_jacobi *)method_of(solver)->own)->main;
    double bytes = 0.0;

    for (int i = 0; i < schedule->count; i++) {
        bytes += (double)schedule->entry[i].iterations * (double)sweep_iteration_bytes(sweep, schedule->entry[i].what);
    }
    return bytes;
}

static tess_status take_result(problem *p, const solve_call *c, const tess_solve_options *o, bench_schedule_result *r)
{
    const tess_solve_result *s = &c->result;
    bench_residual truth;
    tess_status status = tess_vector_get(p->x, p->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);

    if (status != TESS_SUCCESS) { return status; }
    truth = bench_true_residual(&p->host, p->host_b, p->host_x);
    r->error = truth.norm / truth.rhs_norm;
    r->schedule = s->jacobi.schedule;
    r->iterations = s->iterations;
    r->setup_seconds = s->setup_seconds;
    r->bytes = bytes_of(c->solver, &s->jacobi.schedule);
    bench_schedule_note(&o->storage.policy, s->storage.nonzeros_per_precision, r);
    r->ran = s->iterations > 0;
    if (isfinite(truth.norm) && fabs(truth.norm - s->residual_norm) > s->residual_bound + 1e-14 * truth.norm) {
        bench_fault(p->run, p->record->name, "the reported residual is off by more than its bound", TESS_SUCCESS);
    }
    return TESS_SUCCESS;
}

/* A diagonal that cannot be inverted, or a tolerance that was not met, is no time to compare. */
static bool has_outcome(problem *p, const solve_call *c, int index)
{
    const tess_reason reason = c->result.reason;
    char text[160];

    if (reason == TESS_REASON_PRECOND_SETUP || (index >= SWITCHED && !c->result.converged)) {
        snprintf(text, sizeof text, "%s: %s", variants[index].name, tess_reason_text(reason));
        bench_skip(p->run, p->record->name, text);
        return false;
    }
    return true;
}

static tess_status run_variant(problem *p, int index)
{
    bench_schedule_result *r = &p->record->of[index];
    solve_call c = {.p = p};
    tess_solve_options o;
    tess_status status = make_options(p, index, &o);

    if (status == TESS_SUCCESS) { status = tess_solver_create(p->a, &o, &c.solver); }
    if (status == TESS_SUCCESS) { status = bench_schedule_time(p->run, call_solve, &c, &r->time); }
    if (status == TESS_SUCCESS && has_outcome(p, &c, index)) { status = take_result(p, &c, &o, r); }
    tess_solver_destroy(c.solver);
    if (status == TESS_SUCCESS && r->ran) {
        bench_schedule_report(p->run, p->record->name, &p->host, p->record->in_cache, variants, index, r,
                              "relative_residual");
    }
    return status;
}

static void run_case(bench_run *run, const bench_case *which, const jacobi_options *options, record *out)
{
    problem p = {.run = run, .options = options, .record = out};
    char text[96];
    tess_status status = TESS_SUCCESS;

    snprintf(out->name, sizeof out->name, "%s", which->name);
    if (!open_problem(&p, which)) { return; }
    out->in_cache = bench_spmv_bytes(p.host.nrows, p.host.ncols, p.host.nnz, 8) + 24 * p.host.nrows <= run->cache_bytes;
    status = run_variant(&p, FP64);
    if (status == TESS_SUCCESS && out->of[FP64].ran && !(out->of[FP64].error < options->most)) {
        snprintf(text, sizeof text, "left out: FP64 ends at a relative residual of %.2g", out->of[FP64].error);
        bench_skip(run, which->name, text);
        out->of[FP64].ran = false;
    }
    for (int i = FP64 + 1; i < VARIANTS && status == TESS_SUCCESS && out->of[FP64].ran; i++) {
        status = run_variant(&p, i);
    }
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, "Jacobi", status); }
    close_problem(&p);
}

/* ---- options ---- */

enum { KEY_SCALE = 700, KEY_ITERATIONS, KEY_RTOL, KEY_MOST };

static const struct argp_option table[] = {
    {"scale", KEY_SCALE, "none|max-product", 0, "permute and scale first (default none)", 0},
    {"iterations", KEY_ITERATIONS, "N", 0, "of fixed runs (default 2000, --quick 200)", 0},
    {"rtol", KEY_RTOL, "R", 0, "of runs to a tolerance (default: four times what the fixed FP64 run reaches)", 0},
    {"most", KEY_MOST, "R", 0, "leave out matrices where FP64 ends above this relative residual (default 0.1)", 0},
    BENCH_SCHEDULE_OPTIONS("mean-range:0.1", "fixed-range:0.01"),
    {0}};

static double read_real(struct argp_state *state, const char *option, const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);

    if (*end != '\0' || !(value > 0.0)) { argp_error(state, "--%s: '%s' is not a number above 0", option, text); }
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    jacobi_options *o = state->input;
    tess_scaling scaling = TESS_SCALING_NONE;

    switch (key) {
    case KEY_SCALE:
        if (tess_scaling_parse(arg, &scaling) != TESS_SUCCESS) { argp_error(state, "--scale: '%s'", arg); }
        o->scale = scaling != TESS_SCALING_NONE;
        return 0;
    case KEY_ITERATIONS: o->iterations = (int64_t)read_real(state, "iterations", arg); return 0;
    case KEY_RTOL: o->rtol = read_real(state, "rtol", arg); return 0;
    case KEY_MOST: o->most = read_real(state, "most", arg); return 0;
    default: return bench_schedule_parse(key, arg, state, &o->policies);
    }
}

static void options_init(jacobi_options *o)
{
    *o = (jacobi_options){.most = 0.1};
    bench_schedule_init("mean-range:0.1", "fixed-range:0.01", &o->policies);
}

int study_jacobi(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .options = table,
        .parser = parse,
        .doc =
            "Jacobi iterations in steps of rising precision, with x* = [1/n, .., 1] and x0 = 0. Default: the set "
            "large.\vFixed runs share the iterations equally among their steps. The last three variants stop at a "
            "tolerance, and a step of theirs ends where it makes no progress; they are compared with FP64 that stops "
            "there too. Times are medians of three solves, set-up apart, verification included."};
    bench_options options;
    jacobi_options jacobi;
    bench_run run;
    bench_cases cases;

    (void)parts;
    bench_options_init(&options);
    options_init(&jacobi);
    bench_parse(argc, argv, &program, &options, &jacobi);
    if (jacobi.iterations == 0) { jacobi.iterations = options.quick ? QUICK_ITERATIONS : FULL_ITERATIONS; }
    cases = bench_cases_select(&options, "large");
    bench_begin(&run, &options, "jacobi", true);
    json_object_set_new(run.root, "iterations", json_integer(jacobi.iterations));
    json_object_set_new(run.root, "scale", json_string(jacobi.scale ? "max-product" : "none"));
    for (size_t i = 0; i < cases.count; i++) {
        record out = {.in_cache = false};

        run_case(&run, &cases.items[i], &jacobi, &out);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
