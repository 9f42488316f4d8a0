/* SPDX-License-Identifier: Apache-2.0 */
/* Reads matrices: recognises the kind of file, reads its entries, and assembles them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "base/options.h"
#include "io/binary.h"
#include "io/cache.h"
#include "io/mtx.h"
#include "io/readers.h"
#include "matrix/complex_form.h"

/* ---- entries ---- */

/* Row and column of each value of an array. */
static tess_status spell_positions(tess_context *ctx, const mtx_header *header, mtx_entries *entries)
{
    tess_status status = tess_host_allocate(ctx, entries->capacity, sizeof *entries->row, (void **)&entries->row);

    if (status != TESS_SUCCESS) { return status; }
    status = tess_host_allocate(ctx, entries->capacity, sizeof *entries->col, (void **)&entries->col);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for schedule(static) num_threads(tess_io_threads(ctx, entries->count))
    for (int64_t k = 0; k < entries->count; k++) {
        int64_t row = 0, col = 0;

        mtx_array_position(header, k, &row, &col);
        entries->row[k] = (int32_t)row;
        entries->col[k] = (int32_t)col;
    }
    return TESS_SUCCESS;
}

/* Header and body of an open source. On failure no entries are held. */
static tess_status read_entries(text_source *source, mtx_header *header, mtx_entries *entries, int64_t *upper)
{
    tess_status status = text_source_begin(source);

    if (status == TESS_SUCCESS) { status = mtx_read_header(source, header); }
    if (status == TESS_SUCCESS) { status = mtx_read_body(source, header, entries, upper); }
    return status;
}

/* Of a complex matrix: of complex entries, which are four of its real form. */
static int64_t count_nonzeros(const tess_assembled *made, bool is_complex)
{
    return is_complex ? made->nnz / 4 : made->nnz;
}

static int64_t count_zeros(const tess_context *ctx, const tess_assembled *made, bool is_complex)
{
    const int64_t step = is_complex ? 2 : 1, count = made->nnz / step;
    int64_t zeros = 0;

#pragma omp parallel for schedule(static) reduction(+ : zeros) num_threads(tess_io_threads(ctx, count))
    for (int64_t k = 0; k < count; k++) {
        zeros += made->val[step * k] == 0.0 && made->val[step * k + step - 1] == 0.0;
    }
    return is_complex ? zeros / 2 : zeros; /* both rows of a block tell */
}

/* ---- matrices ---- */

/*
 * Is the sum of the entries and their mirror images twice the entries alone? Then each was listed with its mirror
 * image. Both sides of a pair are looked at, so that a sum that is rounded deceives neither.
 */
static bool is_doubled(const tess_context *ctx, const tess_assembled *sum, const tess_assembled *alone, int block)
{
    int64_t others = 0;

    if (sum->nnz != alone->nnz || alone->duplicates > 0) { return false; }
#pragma omp parallel for schedule(static) reduction(+ : others) num_threads(tess_io_threads(ctx, alone->nnz))
    for (int64_t i = 0; i < alone->nrows; i++) {
        const int64_t end = tess_row_offset(alone->row_ptr, alone->row_ptr_bits, i + 1);

        for (int64_t k = tess_row_offset(alone->row_ptr, alone->row_ptr_bits, i); k < end; k++) {
            const double times = alone->col_ind[k] / block == i / block ? 1.0 : 2.0;

            others +=
                sum->col_ind[k] != alone->col_ind[k] || !isfinite(sum->val[k]) || sum->val[k] != times * alone->val[k];
        }
    }
    return others == 0;
}

/*
 * A symmetric file that gives positions above and below the diagonal, whose values were summed into *made. One that
 * lists the whole matrix is read as it stands; of any other nobody knows what is meant.
 */
static tess_status settle_triangles(const text_source *source, const mtx_header *header, const tess_entries *entries,
                                    int64_t upper, tess_assembled *made)
{
    const int64_t lower = header->entries - upper;
    tess_entries all = *entries;
    tess_assembled whole = {0};

    if (header->symmetry == TESS_SYMMETRY_GENERAL || upper == 0) { return TESS_SUCCESS; }
    if (lower == 0 || made->duplicates == 0) {
        tess_log(source->ctx, TESS_LOG_INFO, "%s: a symmetric file has %s above the diagonal, mirrored to below",
                 source->name, tess_count(upper, "entry").text);
        return TESS_SUCCESS;
    }
    all.symmetry = TESS_SYMMETRY_GENERAL;
    const tess_status status = tess_assemble_entries(source->ctx, &all, &whole);
    if (status != TESS_SUCCESS) { return status; }
    if (is_doubled(source->ctx, made, &whole, header->is_complex ? 2 : 1)) {
        tess_log(source->ctx, TESS_LOG_WARN,
                 "%s: the banner says symmetric, but the file lists both triangles; they agree, and each entry counts "
                 "once",
                 source->name);
        tess_assembled_release(source->ctx, made);
        *made = whole;
        return TESS_SUCCESS;
    }
    tess_assembled_release(source->ctx, &whole);
    return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line,
                        "write only the lower triangle, or 'general' in the banner",
                        "the banner says symmetric, but the file has %s above the diagonal and %lld others, some "
                        "positions occur twice, and the triangles do not agree",
                        tess_count(upper, "entry").text, (long long)lower);
}

/* The entries as rows. Those of a file that lists them in order become the matrix as they stand. */
static tess_status assemble(const text_source *source, const mtx_header *header, mtx_entries *entries, int64_t upper,
                            tess_assembled *made)
{
    const tess_entries given = {.nrows = header->nrows,
                                .ncols = header->ncols,
                                .count = entries->count,
                                .row = entries->row,
                                .col = entries->col,
                                .val = entries->val,
                                .symmetry = header->symmetry,
                                .is_complex = header->is_complex};
    tess_status status = TESS_SUCCESS;

    if (header->symmetry == TESS_SYMMETRY_GENERAL && !header->is_complex && entries->val &&
        entries->count == entries->capacity) {
        status = tess_assemble_sorted(source->ctx, header->nrows, entries->count, entries->row, entries->col,
                                      entries->val, made);
        if (status != TESS_SUCCESS) { return status; }
        if (made->row_ptr) {
            entries->col = NULL;
            entries->val = NULL;
            return TESS_SUCCESS;
        }
    }
    status = tess_assemble_entries(source->ctx, &given, made);
    return status == TESS_SUCCESS ? settle_triangles(source, header, &given, upper, made) : status;
}

static void describe(const text_source *source, const mtx_header *header, const tess_assembled *made,
                     tess_mtx_info *info)
{
    if (!info) { return; }
    *info = (tess_mtx_info){.coordinate = header->coordinate,
                            .pattern = header->pattern,
                            .integer = header->integer,
                            .is_complex = header->is_complex,
                            .symmetry = (int)header->symmetry,
                            .compressed = source->packed && strcmp(source->packed, "gzip") == 0,
                            .nrows = header->nrows,
                            .ncols = header->ncols,
                            .entries = header->entries,
                            .nonzeros = count_nonzeros(made, header->is_complex),
                            .duplicates = made->duplicates,
                            .explicit_zeros = count_zeros(source->ctx, made, header->is_complex)};
    const bool other = source->packed && !info->compressed;
    (void)snprintf(info->kind, sizeof info->kind, "%s%s%s", "Matrix Market", other ? ", " : "",
                   other ? source->packed : "");
}

/* ncols is that of the file: the real form of a complex matrix has twice as many. */
static tess_status adopt(tess_context *ctx, int64_t ncols, bool is_complex, const tess_assembled *made,
                         tess_matrix **out)
{
    const tess_status status = tess_matrix_adopt_csr(ctx, made->nrows, is_complex ? 2 * ncols : ncols, made->nnz,
                                                     made->row_ptr, made->row_ptr_bits, made->col_ind, made->val, out);

    if (status == TESS_SUCCESS && is_complex) { tess_matrix_mark_complex(*out); }
    return status;
}

static tess_status read_text(text_source *source, tess_matrix **out, tess_mtx_info *info)
{
    tess_context *ctx = source->ctx;
    mtx_header header = {0};
    mtx_entries entries = {0};
    tess_assembled made = {0};
    int64_t upper = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_entries(source, &header, &entries, &upper));
    if (!header.coordinate) { TESS_TRY(spell_positions(ctx, &header, &entries)); }
    TESS_TRY(assemble(source, &header, &entries, upper, &made));
    mtx_entries_release(ctx, &entries);
    describe(source, &header, &made, info);
    status = adopt(ctx, header.ncols, header.is_complex, &made, out);
    made = (tess_assembled){0};
cleanup:
    mtx_entries_release(ctx, &entries);
    tess_assembled_release(ctx, &made);
    return status;
}

static tess_status finish_cache(tess_context *ctx, const cache_facts *facts, const tess_assembled *made,
                                tess_matrix **out, tess_mtx_info *info)
{
    const int64_t ncols = facts->is_complex ? facts->ncols / 2 : facts->ncols;

    if (info) {
        const int64_t nonzeros = count_nonzeros(made, facts->is_complex);

        *info = (tess_mtx_info){.coordinate = 1,
                                .cache = 1,
                                .is_complex = facts->is_complex,
                                .nrows = facts->is_complex ? made->nrows / 2 : made->nrows,
                                .ncols = ncols,
                                .entries = nonzeros,
                                .nonzeros = nonzeros,
                                .explicit_zeros = count_zeros(ctx, made, facts->is_complex)};
        (void)snprintf(info->kind, sizeof info->kind, "binary cache");
    }
    return adopt(ctx, ncols, facts->is_complex, made, out);
}

/* ---- files of other programs ---- */

static tess_status read_parts(const blob *b, const file_reader *reader, file_csr *out)
{
    if (b->member && !reader->has_members) {
        return tess_fail_at(b->ctx, TESS_NOT_FOUND, b->name, 0, "give the file's name alone",
                            "the file is a %s, which has no part '%.100s'", reader->text, b->member);
    }
    if (reader->matrix) { return reader->matrix(b, out); }
    return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, "give the file of the matrix",
                        "the file is a %s, but a matrix was expected", reader->text);
}

static void describe_binary(const file_csr *read, const tess_assembled *made, tess_context *ctx, tess_mtx_info *info)
{
    if (!info) { return; }
    *info = (tess_mtx_info){.coordinate = 1,
                            .is_complex = read->is_complex,
                            .nrows = read->nrows,
                            .ncols = read->ncols,
                            .entries = read->nnz,
                            .nonzeros = count_nonzeros(made, read->is_complex),
                            .duplicates = made->duplicates,
                            .explicit_zeros = count_zeros(ctx, made, read->is_complex)};
    memcpy(info->kind, read->kind, sizeof info->kind);
}

static tess_status read_blob(text_source *source, const file_reader *reader, tess_matrix **out, tess_mtx_info *info)
{
    tess_context *ctx = source->ctx;
    blob b = {.ctx = ctx};
    file_csr read = {.nrows = 0};
    tess_assembled made = {0};
    tess_status status = blob_read(source, &b);

    if (status == TESS_SUCCESS) { status = read_parts(&b, reader, &read); }
    blob_release(&b);
    if (status != TESS_SUCCESS) { return status; }
    status = read.is_complex
                 ? tess_assemble_complex_csr(ctx, read.nrows, read.nnz, read.row_ptr, read.col_ind, read.val, &made)
                 : tess_assemble_csr(ctx, read.nrows, read.nnz, read.row_ptr, read.col_ind, read.val,
                                     &made); /* takes them */
    if (status != TESS_SUCCESS) { return status; }
    describe_binary(&read, &made, ctx, info);
    return adopt(ctx, read.ncols, read.is_complex, &made, out);
}

static tess_status read_cache_pipe(text_source *source, cache_facts *facts, tess_assembled *made)
{
    blob b;
    tess_status status = blob_read(source, &b);

    if (status != TESS_SUCCESS) { return status; }
    status = tess_cache_read_memory(source->ctx, source->name, b.bytes, (size_t)b.count, facts, made);
    blob_release(&b);
    return status;
}

/* A cache that lies in the file as it is, can be read once more: at the speed of the disk. */
static tess_status read_cache(text_source *source, const char *path, tess_matrix **out, tess_mtx_info *info)
{
    tess_context *ctx = source->ctx;
    tess_assembled made;
    cache_facts facts = {.ncols = 0};
    tess_status status = TESS_SUCCESS;

    if (path && source->stored_bytes >= 0 && !source->compressed) {
        text_source_close(source);
        status = tess_cache_read_file(ctx, path, &facts, &made);
    } else {
        status = read_cache_pipe(source, &facts, &made);
    }
    return status == TESS_SUCCESS ? finish_cache(ctx, &facts, &made, out, info) : status;
}

/* Closes the source. path: NULL for memory. */
static tess_status read_source(text_source *source, const char *path, tess_matrix **out, tess_mtx_info *info)
{
    const file_reader *reader = tess_find_reader(source);
    tess_status status = TESS_SUCCESS;

    if (reader->kind == FILE_CACHE) {
        status = read_cache(source, path, out, info);
    } else if (reader->kind != FILE_TEXT) {
        status = read_blob(source, reader, out, info);
    } else {
        status = tess_name_unknown(source);
        if (status == TESS_SUCCESS) { status = read_text(source, out, info); }
    }
    text_source_close(source);
    return status;
}

static tess_status read_file(tess_context *ctx, const char *path, tess_matrix **out, tess_mtx_info *info)
{
    text_source source;
    const tess_status status = text_source_open_file(ctx, path, SOURCE_MATRIX, &source);

    return status == TESS_SUCCESS ? read_source(&source, path, out, info) : status;
}

static tess_status read_memory(tess_context *ctx, const char *name, const void *text, size_t bytes, tess_matrix **out,
                               tess_mtx_info *info)
{
    text_source source;
    const tess_status status = text_source_open_memory(ctx, name, text, bytes, &source);

    return status == TESS_SUCCESS ? read_source(&source, NULL, out, info) : status;
}

/* ---- public ---- */

void tess_mtx_info_init_sized(tess_mtx_info *info, size_t size)
{
    result_init(info, size);
}

static tess_status require_info(tess_context *ctx, const tess_mtx_info *info)
{
    return info ? result_require_size(ctx, "tess_mtx_info", info->size, sizeof *info) : TESS_SUCCESS;
}

tess_status tess_matrix_read(tess_context *ctx, const char *path, tess_matrix **out, tess_mtx_info *info)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, path);
    tess_mtx_info full = {.size = sizeof full};
    tess_status status = require_info(ctx, info);

    if (status == TESS_SUCCESS) { status = read_file(ctx, path, out, info ? &full : NULL); }
    if (status == TESS_SUCCESS && info) { result_return(&full, info); }
    return status;
}

tess_status tess_matrix_read_memory(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                    tess_matrix **out, tess_mtx_info *info)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, name);
    if (bytes > 0) { TESS_REQUIRE(ctx, text); }
    tess_mtx_info full = {.size = sizeof full};
    tess_status status = require_info(ctx, info);

    if (status == TESS_SUCCESS) { status = read_memory(ctx, name, text, bytes, out, info ? &full : NULL); }
    if (status == TESS_SUCCESS && info) { result_return(&full, info); }
    return status;
}
