/* SPDX-License-Identifier: Apache-2.0 */
/* How the rows of merged groups are distributed over blocks of threads and laid out. */
#ifndef TESS_TRIANGULAR_MERGED_LAYOUT_H
#define TESS_TRIANGULAR_MERGED_LAYOUT_H

#include "triangular/merge.h"
#include "triangular/merged.h"

/* A group's slices: rows by falling length. Slice s belongs to block (first_block + s) % blocks. */
typedef struct layout_group {
    int first_block;
    int shift;
} layout_group;

/* On the host. */
typedef struct merged_layout {
    const merged_rows *rows;
    int64_t groups; /* numbers when it was made; the rows may have been exchanged since */
    int blocks;
    int64_t local, slot_bytes, record_bytes;
    tess_precision precision;
    bool wide;
    bool fits;           /* if not, nothing below is valid: a record would be too long, or a block's rows too many */
    layout_group *group; /* groups */
    int32_t *position;   /* n: positions in the order of the slices, group by group */
    uint32_t *place;     /* n: of a row: its block in the upper half, its number among the block's rows */
    int64_t *begin;      /* groups * blocks: where a block's records of a group begin */
    int32_t *row;        /* blocks * local */
    merged_stream *streams;
    char *records; /* record_bytes; NULL between merged_layout_release_records and the next fill */
} merged_layout;

/* Bytes of shared memory for blocks of `local` rows and records of that length. */
int64_t merged_shared_bytes(int64_t local, int64_t slot_bytes);
/* The most entries of a row for which a record has space, with so many rows per block. */
int64_t merged_longest_row(const merged_limits *limits, int64_t local, tess_precision precision, bool wide);

/* Lays out the rows for so many blocks, with their values. Release it, also after a failure. */
tess_status merged_layout_make(tess_context *ctx, const merged_rows *rows, const merged_limits *limits, int blocks,
                               tess_precision precision, merged_layout *out);
/* The same with new values of the rows; indices and lengths stay. */
tess_status merged_layout_fill(tess_context *ctx, merged_layout *l);
void merged_layout_release_records(tess_context *ctx, merged_layout *l);
void merged_layout_release(tess_context *ctx, merged_layout *l);

#endif
