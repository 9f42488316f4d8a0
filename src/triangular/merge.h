/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging of level sets by substitution. Neighbouring level sets become a group, whose rows are rewritten until they
 * need no row of their own group: x_i = sum_j c_ij b_j + sum_k w_ik x_k, j in the group, k in groups before it. So a
 * group is one step, a sparse product, where its level sets were as many. Source: the partitioned inverse of Alvarado,
 * Schreiber, Optimal parallel solution of sparse triangular systems, SIAM J. Sci. Comput. 14 (1993), rows in place of
 * factors; its rounding: Higham, Pothen, SIAM J. Sci. Comput. 15 (1994).
 */
#ifndef TESS_TRIANGULAR_MERGE_H
#define TESS_TRIANGULAR_MERGE_H

#include "triangular/level_sets.h"

/* A group grows as long as that lowers its cost a level set: `step` for its step, and one for each entry more than its
 * level sets had. */
typedef struct merge_rule {
    double step;   /* what a step costs, in entries */
    double growth; /* the most that a rewritten row's magnitudes may add up to, over 1 and those of the row as it was */
    double largest;  /* the most that they may add up to */
    int64_t longest; /* the most entries that it may have */
} merge_rule;

/* Rows of a triangle, rewritten. */
typedef struct merged_rows {
    int64_t n, level_sets, groups;
    int64_t *begin;        /* level sets + 1 places, of which groups + 1: position of a group's first row, and n */
    bool *opens;           /* level sets: whether a group begins with it */
    int64_t *level_set_at; /* level sets + 1: position of a level set's first row, and n */
    int32_t *row;          /* n: the row of a position; rows of a group are neighbours */
    int64_t *start;        /* n: where a row's entries are */
    int32_t *length;       /* n: how many they are */
    int32_t *index;        /* of an entry: j for x_j, n + j for b_j; NULL before rows are rewritten */
    double *val;
    int64_t capacity; /* of index and val */
    int64_t entries;
    double growth, largest; /* of the rows that were rewritten: the most, as in the rule */
} merged_rows;

/* Level sets of the pattern, as level_sets_find_each has them (NULL: to be found), nothing merged yet. To be released,
   also on failure. O(n + nnz) time. */
tess_status merge_open(tess_context *ctx, const triangle_pattern *p, const level_schedule *level_sets, merged_rows *m);
/*
 * Rewrites all rows for these values, entry k of the pattern having val[k]; diagonals are 1. `keep`: groups stay as
 * they are, else the rule makes them. Host work, shared by threads; the result does not depend on how many. Where rows
 * would grow beyond the rule a level set stays on its own; with `keep`, merge_keeps tells.
 */
tess_status merge_rewrite(tess_context *ctx, const triangle_pattern *p, const double *val, const merge_rule *rule,
                          bool keep, merged_rows *m);
/* Whether all rows keep to the rule. */
bool merge_keeps(const merged_rows *m, const merge_rule *rule);
/* Lets go of index and val, which the next merge_rewrite makes anew: much memory, of no use once rows are laid out. */
void merge_release_entries(tess_context *ctx, merged_rows *m);
void merge_release(tess_context *ctx, merged_rows *m);

#endif
