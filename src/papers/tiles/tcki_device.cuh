/* SPDX-License-Identifier: Apache-2.0 */
/* What the builder and the products of tiles with kernel paper on the GPU share. */
#ifndef TESS_PAPERS_TILES_TCKI_DEVICE_CUH
#define TESS_PAPERS_TILES_TCKI_DEVICE_CUH

#include "format/tiles/tiles_device.cuh"

#include "papers/tiles/tcki_record.h"

extern "C" tess_status tcki_gpu_measure(tess_context *ctx, const tiles_source *source, const tcki_rules *rules,
                                        const tcki_view *v, int64_t *counts, int64_t *units);
extern "C" tess_status tcki_gpu_fill(tess_context *ctx, const tiles_source *source, const tcki_view *v, char *record);

#endif
