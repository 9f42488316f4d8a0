/* SPDX-License-Identifier: Apache-2.0 */
/* Writing matrices and vectors as Matrix Market text, formatted by all threads. */
#include <stdio.h>
#include <string.h>

#include <tessera/io.h>
#include <tessera/names.h>

#include "base/decimal.h"
#include "io/binary.h"
#include "io/output_file.h"
#include "matrix/assemble.h"
#include "matrix/assembled.h"

enum {
    BLOCK_ENTRIES = 1 << 14,
    BLOCKS_PER_THREAD = 4,
    LINE_BYTES = 2 * 11 + 2 * TESS_DECIMAL_LENGTH /* two indices and blanks, re and im, blanks and a newline */
};

/* Host arrays of the matrix to write; a vector has only val. */
typedef struct listing {
    int64_t nrows, ncols, nnz;
    int64_t *row_ptr;
    int32_t *col_ind;
    const double *val;
    double *own_val; /* val, of a matrix */
    bool is_complex; /* val has re and im of each entry */
    bool lower_only, hermitian;
} listing;

static int parts_of(const listing *l)
{
    return l->is_complex ? 2 : 1;
}

static tess_status allocate_listing(tess_context *ctx, listing *l)
{
    tess_status status = tess_host_allocate(ctx, l->nrows + 1, sizeof *l->row_ptr, (void **)&l->row_ptr);

    if (status == TESS_SUCCESS) { status = tess_host_allocate(ctx, l->nnz, sizeof *l->col_ind, (void **)&l->col_ind); }
    if (status == TESS_SUCCESS) {
        status = tess_host_allocate(ctx, parts_of(l) * l->nnz, sizeof *l->val, (void **)&l->own_val);
    }
    l->val = l->own_val;
    return status;
}

static void release_listing(tess_context *ctx, listing *l)
{
    tess_host_release(ctx, l->row_ptr, l->nrows + 1, sizeof *l->row_ptr);
    tess_host_release(ctx, l->col_ind, l->nnz, sizeof *l->col_ind);
    tess_host_release(ctx, l->own_val, parts_of(l) * l->nnz, sizeof *l->own_val);
}

/* Row 2 i of the real form has re and -im of the entries of row i in turn. */
static tess_status fold_complex(tess_context *ctx, listing *l)
{
    listing folded = *l;
    tess_status status = TESS_SUCCESS;

    folded.nrows = l->nrows / 2;
    folded.ncols = l->ncols / 2;
    folded.nnz = l->nnz / 4;
    folded.is_complex = true;
    folded.row_ptr = NULL;
    folded.col_ind = NULL;
    folded.own_val = NULL;
    TESS_TRY(allocate_listing(ctx, &folded));
    folded.row_ptr[0] = 0;
    for (int64_t i = 0; i < folded.nrows; i++) {
        const int64_t first = l->row_ptr[2 * i], length = (l->row_ptr[2 * i + 1] - first) / 2;
        const int64_t at = folded.row_ptr[i];

        for (int64_t k = 0; k < length; k++) {
            folded.col_ind[at + k] = l->col_ind[first + 2 * k] / 2;
            folded.own_val[2 * (at + k)] = l->val[first + 2 * k];
            folded.own_val[2 * (at + k) + 1] = -l->val[first + 2 * k + 1];
        }
        folded.row_ptr[i + 1] = at + length;
    }
    release_listing(ctx, l);
    *l = folded;
    return TESS_SUCCESS;
cleanup:
    release_listing(ctx, &folded);
    return status;
}

/* ---- symmetry ---- */

/* Place of (row, col), or -1. */
static int64_t find_entry(const listing *l, int64_t row, int32_t col)
{
    const int64_t end = l->row_ptr[row + 1], k = csr_column_from(l->col_ind, l->row_ptr[row], end, col);

    return k < end && l->col_ind[k] == col ? k : -1;
}

static bool same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Whether two entries are mirror images, or of a Hermitian matrix their conjugates. Zeros have no sign there. */
static bool are_mirrored(const listing *l, int64_t k, int64_t mirror)
{
    if (!l->is_complex) { return same_number(l->val[k], l->val[mirror]); }
    if (!same_number(l->val[2 * k], l->val[2 * mirror])) { return false; }
    return l->hermitian ? l->val[2 * k + 1] == -l->val[2 * mirror + 1]
                        : same_number(l->val[2 * k + 1], l->val[2 * mirror + 1]);
}

/* True when each entry of the row has its mirror image. */
static bool row_is_mirrored(const listing *l, int64_t row)
{
    for (int64_t k = l->row_ptr[row]; k < l->row_ptr[row + 1]; k++) {
        int64_t mirror = find_entry(l, l->col_ind[k], (int32_t)row);

        if (mirror < 0 || !are_mirrored(l, k, mirror)) { return false; }
    }
    return true;
}

/* The first row that differs from its column; nrows: there is none. */
static int64_t find_asymmetry(const tess_context *ctx, const listing *l)
{
    int64_t bad = l->nrows == l->ncols ? l->nrows : 0;

    if (l->nrows == l->ncols) {
#pragma omp parallel for schedule(dynamic, 512) reduction(min : bad) num_threads(tess_io_threads(ctx, l->nnz))
        for (int64_t i = 0; i < l->nrows; i++) {
            if (i < bad && !row_is_mirrored(l, i)) { bad = i; }
        }
    }
    return bad;
}

/* A complex matrix may be Hermitian or symmetric. */
static tess_status require_symmetric(tess_context *ctx, listing *l)
{
    l->hermitian = l->is_complex;
    int64_t bad = find_asymmetry(ctx, l);

    if (l->hermitian && bad < l->nrows) {
        l->hermitian = false;
        bad = find_asymmetry(ctx, l);
    }
    if (l->nrows == l->ncols && bad == l->nrows) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "write it as a general matrix, without --symmetric",
                     "the matrix is not symmetric: row %lld differs from the column of the same number",
                     (long long)bad + 1);
}

static int64_t count_lower(const tess_context *ctx, const listing *l)
{
    int64_t count = 0;

#pragma omp parallel for schedule(dynamic, 512) reduction(+ : count) num_threads(tess_io_threads(ctx, l->nnz))
    for (int64_t i = 0; i < l->nrows; i++) {
        for (int64_t k = l->row_ptr[i]; k < l->row_ptr[i + 1]; k++) {
            count += l->col_ind[k] <= i;
        }
    }
    return count;
}

/* ---- text ---- */

static int64_t row_of(const listing *l, int64_t k)
{
    int64_t low = 0, high = l->nrows;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (l->row_ptr[middle + 1] <= k) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A number and the end of its line: of a complex one both parts. */
static char *format_number(const listing *l, int64_t k, char *p)
{
    const int parts = parts_of(l);

    for (int part = 0; part < parts; part++) {
        p += tess_decimal_format(l->val[parts * k + part], p);
        *p++ = part + 1 == parts ? '\n' : ' ';
    }
    return p;
}

static size_t format_values(const listing *l, int64_t first, int64_t end, char *out)
{
    char *p = out;

    for (int64_t k = first; k < end; k++) {
        p = format_number(l, k, p);
    }
    return (size_t)(p - out);
}

static size_t format_entries(const listing *l, int64_t first, int64_t end, char *out)
{
    char *p = out;
    int64_t row = row_of(l, first);

    for (int64_t k = first; k < end; k++) {
        while (k >= l->row_ptr[row + 1]) {
            row++;
        }
        if (l->lower_only && l->col_ind[k] > row) { continue; }
        p += tess_decimal_format_integer((uint64_t)row + 1, p);
        *p++ = ' ';
        p += tess_decimal_format_integer((uint64_t)l->col_ind[k] + 1, p);
        *p++ = ' ';
        p = format_number(l, k, p);
    }
    return (size_t)(p - out);
}

/* Blocks of entries are formatted side by side and written in order. */
static tess_status write_lines(const listing *l, output_file *file)
{
    tess_context *ctx = file->ctx;
    int64_t blocks = (int64_t)ctx->threads * BLOCKS_PER_THREAD;
    char *text = NULL;
    size_t *length = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, blocks * BLOCK_ENTRIES, LINE_BYTES, (void **)&text));
    TESS_TRY(tess_host_allocate(ctx, blocks, sizeof *length, (void **)&length));
    for (int64_t start = 0; start < l->nnz; start += blocks * BLOCK_ENTRIES) {
#pragma omp parallel for schedule(dynamic) num_threads(tess_io_threads(ctx, l->nnz))
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first = start + b * BLOCK_ENTRIES, end = first + BLOCK_ENTRIES;
            char *out = text + b * BLOCK_ENTRIES * LINE_BYTES;

            end = end < l->nnz ? end : l->nnz;
            length[b] = 0;
            if (first < end) {
                length[b] = l->row_ptr ? format_entries(l, first, end, out) : format_values(l, first, end, out);
            }
        }
        for (int64_t b = 0; b < blocks; b++) {
            TESS_TRY(output_file_write(file, text + b * BLOCK_ENTRIES * LINE_BYTES, length[b]));
        }
    }
cleanup:
    tess_host_release(ctx, text, blocks * BLOCK_ENTRIES, LINE_BYTES);
    tess_host_release(ctx, length, blocks, sizeof *length);
    return status;
}

static tess_status write_listing(tess_context *ctx, const listing *l, const char *header, const char *path)
{
    output_file file;
    tess_status status = output_file_open(ctx, path, output_file_is_gzip_name(path), &file);

    if (status != TESS_SUCCESS) { return status; }
    status = output_file_write(&file, header, strlen(header));
    if (status == TESS_SUCCESS) { status = write_lines(l, &file); }
    return output_file_close(&file, status);
}

/* Files of other programs: the whole matrix. */
static tess_status write_binary(tess_context *ctx, const listing *l, file_kind kind, const char *path)
{
    const file_csr a = {.nrows = l->nrows,
                        .ncols = l->ncols,
                        .nnz = l->nnz,
                        .row_ptr = l->row_ptr,
                        .col_ind = l->col_ind,
                        .val = l->own_val,
                        .is_complex = l->is_complex};

    if (kind == FILE_MATLAB) { return mat5_write_matrix(ctx, &a, path); }
    return kind == FILE_NPZ ? npz_write_matrix(ctx, &a, path) : petsc_write_matrix(ctx, &a, path);
}

tess_status tess_matrix_write(const tess_matrix *a, const char *path, int symmetric)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, path);
    tess_context *ctx = a->ctx;
    listing l = {.nrows = a->nrows, .ncols = a->ncols, .nnz = a->nnz, .lower_only = symmetric != 0};
    char header[128];
    tess_status status = TESS_SUCCESS;

    if (a->format == TESS_FORMAT_SHELL) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "write an assembled matrix", "a shell matrix has no entries to write");
    }
    TESS_TRY(allocate_listing(ctx, &l));
    TESS_TRY(tess_matrix_get_csr(a, l.row_ptr, l.col_ind, l.own_val));
    if (a->is_complex) { TESS_TRY(fold_complex(ctx, &l)); }
    if (symmetric) { TESS_TRY(require_symmetric(ctx, &l)); }
    const file_kind kind = tess_file_kind_of_name(path);
    if (kind == FILE_NPZ || kind == FILE_PETSC || kind == FILE_MATLAB) {
        TESS_TRY(write_binary(ctx, &l, kind, path));
        goto cleanup;
    }
    snprintf(header, sizeof header, "%%%%MatrixMarket matrix coordinate %s %s\n%lld %lld %lld\n",
             l.is_complex ? "complex" : "real",
             l.hermitian ? "hermitian"
             : symmetric ? "symmetric"
                         : "general",
             (long long)l.nrows, (long long)l.ncols, (long long)(symmetric ? count_lower(ctx, &l) : l.nnz));
    status = write_listing(ctx, &l, header, path);
cleanup:
    release_listing(ctx, &l);
    return status;
}

/* `nrows` numbers a column; re and im are two of a complex one. */
static tess_status write_array(tess_context *ctx, const file_array *a, const char *path)
{
    const listing l = {
        .nrows = a->nrows, .ncols = a->ncols, .nnz = a->nrows * a->ncols, .val = a->val, .is_complex = a->is_complex};
    char header[128];

    switch (tess_file_kind_of_name(path)) {
    case FILE_NPY: return npy_write_array(ctx, a, path);
    case FILE_PETSC: return petsc_write_vectors(ctx, a, path);
    case FILE_MATLAB: return mat5_write_array(ctx, a, path);
    case FILE_PLAIN: return plain_write_array(ctx, a, path);
    default: break;
    }
    snprintf(header, sizeof header, "%%%%MatrixMarket matrix array %s general\n%lld %lld\n",
             a->is_complex ? "complex" : "real", (long long)a->nrows, (long long)a->ncols);
    return write_listing(ctx, &l, header, path);
}

static tess_status check_array(tess_context *ctx, const double *values, int64_t nrows, int64_t ncols, const char *path)
{
    TESS_REQUIRE(NULL, ctx);
    TESS_REQUIRE(ctx, path);
    if (nrows > 0 && ncols > 0) { TESS_REQUIRE(ctx, values); }
    if (nrows < 0 || ncols < 0 || (ncols > 0 && nrows > INT64_MAX / 2 / ncols)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass sizes of 0 or more and an array",
                         "an array of %lld by %s cannot be written", (long long)nrows, tess_count(ncols, "value").text);
    }
    return TESS_SUCCESS;
}

/* What writers take; they do not change it. */
static file_array array_of(const double *values, int64_t nrows, int64_t ncols, bool is_complex)
{
    union {
        const double *given;
        double *held;
    } val = {.given = values};

    return (file_array){.nrows = nrows, .ncols = ncols, .val = val.held, .is_complex = is_complex};
}

tess_status tess_array_write(tess_context *ctx, const double *values, int64_t nrows, int64_t ncols, const char *path)
{
    const file_array a = array_of(values, nrows, ncols, false);
    const tess_status status = check_array(ctx, values, nrows, ncols, path);

    return status == TESS_SUCCESS ? write_array(ctx, &a, path) : status;
}

tess_status tess_array_write_complex(tess_context *ctx, const double *values, int64_t nrows, int64_t ncols,
                                     const char *path)
{
    const file_array a = array_of(values, nrows / 2, ncols, true);
    tess_status status = check_array(ctx, values, nrows, ncols, path);

    if (status == TESS_SUCCESS && nrows % 2 != 0) {
        status = tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass re and im of each number", "%s cannot be complex numbers",
                           tess_count(nrows, "value").text);
    }
    return status == TESS_SUCCESS ? write_array(ctx, &a, path) : status;
}

tess_status tess_vector_write(const tess_vector *v, const char *path)
{
    TESS_REQUIRE(NULL, v);
    TESS_REQUIRE(v->ctx, path);
    tess_context *ctx = v->ctx;
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, v->n, sizeof *values, (void **)&values));
    TESS_TRY(tess_vector_get(v, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    status = tess_array_write(ctx, values, v->n, 1, path);
cleanup:
    tess_host_release(ctx, values, v->n, sizeof *values);
    return status;
}
