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

/* Where the entries of a strip's rows begin: what builders walk along. */
void tiles_host_open_strip(const csr_view *csr, int64_t strip, int rows, int64_t *cursor);

#endif
