/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the orderings: the matrix on the host, and the matching behind tess_order_max_product. */
#ifndef TESS_ORDER_ORDER_H
#define TESS_ORDER_ORDER_H

#include <tessera/findings.h>
#include <tessera/order.h>

#include "base/offsets.h"
#include "matrix/matrix.h"

/* ---- input.c ---- */

/* The rows of an assembled matrix on the host, whatever its context. */
typedef struct order_input {
    tess_context *ctx; /* the matrix's own: work space and errors */
    tess_csr_view view;
    tess_host_matrix on_host;
} order_input;

/* Errors: UNSUPPORTED (shell or stored matrix; the message begins with `purpose`), memory. */
tess_status open_order_input(const tess_matrix *a, const char *purpose, order_input *in);
void close_order_input(order_input *in);
/* Errors: DIMENSION_MISMATCH */
tess_status require_square(const tess_matrix *a, const char *purpose);

/* ---- rcm.c ---- */

/* tess_order_rcm for rows on the host: square, columns ascending; values are not read. */
tess_status order_rcm_of_pattern(tess_context *ctx, const tess_csr_view *a, int32_t *perm);

/* ---- clusters.c ---- */

/* tess_order_clusters of an assembled square matrix, into n numbers on its device. */
tess_status order_find_clusters(const tess_matrix *a, int32_t *perm);

/* ---- reorder.c ---- */

/* place[perm[i]] = i. Errors: INVALID_ARGUMENT (not a permutation) */
tess_status order_invert(tess_context *ctx, int64_t n, const int32_t *perm, int32_t *place);
/* The matrix with value[i] (1 if that is NULL) in row i and column[i]; arrays of the host. */
tess_status order_make_map(tess_context *ctx, int64_t n, const int32_t *column, const double *value, tess_matrix **out);

/* ---- structural_rank.c ---- */

/* Sets structural_rank, unmatched_rows and unmatched_columns: the largest matching of rows and columns by entries other
   than 0, and what has no partner in it. A search that takes too long gives -1, and neither rows nor columns. */
tess_status order_structural_rank(tess_context *ctx, const tess_csr_view *a, tess_findings *f);

/* ---- matching.c ---- */

/* The cost of an absent entry. */
#define ORDER_NO_COST INT64_MAX
/* Costs lie in 0 .. ORDER_MAX_COST; duals and distances may grow to ORDER_MAX_DUAL in magnitude. A sum of one cost and
   three of the others still fits int64_t. */
#define ORDER_MAX_COST (INT64_C(1) << 60)
#define ORDER_MAX_DUAL (INT64_C(1) << 61)

/* Assignment of least cost: rows to columns along the entries of n sparse rows. */
typedef struct order_matching {
    int64_t n;
    const int64_t *first;  /* n + 1 */
    const int32_t *column; /* first[n] */
    const int64_t *cost;   /* first[n] */
    int32_t *column_of;    /* n, of a row; -1: unmatched */
    int32_t *row_of;       /* n, of a column */
    int64_t *u, *v;        /* n: duals of rows and columns */
    int64_t count;         /* pairs */
} order_matching;

/*
 * Fills column_of, row_of, u, v and count. With count == n the assignment has the least cost, and the duals prove it:
 * u[i] + v[j] <= cost of entry (i, j), with equality if j = column_of[i]. Otherwise count is the structural rank, and
 * the duals mean nothing. Errors: OUT_OF_RANGE (duals beyond ORDER_MAX_DUAL), memory.
 */
tess_status match_rows(tess_context *ctx, order_matching *m);

/* Fills inconsistency and inconsistent_rows of a square matrix and a right-hand side. Errors: memory. parts.c */
tess_status order_inconsistency(tess_context *ctx, const tess_csr_view *a, const double *b, tess_findings *f);

#endif
