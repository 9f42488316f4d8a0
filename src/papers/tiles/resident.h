/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles in layout resident (Yang et al. 2024, section III-B): 16x16 tiles, each with a header of its own, so that a
 * tile can be passed over. A block row is one record, as in layout grouped; resident_record.h has what is in it.
 */
#ifndef TESS_PAPERS_TILES_RESIDENT_H
#define TESS_PAPERS_TILES_RESIDENT_H

#include <tessera/papers.h>

#include "format/tiles/tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entries of a block row, row by row: those of row r go to place next[r] on, which is moved past them. col_ind or val
 * may be NULL. */
void resident_decode_block_row(const char *record, int64_t *next, int32_t *col_ind, double *val);

extern const tiles_ops resident_host_ops;
const tiles_ops *resident_gpu_ops(void);
const tiles_ops *resident_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
