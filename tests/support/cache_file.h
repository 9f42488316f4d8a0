/* SPDX-License-Identifier: Apache-2.0 */
/* Cache files built by hand, with checksums that fit. */
#ifndef TESS_TESTS_SUPPORT_CACHE_FILE_H
#define TESS_TESTS_SUPPORT_CACHE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The layout, as docs/howto/matrix-files.md has it. */
typedef struct cache_layout {
    unsigned char magic[8];
    uint32_t byte_order, version;
    int64_t nrows, ncols, nnz;
    uint32_t bits, parts[3], reserved, own;
} cache_layout;

/* 16 columns, 16 row pointers: arrays of whole 64 bytes, so that they end where the page does. */
enum { ROWS = 15, COLUMNS = 40, ENTRIES = 16 };

typedef struct cache_file {
    cache_layout h;
    int32_t row_ptr[ROWS + 1], col_ind[ENTRIES];
    double val[ENTRIES];
} cache_file;

_Static_assert(sizeof(cache_file) == 64 + 64 + 64 + 128, "the parts follow each other");

uint32_t cache_sum_of(const void *bytes, size_t count);
/* A header without checksums, of offsets of 32 bits. */
cache_layout cache_header_of(int64_t nrows, int64_t ncols, int64_t nnz);
/* Set the checksums: of the header alone, or of the parts and the header. */
void cache_sign_header(cache_layout *h);
void cache_sign(cache_file *f);
/* Row 0 has two entries, the others one; columns rise through all of them. */
cache_file cache_sound_file(void);

#endif
