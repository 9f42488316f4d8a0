/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a scalar update; the same code on host and device. */
#ifndef TESS_DEVICE_RUN_SCALAR_UPDATE_H
#define TESS_DEVICE_RUN_SCALAR_UPDATE_H

#include "base/scalar_update.h"
#include "solver/scalar_updates.h"
#include <tessera/export.h>

/* The updates that passes over vectors and products end with. */
TESS_HD void run_pass_update(tess_scalar_update scalar, tess_loop_state *state)
{
    switch (scalar) {
#define TESS_SCALAR(NAME, function) \
    case TESS_SCALAR_##NAME:        \
        function(state);            \
        break;
#define TESS_SCALAR_SINGLE(NAME, function)
#include "base/scalar_update.def"
#undef TESS_SCALAR_SINGLE
#undef TESS_SCALAR
    default: break;
    }
}

TESS_HD void run_scalar_update(tess_scalar_update scalar, tess_loop_state *state)
{
    switch (scalar) {
#define TESS_SCALAR(NAME, function)
#define TESS_SCALAR_SINGLE(NAME, function) \
    case TESS_SCALAR_##NAME:               \
        function(state);                   \
        break;
#include "base/scalar_update.def"
#undef TESS_SCALAR_SINGLE
#undef TESS_SCALAR
    default: run_pass_update(scalar, state); break;
    }
}

#endif
