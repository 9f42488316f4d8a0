/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of steps inside the library. */
#ifndef TESS_SOLVER_SWEEP_STEPS_H
#define TESS_SOLVER_SWEEP_STEPS_H

#include "matrix/matrix.h"
#include <tessera/steps.h>

/* INVALID_ARGUMENT unless 1 to TESS_MOST_STEPS entries name precisions and counts that exist. */
tess_status steps_check(tess_context *ctx, const tess_step_list *steps);
/* Whether an entry names its iterations. */
bool steps_are_counted(const tess_step_list *steps);
bool steps_have(const tess_step_list *steps, int what);
/* counts[i] iterations for step i, at most `total` in all: those named, and equal shares of the rest for the others, the
   remainder to the last of them. */
void steps_share(const tess_step_list *steps, int64_t total, int64_t counts[TESS_MOST_STEPS]);
/* Adds the iterations of a list that begins alike; what it has beyond `to` is appended. */
void steps_add(tess_step_list *to, const tess_step_list *more);
/* Adds iterations of a kind to the last entry, or to a new one where that is of another kind. */
void steps_append(tess_step_list *steps, int what, int64_t iterations);

#endif
