/* SPDX-License-Identifier: Apache-2.0 */
/* ILU(0) of a level's scaled matrix as its smoother, IC(0) if that is symmetric; or an approximate inverse. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_FACTORS_H
#define TESS_PRECOND_MULTIGRID_CYCLE_FACTORS_H

#include "matrix/device_csr.h"
#include "precond/multigrid/cycle/cycle.h"
#include "precond/multigrid/cycle/store.h"

/* Whether levels have factors, or inverses. */
bool amg_has_factors(const tess_amg_options *options);
/* Factors in FP64, or inverses, if the options ask for them and the level is not inverted; else nothing. */
tess_status amg_factor_level(const amg_cycle *c, const amg_scaled *a, amg_cycle_level *l);
/* The same of a level on the device, with its scale. */
tess_status amg_factor_device_level(const amg_cycle *c, const device_csr *a, const double *scale, amg_cycle_level *l);
/* z := (L U)^-1 r, or M r, for vectors of the cycle. */
tess_status amg_apply_factors(const amg_cycle *c, const amg_cycle_level *l, const void *r, void *z,
                              tess_loop_state *state);

#endif
