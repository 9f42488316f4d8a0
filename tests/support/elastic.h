/* SPDX-License-Identifier: Apache-2.0 */
/* Rigid-body modes of the model problem elasticity3d. */
#ifndef TESS_TESTS_SUPPORT_ELASTIC_H
#define TESS_TESTS_SUPPORT_ELASTIC_H

#include "support/test.h"

/* The coordinates of the nodes of elasticity3d K, column after column: K (K + 1)^2 by 3. */
double *elastic_coordinates(int64_t k);
/* The six modes of tess_rigid_body_modes, column after column. */
double *elastic_modes(tess_context *ctx, int64_t k);

#endif
