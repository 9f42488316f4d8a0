/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_SYMMETRY_H
#define TESS_SOLVER_SYMMETRY_H

#include "matrix/matrix.h"

/* Whether a square assembled matrix is symmetric to about nine digits, by two products with random vectors, and by more
   of the matrix scaled symmetrically where its rows differ in size. A matrix passes whose asymmetric part is below 1e-9
   of its Frobenius norm, as it is and so scaled. */
tess_status probe_symmetry(const tess_matrix *a, bool *symmetric);

#endif
