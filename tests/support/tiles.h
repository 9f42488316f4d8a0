/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of tiles share, whichever kernel the tiles are for. */
#ifndef TESS_TESTS_SUPPORT_TILES_H
#define TESS_TESTS_SUPPORT_TILES_H

#include "support/test.h"

/* Rows and columns of the blocks that there are. */
enum { TILES_SHAPES = 4 };
extern const int tiles_shapes[TILES_SHAPES][2];

/* Magnitudes below `range` go to the second level. */
tess_storage_options tiles_of(int block_rows, int block_cols, double range, tess_precision high, tess_level low);
/* As tess_matrix_convert, which must succeed. */
tess_matrix *convert_tiles(const tess_matrix *assembled, const tess_storage_options *options);

/* `count` elements of what tiles store, on the host; for the caller to free. */
void *read_tiles(const tess_matrix *stored, const void *from, int64_t count, size_t size);

/* A matrix of one block whose row r has length[r] entries, from column `r` on where they fit; value k + 1 for entry k. */
oracle_csr make_block(int rows, int cols, const int *length);
/* The same with lengths that take turns. */
oracle_csr make_alternating_block(int rows, int cols, int even, int odd);

/* Held values are those of the entry's level, the pattern is the matrix's, and products are within their bound. */
void check_tiles(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options);

/* All four shapes of blocks, sizes that are no multiples of them, blocks with few and with many entries. */
void check_shapes_of_tiles(tess_context *ctx, tess_kernel kernel);
/* Values over many binades: fp16 needs scales; three levels, the lowest of 8 or 16 bits. */
void check_scales_of_tiles(tess_context *ctx, tess_kernel kernel);
/* Other values on the same pattern keep the levels of the first. */
void check_new_values_of_tiles(tess_context *ctx, tess_kernel kernel);

#endif
