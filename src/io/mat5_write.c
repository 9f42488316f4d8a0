/* SPDX-License-Identifier: Apache-2.0 */
/* MATLAB's files of version 5, not compressed, in the byte order of this machine; see mat5.c. */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/binary.h"
#include "io/output_file.h"

enum { HEAD_BYTES = 128, PIECE = 4096 };
enum { INT8 = 1, INT32 = 5, UINT32 = 6, DOUBLE = 9, MATRIX = 14, CLASS_SPARSE = 5, CLASS_DOUBLE = 6, COMPLEX = 0x800 };

static tess_status put(output_file *file, const void *bytes, int64_t count)
{
    return count > 0 ? output_file_write(file, bytes, (size_t)count) : TESS_SUCCESS;
}

static tess_status put_u32(output_file *file, uint32_t value)
{
    return put(file, &value, 4);
}

static int64_t padded(int64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static tess_status put_padding(output_file *file, int64_t bytes)
{
    static const char zeros[8] = "";

    return put(file, zeros, padded(bytes) - bytes);
}

static tess_status put_tag(output_file *file, uint32_t type, int64_t bytes)
{
    const tess_status status = put_u32(file, type);

    return status == TESS_SUCCESS ? put_u32(file, (uint32_t)bytes) : status;
}

/* Integers in 32 bits, from 64. */
static tess_status put_offsets(output_file *file, const int64_t *from, int64_t count)
{
    int32_t piece[PIECE];
    tess_status status = put_tag(file, INT32, 4 * count);

    for (int64_t k = 0; k < count && status == TESS_SUCCESS; k += PIECE) {
        const int64_t n = count - k < PIECE ? count - k : PIECE;

        for (int64_t i = 0; i < n; i++) {
            piece[i] = (int32_t)from[k + i];
        }
        status = put(file, piece, 4 * n);
    }
    return status == TESS_SUCCESS ? put_padding(file, 4 * count) : status;
}

/* Every `step`-th number. */
static tess_status put_numbers(output_file *file, const double *val, int64_t count, int step)
{
    double piece[PIECE];
    tess_status status = put_tag(file, DOUBLE, 8 * count);

    for (int64_t k = 0; k < count && status == TESS_SUCCESS; k += PIECE) {
        const int64_t n = count - k < PIECE ? count - k : PIECE;

        for (int64_t i = 0; i < n; i++) {
            piece[i] = val[step * (k + i)];
        }
        status = put(file, piece, 8 * n);
    }
    return status;
}

/* Real parts, then imaginary ones. */
static tess_status put_values(output_file *file, const double *val, int64_t count, bool is_complex)
{
    tess_status status = put_numbers(file, val, count, is_complex ? 2 : 1);

    if (status == TESS_SUCCESS && is_complex) { status = put_numbers(file, val + 1, count, 2); }
    return status;
}

/* The head of the file, and of its variable up to the name; `data` bytes follow. */
static tess_status put_head(output_file *file, uint32_t flags, int64_t nonzeros, int64_t nrows, int64_t ncols,
                            char name, int64_t data)
{
    char head[HEAD_BYTES];
    const uint16_t version = 0x0100, mark = 'M' << 8 | 'I';
    const uint32_t parts[] = {MATRIX, (uint32_t)(40 + data), UINT32,         8, flags, (uint32_t)nonzeros, INT32,
                              8,      (uint32_t)nrows,       (uint32_t)ncols};
    const uint16_t small[] = {INT8, 1};
    const char letters[4] = {name};
    const bool low = blob_host_is_little();
    const uint16_t tag[] = {low ? small[0] : small[1], low ? small[1] : small[0]};

    memset(head, ' ', sizeof head);
    memset(head + 116, 0, 8);
    memcpy(head, "MATLAB 5.0 MAT-file, written by Tessera", 39);
    memcpy(head + 124, &version, 2);
    memcpy(head + 126, &mark, 2);
    tess_status status = put(file, head, HEAD_BYTES);
    if (status == TESS_SUCCESS) { status = put(file, parts, sizeof parts); }
    if (status == TESS_SUCCESS) { status = put(file, tag, 4); }
    return status == TESS_SUCCESS ? put(file, letters, 4) : status;
}

static tess_status check_size(tess_context *ctx, const char *path, int64_t nrows, int64_t ncols, int64_t data)
{
    if (nrows <= INT32_MAX && ncols <= INT32_MAX && data <= UINT32_MAX - 64) { return TESS_SUCCESS; }
    return tess_fail_at(ctx, TESS_OUT_OF_RANGE, path, 0, "write .npz, .npy or .mtx",
                        "MATLAB's files of version 5 hold up to 4 GB in a variable; this one has %lld bytes",
                        (long long)data);
}

tess_status mat5_write_array(tess_context *ctx, const file_array *a, const char *path)
{
    output_file file;
    const int64_t parts = a->is_complex ? 2 : 1, count = a->nrows * a->ncols;
    const int64_t data = parts * 8 + (count <= UINT32_MAX ? 8 * parts * count : UINT32_MAX);
    tess_status status = check_size(ctx, path, a->nrows, a->ncols, data);

    if (status == TESS_SUCCESS) { status = output_file_open(ctx, path, false, &file); }
    if (status != TESS_SUCCESS) { return status; }
    status = put_head(&file, CLASS_DOUBLE | (a->is_complex ? COMPLEX : 0), 0, a->nrows, a->ncols, 'x', data);
    if (status == TESS_SUCCESS) { status = put_values(&file, a->val, count, a->is_complex); }
    return output_file_close(&file, status);
}

/* Columns one after another: MATLAB stores the transpose of what rows are. */
static tess_status put_columns(output_file *file, const file_csr *a)
{
    tess_status status = put_tag(file, INT32, 4 * a->nnz);

    if (status == TESS_SUCCESS) { status = put(file, a->col_ind, 4 * a->nnz); }
    if (status == TESS_SUCCESS) { status = put_padding(file, 4 * a->nnz); }
    if (status == TESS_SUCCESS) { status = put_offsets(file, a->row_ptr, a->nrows + 1); }
    return status == TESS_SUCCESS ? put_values(file, a->val, a->nnz, a->is_complex) : status;
}

/* Rows and columns change places. */
static tess_status transpose(tess_context *ctx, const file_csr *a, file_csr *t)
{
    const int parts = a->is_complex ? 2 : 1;

    *t = (file_csr){.nrows = a->ncols, .ncols = a->nrows, .nnz = a->nnz, .is_complex = a->is_complex};
    const tess_status status = file_csr_allocate(ctx, t);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t k = 0; k < a->nnz; k++) {
        t->row_ptr[a->col_ind[k] + 1]++;
    }
    file_csr_sum_lengths(t);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int64_t at = t->row_ptr[a->col_ind[k]]++;

            t->col_ind[at] = (int32_t)i;
            memcpy(t->val + parts * at, a->val + parts * k, (size_t)parts * sizeof *a->val);
        }
    }
    memmove(t->row_ptr + 1, t->row_ptr, (size_t)t->nrows * sizeof *t->row_ptr);
    t->row_ptr[0] = 0;
    return TESS_SUCCESS;
}

tess_status mat5_write_matrix(tess_context *ctx, const file_csr *a, const char *path)
{
    output_file file;
    file_csr columns;
    const int64_t parts = a->is_complex ? 2 : 1;
    const int64_t data = 16 + padded(4 * a->nnz) + padded(4 * (a->ncols + 1)) + parts * (8 + 8 * a->nnz);
    tess_status status = check_size(ctx, path, a->nrows, a->ncols, data);

    if (status == TESS_SUCCESS) { status = transpose(ctx, a, &columns); }
    if (status != TESS_SUCCESS) { return status; }
    status = output_file_open(ctx, path, false, &file);
    if (status == TESS_SUCCESS) {
        status = put_head(&file, CLASS_SPARSE | (a->is_complex ? COMPLEX : 0), a->nnz > 0 ? a->nnz : 1, a->nrows,
                          a->ncols, 'A', data);
        if (status == TESS_SUCCESS) { status = put_columns(&file, &columns); }
        status = output_file_close(&file, status);
    }
    file_csr_release(ctx, &columns);
    return status;
}
