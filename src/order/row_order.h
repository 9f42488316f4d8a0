/* SPDX-License-Identifier: Apache-2.0 */
/* An order of rows and columns alike, where the matrix lies, for solvers of systems in that order (row_order.c). */
#ifndef TESS_ORDER_ROW_ORDER_H
#define TESS_ORDER_ROW_ORDER_H

#include "matrix/matrix.h"

/* An order of rows and columns alike, and its inverse, on the device of the context. perm NULL: there is none. */
typedef struct row_order {
    tess_context *ctx;
    int64_t n;
    int32_t *perm, *place;
} row_order;

/* By clusters, of an assembled square matrix. Errors: memory. */
tess_status row_order_find(const tess_matrix *a, row_order *o);
void row_order_release(row_order *o);
/* Whether offsets of the matrix are short enough for row_order_apply. */
bool row_order_applies(const tess_matrix *a);
/* B = P A P^T, and the maps c = to_rows b and x = from_columns y of B y = c. After a failure the caller destroys what
   there is. */
tess_status row_order_apply(const tess_matrix *a, const row_order *o, tess_matrix **b, tess_matrix **to_rows,
                            tess_matrix **from_columns);
/* tess_order_fetch of an assembled matrix; perm and place as above, or both NULL. */
tess_status order_measure_fetch(const tess_matrix *a, const int32_t *perm, const int32_t *place, double *lines);

#endif
