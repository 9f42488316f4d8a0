/* SPDX-License-Identifier: Apache-2.0 */
/* The codes of plans, and how they are made. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_PLAN_CODES_H
#define TESS_PRECOND_MULTIGRID_CLASSICAL_PLAN_CODES_H

#include "precond/multigrid/classical/plan.h"

/*
 * A code is an index of sums: of the row's entries from 0, and of what does not go to one. For an entry a_ik of a fine
 * row with a strong fine k, THROUGH is followed by the place of a_ki in row k (NONE: there is none), and by a code for
 * each coarse neighbour of k. Coarse rows have no codes.
 */
enum {
    AMG_CODE_MOST_KEPT = 251,
    AMG_CODE_THROUGH = 252,
    AMG_CODE_NOWHERE = 253,  /* no term of the row */
    AMG_CODE_DROPPED = 254,  /* to a column that truncation left out: only the row's sum has it */
    AMG_CODE_DIAGONAL = 255, /* to a~_ii */
    AMG_CODE_NONE = 255,     /* as a place */
    AMG_CODES = 256,
    AMG_CODE_ROWS = 256 /* of a block */
};

static inline int64_t amg_block_end(int64_t block, int64_t nrows)
{
    return (block + 1) * AMG_CODE_ROWS < nrows ? (block + 1) * AMG_CODE_ROWS : nrows;
}

/* Plans without codes if rows are too long. */
tess_status amg_make_weight_plan(tess_context *ctx, const amg_interpolation *to, const int32_t *list, const host_csr *p,
                                 amg_weight_plan *plan);
tess_status amg_make_product_plan(tess_context *ctx, const host_csr *a, const host_csr *b, const host_csr *p,
                                  amg_product_plan *plan);

#endif
