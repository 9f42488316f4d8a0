/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed: slices of 32 rows. An entry has no column index of its own: the k-th entries of the rows of a slice share one
 * base column, and each has an offset of 0 to 4 bytes from it, as many as the widest of them needs. Entries are in the
 * order of their precision's level, so that a product reads each level once and writes y once. There is no padding.
 * Long rows are cut into segments, which are slices too: of 32 pieces of one row. README.md has a picture.
 */
#ifndef TESS_FORMAT_PACKED_PACKED_H
#define TESS_FORMAT_PACKED_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/policy.h>

#include "base/device.h"
#include "format/csr/csr.h"
#include "matrix/format.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACKED_SLICE = 32,       /* rows */
    PACKED_UNIT = 32,        /* bytes: records and the values of a level begin at multiples of it */
    PACKED_PIECE = 32,       /* most entries of a piece of a long row */
    PACKED_MOST_PLACES = 255 /* entries of a row that is not long */
};

/* Where the entries of a slice at a level are, and what they are like (packed_slices.h). */
typedef struct packed_section {
    uint32_t start; /* in units of the records */
    uint32_t word;
} packed_section;

/*
 * The view for kernels: arrays in the memory of the backend that runs it. A slice has a section for each level, which
 * is empty or, in `record`,
 *   unless each row has as many entries as the others: the number of each row's (32 bytes);
 *   a base column for each place (4 bytes each, up to a multiple of 16);
 *   where places differ in that: the bytes of an offset at each (1 byte each);
 *   from a multiple of PACKED_UNIT on: the values, place after place, without padding;
 *   the offsets, place after place, each from a multiple of 4 on.
 */
typedef struct packed_view {
    int64_t nrows, ncols, nnz;
    int64_t nslices;   /* of rows */
    int64_t nlong;     /* long rows */
    int64_t nsegments; /* of long rows: slices of pieces of them */
    int longest;       /* entries of the longest row that is not long */
    int nlevels;
    tess_precision precision[TESS_MAX_LEVELS];
    int only; /* the one level that has entries; -1: several have */
    tess_arithmetic arithmetic;
    const packed_section *section; /* those of a slice together: nlevels; after the slices those of segments */
    const char *record;
    int64_t units;
    const int32_t *long_row;     /* nlong rows, ascending */
    const int32_t *long_segment; /* nlong + 1: the first segment of each */
    double *segment_sum;         /* nsegments; products write it */
} packed_view;

typedef struct packed_storage {
    packed_view view;
    packed_section *section; /* view.section and view.record, to be written */
    char *record;
    const tess_assignment *assignment; /* kept to renew values */
    tess_assignment *own_assignment;   /* the same, if it is not the caller's */
    tess_assignment_summary summary;
} packed_storage;

/* The input of a builder. */
typedef struct packed_source {
    const csr_view *csr;  /* assembled, FP64 */
    const uint8_t *level; /* of entries; NULL: all at level `whole` */
    int whole;
} packed_source;

/* The functions of a backend. */
typedef struct packed_ops {
    /* Fills the sections; *units: of all of them. */
    tess_status (*measure)(tess_context *ctx, const packed_source *source, const packed_view *v,
                           packed_section *section, int64_t *units);
    /* Writes the entries; bytes that nothing is in stay as they are. */
    tess_status (*fill)(tess_context *ctx, const packed_source *source, const packed_view *v, char *record);
    /* Host arrays in CSR order; either may be NULL. */
    tess_status (*decode)(tess_context *ctx, const packed_source *source, const packed_view *v, int32_t *col_ind,
                          double *val);
    /* Prepares everything else that products need, so that products allocate nothing. */
    tess_status (*prepare)(tess_context *ctx, const packed_view *v);
    tess_status (*spmv)(tess_context *ctx, const packed_view *v, const tess_spmv_args *args);
} packed_ops;

extern const packed_ops packed_host_ops;
tess_status packed_host_measure(tess_context *ctx, const packed_source *source, const packed_view *v,
                                packed_section *section, int64_t *units);
tess_status packed_host_fill(tess_context *ctx, const packed_source *source, const packed_view *v, char *record);
tess_status packed_host_decode(tess_context *ctx, const packed_source *source, const packed_view *v, int32_t *col_ind,
                               double *val);
const packed_ops *packed_gpu_ops(void);
tess_status packed_gpu_measure(tess_context *ctx, const packed_source *source, const packed_view *v,
                               packed_section *section, int64_t *units);
tess_status packed_gpu_fill(tess_context *ctx, const packed_source *source, const packed_view *v, char *record);
tess_status packed_gpu_decode(tess_context *ctx, const packed_source *source, const packed_view *v, int32_t *col_ind,
                              double *val);
const packed_ops *packed_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
