/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a matrix from a file on the block diagonal: real values and patterns at size. */
#include <tessera/io.h>
#include <tessera/names.h>

#include "base/offsets.h"
#include "gallery/problem.h"

typedef struct replica {
    tess_csr_view block;
} replica;

static int64_t replica_length(const void *problem, int64_t row)
{
    const tess_csr_view *a = &((const replica *)problem)->block;
    int64_t i = row % a->nrows;

    return tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1) - tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
}

static void replica_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    const tess_csr_view *a = &((const replica *)problem)->block;
    int64_t i = row % a->nrows, start = tess_row_offset(a->row_ptr, a->row_ptr_bits, i),
            end = tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1);
    int64_t shift = row / a->nrows * a->ncols;

    for (int64_t k = start; k < end; k++) {
        col[k - start] = (int32_t)(a->col_ind[k] + shift);
        val[k - start] = a->val[k];
    }
}

tess_status gallery_replicate(const gallery_request *request, tess_matrix **out)
{
    tess_context *ctx = request->ctx;
    tess_matrix *block = NULL;
    tess_host_matrix on_host = {0};
    replica r;
    int64_t copies = 1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gallery_integer(request, 1, "K", 1, TESS_MAX_ROWS, &copies));
    TESS_TRY(tess_matrix_read(ctx, request->args[0], &block, NULL));
    if (copies * tess_matrix_nrows(block) > TESS_MAX_ROWS || copies * tess_matrix_ncols(block) > TESS_MAX_ROWS) {
        status = tess_fail(ctx, TESS_OUT_OF_RANGE, "ask for fewer copies", "%s of %s have more than %s",
                           tess_count(copies, "copy").text, request->args[0], tess_count(TESS_MAX_ROWS, "row").text);
        goto cleanup;
    }
    TESS_TRY(tess_matrix_on_host(block, &on_host));
    r.block = tess_matrix_csr_view(on_host.matrix);
    status = gallery_build(
        ctx, &(gallery_rows){copies * r.block.nrows, copies * r.block.ncols, replica_length, replica_fill, &r}, out);
cleanup:
    tess_host_matrix_release(&on_host);
    tess_matrix_destroy(block);
    return status;
}
