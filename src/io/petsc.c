/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PETSc's binary files, as MatView and VecView write them: big-endian, a class number, sizes, then arrays. A matrix is
 * class, rows, columns, nonzeros, lengths of rows, columns of all entries, values; a vector class, length, values.
 * Integers have 4 bytes, in a PETSc with 64-bit indices 8, which the first bytes tell: the class fits into 4.
 */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/binary.h"
#include "io/output_file.h"

enum { MATRIX_CLASS = 1211216, VECTOR_CLASS = 1211214, WRITE_ITEMS = 4096 };

typedef struct petsc_file {
    blob_cursor c;
    int width; /* bytes of an integer */
} petsc_file;

static petsc_file open_petsc(const blob *b)
{
    return (petsc_file){.c = {.b = b, .swapped = blob_host_is_little()},
                        .width = b->count >= 8 && blob_u32(b->bytes, false) == 0 ? 8 : 4};
}

static int64_t integer_at(const petsc_file *f, const unsigned char *p, int64_t k)
{
    return f->width == 8 ? (int64_t)blob_u64(p + 8 * k, f->c.swapped) : (int32_t)blob_u32(p + 4 * k, f->c.swapped);
}

/* One integer of the header. */
static int64_t take_integer(petsc_file *f, const char *what, tess_status *status)
{
    const unsigned char *p = blob_take(&f->c, 1, f->width, what, status);

    return p ? integer_at(f, p, 0) : 0;
}

static tess_status check_class(petsc_file *f, int64_t wanted)
{
    tess_status status = TESS_SUCCESS;
    const int64_t at = f->c.at, found = take_integer(f, "the class", &status);

    if (status != TESS_SUCCESS || found == wanted) { return status; }
    return tess_fail_at(f->c.b->ctx, TESS_PARSE, f->c.b->name, 0, NULL,
                        "at byte %lld of %lld: the class is %lld, but that of a %s, %lld, was expected", (long long)at,
                        (long long)f->c.b->count, (long long)found, wanted == MATRIX_CLASS ? "matrix" : "vector",
                        (long long)wanted);
}

/* ---- matrices ---- */

static tess_status read_header(petsc_file *f, file_csr *out)
{
    tess_status status = check_class(f, MATRIX_CLASS);

    if (status != TESS_SUCCESS) { return status; }
    const int64_t at = f->c.at;
    out->nrows = take_integer(f, "the number of rows", &status);
    if (status == TESS_SUCCESS) { out->ncols = take_integer(f, "the number of columns", &status); }
    if (status == TESS_SUCCESS) { out->nnz = take_integer(f, "the number of nonzeros", &status); }
    if (status != TESS_SUCCESS) { return status; }
    if (out->nnz == -1) {
        return tess_fail_at(f->c.b->ctx, TESS_UNSUPPORTED, f->c.b->name, 0,
                            "convert it by MatConvert(A, MATAIJ, ...) before MatView",
                            "the file is a dense matrix of PETSc, but a sparse one was expected");
    }
    if (out->nnz < 0) { return blob_fail(f->c.b, at + 2 * f->width, NULL, "the number of nonzeros is negative"); }
    return file_check_sizes(f->c.b, at, out->nrows, out->ncols);
}

static tess_status read_lengths(petsc_file *f, const unsigned char *lengths, file_csr *out)
{
    int64_t total = 0;

    for (int64_t i = 0; i < out->nrows; i++) {
        const int64_t length = integer_at(f, lengths, i);

        if (length < 0 || length > out->nnz - total) {
            return blob_fail(f->c.b, lengths - f->c.b->bytes + i * f->width, NULL,
                             "the length of a row is negative, or the rows have more entries than the file says");
        }
        total += length;
        out->row_ptr[i + 1] = total;
    }
    return total == out->nnz
               ? TESS_SUCCESS
               : blob_fail(f->c.b, lengths - f->c.b->bytes, NULL, "the rows have fewer entries than the file says");
}

static tess_status read_columns(petsc_file *f, const unsigned char *columns, file_csr *out)
{
    for (int64_t k = 0; k < out->nnz; k++) {
        const int64_t col = integer_at(f, columns, k);

        if (col < 0 || col >= out->ncols) {
            return tess_fail_at(f->c.b->ctx, TESS_OUT_OF_RANGE, f->c.b->name, 0, NULL,
                                "at byte %lld of %lld: column %lld is outside of the matrix; 0 to %lld were expected",
                                (long long)(columns - f->c.b->bytes + k * f->width), (long long)f->c.b->count,
                                (long long)col, (long long)out->ncols - 1);
        }
        out->col_ind[k] = (int32_t)col;
    }
    return TESS_SUCCESS;
}

/* The parts of a matrix, in the file. */
typedef struct matrix_parts {
    const unsigned char *lengths, *columns, *values;
} matrix_parts;

/* All parts are there before memory is taken for them. */
static tess_status take_matrix(petsc_file *f, file_csr *out, matrix_parts *parts)
{
    tess_status status = read_header(f, out);

    if (status != TESS_SUCCESS) { return status; }
    parts->lengths = blob_take(&f->c, out->nrows, f->width, "the lengths of the rows", &status);
    if (parts->lengths) { parts->columns = blob_take(&f->c, out->nnz, f->width, "the columns", &status); }
    if (status == TESS_SUCCESS) { parts->values = blob_take(&f->c, out->nnz, 8, "the values", &status); }
    return status;
}

/* The class of what comes next; 0: neither a matrix nor a vector, or the end. */
static int64_t next_class(const petsc_file *f)
{
    const blob *b = f->c.b;
    const int64_t found = b->count - f->c.at < f->width ? 0 : integer_at(f, b->bytes + f->c.at, 0);

    return found == MATRIX_CLASS || found == VECTOR_CLASS ? found : 0;
}

/* Passes over matrices, or over vectors, before one of the other class. */
static tess_status skip_class(petsc_file *f, int64_t class)
{
    tess_status status = TESS_SUCCESS;

    while (status == TESS_SUCCESS && next_class(f) == class) {
        file_csr matrix = {.nrows = 0};
        matrix_parts parts;

        if (class == MATRIX_CLASS) {
            status = take_matrix(f, &matrix, &parts);
            continue;
        }
        (void)take_integer(f, "the class", &status);
        const int64_t length = take_integer(f, "the length", &status);
        if (status == TESS_SUCCESS) { (void)blob_take(&f->c, length, 8, "the values", &status); }
    }
    return status;
}

/* PETSc writes MATSBAIJ, the upper triangle of a symmetric matrix, as it writes a whole one: nothing tells the two
   apart. A diagonal that is full, entries above it, and none below: more likely the half of a matrix. */
static tess_status check_triangle(const blob *b, const file_csr *a)
{
    int64_t diagonal = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            if (a->col_ind[k] < i) { return TESS_SUCCESS; }
            diagonal += a->col_ind[k] == i;
        }
    }
    if (a->nrows != a->ncols || diagonal != a->nrows || a->nnz == diagonal) { return TESS_SUCCESS; }
    return tess_fail_at(b->ctx, TESS_UNSUPPORTED, b->name, 0,
                        "a symmetric A: MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B) and MatView(B, viewer); a "
                        "triangular A: write it as .mtx or .npz",
                        "the file has an upper triangle alone: PETSc's symmetric matrices (MATSBAIJ) and triangular "
                        "ones look alike in it");
}

tess_status petsc_read_matrix(const blob *b, file_csr *out)
{
    petsc_file f = open_petsc(b);
    matrix_parts parts;
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(skip_class(&f, VECTOR_CLASS));
    TESS_TRY(take_matrix(&f, out, &parts));
    if (f.c.at != b->count && next_class(&f) == 0) {
        return blob_fail(b, f.c.at, "values of 16 bytes are complex numbers, which are not supported",
                         "the matrix ends here, but the file goes on, and not with another matrix or a vector");
    }
    TESS_TRY(file_csr_allocate(b->ctx, out));
    TESS_TRY(read_lengths(&f, parts.lengths, out));
    TESS_TRY(read_columns(&f, parts.columns, out));
    for (int64_t k = 0; k < out->nnz; k++) {
        out->val[k] = blob_f64(parts.values + 8 * k, f.c.swapped);
    }
    TESS_TRY(check_triangle(b, out));
    (void)snprintf(out->kind, sizeof out->kind, "PETSc binary%s%s", f.width == 8 ? ", 64-bit indices" : "",
                   f.c.at == b->count ? "" : ", and more behind the matrix");
    return TESS_SUCCESS;
cleanup:
    file_csr_release(b->ctx, out);
    return status;
}

/* ---- vectors ---- */

/* The first vector's length, and how many of this length there are, up to the end or the next matrix. */
static tess_status count_vectors(petsc_file *f, file_array *out)
{
    const blob *b = f->c.b;
    tess_status status = TESS_SUCCESS;

    while (status == TESS_SUCCESS && ((f->c.at < b->count && next_class(f) != MATRIX_CLASS) || out->ncols == 0)) {
        status = check_class(f, VECTOR_CLASS);
        const int64_t at = f->c.at;
        const int64_t length = status == TESS_SUCCESS ? take_integer(f, "the length", &status) : 0;
        if (status != TESS_SUCCESS) { break; }
        if (length < 0 || length > TESS_MAX_ROWS || (out->ncols > 0 && length != out->nrows)) {
            return blob_fail(b, at, NULL, "the length of a vector is out of range, or differs from the first one's");
        }
        out->nrows = length;
        out->ncols += blob_take(&f->c, length, 8, "the values", &status) != NULL;
    }
    return status;
}

bool petsc_has_vector(const blob *b)
{
    petsc_file f = open_petsc(b);
    const tess_error before = b->ctx->error;
    const bool found = skip_class(&f, MATRIX_CLASS) == TESS_SUCCESS && next_class(&f) == VECTOR_CLASS;

    b->ctx->error = before;
    return found;
}

tess_status petsc_read_vectors(const blob *b, file_array *out)
{
    petsc_file f = open_petsc(b);
    int64_t first = 0;
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(skip_class(&f, MATRIX_CLASS));
    first = f.c.at;
    TESS_TRY(count_vectors(&f, out));
    TESS_TRY(file_array_allocate(b->ctx, out));
    for (int64_t j = 0; j < out->ncols; j++) {
        const unsigned char *values = b->bytes + first + j * (2 * f.width + 8 * out->nrows) + 2 * f.width;

        for (int64_t i = 0; i < out->nrows; i++) {
            out->val[j * out->nrows + i] = blob_f64(values + 8 * i, f.c.swapped);
        }
    }
cleanup:
    return status;
}

/* ---- writing ---- */

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
    if (status == TESS_SUCCESS) { status = write_reals(&file, a->val, a->nnz); }
    return output_file_close(&file, status);
}

tess_status petsc_write_vectors(tess_context *ctx, const double *val, int64_t nrows, int64_t ncols, const char *path)
{
    output_file file;
    tess_status status = output_file_open(ctx, path, false, &file);

    if (status != TESS_SUCCESS) { return status; }
    for (int64_t j = 0; j < ncols && status == TESS_SUCCESS; j++) {
        status = write_integer(&file, VECTOR_CLASS);
        if (status == TESS_SUCCESS) { status = write_integer(&file, nrows); }
        if (status == TESS_SUCCESS) { status = write_reals(&file, val + j * nrows, nrows); }
    }
    return output_file_close(&file, status);
}
