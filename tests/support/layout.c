/* SPDX-License-Identifier: Apache-2.0 */
#include "support/layout.h"

#include "matrix/matrix.h"

void *fetch_bytes(const tess_matrix *m, const void *device, int64_t bytes)
{
    void *host = test_allocate(bytes, 1);

    assert_ok(m->ctx, m->ctx->backend->download(m->ctx, host, device, (size_t)bytes));
    return host;
}

void check_same_bytes(const tess_matrix *a, const void *of_a, const tess_matrix *b, const void *of_b, int64_t bytes)
{
    void *first = fetch_bytes(a, of_a, bytes), *second = fetch_bytes(b, of_b, bytes);

    assert_memory_equal(first, second, (size_t)bytes);
    free(first);
    free(second);
}

void check_decoded(const tess_matrix *stored, const oracle_csr *a)
{
    oracle_csr held = decode_matrix(stored);

    assert_int_equal(held.nnz, a->nnz);
    assert_memory_equal(held.row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    if (a->nnz > 0) {
        assert_memory_equal(held.col_ind, a->col_ind, (size_t)a->nnz * sizeof *a->col_ind);
        assert_memory_equal(held.val, a->val, (size_t)a->nnz * sizeof *a->val);
    }
    oracle_free(&held);
}

bool meets_not_finite(const oracle_csr *a, int64_t row, const double *x)
{
    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        if (!isfinite(x[a->col_ind[k]])) { return true; }
    }
    return false;
}
