/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set-up of aggregation on a GPU. Aggregates and patterns are those of the host; values differ by rounding, and are
 * the same bits on every run.
 */
#ifndef TESS_PRECOND_MULTIGRID_AGGREGATION_AGGREGATION_DEVICE_H
#define TESS_PRECOND_MULTIGRID_AGGREGATION_AGGREGATION_DEVICE_H

#include "precond/multigrid/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As node_rows, in device memory. */
typedef struct amg_device_nodes {
    int64_t count, nrows;
    int32_t *first;   /* count + 1 */
    int32_t *node_of; /* nrows */
} amg_device_nodes;

/* Ascending numbers of nodes for each node, and where the columns of each begin in the rows of the node that has the
   list. */
typedef struct amg_device_lists {
    device_csr of;   /* a pattern */
    int32_t *offset; /* of.nnz */
} amg_device_lists;

/* As aggregation_level. Lists of the nodes' rows of P and of A P, and of the rows of P^T: by the nodes of the next
   level. */
typedef struct amg_device_node_level {
    amg_device_nodes rows;
    int most_height, vectors;
    double *near;       /* B: nrows x vectors, row-major; NULL once the next level has been made */
    device_csr blocks;  /* a pattern, until the next level has been made */
    int32_t *aggregate; /* of each node; -1: none */
    double *tentative;  /* T: nrows x vectors, row-major */
    amg_device_lists p, pt, ap;
    int32_t *transposed; /* the entry of p of each of pt */
    int32_t *ap_row;     /* nrows + 1: where the rows of A P begin */
    int64_t ap_values;
} amg_device_node_level;

/* What P's values are computed from. */
typedef struct amg_device_smoothing {
    const device_csr *a;
    const amg_device_node_level *fine;
    const amg_device_nodes *coarse;
    const double *inverse; /* of D, as invert_blocks; NULL: P = T */
    double omega;
} amg_device_smoothing;

/* The factors of P^T A P. */
typedef struct amg_device_galerkin {
    const device_csr *a, *p;
    const amg_device_node_level *fine;
    const amg_device_nodes *coarse;
    double *ap; /* values of A P */
} amg_device_galerkin;

typedef struct amg_nodes_ops {
    /* node_of; and first, if block > 0: nodes of so many rows. The arrays are there. */
    tess_status (*fill_nodes)(tess_context *ctx, int block, const amg_device_nodes *nodes);
    /* near from columns in device memory; NULL: constants of the unknowns of each node. */
    tess_status (*fill_near)(tess_context *ctx, const double *columns, const amg_device_node_level *level);
    /* The nodes that the rows of each node have entries of, and the node itself. val: squared norms of the blocks. */
    tess_status (*list_blocks)(tess_context *ctx, const device_csr *a, const amg_device_nodes *rows,
                               device_csr *blocks);
    /* As node_graph_of_matrix; val: weights. */
    tess_status (*connect)(tess_context *ctx, const device_csr *blocks, double theta, device_csr *graph);
    /* As aggregate_nodes. */
    tess_status (*aggregate)(tess_context *ctx, const device_csr *graph, int32_t *of, int64_t *count);
    /* T, and the nodes and the near-nullspace of the next level. members: the nodes of each aggregate. */
    tess_status (*make_tentative)(tess_context *ctx, const device_csr *members, amg_device_node_level *level,
                                  amg_device_node_level *next);
    /* The aggregates that the rows of each node of P have columns of. plain: the node's own. */
    tess_status (*list_aggregates)(tess_context *ctx, const device_csr *blocks, const int32_t *of, int64_t aggregates,
                                   bool plain, device_csr *lists);
    /* Offsets of the lists, and where rows begin: nrows + 1 offsets, of *count columns. */
    tess_status (*lay_out)(tess_context *ctx, const amg_device_nodes *rows, const amg_device_nodes *columns,
                           const amg_device_lists *lists, int32_t *row_ptr, int64_t *count);
    tess_status (*write_columns)(tess_context *ctx, const amg_device_nodes *rows, const amg_device_nodes *columns,
                                 const amg_device_lists *lists, const device_csr *out);
    /* As the functions of these names in aggregation.h. */
    tess_status (*invert_blocks)(tess_context *ctx, const device_csr *a, const amg_device_node_level *level,
                                 double *inverse);
    tess_status (*estimate_lambda_max)(tess_context *ctx, const device_csr *a, const amg_device_node_level *level,
                                       const double *inverse, double *lambda);
    /* Values of P, of P^T and of P^T A P on their patterns. */
    tess_status (*smooth)(tess_context *ctx, const amg_device_smoothing *s, const device_csr *p);
    tess_status (*restrict_values)(tess_context *ctx, const amg_device_galerkin *g, const device_csr *r);
    tess_status (*multiply)(tess_context *ctx, const amg_device_galerkin *g, const device_csr *coarse);
} amg_nodes_ops;

const amg_nodes_ops *amg_nodes_gpu_ops(void);
/* NULL: the context has no GPU. */
const amg_nodes_ops *amg_nodes_ops_of(const tess_context *ctx);

/* ---- levels, in C ---- */

/* The nodes of the finest level, of `block` unknowns each, and its near-nullspace. */
tess_status amg_device_nodes_begin(amg_hierarchy *h, int block);
/* Nodes, aggregates and P of a level; without aggregates P stays empty. Then P^T and the next level's matrix. */
tess_status amg_device_nodes_coarsen(amg_hierarchy *h, int level, double *since);
tess_status amg_device_nodes_multiply(amg_hierarchy *h, int level, double *since);
/* New values of a level: of P, of P^T and of the next level's matrix. */
tess_status amg_device_nodes_renew(amg_hierarchy *h, int level, double *since);
/* Of all levels; there may be none. */
void amg_device_nodes_close(amg_hierarchy *h);
int64_t amg_device_nodes_bytes(const amg_hierarchy *h);

#ifdef __cplusplus
}
#endif

#endif
