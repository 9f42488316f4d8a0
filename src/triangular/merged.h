/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangle whose level sets are merged into groups (merge.h), for the backends. A record is the work of one block of
 * threads in one step. Blocks work together, as one cluster on a GPU; each keeps b and x of its own rows in its shared
 * memory.
 *
 * A row's entries are shared by 2^shift neighbouring lanes of 32: entry e is number e / 2^shift of lane e % 2^shift.
 * Rows of 32 lanes are a slice; all its lanes have the same number of entries, some of them zeros.
 */
#ifndef TESS_TRIANGULAR_MERGED_H
#define TESS_TRIANGULAR_MERGED_H

#include "triangular/leaf.h"

/* Lanes of a slice; records that a block has space for at a time; most blocks; alignment in bytes of records, in memory
   and in shared memory, and of their parts. */
enum { MERGED_LANES = 32, MERGED_SLOTS = 8, MERGED_MAX_BLOCKS = 16, MERGED_LINE = 128, MERGED_UNIT = 16 };

/* The limits of a device. */
typedef struct merged_limits {
    int blocks;           /* blocks that may work together; 0: none */
    int64_t shared_bytes; /* of a block */
} merged_limits;

/* The head of a record. Then come the slices' offsets (uint16_t; the last is their end), in units of 32 entries, then
   values and indices. */
typedef struct merged_record {
    uint32_t bytes, ahead; /* of this record, and of the one MERGED_SLOTS later */
    uint32_t first;        /* place of its first row among the block's rows */
    uint32_t rows;
    uint32_t val_at, index_at; /* bytes from the record's beginning */
    uint16_t slices;
    uint8_t shift;
    uint8_t last; /* whether it ends its group: all blocks then wait for one another */
    uint32_t unused;
} merged_record;

/* A block's records. */
typedef struct merged_stream {
    int64_t begin; /* bytes */
    uint32_t records, rows;
    uint32_t bytes[MERGED_SLOTS]; /* of the first records */
} merged_stream;

/*
 * An index is a place of a block: x of its row number i has place i, b has place `local` + i. With one block it has 16
 * bits, else 32, with the block's number in the upper half. Arrays are on the context's device.
 */
typedef struct merged_view {
    int64_t n, groups;
    int blocks;
    int64_t local;      /* most rows of a block */
    int64_t slot_bytes; /* of the longest record */
    bool wide;          /* indices have 32 bits */
    tess_precision precision;
    char *records;
    int64_t record_bytes;
    merged_stream *streams; /* blocks */
    int32_t *row;           /* blocks * local: rows of the triangle */
    double *workspace;      /* only for CPU contexts: blocks * 2 * local places */
} merged_view;

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of a device. */
typedef struct merged_ops {
    tess_status (*limits)(tess_context *ctx, merged_limits *limits);
    /* args as for a leaf */
    tess_status (*solve)(tess_context *ctx, const merged_view *v, const triangle_args *args);
} merged_ops;

extern const merged_ops merged_host_ops;
const merged_ops *merged_gpu_ops(void);
const merged_ops *merged_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
