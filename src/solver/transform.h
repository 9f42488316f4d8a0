/* SPDX-License-Identifier: Apache-2.0 */
/* Solves of a reordered and scaled system, judged by the original one: the table solver_transformed. */
#ifndef TESS_SOLVER_TRANSFORM_H
#define TESS_SOLVER_TRANSFORM_H

#include "solver/solver.h"

/* Whether a solve with these options is a transformed one. */
bool wants_transform(const tess_solve_options *options);

#endif
