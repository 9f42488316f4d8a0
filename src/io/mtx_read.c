/* SPDX-License-Identifier: Apache-2.0 */
/* Reads matrices and vectors: recognises the kind of file, reads its entries, and assembles them. */
#include <string.h>

#include "io/cache.h"
#include "io/mtx.h"

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

static int64_t count_zeros(const tess_context *ctx, const double *val, int64_t count)
{
    int64_t zeros = 0;

#pragma omp parallel for schedule(static) reduction(+ : zeros) num_threads(tess_io_threads(ctx, count))
    for (int64_t k = 0; k < count; k++) {
        zeros += val[k] == 0.0;
    }
    return zeros;
}

/* ---- matrices ---- */

/* A symmetric file that gives some positions above and below the diagonal: their values would be summed. */
static tess_status check_triangles(const text_source *source, const mtx_header *header, int64_t upper, int64_t lower,
                                   int64_t duplicates)
{
    if (header->symmetry == TESS_SYMMETRY_GENERAL || upper == 0) { return TESS_SUCCESS; }
    if (lower > 0 && duplicates > 0) {
        return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line,
                            "write only the lower triangle, or 'general' in the banner",
                            "the banner says symmetric, but the file has %lld entries above the diagonal and %lld "
                            "others, and some positions occur twice",
                            (long long)upper, (long long)lower);
    }
    tess_log(source->ctx, TESS_LOG_INFO, "%s: %lld entries above the diagonal of a symmetric file are mirrored",
             source->name, (long long)upper);
    return TESS_SUCCESS;
}

static void describe(const text_source *source, const mtx_header *header, const tess_assembled *made,
                     tess_mtx_info *info)
{
    if (!info) { return; }
    *info = (tess_mtx_info){.coordinate = header->coordinate,
                            .pattern = header->pattern,
                            .integer = header->integer,
                            .symmetry = (int)header->symmetry,
                            .compressed = source->compressed,
                            .nrows = header->nrows,
                            .ncols = header->ncols,
                            .entries = header->entries,
                            .nonzeros = made->nnz,
                            .duplicates = made->duplicates,
                            .explicit_zeros = count_zeros(source->ctx, made->val, made->nnz)};
}

static tess_status adopt(tess_context *ctx, int64_t ncols, const tess_assembled *made, tess_matrix **out)
{
    return tess_matrix_adopt_csr(ctx, made->nrows, ncols, made->nnz, made->row_ptr, made->row_ptr_bits, made->col_ind,
                                 made->val, out);
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
    TESS_TRY(tess_assemble_entries(ctx,
                                   &(tess_entries){.nrows = header.nrows,
                                                   .ncols = header.ncols,
                                                   .count = entries.count,
                                                   .row = entries.row,
                                                   .col = entries.col,
                                                   .val = entries.val,
                                                   .symmetry = header.symmetry},
                                   &made));
    mtx_entries_release(ctx, &entries);
    TESS_TRY(check_triangles(source, &header, upper, header.entries - upper, made.duplicates));
    describe(source, &header, &made, info);
    status = adopt(ctx, header.ncols, &made, out);
    made = (tess_assembled){0};
cleanup:
    mtx_entries_release(ctx, &entries);
    tess_assembled_release(ctx, &made);
    return status;
}

static tess_status finish_cache(tess_context *ctx, int64_t ncols, const tess_assembled *made, tess_matrix **out,
                                tess_mtx_info *info)
{
    if (info) {
        *info = (tess_mtx_info){.coordinate = 1,
                                .cache = 1,
                                .nrows = made->nrows,
                                .ncols = ncols,
                                .entries = made->nnz,
                                .nonzeros = made->nnz,
                                .explicit_zeros = count_zeros(ctx, made->val, made->nnz)};
    }
    return adopt(ctx, ncols, made, out);
}

static bool is_cache(const unsigned char *bytes, size_t count)
{
    return count >= CACHE_MAGIC_BYTES && memcmp(bytes, tess_cache_magic, CACHE_MAGIC_BYTES) == 0;
}

tess_status tess_matrix_read(tess_context *ctx, const char *path, tess_matrix **out, tess_mtx_info *info)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, path);
    text_source source;
    tess_assembled made;
    int64_t ncols = 0;
    tess_status status = TESS_SUCCESS;

    status = text_source_open_file(ctx, path, &source);
    if (status != TESS_SUCCESS) { return status; }
    if (!is_cache(source.peeked, (size_t)source.peeked_bytes)) {
        status = read_text(&source, out, info);
        text_source_close(&source);
        return status;
    }
    text_source_close(&source);
    status = tess_cache_read_file(ctx, path, &ncols, &made);
    return status == TESS_SUCCESS ? finish_cache(ctx, ncols, &made, out, info) : status;
}

tess_status tess_matrix_read_memory(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                    tess_matrix **out, tess_mtx_info *info)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, name);
    if (bytes > 0) { TESS_REQUIRE(ctx, text); }
    text_source source;
    tess_assembled made;
    int64_t ncols = 0;
    tess_status status = TESS_SUCCESS;

    if (is_cache(text, bytes)) {
        status = tess_cache_read_memory(ctx, name, text, bytes, &ncols, &made);
        return status == TESS_SUCCESS ? finish_cache(ctx, ncols, &made, out, info) : status;
    }
    status = text_source_open_memory(ctx, name, text, bytes, &source);
    if (status == TESS_SUCCESS) { status = read_text(&source, out, info); }
    text_source_close(&source);
    return status;
}

/* ---- vectors ---- */

static tess_status check_vector_header(const text_source *source, const mtx_header *header)
{
    if (header->ncols == 1) { return TESS_SUCCESS; }
    return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line, "a vector has n rows and 1 column",
                        "the file holds an array of %lld by %lld, but a vector was expected", (long long)header->nrows,
                        (long long)header->ncols);
}

/* Stores coordinates in their places. Values of the same place are summed in the order of the file, as for matrices. */
static tess_status spread_entries(tess_context *ctx, const mtx_header *header, const mtx_entries *entries,
                                  tess_vector *vector)
{
    double *dense = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, header->nrows, sizeof *dense, (void **)&dense));
    if (header->nrows > 0) { memset(dense, 0, (size_t)header->nrows * sizeof *dense); }
    for (int64_t k = 0; k < entries->count; k++) {
        dense[entries->row[k]] += entries->val ? entries->val[k] : 1.0;
    }
    status = tess_vector_set(vector, dense, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
cleanup:
    tess_host_release(ctx, dense, header->nrows, sizeof *dense);
    return status;
}

tess_status tess_vector_read(tess_context *ctx, const char *path, tess_vector **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, path);
    text_source source;
    mtx_header header = {0};
    mtx_entries entries = {0};
    int64_t upper = 0;
    tess_vector *vector = NULL;
    tess_status status = TESS_SUCCESS;

    status = text_source_open_file(ctx, path, &source);
    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(text_source_begin(&source));
    TESS_TRY(mtx_read_header(&source, &header));
    TESS_TRY(check_vector_header(&source, &header));
    TESS_TRY(mtx_read_body(&source, &header, &entries, &upper));
    TESS_TRY(tess_vector_create(ctx, header.nrows, TESS_PRECISION_FP64, &vector));
    if (header.coordinate) {
        TESS_TRY(spread_entries(ctx, &header, &entries, vector));
    } else if (header.symmetry != TESS_SYMMETRY_SKEW) {
        TESS_TRY(tess_vector_set(vector, entries.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    }
    *out = vector;
    vector = NULL;
cleanup:
    tess_vector_destroy(vector);
    mtx_entries_release(ctx, &entries);
    text_source_close(&source);
    return status;
}
