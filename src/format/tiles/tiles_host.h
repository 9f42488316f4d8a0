/* SPDX-License-Identifier: Apache-2.0 */
/* What the layouts of tiles share on the host: products strip by strip. */
#ifndef TESS_FORMAT_TILES_TILES_HOST_H
#define TESS_FORMAT_TILES_TILES_HOST_H

#include "format/tiles/tiles.h"

/* A layout's strips. sum: sums of all rows of a strip, given x, in FP32 or FP64. */
typedef struct tiles_strips {
    const void *view;
    void (*sum)(const void *view, int64_t strip, const void *x, bool fp32, double *sum);
    int64_t nrows, nnz, nstrips;
    int rows;
} tiles_strips;

tess_status tiles_host_product(tess_context *ctx, const tiles_strips *strips, const tess_spmv_args *args);
tess_status tiles_host_prepare(tess_context *ctx, int64_t nstrips);

/* Turns the units of each strip into places from 0 on; returns their sum, and the bytes of the longest strip. */
int64_t tiles_host_place_strips(const tiles_view *v, uint32_t *start, int64_t *longest);

/* A strip's record, all zero: some of its bytes pad. */
char *tiles_host_open_record(const tiles_view *v, int64_t strip, char *records);

/* Where the entries of a strip's rows begin: what builders walk along. */
void tiles_host_open_strip(const csr_view *csr, int64_t strip, int rows, int64_t *cursor);

/* A block's entries: where those of each row begin in the matrix, and how many they are. */
typedef struct block_entries {
    int64_t at[TILES_SIDE];
    int length[TILES_SIDE];
} block_entries;

/* Takes the entries in that block column off the strip's rows; cursor[r] is the next entry of row r. */
block_entries tiles_host_take_block(const csr_view *csr, int64_t strip, int rows, int column_bits, int32_t column,
                                    int64_t *cursor);

#endif
