/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BSR: block rows of `height` neighbouring rows. A block row has the blocks of `width` columns that hold an entry, in
 * ascending order; each has one column index, that of its first column, and its values together, column after column.
 * A place without an entry holds 0, and a mask tells it from an entry: it is never added, not even as 0 times NaN. The
 * real form of a complex matrix has two values a block: re and im. README.md has a picture.
 *
 * Matrices of a caller have square blocks. bsr_make_nodes also makes others, for the levels of multigrid.
 */
#ifndef TESS_FORMAT_BSR_BSR_H
#define TESS_FORMAT_BSR_BSR_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/matrix.h>

#include "base/device.h"
#include "format/csr/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BSR_LEAST_BLOCK = 2,
    BSR_MOST_BLOCK = 6,
    BSR_STRIP = 32, /* rows of complex numbers that a wave takes together */
    BSR_BEYOND = 2  /* values beyond the last block, which vectors of the host read after blocks of 2 and 3 rows */
};

/* The view for kernels: arrays in the memory of the backend that runs it. */
typedef struct bsr_view {
    int64_t nrows, ncols, nnz; /* of the matrix that it was made of */
    int64_t nblock_rows, nblocks;
    int height, width; /* rows and columns of a block */
    bool is_complex;   /* re and im alone: the block is [[re, -im], [im, re]] */
    void *row_ptr;     /* nblock_rows + 1 offsets of row_ptr_bits: block row i has the blocks from row_ptr[i] on */
    int row_ptr_bits;
    /* nblocks first columns: width * the block's number, but at most ncols - width, so that products read no x beyond
       the end. 0 where the matrix is narrower than a block: then all products go by the masks. With column_bits 16 they
       are relative to the first row of the block row, or of its strip (bsr_narrow_origin). */
    void *column;
    int column_bits; /* 16 if all fit, else 32 */
    void *mask; /* nblocks masks of bsr_mask_bytes(height): bit c * height + r for an entry; NULL: every place is one */
    void *val;  /* bsr_values(v) values of a block after another */
    tess_precision precision;
    tess_arithmetic arithmetic;
    /* GPU: threads that share a block row, a power of two; and the block rows longer than a segment, with the first
       segment of each and the sums of all segments, `height` each. */
    int group;
    int64_t nlong, nsegments;
    int32_t *long_row, *long_segment; /* nlong, nlong + 1 */
    double *segment_sum;
} bsr_view;

typedef struct bsr_storage {
    bsr_view view;
} bsr_storage;

/* The functions of a backend. All arrays of the view exist, except the one that a function makes. */
typedef struct bsr_ops {
    /* Blocks of `block` rows and columns that hold an entry, and the entries, in a sample (bsr_is_sampled). */
    tess_status (*count_blocks)(tess_context *ctx, const csr_view *csr, int block, int64_t stride, int64_t *blocks,
                                int64_t *entries);
    /* The most that a first column is away from the first row of its block row. */
    tess_status (*measure_reach)(tess_context *ctx, const csr_view *csr, int block, int64_t *reach);
    /* Fills row_ptr, and counts all blocks. */
    tess_status (*fill_offsets)(tess_context *ctx, const csr_view *csr, const bsr_view *v, int64_t *nblocks);
    /* Fills column, and mask if there is one. */
    tess_status (*fill_columns)(tess_context *ctx, const csr_view *csr, const bsr_view *v);
    tess_status (*fill_values)(tess_context *ctx, const csr_view *csr, const bsr_view *v);
    /* Host arrays in CSR order; either may be NULL. */
    tess_status (*decode)(tess_context *ctx, const csr_view *csr, const bsr_view *v, int32_t *col_ind, double *val);
    /* Makes what products need besides: group, and the segments of long rows. */
    tess_status (*plan)(tess_context *ctx, bsr_view *v);
    tess_status (*prepare)(tess_context *ctx, const bsr_view *v);
    tess_status (*spmv)(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args);
    /* As multiply_columns of a format. */
    tess_status (*multiply_columns)(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args);
} bsr_ops;

/* The functions for the context's device. */
const bsr_ops *bsr_ops_of(const tess_context *ctx);

/*
 * A matrix with the pattern of an assembled one, for products alone: blocks of height x width, 2 to 6 each, of which
 * nrows and ncols are multiples. Places without an entry are zeros like others: there are no masks. If the pattern has
 * values, *out gets them; else all are 0. *out is NULL if it would take more than most_bytes or pad too much.
 */
typedef struct bsr_nodes {
    int height, width;
    tess_precision precision;
    tess_arithmetic arithmetic;
    int64_t most_bytes;
} bsr_nodes;

tess_status bsr_make_nodes(const tess_matrix *pattern, const bsr_nodes *nodes, tess_matrix **out);

extern const bsr_ops bsr_host_ops;
tess_status bsr_host_count_blocks(tess_context *ctx, const csr_view *csr, int block, int64_t stride, int64_t *blocks,
                                  int64_t *entries);
tess_status bsr_host_measure_reach(tess_context *ctx, const csr_view *csr, int block, int64_t *reach);
tess_status bsr_host_fill_offsets(tess_context *ctx, const csr_view *csr, const bsr_view *v, int64_t *nblocks);
tess_status bsr_host_fill_columns(tess_context *ctx, const csr_view *csr, const bsr_view *v);
tess_status bsr_host_fill_values(tess_context *ctx, const csr_view *csr, const bsr_view *v);
tess_status bsr_host_decode(tess_context *ctx, const csr_view *csr, const bsr_view *v, int32_t *col_ind, double *val);
tess_status bsr_host_multiply_columns(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args);
const bsr_ops *bsr_gpu_ops(void);
tess_status bsr_gpu_count_blocks(tess_context *ctx, const csr_view *csr, int block, int64_t stride, int64_t *blocks,
                                 int64_t *entries);
tess_status bsr_gpu_measure_reach(tess_context *ctx, const csr_view *csr, int block, int64_t *reach);
tess_status bsr_gpu_fill_offsets(tess_context *ctx, const csr_view *csr, const bsr_view *v, int64_t *nblocks);
tess_status bsr_gpu_fill_columns(tess_context *ctx, const csr_view *csr, const bsr_view *v);
tess_status bsr_gpu_fill_values(tess_context *ctx, const csr_view *csr, const bsr_view *v);
tess_status bsr_gpu_decode(tess_context *ctx, const csr_view *csr, const bsr_view *v, int32_t *col_ind, double *val);
tess_status bsr_gpu_plan(tess_context *ctx, bsr_view *v);

#ifdef __cplusplus
}
#endif

#endif
