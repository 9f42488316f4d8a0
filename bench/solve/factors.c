/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CG with IC(0) and BiCGSTAB with ILU(0): time per iteration, per application, and to a verified tolerance with the
 * set-up, by precision of the factors and way to solve their triangles; against cuSPARSE (csric02, csrilu02, SpSV,
 * SpMV) and cuBLAS on a GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/stages.h"
#include "matrix/matrix.h"
#include "solve/factors.h"
#include "solve/solve.h"
#include "solver/symmetry.h"

/* A fixed run goes on this many times as long as to the tolerance: further on, numbers underflow, and are slow on a
 * host. */
enum { FEWEST_ITERATIONS = 60, BEYOND = 4 };

typedef struct own_options {
    const char *contestants; /* NULL: all known ones */
    tess_triangular triangular;
    double rtol;
    int64_t most_iterations;
    int64_t fixed; /* iterations of the longer fixed run; 0: chosen */
    bool iterations_only, stages;
} own_options;

typedef struct session {
    bench_run run;
    const own_options *own;
    factors_variants variants;
} session;

/* ---- one contestant ---- */

static void refuse(factors_outcome *o, const bench_contest *c, tess_status status)
{
    o->refused = true;
    bench_contest_explain(c, status, o->why, sizeof o->why);
}

/* The shift that our factors of this kind need: the baseline factors the same matrix. */
static tess_status give_values(const bench_contest *c, factors_outcome *o, tess_vector **values)
{
    tess_precond *m = NULL;
    tess_status status = tess_precond_create(c->problem->a, &c->precond, &m);

    tess_precond_factors_init(&o->facts);
    if (status == TESS_SUCCESS) { status = tess_precond_get_factors(m, &o->facts); }
    tess_precond_destroy(m);
    if (status != TESS_SUCCESS) { return status; }
    o->incomplete = true;
    return bench_problem_shift(c->problem, c->precond.kind, o->facts.shift, values, &o->made_by);
}

static tess_status time_application(bench_contest *c, factors_outcome *o)
{
    bench_time time;
    const tess_status status = bench_measure(c->problem->run, bench_contest_precondition, c, &time);

    if (status == TESS_SUCCESS) { o->apply_seconds = time.median; }
    return status;
}

/* Where the fixed runs gave no time: that of the solve, verification and all, by its iterations. */
static void take_solve(factors_outcome *o)
{
    if (o->run.timed || !o->run.solved || o->run.iterations == 0) { return; }
    o->run.iteration = bench_time_once((o->run.end_to_end.median - o->run.setup.median) / (double)o->run.iterations);
    o->from_solve = true;
}

static tess_status measure(const session *s, bench_contest *c, factors_outcome *o)
{
    int64_t long_run = s->own->fixed;
    tess_status status = TESS_SUCCESS;

    tess_precond_factors_init(&o->facts);
    if (c->m) { o->incomplete = tess_precond_get_factors(c->m, &o->facts) == TESS_SUCCESS; }
    o->bytes = bench_contest_precond_bytes(c);
    status = time_application(c, o);
    if (status == TESS_SUCCESS && !s->own->iterations_only) {
        status = bench_contest_time_solve(c, s->own->rtol, s->own->most_iterations, &o->run);
    }
    if (o->run.verified) { c->longest_run = (int64_t)fmax(FEWEST_ITERATIONS, BEYOND * (double)o->run.iterations); }
    if (status == TESS_SUCCESS) { status = bench_contest_time_iterations(c, &long_run, &o->run); }
    if (status == TESS_SUCCESS) { take_solve(o); }
    return status;
}

static void run_variant(session *s, bench_problem *p, const char *matrix, factors_outcome *o)
{
    const factors_variant *v = o->variant;
    bench_contest c = {
        .problem = p, .solver = v->solver, .which = v->which, .engine = TESS_ENGINE_GRAPH, .precond = v->precond};
    tess_vector *values = NULL;
    tess_status status = TESS_SUCCESS;

    if (!v->theirs && !s->run.gpu) { c.which = BENCH_OURS_PLAIN; }
    if (v->theirs) { status = give_values(&c, o, &values); }
    c.shifted = values;
    if (status == TESS_SUCCESS) { status = bench_contest_open(&c); }
    if (status != TESS_SUCCESS) {
        refuse(o, &c, status);
    } else {
        status = measure(s, &c, o);
        if (status != TESS_SUCCESS) {
            refuse(o, &c, status);
            bench_fault(&s->run, matrix, v->name, status);
        }
    }
    bench_contest_close(&c);
    tess_vector_destroy(values);
}

/* ---- what set-up is made of ---- */

typedef struct precond_setup {
    const bench_problem *problem;
    const tess_precond_options *options;
} precond_setup;

static tess_status set_up(void *user, int k)
{
    const precond_setup *s = user;
    tess_precond *m = NULL;
    tess_status status = tess_precond_create(s->problem->a, s->options, &m);

    (void)k;
    if (status == TESS_SUCCESS) { status = tess_stage_end(s->problem->run->ctx, "the rest"); }
    tess_precond_destroy(m);
    return status;
}

static void report_stages(session *s, const bench_problem *p, const char *matrix, const factors_variant *v)
{
    precond_setup setup = {p, &v->precond};
    const tess_status status = bench_stages(&s->run, set_up, &setup, matrix, v->name, 0.0);

    if (status == TESS_SINGULAR || status == TESS_UNSUPPORTED) {
        printf("%-22s %-27s  not run: %s\n", matrix, v->name, tess_context_last_error(s->run.ctx)->message);
    } else if (status != TESS_SUCCESS) {
        bench_fault(&s->run, matrix, v->name, status);
    }
}

/* ---- one matrix ---- */

static void run_solver(session *s, bench_problem *p, const char *matrix, tess_solver_kind solver)
{
    for (int i = 0; i < s->variants.count; i++) {
        const factors_variant *v = &s->variants.items[i];
        factors_outcome o = {.refused = false};

        if (v->solver != solver || (v->theirs && !bench_contestant_runs(&s->run, v->which))) { continue; }
        if (s->own->stages) {
            if (!v->theirs) { report_stages(s, p, matrix, v); }
            continue;
        }
        o.variant = v;
        run_variant(s, p, matrix, &o);
        factors_report(p, matrix, &o);
        if (!v->theirs && o.run.claimed && !o.run.verified) {
            char text[FACTORS_NAME + 32];

            snprintf(text, sizeof text, "%s: a false convergence", v->name);
            bench_fault(&s->run, matrix, text, TESS_SUCCESS);
        }
    }
}

static void run_solvers(session *s, bench_problem *p, const bench_case *which)
{
    const bool spd = strcmp(which->class_name, "spd") == 0;
    bool symmetric = spd;
    tess_status status = spd ? TESS_SUCCESS : probe_symmetry(p->a, &symmetric);

    if (status != TESS_SUCCESS) {
        bench_fault(&s->run, which->name, "symmetry", status);
        return;
    }
    if (symmetric) { run_solver(s, p, which->name, TESS_SOLVER_CG); }
    if (!spd) { run_solver(s, p, which->name, TESS_SOLVER_BICGSTAB); }
}

static void run_case(session *s, const bench_case *which)
{
    bench_problem p = {0};
    tess_matrix *a = bench_problem_load(&s->run, which);
    tess_status status = TESS_SUCCESS;

    if (!a) { return; }
    status = bench_problem_make(&s->run, a, &p);
    if (status == TESS_SUCCESS) {
        run_solvers(s, &p, which);
    } else {
        bench_fault(&s->run, which->name, "vectors", status);
    }
    bench_problem_free(&p);
    tess_matrix_destroy(a);
}

/* ---- options ---- */

enum {
    KEY_CONTESTANT = 900,
    KEY_TRIANGULAR,
    KEY_RTOL,
    KEY_MAX_ITERATIONS,
    KEY_ITERATIONS,
    KEY_ITERATIONS_ONLY,
    KEY_STAGES
};

static const struct argp_option table[] = {
    {"contestant", KEY_CONTESTANT, "LIST", 0, "names and patterns (default all)", 0},
    {"triangular", KEY_TRIANGULAR, "NAME", 0, "of ours whose names say none (default auto)", 0},
    {"rtol", KEY_RTOL, "R", 0, "tolerance of the timed solves (default 1e-8)", 0},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "of the timed solves (default 1000)", 0},
    {"iterations", KEY_ITERATIONS, "N", 0, "of the longer fixed run, a multiple of 10 from 60 on (default: chosen)", 0},
    {"iterations-only", KEY_ITERATIONS_ONLY, NULL, 0, "time iterations, not solves", 0},
    {"stages", KEY_STAGES, NULL, 0, "what the set-up of ours is made of, and no solves", 0},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    own_options *o = state->input;

    switch (key) {
    case KEY_CONTESTANT: o->contestants = arg; return 0;
    case KEY_TRIANGULAR:
        if (tess_triangular_parse(arg, &o->triangular) != TESS_SUCCESS) {
            argp_error(state, "--triangular: '%s' is no way to solve triangles", arg);
        }
        return 0;
    case KEY_RTOL:
        o->rtol = strtod(arg, NULL);
        if (!(o->rtol > 0.0 && o->rtol < 1.0)) { argp_error(state, "--rtol: '%s' is not between 0 and 1", arg); }
        return 0;
    case KEY_MAX_ITERATIONS: o->most_iterations = bench_read_count(state, "max-iterations", arg, 1, 1); return 0;
    case KEY_ITERATIONS: o->fixed = bench_read_count(state, "iterations", arg, FEWEST_ITERATIONS, 10); return 0;
    case KEY_ITERATIONS_ONLY: o->iterations_only = true; return 0;
    case KEY_STAGES: o->stages = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Times solves with incomplete factors and approximate inverses.\v"
    "Contestants: SOLVER-PRECOND of ours, SOLVER one of cg and bicgstab, PRECOND one of jacobi, ilu0, ic0, "
    "ilut[:T[:F]], "
    "ict[:T[:F]], iluk[:K] (T without a minus sign: 0.001), fsai[:K], fsai:adaptive and isai[:K], then any of a "
    "precision of the factors, for fsai also stepsN, sizeN and filterP "
    "(percent), "
    "for incomplete factors also levels, blocks (and leafN, N its largest "
    "leaf), merged, colors or sweepsK (K sweeps with each triangle), host, device or factorN (N sweeps of the "
    "factorization, and rounds of the fill): cg-ic0-fp32-blocks-leaf1024, cg-ic0-sweeps3; and SOLVER-cu-PRECOND of "
    "cuSPARSE and cuBLAS, "
    "scalars on the device: call by call, "
    "or with -graph or -short as a CUDA "
    "graph of ten iterations or of one. Symmetric matrices run CG, those that are not known to be definite "
    "BiCGSTAB.\n"
    "A time is that of an iteration: the difference of two fixed runs over that of their iterations, or the time of "
    "the solve by its iterations, where the method ends before such runs. M^-1 is one application. The report has the "
    "set-up of the preconditioner, all set-up, and set-up and solve by a wall clock. The baseline factors A with our "
    "shift. 'verified' means that an independent residual in quadruple precision met the tolerance, FALSE that the "
    "contestant claimed it and it did not.\n"
    "Parts: goals (laplace2d:64 and the set factors; the default without --set and --matrix), spd, unsym (these sets), "
    "grids (three-dimensional ones).";

/* Cubes of 32,768 to 3.4 million points: below and above what a cluster holds of merged level sets. */
static void add_grids(bench_options *options)
{
    static const char *const grids[] = {"gallery:laplace3d:32", "gallery:laplace3d:48", "gallery:laplace3d:64",
                                        "gallery:laplace3d:100", "gallery:laplace3d:150"};

    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        if (options->nmatrices == BENCH_MAX_NAMES) { bench_die("too many matrices"); }
        options->matrices[options->nmatrices++] = grids[i];
    }
}

/* Adds what the parts name to the matrices. */
static void add_parts(const char *parts, bench_options *options)
{
    static const char *const names[] = {"goals", "spd", "unsym"};
    static const char *const sets[] = {"factors", "spd", "unsym"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!bench_is_named(parts, names[i])) { continue; }
        if (options->nsets == BENCH_MAX_NAMES || options->nmatrices == BENCH_MAX_NAMES) { bench_die("too many sets"); }
        options->sets[options->nsets++] = sets[i];
        if (i == 0) { options->matrices[options->nmatrices++] = "gallery:laplace2d:64"; }
    }
    if (bench_is_named(parts, "grids")) { add_grids(options); }
}

static void begin(session *s, const bench_options *options)
{
    const own_options *own = s->own;

    bench_begin(&s->run, options, "factors", true);
    bench_set(s->run.root, "{s:f, s:I, s:s}", "rtol", own->rtol, "max_iterations", (json_int_t)own->most_iterations,
              "triangular", tess_triangular_name(own->triangular));
}

int study_factors(int argc, char **argv, const char *parts)
{
    static const struct argp program = {.options = table, .parser = parse_option, .doc = doc};
    own_options own = {.rtol = 1e-8, .most_iterations = 1000, .triangular = TESS_TRIANGULAR_AUTO};
    bench_options options;
    session s = {.own = &own};
    bench_cases cases;
    char wrong[FACTORS_NAME];

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    if (!parts && options.nsets + options.nmatrices == 0) { parts = "goals"; }
    if (parts) { add_parts(parts, &options); }
    if (!factors_variants_add(&s.variants, own.contestants ? own.contestants : "all", own.triangular, wrong,
                              sizeof wrong)) {
        bench_die("no contestant '%s', or too many", wrong);
    }
    cases = bench_cases_select(&options, NULL);
    begin(&s, &options);
    for (size_t i = 0; i < cases.count; i++) {
        run_case(&s, &cases.items[i]);
    }
    bench_cases_free(&cases);
    return bench_end(&s.run);
}
