/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Smoothed aggregation (Vanek, Mandel, Brezina, Computing 56 (1996)) for systems of equations. The unknowns of a node
 * are adjacent rows. A near-nullspace B, one column for each error that smoothers hardly reduce, decides what a coarse
 * level must represent. Nodes are aggregated; an aggregate becomes a node of the next level, with one unknown for each
 * independent column of B on it.
 */
#ifndef TESS_PRECOND_MULTIGRID_AGGREGATION_AGGREGATION_H
#define TESS_PRECOND_MULTIGRID_AGGREGATION_AGGREGATION_H

#include <tessera/precond.h>

#include "matrix/host_csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most columns of a near-nullspace, and so most unknowns of a coarse node. */
enum { AGGREGATION_MOST_VECTORS = TESS_MAX_NEAR_NULLSPACE, AGGREGATION_MOST_BLOCK = TESS_MAX_AMG_BLOCK };

/* Of the estimate of a spectrum. */
enum { AGGREGATION_LANCZOS_STEPS = 10, AGGREGATION_LANCZOS_SEED = 31 };

/* Nodes are ranges of rows: node i has rows first[i] .. first[i + 1] - 1. */
typedef struct node_rows {
    int64_t count, nrows;
    int64_t *first;   /* count + 1 */
    int32_t *node_of; /* nrows */
} node_rows;

/* A graph of nodes without loops; neighbours ascend. */
typedef struct node_graph {
    int64_t n;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *weight; /* squared Frobenius norm of the block of each edge */
} node_graph;

/* Each node's aggregate, numbered in the order of the aggregates' roots; -1: an isolated node, which has none. */
typedef struct aggregates {
    int64_t nodes, count;
    int32_t *of; /* nodes */
} aggregates;

/* A level: its nodes and near-nullspace, then its aggregates and the tentative prolongator T, with B = T R. */
typedef struct aggregation_level {
    node_rows rows;
    int most_height; /* most rows of a node */
    int vectors;     /* columns of near; of T the most of a row */
    double *near;    /* B: nrows x vectors, row-major */
    aggregates aggregates;
    int64_t *coarse_first; /* aggregates.count + 1: the first coarse unknown of each */
    double *tentative;     /* T: nrows x vectors, row-major; the columns of a row are those of its node's aggregate */
} aggregation_level;

/* ---- block_size.c ---- */

/* The largest number of unknowns per node, up to AGGREGATION_MOST_BLOCK, that the pattern shows: nearly all groups of
   so many rows have one pattern, of whole groups of columns. 1: none. */
int find_block_size(const host_csr *a);

/* ---- graph.c ---- */

/* Nodes of `block` rows each; nrows is a multiple of it. */
tess_status node_rows_of_block(tess_context *ctx, int64_t nrows, int block, node_rows *out);
/* Nodes with the rows first[0] .. first[count]; takes a copy. */
tess_status node_rows_of_ranges(tess_context *ctx, int64_t count, const int64_t *first, node_rows *out);
void node_rows_release(tess_context *ctx, node_rows *rows);
/*
 * The strong connections of nodes: the Frobenius norm of A_ij is at least theta times that of the strongest block off
 * the diagonal of i's rows or of j's rows; or the same for A_ji. So a node is isolated only if it has no such block.
 */
tess_status node_graph_of_matrix(tess_context *ctx, const host_csr *a, const node_rows *rows, double theta,
                                 node_graph *out);
void node_graph_release(tess_context *ctx, node_graph *g);

/* ---- mis2.c ---- */

/*
 * A maximal set of nodes, any two of them more than two edges apart; isolated nodes are not in it. chosen[i]: node i
 * is. Bell, Dalton, Olson, SIAM J. Sci. Comput. 34 (2012), with the priorities and the worklists of Kelley,
 * Rajamanickam, IPDPS 2022: hashed anew each round, so that the result depends on the graph alone.
 */
tess_status choose_distant_nodes(tess_context *ctx, const node_graph *g, bool *chosen);

/* ---- aggregates.c ---- */

tess_status aggregate_nodes(tess_context *ctx, const node_graph *g, aggregates *out);
void aggregates_release(tess_context *ctx, aggregates *a);

/* ---- tentative.c ---- */

/* T, coarse_first, and the near-nullspace R of the coarse level, coarse_first[count] x vectors, in *coarse_near. */
tess_status make_tentative(tess_context *ctx, aggregation_level *level, double **coarse_near);

/* P = T. */
tess_status tentative_as_matrix(tess_context *ctx, const aggregation_level *level, host_csr *p);

/* ---- smooth.c ---- */

/* P = (I - omega D^-1 A) T with the block diagonal D and omega = 4/3 / lambda_max(D^-1 A). The pattern, then the values
   on it: all rows of a node have the columns of the same aggregates. */
tess_status smoothed_pattern(tess_context *ctx, const host_csr *a, const aggregation_level *level, host_csr *p);
tess_status smoothed_values(tess_context *ctx, const host_csr *a, const aggregation_level *level, host_csr *p);

/* ---- diagonal.c ---- */

/* The inverse of the diagonal block of each node, row-major, that of node i from rows.first[i] * most_height. */
void invert_blocks(tess_context *ctx, const host_csr *a, const aggregation_level *level, double *inverse);

/* ---- spectrum.c ---- */

/* An estimate of the largest eigenvalue of D^-1 A, from a fixed start: the same on every run. 0: none was found. */
tess_status estimate_lambda_max(tess_context *ctx, const host_csr *a, const aggregation_level *level,
                                const double *inverse, double *lambda);

/* The largest eigenvalue of the tridiagonal matrix of up to `steps` Lanczos steps, of those before the space is
   exhausted: beta[j] is what step j leaves. Overwrites both. 0: it is not positive. */
double aggregation_largest(int steps, double *alpha, double *beta);

/* ---- product.c ---- */

/* coarse := P^T A P by nodes. If it has a pattern already, only its values are computed, on that pattern. */
tess_status aggregation_product(tess_context *ctx, const aggregation_level *level, const host_csr *a, const host_csr *p,
                                host_csr *coarse);

#ifdef __cplusplus
}
#endif

#endif
