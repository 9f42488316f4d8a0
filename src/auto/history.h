/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a solve that is made of other solves. */
#ifndef TESS_AUTO_HISTORY_H
#define TESS_AUTO_HISTORY_H

#include "solver/solver.h"

/* `one`, the next of the solves, becomes a part of the whole: its iterations, refinements and estimates follow those
   of *all, which is the sum afterwards. */
void history_append(tess_solver *s, const tess_solve_result *one, tess_solve_result *all);

#endif
