/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target of the readers that take a path alone: vectors (Matrix Market, gzip) and checkpoints. What is
 * accepted is finite in size and can be written; what is refused comes with a message and the file's name.
 *
 *   bash scripts/fuzz.sh fuzz_vector
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tessera/tessera.h>

enum { LARGEST_ALLOCATION = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *allocate_limited(void *user, size_t bytes)
{
    (void)user;
    return bytes > LARGEST_ALLOCATION ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(void *user, void *pointer, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(pointer);
}

static void require(int condition)
{
    if (!condition) { abort(); }
}

static void check(const tess_context *ctx, tess_status status, const tess_vector *v, const char *path)
{
    const tess_error *error = tess_context_last_error(ctx);

    require((status == TESS_SUCCESS) == (v != NULL));
    if (v) {
        require(tess_vector_size(v) >= 0 && tess_vector_size(v) <= LARGEST_ALLOCATION / 8);
        require(tess_vector_precision(v) == TESS_PRECISION_FP64);
    } else {
        require(error->message[0] != '\0');
        require(strncmp(error->file, path, strlen(path)) == 0 || status == TESS_OUT_OF_MEMORY); /* or its member */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int descriptor = memfd_create("input", 0);
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_vector *v = NULL, *x = NULL;
    tess_checkpoint facts;
    char path[64];

    require(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    options.host_allocator = (tess_allocator){allocate_limited, release, NULL};
    require(tess_context_create(&options, &ctx) == TESS_SUCCESS);
    check(ctx, tess_vector_read(ctx, path, &v), v, path);
    tess_checkpoint_init(&facts);
    check(ctx, tess_checkpoint_read(ctx, path, &facts, &x), x, path);
    require(!x || facts.iterations >= 0);
    tess_vector_destroy(v);
    tess_vector_destroy(x);
    tess_context_destroy(ctx);
    close(descriptor);
    return 0;
}
