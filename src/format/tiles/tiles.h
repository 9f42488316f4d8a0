/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles: a matrix stored block row by block row, on the grid of src/policy/block_grid.h, each block in a precision of
 * its own. Other ways to store tiles are in src/papers/tiles/; they begin with the same storage.
 *
 * Layout grouped (Zhao et al. 2024, section 3.2.2). The blocks of a block row form *runs* of up to TILES_SLOTS blocks.
 * The blocks of a run that have the same level are a *group*. The entries of a group are stored together, so that tiny
 * blocks cost no more than their column. A block row is one record in a stream of bytes; `start` has its place, in
 * units of TILES_UNIT bytes:
 *
 *   u32  number of runs
 *   u32  header of each group, for each run from the lowest level to the highest; 0: no group (tiles_header)
 *   then the groups, one after another, each at a multiple of 4 bytes:
 *     i16 or i32  block column of each of its slots; i16: relative to that of the block row's diagonal
 *     i16         exponent of each slot, if the level is scaled: values are stored over 2^exponent
 *     u8 or u16   for each row of the block row, the number of entries up to that row (u8: below 256 entries)
 *     u8          of each entry: slot << column_bits | column in the block
 *     value       of each entry, at a multiple of their size
 *
 * Entries are stored row by row, in the order of their columns. A thread takes a row and knows from the previous row
 * where its entries begin: no row index is stored, no entry is padded, and each element of y has one owner.
 */
#ifndef TESS_FORMAT_TILES_TILES_H
#define TESS_FORMAT_TILES_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/csr/csr.h"
#include "policy/assignment.h"
#include "policy/block_grid.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TILES_UNIT = 16,   /* bytes: block rows begin at multiples of it */
    TILES_SLACK = 256, /* bytes that may be read after the last record; their values do not matter */
    TILES_SLOTS = 16,  /* the most slots of a group: 15 or 7, by the block's columns, so that a row's entries are below
                          256 */
    TILES_SIDE = 32    /* the most rows or columns of a block */
};

/* A stretch of a block row's tiles, and where the data of the first begin among the records. */
typedef struct tiles_chunk {
    int64_t data;
    int32_t block_row, first, count;
} tiles_chunk;

/* Block rows of so many tiles that they are divided among threads of several blocks. Arrays are on the device. */
typedef struct tiles_long {
    int32_t rows, chunks;
    int32_t *row;   /* rows: which, ascending */
    int32_t *first; /* rows + 1: their first chunks */
    tiles_chunk *chunk;
    double *sum; /* of each row of each chunk */
} tiles_long;

/* The view for kernels: arrays in the memory of the backend that runs it. */
typedef struct tiles_view {
    int64_t nrows, ncols, nnz, nblock_rows;
    int rows, column_bits; /* rows of a block; its columns are 1 << column_bits */
    int slots;             /* most slots of a group */
    int nlevels;
    tess_precision precision[TESS_MAX_LEVELS];
    const uint32_t *start; /* nblock_rows + 1 */
    const char *record;
    int64_t units; /* of record: start[nblock_rows] */
    tiles_long longs;
} tiles_view;

typedef struct tiles_storage {
    tiles_view view;
    char *record;                      /* view.record, to be written */
    const tess_assignment *assignment; /* kept to renew values */
    tess_assignment *own_assignment;   /* the same, if it is not the caller's */
    tess_assignment_summary summary;
    int64_t longest; /* bytes of the longest block row */
} tiles_storage;

/* The input of a builder. */
typedef struct tiles_source {
    const csr_view *csr; /* assembled, FP64 */
    const block_grid *grid;
    const uint8_t *level;    /* of blocks; NULL: all at level 0 */
    const int16_t *exponent; /* of blocks; NULL: no level is scaled */
    bool scaled[TESS_MAX_LEVELS];
} tiles_source;

/* The functions of a backend. */
typedef struct tiles_ops {
    /* Fills start, nblock_rows + 1 places from 0, in units; *units is the last, *longest the bytes of the longest block
       row. */
    tess_status (*measure)(tess_context *ctx, const tiles_source *source, const tiles_view *v, uint32_t *start,
                           int64_t *units, int64_t *longest);
    /* Writes the records; padding bytes are 0. */
    tess_status (*fill)(tess_context *ctx, const tiles_source *source, const tiles_view *v, char *record);
    /* Finds v->longs, once there are records; may be NULL. */
    tess_status (*divide)(tess_context *ctx, const tiles_source *source, int64_t longest, tiles_view *v);
    /* Prepares everything else that products need, so that products allocate nothing. */
    tess_status (*prepare)(tess_context *ctx, const tiles_view *v);
    /* longest: bytes of the longest block row */
    tess_status (*spmv)(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args);
    /* As multiply_columns of a format; NULL in layouts that have none. */
    tess_status (*multiply_columns)(tess_context *ctx, const tiles_view *v, const tess_spmv_args *args);
} tiles_ops;

/* ---- for other ways to store tiles ---- */

#define TILES_CAPABILITIES                                                                                         \
    {                                                                                                              \
        .description = "square blocks, each in a precision of its own", .shorthand = "tcki",                       \
        .precisions = TESS_EVERY_PRECISION, .gpu_precisions = TESS_EVERY_PRECISION, .policies = TESS_EVERY_POLICY, \
        .granularities = 1U << TESS_GRANULARITY_BLOCK, .granularity = TESS_GRANULARITY_BLOCK,                      \
        .scales = 1U << TESS_GRANULARITY_BLOCK, .arithmetics = 1U << TESS_ARITHMETIC_FP64,                         \
        .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL, .takes_parts = 1, .takes_papers = 1,                          \
    }

/* Allocates `size` bytes that begin with a tiles_storage, of the caller's assignment or one made by the options'
   policy; nothing is stored yet. When it fails, *out is NULL or for tiles_free. */
tess_status tiles_begin(const tess_matrix *assembled, const tess_storage_options *options,
                        const tess_assignment *assignment, size_t size, tiles_storage **out);
void tiles_free(tess_context *ctx, tiles_storage *s, size_t size);
tiles_source tiles_source_of(const tiles_storage *s, const tess_matrix *assembled);
/* Measures and fills the records. */
tess_status tiles_make_records(const tess_matrix *assembled, const tiles_ops *ops, tiles_storage *s);
tess_status tiles_multiply_transposed(const tess_matrix *a, const tess_spmv_args *args);
const tess_assignment_summary *tiles_summary(const tess_matrix *a);
int64_t tiles_record_bytes(const tess_matrix *a);

/* Host copies of what is decoded. */
typedef struct tiles_copy {
    int64_t *row_ptr;
    uint32_t *start;
    char *record; /* these two: NULL unless records are asked for */
} tiles_copy;

/* row_ptr: gets the same, unless NULL. Also when it fails, tiles_copy_free releases what there is. */
tess_status tiles_copy_make(const tess_matrix *a, bool records, int64_t *row_ptr, tiles_copy *copy);
void tiles_copy_free(const tess_matrix *a, tiles_copy *copy);

/* ---- this one ---- */

extern const tiles_ops tiles_host_ops;
tess_status tiles_host_multiply_columns(tess_context *ctx, const tiles_view *v, const tess_spmv_args *args);
const tiles_ops *tiles_gpu_ops(void);
const tiles_ops *tiles_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
