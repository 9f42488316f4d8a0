/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all rows of a matrix on a GPU sum to 0. */
#include "format/csr/csr.h"
#include "matrix/null_parts.h"
#include "solver/null_sums.h"
#include "solver/verify.h"

/* The first row of a matrix on a device sums to 0; a long one is taken to. */
static tess_status first_row_is_null(const tess_matrix *a, bool *null)
{
    enum { MOST_ENTRIES = 256 };
    const csr_view *v = &csr_of(a)->view;
    const tess_backend *backend = a->ctx->backend;
    const bool wide = v->row_ptr_bits == 64;
    double values[MOST_ENTRIES];
    int32_t narrow_end = 0;
    int64_t end = 0;
    tess_status status = TESS_SUCCESS;

    *null = a->nrows > 0;
    if (a->nrows == 0) { return TESS_SUCCESS; }
    TESS_TRY(wide ? backend->download(a->ctx, &end, (const int64_t *)v->row_ptr + 1, sizeof end)
                  : backend->download(a->ctx, &narrow_end, (const int32_t *)v->row_ptr + 1, sizeof narrow_end));
    if (!wide) { end = narrow_end; }
    if (end > MOST_ENTRIES) { return TESS_SUCCESS; }
    if (end > 0) { TESS_TRY(backend->download(a->ctx, values, v->val, (size_t)end * sizeof *values)); }
    {
        null_sum row = {0};

        for (int64_t k = 0; k < end; k++) {
            null_sum_add(&row, values[k]);
        }
        *null = null_sum_holds(&row);
    }
cleanup:
    return status;
}

/* All rows, by the residual of 0 = A 1: its largest row-wise backward error is that of the
   sums. */
tess_status null_sums_on_device(const tess_matrix *a, bool *null)
{
    tess_vector *zeros = NULL, *ones = NULL, *residual = NULL;
    true_residual found;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(first_row_is_null(a, null));
    if (!*null) { return TESS_SUCCESS; }
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &zeros));
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &ones));
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &residual));
    TESS_TRY(tess_vector_fill(zeros, 0.0));
    TESS_TRY(tess_vector_fill(ones, 1.0));
    TESS_TRY(verify_residual(a, zeros->data, ones->data, residual->data, &found));
    *null = found.rows.backward <= NULL_ROUNDOFFS * ((double)a->nnz / (double)a->nrows);
cleanup:
    tess_vector_destroy(zeros);
    tess_vector_destroy(ones);
    tess_vector_destroy(residual);
    return status;
}
