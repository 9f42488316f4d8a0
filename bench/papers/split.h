/* SPDX-License-Identifier: Apache-2.0 */
/* Split and composite storage against FP64: who takes part, what it must move, how far it may be off, what is expected.
 */
#ifndef TESS_BENCH_PAPERS_SPLIT_H
#define TESS_BENCH_PAPERS_SPLIT_H

#include "product/trial.h"

/* Those that have a place of their own; after them come split and composite storage. */
enum { BENCH_SPLIT_FP64 = 0, BENCH_SPLIT_CUSPARSE, BENCH_SPLIT_FP32, BENCH_SPLIT_FP32_SHADOW, BENCH_SPLIT_ENTRY };
enum { BENCH_SPLIT_MAX = BENCH_SPLIT_ENTRY + 2 + 8 + 4 };

typedef struct bench_split_options {
    tess_policy_options rows;    /* of split and composite by rows */
    tess_policy_options entries; /* of split by entries */
    tess_format base;            /* csr or ellr */
    bool tezcan;                 /* the protocol of Tezcan et al. 2022, section IV-A */
    const char *product;         /* only one product of this contestant, for profilers; NULL: the study */
} bench_split_options;

/* --policy, --share, --levels, --entry-policy, --base, --protocol, --product; the parser's input is what init filled.
 */
extern const struct argp_option bench_split_table[];
error_t bench_split_parse(int key, char *arg, struct argp_state *state);
void bench_split_options_init(bench_split_options *o);

/* --policy, --share and --levels of any study. */
void bench_read_share(struct argp_state *state, const char *text, tess_policy_options *policy);
void bench_read_policy(struct argp_state *state, const char *text, tess_policy_options *policy);
void bench_read_levels(struct argp_state *state, const char *text, tess_policy_options *policy);
const char *bench_levels_text(const tess_policy_options *policy, char *buffer, size_t size);

/* All that take part on some machine; their number. */
int bench_split_contestants(const bench_split_options *o, bench_contestant *list);
/* Whether the contestant has its precisions from a policy, by rows or by entries. */
bool bench_split_has_policy(const bench_contestant *c);

/* ---- what is expected (split_model.c) ---- */

/* An assignment, on the host. */
typedef struct bench_split_levels {
    tess_assignment_summary summary;
    uint8_t *level; /* by row or by entry */
} bench_split_levels;
tess_status bench_split_levels_make(const tess_matrix *a, const tess_policy_options *policy, bench_split_levels *out);
void bench_split_levels_free(bench_split_levels *levels);

/*
 * Bytes that a product must move: the stored values that it reads with their columns and offsets (a composite's other
 * copies not), 8 N for x where a part reads it, 4 N where a part reads its shadow and 12 N for making that shadow, 8 M
 * for y, 4 M where y is scattered, 8 M where y is read. By entries each level with entries is a pass of its own: x once
 * each, and 16 M between two passes for sums.
 */
int64_t bench_split_bytes(const bench_contestant *c, const tess_matrix *stored, bool adds);

/* Precision of entry k, which is in row i. */
tess_precision bench_split_precision(const bench_contestant *c, const bench_split_levels *levels, int64_t i, int64_t k);
/* For each entry whether its product is made in FP32. */
uint8_t *bench_split_low(const bench_contestant *c, const bench_split_levels *levels, const bench_csr *a);
/*
 * What ||y' - y64||_2 may be, y64 an FP64 product with the matrix before it was stored: the norm of
 * u_low |A_low| |x| + 2 gamma(length + 2) |A| |x|, for products in FP32 with (1 + u_low) (1 + u32)^2 - 1 in place of
 * u_low.
 */
double bench_split_bound(const bench_contestant *c, const bench_split_levels *levels, const bench_csr *a,
                         const double *x);

/* What y must be: products of entries with low[k] != 0 are made in FP32 of x rounded to FP32, others in FP64. */
void bench_split_make_product(const bench_csr *a, const double *x, const uint8_t *low, bench_product *out);

/* ---- records (split_records.c) ---- */

/* One measured contestant. */
typedef struct bench_split_row {
    const bench_trial *trial;
    const bench_contestant *contestant;
    const bench_outcome *outcome;
    double density;   /* nonzeros by rows and columns, in ten thousandths */
    double low_share; /* of the nonzeros; NaN where no policy chose precisions */
    /* ||y - y64|| / ||y64||, its bound, and the one over the other */
    double residual, bound, over_bound;
} bench_split_row;

void bench_split_report(const bench_split_row *line);

#endif
