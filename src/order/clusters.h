/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in cells of neighbours, and what a product fetches of x: bodies for host and GPU, which give the same bits. */
#ifndef TESS_ORDER_CLUSTERS_H
#define TESS_ORDER_CLUSTERS_H

#include "base/random.h"
#include "matrix/assembled.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CLUSTER_GENERATIONS = 3, /* of seeds */
    CLUSTER_ROUNDS = 4,      /* of a generation: so many passes each, until a round reaches few rows */
    CLUSTER_PASSES = 8,
    CLUSTER_REST = 256, /* rows that no seed reaches form cells of so many, as they stand */
    CLUSTER_SLOTS = 16  /* for the neighbours of a cell: two may share one, and the higher stays */
};

/* Slices of rows, lines of x, and as many entries of a slice as the measure looks at. */
enum { FETCH_ROWS = 32, FETCH_LINE = 16, FETCH_ENTRIES = 4096, FETCH_SLICES = 1024 };

/* What the sampled slices fetch. */
typedef struct fetch_sums {
    int64_t lines, entries;
} fetch_sums;

/* Row i of the new order is row perm[i], and column j is at place[j]; NULL: the order that the matrix has. Arrays are
   on the device of the context, where no other place is named. */
typedef struct cluster_ops {
    /* label[i] := i for each row without a label that is a seed of this generation; the first sets all others to -1. */
    tess_status (*seed)(tess_context *ctx, int64_t n, int generation, int32_t *label);
    /* to[i] := from[i], or where that is -1 the label of the first neighbour that has one; then reached[i] := pass. */
    tess_status (*grow)(tess_context *ctx, const csr_view *v, int pass, const int32_t *from, int32_t *to,
                        uint8_t *reached);
    /* *count: the rows of label -1. */
    tess_status (*count)(tess_context *ctx, int64_t n, const int32_t *label, int64_t *count);
    /* Labels become the cells' numbers, in the order of their seeds. *cells: how many there are, without the rest. */
    tess_status (*number)(tess_context *ctx, int64_t n, int32_t *label, int64_t *cells);
    /* slot: of each cell CLUSTER_SLOTS numbers, 0 before: a neighbour's number and 1. */
    tess_status (*neighbours)(tess_context *ctx, const csr_view *v, int64_t cells, const int32_t *cell, int32_t *slot);
    /* perm: rows by the place of their cell (of `cells`; others keep theirs), then by reached, then as they stood. */
    tess_status (*sort)(tess_context *ctx, int64_t n, int64_t cells, int depth, const int32_t *cell,
                        const int32_t *cell_place, const uint8_t *reached, int32_t *perm);
    /* Every step-th slice. */
    tess_status (*fetch)(tess_context *ctx, const csr_view *v, const int32_t *perm, const int32_t *place, int64_t step,
                         fetch_sums *sums);
} cluster_ops;

/* What a host has other functions for (reorder.c). */
typedef struct order_device_ops {
    /* place[perm[i]] := i of a permutation. */
    tess_status (*invert)(tess_context *ctx, int64_t n, const int32_t *perm, int32_t *place);
    /* P A P^T; A has fewer than 2^31 entries. */
    tess_status (*permute)(const tess_matrix *a, const int32_t *perm, const int32_t *place, tess_matrix **out);
    /* The matrix with 1 in row i and column[i]. */
    tess_status (*map)(tess_context *ctx, int64_t n, const int32_t *column, tess_matrix **out);
} order_device_ops;

extern const cluster_ops clusters_host_ops;
const cluster_ops *clusters_gpu_ops(void);
const cluster_ops *clusters_ops_of(const tess_context *ctx);
const order_device_ops *order_device_gpu_ops(void);
/* NULL: the context has no GPU. */
const order_device_ops *order_device_ops_of(const tess_context *ctx);

/* ---- bodies ---- */

/* Generations have seeds that are closer to one another: 256, 32 and 4 rows. */
TESS_HD bool cluster_is_seed(int generation, int64_t i)
{
    return tess_random_bits(UINT64_C(0x636c7573) + (uint64_t)generation, (uint64_t)i) >> (56 + 3 * generation) == 0;
}

/* What the row's label becomes. */
TESS_HD int32_t cluster_label(int generation, int64_t i, int32_t label)
{
    if (generation > 0 && label >= 0) { return label; }
    return cluster_is_seed(generation, i) ? (int32_t)i : -1;
}

TESS_HD int32_t cluster_number(const int32_t *number, int64_t cells, int32_t label, int64_t i)
{
    return label >= 0 ? number[label] : (int32_t)(cells + i / CLUSTER_REST);
}

/* Where a cell keeps this neighbour. */
TESS_HD int64_t cluster_slot(int32_t cell, int32_t other)
{
    return (int64_t)cell * CLUSTER_SLOTS + (int64_t)(random_mix((uint64_t)other) % CLUSTER_SLOTS);
}

TESS_HD int32_t cluster_key(int64_t cells, int depth, const int32_t *cell_place, int32_t cell, uint8_t reached)
{
    const int32_t place = cell < cells ? cell_place[cell] : cell;

    return place * depth + (reached < depth ? reached : depth - 1);
}

TESS_HD int32_t fetch_line(const csr_view *v, const int32_t *place, int64_t k)
{
    return (place ? place[v->col_ind[k]] : v->col_ind[k]) / FETCH_LINE;
}

#ifdef __cplusplus
}
#endif

#endif
