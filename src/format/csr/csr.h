/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed sparse rows. Row i owns entries row_ptr[i] .. row_ptr[i + 1] - 1 of col_ind and val; columns ascend within a
 * row and are unique. Offsets are 32 bits when nnz < 2^31, else 64.
 */
#ifndef TESS_FORMAT_CSR_CSR_H
#define TESS_FORMAT_CSR_CSR_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/matrix.h>

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel sees: arrays in the memory of the backend that runs it. */
typedef struct csr_view {
    int64_t nrows, ncols, nnz;
    const void *row_ptr; /* nrows + 1 offsets of row_ptr_bits */
    const int32_t *col_ind;
    const void *val;  /* nnz values of `precision` */
    int row_ptr_bits; /* 32 or 64 */
    tess_precision precision;
    /*
     * Where the view is a part of a matrix that is stored in a row order of its own (src/format/split): the row of y of each
     * row, and what its stored values are over. A part may begin amid the arrays it shares with others: row_ptr[0] > 0 then.
     * row_ptr NULL: all rows are empty.
     */
    const int32_t *row_of; /* NULL: row i is row_shift + i of y */
    int64_t row_shift;
    const int16_t *exponent; /* of a row's scale: its values are stored over 2^exponent; NULL: none has one */
    bool unsorted;           /* columns were renumbered, and do not ascend within a row */
} csr_view;

/* The plan of the SpMV, made once per pattern by the backend: what is run where. */
typedef struct csr_plan csr_plan;

/* A CSR matrix on one context's device. */
typedef struct csr_storage {
    csr_view view;
    bool owns_index, owns_values; /* whether row_ptr and col_ind, or val, are freed with it */
    csr_plan *plan;               /* of the pattern; NULL until it is needed */
    bool owns_plan;
    struct csr_storage *transpose; /* made at the first transposed product; NULL before */
    int64_t *transpose_source;     /* on the device: entry of val behind each entry of the transpose */
    uint64_t values_version;       /* of the original's values that are stored here */
} csr_storage;

/* One of at most TESS_MOST_LEVELS + 1 parts of a matrix. */
typedef struct csr_part {
    csr_view view;
    const csr_plan *plan;
} csr_part;

/*
 * The plan of a product by layers. Layers are 2 to TESS_MOST_LEVELS parts over all rows of a matrix and in their order, of different
 * precisions, without scales, each with offsets from 0; the matrix is their sum.
 */
typedef struct csr_layers csr_layers;

/* What a backend supplies for CSR. */
typedef struct csr_backend {
    /* Plans of `count` matrices, or of as many parts of one, at most TESS_MOST_LEVELS + 1; NULL all of them on failure. */
    tess_status (*make_plans)(tess_context *ctx, int count, const csr_view *const *views, csr_plan **out);
    void (*free_plan)(tess_context *ctx, csr_plan *plan);
    tess_status (*spmv)(tess_context *ctx, const csr_view *view, const csr_plan *plan, const tess_spmv_args *args);
    /* What products by parts need beyond the parts' plans, once these are made; NULL: nothing. It belongs to the first plan. */
    tess_status (*prepare_parts)(tess_context *ctx, int count, const csr_part *parts);
    /* The product of a matrix in parts, which own disjoint rows of y. All offsets have the same width. */
    tess_status (*spmv_parts)(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args);
    /* NULL on failure. */
    tess_status (*make_layers)(tess_context *ctx, int count, const csr_view *layers, csr_layers **out);
    void (*free_layers)(tess_context *ctx, csr_layers *plan);
    /* The product of a matrix in layers, in one pass over its rows: sums go from layer to layer. All offsets have the same width. */
    tess_status (*spmv_layers)(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                               const tess_spmv_args *args);
    /* values[k] = source[from[k]] for k < n */
    tess_status (*gather)(tess_context *ctx, int64_t n, const double *source, const int64_t *from, double *values);
    /* *bad_row: first row with an offset out of order, a column out of range, unsorted or duplicate; -1 when none */
    tess_status (*check)(tess_context *ctx, const csr_view *view, int64_t *bad_row);
} csr_backend;

/* The CSR format over a backend's functions, in csr_format.c. */
tess_status csr_build(const tess_matrix *assembled, const tess_storage_options *options, void **storage);
tess_status csr_refresh(const tess_matrix *assembled, void *storage);
void csr_destroy(tess_context *ctx, void *storage);
tess_status csr_prepare(const tess_matrix *a);
tess_status csr_spmv(const tess_matrix *a, const tess_spmv_args *args);
tess_status csr_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val);
int64_t csr_bytes(const tess_matrix *a);

/* The functions for the context's device. */
const csr_backend *csr_backend_of(const tess_context *ctx);
extern const csr_backend csr_host;
extern const tess_format_ops csr_host_ops;
#if TESS_HAVE_GPU
const csr_backend *csr_gpu(void);
const tess_format_ops *csr_gpu_ops(void);
#endif

/* Frees the arrays of a view that were allocated on the context's device. */
void csr_release_view(tess_context *ctx, const csr_view *view);
/* Assembled matrix over a view on the context's device; owned: its arrays are taken, also on failure. */
tess_status tess_matrix_from_view(tess_context *ctx, const csr_view *view, bool owned, tess_matrix **out);
/* Assembled matrix on the device from host arrays, which stay the caller's. */
tess_status tess_matrix_upload_csr(tess_context *ctx, const csr_view *host, tess_matrix **out);

/* The storage of an assembled or converted CSR matrix. */
const csr_storage *csr_of(const tess_matrix *a);

#ifdef __cplusplus
}
#endif

#endif
