/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual (tessera/residual.h) of the rows of an assembled matrix on the host. */
#ifndef TESS_MATRIX_RESIDUAL_ROWS_H
#define TESS_MATRIX_RESIDUAL_ROWS_H

#include <tessera/residual.h>

#include "matrix/assembled.h"

/* b_i - (A x)_i in two words, and what else the norms take of a row. */
static inline tess_row_terms row_terms_of(const csr_view *v, const double *b, const double *x, int64_t i)
{
    const double *val = (const double *)v->val;
    const int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1);
    tess_row_sum r = tess_row_sum_start(b[i]);

    for (int64_t k = begin; k < end; k++) {
        tess_row_sum_add(&r, val[k], x[v->col_ind[k]]);
    }
    return tess_row_sum_terms(&r, i, b[i], end - begin, 0);
}

#endif
