/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary cache. Layout: a header of 64 bytes, then row_ptr, col_ind and val one after another, in the byte order of
 * the machine that wrote it. Each part has a CRC-32 of its own; the header's covers the header.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/offsets.h"
#include <tessera/io.h>

#include "io/cache.h"
#include "io/output_file.h"

const unsigned char tess_cache_magic[CACHE_MAGIC_BYTES] = {0x89, 'T', 'E', 'S', 'S', '\r', '\n', 0x1a};

enum { CACHE_VERSION = 1, PARTS = 3, CHECK_BYTES = 1 << 21, LARGEST_READ = 1 << 30 };
static const uint32_t byte_order_mark = 0x01020304;

typedef struct cache_header {
    unsigned char magic[CACHE_MAGIC_BYTES];
    uint32_t byte_order;
    uint32_t version;
    int64_t nrows, ncols, nnz;
    uint32_t row_ptr_bits;
    uint32_t part_checksum[PARTS];
    uint32_t is_complex;      /* 1: the real form of a complex matrix, 0: a real matrix */
    uint32_t header_checksum; /* of all before it */
} cache_header;

_Static_assert(sizeof(cache_header) == 64, "the header's layout is part of the file format");

/* The source of a cache's bytes. */
typedef struct cache_source {
    tess_context *ctx;
    const char *name;
    int descriptor; /* -1: memory */
    const unsigned char *memory;
    int64_t bytes;
} cache_source;

/* ---- checksums ---- */

static int64_t block_count(int64_t bytes)
{
    return (bytes + CHECK_BYTES - 1) / CHECK_BYTES;
}

static uint32_t checksum_of(const unsigned char *bytes, int64_t count)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, (size_t)count);
}

/* CRC-32 of a part, its blocks by different threads. `work` holds one value per block. */
static uint32_t checksum_part(const tess_context *ctx, const void *part, int64_t bytes, uint32_t *work)
{
    int64_t blocks = block_count(bytes);
    uLong sum = crc32_z(0, NULL, 0);

#pragma omp parallel for schedule(static) num_threads(tess_io_threads(ctx, bytes / 8))
    for (int64_t b = 0; b < blocks; b++) {
        int64_t start = b * CHECK_BYTES, left = bytes - start;

        work[b] = checksum_of((const unsigned char *)part + start, left < CHECK_BYTES ? left : CHECK_BYTES);
    }
    for (int64_t b = 0; b < blocks; b++) {
        int64_t left = bytes - b * CHECK_BYTES;

        sum = crc32_combine(sum, work[b], (z_off_t)(left < CHECK_BYTES ? left : CHECK_BYTES));
    }
    return (uint32_t)sum;
}

static uint32_t header_checksum(const cache_header *header)
{
    return checksum_of((const unsigned char *)header, (int64_t)offsetof(cache_header, header_checksum));
}

/* The three parts, with their sizes. */
typedef struct cache_part {
    void *data;
    int64_t bytes;
} cache_part;

static void list_parts(const tess_assembled *a, cache_part parts[PARTS])
{
    parts[0] = (cache_part){a->row_ptr, (a->nrows + 1) * (a->row_ptr_bits / 8)};
    parts[1] = (cache_part){a->col_ind, a->nnz * (int64_t)sizeof *a->col_ind};
    parts[2] = (cache_part){a->val, a->nnz * (int64_t)sizeof *a->val};
}

/* CRC-32 of each part. */
static tess_status checksum_parts(tess_context *ctx, const cache_part parts[PARTS], uint32_t sums[PARTS])
{
    int64_t blocks = block_count(parts[0].bytes > parts[2].bytes ? parts[0].bytes : parts[2].bytes);
    uint32_t *work = NULL;
    tess_status status = tess_host_allocate(ctx, blocks, sizeof *work, (void **)&work);

    if (status != TESS_SUCCESS) { return status; }
    for (int i = 0; i < PARTS; i++) {
        sums[i] = checksum_part(ctx, parts[i].data, parts[i].bytes, work);
    }
    tess_host_release(ctx, work, blocks, sizeof *work);
    return TESS_SUCCESS;
}

/* ---- reading ---- */

static tess_status fail_corrupt(const cache_source *source, const char *what)
{
    return tess_fail_at(source->ctx, TESS_CORRUPT, source->name, 0, "convert the original file to a cache again",
                        "the cache cannot be used: %s", what);
}

/* Exactly `count` bytes from `offset`. */
static tess_status read_bytes(const cache_source *source, int64_t offset, void *to, int64_t count)
{
    char *p = to;

    if (source->descriptor < 0) {
        if (count > 0) { memcpy(to, source->memory + offset, (size_t)count); }
        return TESS_SUCCESS;
    }
    while (count > 0) {
        ssize_t got = pread(source->descriptor, p, (size_t)(count < LARGEST_READ ? count : LARGEST_READ), offset);

        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) {
            return tess_fail_at(source->ctx, TESS_IO, source->name, 0, "check that the file is on a disk that works",
                                "the file could not be read");
        }
        if (got == 0) { return fail_corrupt(source, "the file became shorter while it was read"); }
        p += got;
        offset += got;
        count -= got;
    }
    return TESS_SUCCESS;
}

/* Bytes of a file with these sizes; -1 if the sizes make no sense. */
static int64_t expected_bytes(const cache_header *header)
{
    int64_t offset_bytes = header->row_ptr_bits / 8;

    if (header->nrows < 0 || header->nrows > TESS_MAX_ROWS || header->ncols < 0 || header->ncols > TESS_MAX_ROWS ||
        header->nnz < 0 || header->nnz > INT64_MAX / 16 ||
        header->row_ptr_bits != (header->nnz <= INT32_MAX ? 32U : 64U)) {
        return -1;
    }
    return (int64_t)sizeof *header + (header->nrows + 1) * offset_bytes + header->nnz * 12;
}

static tess_status read_cache_header(const cache_source *source, cache_header *header)
{
    tess_status status = TESS_SUCCESS;

    if (source->bytes < (int64_t)sizeof *header) { return fail_corrupt(source, "the file ends inside its header"); }
    status = read_bytes(source, 0, header, sizeof *header);
    if (status != TESS_SUCCESS) { return status; }
    if (memcmp(header->magic, tess_cache_magic, CACHE_MAGIC_BYTES) != 0) {
        return fail_corrupt(source, "the file is not a cache");
    }
    if (header->byte_order != byte_order_mark) {
        return fail_corrupt(source, "a machine with another byte order wrote it");
    }
    if (header->version != CACHE_VERSION) {
        return tess_fail_at(source->ctx, TESS_CORRUPT, source->name, 0, "convert the original file to a cache again",
                            "the cache has version %lu, but this library reads version %d",
                            (unsigned long)header->version, CACHE_VERSION);
    }
    if (header->header_checksum != header_checksum(header)) {
        return fail_corrupt(source, "the checksum of the header is wrong");
    }
    if (expected_bytes(header) != source->bytes) {
        return fail_corrupt(source, "the length of the file does not agree with its header");
    }
    return TESS_SUCCESS;
}

static bool row_is_sound(const tess_assembled *a, int64_t ncols, int64_t row)
{
    int64_t begin = tess_row_offset(a->row_ptr, a->row_ptr_bits, row);
    int64_t end = tess_row_offset(a->row_ptr, a->row_ptr_bits, row + 1);
    int32_t previous = -1;

    if (begin < 0 || begin > end || end > a->nnz) { return false; }
    for (int64_t k = begin; k < end; k++) {
        if (a->col_ind[k] <= previous || a->col_ind[k] >= ncols) { return false; }
        previous = a->col_ind[k];
    }
    return true;
}

/* A checksum proves that the file is as written, not that it holds a valid matrix. */
static tess_status check_structure(const cache_source *source, const tess_assembled *a, int64_t ncols)
{
    int threads = tess_io_threads(source->ctx, a->nnz > a->nrows ? a->nnz : a->nrows);
    int64_t unsound = 0;

#pragma omp parallel for schedule(dynamic, 512) reduction(+ : unsound) num_threads(threads)
    for (int64_t i = 0; i < a->nrows; i++) {
        unsound += !row_is_sound(a, ncols, i);
    }
    if (unsound > 0 || tess_row_offset(a->row_ptr, a->row_ptr_bits, 0) != 0 ||
        tess_row_offset(a->row_ptr, a->row_ptr_bits, a->nrows) != a->nnz) {
        return fail_corrupt(source, "its rows are not in order, or have columns out of range");
    }
    return TESS_SUCCESS;
}

/* Rows 2 i and 2 i + 1 have the same columns, in pairs 2 j and 2 j + 1. */
static bool is_pair(const tess_assembled *a, int64_t i)
{
    const int64_t upper = tess_row_offset(a->row_ptr, a->row_ptr_bits, 2 * i);
    const int64_t lower = tess_row_offset(a->row_ptr, a->row_ptr_bits, 2 * i + 1), length = lower - upper;

    if (length % 2 != 0 || tess_row_offset(a->row_ptr, a->row_ptr_bits, 2 * i + 2) != lower + length) { return false; }
    for (int64_t k = 0; k < length; k += 2) {
        const int32_t col = a->col_ind[upper + k];

        if (col % 2 != 0 || a->col_ind[upper + k + 1] != col + 1 || a->col_ind[lower + k] != col ||
            a->col_ind[lower + k + 1] != col + 1) {
            return false;
        }
    }
    return true;
}

static tess_status check_complex(const cache_source *source, const cache_header *header, const tess_assembled *a)
{
    int64_t unsound = header->is_complex > 1 || (header->is_complex && (a->nrows % 2 != 0 || header->ncols % 2 != 0));

    for (int64_t i = 0; i < a->nrows / 2 && header->is_complex && unsound == 0; i++) {
        unsound += !is_pair(a, i);
    }
    return unsound == 0 ? TESS_SUCCESS : fail_corrupt(source, "its rows are not those of a complex matrix");
}

static tess_status allocate_arrays(tess_context *ctx, const cache_header *header, tess_assembled *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){.nrows = header->nrows, .nnz = header->nnz, .row_ptr_bits = (int)header->row_ptr_bits};
    status = tess_host_allocate(ctx, out->nrows + 1, (size_t)out->row_ptr_bits / 8, &out->row_ptr);
    if (status == TESS_SUCCESS) {
        status = tess_host_allocate(ctx, out->nnz, sizeof *out->col_ind, (void **)&out->col_ind);
    }
    if (status == TESS_SUCCESS) { status = tess_host_allocate(ctx, out->nnz, sizeof *out->val, (void **)&out->val); }
    return status;
}

static tess_status read_parts(const cache_source *source, const cache_header *header, const cache_part parts[PARTS])
{
    int64_t offset = sizeof *header;
    uint32_t sums[PARTS];
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < PARTS; i++) {
        status = read_bytes(source, offset, parts[i].data, parts[i].bytes);
        if (status != TESS_SUCCESS) { return status; }
        offset += parts[i].bytes;
    }
    status = checksum_parts(source->ctx, parts, sums);
    if (status != TESS_SUCCESS) { return status; }
    return memcmp(sums, header->part_checksum, sizeof sums) == 0
               ? TESS_SUCCESS
               : fail_corrupt(source, "the checksum of the data is wrong");
}

static tess_status read_cache(const cache_source *source, cache_facts *facts, tess_assembled *out)
{
    cache_header header;
    cache_part parts[PARTS];
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){0};
    TESS_TRY(read_cache_header(source, &header));
    TESS_TRY(allocate_arrays(source->ctx, &header, out));
    list_parts(out, parts);
    TESS_TRY(read_parts(source, &header, parts));
    TESS_TRY(check_structure(source, out, header.ncols));
    TESS_TRY(check_complex(source, &header, out));
    *facts = (cache_facts){header.ncols, header.is_complex == 1};
    return TESS_SUCCESS;
cleanup:
    tess_assembled_release(source->ctx, out);
    return status;
}

tess_status tess_cache_read_memory(tess_context *ctx, const char *name, const void *bytes, size_t count,
                                   cache_facts *facts, tess_assembled *out)
{
    cache_source source = {ctx, name, -1, bytes, (int64_t)count};

    return read_cache(&source, facts, out);
}

tess_status tess_cache_read_file(tess_context *ctx, const char *path, cache_facts *facts, tess_assembled *out)
{
    cache_source source = {.ctx = ctx, .name = path, .descriptor = open(path, O_RDONLY | O_CLOEXEC)};
    struct stat file;
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){0};
    if (source.descriptor < 0) {
        return tess_fail_at(ctx, TESS_IO, path, 0, "check the path and the permissions", "the file cannot be opened");
    }
    if (fstat(source.descriptor, &file) == 0) {
        source.bytes = file.st_size;
        status = read_cache(&source, facts, out);
    } else {
        status = tess_fail_at(ctx, TESS_IO, path, 0, "check the path and the permissions", "the file cannot be read");
    }
    close(source.descriptor);
    return status;
}

/* ---- writing ---- */

/* Host copies of a matrix's arrays, offsets narrowed as assembled matrices have them. */
static tess_status copy_arrays(const tess_matrix *a, tess_assembled *copy)
{
    cache_header sizes = {.nrows = a->nrows, .nnz = a->nnz, .row_ptr_bits = a->nnz <= INT32_MAX ? 32 : 64};
    int64_t *offsets = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_arrays(a->ctx, &sizes, copy));
    TESS_TRY(tess_host_allocate(a->ctx, a->nrows + 1, sizeof *offsets, (void **)&offsets));
    TESS_TRY(tess_matrix_get_csr(a, offsets, copy->col_ind, copy->val));
    for (int64_t i = 0; i <= a->nrows; i++) {
        tess_row_offset_set(copy->row_ptr, copy->row_ptr_bits, i, offsets[i]);
    }
cleanup:
    tess_host_release(a->ctx, offsets, a->nrows + 1, sizeof *offsets);
    return status;
}

static tess_status write_parts(tess_context *ctx, const char *path, const cache_header *header,
                               const cache_part parts[PARTS])
{
    output_file file;
    tess_status status = output_file_open(ctx, path, false, &file);

    if (status != TESS_SUCCESS) { return status; }
    status = output_file_write(&file, header, sizeof *header);
    for (int i = 0; i < PARTS && status == TESS_SUCCESS; i++) {
        status = output_file_write(&file, parts[i].data, (size_t)parts[i].bytes);
    }
    return output_file_close(&file, status);
}

tess_status tess_matrix_write_cache(const tess_matrix *a, const char *path)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, path);
    cache_header header = {.byte_order = byte_order_mark, .version = CACHE_VERSION};
    tess_assembled copy = {0};
    cache_part parts[PARTS];
    tess_status status = TESS_SUCCESS;

    if (a->format == TESS_FORMAT_SHELL) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "write an assembled matrix",
                         "a shell matrix has no entries to write");
    }
    TESS_TRY(copy_arrays(a, &copy));
    list_parts(&copy, parts);
    memcpy(header.magic, tess_cache_magic, CACHE_MAGIC_BYTES);
    header.nrows = a->nrows;
    header.ncols = a->ncols;
    header.nnz = a->nnz;
    header.row_ptr_bits = (uint32_t)copy.row_ptr_bits;
    header.is_complex = a->is_complex;
    TESS_TRY(checksum_parts(a->ctx, parts, header.part_checksum));
    header.header_checksum = header_checksum(&header);
    status = write_parts(a->ctx, path, &header, parts);
cleanup:
    tess_assembled_release(a->ctx, &copy);
    return status;
}
