/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric application of a permutation. */
#include "core/offsets.h"
#include "order/order.h"

/* place[perm[i]] = i. */
static tess_status invert(tess_context *ctx, int64_t n, const int32_t *perm, int32_t *place)
{
    for (int64_t i = 0; i < n; i++) {
        place[i] = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= n || place[perm[i]] >= 0) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "each index from 0 must occur once",
                             "not a permutation of %lld: entry %lld is %ld", (long long)n, (long long)i, (long)perm[i]);
        }
        place[perm[i]] = (int32_t)i;
    }
    return TESS_SUCCESS;
}

tess_status tess_order_permute_symmetric(tess_context *ctx, const tess_csr_view *a, const int32_t *perm,
                                         tess_assembled *out)
{
    int64_t n = a->nrows, *row_ptr = NULL;
    int32_t *place = NULL, *col = NULL;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){.nrows = 0};
    if (n != a->ncols) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "reordering needs a square matrix",
                         "a symmetric permutation of a %lld by %lld matrix", (long long)n, (long long)a->ncols);
    }
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *place, (void **)&place));
    TESS_TRY(invert(ctx, n, perm, place));
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *row_ptr, (void **)&row_ptr));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *col, (void **)&col));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *val, (void **)&val));
    row_ptr[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        row_ptr[i + 1] = row_ptr[i] + tess_row_offset(a->row_ptr, a->row_ptr_bits, perm[i] + 1) -
                         tess_row_offset(a->row_ptr, a->row_ptr_bits, perm[i]);
    }
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t i = 0; i < n; i++) {
        int64_t from = tess_row_offset(a->row_ptr, a->row_ptr_bits, perm[i]), length = row_ptr[i + 1] - row_ptr[i];

        for (int64_t k = 0; k < length; k++) {
            col[row_ptr[i] + k] = place[a->col_ind[from + k]];
            val[row_ptr[i] + k] = a->val[from + k];
        }
    }
    status = tess_assemble_csr(ctx, n, a->nnz, row_ptr, col, val, out);
    row_ptr = NULL; /* taken */
    col = NULL;
    val = NULL;
cleanup:
    tess_host_release(ctx, place, n, sizeof *place);
    tess_host_release(ctx, row_ptr, n + 1, sizeof *row_ptr);
    tess_host_release(ctx, col, a->nnz, sizeof *col);
    tess_host_release(ctx, val, a->nnz, sizeof *val);
    return status;
}
