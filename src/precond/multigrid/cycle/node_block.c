/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/node_block.h"

#include "format/bsr/bsr.h"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/aggregation_device.h"

/* Nodes of a level: no node has more than `most` rows. */
typedef struct nodes {
    int64_t count, nrows;
    int most;
} nodes;

static nodes nodes_of(const amg_hierarchy *h, int l)
{
    if (h->device) {
        const amg_device_node_level *level = h->device->nodes ? &h->device->nodes[l] : NULL;

        return level ? (nodes){level->rows.count, level->rows.nrows, level->most_height} : (nodes){0};
    }
    if (h->coarsening->nodes) {
        const aggregation_level *level = h->coarsening->nodes(h->state, l);

        return (nodes){level->rows.count, level->rows.nrows, level->most_height};
    }
    return (nodes){0};
}

int amg_node_block(const amg_hierarchy *h, int l)
{
    const nodes of = nodes_of(h, l);

    if (h->options.format == TESS_AMG_FORMAT_SCALAR) { return 0; }
    if (of.nrows == 0 || of.nrows != of.count * of.most) { return 0; } /* some node has fewer rows */
    for (int block = BSR_MOST_BLOCK; block >= BSR_LEAST_BLOCK; block--) {
        if (of.most % block == 0) { return block; }
    }
    return 0;
}
