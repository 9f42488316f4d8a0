/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of tiles, for any kernel and layout. */
#ifndef TESS_TESTS_SUPPORT_TILES_H
#define TESS_TESTS_SUPPORT_TILES_H

#include <tessera/papers.h>

#include "support/test.h"

/* Rows and columns of the blocks that there are. */
enum { TILES_SHAPES = 4 };
extern const int tiles_shapes[TILES_SHAPES][2];

/* Magnitudes below `range` go to the second level. */
tess_storage_options tiles_of(int block_rows, int block_cols, double range, tess_precision high,
                              tess_precision_level low);
/* Layout resident, each tile in the lowest of these precisions that keeps every bit. */
tess_storage_options resident_lossless(const char *levels);
/* As tess_matrix_convert, which must succeed. */
tess_matrix *convert_tiles(const tess_matrix *assembled, const tess_storage_options *options);

/* `count` elements of an array of stored tiles, on the host; the caller frees them. */
void *read_tiles(const tess_matrix *stored, const void *from, int64_t count, size_t size);

/* Where block rows begin, in units, and the records, on the host; not of kernel paper. */
typedef struct tiles_records {
    uint32_t *start;
    char *record;
    int64_t nblock_rows, units;
} tiles_records;

tiles_records read_tiles_records(const tess_matrix *stored);
void free_tiles_records(tiles_records *r);

/*
 * 20 x 40, for blocks of 16 x 16. Block row 0: block 0 with (0,0) = 100, (0,3) = 2, (5,1) = 3, which has a value
 * outside of 4; block 1 with (0,16) = 0.5 and block 2 with (0,39) = 0.25, (2,32) = 0.125. Block row 1: block 1 with
 * (19,17) = 7.
 */
tess_matrix *make_small_tiled(tess_context *ctx);
/* A block row of hundreds of blocks, empty rows and block rows, a last column far out. */
oracle_csr make_far_matrix(void);
/* Matrices to make tiles of: few and many entries in a block, long rows, no entries, many blocks. */
enum { TILES_MATRICES = 6 };
void make_tiles_matrices(oracle_csr matrices[TILES_MATRICES]);

/* A matrix of one block whose row r has length[r] entries, from column `r` on where they fit; value k + 1 for entry k.
 */
oracle_csr make_block(int rows, int cols, const int *length);
/* The same with lengths that take turns. */
oracle_csr make_alternating_block(int rows, int cols, int even, int odd);

/* Held values are those of the entry's level, the pattern is the matrix's, and products are within their bound. */
void check_tiles(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options);

/* Which tiles. */
typedef struct tiles_kind {
    tess_kernel kernel;
    tess_layout layout; /* resident: only of blocks of 16x16 */
} tiles_kind;

/* All four shapes of blocks, sizes that are no multiples of them, blocks with few and with many entries. */
void check_shapes_of_tiles(tess_context *ctx, tiles_kind kind);
/* Values over many binades: fp16 needs scales; three levels, the lowest of 8 or 16 bits. */
void check_scales_of_tiles(tess_context *ctx, tiles_kind kind);
/* Other values on the same pattern keep the levels of the first. */
void check_new_values_of_tiles(tess_context *ctx, tiles_kind kind);

#endif
