/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Studies of CG and BiCGSTAB without preconditioner: the figures of Yang et al. (2024) and what is asked of us. Each
 * study is rows of a table: matrices, contestants, and what is measured of them.
 */
#ifndef TESS_BENCH_HARNESS_STUDY_H
#define TESS_BENCH_HARNESS_STUDY_H

#include "harness_contest.h"
#include "harness_goal.h"

enum { STUDY_MAX_VARIANTS = 32, STUDY_NAME = 48, STUDY_FIXED_ITERATIONS = 100, STUDY_SEEDS = 5 };

/* ---- contestants (harness_study_variant.c) ---- */

typedef struct study_variant {
    const char *name;
    bench_contestant which; /* of ours always BENCH_OURS_GRAPH */
    tess_engine engine;     /* of ours; on the host the engine is plain */
    tess_recurrence recurrence;
    tess_format format;
    tess_layout layout; /* of tiles */
    const char *policy; /* NULL: none */
    tess_narrowing narrowing;
    bool cg_only;
} study_variant;

typedef struct study_variants {
    int count;
    const study_variant *items[STUDY_MAX_VARIANTS];
} study_variants;

/* Those of a comma-separated list of names and patterns, in the table's order; false at a wrong one, which is copied to
 * *wrong. */
bool study_variants_choose(const char *names, study_variants *out, char *wrong, size_t wrong_size);
bool study_variant_is_ours(const study_variant *v);
/* Whether it solves with this method in this build, on this device. */
bool study_variant_runs(const bench_run *run, const study_variant *v, tess_solver_kind solver);
/* How its matrix is stored. */
void study_variant_storage(const study_variant *v, tess_storage_options *out);
/* A contest with it, closed; `storage` stays with the caller. */
bench_contest study_variant_contest(const study_variant *v, const bench_problem *p, tess_solver_kind solver,
                                    const tess_storage_options *storage);

/* ---- the studies (harness_study_table.c) ---- */

enum study_what {
    STUDY_TIMES = 1,       /* time per iteration by two fixed runs */
    STUDY_SOLVES = 2,      /* to the tolerance */
    STUDY_FIXED = 4,       /* STUDY_FIXED_ITERATIONS, whatever converges */
    STUDY_PRODUCT = 8,     /* one product with FP64 CSR, for set-ups in products */
    STUDY_HISTORIES = 16,  /* residuals by iteration, if a file is given */
    STUDY_ITERATIONS = 32, /* solves count and are not timed */
    STUDY_EVERYWHERE = 64  /* baselines run where the first of ours does not converge, too */
};

struct study_session;

typedef struct study_row {
    const char *study;       /* names, with commas */
    const char *set;         /* one of harness_sets.c, or a name for `matrices` */
    const char *matrices;    /* sources with commas; NULL: those of the set */
    tess_solver_kind solver; /* AUTO: CG where A is symmetric, unless it is known not to be definite; else BiCGSTAB */
    const char *contestants;
    unsigned what;
    bool five_sides; /* STUDY_SEEDS random b, of whose times the median counts; else b = A * ones */
    /* NULL: contestants are measured */
    void (*special)(struct study_session *s);
} study_row;

extern const study_row study_rows[];
extern const int study_row_count;
/* Whether some row belongs to it. */
bool study_is_known(const char *name);

/* ---- what was measured (harness_study_measure.c) ---- */

typedef struct study_outcome {
    const study_variant *variant;
    bool refused; /* it could not run: `why` */
    char why[640];
    bench_contest_outcome run; /* of the first b; solve_seconds has the set-up in it */
    double solve_seconds;      /* set up beforehand, final verification in it; of several b the median; NaN: not met */
    double worst_relative;     /* the largest true relative residual of a claimed solve */
    double fixed_seconds;      /* of STUDY_FIXED_ITERATIONS, set up beforehand; NaN: it ends earlier, or not measured */
    int claims, false_claims;
    tess_solve_result result;  /* ours: of the last solve; its history is not kept */
    tess_papers_result papers; /* the same */
    double *history;           /* relative residuals, or NULL */
    int64_t history_length;
} study_outcome;

typedef struct study_record {
    study_outcome o;
    char matrix[80];
    const study_row *row;
    tess_solver_kind solver;
    int64_t nrows, nnz;
    double product_seconds; /* of FP64 CSR; NaN: not measured */
} study_record;

typedef struct study_records {
    study_record *items;
    size_t count;
} study_records;

typedef struct study_endurance_count {
    int64_t solves, wrong;
} study_endurance_count;

typedef struct study_session {
    bench_run run;
    const char *name;        /* the study that runs */
    const char *contestants; /* NULL: those of each row */
    double rtol;
    int64_t max_iterations, solves; /* solves: how many study endurance makes of each kind */
    FILE *histories;                /* or NULL */
    /* what runs: a row, one of its matrices, a method */
    const study_row *row;
    bench_problem *problem;
    const char *matrix;
    tess_solver_kind solver;
    bool begun; /* the row has printed its head */
    study_records records;
    study_endurance_count endurance[2]; /* alone, and with half of the device occupied */
} study_session;

/* Runs the studies of `names` (with commas) over their matrices, or those of the options; the exit code of the program.
 */
int study_run(study_session *s, const char *names, const bench_options *options);
/* All contestants of the present row; keeps records and reports them. */
void study_measure(study_session *s);
/* The contestants of the present row, or those that the user named. */
study_variants study_contestants(const study_session *s);
/* The median time of up to 9 runs of an open contest, of several after one that does not count; the last one's
 * iterations. */
tess_status study_time_runs(bench_contest *c, double rtol, int64_t iterations, int samples, double *seconds,
                            int64_t *done);

/* Seconds of one product with FP64 CSR; NaN where it fails. */
double study_product_seconds(bench_problem *p);

/* ---- report (harness_study_report.c, harness_study_goals.c) ---- */

/* The records from `first` on: one problem, one method. */
void study_report(study_session *s, size_t first);
/* Means by contestants over the matrices of each row. */
void study_report_means(study_session *s);
void study_report_goals(study_session *s);

/* An iteration is by two fixed runs, else by one of STUDY_FIXED_ITERATIONS; with narrowing it is the solve by its
   iterations. A solve is a verified one, of theirs a claimed one; its time is with or without the set-up. */
typedef enum study_time { STUDY_ITERATION, STUDY_SOLVE, STUDY_END_TO_END } study_time;

/* NaN where there is none. */
double study_seconds(const study_record *r, study_time what);
/* The time of a contestant on the same problem over that of `r`, or NaN. */
double study_speedup(const study_records *all, const study_record *r, study_time what, const char *over);
/* Iterations over those of FP64 CSR; Inf where its solve alone is verified, NaN where it is not. */
double study_iterations_ratio(const study_records *all, const study_record *r);
/* The set-up in products with FP64 CSR, or NaN. */
double study_setup_products(const study_record *r);

/* A number, or null where it is none. */
json_t *study_number(double value);
void study_print_number(int width, int digits, double value);

/* ---- studies of their own ---- */

void study_shares(study_session *s);
void study_direction(study_session *s);
void study_setup(study_session *s);
void study_memory(study_session *s);
void study_endurance(study_session *s);

#endif
