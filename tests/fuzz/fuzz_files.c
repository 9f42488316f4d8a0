/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target of the readers of other programs' files, as matrices and as vectors, under the names that some of
 * them are known by. What is accepted is sound; what is refused comes with a message; memory is bounded by the file.
 *
 *   bash scripts/fuzz.sh fuzz_files
 */
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

#include "io/readers.h"

enum { MOST_AT_ONCE = 1 << 25, MOST_ALWAYS = 1 << 26, MOST_PER_BYTE = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t live, most;

static void *allocate(void *user, size_t bytes)
{
    (void)user;
    if (bytes > MOST_AT_ONCE) { return NULL; }
    live += bytes;
    most = live > most ? live : most;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(void *user, void *pointer, size_t bytes)
{
    (void)user;
    if (pointer) { live -= bytes; }
    free(pointer);
}

static void require(int condition)
{
    if (!condition) { abort(); }
}

static void check_refusal(const tess_context *ctx)
{
    require(tess_context_last_error(ctx)->message[0] != '\0');
}

static void read_as_matrix(tess_context *ctx, const char *name, const uint8_t *data, size_t size)
{
    tess_mtx_info info = {.size = sizeof info};
    tess_matrix *m = NULL;
    const tess_status status = tess_matrix_read_memory(ctx, name, data, size, &m, &info);

    require((status == TESS_SUCCESS) == (m != NULL));
    if (!m) {
        check_refusal(ctx);
        return;
    }
    const int64_t parts = tess_matrix_is_complex(m) ? 2 : 1;
    require(info.is_complex == (parts == 2) && info.kind[0] != '\0');
    require(tess_matrix_nrows(m) == parts * info.nrows && tess_matrix_ncols(m) == parts * info.ncols);
    require(tess_matrix_nnz(m) == parts * parts * info.nonzeros && info.nonzeros <= 2 * info.entries);
    tess_matrix_destroy(m);
}

static void read_as_array(tess_context *ctx, const char *name, const uint8_t *data, size_t size)
{
    text_source source;
    blob b = {.ctx = ctx};
    file_array a = {.nrows = 0};

    if (text_source_open_memory(ctx, name, data, size, &source) != TESS_SUCCESS) { return; }
    const file_reader *reader = tess_find_reader(&source);
    if (reader->array && blob_read(&source, &b) == TESS_SUCCESS) {
        if (reader->array(&b, &a) == TESS_SUCCESS) {
            require(a.nrows >= 0 && a.ncols >= 0);
        } else {
            check_refusal(ctx);
        }
        file_array_release(ctx, &a);
        blob_release(&b);
    }
    text_source_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"input", "A.txt", "A.00000", "A.sbaij.petsc"};
    tess_context_options options;
    tess_context *ctx = NULL;

    live = most = 0;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    options.host_allocator = (tess_allocator){allocate, release, NULL};
    require(tess_context_create(&options, &ctx) == TESS_SUCCESS);
    for (int i = 0; i < 4; i++) {
        read_as_matrix(ctx, names[i], data, size);
        read_as_array(ctx, names[i], data, size);
        if (i == 0 && size > 1 && memcmp(data, "PK", 2) == 0) { break; } /* the name does not matter */
    }
    require(most <= MOST_ALWAYS + MOST_PER_BYTE * size);
    tess_context_destroy(ctx);
    require(live == 0);
    return 0;
}
