/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files as arrays and matrices. */
#include <stdio.h>
#include <string.h>

#include "io/binary.h"
#include "io/output_file.h"

/* Header, and the sizes of a table. */
static tess_status open_table(const blob *b, npy_array *a, int64_t *rows, int64_t *cols)
{
    tess_status status = npy_parse(b, a);

    if (status == TESS_SUCCESS) { status = npy_as_table(b, a, rows, cols); }
    return status == TESS_SUCCESS ? file_check_sizes(b, 0, *rows, *cols) : status;
}

tess_status npy_read_array(const blob *b, file_array *out)
{
    npy_array a;
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(open_table(b, &a, &out->nrows, &out->ncols));
    out->is_complex = a.type == 'c';
    TESS_TRY(file_array_allocate(b->ctx, out));
    for (int64_t j = 0; j < out->ncols; j++) {
        for (int64_t i = 0; i < out->nrows; i++) {
            npy_value(&a, npy_place(&a, i, j), out->val + (j * out->nrows + i) * (out->is_complex ? 2 : 1));
        }
    }
cleanup:
    return status;
}

tess_status npy_read_matrix(const blob *b, file_csr *out)
{
    npy_array a;
    int64_t at = 0;
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(open_table(b, &a, &out->nrows, &out->ncols));
    TESS_TRY(file_check_rows(b, out->nrows));
    for (int64_t k = 0; k < a.count; k++) {
        out->nnz += !npy_is_zero(&a, k);
    }
    out->is_complex = a.type == 'c';
    TESS_TRY(file_csr_allocate(b->ctx, out));
    for (int64_t i = 0; i < out->nrows; i++) {
        for (int64_t j = 0; j < out->ncols; j++) {
            const int64_t k = npy_place(&a, i, j);

            if (npy_is_zero(&a, k)) { continue; }
            out->col_ind[at] = (int32_t)j;
            npy_value(&a, k, out->val + (out->is_complex ? 2 : 1) * at++);
        }
        out->row_ptr[i + 1] = at;
    }
    (void)snprintf(out->kind, sizeof out->kind, "NumPy array, dense");
cleanup:
    return status;
}

tess_status npy_write_array(tess_context *ctx, const file_array *a, const char *path)
{
    output_file file;
    char header[NPY_HEADER_BYTES];
    const int64_t shape[] = {a->nrows, a->ncols};
    const int dimensions = a->ncols == 1 ? 1 : 2;
    const int length = npy_header(header, a->is_complex ? "c16" : "f8", dimensions == 2, dimensions, shape);
    tess_status status = output_file_open(ctx, path, false, &file);

    if (status != TESS_SUCCESS) { return status; }
    status = output_file_write(&file, header, (size_t)length);
    if (status == TESS_SUCCESS) {
        status = output_file_write(&file, a->val, (size_t)file_array_numbers(a) * sizeof *a->val);
    }
    return output_file_close(&file, status);
}
