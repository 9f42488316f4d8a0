/* SPDX-License-Identifier: Apache-2.0 */
/* The binary cache: an assembled matrix as it lies in memory, with version, sizes and checksums. */
#ifndef TESS_IO_CACHE_H
#define TESS_IO_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "matrix/assemble.h"

enum { CACHE_MAGIC_BYTES = 8 };
extern const unsigned char tess_cache_magic[CACHE_MAGIC_BYTES];

typedef struct cache_facts {
    int64_t ncols;
    bool is_complex; /* the real form of a complex matrix */
} cache_facts;

/* Reads a cache file, or one that lies in memory. *facts and *out describe the matrix. Errors IO, CORRUPT, memory. */
tess_status tess_cache_read_file(tess_context *ctx, const char *path, cache_facts *facts, tess_assembled *out);
tess_status tess_cache_read_memory(tess_context *ctx, const char *name, const void *bytes, size_t count,
                                   cache_facts *facts, tess_assembled *out);

#endif
