/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the scalar steps; their bodies are in steps.h. */
#ifndef TESS_SOLVER_STEP_H
#define TESS_SOLVER_STEP_H

typedef enum tess_step {
    TESS_STEP_NONE = 0,
#define TESS_STEP(NAME, function) TESS_STEP_##NAME,
#define TESS_STEP_SINGLE(NAME, function) TESS_STEP_##NAME,
#include "base/step.def"
#undef TESS_STEP_SINGLE
#undef TESS_STEP
} tess_step;

#endif
