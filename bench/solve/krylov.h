/* SPDX-License-Identifier: Apache-2.0 */
/* CG and BiCGSTAB without preconditioner. A part of the study is rows of a table: matrices, contestants, and what is
 * measured of them. */
#ifndef TESS_BENCH_SOLVE_KRYLOV_H
#define TESS_BENCH_SOLVE_KRYLOV_H

#include "harness/record.h"
#include "solve/contest.h"

enum { KRYLOV_MAX_VARIANTS = 32, KRYLOV_NAME = 48, KRYLOV_FIXED_ITERATIONS = 100, KRYLOV_SEEDS = 5 };

/* ---- contestants (krylov_variants.c) ---- */

typedef struct krylov_variant {
    const char *name;
    bench_contestant which; /* of ours always BENCH_OURS_GRAPH */
    tess_engine engine;     /* of ours; on the host the engine is plain */
    tess_recurrence recurrence;
    tess_format format;
    tess_layout layout; /* of tiles */
    const char *policy; /* NULL: none */
    tess_narrowing narrowing;
    bool cg_only;
} krylov_variant;

typedef struct krylov_variants {
    int count;
    const krylov_variant *items[KRYLOV_MAX_VARIANTS];
} krylov_variants;

/* Those of a comma-separated list of names and patterns, in the table's order; false at a wrong one, which is copied to
 * *wrong. */
bool krylov_variants_choose(const char *names, krylov_variants *out, char *wrong, size_t wrong_size);
bool krylov_variant_is_ours(const krylov_variant *v);
/* Whether it solves with this method in this build, on this device. */
bool krylov_variant_runs(const bench_run *run, const krylov_variant *v, tess_solver_kind solver);
/* How its matrix is stored. */
void krylov_variant_storage(const krylov_variant *v, tess_storage_options *out);
/* A contest with it, closed; `storage` stays with the caller. */
bench_contest krylov_variant_contest(const krylov_variant *v, bench_problem *p, tess_solver_kind solver,
                                     const tess_storage_options *storage);

/* ---- the parts (krylov_rows.c; those of the papers in papers/krylov_rows.c) ---- */

enum krylov_what {
    KRYLOV_TIMES = 1,       /* time per iteration by two fixed runs */
    KRYLOV_SOLVES = 2,      /* to the tolerance */
    KRYLOV_FIXED = 4,       /* KRYLOV_FIXED_ITERATIONS, whatever converges */
    KRYLOV_PRODUCT = 8,     /* one product with FP64 CSR, for set-ups in products */
    KRYLOV_HISTORIES = 16,  /* residuals by iteration, if a file is given */
    KRYLOV_ITERATIONS = 32, /* solves count and are not timed */
    KRYLOV_EVERYWHERE = 64  /* baselines run where the first of ours does not converge, too */
};

struct krylov_session;

typedef struct krylov_row {
    const char *part;        /* names, with commas */
    const char *set;         /* one of harness/sets.c, or a name for `matrices` */
    const char *matrices;    /* sources with commas; NULL: those of the set */
    tess_solver_kind solver; /* AUTO: CG where A is symmetric, unless it is known not to be definite; else BiCGSTAB */
    const char *contestants;
    unsigned what;
    bool five_sides; /* KRYLOV_SEEDS random b, of whose times the median counts; else b = A * ones */
    /* NULL: contestants are measured */
    void (*special)(struct krylov_session *s);
} krylov_row;

extern const krylov_row krylov_rows[];
extern const int krylov_row_count;

/* ---- what was measured (krylov_measure.c) ---- */

/* Products of tiles that a run of KRYLOV_FIXED_ITERATIONS with narrowing skipped. */
typedef struct krylov_bypassed {
    bool counted;
    int64_t products, all; /* all products; those that were skipped */
    int64_t made;          /* iterations: fewer than asked for where everything is skipped, so that A p = 0 */
    int64_t iterations;    /* until the tolerance is met, at most KRYLOV_FIXED_ITERATIONS */
    int64_t before;        /* skipped until then */
} krylov_bypassed;

typedef struct krylov_outcome {
    const krylov_variant *variant;
    bool refused; /* it could not run: `why` */
    char why[640];
    bench_contest_outcome run; /* of the first b */
    bench_time solve;          /* set up beforehand, final verification in it; of several b the median */
    bench_time fixed;          /* of KRYLOV_FIXED_ITERATIONS, set up beforehand; no samples: it ends earlier */
    double worst_relative;     /* the largest true relative residual of a claimed solve */
    int claims, false_claims;
    tess_solve_result result;  /* ours: of the last solve; its history is not kept */
    tess_papers_result papers; /* the same */
    krylov_bypassed bypassed;
    double *history; /* relative residuals, or NULL */
    int64_t history_length;
} krylov_outcome;

typedef struct krylov_session {
    bench_run run;
    const krylov_row *rows; /* of all parts */
    int row_count;
    const char *part;        /* the part that runs */
    const char *contestants; /* NULL: those of each row */
    double rtol;
    int64_t max_iterations, solves; /* solves: how many the part endurance makes of each kind */
    FILE *histories;                /* or NULL */
    /* what runs: a row, one of its matrices, a method */
    const krylov_row *row;
    bench_problem *problem;
    const char *matrix;
    tess_solver_kind solver;
    bool begun;                   /* the row has printed its head */
    int64_t claims, false_claims; /* of ours */
} krylov_session;

/* A program's study: `rows` are those of its parts. The exit code. */
int krylov_main(int argc, char **argv, const char *parts, const krylov_row *rows, int count);
/* Runs parts (with commas) over their matrices, or those of the options; the exit code of the program. */
int krylov_run(krylov_session *s, const char *parts, const bench_options *options);
/* All contestants of the present row, measured and reported. */
void krylov_measure(krylov_session *s);
/* The contestants of the present row, or those that the user named. */
krylov_variants krylov_contestants(const krylov_session *s);
/* The time of up to 9 runs of an open contest, of several after one that does not count; the last one's iterations. */
tess_status krylov_time_runs(bench_contest *c, double rtol, int64_t iterations, int samples, bench_time *time,
                             int64_t *done);

/* Seconds of one product with FP64 CSR; NaN where it fails. */
double krylov_product_seconds(bench_problem *p);

/* ---- records (krylov_records.c) ---- */

/* A record of the present problem by a contestant, not timed yet. */
bench_record krylov_record(const krylov_session *s, const krylov_variant *v);
/* The record's row, with the method and b. */
json_t *krylov_record_row(const krylov_session *s, const bench_record *record);
/* Bytes that an iteration moves by model, with a matrix of so many bytes (0: FP64 CSR). */
double krylov_iteration_bytes(const bench_problem *p, tess_solver_kind solver, int64_t matrix_bytes);
/* Adds the record of a contestant; product_seconds: of FP64 CSR, NaN where it is not measured. */
void krylov_report(krylov_session *s, const krylov_outcome *o, double product_seconds);

/* ---- parts of their own ---- */

void krylov_endurance(krylov_session *s);
/* In bench/papers: krylov_setup.c, krylov_shares.c, krylov_direction.c. */
void krylov_setup(krylov_session *s);
void krylov_memory(krylov_session *s);
void krylov_shares(krylov_session *s);
void krylov_direction(krylov_session *s);

#endif
