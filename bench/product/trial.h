/* SPDX-License-Identifier: Apache-2.0 */
/* One matrix with its vectors, and products with it that are timed and checked: what the SpMV studies share. */
#ifndef TESS_BENCH_PRODUCT_TRIAL_H
#define TESS_BENCH_PRODUCT_TRIAL_H

#include "harness/record.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_MAX_PAIRS = 8 };

struct bench_contestant;
struct bench_outcome;
struct bench_trial;

/* What is timed: a storage of ours, a kind of cuSPARSE's, or what `run` sets up, measures and checks on a GPU. */
typedef struct bench_contestant {
    char name[48];
    bool ours;
    int kind; /* bench_cusparse_kind, or what `run` makes of it */
    tess_status (*run)(struct bench_trial *t, const struct bench_contestant *c, double *y, struct bench_outcome *o);
    tess_storage_options storage; /* bench_contestant_storage completes it */
    tess_papers_storage papers;   /* of tiles as a paper has them */
    tess_precision vectors;       /* cuSPARSE: of values and arithmetic too */
} bench_contestant;

/* Its storage, with the sizes of the structs and what is the paper's; valid as long as the contestant. */
tess_storage_options bench_contestant_storage(const bench_contestant *c);

typedef struct bench_outcome {
    bool ran;
    bench_time time;
    int64_t bytes;              /* moved, by model */
    double setup_seconds;       /* NaN: not measured */
    double first_setup_seconds; /* with memory that the device has yet to allocate; 0: not measured */
    double error;               /* largest error over its bound */
} bench_outcome;

/* Vectors of one precision, and x as it is stored there. */
typedef struct bench_pairs {
    tess_precision precision;
    double *host_x;
    tess_vector *x[BENCH_MAX_PAIRS], *y[BENCH_MAX_PAIRS];
} bench_pairs;

/* What a study wants of its vectors. */
typedef struct bench_trial_options {
    bool fp32;    /* FP32 vectors too */
    bool adds;    /* y := y + A x from y = 0; else y := A x */
    double reach; /* x is uniform in (-reach, reach) */
} bench_trial_options;

/* One matrix under test with its vectors. */
typedef struct bench_trial {
    bench_run *run;
    const bench_case *which;
    bench_trial_options options;
    tess_matrix *a;
    bench_csr host;
    bench_pairs fp64, fp32;
    bench_rotation rotation;
} bench_trial;

/* Loads the matrix and makes its vectors; false, with a line in the report, where that cannot be or it has no nonzeros.
 */
bool bench_trial_open(bench_run *run, const bench_case *which, const bench_trial_options *options, bench_trial *out);
void bench_trial_close(bench_trial *t);

/* The vectors that a contestant takes. */
bench_pairs *bench_trial_pairs(bench_trial *t, const bench_contestant *c);
/* What must come out for the vectors, by the values that are held. */
void bench_trial_exact(const bench_csr *held, const bench_pairs *v, tess_arithmetic arithmetic, bench_product *out);

/* A bench_call of ours: user is a bench_product_call. */
typedef struct bench_product_call {
    const bench_pairs *v;
    int pairs;
    double beta;
    const tess_matrix *stored;
} bench_product_call;
tess_status bench_product_run(void *user, int k);

/* What y must be. */
typedef struct bench_expectation {
    const bench_product *exact;
    const int32_t *row_of; /* entry i of y is row row_of[i]; NULL: row i */
    double *y;             /* receives the first y in the order of rows; NULL: not wanted */
} bench_expectation;

/*
 * Times the call, then computes every y once more from what it held in the beginning, and checks them all. Wrong
 * results are reported as a fault and leave o->ran false. The y are overwritten, so that the next contestant cannot
 * inherit them.
 */
tess_status bench_trial_measure(bench_trial *t, bench_pairs *v, bench_call call, void *user,
                                const bench_expectation *expected, bench_outcome *o);
/* Converts as the contestant says, timed until the device has finished; UNSUPPORTED is reported as skipped. */
tess_status bench_trial_convert(bench_trial *t, const bench_contestant *c, bench_outcome *o, tess_matrix **stored);
/*
 * One that is not ours: cuSPARSE in the precision c->vectors, or c->run; measured and checked. y (NULL: not wanted)
 * receives a result. Without a GPU o->ran stays false.
 */
tess_status bench_trial_theirs(bench_trial *t, const bench_contestant *c, double *y, bench_outcome *o);

/* Arrays of the vectors on the device. */
typedef struct bench_arrays {
    void *x[BENCH_MAX_PAIRS], *y[BENCH_MAX_PAIRS];
} bench_arrays;
bench_arrays bench_trial_arrays(const bench_trial *t, const bench_pairs *v);
/* Measures and checks a call whose matrix holds the values of t->host; for `run`. */
tess_status bench_trial_measure_theirs(bench_trial *t, bench_pairs *v, bench_call call, void *user, double *y,
                                       bench_outcome *o);
/* Records that a contestant cannot run on this matrix. */
void bench_trial_skip(bench_trial *t, const bench_contestant *c, const char *reason);

/* Kernels are loaded at their first use; a small matrix takes that out of the set-up times. */
void bench_load_kernels(bench_run *run, const bench_contestant *contestants, int count);
/* ---- records (trial_record.c) ---- */

/* What the contestant did; its part and precision may be given anew. */
bench_record bench_trial_record(const bench_trial *t, const bench_contestant *c, const bench_outcome *o);
/* The record's row, with the vectors' precision and the error over its bound. */
json_t *bench_trial_row(const bench_trial *t, const bench_contestant *c, const bench_outcome *o,
                        const bench_record *record);

#ifdef __cplusplus
}
#endif

#endif
