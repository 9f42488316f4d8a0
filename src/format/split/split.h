/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split and composite storage (Tezcan et al. 2022): a short list of parts, each of one precision. All parts are CSR, or
 * each is in slices (ELLPACK-R, SELL-C-sigma) or, in layers, in diagonals.
 *
 * Row-wise: rows have positions, by level from the lowest precision to the highest, in their order within a level;
 * empty rows come last. Split: each level's rows are a matrix of their own (row_ptr from 0, columns, values).
 * Composite: there is one row_ptr and one array of columns for all rows, and a full copy of the values for each level;
 * parts are ranges of its rows. If there are empty rows, they are the last part, which has no arrays.
 *
 * In layers (split by entries or blocks): each level is a matrix over all rows, in their order, with the entries of
 * that level, or of the blocks of that level. Products add them row by row.
 */
#ifndef TESS_FORMAT_SPLIT_SPLIT_H
#define TESS_FORMAT_SPLIT_SPLIT_H

#include "format/csr/csr.h"
#include "format/dia/dia.h"
#include "format/ellr/ellr.h"
#include "policy/assignment.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPLIT_MAX_PARTS = TESS_MAX_LEVELS + 1 };

/* The input of the builder's functions: which entries of the assembled matrix go where. */
typedef struct split_source {
    const csr_view *csr;     /* assembled, FP64 */
    const uint8_t *level;    /* levels of rows; in layers, of entries */
    uint8_t *own_level;      /* by blocks: made of the blocks' levels, freed with the source; else NULL */
    const int16_t *exponent; /* of rows of the assembled matrix; NULL: none */
    bool without_diagonal;
} split_source;

/* The order of rows. All arrays are on the context's device. */
typedef struct split_order {
    int64_t nrows, filled; /* filled: rows with entries */
    int64_t begin[SPLIT_MAX_PARTS +
                  1];     /* first position of part p: lowest level first, empty rows last; begin[nparts] = nrows */
    int nparts;           /* with the empty rows, whether or not there are any */
    int32_t *row_of;      /* nrows: row of the assembled matrix at each position */
    int32_t *position_of; /* its inverse; NULL unless columns are renumbered */
} split_order;

/* Builds by level (row-wise) or by layers. `rows` lists `count` rows of the assembled matrix; NULL: all rows, in their
   order. */
typedef struct split_rows {
    const int32_t *rows;
    int64_t count;
    int entry_level; /* in layers: only entries of this level, of all rows; -1: all entries of the row */
} split_rows;

/* The arrays to make from the entries of a list; NULL: not this one. */
typedef struct split_target {
    void *row_ptr; /* copy_layers, with_offsets: the view's, to be written */
    int32_t *col_ind;
    const int32_t *position_of; /* columns are renumbered through it; NULL: they stay */
    void *val;                  /* of the view's precision */
    bool scaled;                /* over 2^exponent of the row; row-wise only */
} split_target;

/* A layer in slices or in diagonals: the view of its base is there. */
typedef struct split_layer {
    bool in_diagonals;
    ellr_view slices;
    dia_view diagonals;
} split_layer;

/* The functions of a backend that build, and that multiply layers of which some are diagonals. Arrays are on the
   context's device. */
typedef struct split_ops {
    /* level[k] of each entry: that of its block, `of_block` in the grid's order; TESS_LEVEL_NONE if the grid has none.
     */
    tess_status (*spread)(tess_context *ctx, const csr_view *csr, const block_grid *grid, const uint8_t *of_block,
                          uint8_t *level);
    /* row_of sorted by level, stable; begin and filled are known from the assignment. Also position_of, if it is not
       NULL. */
    tess_status (*order)(tess_context *ctx, const split_source *source, int nlevels, const split_order *order);
    /* row_ptr[count + 1] of view->row_ptr_bits from 0, for the listed rows. *nnz is its last element; computing it
       waits for the device, so nnz may be NULL. */
    tess_status (*offsets)(tess_context *ctx, const split_source *source, const split_rows *rows, int row_ptr_bits,
                           void *row_ptr, int64_t *nnz);
    /* Columns and values of the listed rows, in the order of the assembled row, to the places in to->row_ptr. */
    tess_status (*copy)(tess_context *ctx, const split_source *source, const split_rows *rows, const csr_view *to,
                        const split_target *target);
    /* In layers: nnz[l] = entries of level l. Waits for the device. */
    tess_status (*count_layers)(tess_context *ctx, const split_source *source, int nlevels, int64_t *nnz);
    /* The same copy in layers, of all levels in one pass over the matrix: entries of level l go to the places in
       to[l].row_ptr. With with_offsets they go to places from 0 on, and target[l].row_ptr gets these. Columns are
       copied for all levels or for none, and so are values. */
    tess_status (*copy_layers)(tess_context *ctx, const split_source *source, int nlevels, const csr_view *to,
                               const split_target *target, bool with_offsets);
    /* exponent[i] of the listed rows. */
    tess_status (*exponents)(tess_context *ctx, const split_source *source, const split_rows *rows, int16_t *exponent);
    /* 1 to TESS_MAX_LEVELS layers over all rows in their order, with all that split formats may need: one launch, one
       pass over the rows. Each sum goes through all layers. */
    tess_status (*spmv_layers)(tess_context *ctx, int count, const split_layer *layers, const tess_spmv_args *args);
} split_ops;

/* Multiplies by CSR parts in place of csr_ops; adds: they are layers, whose products are added. *done false: this
   product is not for it. */
typedef tess_status (*split_multiply)(tess_context *ctx, int count, const csr_part *parts, bool adds,
                                      const tess_spmv_args *args, bool *done);

/* Another way to multiply (SPLIT_PRODUCT in registry/papers.def). */
typedef struct split_product {
    bool (*is_asked_for)(const tess_storage_options *options);
    split_multiply (*find)(const tess_context *ctx); /* NULL: the device has none */
} split_product;

/* That of the options, or NULL. */
split_multiply split_find_product(const tess_context *ctx, const tess_storage_options *options);

typedef struct split_storage {
    tess_storage_options options;
    tess_assignment_summary summary;
    const tess_assignment *assignment; /* kept to renew values; its levels by row, entry or block */
    tess_assignment *own_assignment;   /* the same, where it is not the caller's */
    bool composite, layered;           /* layered: parts are layers, each over all rows */
    tess_format base[SPLIT_MAX_PARTS]; /* of each part: csr for all parts or for none, dia only in layers */
    split_order order;
    int16_t *exponent; /* by position; NULL: none is scaled */
    /* CSR. Split: parts own their arrays. Composite: they share row_ptr, col_ind and the copies. */
    csr_view whole;                 /* composite: all filled rows, values of level 0 */
    void *values[SPLIT_MAX_PARTS];  /* split over csr: the values of each part, to be written */
    void *copies[TESS_MAX_LEVELS];  /* composite: nnz values for each level */
    csr_part part[SPLIT_MAX_PARTS]; /* in layers: one for each level, high to low */
    ellr_view slices[SPLIT_MAX_PARTS];
    dia_view diagonals[SPLIT_MAX_PARTS];
    void *slice_copies[SPLIT_MAX_PARTS][TESS_MAX_LEVELS]; /* composite over ellr: values of part p at level l */
    int nparts;
    int64_t nrows, ncols;
    /* Made by prepare, if products may need them. */
    bool prepared;
    float *x_shadow;         /* ncols values: x rounded, for products in FP32 with a vector that has no shadow */
    split_multiply multiply; /* over csr; NULL: products are those of csr_ops */
    csr_layers *layers;      /* over csr: the plan of the layers with entries, if there are several */
} split_storage;

/* The base of a level's part. For a level beyond the last, that of the last. */
tess_format split_level_base(const split_storage *s, int level);

/* Both formats over a backend's functions, in split_format.c. */
/* The same with an assignment of the caller, which is borrowed; NULL: made from options->policy. */
tess_status split_refresh(const tess_matrix *assembled, void *storage);
tess_status split_prepare(const tess_matrix *a);
tess_status split_spmv(const tess_matrix *a, const tess_spmv_args *args);
bool split_takes_columns(const tess_matrix *a, bool steps);
tess_status split_multiply_columns(const tess_matrix *a, const tess_spmv_args *args);
tess_status split_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val);

extern const split_ops split_host_ops;
tess_status split_host_spmv_layers(tess_context *ctx, int count, const split_layer *layers, const tess_spmv_args *args);
const split_ops *split_gpu_ops(void);
const split_ops *split_ops_of(const tess_context *ctx);
tess_status split_gpu_spread(tess_context *ctx, const csr_view *csr, const block_grid *grid, const uint8_t *of_block,
                             uint8_t *level);
tess_status split_gpu_spmv_layers(tess_context *ctx, int count, const split_layer *layers, const tess_spmv_args *args);

#ifdef __cplusplus
}
#endif

#endif
