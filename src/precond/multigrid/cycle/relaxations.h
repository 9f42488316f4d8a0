/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi on fine and on coarse unknowns in turn. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_RELAXATIONS_H
#define TESS_PRECOND_MULTIGRID_CYCLE_RELAXATIONS_H

#include "precond/multigrid/cycle/cycle.h"
#include "precond/multigrid/cycle/store.h"

/* With the smoother fc-jacobi: out->relax for the scaled matrix of level l, unless it is the coarsest. */
tess_status amg_make_relaxations(const amg_cycle *c, const amg_hierarchy *h, int l, const amg_scaled *a,
                                 amg_cycle_level *out);

#endif
