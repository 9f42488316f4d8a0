/* SPDX-License-Identifier: Apache-2.0 */
/* The largest eigenvalue of a level's scaled matrix, and the steps of its smoother. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_SPECTRUM_H
#define TESS_PRECOND_MULTIGRID_CYCLE_SPECTRUM_H

#include "precond/multigrid/cycle/cycle.h"

/* l->bound: scaled by l1 norms no eigenvalue is above 1. If c->estimates, a few Lanczos steps look for a lower bound,
   unless c->has_bounds. */
tess_status amg_find_bound(const amg_cycle *c, amg_cycle_level *l);
/* The bound for an estimate that somebody else has made; 0 or NaN: there is none. */
void amg_set_bound(const amg_cycle *c, double largest, amg_cycle_level *l);
/* l->damping of a step with factors; 1: they need none, or there are none. */
tess_status amg_find_damping(const amg_cycle *c, amg_cycle_level *l);
/* l->omega: inverse roots of the Chebyshev polynomial of [bound / c->ratio, bound], or damping. */
void amg_set_steps(const amg_cycle *c, amg_cycle_level *l);

#endif
