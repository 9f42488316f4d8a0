/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging of level sets by substitution. Neighbouring level sets become a group, whose rows are rewritten until they
 * need no row of their own group: x_i = sum_j c_ij b_j + sum_k w_ik x_k, with j in the group and k in earlier groups.
 * So a group is one step, a sparse product, which replaces as many steps as it has level sets. Source: the partitioned
 * inverse of Alvarado, Schreiber, Optimal parallel solution of sparse triangular systems, SIAM J. Sci. Comput. 14
 * (1993), with rows instead of factors; its rounding: Higham, Pothen, SIAM J. Sci. Comput. 15 (1994).
 */
#ifndef TESS_TRIANGULAR_MERGE_H
#define TESS_TRIANGULAR_MERGE_H

#include "triangular/level_sets.h"

/* A group grows as long as this lowers its cost per level set: `step` for its step, and one for each entry more than
   its level sets had. */
typedef struct merge_rule {
    double step;     /* cost of a step, in entries */
    double growth;   /* limit on the sum of a rewritten row's magnitudes, relative to 1 and the original row's */
    double largest;  /* limit on that sum */
    int64_t longest; /* limit on its entries */
} merge_rule;

/* Rows of a triangle, rewritten. */
typedef struct merged_rows {
    int64_t n, level_sets, groups;
    int64_t *begin;        /* level sets + 1 places, of which groups + 1 are used: position of a group's first row, and
                              n */
    bool *opens;           /* level sets: whether a group begins with it */
    int64_t *level_set_at; /* level sets + 1: position of a level set's first row, and n */
    int32_t *row;          /* n: the row of a position; rows of a group are neighbours */
    int64_t *start;        /* n: where a row's entries are */
    int32_t *length;       /* n: how many they are */
    int32_t *index;        /* of an entry: j for x_j, n + j for b_j; NULL before rows are rewritten */
    double *val;
    int64_t capacity; /* of index and val */
    int64_t entries;
    double growth, largest; /* of the rewritten rows: the largest values, as in the rule */
} merged_rows;

/* Level sets of the pattern, from level_sets_find_each (NULL: computes them), without any merging. Release it, also
   after a failure. O(n + nnz) time. */
tess_status merge_open(tess_context *ctx, const triangle_pattern *p, const level_schedule *level_sets, merged_rows *m);
/*
 * Rewrites all rows for these values: entry k of the pattern has val[k], diagonals are 1. `keep`: groups stay as they
 * are, else the rule makes them. Host work, shared by threads; the result does not depend on their number. A level set
 * whose rows would grow beyond the rule stays by itself; with `keep`, merge_keeps tells.
 */
tess_status merge_rewrite(tess_context *ctx, const triangle_pattern *p, const double *val, const merge_rule *rule,
                          bool keep, merged_rows *m);
/* Whether all rows keep to the rule. */
bool merge_keeps(const merged_rows *m, const merge_rule *rule);
/* Frees index and val, which the next merge_rewrite allocates again: they are large, and not needed once rows are laid
   out. */
void merge_release_entries(tess_context *ctx, merged_rows *m);
void merge_release(tess_context *ctx, merged_rows *m);

#endif
