/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a scalar step; the same code on host and device. */
#ifndef TESS_SOLVER_STEPS_H
#define TESS_SOLVER_STEPS_H

#include "base/step.h"
#include "solver/bicgstab/bicgstab_steps.h"
#include "solver/cg/cg_steps.h"
#include <tessera/export.h>

/* Those that passes over vectors and products end in. */
TESS_HD void run_pass_step(tess_step step, tess_loop_state *state)
{
    switch (step) {
#define TESS_STEP(NAME, function) \
    case TESS_STEP_##NAME:        \
        function(state);          \
        break;
#define TESS_STEP_SINGLE(NAME, function)
#include "base/step.def"
#undef TESS_STEP_SINGLE
#undef TESS_STEP
    default: break;
    }
}

TESS_HD void run_step(tess_step step, tess_loop_state *state)
{
    switch (step) {
#define TESS_STEP(NAME, function)
#define TESS_STEP_SINGLE(NAME, function) \
    case TESS_STEP_##NAME:               \
        function(state);                 \
        break;
#include "base/step.def"
#undef TESS_STEP_SINGLE
#undef TESS_STEP
    default: run_pass_step(step, state); break;
    }
}

#endif
