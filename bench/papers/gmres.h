/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES in several precisions: the contestants and what they did. */
#ifndef TESS_BENCH_PAPERS_GMRES_H
#define TESS_BENCH_PAPERS_GMRES_H

#include <stdio.h>

#include "harness/record.h"
#include "papers/gmres_peer.h"

enum { GMRES_MAX_SAMPLES = 64, GMRES_MAX_VARIANTS = 48, GMRES_NAME = 64 };

/* ---- contestants (gmres_variants.c) ---- */

/*
 * A contestant is its name: cu-fp64, cu-ir or cu-fp32 (cuSPARSE and cuBLAS), with -delayed for one reduction; or fp64,
 * ir, fd or fp32 (ours; fp32 is fd that never switches), then any of -basis-P, -inner-P, -precond-P with P a precision,
 * -cgs2, and for fd the iteration of the switch.
 */
typedef struct gmres_variant {
    char name[GMRES_NAME];
    bool theirs;
    bench_gmres_kind kind; /* of theirs */
    tess_solver_kind solver;
    tess_role_precision inner, basis, precond;
    tess_orthogonalization orthogonalization;
    bool chooses;      /* the solver the inner precision */
    int64_t switch_at; /* -1: not given */
} gmres_variant;

typedef struct gmres_variants {
    int count;
    gmres_variant items[GMRES_MAX_VARIANTS];
} gmres_variants;

/* Adds those of a comma-separated list of names and patterns (`ir*`, `all`); false at a wrong one, which is copied to
 * *wrong. */
bool gmres_variants_add(gmres_variants *list, const char *names, char *wrong, size_t wrong_size);
/* Adds fd-FROM, fd-FROM+STEP, .. up to fd-TO as far as there is space. */
void gmres_variants_add_switches(gmres_variants *list, int64_t from, int64_t to, int64_t step);

/* ---- a problem and one solver on it (gmres_contest.c) ---- */

typedef struct gmres_settings {
    double rtol;
    int64_t max_iterations;
    int restart;
    tess_guard guard;
    const char *precond; /* as on the command line: none, jacobi, block-jacobi:K, polynomial:D */
    tess_precond_options precond_options;
    tess_reordering reorder;
    bool history, profile;
} gmres_settings;

bool gmres_parse_precond(const char *text, tess_precond_options *out);

/* The problem A x = b that all solve, from x = 0. */
typedef struct gmres_problem {
    bench_run *run;
    const tess_matrix *a;
    char name[80];
    const char *set; /* where it is from; empty: named by itself */
    bench_csr host;
    tess_vector *b, *x;
    double *host_b, *host_x;
    bench_gmres_handles *handles; /* NULL: no baseline, and why */
    char no_baseline[BENCH_GMRES_REASON];
} gmres_problem;

typedef enum gmres_rhs { GMRES_RHS_ONES, GMRES_RHS_A_TIMES_ONES } gmres_rhs;

/* baseline: cuSPARSE and cuBLAS will be wanted. */
tess_status gmres_problem_make(bench_run *run, const tess_matrix *a, const bench_case *which, const char *set,
                               gmres_rhs rhs, bool baseline, gmres_problem *out);
void gmres_problem_free(gmres_problem *p);

/* What a contestant did with a problem under given settings. */
typedef struct gmres_outcome {
    const gmres_variant *variant;
    bool refused; /* it could not run: `reason` */
    tess_status status;
    char reason[256];
    int samples;
    double solve[GMRES_MAX_SAMPLES], setup[GMRES_MAX_SAMPLES], spent;
    bench_time solve_time, setup_time;
    int64_t iterations, refinements, switched_at;
    bool claimed, verified; /* verified: claimed, and true by the independent residual */
    double true_relative, estimated_relative;
    int64_t peak_bytes, resident_bytes, matrix_bytes;
    double model_bytes;
    tess_format format;
    tess_precision matrix_precision;
    const char *product; /* theirs: cuSPARSE's kind of product; else NULL */
    bool escalated, profiled;
    double profiled_seconds; /* ours: of the solve that was profiled */
    double part_seconds[BENCH_GMRES_PARTS];
    double product_seconds; /* of one product of a cycle; 0: not measured */
    double *history;        /* relative estimates */
    int64_t history_length;
} gmres_outcome;

/* One set-up and one timed solve after a short one; the first also verifies. */
void gmres_run_once(const gmres_problem *p, const gmres_settings *settings, gmres_outcome *o);
void gmres_outcome_finish(const gmres_problem *p, const gmres_settings *settings, gmres_outcome *o);
void gmres_outcome_free(gmres_outcome *o);

/* For both sides of the contest: no result and why, a sample of seconds, the independent residual, relative estimates.
 */
enum { GMRES_WARM_UP_ITERATIONS = 10 };
void gmres_refuse(gmres_outcome *o, tess_status status, const char *reason);
void gmres_refuse_by_error(const gmres_problem *p, gmres_outcome *o, tess_status status);
void gmres_take_sample(gmres_outcome *o, double setup, double solve);
void gmres_verify(const gmres_problem *p, double rtol, gmres_outcome *o);
void gmres_keep_history(const double *history, int64_t length, gmres_outcome *o);
/* The contestant of cuSPARSE and cuBLAS (gmres_contest_theirs.c). */
void gmres_run_theirs(const gmres_problem *p, const gmres_settings *settings, gmres_outcome *o);

/* Bytes that the outcome's iterations move, by model (gmres_model.c). */
double gmres_model_bytes(const gmres_problem *p, const gmres_settings *settings, const gmres_outcome *o);
/* Of the matrix and a full basis in FP64. */
int64_t gmres_working_set(const gmres_problem *p, int restart);

/* ---- records (gmres_records.c) ---- */

void gmres_report(const gmres_problem *p, const gmres_settings *settings, const char *part, const gmres_outcome *o);
/* Appends the outcome's history as CSV. */
void gmres_write_history(FILE *file, const gmres_problem *p, const gmres_settings *settings, const char *part,
                         const gmres_outcome *o);

/* ---- parts (gmres_rows.c) ---- */

/* Solves of a part: every matrix with every preconditioner and restart length by every contestant. NULL or 0: by the
 * options. */
typedef struct gmres_row {
    const char *part;   /* comma-separated: it may belong to several */
    const char *matrix; /* gallery:NAME:ARG.. or NULL */
    const char *set;    /* or NULL */
    const char *contestants, *preconds, *restarts;
    int64_t max_iterations;
    int64_t switch_to, switch_step; /* fd at each multiple */
    tess_reordering reorder;
    bool profile; /* the time by kernels too */
} gmres_row;

extern const gmres_row gmres_rows[];
extern const int gmres_row_count;
/* A size of the table or of a set over `factor`: counts, not percentages. */
void gmres_scale_down(int64_t factor, char *source, size_t size);

#endif
