/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CG and BiCGSTAB without preconditioner: time per iteration by the difference of two fixed runs, and time to a
 * verified tolerance, set-up included; against cuSPARSE+cuBLAS in three variants on a GPU. Parts of the study are in
 * krylov.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/krylov.h"
#include "solve/solve.h"

enum { MAX_ITERATIONS = 5000 };

typedef struct krylov_options {
    const char *contestants, *histories; /* NULL: those of the part, none */
    double rtol;                         /* 0: 1e-8, of parts 1e-10 */
    int64_t max_iterations, solves;      /* of parts; solves 0: as the part says */
    int64_t max_order;                   /* of real matrices */
    tess_engine engine;
    bool cg, bicgstab, iterations_only;
} krylov_options;

/* ---- report ---- */

static void add_solve(json_t *row, const bench_contest_outcome *o)
{
    bench_set_time(row, "end_to_end_seconds", &o->end_to_end);
    json_object_set_new(row, "claimed", json_boolean(o->claimed));
    json_object_set_new(row, "verified", json_boolean(o->verified));
    json_object_set_new(row, "solved", json_boolean(o->verified));
    json_object_set_new(row, "reason", json_string(o->reason));
}

static void report_row(const bench_problem *p, const char *name, const bench_contest *c, const bench_contest_outcome *o)
{
    const bool ours = bench_contestant_is_ours(c->which);
    const double bytes = krylov_iteration_bytes(p, c->solver, 0);
    const bench_record record = {.matrix = name,
                                 .nrows = p->host.nrows,
                                 .ncols = p->host.ncols,
                                 .nnz = p->host.nnz,
                                 .contestant = bench_contestant_name(c->which),
                                 .ours = ours,
                                 .precision = "fp64",
                                 .of = "iteration",
                                 .time = o->timed ? o->iteration : (bench_time){.samples = 0},
                                 .bytes = bytes,
                                 .setup_seconds = o->setup.median,
                                 .solved = o->solved,
                                 .iterations = o->iterations,
                                 .true_residual = o->true_relative,
                                 .in_cache = bytes <= (double)p->run->cache_bytes};
    json_t *row = bench_record_row(p->run, &record);

    json_object_set_new(row, "solver", json_string(tess_solver_kind_name(c->solver)));
    if (ours) {
        const tess_engine engine = c->which == BENCH_OURS_GRAPH ? c->engine : TESS_ENGINE_PLAIN;

        json_object_set_new(row, "engine", json_string(tess_engine_name(engine)));
    }
    json_object_set_new(row, "runs", json_pack("[I, I]", (json_int_t)o->from, (json_int_t)o->to));
    if (o->solved) { add_solve(row, o); }
    bench_record_add(p->run, &record, row, "%s",
                     !o->solved    ? ""
                     : o->verified ? "verified"
                     : o->claimed  ? "FALSE"
                                   : o->reason);
}

/* ---- driver ---- */

static tess_status run_contestant(bench_contest *c, const krylov_options *k, bool with_solve, int64_t *long_run,
                                  bench_contest_outcome *o)
{
    tess_status status = bench_contest_open(c);

    if (status == TESS_SUCCESS) { status = bench_contest_time_iterations(c, long_run, o); }
    /* a method that cannot work on this matrix says so at once */
    o->reason = bench_contestant_is_ours(c->which) ? tess_reason_name(c->reason) : "iterations";
    if (status == TESS_SUCCESS && with_solve && c->reason != TESS_REASON_NONSYMMETRIC) {
        status = bench_contest_time_solve(c, k->rtol, MAX_ITERATIONS, o);
    }
    bench_contest_close(c);
    return status;
}

static void run_solver(const bench_problem *p, const char *name, tess_solver_kind solver, const krylov_options *k)
{
    int64_t long_run = 0;
    bool with_solve = !k->iterations_only;

    for (int i = 0; i < BENCH_CONTESTANTS; i++) {
        bench_contest c = {.problem = p, .solver = solver, .which = (bench_contestant)i, .engine = k->engine};
        bench_contest_outcome o = {.timed = false};
        tess_status status = TESS_SUCCESS;

        if (!bench_contestant_runs(p->run, c.which)) { continue; }
        status = run_contestant(&c, k, with_solve, &long_run, &o);
        if (status != TESS_SUCCESS) {
            bench_fault(p->run, name, bench_contestant_name(c.which), status);
            return;
        }
        if (c.reason == TESS_REASON_NONSYMMETRIC) {
            bench_skip(p->run, name, "cg: nonsymmetric");
            return;
        }
        report_row(p, name, &c, &o);
        /* what the first contestant cannot solve gives no comparison: the others' time is saved */
        if (o.solved && !o.verified) { with_solve = false; }
    }
}

static void run_case(bench_run *run, const bench_case *which, const krylov_options *k)
{
    bench_problem p = {0};
    tess_matrix *a = NULL;
    char reason[640];
    tess_status status = TESS_SUCCESS;
    bool spd = strcmp(which->class_name, "spd") == 0, unsym = strcmp(which->class_name, "unsym") == 0;

    if (which->nrows > k->max_order) {
        bench_skip(run, which->name, "larger than --max-order");
        return;
    }
    status = bench_case_load(run->ctx, run->options, which, &a, reason, sizeof reason);
    if (status != TESS_SUCCESS || tess_matrix_nrows(a) != tess_matrix_ncols(a)) {
        bench_skip(run, which->name, status != TESS_SUCCESS ? reason : "not square");
        tess_matrix_destroy(a);
        return;
    }
    status = bench_problem_make(run, a, &p);
    if (status != TESS_SUCCESS) {
        bench_fault(run, which->name, "vectors", status);
    } else {
        if (k->cg && !unsym) { run_solver(&p, which->name, TESS_SOLVER_CG, k); }
        if (k->bicgstab && !spd) { run_solver(&p, which->name, TESS_SOLVER_BICGSTAB, k); }
    }
    bench_problem_free(&p);
    tess_matrix_destroy(a);
}

/* ---- options ---- */

enum {
    KEY_SOLVER = 500,
    KEY_ENGINE,
    KEY_RTOL,
    KEY_MAX_ORDER,
    KEY_ITERATIONS_ONLY,
    KEY_CONTESTANT,
    KEY_MAX_ITERATIONS,
    KEY_SOLVES,
    KEY_HISTORIES
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    krylov_options *k = state->input;

    switch (key) {
    case KEY_SOLVER:
        k->cg = strcmp(arg, "cg") == 0 || strcmp(arg, "both") == 0;
        k->bicgstab = strcmp(arg, "bicgstab") == 0 || strcmp(arg, "both") == 0;
        if (!k->cg && !k->bicgstab) { argp_error(state, "--solver: '%s' is none of cg, bicgstab, both", arg); }
        break;
    case KEY_ENGINE:
        if (tess_engine_parse(arg, &k->engine) != TESS_SUCCESS) {
            argp_error(state, "--engine: '%s' is none of auto, graph, single-kernel, plain", arg);
        }
        break;
    case KEY_RTOL:
        k->rtol = strtod(arg, NULL);
        if (!(k->rtol > 0.0 && k->rtol < 1.0)) { argp_error(state, "--rtol: '%s' is not between 0 and 1", arg); }
        break;
    case KEY_MAX_ORDER: k->max_order = strtoll(arg, NULL, 10); break;
    case KEY_ITERATIONS_ONLY: k->iterations_only = true; break;
    case KEY_CONTESTANT: k->contestants = arg; break;
    case KEY_MAX_ITERATIONS: k->max_iterations = bench_read_count(state, "max-iterations", arg, 1, 1); break;
    case KEY_SOLVES: k->solves = bench_read_count(state, "solves", arg, 1, 1); break;
    case KEY_HISTORIES: k->histories = arg; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void default_cases(bench_options *options)
{
    static const char *const model[] = {"gallery:laplace2d:32",  "gallery:laplace2d:64",  "gallery:laplace2d:128",
                                        "gallery:laplace2d:181", "gallery:laplace2d:256", "gallery:laplace3d:150"};

    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        options->matrices[options->nmatrices++] = model[i];
    }
}

static const struct argp_option table[] = {
    {"solver", KEY_SOLVER, "cg|bicgstab|both", 0, "default both; spd matrices run CG, unsym ones BiCGSTAB", 0},
    {"engine", KEY_ENGINE, "auto|graph|single-kernel", 0,
     "what runs as tessera-graph (default graph; on the CPU it is plain)", 0},
    {"rtol", KEY_RTOL, "R", 0, "tolerance of the timed solves (default 1e-8, of parts 1e-10)", 0},
    {"max-order", KEY_MAX_ORDER, "N", 0, "leave out larger real matrices (default 65000)", 0},
    {"iterations-only", KEY_ITERATIONS_ONLY, NULL, 0, "time iterations, not solves", 0},
    {"contestant", KEY_CONTESTANT, "LIST", 0, "of parts: names and patterns (default: those of the part)", 1},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "of a solve of parts (default 1000)", 1},
    {"solves", KEY_SOLVES, "N", 0, "of part endurance, each way (default 10000, on the CPU 100)", 1},
    {"histories", KEY_HISTORIES, "FILE", 0, "write the residual of each iteration of part papers as CSV", 1},
    {0}};

static const char doc[] =
    "Times CG and BiCGSTAB per iteration and to a tolerance. Default matrices: Laplace2D of 1,024 to 65,536 "
    "unknowns and Laplace3D150.\v"
    "Time per iteration is the difference of two fixed runs over the difference of their iterations. A solve's "
    "time is that of a wall clock and includes the set-up and, for tessera, the verification; 'verified' means "
    "that an independent residual in quadruple precision met the tolerance, FALSE that the solver claimed it "
    "and it did not.\n"
    "Parts run from x = 0 with b = A * ones, over their own matrices or those of --set and --matrix. --contestant, "
    "--max-iterations, --solves and --histories are theirs; of the other options of this study they heed --rtol "
    "alone.";

/* ---- with and without parts ---- */

static int run_parts(const krylov_options *k, const bench_options *options, krylov_session *s, const char *parts)
{
    int code = 0;

    s->contestants = k->contestants;
    s->rtol = k->rtol > 0.0 ? k->rtol : 1e-10;
    s->max_iterations = k->max_iterations;
    s->solves = k->solves;
    if (k->histories) {
        s->histories = fopen(k->histories, "w");
        if (!s->histories) { bench_die("cannot write %s", k->histories); }
        fprintf(s->histories, "study,matrix,precond,restart,contestant,iteration,relative_residual\n");
    }
    code = krylov_run(s, parts, options);
    if (s->histories && fclose(s->histories) != 0) { bench_die("cannot write %s", k->histories); }
    return code;
}

static int run_all(const krylov_options *k, bench_options *options)
{
    bench_run run;
    bench_cases cases;

    if (options->nsets + options->nmatrices == 0) { default_cases(options); }
    cases = bench_cases_select(options, NULL);
    bench_begin(&run, options, "krylov", true);
    json_object_set_new(run.root, "rtol", json_real(k->rtol));
    for (size_t i = 0; i < cases.count; i++) {
        run_case(&run, &cases.items[i], k);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}

int krylov_main(int argc, char **argv, const char *parts, const krylov_row *rows, int count)
{
    static const struct argp own = {.options = table, .parser = parse_option, .doc = doc};
    krylov_options k = {
        .max_iterations = 1000, .max_order = 65000, .engine = TESS_ENGINE_GRAPH, .cg = true, .bicgstab = true};
    krylov_session s = {.rows = rows, .row_count = count};
    bench_options options;

    bench_options_init(&options);
    bench_parse(argc, argv, &own, &options, &k);
    if (parts) { return run_parts(&k, &options, &s, parts); }
    if (k.rtol == 0.0) { k.rtol = 1e-8; }
    return run_all(&k, &options);
}

int study_krylov(int argc, char **argv, const char *parts)
{
    return krylov_main(argc, argv, parts, krylov_rows, krylov_row_count);
}
