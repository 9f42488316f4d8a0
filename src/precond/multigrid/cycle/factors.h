/* SPDX-License-Identifier: Apache-2.0 */
/* ILU(0) of a level's scaled matrix as its smoother; IC(0) if that is symmetric. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_FACTORS_H
#define TESS_PRECOND_MULTIGRID_CYCLE_FACTORS_H

#include "precond/multigrid/cycle/cycle.h"
#include "precond/multigrid/cycle/store.h"

/* Factors in FP64, if the options ask for them and the level is not inverted; else nothing. */
tess_status amg_factor_level(const amg_cycle *c, const amg_scaled *a, amg_cycle_level *l);
/* z := (L U)^-1 r for vectors of the cycle. */
tess_status amg_apply_factors(const amg_cycle *c, const amg_cycle_level *l, const void *r, void *z,
                              tess_loop_state *state);

#endif
