/* SPDX-License-Identifier: Apache-2.0 */
/* One face for the Krylov solvers that are compared: ours by engine, and cuSPARSE+cuBLAS by variant. */
#ifndef TESS_BENCH_SOLVE_CONTEST_H
#define TESS_BENCH_SOLVE_CONTEST_H

#include "harness/harness.h"

typedef enum bench_contestant {
    BENCH_OURS_GRAPH = 0,
    BENCH_OURS_PLAIN = 1,
    BENCH_THEIRS_PLAIN = 2, /* from here on as in bench_krylov_variant */
    BENCH_THEIRS_GRAPH = 3,
    BENCH_THEIRS_SHORT_GRAPH = 4,
    BENCH_CONTESTANTS = 5
} bench_contestant;

/* The problem A x = b that all solve, from x = 0. */
typedef struct bench_problem {
    bench_run *run;
    const tess_matrix *a;
    bench_csr host;
    tess_vector *b, *x;
    double *host_b, *host_x;
    double rhs_norm;
    struct bench_krylov_handles *handles; /* theirs, from the first that is opened on; else NULL */
} bench_problem;

typedef struct bench_contest {
    bench_problem *problem;
    tess_solver_kind solver;
    bench_contestant which;
    tess_engine engine;                  /* of BENCH_OURS_GRAPH, where another is asked for in its place */
    tess_recurrence recurrence;          /* ours */
    tess_narrowing narrowing;            /* ours */
    double narrowing_epsilon;            /* the same in a fixed run; 0: the tolerance */
    const tess_storage_options *storage; /* ours; NULL: csr in FP64 */
    int64_t history_capacity;            /* ours: residuals that are kept */
    bool timings;                        /* ours: the result has its time by phases */
    tess_precond_options precond;        /* kind none: without; theirs: ilu0 or ic0 */
    const tess_vector *shifted;          /* theirs: values of A on its pattern that have factors */
    tess_matrix *own;                    /* borrows the arrays of problem->a, so that each set-up starts from nothing */
    tess_precond *m;                     /* ours, where there is one */
    tess_solver *ours;
    struct bench_cufactors *factors; /* theirs */
    struct bench_krylov *theirs;
    int64_t longest_run;    /* bound on a fixed run that is chosen; 0: none of the contestant's own */
    int samples;            /* of a time, at most 9, of solves 3; 0: of iterations as the options say, of solves 3 */
    double precond_seconds; /* of the preconditioner's set-up, within the last one */
    tess_reason reason;     /* of our last solve */
    tess_solve_result result;
    tess_papers_result papers;
    bool claimed;      /* whether the contestant says that it converged */
    char refusal[160]; /* why bench_contest_open was UNSUPPORTED for theirs */
} bench_contest;

bool bench_contestant_is_ours(bench_contestant which);
/* Whether this build and device have it. */
bool bench_contestant_runs(const bench_run *run, bench_contestant which);

/* The case's matrix; NULL, with a line in the report, where it cannot be had or is not square. */
tess_matrix *bench_problem_load(bench_run *run, const bench_case *which);
/* A study of one thing over cases: those that the user names, else its usual ones. */
typedef struct bench_case_study {
    const char *name, *doc;
    const char *const *on_gpu, *const *on_host; /* sources; NULL ends them */
    void (*run)(bench_run *run, const bench_case *which);
    const struct argp_option *own; /* options of its own, and what reads them into variables of the study; or NULL */
    argp_parser_t parse;
} bench_case_study;
/* The exit code of the program. */
int bench_case_study_run(const bench_case_study *study, int argc, char **argv);
/* b uniform in (-1, 1); `a` is borrowed. */
tess_status bench_problem_make(bench_run *run, const tess_matrix *a, bench_problem *out);
/* Another b: A times a vector of ones (seed 0), or uniform in (-1, 1). */
tess_status bench_problem_set_rhs(bench_problem *problem, uint64_t seed);
void bench_problem_free(bench_problem *problem);

/*
 * Values for theirs to factor into ilu0 or ic0: A's with the diagonal shifted by that much of its magnitude. *made_by:
 * what makes the factors of them, on a GPU. UNSUPPORTED where that is the host and there are none.
 */
tess_status bench_problem_shift(const bench_problem *problem, tess_precond_kind kind, double shift, tess_vector **out,
                                const char **made_by);

/* Everything that a first solve needs; its time is the set-up. */
tess_status bench_contest_open(bench_contest *c);
/* Solves; rtol 0 runs a fixed number of iterations. *done: iterations done. Blocks until the end. */
tess_status bench_contest_run(bench_contest *c, double rtol, int64_t max_iterations, int64_t *done);
void bench_contest_close(bench_contest *c);
/* A bench_call: user is an open bench_contest with a preconditioner; x := M^-1 b. */
tess_status bench_contest_precondition(void *user, int k);
/* What theirs chose on the problem (a product, updates), into the record's row; ours add nothing. */
void bench_contest_describe(const bench_problem *problem, bench_contestant which, tess_solver_kind solver, json_t *row);
/* Bytes on the device that are the preconditioner's. */
int64_t bench_contest_precond_bytes(const bench_contest *c);
/* Why it did not open, or run. */
void bench_contest_explain(const bench_contest *c, tess_status status, char *why, size_t size);
/* Why the last solve ended. */
const char *bench_contest_reason(const bench_contest *c);

/* ---- times (contest_time.c) ---- */

typedef struct bench_contest_outcome {
    bool timed, solved;
    bench_time iteration;         /* differences of two runs by that of their iterations */
    int64_t from, to;             /* iterations of the two runs */
    bench_time end_to_end, setup; /* of a solve with its set-up, and of the set-up */
    double true_relative;
    double precond_seconds; /* of the set-up */
    int64_t iterations;
    bool verified; /* claimed by the contestant and true by the independent residual */
    bool claimed;
    const char *reason;
} bench_contest_outcome;

/*
 * The difference of two runs of an open contestant. *long_run: iterations of the longer one; 0: chosen, so that it ends
 * in time and before the method does. One that ends earlier all the same is not timed.
 */
tess_status bench_contest_time_iterations(bench_contest *c, int64_t *long_run, bench_contest_outcome *o);
/* Set-ups and solves to rtol; the last one's x is checked. */
tess_status bench_contest_time_solve(bench_contest *c, double rtol, int64_t most_iterations, bench_contest_outcome *o);

#endif
