/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of binary files share. */
#include <string.h>

#include <tessera/names.h>

#include "io/binary.h"

/* So many rows may be empty in any file; of more, some must be there for each byte. */
enum { MOST_EMPTY_ROWS = 1 << 20, ROWS_PER_BYTE = 64 };

tess_status file_csr_allocate(tess_context *ctx, file_csr *a)
{
    tess_status status = tess_host_allocate(ctx, a->nrows + 1, sizeof *a->row_ptr, (void **)&a->row_ptr);

    if (status == TESS_SUCCESS) { status = tess_host_allocate(ctx, a->nnz, sizeof *a->col_ind, (void **)&a->col_ind); }
    if (status == TESS_SUCCESS) {
        status = tess_host_allocate(ctx, a->is_complex ? 2 * a->nnz : a->nnz, sizeof *a->val, (void **)&a->val);
    }
    if (status == TESS_SUCCESS) {
        memset(a->row_ptr, 0, ((size_t)a->nrows + 1) * sizeof *a->row_ptr);
    } else {
        file_csr_release(ctx, a);
    }
    return status;
}

void file_csr_release(tess_context *ctx, file_csr *a)
{
    if (!a->row_ptr) { return; } /* sizes that were refused may be of any magnitude */
    tess_host_release(ctx, a->row_ptr, a->nrows + 1, sizeof *a->row_ptr);
    tess_host_release(ctx, a->col_ind, a->nnz, sizeof *a->col_ind);
    tess_host_release(ctx, a->val, a->is_complex ? 2 * a->nnz : a->nnz, sizeof *a->val);
    a->row_ptr = NULL;
    a->col_ind = NULL;
    a->val = NULL;
}

void file_csr_sum_lengths(file_csr *a)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        a->row_ptr[i + 1] += a->row_ptr[i];
    }
}

tess_status file_array_allocate(tess_context *ctx, file_array *a)
{
    return tess_host_allocate(ctx, file_array_numbers(a), sizeof *a->val, (void **)&a->val);
}

void file_array_release(tess_context *ctx, file_array *a)
{
    if (!a->val) { return; }
    tess_host_release(ctx, a->val, file_array_numbers(a), sizeof *a->val);
    a->val = NULL;
}

tess_status file_check_sizes(const blob *b, int64_t at, int64_t nrows, int64_t ncols)
{
    if (nrows >= 0 && ncols >= 0 && nrows <= TESS_MAX_ROWS && ncols <= TESS_MAX_ROWS) { return TESS_SUCCESS; }
    return tess_fail_at(b->ctx, nrows < 0 || ncols < 0 ? TESS_PARSE : TESS_OUT_OF_RANGE, b->name, 0, NULL,
                        "at byte %lld of %lld: the file says %s and %s; 0 to %lld were expected", (long long)at,
                        (long long)b->count, tess_count(nrows, "row").text, tess_count(ncols, "column").text,
                        (long long)TESS_MAX_ROWS);
}

tess_status file_check_rows(const blob *b, int64_t nrows)
{
    if (nrows <= MOST_EMPTY_ROWS || nrows / ROWS_PER_BYTE <= b->count) { return TESS_SUCCESS; }
    return tess_fail_at(b->ctx, TESS_OUT_OF_RANGE, b->name, 0, "leave out empty rows",
                        "the file has %s and says %s: nearly all would be empty", tess_count(b->count, "byte").text,
                        tess_count(nrows, "row").text);
}
