/* SPDX-License-Identifier: Apache-2.0 */
/*
 * False convergences: CG over spd and BiCGSTAB over unsym, without preconditioner and with Jacobi, b = ones, x0 = 0.
 * What the library claims is held against a residual in quadruple precision that shares no code with it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { TOLERANCES = 3, PRECONDS = 2, METHODS = 2, MAX_REASONS = 24 };
static const double tolerances[TOLERANCES] = {1e-5, 1e-8, 1e-10};
static const tess_precond_kind preconds[PRECONDS] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI};
static const tess_solver_kind methods[METHODS] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};

typedef struct verify_options {
    int64_t max_iterations, max_nnz;
    double work; /* most (nonzeros + 10 rows) x iterations of one solve; it caps the iterations */
    tess_guard guard;
} verify_options;

typedef struct tally {
    int runs;           /* solves that were run */
    int implied;        /* same iterates as at a looser tolerance that was never met: the same outcome */
    int capped;         /* runs with fewer than max_iterations, because of the work limit */
    int claimed, truly; /* claimed converged; truly converged among these */
    int wrong;          /* false convergences */
    int modest;         /* not claimed, though the true residual meets the tolerance */
    int unbound;        /* the library's residual norm is off by more than the bound that it reports */
    int repaired;       /* converged after at least one residual replacement */
    int reasons[MAX_REASONS];
} tally;

typedef struct verification {
    bench_run *run;
    const verify_options *options;
    tally tallies[METHODS][PRECONDS][TOLERANCES];
} verification;

/* One matrix and what is solved on it. */
typedef struct subject {
    const bench_case *which;
    const tess_matrix *a;
    bench_csr host;
    tess_vector *b, *x;
    double *host_b, *host_x;
    int method;
} subject;

/* The place of a reason among the names. */
static int reason_place(tess_reason reason)
{
    const tess_named_value *names = tess_enum_names("tess_reason");

    for (int i = 0; names[i].name && i < MAX_REASONS; i++) {
        if (names[i].value == (int)reason) { return i; }
    }
    bench_die("unknown reason %d", (int)reason);
}

/* ---- one solve ---- */

static int64_t capped_iterations(const verification *v, const subject *s)
{
    double each = (double)s->host.nnz + 10.0 * (double)s->host.nrows;

    return (int64_t)fmin((double)v->options->max_iterations, fmax(100.0, v->options->work / each));
}

static json_t *describe(const subject *s, int precond, double rtol, const tess_solve_result *r,
                        const bench_residual *truth, const char *verdict)
{
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:f, s:s, s:b, s:I, s:I, s:s}", "matrix", s->which->name, "solver",
                  tess_solver_kind_name(methods[s->method]), "precond", tess_precond_kind_name(preconds[precond]),
                  "rtol", rtol, "reason", tess_reason_name(r->reason), "claimed", r->converged, "iterations",
                  (json_int_t)r->iterations, "refinements", (json_int_t)r->refinements, "verdict", verdict);
    double relative = truth->norm / truth->rhs_norm;

    json_object_set_new(row, "true_relative_residual", isfinite(relative) ? json_real(relative) : json_null());
    json_object_set_new(row, "reported_relative_residual",
                        isfinite(r->relative_residual) ? json_real(r->relative_residual) : json_null());
    return row;
}

/* The claim is b - A x <= rtol ||b||; the comparison allows for the rounding of rtol ||b|| itself. */
static void judge(verification *v, const subject *s, int precond, int tolerance, const tess_solve_result *r)
{
    tally *t = &v->tallies[s->method][precond][tolerance];
    bench_residual truth = bench_true_residual(&s->host, s->host_b, s->host_x);
    double rtol = tolerances[tolerance], limit = rtol * truth.rhs_norm * (1.0 + 1e-15);
    bool holds = truth.norm <= limit;
    bool off = isfinite(truth.norm) && fabs(r->residual_norm - truth.norm) > r->residual_bound + 1e-15 * truth.norm;
    const char *verdict = r->converged ? (holds ? "true" : "FALSE") : (holds ? "modest" : "not converged");

    t->runs += 1;
    t->claimed += r->converged;
    t->truly += r->converged && holds;
    t->wrong += r->converged && !holds;
    t->modest += !r->converged && holds;
    t->unbound += off;
    t->repaired += r->converged && r->refinements > 0;
    t->reasons[reason_place(r->reason)] += 1;
    if (off || (r->converged && !holds)) {
        printf("%-20s %-8s %-7s rtol %.0e: %s, %s; true %.17g, reported %.17g +- %.2g\n", s->which->name,
               tess_solver_kind_name(methods[s->method]), tess_precond_kind_name(preconds[precond]), rtol,
               tess_reason_name(r->reason), off ? "residual outside its bound" : "FALSE CONVERGENCE", truth.norm,
               r->residual_norm, r->residual_bound);
    }
    bench_add(v->run, describe(s, precond, rtol, r, &truth, verdict));
}

/* A fixed matrix and method iterate the same way until a tolerance is met: one that was never met implies the rest. */
static bool implies_rest(const tess_solve_result *r)
{
    return !r->converged && r->refinements == 0 && r->reason != TESS_REASON_FALSE_CONVERGENCE;
}

static tess_status solve_tolerances(verification *v, const subject *s, int precond, tess_solver *solver,
                                    tess_solve_options *options)
{
    tess_status status = TESS_SUCCESS;
    tess_solve_result r;

    for (int i = 0; i < TOLERANCES && status == TESS_SUCCESS; i++) {
        tally *t = &v->tallies[s->method][precond][i];

        options->rtol = tolerances[i];
        status = tess_solver_set_limits(solver, options);
        if (status == TESS_SUCCESS) { status = tess_vector_fill(s->x, 0.0); }
        tess_solve_result_init(&r);
        if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &r); }
        if (status == TESS_SUCCESS) {
            status = tess_vector_get(s->x, s->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        }
        if (status != TESS_SUCCESS) { break; }
        judge(v, s, precond, i, &r);
        t->capped += options->max_iterations < v->options->max_iterations && r.reason == TESS_REASON_ITERATIONS;
        if (implies_rest(&r)) {
            for (int k = i + 1; k < TOLERANCES; k++) {
                v->tallies[s->method][precond][k].implied += 1;
                v->tallies[s->method][precond][k].reasons[reason_place(r.reason)] += 1;
            }
            break;
        }
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
    status = tess_solver_create(s->a, &options, &solver);
    if (status == TESS_SUCCESS) { status = solve_tolerances(v, s, precond, solver, &options); }
    tess_solver_destroy(solver);
    return status;
}

/* ---- one matrix ---- */

static tess_status make_subject(bench_run *run, subject *s)
{
    int64_t n = tess_matrix_nrows(s->a);
    tess_status status = bench_csr_get(s->a, &s->host);

    s->host_b = bench_allocate((size_t)n, sizeof *s->host_b);
    s->host_x = bench_allocate((size_t)n, sizeof *s->host_x);
    for (int64_t i = 0; i < n; i++) {
        s->host_b[i] = 1.0;
    }
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, n, TESS_PRECISION_FP64, &s->b); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, n, TESS_PRECISION_FP64, &s->x); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(s->b, 1.0); }
    return status;
}

static void verify_case(verification *v, const bench_case *which)
{
    subject s = {.which = which};
    tess_matrix *a = NULL;
    char reason[640];
    tess_status status = TESS_SUCCESS;

    if (which->nnz > v->options->max_nnz) {
        bench_skip(v->run, which->name, "more nonzeros than --max-nnz");
        return;
    }
    status = bench_case_load(v->run->ctx, v->run->options, which, &a, reason, sizeof reason);
    if (status != TESS_SUCCESS || tess_matrix_nrows(a) != tess_matrix_ncols(a)) {
        bench_skip(v->run, which->name, status != TESS_SUCCESS ? reason : "not square");
        tess_matrix_destroy(a);
        return;
    }
    s.a = a;
    status = make_subject(v->run, &s);
    for (int m = 0; m < METHODS && status == TESS_SUCCESS; m++) {
        if (strcmp(which->class_name, m == 0 ? "unsym" : "spd") == 0) { continue; }
        s.method = m;
        for (int p = 0; p < PRECONDS && status == TESS_SUCCESS; p++) {
            status = solve_precond(v, &s, p);
        }
    }
    if (status != TESS_SUCCESS) { bench_fault(v->run, which->name, "solve", status); }
    bench_csr_free(&s.host);
    tess_vector_destroy(s.b);
    tess_vector_destroy(s.x);
    free(s.host_b);
    free(s.host_x);
    tess_matrix_destroy(a);
}

/* ---- report ---- */

static json_t *print_tally(const char *solver, const char *precond, double rtol, const tally *t)
{
    json_t *row = json_pack("{s:s, s:s, s:f, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "solver", solver, "precond",
                            precond, "rtol", rtol, "runs", t->runs, "implied", t->implied, "capped", t->capped,
                            "claimed", t->claimed, "truly", t->truly, "false", t->wrong, "modest", t->modest,
                            "outside_bound", t->unbound, "repaired", t->repaired);
    const tess_named_value *names = tess_enum_names("tess_reason");
    json_t *reasons = json_object();

    printf("%-8s %-7s %6.0e %5d %7d %7d %7d %6d %6d %6d %7d %8d  ", solver, precond, rtol, t->runs, t->implied,
           t->claimed, t->truly, t->wrong, t->modest, t->capped, t->unbound, t->repaired);
    for (int i = 0; names[i].name && i < MAX_REASONS; i++) {
        if (t->reasons[i] == 0) { continue; }
        printf(" %s %d", names[i].name, t->reasons[i]);
        json_object_set_new(reasons, names[i].name, json_integer(t->reasons[i]));
    }
    printf("\n");
    json_object_set_new(row, "reasons", reasons);
    return row;
}

/* The number of false convergences and of residuals outside their bound. */
static int report(verification *v)
{
    json_t *table = json_array();
    int wrong = 0, unbound = 0, runs = 0;

    printf("%-8s %-7s %6s %5s %7s %7s %7s %6s %6s %6s %7s %8s   %s\n", "solver", "precond", "rtol", "runs", "implied",
           "claimed", "truly", "FALSE", "modest", "capped", "unbound", "repaired", "reasons (runs and implied)");
    for (int m = 0; m < METHODS; m++) {
        for (int p = 0; p < PRECONDS; p++) {
            for (int i = 0; i < TOLERANCES; i++) {
                const tally *t = &v->tallies[m][p][i];

                if (t->runs + t->implied == 0) { continue; }
                json_array_append_new(table, print_tally(tess_solver_kind_name(methods[m]),
                                                         tess_precond_kind_name(preconds[p]), tolerances[i], t));
                wrong += t->wrong;
                unbound += t->unbound;
                runs += t->runs;
            }
        }
    }
    printf("false convergences: %d in %d runs; residuals outside their bound: %d\n", wrong, runs, unbound);
    json_object_set_new(v->run->root, "table", table);
    json_object_set_new(v->run->root, "false_convergences", json_integer(wrong));
    json_object_set_new(v->run->root, "outside_bound", json_integer(unbound));
    return wrong + unbound;
}

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

int main(int argc, char **argv)
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
            "Columns: truly = claimed and true by an independent residual in quadruple precision; implied = not run, "
            "because a looser tolerance was never met and the iterates are the same; modest = true but not claimed; "
            "capped = ended at fewer than --max-iterations because of --work; unbound = the reported residual norm is "
            "off by more than its reported bound; repaired = converged after a residual replacement. Exit code 1 when "
            "there is a false convergence, a residual outside its bound, or a failure."};
    verify_options own = {.max_iterations = 5000, .max_nnz = INT64_MAX, .work = 0.0, .guard = TESS_GUARD_REPAIR};
    bench_options options;
    bench_run run;
    bench_cases cases;
    verification v = {.run = &run, .options = &own};
    int wrong = 0;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    if (options.nsets + options.nmatrices == 0) {
        options.sets[options.nsets++] = "spd";
        options.sets[options.nsets++] = "unsym";
    }
    cases = bench_cases_select(&options, NULL);
    bench_begin(&run, &options, "bench_verify", false);
    if (own.work <= 0.0) { own.work = run.gpu ? INFINITY : 2e8; }
    for (size_t i = 0; i < cases.count; i++) {
        verify_case(&v, &cases.items[i]);
    }
    wrong = report(&v);
    bench_cases_free(&cases);
    return bench_end(&run) != 0 || wrong > 0 ? 1 : 0;
}
