/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MATLAB's files of version 4 (save -v4), also of Octave and scipy.io.savemat(format='4'): variables one after another,
 * each with a head of five integers and a name, then real parts and imaginary parts, column after column. A sparse one
 * is a table of rows, columns and values (and imaginary parts), with the sizes as its last line. Source: MathWorks,
 * "MAT-file format", level 4.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/lines.h"
#include "io/mat_numbers.h"
#include "io/readers.h"
#include "io/variables.h"

enum { HEAD_BYTES = 20, LONGEST_NAME = 1 << 10, LONGEST_FIRST_NAME = 64 };
enum { KIND_NUMBERS = 0, KIND_TEXT = 1, KIND_SPARSE = 2 };

/* A variable as stored: `nrows` by `ncols` numbers, and once more as many where there are imaginary parts. */
typedef struct mat4_variable {
    bool swapped, is_complex;
    int kind;
    uint32_t type; /* of its numbers: mat_numbers.h */
    int64_t nrows, ncols;
    const char *name;
    size_t name_length;
    const unsigned char *data;
} mat4_variable;

/* ---- heads ---- */

/* The first integer in decimal: byte order, 0, type of the numbers, kind of the variable. The orders above 1 are those
   of the VAX and the Cray. */
static bool take_kind(uint32_t digits, bool swapped, mat4_variable *v)
{
    static const uint32_t types[] = {MAT_FP64, MAT_FP32, MAT_INT32, MAT_INT16, MAT_UINT16, MAT_UINT8};
    const uint32_t order = digits / 1000, type = digits / 10 % 10;

    v->kind = (int)(digits % 10);
    if (order > 1 || digits / 100 % 10 != 0 || type > 5 || v->kind > KIND_SPARSE) { return false; }
    v->type = types[type];
    v->swapped = swapped;
    return (order == 0) == (swapped != blob_host_is_little());
}

/* The head at p, of 20 bytes; *name_bytes counts the zero behind the name. */
static bool take_head(const unsigned char *p, mat4_variable *v, int64_t *name_bytes)
{
    *v = (mat4_variable){.kind = -1};
    if (!take_kind(blob_u32(p, false), false, v) && !take_kind(blob_u32(p, true), true, v)) { return false; }
    v->nrows = (int32_t)blob_u32(p + 4, v->swapped);
    v->ncols = (int32_t)blob_u32(p + 8, v->swapped);
    v->is_complex = blob_u32(p + 12, v->swapped) == 1;
    *name_bytes = (int32_t)blob_u32(p + 16, v->swapped);
    return blob_u32(p + 12, v->swapped) <= 1 && v->nrows >= 0 && v->ncols >= 0 && *name_bytes >= 1 &&
           *name_bytes <= LONGEST_NAME;
}

static bool is_name(const unsigned char *p, int64_t bytes)
{
    for (int64_t k = 0; k + 1 < bytes; k++) {
        const bool letter = (p[k] >= 'A' && p[k] <= 'Z') || (p[k] >= 'a' && p[k] <= 'z') || p[k] == '_';

        if (!letter && (k == 0 || p[k] < '0' || p[k] > '9')) { return false; }
    }
    return bytes > 1 && p[bytes - 1] == '\0';
}

/* The files have no mark: a head that makes sense, and a name. */
bool mat4_knows(const file_head *head)
{
    mat4_variable v;
    int64_t name_bytes = 0;

    return head->count > HEAD_BYTES && take_head(head->bytes, &v, &name_bytes) && name_bytes <= LONGEST_FIRST_NAME &&
           HEAD_BYTES + name_bytes <= head->count && is_name(head->bytes + HEAD_BYTES, name_bytes);
}

/* The variable at c->at, which moves behind it. */
static tess_status take_variable(blob_cursor *c, mat4_variable *v)
{
    tess_status status = TESS_SUCCESS;
    int64_t name_bytes = 0;
    const int64_t at = c->at;
    const unsigned char *p = blob_take(c, HEAD_BYTES, 1, "the head of a variable", &status);

    if (!p) { return status; }
    if (!take_head(p, v, &name_bytes)) {
        return blob_fail(c->b, at, "the file may be damaged", "the head of a variable was expected");
    }
    p = blob_take(c, name_bytes, 1, "the name of a variable", &status);
    if (!p) { return status; }
    v->name = (const char *)p;
    v->name_length = strnlen(v->name, (size_t)name_bytes);
    TESS_TRY(file_check_sizes(c->b, at, v->nrows, v->ncols));
    v->data =
        blob_take(c, v->nrows * v->ncols, (v->is_complex ? 2 : 1) * mat_item_bytes(v->type), "a variable", &status);
cleanup:
    return status;
}

/* ---- numbers ---- */

/* The number of row i and column j of what is stored, or its imaginary part. */
static double number_at(const mat4_variable *v, int64_t i, int64_t j, int part)
{
    return mat_number_at(v->data, v->type, v->swapped, i + v->nrows * (j + part * v->ncols));
}

static int64_t sparse_entries_of(const mat4_variable *v)
{
    return v->nrows - 1;
}

/* A place from 1 to `most`. */
static tess_status take_place(const blob *b, double value, const char *what, int64_t most, int32_t *place)
{
    if (value >= 1.0 && value <= (double)most && value == floor(value)) {
        *place = (int32_t)value - 1;
        return TESS_SUCCESS;
    }
    return tess_fail_at(b->ctx, TESS_OUT_OF_RANGE, b->name, 0, NULL,
                        "a %s is %.17g; integers from 1 to %lld were expected", what, value, (long long)most);
}

/* Sizes of a sparse variable: its last line. */
static tess_status take_sparse_sizes(const blob *b, const mat4_variable *v, int64_t *nrows, int64_t *ncols)
{
    const int64_t at = v->data - b->bytes;

    if (v->nrows < 1 || (v->ncols != 3 && v->ncols != 4) || v->is_complex) {
        return blob_fail(b, at, "the file may be damaged",
                         "a sparse variable of version 4 has columns of rows, columns, values, and perhaps imaginary "
                         "parts, and one line for its sizes");
    }
    const double rows = number_at(v, v->nrows - 1, 0, 0), cols = number_at(v, v->nrows - 1, 1, 0);
    if (!(rows >= 0.0 && rows < 0x1p62 && rows == floor(rows) && cols >= 0.0 && cols < 0x1p62 && cols == floor(cols))) {
        return blob_fail(b, at, "the file may be damaged", "the sizes of a sparse variable are no integers");
    }
    *nrows = (int64_t)rows;
    *ncols = (int64_t)cols;
    const tess_status status = file_check_sizes(b, at, *nrows, *ncols);
    return status == TESS_SUCCESS ? file_check_rows(b, *nrows) : status;
}

static tess_status take_sparse(const blob *b, const mat4_variable *v, text_entries *e, tess_entries *out)
{
    *out = (tess_entries){.is_complex = v->ncols == 4};
    tess_status status = take_sparse_sizes(b, v, &out->nrows, &out->ncols);

    e->parts = out->is_complex ? 2 : 1;
    for (int64_t k = 0; k < sparse_entries_of(v) && status == TESS_SUCCESS; k++) {
        const double value[2] = {number_at(v, k, 2, 0), out->is_complex ? number_at(v, k, 3, 0) : 0.0};
        int32_t row = 0, col = 0;

        status = take_place(b, number_at(v, k, 0, 0), "row", out->nrows, &row);
        if (status == TESS_SUCCESS) { status = take_place(b, number_at(v, k, 1, 0), "column", out->ncols, &col); }
        if (status == TESS_SUCCESS) { status = text_add_entry(e, row, col, value); }
    }
    out->count = e->count;
    out->row = e->row;
    out->col = e->col;
    out->val = e->val;
    return status;
}

static tess_status take_dense(const blob *b, const mat4_variable *v, file_array *out)
{
    const int parts = v->is_complex ? 2 : 1;

    *out = (file_array){.nrows = v->nrows, .ncols = v->ncols, .is_complex = v->is_complex};
    const tess_status status = file_array_allocate(b->ctx, out);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t k = 0; k < v->nrows * v->ncols; k++) {
        for (int part = 0; part < parts; part++) {
            out->val[parts * k + part] = number_at(v, k, 0, part);
        }
    }
    return TESS_SUCCESS;
}

/* ---- the file ---- */

static tess_status list_variables(const blob *b, file_variables *all)
{
    blob_cursor c = {.b = b};
    tess_status status = TESS_SUCCESS;

    *all = (file_variables){.count = 0};
    while (status == TESS_SUCCESS && c.at < b->count) {
        const int64_t place = c.at;
        mat4_variable v;
        int64_t nrows = 0, ncols = 0;

        TESS_TRY(take_variable(&c, &v));
        if (v.kind == KIND_TEXT) { continue; }
        nrows = v.nrows;
        ncols = v.ncols;
        if (v.kind == KIND_SPARSE) { TESS_TRY(take_sparse_sizes(b, &v, &nrows, &ncols)); }
        file_variable *listed = file_add_variable(all, NULL, v.name, v.name_length);
        if (!listed) { continue; }
        listed->sparse = v.kind == KIND_SPARSE;
        listed->nrows = nrows;
        listed->ncols = ncols;
        listed->place = place;
    }
cleanup:
    return status;
}

static tess_status open_variable(const blob *b, source_role role, mat4_variable *v)
{
    file_variables *all = NULL;
    const file_variable *chosen = NULL;
    tess_status status = tess_host_allocate(b->ctx, 1, sizeof *all, (void **)&all);

    if (status != TESS_SUCCESS) { return status; }
    status = list_variables(b, all);
    if (status == TESS_SUCCESS) { status = file_choose_variable(b, all, role, &chosen); }
    if (status == TESS_SUCCESS) {
        blob_cursor c = {.b = b, .at = chosen->place};

        status = take_variable(&c, v);
    }
    tess_host_release(b->ctx, all, 1, sizeof *all);
    return status;
}

tess_status mat4_read_matrix(const blob *b, file_csr *out)
{
    mat4_variable v;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries entries;
    file_array table = {.nrows = 0};
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(open_variable(b, SOURCE_MATRIX, &v));
    if (v.kind == KIND_SPARSE) {
        TESS_TRY(take_sparse(b, &v, &e, &entries));
        TESS_TRY(file_csr_from_entries(b->ctx, &entries, out));
    } else {
        if (v.ncols == 0) { TESS_TRY(file_check_rows(b, v.nrows)); }
        TESS_TRY(take_dense(b, &v, &table));
        TESS_TRY(file_csr_from_array(b->ctx, &table, out));
    }
    (void)snprintf(out->kind, sizeof out->kind, "MATLAB 4, %s", v.kind == KIND_SPARSE ? "sparse" : "dense");
cleanup:
    file_array_release(b->ctx, &table);
    text_release_entries(&e);
    return status;
}

tess_status mat4_read_array(const blob *b, file_array *out)
{
    mat4_variable v;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries entries;
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(open_variable(b, SOURCE_VECTOR, &v));
    if (v.kind == KIND_SPARSE) {
        TESS_TRY(take_sparse(b, &v, &e, &entries));
        TESS_TRY(file_array_from_entries(b, &entries, out));
    } else {
        TESS_TRY(take_dense(b, &v, out));
    }
    file_turn_row(out);
cleanup:
    text_release_entries(&e);
    return status;
}
