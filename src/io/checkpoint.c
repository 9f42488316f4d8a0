/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints. Layout: a header of 96 bytes, then the values of x, in the byte order of the machine that wrote it.
 * Values and header have a CRC-32 each.
 */
#include <tessera/checkpoint.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/options.h"
#include "io/output_file.h"
#include "io/stored.h"

static const unsigned char magic[8] = {0x89, 'T', 'C', 'K', 'P', '\r', '\n', 0x1a};
static const uint32_t byte_order_mark = 0x01020304;
enum { CHECKPOINT_VERSION = 1 };

typedef struct checkpoint_header {
    unsigned char magic[8];
    uint32_t byte_order, version;
    int64_t n, iterations;
    double seconds;
    uint64_t matrix, rhs, options;
    uint64_t reserved[3];
    uint32_t values_checksum;
    uint32_t header_checksum; /* of all before it */
} checkpoint_header;

_Static_assert(sizeof(checkpoint_header) == 96, "the header's layout is part of the file format");

void tess_checkpoint_init_sized(tess_checkpoint *facts, size_t size)
{
    result_init(facts, size);
}

static uint32_t checksum_of(const void *bytes, size_t count)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, count);
}

/* ---- writing ---- */

static tess_status write_all(tess_context *ctx, const char *path, const checkpoint_header *header, const double *values)
{
    output_file file;
    tess_status status = output_file_open(ctx, path, false, &file);

    if (status != TESS_SUCCESS) { return status; }
    status = output_file_write(&file, header, sizeof *header);
    if (status == TESS_SUCCESS) { status = output_file_write(&file, values, (size_t)header->n * sizeof *values); }
    return output_file_close(&file, status);
}

tess_status tess_checkpoint_write(const tess_vector *x, const tess_checkpoint *facts, const char *path)
{
    TESS_REQUIRE(NULL, x);
    TESS_REQUIRE(x->ctx, facts);
    TESS_REQUIRE(x->ctx, path);
    tess_context *ctx = x->ctx;
    checkpoint_header header = {.byte_order = byte_order_mark, .version = CHECKPOINT_VERSION, .n = x->n};
    double *values = NULL;
    tess_checkpoint full;
    tess_status status = TESS_SUCCESS;

    tess_checkpoint_init(&full);
    TESS_TRY(options_take(ctx, "tess_checkpoint", facts, &full, sizeof full));
    TESS_TRY(options_require_reserved(ctx, "tess_checkpoint", full.reserved));
    TESS_TRY(tess_vector_require(ctx, x, x->n, "x"));
    TESS_TRY(tess_host_allocate(ctx, x->n, sizeof *values, (void **)&values));
    TESS_TRY(tess_vector_get(x, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    memcpy(header.magic, magic, sizeof magic);
    header.iterations = full.iterations;
    header.seconds = full.seconds;
    header.matrix = full.matrix;
    header.rhs = full.rhs;
    header.options = full.options;
    header.values_checksum = checksum_of(values, (size_t)x->n * sizeof *values);
    header.header_checksum = checksum_of(&header, offsetof(checkpoint_header, header_checksum));
    status = write_all(ctx, path, &header, values);
cleanup:
    tess_host_release(ctx, values, x->n, sizeof *values);
    return status;
}

/* ---- reading ---- */

static tess_status refuse(tess_context *ctx, const char *path, const char *what)
{
    return tess_fail_at(ctx, TESS_CORRUPT, path, 0, "solve again from the beginning, or take an older checkpoint", "%s",
                        what);
}

static tess_status check_header(tess_context *ctx, const char *path, const checkpoint_header *h, int64_t got)
{
    if (got < (int64_t)sizeof magic || memcmp(h->magic, magic, sizeof magic) != 0) {
        return refuse(ctx, path, "the file is no checkpoint: it begins with other bytes");
    }
    if (got < (int64_t)sizeof *h) { return refuse(ctx, path, "the checkpoint is cut: its header is incomplete"); }
    if (h->byte_order != byte_order_mark) {
        return refuse(ctx, path, "the checkpoint is from a machine with another byte order");
    }
    if (h->version != CHECKPOINT_VERSION) {
        return tess_fail_at(ctx, TESS_CORRUPT, path, 0, "use the version of tessera that wrote it",
                            "the checkpoint has version %u, but this library reads version %d", h->version,
                            (int)CHECKPOINT_VERSION);
    }
    if (h->header_checksum != checksum_of(h, offsetof(checkpoint_header, header_checksum)) || h->n < 0 ||
        h->n > TESS_MAX_ROWS || h->iterations < 0) {
        return refuse(ctx, path, "the checkpoint is damaged: its header does not fit its checksum");
    }
    return TESS_SUCCESS;
}

/* All bytes of the file: header, values, and nothing after them. Sizes are checked before memory is taken. */
static tess_status read_all(tess_context *ctx, FILE *file, const char *path, checkpoint_header *header, double **values)
{
    const size_t got = fread(header, 1, sizeof *header, file);
    int64_t length = 0;
    tess_status status = check_header(ctx, path, header, (int64_t)got);

    if (status != TESS_SUCCESS) { return status; }
    if (fseek(file, 0, SEEK_END) == 0) { length = (int64_t)ftell(file); }
    if (length != (int64_t)sizeof *header + 8 * header->n || fseek(file, sizeof *header, SEEK_SET) != 0) {
        return refuse(ctx, path, "the checkpoint is cut, or longer than its header says");
    }
    TESS_TRY(tess_host_allocate(ctx, header->n, sizeof **values, (void **)values));
    if (fread(*values, sizeof **values, (size_t)header->n, file) != (size_t)header->n) {
        return tess_fail_at(ctx, TESS_IO, path, 0, NULL, "the checkpoint could not be read");
    }
    if (header->values_checksum != checksum_of(*values, (size_t)header->n * sizeof **values)) {
        return refuse(ctx, path, "the checkpoint is damaged: its values do not fit their checksum");
    }
cleanup:
    return status;
}

static tess_status make_vector(tess_context *ctx, int64_t n, const double *values, tess_vector **x)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, x));
    if (n > 0) { status = tess_vector_set(*x, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status != TESS_SUCCESS) {
        tess_vector_destroy(*x);
        *x = NULL;
    }
cleanup:
    return status;
}

tess_status tess_checkpoint_read(tess_context *ctx, const char *path, tess_checkpoint *facts, tess_vector **x)
{
    TESS_REQUIRE_OUT(ctx, ctx, x);
    TESS_REQUIRE(ctx, path);
    TESS_REQUIRE(ctx, facts);
    checkpoint_header header = {.n = 0};
    tess_checkpoint full;
    double *values = NULL;
    struct stat found;
    stored_bytes opened;
    FILE *file = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(result_require_size(ctx, "tess_checkpoint", facts->size, sizeof full));
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) { /* a pipe may wait for ever */
        return refuse(ctx, path, "the file is no checkpoint: it is no regular file");
    }
    TESS_TRY(stored_open_file(ctx, path, &opened)); /* with its messages for names that cannot be opened */
    stored_close(&opened);
    file = fopen(path, "rbe");
    if (!file) { return tess_fail_at(ctx, TESS_IO, path, 0, NULL, "the file cannot be opened"); }
    TESS_TRY(read_all(ctx, file, path, &header, &values));
    TESS_TRY(make_vector(ctx, header.n, values, x));
    tess_checkpoint_init(&full);
    full.iterations = header.iterations;
    full.seconds = header.seconds;
    full.matrix = header.matrix;
    full.rhs = header.rhs;
    full.options = header.options;
    result_return(&full, facts);
cleanup:
    if (file) { fclose(file); }
    tess_host_release(ctx, values, header.n, sizeof *values);
    return status;
}

/* ---- fingerprints ---- */

/* FNV-1a over words of 8 bytes, with a shift so that high bits count, then over the bytes that are left. */
uint64_t tess_fingerprint(uint64_t before, const void *bytes, size_t count)
{
    const unsigned char *p = bytes;
    uint64_t hash = before ^ UINT64_C(0xcbf29ce484222325);

    if (!bytes) { return before; }
    for (; count >= 8; count -= 8, p += 8) {
        uint64_t word = 0;

        memcpy(&word, p, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    for (; count > 0; count--, p++) {
        hash = (hash ^ *p) * UINT64_C(0x100000001b3);
    }
    return hash;
}

tess_status tess_matrix_fingerprint(const tess_matrix *a, uint64_t *out)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, out);
    tess_host_matrix host = {0};
    tess_csr_view v;
    uint64_t hash = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_require_assembled(a, "tess_matrix_fingerprint"));
    TESS_TRY(tess_matrix_on_host(a, &host));
    v = tess_matrix_csr_view(host.matrix);
    hash = tess_fingerprint(hash, &v.nrows, sizeof v.nrows);
    hash = tess_fingerprint(hash, &v.ncols, sizeof v.ncols);
    hash = tess_fingerprint(hash, v.row_ptr, (size_t)(v.nrows + 1) * (size_t)v.row_ptr_bits / 8);
    hash = tess_fingerprint(hash, v.col_ind, (size_t)v.nnz * sizeof *v.col_ind);
    *out = tess_fingerprint(hash, v.val, (size_t)v.nnz * sizeof *v.val);
cleanup:
    tess_host_matrix_release(&host);
    return status;
}

tess_status tess_vector_fingerprint(const tess_vector *v, uint64_t *out)
{
    TESS_REQUIRE(NULL, v);
    TESS_REQUIRE(v->ctx, out);
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(v->ctx, v->n, sizeof *values, (void **)&values));
    TESS_TRY(tess_vector_get(v, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    *out = tess_fingerprint(0, values, (size_t)v->n * sizeof *values);
cleanup:
    tess_host_release(v->ctx, values, v->n, sizeof *values);
    return status;
}
