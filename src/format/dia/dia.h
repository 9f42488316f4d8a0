/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIA: the diagonals that hold an entry, in ascending order of column minus row, so that a row has its entries in the
 * order of their columns. Each diagonal has a place for every row: that of row i of diagonal d is d * stride + i of
 * val. If the matrix fills a diagonal, its range of columns tells which places are entries; a diagonal with holes has a
 * bitmap. A place that is not an entry is never added: not even 0 times NaN. README.md has a picture.
 */
#ifndef TESS_FORMAT_DIA_DIA_H
#define TESS_FORMAT_DIA_DIA_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/matrix.h>

#include "base/device.h"
#include "format/csr/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment of each diagonal in bytes; rows per word of a bitmap, and bits per word of marks. */
enum { DIA_ALIGNMENT = 128, DIA_WORD = 32 };
/* Rows that the host sums at a time. */
enum { DIA_HOST_ROWS = 1024 };

typedef struct dia_diagonal {
    int32_t offset; /* column minus row */
    int32_t bitmap; /* number of its bitmap; -1: every place within the matrix is an entry */
} dia_diagonal;

/* The view for kernels: arrays in the memory of the backend that runs it. */
typedef struct dia_view {
    int64_t nrows, ncols, nnz;
    int64_t ndiagonals, nbitmaps;
    int64_t stride; /* places of a diagonal: nrows, rounded up so that its values fill a multiple of DIA_ALIGNMENT bytes
                     */
    int64_t words;  /* of a bitmap: nrows / DIA_WORD, rounded up */
    dia_diagonal *diagonal;
    uint32_t
        *bitmap; /* nbitmaps * words; bit i % DIA_WORD of word i / DIA_WORD: row i has an entry; 0 beyond the matrix */
    void *val;   /* ndiagonals * stride values of `precision`; 0 where there is no entry */
    tess_precision precision;
    tess_arithmetic arithmetic;
} dia_view;

typedef struct dia_storage {
    dia_view view;
} dia_storage;

/* The functions of a backend. All arrays are in its memory. The arrays of the view exist, except the one that a
   function makes. */
typedef struct dia_ops {
    /* Sets bit column - row + nrows - 1 of `marks` for each entry; the marks are 0 before. */
    tess_status (*mark)(tess_context *ctx, const csr_view *csr, uint32_t *marks);
    /* The number of set bits in `words` words. */
    tess_status (*count_marks)(tess_context *ctx, int64_t words, const uint32_t *marks, int64_t *count);
    /* Makes a list of diagonals from the marks; v->diagonal has space for all of them. */
    tess_status (*list_marks)(tess_context *ctx, int64_t words, const uint32_t *marks, const dia_view *v);
    /* Adds to entries[d] the number of entries of diagonal d; the counts are 0 before. */
    tess_status (*count_entries)(tess_context *ctx, const csr_view *csr, const dia_view *v, uint32_t *entries);
    tess_status (*fill_bitmaps)(tess_context *ctx, const csr_view *csr, const dia_view *v);
    tess_status (*fill_values)(tess_context *ctx, const csr_view *csr, const dia_view *v);
    /* Host arrays in CSR order; either may be NULL. */
    tess_status (*decode)(tess_context *ctx, const csr_view *csr, const dia_view *v, int32_t *col_ind, double *val);
    tess_status (*prepare)(tess_context *ctx, const dia_view *v);
    tess_status (*spmv)(tess_context *ctx, const dia_view *v, const tess_spmv_args *args);
    /* As multiply_columns of a format. */
    tess_status (*multiply_columns)(tess_context *ctx, const dia_view *v, const tess_spmv_args *args);
    bool columns_take_steps; /* FP32 vectors, and steps of a polynomial */
} dia_ops;

/* ---- views, as layers of other formats ---- */

/*
 * Diagonals of `rows`, whose values are FP64 (val NULL: the caller sets all of them): all rows of a matrix in their
 * order, with any subset of its entries.
 * options: precision, arithmetic, max_padding. On failure *out is not written. Errors as for conversion.
 */
tess_status dia_build_view(tess_context *ctx, const csr_view *rows, const tess_storage_options *options, dia_view *out);
void dia_release_view(tess_context *ctx, dia_view *v);
/* Bytes of the arrays that the view owns. */
int64_t dia_view_bytes(const dia_view *v);
/* The functions for the context's device. */
const dia_ops *dia_ops_of(const tess_context *ctx);

extern const dia_ops dia_host_ops;
tess_status dia_host_mark(tess_context *ctx, const csr_view *csr, uint32_t *marks);
tess_status dia_host_count_marks(tess_context *ctx, int64_t words, const uint32_t *marks, int64_t *count);
tess_status dia_host_list_marks(tess_context *ctx, int64_t words, const uint32_t *marks, const dia_view *v);
tess_status dia_host_count_entries(tess_context *ctx, const csr_view *csr, const dia_view *v, uint32_t *entries);
tess_status dia_host_fill_bitmaps(tess_context *ctx, const csr_view *csr, const dia_view *v);
tess_status dia_host_fill_values(tess_context *ctx, const csr_view *csr, const dia_view *v);
tess_status dia_host_decode(tess_context *ctx, const csr_view *csr, const dia_view *v, int32_t *col_ind, double *val);
/* Adds the products of rows first .. first + count - 1, at most DIA_HOST_ROWS of them, to sum[0 .. count - 1]. Sums are
   in FP64; products too, except that low arithmetic computes them in FP32. */
void dia_host_add_rows(const dia_view *v, const tess_spmv_args *args, int64_t first, int count, double *sum);
const dia_ops *dia_gpu_ops(void);
tess_status dia_gpu_mark(tess_context *ctx, const csr_view *csr, uint32_t *marks);
tess_status dia_gpu_count_marks(tess_context *ctx, int64_t words, const uint32_t *marks, int64_t *count);
tess_status dia_gpu_list_marks(tess_context *ctx, int64_t words, const uint32_t *marks, const dia_view *v);
tess_status dia_gpu_count_entries(tess_context *ctx, const csr_view *csr, const dia_view *v, uint32_t *entries);
tess_status dia_gpu_fill_bitmaps(tess_context *ctx, const csr_view *csr, const dia_view *v);
tess_status dia_gpu_fill_values(tess_context *ctx, const csr_view *csr, const dia_view *v);
tess_status dia_gpu_decode(tess_context *ctx, const csr_view *csr, const dia_view *v, int32_t *col_ind, double *val);

#ifdef __cplusplus
}
#endif

#endif
