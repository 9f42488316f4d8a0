/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles as Zhao et al. 2024, section 3.2.2, print them (kernel paper): each block of the grid by itself, in COO, CSR,
 * ELL or HYB by its density and by how its rows' lengths vary, with indices of a few bits; products add into y by
 * atomics.
 *
 * Blocks stand in the order of the grid. What a block holds is told by its shape (tcki_record.h); where, by `start`, in
 * units of TCKI_UNIT bytes. Its record:
 *
 *   u8 or u16  ends: for each row, the entries of the CSR part in the rows up to it; u8: if the part has less than 256
 * entries u8         lengths: for each row, its entries in the ELL part; only where that part is padded index      of
 * each place: column in the block, 4 bits (two in a byte, the lower half first) or, with 32 columns, 8; COO: row <<
 * column_bits | column, u8 (16x16) or u16 value      of each place, at a multiple of their size
 *
 * Places: those of the ELL part, column-major (place k * rows + r is entry k of row r), then the entries of the CSR
 * part or of COO, row by row. Within a row the ELL part has what comes first. What pads is zero, and never multiplied.
 */
#ifndef TESS_PAPERS_TILES_TCKI_H
#define TESS_PAPERS_TILES_TCKI_H

#include <tessera/papers.h>

#include "format/tiles/tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TCKI_UNIT = 8 /* bytes: records begin at multiples of it */ };

/* What a kernel sees: arrays in the memory of the backend that runs it. */
typedef struct tcki_view {
    int64_t nrows, ncols, nnz, nblock_rows, nblocks;
    int rows, column_bits; /* rows of a block; its columns are 1 << column_bits */
    unsigned precisions;   /* of level l in bits 4 l to 4 l + 3: arguments of kernels are slow to index */
    /* The assignment's, which is kept. */
    const int64_t *first;    /* nblock_rows + 1: each block row's first block */
    const int32_t *column;   /* block columns */
    const int16_t *exponent; /* values are stored over 2^exponent; NULL: nothing is scaled */
    /* Own. */
    int32_t *row;    /* block rows */
    uint32_t *shape; /* tcki_record.h */
    uint32_t *start; /* nblocks + 1 */
    const char *record;
    int64_t units; /* of record: start[nblocks] */
} tcki_view;

/* Where formats change: the thresholds in the terms that are compared. */
typedef struct tcki_rules {
    double fewest; /* entries below which a block is COO: density times its places */
    double low, high;
} tcki_rules;

typedef struct tcki_storage {
    tiles_storage tiles; /* without records */
    tcki_view view;
    tcki_rules rules;
    char *record; /* view.record, to be written */
    int64_t counts[TESS_TCKI_FORMATS];
    double *sums; /* nrows: products whose y has to wait add up here; NULL where no product adds by atomics */
} tcki_storage;

/* What a backend supplies. */
typedef struct tcki_ops {
    bool adds_atomically;
    /* Fills row, shape and start; start[nblocks] may be cut off, *units is not. */
    tess_status (*measure)(tess_context *ctx, const tiles_source *source, const tcki_rules *rules, const tcki_view *v,
                           int64_t *counts, int64_t *units);
    /* Writes the records. What pads is not written: the caller has cleared it. */
    tess_status (*fill)(tess_context *ctx, const tiles_source *source, const tcki_view *v, char *record);
    tess_status (*prepare)(tess_context *ctx, const tcki_view *v);
    tess_status (*spmv)(tess_context *ctx, const tcki_view *v, double *sums, const tess_spmv_args *args);
} tcki_ops;

/* NULL: the matrix is not of tiles with kernel paper. */
const tcki_storage *tcki_of(const tess_matrix *a);

extern const tcki_ops tcki_host_ops;
const tcki_ops *tcki_gpu_ops(void);
const tcki_ops *tcki_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
