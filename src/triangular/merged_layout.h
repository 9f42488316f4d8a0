/* SPDX-License-Identifier: Apache-2.0 */
/* How the rows of merged groups are laid out for blocks of threads. */
#ifndef TESS_TRIANGULAR_MERGED_LAYOUT_H
#define TESS_TRIANGULAR_MERGED_LAYOUT_H

#include "triangular/merge.h"
#include "triangular/merged.h"

/* A group's slices: rows by falling length. Slice s is of block (first_block + s) % blocks. */
typedef struct layout_group {
    int first_block;
    int shift;
} layout_group;

/* On the host. */
typedef struct merged_layout {
    const merged_rows *rows;
    int64_t groups; /* as they were when it was made: the rows may have been put into others since */
    int blocks;
    int64_t local, slot_bytes, record_bytes;
    tess_precision precision;
    bool wide;
    bool fits;           /* else nothing below is of use: a record would be too long, or a block's rows too many */
    layout_group *group; /* groups */
    int32_t *position;   /* n: positions in the order of the slices, group by group */
    uint32_t *place;     /* n: of a row: its block in the upper half, its number among the block's */
    int64_t *begin;      /* groups * blocks: where a block's records of a group begin */
    int32_t *row;        /* blocks * local */
    merged_stream *streams;
    char *records; /* record_bytes; NULL between merged_layout_release_records and the next fill */
} merged_layout;

/* Bytes that shared memory must have for blocks of `local` rows and records of that length. */
int64_t merged_shared_bytes(int64_t local, int64_t slot_bytes);
/* The most entries of a row that a record has space for, with so many rows a block. */
int64_t merged_longest_row(const merged_limits *limits, int64_t local, tess_precision precision, bool wide);

/* Lays out the rows for so many blocks; values and all. To be released, also on failure. */
tess_status merged_layout_make(tess_context *ctx, const merged_rows *rows, const merged_limits *limits, int blocks,
                               tess_precision precision, merged_layout *out);
/* The same with the rows' new values; indices and lengths are as they were. */
tess_status merged_layout_fill(tess_context *ctx, merged_layout *l);
void merged_layout_release_records(tess_context *ctx, merged_layout *l);
void merged_layout_release(tess_context *ctx, merged_layout *l);

#endif
