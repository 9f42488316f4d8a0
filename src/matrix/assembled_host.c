/* SPDX-License-Identifier: Apache-2.0 */
/* Diagonal and check of assembled matrices on the host. */
#include "device/host/host.h"
#include "matrix/assembled.h"

static tess_status diagonal_of(const tess_matrix *assembled, double *diagonal)
{
    const csr_view *v = &csr_of(assembled)->view;
    const double *val = v->val;
    int64_t n = v->nrows < v->ncols ? v->nrows : v->ncols;

#pragma omp parallel for num_threads(assembled->ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < n; i++) {
        double d = 0.0;

        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            if (v->col_ind[k] == i) { d = val[k]; }
        }
        diagonal[i] = d;
    }
    return TESS_SUCCESS;
}

static bool row_is_sound(const csr_view *v, int64_t i)
{
    int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1), previous = -1;

    if (begin < 0 || end < begin || end > v->nnz) { return false; }
    for (int64_t k = begin; k < end; k++) {
        if (v->col_ind[k] <= previous || v->col_ind[k] >= v->ncols) { return false; }
        previous = v->col_ind[k];
    }
    return true;
}

static tess_status check(tess_context *ctx, const csr_view *v, int64_t *bad_row)
{
    int64_t first = v->nrows;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(min \
                                                                              : first) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < v->nrows; i++) {
        if (i < first && !row_is_sound(v, i)) { first = i; }
    }
    if (csr_offset(v, 0) != 0 || csr_offset(v, v->nrows) != v->nnz) {
        *bad_row = 0;
    } else {
        *bad_row = first < v->nrows ? first : -1;
    }
    return TESS_SUCCESS;
}

const assembled_ops assembled_host_ops = {diagonal_of, true_residual_host, check, true_residuals_host};
