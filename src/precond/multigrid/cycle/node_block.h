/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of nodes by which a level is stored. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_NODE_BLOCK_H
#define TESS_PRECOND_MULTIGRID_CYCLE_NODE_BLOCK_H

#include "precond/multigrid/hierarchy.h"

/* Rows of the blocks of level l, 2 to 6: the unknowns of a node, or if those are more, their largest divisor. 0: there
   are no blocks, because nodes differ in size or are single unknowns, or the options forbid them. */
int amg_node_block(const amg_hierarchy *h, int l);

#endif
