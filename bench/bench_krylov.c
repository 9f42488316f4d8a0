/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CG and BiCGSTAB without preconditioner: time per iteration by the difference of two fixed runs, and time to a
 * verified tolerance, set-up included; against cuSPARSE+cuBLAS in three variants on a GPU. With --study the studies of
 * harness_study.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "harness_study.h"

enum { MAX_ITERATIONS = 5000 };
static const int64_t small_order = 65536; /* "small" in the means */

typedef struct krylov_options {
    const char *study, *contestants, *histories; /* NULL: none, those of the study, none */
    double rtol;                                 /* 0: 1e-8, of studies 1e-10 */
    int64_t max_iterations, solves;              /* of studies; solves 0: as the study says */
    int64_t max_order;                           /* of real matrices */
    tess_engine engine;
    bool cg, bicgstab, iterations_only;
} krylov_options;

typedef struct means {
    bench_mean iteration[2][BENCH_CONTESTANTS], solve[2][BENCH_CONTESTANTS]; /* theirs over tessera-graph, small n */
    bench_mean microseconds[2][BENCH_CONTESTANTS];
    double slowest[2][BENCH_CONTESTANTS];
} means;

/* ---- report ---- */

/* Doubles that the vectors of one iteration read and write in two fused passes, apart from x and y of the products. */
static int64_t iteration_bytes(const bench_problem *p, tess_solver_kind solver)
{
    int64_t n = p->host.nrows, product = bench_spmv_bytes(n, n, p->host.nnz, 8);

    return solver == TESS_SOLVER_CG ? product + 8 * 9 * n : 2 * product + 8 * 15 * n;
}

static void add_timing(json_t *row, const bench_contest_outcome *o, int64_t bytes, double ceiling, bool in_cache)
{
    double rate = (double)bytes / o->seconds_per_iteration;

    json_object_set_new(row, "seconds_per_iteration", json_real(o->seconds_per_iteration));
    json_object_set_new(row, "bytes_by_model", json_integer(bytes));
    json_object_set_new(row, "gbs", json_real(1e-9 * rate));
    json_object_set_new(row, "share_of_measured_bandwidth", json_real(rate / ceiling));
    json_object_set_new(row, "in_cache", json_boolean(in_cache));
}

static void add_solve(json_t *row, const bench_contest_outcome *o)
{
    json_object_set_new(row, "solve_seconds", json_real(o->solve_seconds));
    json_object_set_new(row, "setup_seconds", json_real(o->setup_seconds));
    json_object_set_new(row, "iterations", json_integer(o->iterations));
    json_object_set_new(row, "claimed", json_boolean(o->claimed));
    json_object_set_new(row, "verified", json_boolean(o->verified));
    json_object_set_new(row, "true_relative_residual",
                        isfinite(o->true_relative) ? json_real(o->true_relative) : json_null());
    json_object_set_new(row, "reason", json_string(o->reason));
}

static void report_row(const bench_problem *p, const char *name, tess_solver_kind solver, int which, tess_engine engine,
                       const bench_contest_outcome *o)
{
    int64_t bytes = iteration_bytes(p, solver);
    bool in_cache = bytes <= p->run->cache_bytes;
    double ceiling = bench_ceiling_of(p->run);
    json_t *row = json_pack("{s:s, s:I, s:I, s:s, s:s, s:s}", "matrix", name, "nrows", (json_int_t)p->host.nrows, "nnz",
                            (json_int_t)p->host.nnz, "solver", tess_solver_kind_name(solver), "contestant",
                            bench_contestant_name((bench_contestant)which), "precision", "fp64");

    if (bench_contestant_is_ours((bench_contestant)which)) {
        const tess_engine ours = which == BENCH_OURS_GRAPH ? engine : TESS_ENGINE_PLAIN;

        json_object_set_new(row, "engine", json_string(tess_engine_name(ours)));
    }
    json_object_set_new(row, "runs", json_pack("[I, I]", (json_int_t)o->from, (json_int_t)o->to));
    printf("%-20s %8lld %-8s %-17s ", name, (long long)p->host.nrows, tess_solver_kind_name(solver),
           bench_contestant_name((bench_contestant)which));
    if (o->timed) {
        add_timing(row, o, bytes, ceiling, in_cache);
        printf("%9.2f %8.0f %6.1f%% ", 1e6 * o->seconds_per_iteration, 1e-9 * (double)bytes / o->seconds_per_iteration,
               100.0 * (double)bytes / o->seconds_per_iteration / ceiling);
    } else {
        printf("%9s %8s %7s ", "-", "-", "-");
    }
    if (o->solved) {
        add_solve(row, o);
        printf("%6lld %9.3f %8.3f %9.2e %-16s", (long long)o->iterations, 1e3 * o->solve_seconds,
               1e3 * o->setup_seconds, o->true_relative,
               o->verified  ? "verified"
               : o->claimed ? "FALSE"
                            : o->reason);
    }
    printf("%s\n", in_cache ? " in cache" : "");
    bench_add(p->run, row);
}

static void collect(const bench_problem *p, tess_solver_kind solver, const bench_contest_outcome *all, means *m)
{
    int s = solver == TESS_SOLVER_CG ? 0 : 1;
    const bench_contest_outcome *ours = &all[BENCH_OURS_GRAPH];

    if (p->host.nrows > small_order) { return; }
    for (int i = 0; i < BENCH_CONTESTANTS; i++) {
        if (all[i].timed) {
            bench_mean_add(&m->microseconds[s][i], 1e6 * all[i].seconds_per_iteration);
            m->slowest[s][i] = fmax(m->slowest[s][i], 1e6 * all[i].seconds_per_iteration);
        }
        if (ours->timed && all[i].timed) {
            bench_mean_add(&m->iteration[s][i], all[i].seconds_per_iteration / ours->seconds_per_iteration);
        }
        if (ours->verified && all[i].verified) {
            bench_mean_add(&m->solve[s][i], all[i].solve_seconds / ours->solve_seconds);
        }
    }
}

static void print_mean(const bench_mean *mean)
{
    if (mean->count > 0) {
        printf("%7.2f (%3d) ", bench_mean_value(mean), mean->count);
    } else {
        printf("%7s %5s ", "-", "");
    }
}

static void report_means(bench_run *run, const means *m)
{
    json_t *json = json_array();

    printf("n <= %lld: geometric means; speed-up of tessera-graph over each\n", (long long)small_order);
    printf("%-8s %-17s %9s %9s %13s %13s\n", "solver", "contestant", "us/it", "slowest", "per iteration", "solve");
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < BENCH_CONTESTANTS; i++) {
            const char *solver = s == 0 ? "cg" : "bicgstab", *name = bench_contestant_name((bench_contestant)i);

            if (m->microseconds[s][i].count == 0) { continue; }
            printf("%-8s %-17s %9.2f %9.2f ", solver, name, bench_mean_value(&m->microseconds[s][i]), m->slowest[s][i]);
            print_mean(&m->iteration[s][i]);
            print_mean(&m->solve[s][i]);
            printf("\n");
            json_t *row = json_pack("{s:s, s:s, s:f, s:f, s:i}", "solver", solver, "contestant", name,
                                    "microseconds_per_iteration", bench_mean_value(&m->microseconds[s][i]),
                                    "slowest_microseconds", m->slowest[s][i], "matrices", m->microseconds[s][i].count);

            if (m->iteration[s][i].count > 0) {
                json_object_set_new(row, "per_iteration", json_real(bench_mean_value(&m->iteration[s][i])));
            }
            if (m->solve[s][i].count > 0) {
                json_object_set_new(row, "solve", json_real(bench_mean_value(&m->solve[s][i])));
            }
            json_array_append_new(json, row);
        }
    }
    json_object_set_new(run->root, "geometric_means_small", json);
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

static void run_solver(const bench_problem *p, const char *name, tess_solver_kind solver, const krylov_options *k,
                       means *m)
{
    bench_contest_outcome all[BENCH_CONTESTANTS] = {0};
    int64_t long_run = 0;
    bool with_solve = !k->iterations_only;

    for (int i = 0; i < BENCH_CONTESTANTS; i++) {
        bench_contest c = {.problem = p, .solver = solver, .which = (bench_contestant)i, .engine = k->engine};
        tess_status status = TESS_SUCCESS;

        if (!bench_contestant_runs(p->run, c.which)) { continue; }
        status = run_contestant(&c, k, with_solve, &long_run, &all[i]);
        if (status != TESS_SUCCESS) {
            bench_fault(p->run, name, bench_contestant_name(c.which), status);
            return;
        }
        if (c.reason == TESS_REASON_NONSYMMETRIC) {
            bench_skip(p->run, name, "cg: nonsymmetric");
            return;
        }
        report_row(p, name, solver, i, k->engine, &all[i]);
        /* what the first contestant cannot solve gives no comparison: the others' time is saved */
        if (all[i].solved && !all[i].verified) { with_solve = false; }
    }
    collect(p, solver, all, m);
}

static void run_case(bench_run *run, const bench_case *which, const krylov_options *k, means *m)
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
        if (k->cg && !unsym) { run_solver(&p, which->name, TESS_SOLVER_CG, k, m); }
        if (k->bicgstab && !spd) { run_solver(&p, which->name, TESS_SOLVER_BICGSTAB, k, m); }
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
    KEY_STUDY,
    KEY_CONTESTANT,
    KEY_MAX_ITERATIONS,
    KEY_SOLVES,
    KEY_HISTORIES
};

static int64_t read_count(struct argp_state *state, const char *option, const char *text)
{
    char *end = NULL;
    const long long value = strtoll(text, &end, 10);

    if (*end != '\0' || value < 1) { argp_error(state, "--%s: '%s' is no number from 1 on", option, text); }
    return value;
}

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
    case KEY_STUDY: k->study = arg; break;
    case KEY_CONTESTANT: k->contestants = arg; break;
    case KEY_MAX_ITERATIONS: k->max_iterations = read_count(state, "max-iterations", arg); break;
    case KEY_SOLVES: k->solves = read_count(state, "solves", arg); break;
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
    {"rtol", KEY_RTOL, "R", 0, "tolerance of the timed solves (default 1e-8, of studies 1e-10)", 0},
    {"max-order", KEY_MAX_ORDER, "N", 0, "leave out larger real matrices (default 65000)", 0},
    {"iterations-only", KEY_ITERATIONS_ONLY, NULL, 0, "time iterations, not solves", 0},
    {"study", KEY_STUDY, "NAME[,NAME..]", 0,
     "goals, large, endurance, papers, fixed, ablation, iterations, shares, direction, setup, memory; with --set or "
     "--matrix over these. The options below are theirs, those above but --rtol are not",
     1},
    {"contestant", KEY_CONTESTANT, "LIST", 0, "names and patterns (default: those of the study)", 1},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "of a solve (default 1000)", 1},
    {"solves", KEY_SOLVES, "N", 0, "of study endurance, each way (default 10000, on the CPU 100)", 1},
    {"histories", KEY_HISTORIES, "FILE", 0, "write the residual of each iteration of study papers as CSV", 1},
    {0}};

static const char doc[] =
    "Times CG and BiCGSTAB per iteration and to a tolerance. Default matrices: Laplace2D of 1,024 to 65,536 "
    "unknowns and Laplace3D150.\v"
    "Time per iteration is the difference of two fixed runs over the difference of their iterations. A solve's "
    "time is that of a wall clock and includes the set-up and, for tessera, the verification; 'verified' means "
    "that an independent residual in quadruple precision met the tolerance, FALSE that the solver claimed it "
    "and it did not.\n"
    "Studies are the figures of Yang et al. (2024) and what is asked of tessera, from x = 0 with b = A * ones; "
    "'solve ms' there is of a solver that is set up, 'both ms' with the set-up.";

/* ---- both kinds of runs ---- */

static int run_studies(const krylov_options *k, const bench_options *options)
{
    study_session s = {.contestants = k->contestants,
                       .rtol = k->rtol > 0.0 ? k->rtol : 1e-10,
                       .max_iterations = k->max_iterations,
                       .solves = k->solves};
    int code = 0;

    if (k->histories) {
        s.histories = fopen(k->histories, "w");
        if (!s.histories) { bench_die("cannot write %s", k->histories); }
        fprintf(s.histories, "study,matrix,precond,restart,contestant,iteration,relative_residual\n");
    }
    code = study_run(&s, k->study, options);
    if (s.histories && fclose(s.histories) != 0) { bench_die("cannot write %s", k->histories); }
    return code;
}

static int run_all(const krylov_options *k, bench_options *options)
{
    bench_run run;
    bench_cases cases;
    means m = {0};

    if (options->nsets + options->nmatrices == 0) { default_cases(options); }
    cases = bench_cases_select(options, NULL);
    bench_begin(&run, options, "bench_krylov", true);
    json_object_set_new(run.root, "rtol", json_real(k->rtol));
    printf("%-20s %8s %-8s %-17s %9s %8s %7s %6s %9s %8s %9s\n", "matrix", "rows", "solver", "contestant", "us/it",
           "GB/s", run.gpu ? "of read" : "of triad", "iter", "solve ms", "setup ms", "true res");
    for (size_t i = 0; i < cases.count; i++) {
        run_case(&run, &cases.items[i], k, &m);
    }
    report_means(&run, &m);
    bench_cases_free(&cases);
    return bench_end(&run);
}

int main(int argc, char **argv)
{
    static const struct argp program = {.options = table, .parser = parse_option, .doc = doc};
    krylov_options k = {
        .max_iterations = 1000, .max_order = 65000, .engine = TESS_ENGINE_GRAPH, .cg = true, .bicgstab = true};
    bench_options options;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &k);
    if (k.study) { return run_studies(&k, &options); }
    if (k.rtol == 0.0) { k.rtol = 1e-8; }
    return run_all(&k, &options);
}
