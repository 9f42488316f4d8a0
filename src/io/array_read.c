/* SPDX-License-Identifier: Apache-2.0 */
/* Reads vectors, and several at once, from text and from binary files. */
#include <string.h>

#include "io/binary.h"
#include "io/mtx.h"
#include "io/readers.h"

/* A sparse file of this many values per entry is a matrix that was given by mistake. */
enum { MOST_VALUES_PER_ENTRY = 64, MOST_VALUES = 1 << 20 };

/* ---- Matrix Market ---- */

static tess_status check_header(const text_source *source, const mtx_header *header)
{
    const int64_t values =
        header->ncols > 0 && header->nrows > INT64_MAX / header->ncols ? INT64_MAX : header->nrows * header->ncols;

    if (!header->coordinate || header->ncols == 1 || values <= MOST_VALUES ||
        values / MOST_VALUES_PER_ENTRY <= header->entries) {
        return TESS_SUCCESS;
    }
    return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line, "a vector has n rows and 1 column",
                        "the file holds a sparse matrix of %lld by %lld, but a vector was expected",
                        (long long)header->nrows, (long long)header->ncols);
}

/* Puts an entry, and its mirror image of a symmetric file, in their places. Values of the same place are summed in the
   order of the file, as for matrices. */
static void spread_entry(const mtx_header *header, int64_t row, int64_t col, const double *value, file_array *out)
{
    const int parts = out->is_complex ? 2 : 1;
    double *at = out->val + parts * (row + col * out->nrows), *mirror = out->val + parts * (col + row * out->nrows);

    for (int part = 0; part < parts; part++) {
        const bool negative =
            header->symmetry == TESS_SYMMETRY_SKEW || (header->symmetry == TESS_SYMMETRY_HERMITIAN && part == 1);

        at[part] += value[part];
        if (header->symmetry == TESS_SYMMETRY_GENERAL || row == col) { continue; }
        mirror[part] += negative ? -value[part] : value[part];
    }
}

static void spread_entries(const mtx_header *header, const mtx_entries *entries, file_array *out)
{
    static const double one = 1.0;

    memset(out->val, 0, (size_t)file_array_numbers(out) * sizeof *out->val);
    for (int64_t k = 0; k < entries->count; k++) {
        int64_t row = 0, col = 0;

        if (header->coordinate) {
            row = entries->row[k];
            col = entries->col[k];
        } else {
            mtx_array_position(header, k, &row, &col);
        }
        spread_entry(header, row, col, entries->val ? entries->val + entries->parts * k : &one, out);
    }
}

static tess_status read_text_array(text_source *source, file_array *out)
{
    mtx_header header = {0};
    mtx_entries entries = {0};
    int64_t upper = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(text_source_begin(source));
    TESS_TRY(mtx_read_header(source, &header));
    TESS_TRY(check_header(source, &header));
    TESS_TRY(mtx_read_body(source, &header, &entries, &upper));
    *out = (file_array){
        .nrows = header.nrows, .ncols = header.ncols, .is_complex = header.is_complex, .size_line = header.size_line};
    TESS_TRY(file_array_allocate(source->ctx, out));
    if (out->nrows > 0 && out->ncols > 0) { spread_entries(&header, &entries, out); }
cleanup:
    mtx_entries_release(source->ctx, &entries);
    return status;
}

/* ---- all kinds ---- */

static tess_status read_blob_array(text_source *source, const file_reader *reader, file_array *out)
{
    blob b = {.ctx = source->ctx};
    tess_status status = TESS_SUCCESS;

    if (!reader->array) {
        return tess_fail_at(source->ctx, TESS_PARSE, source->name, 0,
                            "numpy.save writes an .npy array, VecView a vector of PETSc",
                            "the file is a %s, but a vector was expected", reader->text);
    }
    if (source->member && !reader->has_members) {
        return tess_fail_at(source->ctx, TESS_NOT_FOUND, source->name, 0, "give the file's name alone",
                            "the file is a %s, which has no part '%.100s'", reader->text, source->member);
    }
    status = blob_read(source, &b);
    if (status == TESS_SUCCESS) { status = reader->array(&b, out); }
    blob_release(&b);
    return status;
}

static tess_status read_array(tess_context *ctx, const char *path, file_array *out)
{
    text_source source;
    tess_status status = text_source_open_file(ctx, path, SOURCE_VECTOR, &source);

    *out = (file_array){.nrows = 0};
    if (status != TESS_SUCCESS) { return status; }
    const file_reader *reader = tess_find_reader(&source);
    if (reader->kind != FILE_TEXT) {
        status = read_blob_array(&source, reader, out);
    } else {
        status = tess_name_unknown(&source);
        if (status == TESS_SUCCESS) { status = read_text_array(&source, out); }
    }
    text_source_close(&source);
    if (status != TESS_SUCCESS) { file_array_release(ctx, out); }
    return status;
}

tess_status tess_array_read_complex(tess_context *ctx, const char *path, double **values, int64_t *nrows,
                                    int64_t *ncols, int *is_complex)
{
    TESS_REQUIRE_OUT(ctx, ctx, values);
    TESS_REQUIRE(ctx, path);
    TESS_REQUIRE(ctx, nrows);
    TESS_REQUIRE(ctx, ncols);
    TESS_REQUIRE(ctx, is_complex);
    file_array made;
    const tess_status status = read_array(ctx, path, &made);

    *values = made.val;
    *nrows = made.is_complex ? 2 * made.nrows : made.nrows;
    *ncols = made.ncols;
    *is_complex = made.is_complex;
    return status;
}

tess_status tess_array_read(tess_context *ctx, const char *path, double **values, int64_t *nrows, int64_t *ncols)
{
    int is_complex = 0;

    return tess_array_read_complex(ctx, path, values, nrows, ncols, &is_complex);
}

void tess_array_free(tess_context *ctx, double *values, int64_t nrows, int64_t ncols)
{
    if (!ctx) { return; }
    file_array_release(ctx, &(file_array){.nrows = nrows, .ncols = ncols, .val = values});
}

tess_status tess_vector_read(tess_context *ctx, const char *path, tess_vector **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, path);
    file_array made;
    tess_vector *vector = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_array(ctx, path, &made));
    if (made.ncols != 1) {
        TESS_TRY(tess_fail_at(ctx, TESS_PARSE, path, made.size_line, "a vector has n rows and 1 column",
                              "the file holds an array of %lld by %lld, but a vector was expected",
                              (long long)made.nrows, (long long)made.ncols));
    }
    TESS_TRY(tess_vector_create(ctx, file_array_numbers(&made), TESS_PRECISION_FP64, &vector));
    TESS_TRY(tess_vector_set(vector, made.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    *out = vector;
    vector = NULL;
cleanup:
    file_array_release(ctx, &made);
    tess_vector_destroy(vector);
    return status;
}
