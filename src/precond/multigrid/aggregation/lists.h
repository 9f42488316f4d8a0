/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns by nodes: a list of numbers for each node, for the Galerkin product. */
#ifndef TESS_PRECOND_MULTIGRID_AGGREGATION_LISTS_H
#define TESS_PRECOND_MULTIGRID_AGGREGATION_LISTS_H

#include "precond/multigrid/aggregation/aggregation.h"

/* For each of `count` nodes, ascending numbers of other nodes or of aggregates. */
typedef struct node_lists {
    int64_t count;
    int64_t *first; /* count + 1 */
    int32_t *number;
} node_lists;

/* Releases also what a failure has left. */
void node_lists_release(tess_context *ctx, node_lists *l);
/* The aggregates of each node's rows of P; coarse: the nodes of the coarse level. */
tess_status list_columns(tess_context *ctx, const host_csr *p, const node_rows *rows, const node_rows *coarse,
                         node_lists *out);
/* The nodes of each of `count` aggregates, ascending. */
tess_status transpose_lists(tess_context *ctx, const node_lists *l, int64_t count, node_lists *out);

/* What a row of the first factor leads to: of A the nodes of its entries, or the numbers of a list. */
typedef struct first_factor {
    const host_csr *a; /* NULL: `lists` */
    const node_rows *rows;
    const node_lists *lists;
    int64_t count;
} first_factor;

/* The union of the lists that each row leads to, ascending; `numbers`: how many different ones there are. */
tess_status multiply_lists(tess_context *ctx, const first_factor *f, const node_lists *second, int64_t numbers,
                           node_lists *out);

#endif
