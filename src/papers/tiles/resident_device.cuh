/* SPDX-License-Identifier: Apache-2.0 */
/* What the builder and the products of tiles in layout resident on the GPU share. */
#ifndef TESS_PAPERS_TILES_RESIDENT_DEVICE_CUH
#define TESS_PAPERS_TILES_RESIDENT_DEVICE_CUH

#include "format/tiles/tiles_device.cuh"
#include "papers/tiles/resident.h"

#include "papers/tiles/resident_record.h"

extern "C" tess_status resident_gpu_measure(tess_context *ctx, const tiles_source *source, const tiles_view *v,
                                            uint32_t *start, int64_t *units, int64_t *longest);
extern "C" tess_status resident_gpu_fill(tess_context *ctx, const tiles_source *source, const tiles_view *v,
                                         char *record);

/* Block rows of more tiles are cut into chunks, each for half a wave, whose sums the owner of the block row adds up. */
enum { RESIDENT_LONG = 256, RESIDENT_CHUNK = 128 };

extern "C" tess_status resident_gpu_divide(tess_context *ctx, const tiles_source *source, int64_t longest,
                                           tiles_view *v);
/* Sums of all chunks, before the product. */
extern "C" tess_status resident_gpu_sum_chunks(tess_context *ctx, const tiles_view *v, const tess_spmv_args *args);

#endif
