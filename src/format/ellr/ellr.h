/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELLPACK-R and SELL-C-sigma: one layout. Rows have positions; ELLR_SLICE neighbouring positions are a slice. A slice
 * has a width, that of its longest row (ellr: of the matrix's longest row), and stores entry k of lane l at k *
 * ELLR_SLICE + l. Products stop at each row's own length: padding is never multiplied. The two halves of a slice's rows
 * alternate: lane 2 i + h has row 32 h + i of the slice. So a thread that loads two lanes at once has rows 32 apart,
 * and the threads of a wave load neighbouring elements of x and write neighbouring elements of y. README.md has a
 * picture.
 */
#ifndef TESS_FORMAT_ELLR_ELLR_H
#define TESS_FORMAT_ELLR_ELLR_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/policy.h>

#include "base/device.h"
#include "format/csr/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C of SELL-C-sigma on every backend: one wave of AMD, two rows for each thread of an NVIDIA warp. */
enum { ELLR_SLICE = 64, ELLR_LARGEST_WINDOW = 4096, ELLR_MAX_PARTS = TESS_MAX_LEVELS + 1 };

/* One slice. Places are counted in units of ELLR_SLICE values and of ELLR_SLICE 16-bit words of columns. */
typedef struct ellr_slice {
    uint32_t first_value, first_column;
    uint32_t width; /* entries of its longest row; for uniform slices, of the matrix's longest row */
    uint32_t flags;
} ellr_slice;
enum {
    ELLR_PERMUTED = 1, /* its rows are not in their order */
    ELLR_WIDE = 2      /* columns are 32 bits and absolute; else 16 bits, relative to the row */
};

/* The view for kernels: arrays in the memory of the backend that runs it. */
typedef struct ellr_view {
    int64_t nrows, ncols, nnz, nslices;
    ellr_slice *slice; /* nslices */
    void *length;      /* nslices * ELLR_SLICE row lengths of length_bits; 0 beyond the last row */
    int16_t *order;    /* row minus position, for each position of permuted slices; NULL: there is none */
    void *column;      /* column_units * ELLR_SLICE 16-bit words */
    void *val;         /* value_units * ELLR_SLICE values of `precision` */
    int64_t value_units, column_units;
    int length_bits;       /* 8 if no row is longer than 255, else 32 */
    int32_t uniform_width; /* > 0: all slices have this width, their rows in order, narrow columns, and follow one
                              another: their headers need not be read */
    tess_precision precision;
    tess_arithmetic arithmetic;
    /* As in csr_view, for the CSR rows that the slices were made of; borrowed. Narrow columns are relative to the row
       of y. A part of empty rows has nslices 0 and no arrays; only products by parts know it, and these three fields.
       */
    const int32_t *row_of; /* NULL: row i is row_shift + i of y */
    int64_t row_shift;
    const int16_t *exponent; /* NULL: values are stored as they are */
} ellr_view;

typedef struct ellr_storage {
    ellr_view view;
} ellr_storage;

/* How to arrange the rows, and the result. */
typedef struct ellr_arrangement {
    int64_t window;       /* in: rows of a sorting window, a multiple of ELLR_SLICE; 0: rows keep their order */
    int32_t common_width; /* in: the space of every slice, in entries per row; -1: its own width */
    bool uniform;         /* in: the common width is also the width of every slice */
    int64_t entries;      /* out: stored entries, padding included, in rows that exist */
    int64_t permuted;     /* out: windows whose rows are not in their order */
    int64_t value_units, column_units;
} ellr_arrangement;

/* The functions of a backend. All arrays of the view exist, except those whose size the previous function tells. */
typedef struct ellr_ops {
    tess_status (*longest_row)(tess_context *ctx, const csr_view *csr, int32_t *longest);
    /* Fills slice, length and order. */
    tess_status (*arrange)(tess_context *ctx, const csr_view *csr, const ellr_view *v, ellr_arrangement *arrangement);
    tess_status (*fill_columns)(tess_context *ctx, const csr_view *csr, const ellr_view *v);
    tess_status (*fill_values)(tess_context *ctx, const csr_view *csr, const ellr_view *v);
    /* Host arrays in CSR order; either may be NULL. */
    tess_status (*decode)(tess_context *ctx, const csr_view *csr, const ellr_view *v, int32_t *col_ind, double *val);
    tess_status (*prepare)(tess_context *ctx, const ellr_view *v);
    tess_status (*spmv)(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args);
    /* The same for a matrix in at most ELLR_MAX_PARTS parts, which own disjoint rows of y, with all that split and
       composite formats may need: one launch. Precisions and scales may differ between parts. */
    tess_status (*spmv_parts)(tess_context *ctx, int count, const ellr_view *views, const tess_spmv_args *args);
    /* The same for 2 to TESS_MAX_LEVELS layers: slices of all rows in their order (window 1), each for other entries,
       without scales. One pass over the rows: each sum goes through all layers. */
    tess_status (*spmv_layers)(tess_context *ctx, int count, const ellr_view *layers, const tess_spmv_args *args);
    /* As multiply_columns of a format; also of a part or layer, without reduction. */
    tess_status (*multiply_columns)(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args);
    bool columns_take_steps; /* FP32 vectors, and steps of a polynomial */
} ellr_ops;

/* ---- views, as parts of other formats ---- */

/*
 * Slices of the rows of `rows`, whose values are FP64 and whose offsets may begin above 0; rows->nnz counts only the
 * entries of these rows. options: format (ELLR: space for the longest of these rows; SELL), precision, arithmetic,
 * window, max_padding. If rows->exponent is not NULL, values are stored over 2^exponent. row_of and exponent are
 * borrowed for the life of the view. row_ptr NULL: a view of empty rows; val NULL: the caller sets values, where there
 * are entries. On failure *out is not written. Errors as for conversion.
 */
tess_status ellr_build_view(tess_context *ctx, const csr_view *rows, const tess_storage_options *options,
                            ellr_view *out);
void ellr_release_view(tess_context *ctx, ellr_view *v);
/* Bytes of the arrays that the view owns. */
int64_t ellr_view_bytes(const ellr_view *v);
/* Renews v->val from the rows that the view was made of. */
tess_status ellr_fill_values(tess_context *ctx, const csr_view *rows, const ellr_view *v);
/* Values in another precision over the same slices, over rows->exponent if `scaled`. A copy of the view with these
   three fields (precision, exponent, val) multiplies with them; ellr_fill_values renews them through it. Empty rows:
   *val is NULL. */
tess_status ellr_make_values(tess_context *ctx, const csr_view *rows, const ellr_view *slices, tess_precision precision,
                             bool scaled, void **val);
void ellr_release_values(tess_context *ctx, const ellr_view *slices, tess_precision precision, void *val);
/* The functions for the context's device. */
const ellr_ops *ellr_ops_of(const tess_context *ctx);

extern const ellr_ops ellr_host_ops;
tess_status ellr_host_longest_row(tess_context *ctx, const csr_view *csr, int32_t *longest);
tess_status ellr_host_arrange(tess_context *ctx, const csr_view *csr, const ellr_view *v,
                              ellr_arrangement *arrangement);
tess_status ellr_host_fill_columns(tess_context *ctx, const csr_view *csr, const ellr_view *v);
tess_status ellr_host_fill_values(tess_context *ctx, const csr_view *csr, const ellr_view *v);
tess_status ellr_host_decode(tess_context *ctx, const csr_view *csr, const ellr_view *v, int32_t *col_ind, double *val);
/* Adds the sums of slice s of a layer, whose rows are in their order, to sum[0 .. ELLR_SLICE - 1], by lanes. */
void ellr_host_add_slice(const ellr_view *v, const tess_spmv_args *args, int64_t s, double *sum);
tess_status ellr_host_multiply_columns(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args);
const ellr_ops *ellr_gpu_ops(void);
tess_status ellr_gpu_longest_row(tess_context *ctx, const csr_view *csr, int32_t *longest);
tess_status ellr_gpu_arrange(tess_context *ctx, const csr_view *csr, const ellr_view *v, ellr_arrangement *arrangement);
tess_status ellr_gpu_fill_columns(tess_context *ctx, const csr_view *csr, const ellr_view *v);
tess_status ellr_gpu_fill_values(tess_context *ctx, const csr_view *csr, const ellr_view *v);
tess_status ellr_gpu_decode(tess_context *ctx, const csr_view *csr, const ellr_view *v, int32_t *col_ind, double *val);
tess_status ellr_gpu_spmv_parts(tess_context *ctx, int count, const ellr_view *views, const tess_spmv_args *args);
tess_status ellr_gpu_spmv_layers(tess_context *ctx, int count, const ellr_view *layers, const tess_spmv_args *args);

#ifdef __cplusplus
}
#endif

#endif
