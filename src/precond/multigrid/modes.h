/* SPDX-License-Identifier: Apache-2.0 */
/* Near-null vectors that a set-up finds by itself: what its cycle leaves of A v = 0. */
#ifndef TESS_PRECOND_MULTIGRID_MODES_H
#define TESS_PRECOND_MULTIGRID_MODES_H

#include "precond/multigrid/cycle/cycle.h"

/* Steps of CG that look for vectors; each needs a cycle. */
enum { AMG_MODE_STEPS = 20 };

/* The vectors of a set-up: `given` of them, and those found after these. */
typedef struct amg_modes {
    int given, found;
    double *values; /* n by given + found on the host, column after column */
} amg_modes;

/*
 * Appends up to `wanted` vectors to *modes: those that M A reduces most, M the cycle. Where the cycle is good, or not
 * definite, there is none.
 */
tess_status amg_find_modes(const amg_cycle *c, const tess_matrix *a, int wanted, amg_modes *modes);

/* The caller's vectors but those that are zero, each scaled by a power of two to a largest magnitude from 1/2 to 1, in
 *copy, with room for all; the options then have this copy. Errors: INVALID_ARGUMENT for NaN, Inf, zeros alone. */
tess_status amg_copy_near_nullspace(tess_context *ctx, int64_t n, tess_amg_options *options, double **copy);

#endif
