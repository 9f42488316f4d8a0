/* SPDX-License-Identifier: Apache-2.0 */
/* PETSc's binary files as MatLoad and VecLoad read them, with 32-bit indices; see petsc.c. */
#include <tessera/names.h>

#include "io/binary.h"
#include "io/output_file.h"

enum { MATRIX_CLASS = 1211216, VECTOR_CLASS = 1211214, WRITE_ITEMS = 4096 };

static tess_status write_integer(output_file *file, int64_t value)
{
    unsigned char bytes[4];

    blob_put_u32(bytes, (uint32_t)value);
    return output_file_write(file, bytes, sizeof bytes);
}

static tess_status write_reals(output_file *file, const double *val, int64_t count)
{
    unsigned char bytes[8 * WRITE_ITEMS];
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < count && status == TESS_SUCCESS; k += WRITE_ITEMS) {
        const int64_t n = count - k < WRITE_ITEMS ? count - k : WRITE_ITEMS;

        for (int64_t i = 0; i < n; i++) {
            blob_put_f64(bytes + 8 * i, val[k + i]);
        }
        status = output_file_write(file, bytes, (size_t)(8 * n));
    }
    return status;
}

/* Lengths of rows, then columns. */
static tess_status write_structure(output_file *file, const file_csr *a)
{
    unsigned char bytes[4 * WRITE_ITEMS];
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < a->nrows + a->nnz && status == TESS_SUCCESS; k += WRITE_ITEMS) {
        const int64_t left = a->nrows + a->nnz - k, n = left < WRITE_ITEMS ? left : WRITE_ITEMS;

        for (int64_t i = 0; i < n; i++) {
            const int64_t at = k + i;
            const int64_t value = at < a->nrows ? a->row_ptr[at + 1] - a->row_ptr[at] : a->col_ind[at - a->nrows];

            blob_put_u32(bytes + 4 * i, (uint32_t)value);
        }
        status = output_file_write(file, bytes, (size_t)(4 * n));
    }
    return status;
}

tess_status petsc_write_matrix(tess_context *ctx, const file_csr *a, const char *path)
{
    output_file file;
    const int64_t header[] = {MATRIX_CLASS, a->nrows, a->ncols, a->nnz};
    tess_status status = TESS_SUCCESS;

    if (a->nnz > INT32_MAX) {
        return tess_fail_at(ctx, TESS_OUT_OF_RANGE, path, 0, "write .npz, .mtx or .tess",
                            "PETSc's files with 32-bit indices hold up to %s; the matrix has %lld",
                            tess_count(INT32_MAX, "nonzero").text, (long long)a->nnz);
    }
    status = output_file_open(ctx, path, false, &file);
    if (status != TESS_SUCCESS) { return status; }
    for (int i = 0; i < 4 && status == TESS_SUCCESS; i++) {
        status = write_integer(&file, header[i]);
    }
    if (status == TESS_SUCCESS) { status = write_structure(&file, a); }
    if (status == TESS_SUCCESS) { status = write_reals(&file, a->val, a->is_complex ? 2 * a->nnz : a->nnz); }
    return output_file_close(&file, status);
}

tess_status petsc_write_vectors(tess_context *ctx, const file_array *a, const char *path)
{
    output_file file;
    tess_status status = output_file_open(ctx, path, false, &file);

    if (status != TESS_SUCCESS) { return status; }
    const int64_t numbers = a->is_complex ? 2 * a->nrows : a->nrows;
    for (int64_t j = 0; j < a->ncols && status == TESS_SUCCESS; j++) {
        status = write_integer(&file, VECTOR_CLASS);
        if (status == TESS_SUCCESS) { status = write_integer(&file, a->nrows); }
        if (status == TESS_SUCCESS) { status = write_reals(&file, a->val + j * numbers, numbers); }
    }
    return output_file_close(&file, status);
}
