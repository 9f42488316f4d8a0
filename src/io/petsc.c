/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PETSc's binary files, as MatView and VecView write them: big-endian, a class number, sizes, then arrays. A matrix is
 * class, rows, columns, nonzeros, lengths of rows, columns of all entries, values; a dense one says -1 nonzeros, and
 * its values follow row by row. A vector is class, length, values; a set of indices class, length, indices. Integers
 * have 4 bytes, in a PETSc with 64-bit indices 8, which the first bytes tell: the class fits into 4. Values are those
 * of the PETSc that wrote them: real or complex. The sizes of all objects tell which. (Single ones would look like a
 * file cut in half.)
 */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/binary.h"

enum { MATRIX_CLASS = 1211216, VECTOR_CLASS = 1211214, INDEX_CLASS = 1211218 };

typedef struct petsc_file {
    blob_cursor c;
    int width;  /* bytes of an integer */
    int scalar; /* bytes of a value: 8, or 16 of a complex one */
} petsc_file;

/* One object of a file. */
typedef struct petsc_object {
    int64_t class, at; /* where it begins */
    int64_t nrows, ncols, nnz;
    bool dense;
    const unsigned char *lengths, *columns, *values;
} petsc_object;

static int64_t integer_at(const petsc_file *f, const unsigned char *p, int64_t k)
{
    return f->width == 8 ? (int64_t)blob_u64(p + 8 * k, f->c.swapped) : (int32_t)blob_u32(p + 4 * k, f->c.swapped);
}

/* One integer of the header. */
static int64_t take_integer(petsc_file *f, const char *what, tess_status *status)
{
    const unsigned char *p = *status == TESS_SUCCESS ? blob_take(&f->c, 1, f->width, what, status) : NULL;

    return p ? integer_at(f, p, 0) : 0;
}

static void put_value(const petsc_file *f, const unsigned char *values, int64_t k, double *to)
{
    const unsigned char *p = values + f->scalar * k;

    to[0] = blob_f64(p, f->c.swapped);
    if (f->scalar == 16) { to[1] = blob_f64(p + 8, f->c.swapped); }
}

static int parts_of(const petsc_file *f)
{
    return f->scalar == 16 ? 2 : 1;
}

/* ---- objects ---- */

static tess_status take_matrix(petsc_file *f, petsc_object *o)
{
    const blob *b = f->c.b;
    const int64_t at = f->c.at;
    tess_status status = TESS_SUCCESS;

    o->nrows = take_integer(f, "the number of rows", &status);
    o->ncols = take_integer(f, "the number of columns", &status);
    o->nnz = take_integer(f, "the number of nonzeros", &status);
    if (status == TESS_SUCCESS) { status = file_check_sizes(b, at, o->nrows, o->ncols); }
    if (status != TESS_SUCCESS) { return status; }
    o->dense = o->nnz == -1;
    if (o->dense) {
        o->nnz = o->nrows * o->ncols;
        o->values = blob_take(&f->c, o->nnz, f->scalar, "the values", &status);
        return status;
    }
    if (o->nnz < 0) { return blob_fail(b, at + 2 * f->width, NULL, "the number of nonzeros is negative"); }
    o->lengths = blob_take(&f->c, o->nrows, f->width, "the lengths of the rows", &status);
    if (o->lengths) { o->columns = blob_take(&f->c, o->nnz, f->width, "the columns", &status); }
    if (status == TESS_SUCCESS) { o->values = blob_take(&f->c, o->nnz, f->scalar, "the values", &status); }
    return status;
}

/* A vector, or a set of indices. */
static tess_status take_list(petsc_file *f, petsc_object *o)
{
    tess_status status = TESS_SUCCESS;
    const int64_t at = f->c.at;

    o->nrows = take_integer(f, "the length", &status);
    o->ncols = 1;
    if (status != TESS_SUCCESS) { return status; }
    if (o->nrows < 0 || o->nrows > TESS_MAX_ROWS) {
        return blob_fail(f->c.b, at, NULL, "the length of a vector is out of range");
    }
    o->values = blob_take(&f->c, o->nrows, o->class == VECTOR_CLASS ? f->scalar : f->width, "the values", &status);
    return status;
}

static bool is_class(int64_t found)
{
    return found == MATRIX_CLASS || found == VECTOR_CLASS || found == INDEX_CLASS;
}

/* The object at the cursor, with all its parts in the file; `class` 0 at the end. */
static tess_status next_object(petsc_file *f, petsc_object *o)
{
    const blob *b = f->c.b;
    tess_status status = TESS_SUCCESS;

    *o = (petsc_object){.at = f->c.at};
    if (f->c.at == b->count) { return TESS_SUCCESS; }
    o->class = take_integer(f, "the class", &status);
    if (status != TESS_SUCCESS) { return status; }
    if (!is_class(o->class)) {
        return tess_fail_at(
            b->ctx, TESS_PARSE, b->name, 0, "a PETSc with __float128 writes such files by -binary_write_double",
            "at byte %lld of %lld: the class is %lld, but that of a matrix, %d, of a vector, %d, or of "
            "indices, %d, was expected",
            (long long)o->at, (long long)b->count, (long long)o->class, MATRIX_CLASS, VECTOR_CLASS, INDEX_CLASS);
    }
    return o->class == MATRIX_CLASS ? take_matrix(f, o) : take_list(f, o);
}

/* How a file looks if its values have so many bytes: objects up to the end, objects of which the last is cut, or
   something behind an object that is none. */
typedef enum fit { FIT_WHOLE, FIT_CUT, FIT_WRONG } fit;

static fit fit_of(petsc_file f, int scalar)
{
    const blob *b = f.c.b;
    const tess_error before = b->ctx->error;
    petsc_object o = {.class = 1};
    bool whole = true;

    f.scalar = scalar;
    while (whole && o.class != 0) {
        whole = next_object(&f, &o) == TESS_SUCCESS;
    }
    b->ctx->error = before;
    return whole ? FIT_WHOLE : o.class != 0 && !is_class(o.class) ? FIT_WRONG : FIT_CUT;
}

static petsc_file open_petsc(const blob *b)
{
    petsc_file f = {.c = {.b = b, .swapped = blob_host_is_little()},
                    .width = b->count >= 8 && blob_u32(b->bytes, false) == 0 ? 8 : 4,
                    .scalar = 8};

    if (fit_of(f, 8) == FIT_WRONG && fit_of(f, 16) == FIT_WHOLE) { f.scalar = 16; }
    return f;
}

/* ---- a matrix ---- */

static tess_status read_lengths(const petsc_file *f, const petsc_object *o, file_csr *out)
{
    int64_t total = 0;

    for (int64_t i = 0; i < out->nrows; i++) {
        const int64_t length = integer_at(f, o->lengths, i);

        if (length < 0 || length > out->nnz - total) {
            return blob_fail(f->c.b, o->lengths - f->c.b->bytes + i * f->width, NULL,
                             "the length of a row is negative, or the rows have more entries than the file says");
        }
        total += length;
        out->row_ptr[i + 1] = total;
    }
    return total == out->nnz
               ? TESS_SUCCESS
               : blob_fail(f->c.b, o->lengths - f->c.b->bytes, NULL, "the rows have fewer entries than the file says");
}

static tess_status read_entries(const petsc_file *f, const petsc_object *o, file_csr *out)
{
    const int parts = parts_of(f);

    for (int64_t k = 0; k < out->nnz; k++) {
        const int64_t col = integer_at(f, o->columns, k);

        if (col < 0 || col >= out->ncols) {
            return tess_fail_at(f->c.b->ctx, TESS_OUT_OF_RANGE, f->c.b->name, 0, NULL,
                                "at byte %lld of %lld: column %lld is outside of the matrix; 0 to %lld were expected",
                                (long long)(o->columns - f->c.b->bytes + k * f->width), (long long)f->c.b->count,
                                (long long)col, (long long)out->ncols - 1);
        }
        out->col_ind[k] = (int32_t)col;
        put_value(f, o->values, k, out->val + parts * k);
    }
    return TESS_SUCCESS;
}

static bool dense_is_zero(const petsc_file *f, const petsc_object *o, int64_t k)
{
    double value[2] = {0.0, 0.0};

    put_value(f, o->values, k, value);
    return value[0] == 0.0 && value[1] == 0.0;
}

/* Zeros are left out. */
static tess_status read_dense(const petsc_file *f, const petsc_object *o, file_csr *out)
{
    int64_t at = 0;
    tess_status status = file_check_rows(f->c.b, o->nrows);

    if (status != TESS_SUCCESS) { return status; }
    for (int64_t k = 0; k < o->nnz; k++) {
        out->nnz += !dense_is_zero(f, o, k);
    }
    status = file_csr_allocate(f->c.b->ctx, out);
    for (int64_t i = 0; i < o->nrows && status == TESS_SUCCESS; i++) {
        for (int64_t j = 0; j < o->ncols; j++) {
            if (dense_is_zero(f, o, i * o->ncols + j)) { continue; }
            out->col_ind[at] = (int32_t)j;
            put_value(f, o->values, i * o->ncols + j, out->val + parts_of(f) * at++);
        }
        out->row_ptr[i + 1] = at;
    }
    return status;
}

static tess_status read_sparse(const petsc_file *f, const petsc_object *o, file_csr *out)
{
    tess_status status = TESS_SUCCESS;

    out->nnz = o->nnz;
    TESS_TRY(file_csr_allocate(f->c.b->ctx, out));
    TESS_TRY(read_lengths(f, o, out));
    TESS_TRY(read_entries(f, o, out));
    TESS_TRY(petsc_spell_symmetric(f->c.b, out));
cleanup:
    if (status != TESS_SUCCESS) { file_csr_release(f->c.b->ctx, out); }
    return status;
}

tess_status petsc_read_matrix(const blob *b, file_csr *out)
{
    petsc_file f = open_petsc(b);
    petsc_object o;
    char text[sizeof out->kind + 64];
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    do {
        status = next_object(&f, &o);
        if (status != TESS_SUCCESS) { return status; }
    } while (o.class == VECTOR_CLASS || o.class == INDEX_CLASS);
    if (o.class == 0) {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, "give the file of the matrix",
                            "the file is a PETSc binary vector, but a matrix was expected");
    }
    const int64_t end = f.c.at;
    for (petsc_object rest = {.class = 1}; rest.class != 0;) { /* all that follows must be whole, too */
        status = next_object(&f, &rest);
        if (status != TESS_SUCCESS) { return status; }
    }
    out->nrows = o.nrows;
    out->ncols = o.ncols;
    out->is_complex = f.scalar == 16;
    status = o.dense ? read_dense(&f, &o, out) : read_sparse(&f, &o, out);
    (void)snprintf(text, sizeof text, "PETSc binary%s%s%s%s", o.dense ? ", dense" : "", out->kind,
                   f.width == 8 ? ", 64-bit indices" : "", end == b->count ? "" : ", and more behind");
    memcpy(out->kind, text, sizeof out->kind - 1); /* it fits */
    return status;
}

/* ---- vectors ---- */

/* The first object that is wanted: a vector behind any matrices, or a dense matrix where there is nothing else. */
static tess_status find_vectors(petsc_file *f, petsc_object *first)
{
    petsc_object o = {.class = 1}, dense = {.class = 0};
    tess_status status = TESS_SUCCESS;

    while (status == TESS_SUCCESS && o.class != VECTOR_CLASS && o.class != 0) {
        status = next_object(f, &o);
        if (o.dense && dense.class == 0) { dense = o; }
    }
    *first = o.class == VECTOR_CLASS ? o : dense;
    return status;
}

/* A dense matrix, whose rows lie one after another. */
static tess_status read_table(const petsc_file *f, const petsc_object *o, file_array *out)
{
    const tess_status status = file_array_allocate(f->c.b->ctx, out);

    if (status != TESS_SUCCESS) { return status; }
    for (int64_t k = 0; k < o->nnz; k++) {
        put_value(f, o->values, k, out->val + parts_of(f) * (k / o->ncols + (k % o->ncols) * o->nrows));
    }
    return TESS_SUCCESS;
}

/* Vectors of one length from the first on, up to the end or to something else. */
static tess_status count_vectors(petsc_file *f, file_array *out)
{
    petsc_object o = {.class = VECTOR_CLASS};
    tess_status status = TESS_SUCCESS;

    while (o.class == VECTOR_CLASS) {
        out->ncols++;
        status = next_object(f, &o);
        if (status != TESS_SUCCESS) { return status; }
        if (o.class == VECTOR_CLASS && o.nrows != out->nrows) {
            return blob_fail(f->c.b, o.at + f->width, NULL, "the length of a vector differs from the first one's");
        }
    }
    return TESS_SUCCESS;
}

tess_status petsc_read_vectors(const blob *b, file_array *out)
{
    petsc_file f = open_petsc(b);
    petsc_object o;
    const int parts = parts_of(&f);
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(find_vectors(&f, &o));
    if (o.class == 0) {
        TESS_TRY(blob_fail(b, f.c.at, "write b behind the matrix: VecView(b, viewer)", "the file has no vector"));
    }
    *out = (file_array){.nrows = o.nrows, .ncols = o.dense ? o.ncols : 0, .is_complex = f.scalar == 16};
    if (o.dense) { return read_table(&f, &o, out); }
    TESS_TRY(count_vectors(&f, out));
    TESS_TRY(file_array_allocate(b->ctx, out));
    for (int64_t j = 0; j < out->ncols; j++) {
        const unsigned char *values = o.values + j * (2 * f.width + f.scalar * out->nrows);

        for (int64_t i = 0; i < out->nrows; i++) {
            put_value(&f, values, i, out->val + parts * (j * out->nrows + i));
        }
    }
cleanup:
    return status;
}
