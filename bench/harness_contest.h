/* SPDX-License-Identifier: Apache-2.0 */
/* One face for the Krylov solvers that are compared: ours by engine, and cuSPARSE+cuBLAS by variant. */
#ifndef TESS_BENCH_HARNESS_CONTEST_H
#define TESS_BENCH_HARNESS_CONTEST_H

#include "harness.h"

typedef enum bench_contestant {
    BENCH_OURS_GRAPH = 0,
    BENCH_OURS_PLAIN = 1,
    BENCH_THEIRS_HOST = 2,
    BENCH_THEIRS_DEVICE = 3,
    BENCH_THEIRS_GRAPH = 4,
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
    struct bench_krylov_handles *handles; /* NULL without CUDA */
} bench_problem;

typedef struct bench_contest {
    const bench_problem *problem;
    tess_solver_kind solver;
    bench_contestant which;
    tess_engine engine; /* of BENCH_OURS_GRAPH, where another is asked for in its place */
    tess_matrix *own;   /* borrows the arrays of problem->a, so that each set-up starts from nothing */
    tess_solver *ours;
    struct bench_krylov *theirs;
    tess_reason reason; /* of our last solve */
    bool claimed;       /* whether the contestant says that it converged */
} bench_contest;

const char *bench_contestant_name(bench_contestant which);
bool bench_contestant_is_ours(bench_contestant which);
/* Whether this build and device have it. */
bool bench_contestant_runs(const bench_run *run, bench_contestant which);

/* b uniform in (-1, 1); `a` is borrowed. */
tess_status bench_problem_make(bench_run *run, const tess_matrix *a, bench_problem *out);
void bench_problem_free(bench_problem *problem);

/* Everything that a first solve needs; its time is the set-up. */
tess_status bench_contest_open(bench_contest *c);
/* Solves; rtol 0 runs a fixed number of iterations. *done: iterations done. Blocks until the end. */
tess_status bench_contest_run(bench_contest *c, double rtol, int64_t max_iterations, int64_t *done);
void bench_contest_close(bench_contest *c);

#endif
