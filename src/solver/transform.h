/* SPDX-License-Identifier: Apache-2.0 */
/* Solves of a reordered and scaled system, judged by the original one. */
#ifndef TESS_SOLVER_TRANSFORM_H
#define TESS_SOLVER_TRANSFORM_H

#include "solver/solver.h"

/* Whether a solve with these options is a transformed one. */
bool wants_transform(const tess_solve_options *options);

/* Set-up of s->transform and of the space for the history; `given` must be NULL. Errors: UNSUPPORTED (shell matrix, a
   preconditioner of the caller's), SINGULAR, OUT_OF_RANGE, memory. */
tess_status setup_transform(tess_solver *s, const tess_precond *given);
void destroy_transform(tess_context *ctx, solver_transform *t);

/* tess_solver_solve for such a solver; the vectors are checked. */
tess_status solve_transformed(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);

#endif
