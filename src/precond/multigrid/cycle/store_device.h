/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of levels on a GPU, stored for the cycle. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_STORE_DEVICE_H
#define TESS_PRECOND_MULTIGRID_CYCLE_STORE_DEVICE_H

#include "precond/multigrid/device.h"

/* What a level is stored from. next: of the coarser level; unused on the coarsest. block: rows of its blocks of nodes
   and of those of the next level (node_block.h). */
typedef struct amg_device_source {
    const amg_device_level *level;
    const amg_device_scale *own, *next;
    tess_precision vectors;
    int block, next_block;
} amg_device_source;

/* A, P and R in a precision. found: extremes of A and P are joined to these; NULL: not needed. Does not wait for them.
 */
tess_status amg_device_store_matrices(tess_context *ctx, const amg_device_source *from, tess_precision precision,
                                      amg_device_extremes *found, amg_cycle_level *out);
/* New values for the matrices that are there. *taken: their formats have kernels for that. */
tess_status amg_device_store_matrices_again(tess_context *ctx, const amg_device_source *from,
                                            amg_device_extremes *found, const amg_cycle_level *out, bool *taken);
void amg_device_drop_matrices(amg_cycle_level *l);
/* The coarsest level's inverse, if it is small: the host inverts it. */
tess_status amg_device_store_inverse(amg_cycle *c, const amg_device_source *from, amg_cycle_level *out);

#endif
