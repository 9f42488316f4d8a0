/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New values of interpolation on its pattern. A plan says by one byte for each term which entry of the row it goes to,
 * so that nothing is searched. Rows too long for bytes have no plan: `code` is NULL, and the rows are computed as the
 * first time.
 */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_PLAN_H
#define TESS_PRECOND_MULTIGRID_CLASSICAL_PLAN_H

#include "precond/multigrid/classical/interpolation.h"

/* The codes of all rows, one after another; start[b]: where those of block b of rows begin. */
typedef struct amg_codes {
    int64_t blocks, count;
    int64_t *start; /* blocks + 1 */
    uint8_t *code;
} amg_codes;

/* Of extended+i interpolation, also the coarse neighbours of A's fine rows, and where each row has its diagonal. */
typedef struct amg_weight_plan {
    bool made;
    amg_codes codes;
    int64_t nrows;
    int64_t *first;             /* nrows + 1 */
    uint8_t *offset, *diagonal; /* of an entry from its row's first one */
} amg_weight_plan;

/* Of a product of short rows that is truncated. */
typedef struct amg_product_plan {
    bool made;
    amg_codes codes;
} amg_product_plan;

/* p's values for new values of a; a plan is made the first time. list: the rows of a that p's columns are. Weights to
   columns that p has not are left out, and those that it has get the sum of all, as by truncation. */
tess_status amg_interpolate_again(tess_context *ctx, const amg_interpolation *to, const int32_t *list,
                                  amg_weight_plan *plan, host_csr *p);
void amg_weight_plan_release(tess_context *ctx, amg_weight_plan *plan);
/* The same for p = a b, truncated. */
tess_status amg_multiply_truncated_again(tess_context *ctx, const host_csr *a, const host_csr *b,
                                         amg_product_plan *plan, host_csr *p);
void amg_product_plan_release(tess_context *ctx, amg_product_plan *plan);

#endif
