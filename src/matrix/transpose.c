/* SPDX-License-Identifier: Apache-2.0 */
/* A^T as a matrix of its own, for methods and solves that need its rows. */
#include <string.h>

#include "matrix/assembled.h"

/* Stable counting sort by column: columns of A^T ascend within its rows. first has ncols + 1 zeros. */
static void fill_transpose(const csr_view *a, int64_t *first, int32_t *col_ind, double *val)
{
    const double *from = a->val;

    for (int64_t k = 0; k < a->nnz; k++) {
        first[a->col_ind[k] + 1] += 1;
    }
    for (int64_t j = 0; j < a->ncols; j++) {
        first[j + 1] += first[j];
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = csr_offset(a, i); k < csr_offset(a, i + 1); k++) {
            int64_t to = first[a->col_ind[k]]++;

            col_ind[to] = (int32_t)i;
            val[to] = from[k];
        }
    }
    memmove(first + 1, first, (size_t)a->ncols * sizeof *first); /* each has become the next one's beginning */
    first[0] = 0;
}

/* Makes A^T, or gives the one that is there its values. */
static tess_status transpose(tess_context *ctx, const csr_view *a, tess_matrix **out, tess_matrix *renewed)
{
    tess_csr_arrays arrays = {.size = sizeof arrays,
                              .nrows = a->ncols,
                              .ncols = a->nrows,
                              .nnz = a->nnz,
                              .row_ptr_bits = 64,
                              .col_ind_bits = 32,
                              .where = TESS_MEMORY_HOST,
                              .ownership = TESS_COPY};
    int64_t *first = NULL;
    int32_t *col_ind = NULL;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->ncols + 1, sizeof *first, (void **)&first));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *col_ind, (void **)&col_ind));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *val, (void **)&val));
    memset(first, 0, (size_t)(a->ncols + 1) * sizeof *first);
    fill_transpose(a, first, col_ind, val);
    arrays.row_ptr = first;
    arrays.col_ind = col_ind;
    arrays.val = val;
    status = renewed ? tess_matrix_update_values(renewed, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST)
                     : tess_matrix_create_csr(ctx, &arrays, out);
cleanup:
    tess_host_release(ctx, first, a->ncols + 1, sizeof *first);
    tess_host_release(ctx, col_ind, a->nnz, sizeof *col_ind);
    tess_host_release(ctx, val, a->nnz, sizeof *val);
    return status;
}

tess_status csr_make_transpose(tess_context *ctx, const csr_view *host, tess_matrix **out)
{
    return transpose(ctx, host, out, NULL);
}

tess_status csr_renew_transpose(tess_context *ctx, const csr_view *host, tess_matrix *renewed)
{
    return transpose(ctx, host, NULL, renewed);
}
