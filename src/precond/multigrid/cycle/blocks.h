/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block Jacobi as a level's smoother: the inverse of the nodes' block diagonal D, as a matrix. As a matrix, because
 * nodes of coarse levels differ in size, where aggregates have fewer independent vectors, and because a product adds
 * its result to x in the same pass.
 */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_BLOCKS_H
#define TESS_PRECOND_MULTIGRID_CYCLE_BLOCKS_H

#include "precond/multigrid/cycle/cycle.h"

/* Whether levels are smoothed by blocks: the options ask for it, and nodes have several unknowns on some level. */
bool amg_has_blocks(const amg_hierarchy *h);
/* out->blocks := S^-1 D^-1 S^-1 of level l, if c->has_blocks and the level is not inverted. inverse: that of S, n
   values on the host; of levels on a GPU there. */
tess_status amg_make_blocks(const amg_cycle *c, const amg_hierarchy *h, int l, const double *inverse,
                            amg_cycle_level *out);

#endif
