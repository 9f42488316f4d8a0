/* SPDX-License-Identifier: Apache-2.0 */
/* Storage with a precision for each block, tiles and split by blocks, against FP64: who takes part, what came
 * out. */
#ifndef TESS_BENCH_PAPERS_BLOCK_H
#define TESS_BENCH_PAPERS_BLOCK_H

#include "product/trial.h"

/* Those that have a place of their own in each study. */
enum { BENCH_BLOCK_FP64 = 0, BENCH_BLOCK_CUSPARSE, BENCH_BLOCK_OTHERS };
enum { BENCH_BLOCK_MAX = BENCH_BLOCK_OTHERS + 5 * 9 };

/* ---- studies (block_contestants.c) ---- */

/* A study is a list of contestants; FP64 CSR and cuSPARSE's are in each. */
typedef struct bench_block_study {
    const char *name, *title;
    int (*add)(bench_contestant *list, int count); /* appends; the new number, at most BENCH_BLOCK_MAX */
    bool has_stages;                               /* what set-up is made of too */
} bench_block_study;

/* The study of this index; NULL beyond the last. */
const bench_block_study *bench_block_study_at(int index);
/* All that take part in it on some machine; their number. */
int bench_block_contestants(const bench_block_study *study, bench_contestant *list);
/* Keeps those that match one of the patterns (NULL: all), and the two of CSR; their number. */
int bench_block_choose(const char *patterns, bench_contestant *list, int count);

typedef struct bench_block_options {
    const char *product;     /* only one product of this contestant of the first study; NULL: the studies */
    const char *contestants; /* patterns; NULL: those of the study */
} bench_block_options;

/* --product, --contestant; the parser's input is a bench_block_options. */
extern const struct argp_option bench_block_table[];
error_t bench_block_parse(int key, char *arg, struct argp_state *state);

/* A published product, written anew (block_published.c); the contestant's `run`. */
tess_status bench_block_run_published(bench_trial *t, const bench_contestant *c, double *y, bench_outcome *o);

/* ---- what is known of a contestant's storage (block_model.c) ---- */

/* Of a contestant with blocks; NULL: all is in one precision. The matrix owns it. */
const tess_assignment_summary *bench_block_summary(const tess_matrix *stored);
/* Bytes that a product must move: what is stored, x where it is read, y. */
int64_t bench_block_bytes(const bench_contestant *c, const tess_matrix *stored);
/* Nonzeros of `a` over its blocks of 16 x 16 that hold any. */
tess_status bench_block_nonzeros(const tess_matrix *a, double *per_block);
/*
 * Whether `held` is `a` with no more values altered than are assigned a low precision (summary NULL: none), and these
 * by no more than rounding to the lowest one does. The exact product of what is held cannot see that.
 */
bool bench_block_is_assigned(const bench_csr *a, const bench_csr *held, const tess_assignment_summary *summary);

/* ---- records (block_records.c) ---- */

typedef struct bench_block_result {
    bool ran, mixed;
    bench_outcome outcome;
    tess_digit_counts digits;        /* of y, against y of FP64 */
    tess_assignment_summary summary; /* if mixed */
    int64_t stored_bytes;            /* of the matrix alone */
} bench_block_result;

/* per_block: nonzeros of a block of 16 x 16 that holds any. */
void bench_block_report(const bench_block_study *study, const bench_trial *t, const bench_contestant *c,
                        double per_block, const bench_block_result *r);
/* What set-up is made of (block_setup.c), in a run of its own in which every launch, transfer and allocation is waited
   for; one product takes `product` seconds. */
void bench_block_report_stages(bench_trial *t, const bench_contestant *c, double product);

#endif
