/* SPDX-License-Identifier: Apache-2.0 */
/* Storage with a precision for each block, tiles and split by blocks, against FP64: who takes part, what came out,
 * goals. */
#ifndef TESS_BENCH_HARNESS_BLOCK_H
#define TESS_BENCH_HARNESS_BLOCK_H

#include "harness_product.h"

/* Those that have a place of their own in each study. */
enum { BENCH_BLOCK_FP64 = 0, BENCH_BLOCK_CUSPARSE, BENCH_BLOCK_OTHERS };
enum { BENCH_BLOCK_MAX = BENCH_BLOCK_OTHERS + 5 * 9 };

/* ---- studies (harness_block.c) ---- */

/* A study is a list of contestants; FP64 CSR and cuSPARSE's are in each. */
typedef struct bench_block_study {
    const char *name, *title;
    int (*add)(bench_contestant *list, int count); /* appends; the new number, at most BENCH_BLOCK_MAX */
    bool has_goals, has_stages;                    /* has_stages: what set-up is made of too */
} bench_block_study;

/* The study of this index; NULL beyond the last. */
const bench_block_study *bench_block_study_at(int index);
/* All that take part in it on some machine; their number. */
int bench_block_contestants(const bench_block_study *study, bench_contestant *list);

typedef struct bench_block_options {
    const char *studies; /* comma-separated */
    const char *product; /* only one product of this contestant of the first study; NULL: the studies */
} bench_block_options;

/* --study, --product; the parser's input is a bench_block_options. */
extern const struct argp_option bench_block_table[];
error_t bench_block_parse(int key, char *arg, struct argp_state *state);

/* ---- what is known of a contestant's storage (harness_block_model.c) ---- */

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

/* ---- what came out ---- */

/* Ratios are NaN where their base did not run. */
typedef struct bench_block_result {
    bool ran, mixed;
    bench_outcome outcome;
    tess_digit_counts digits;        /* of y, against y of FP64 */
    tess_assignment_summary summary; /* if mixed */
    int64_t stored_bytes;            /* of the matrix alone */
    double over_cusparse, over_fp64; /* times over this one's */
    double over_sell;                /* that of cuSPARSE's SELL over this one's */
    double of_its_bytes;             /* over_fp64 by what the bytes of both predict */
    double stored_ratio;             /* stored bytes over those of FP64 CSR */
    double setup, first_setup;       /* in products of FP64 CSR */
    double low_blocks, low_nonzeros; /* shares; NaN unless mixed */
    double fill;                     /* share of the places in blocks that hold a nonzero; NaN unless mixed */
} bench_block_result;

typedef struct bench_block_record {
    char name[80];
    double per_block; /* nonzeros of a block of 16 x 16 that holds any */
    bool in_cache;
    bench_block_result of[BENCH_BLOCK_MAX];
} bench_block_record;

typedef struct bench_block_records {
    bench_block_record *items;
    int count;
} bench_block_records;

/* Whether goals are about it: at least 4 nonzeros a block. */
bool bench_block_is_blocky(const bench_block_record *r);
/* Those that means and goals are over: matrices that do not lie in the cache, and of these the blocky ones. */
bool bench_block_counts(const bench_block_record *r, bool blocky_only);
int bench_block_count(const bench_block_records *records, bool blocky_only); /* how many */

/* ---- report (harness_block_report.c, harness_block_goals.c) ---- */

void bench_block_print_head(bool gpu);
void bench_block_report(const bench_block_study *study, const bench_trial *t, const bench_contestant *c,
                        const bench_block_record *record, const bench_block_result *r);
/* Means of each contestant, over blocky matrices and over all. */
void bench_block_report_means(bench_run *run, const bench_block_study *study, const bench_contestant *list, int count,
                              const bench_block_records *records);
/* What set-up is made of (harness_block_setup.c), in a run of its own in which every launch, transfer and allocation is
   waited for; in us and in products, of which one takes `product` seconds. */
void bench_block_report_stages(bench_trial *t, const bench_contestant *c, double product);
void bench_block_report_goals(bench_run *run, const bench_contestant *list, int count,
                              const bench_block_records *records);

#endif
