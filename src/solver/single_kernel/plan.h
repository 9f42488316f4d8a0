/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which block owns what while one kernel runs a whole solve. Each block owns a stretch of rows, balanced by entries,
 * and keeps a copy of the multiplied vector at every column that its rows have: the columns of its own rows and those
 * of other blocks (its halo). Blocks exchange products, not multiplied vectors: each applies the same update to its
 * copies, so that copies have the same bits everywhere, and the exchange needs no barrier besides that of the sums.
 * README.md has a picture.
 */
#ifndef TESS_SOLVER_SINGLE_KERNEL_PLAN_H
#define TESS_SOLVER_SINGLE_KERNEL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/export.h>
#include <tessera/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a block; most blocks of a grid and of a cluster; sums that travel with an arrival, without and with a
   cancellation; messages of a grid for these, two for each; and the number of copies of each message. */
enum {
    SINGLE_THREADS = 512,
    SINGLE_MAX_BLOCKS = 160,
    SINGLE_MAX_CLUSTER = 16,
    SINGLE_MAX_SUMS = 5,
    SINGLE_SLOT = SINGLE_MAX_SUMS + 1,
    SINGLE_MAX_PAIRS = (SINGLE_MAX_SUMS + 1) / 2,
    SINGLE_MESSAGES = SINGLE_MAX_PAIRS + 1,
    SINGLE_COPIES = 8,
    SINGLE_MAX_READERS = SINGLE_MAX_BLOCKS / 32 /* waves of a block that read one pair from all blocks */
};

typedef enum single_method {
    SINGLE_CG,               /* two exchanges an iteration */
    SINGLE_CG_ONE_REDUCTION, /* one */
    SINGLE_CG_RECOMPUTING,   /* one */
    SINGLE_CG_RECOMPUTING_JACOBI,
    SINGLE_BICGSTAB /* three */
} single_method;

/* The limits of a device for such a kernel. */
typedef struct single_limits {
    int blocks;           /* blocks that are resident at once, one on a multiprocessor; 0: none */
    int cluster_blocks;   /* the largest cluster that can be launched; 0: none */
    int64_t shared_bytes; /* of a block */
    bool asked_only;      /* such a kernel has not run on devices of this kind: only where it is asked for */
} single_limits;

/* Rows and columns of tiles come in runs of so many: block rows and segments. */
enum { SINGLE_TILE = 16 };

/* How to divide a matrix. */
typedef struct single_shape {
    int blocks;
    bool cluster;
    /* Of rows in tiles, a place for each block row and one more: how many tiles are before it, and where its record
       begins (tiles_view.start), where the plan is made. NULL: rows stand in CSR order, each by itself. */
    const int64_t *tiles;
    const uint32_t *start;
    int64_t ntiles;
} single_shape;

typedef struct single_plan {
    bool cluster; /* one cluster of all blocks (perhaps one), which exchanges through its shared memory; else a grid */
    int blocks;
    int run;   /* rows and columns of a block come in runs of this length: 1, or SINGLE_TILE */
    int lanes; /* threads that share a row, a power of two */
    int32_t n, nnz;
    int32_t most_rows, most_columns, most_entries; /* of a block */
    int32_t most_units;                            /* of the records of a block's tiles */
    int32_t *row_ptr;                              /* n + 1 */
    int32_t *row_begin;                            /* blocks + 1: the rows of block b */
    int32_t *column_begin;                         /* blocks + 1: its columns, in `column` */
    int32_t *own;                                  /* blocks: the place of its first row's column among its columns */
    int32_t *column;                               /* ascending within a block */
    uint16_t *place;                               /* nnz: the place of an entry's column among those of its block */
    int64_t column_capacity;                       /* of `column` as allocated */
    void *memory;                                  /* on a device: the memory of all arrays but `column`; else NULL */
    int64_t memory_bytes;
} single_plan;

/* The largest order and number of entries of a plan. */
bool single_plan_can_hold(int64_t n, int64_t nnz);

/* Whether shared memory has space for vectors and so many bytes of entries, without the copies of vectors at others'
   columns. If not, not everything can be resident, and no plan is needed to know this. */
bool single_may_be_resident(const single_limits *limits, int64_t n, int64_t bytes, single_method method);

/* Whether a plan of that many blocks is expected to be faster than the engine graph: the bounds of `gains` in plan.c,
   in rows and entries of a block on average. */
bool single_may_gain(int64_t n, int64_t nnz, int blocks, bool cluster, single_method method);

/*
 * The choice by size: a cluster if rows and entries are few for each of its blocks, else a grid; and the fewest blocks
 * that are busy. 0 blocks: no plan of this kind. Measured costs of barriers: 0.2 to 0.3 us in a cluster, 1.0 us in a
 * grid.
 */
int single_cluster_blocks(const single_limits *limits, int64_t n, int64_t nnz, single_method method);
int single_grid_blocks(const single_limits *limits, int64_t n);

/*
 * A plan of that shape, of host arrays in CSR order. plan->blocks is 0 if a block would have more columns than a place
 * can count. Backends make the same plan of a matrix (`plan` of single_kernel_ops), to the bit. A plan of tiles serves
 * rows in CSR order too.
 */
tess_status single_plan_make(tess_context *ctx, int64_t n, const int64_t *row_ptr, const int32_t *col_ind,
                             const single_shape *shape, single_plan *plan);
/* Frees the arrays that were allocated on the host or on a device. */
void single_plan_free(tess_context *ctx, single_plan *plan);
void single_plan_release(tess_context *ctx, single_plan *plan);

/* The weight of a row, in entries: its sums and vectors. The weight of a tile: its header, which each of its rows
   opens. */
enum { SINGLE_ROW_WEIGHT = 16, SINGLE_TILE_WEIGHT = 16 };

/* The weight of the first rows, which have so many entries and tiles. */
TESS_HD int64_t single_weight(int64_t rows, int64_t entries, int64_t tiles)
{
    return entries + SINGLE_ROW_WEIGHT * rows + SINGLE_TILE_WEIGHT * tiles;
}

/* Number of runs of rows. */
TESS_HD int64_t single_runs(int64_t n, int run)
{
    return (n + run - 1) / run;
}

/* The first row of run u; n beyond the last. */
TESS_HD int64_t single_run_begin(int64_t n, int run, int64_t u)
{
    return u * run < n ? u * run : n;
}

/* Where a block begins, and how many columns it has. tiles, units: before it. */
typedef struct single_cut {
    int32_t row, entry, tiles, units, columns;
} single_cut;

/* Columns of all blocks before the cut, at most. */
TESS_HD int64_t single_columns_before(const single_cut *cut, int run)
{
    return cut->row + (run > 1 ? (int64_t)run * cut->tiles : (int64_t)cut->entry);
}

/* The rest of the plan, from the cuts of all blocks and the end of the last: maxima and lanes. False: a block has more
   columns than a place can count. */
bool single_plan_settle(single_plan *plan, const single_cut *cut);

/* The place of an array of `count` elements after *bytes, which grows by its size: a multiple of 16. */
int64_t single_take(int64_t *bytes, int64_t count, int64_t size);

/* The layout of a block's shared memory, in bytes from its beginning. */
typedef struct single_layout {
    int64_t copies;  /* of vectors at all columns: most_columns doubles each */
    int64_t vectors; /* at own rows: most_rows doubles each */
    int64_t windows; /* a cluster's exchange: single_windows times most_rows doubles */
    int64_t sums;
    int64_t values, columns, offsets, places; /* of tiles: records, and where each begins */
    int64_t parts;                            /* sums of rows that several waves share */
    int64_t own, segments;                    /* block_bytes, and run_bytes of each run of columns */
    int64_t bytes;
} single_layout;

/* Vectors that exchanges write in turn: one or two at a time, each twice. */
int single_windows(single_method method);

/* Rows of a block in CSR order that are far longer than the others are summed by all of its waves: there are fewer than
   this many rows longer than this share of its entries. */
enum { SINGLE_LONG_ROWS = 16 };

/* What shared memory has to hold. */
typedef struct single_contents {
    single_method method;
    int value_bytes; /* of entries in CSR order; 0: tiles */
    bool resident;   /* the entries are there too */
    /* What the kernel keeps besides: of its block, and of each run of the block's columns. */
    int block_bytes, run_bytes;
} single_contents;

single_layout single_shared_layout(const single_plan *plan, const single_contents *what);
/* Of rows in tiles that are not resident: gives the rest of the shared memory to the first records, which stay there.
   Returns its size, in units of TILES_UNIT. */
int32_t single_take_rest(single_layout *l, int64_t shared_bytes);

#ifdef __cplusplus
}
#endif

#endif
