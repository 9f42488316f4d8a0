/* SPDX-License-Identifier: Apache-2.0 */
/* Level sets of a triangle: which rows may be solved at the same time. */
#ifndef TESS_TRIANGULAR_LEVEL_SETS_H
#define TESS_TRIANGULAR_LEVEL_SETS_H

#include "matrix/matrix.h"
#include "triangular/leaf.h"

/* The entries beside the diagonal of a lower or upper triangle, on the host; columns ascend within rows. */
typedef struct triangle_pattern {
    int64_t n;
    bool upper;
    int64_t *row_ptr; /* n + 1 */
    int32_t *col_ind;
    int64_t *source; /* of each entry: its place in the array of values */
} triangle_pattern;

/* An array of values; entry k of a pattern has the value at source[k]. */
typedef struct triangle_values {
    int64_t count;
    const double *host;   /* NULL: only on the device */
    const double *device; /* NULL: only on the host, until triangle_values_upload */
    double *copy;         /* the copy made by it */
} triangle_values;

/* The order in which rows are solved. */
typedef struct level_schedule {
    int64_t n, level_sets;
    int32_t *order;  /* n rows: level set by level set; for a CPU context without a level set that is worth sharing, in
                        the order of their dependence */
    level_run *runs; /* of a GPU context: the level sets */
    int64_t nruns;
} level_schedule;

/*
 * The level set of a row is one more than the highest of the rows that it needs among rows first .. end - 1; other rows
 * count as known. O(n + nnz) time. Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 11.6.1.
 * Release it, also after a failure.
 */
tess_status level_sets_find(tess_context *ctx, const triangle_pattern *p, int64_t first, int64_t end,
                            level_schedule *out);
/* Of all rows, with every level set as a run, for any context. */
tess_status level_sets_find_each(tess_context *ctx, const triangle_pattern *p, level_schedule *out);
void level_sets_release(tess_context *ctx, level_schedule *s);

#endif
