/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the rows of a matrix all sum to 0 up to rounding. */
#ifndef TESS_SOLVER_NULL_SUMS_H
#define TESS_SOLVER_NULL_SUMS_H

#include "matrix/matrix.h"

/* Of a matrix on a GPU. It copies one row to the host. */
tess_status null_sums_on_device(const tess_matrix *a, bool *null);

#endif
