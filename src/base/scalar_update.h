/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the scalar updates; their bodies are in the methods' folders (solver/scalar_updates.h). */
#ifndef TESS_BASE_SCALAR_UPDATE_H
#define TESS_BASE_SCALAR_UPDATE_H

typedef enum tess_scalar_update {
    TESS_SCALAR_NONE = 0,
#define TESS_SCALAR(NAME, function) TESS_SCALAR_##NAME,
#define TESS_SCALAR_SINGLE(NAME, function) TESS_SCALAR_##NAME,
#include "base/scalar_update.def"
#undef TESS_SCALAR_SINGLE
#undef TESS_SCALAR
} tess_scalar_update;

#endif
