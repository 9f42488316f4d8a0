/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the sources of split and composite storage; no backend needs it. */
#ifndef TESS_FORMAT_SPLIT_SPLIT_PARTS_H
#define TESS_FORMAT_SPLIT_SPLIT_PARTS_H

#include "format/split/split.h"

/* The rows and level of a part. */
typedef struct split_shape {
    split_rows rows;
    int64_t begin; /* its first row's position */
    int64_t nnz;
    int level;
    bool empty; /* the part of empty rows, which has no arrays */
} split_shape;
split_shape split_shape_of(const split_storage *s, int part);

/* Whether the parts are CSR; then all are. */
bool split_is_csr(const split_storage *s);
/* Whether values at a level are stored over their row's scale. */
bool split_is_scaled(const split_storage *s, int level);
/* Whether kernels look up the row of y of each row. */
bool split_scatters(const split_storage *s);
/* The input of builders. By blocks, the entries' levels are made here, and split_close_source frees them. */
tess_status split_open_source(const split_storage *s, const tess_matrix *assembled, split_source *out);
void split_close_source(tess_context *ctx, split_source *source);

/* The part's view without arrays: sizes, precision, rows of y, scales. */
csr_view split_bare_view(const split_storage *s, const split_shape *shape);
/* Whether the options name one base for all parts. */
bool split_has_one_base(const tess_storage_options *o);
/* Writes row offsets of the part to v->row_ptr. The caller releases them by csr_release_view. */
tess_status split_make_offsets(tess_context *ctx, const split_storage *s, const split_source *source,
                               const split_rows *rows, csr_view *v);

/* Slices of part p with the values of a level: its own, or, for a composite, any. */
ellr_view split_slices_at(const split_storage *s, int p, int level);

/* Makes the parts of a storage whose order is known. After a failure split_release_parts frees what exists. */
tess_status split_build_parts(const tess_matrix *assembled, split_storage *s);
/* Bytes of the parts, without the arrays that order and scale rows. */
int64_t split_parts_bytes(const split_storage *s);
void split_release_parts(tess_context *ctx, split_storage *s);

#endif
