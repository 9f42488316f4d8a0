/* SPDX-License-Identifier: Apache-2.0 */
/* Diagonal and true residual of assembled matrices on the host. */
#include <math.h>

#include "device/host/host.h"
#include "matrix/assembled.h"
#include "matrix/residual_rows.h"

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

/* Products in two words are one instruction where the processor has it, and else a call. */
HOST_CLONES static void residual_of_block(const csr_view *v, const double *b, const double *x, double *residual,
                                          int64_t block, double scale, tess_residual_sums *out)
{
    int64_t end = (block + 1) * HOST_BLOCK < v->nrows ? (block + 1) * HOST_BLOCK : v->nrows;
    tess_residual_sums sums = tess_residual_sums_start();

    for (int64_t i = block * HOST_BLOCK; i < end; i++) {
        const tess_row_terms row = row_terms_of(v, b, x, i);

        if (residual) { residual[i] = row.value; }
        tess_residual_sums_add_row(&sums, &row, scale);
    }
    *out = sums;
}

static tess_status true_residual(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                                 int exponent, tess_residual_sums *sums)
{
    tess_context *ctx = assembled->ctx;
    const csr_view *v = &csr_of(assembled)->view;
    int64_t nblocks = (v->nrows + HOST_BLOCK - 1) / HOST_BLOCK;
    double scale = ldexp(1.0, -exponent), *partials = NULL;
    tess_residual_sums *of_block = NULL;
    tess_status status = host_partials(ctx, (int64_t)(sizeof *sums / sizeof *partials) * nblocks, &partials);

    if (status != TESS_SUCCESS) { return status; }
    *sums = tess_residual_sums_start();
    of_block = (tess_residual_sums *)(void *)partials;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block = 0; block < nblocks; block++) {
        residual_of_block(v, b, x, residual, block, scale, of_block + block);
    }
    for (int64_t block = 0; block < nblocks; block++) {
        tess_residual_sums_add(sums, of_block + block);
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

const assembled_ops assembled_host_ops = {diagonal_of, true_residual, check, true_residuals_host};
