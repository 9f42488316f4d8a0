/* SPDX-License-Identifier: Apache-2.0 */
/* How many entries the factors of ILU(k) have, without finding their pattern. */
#ifndef TESS_SOLVER_ESTIMATE_FILL_H
#define TESS_SOLVER_ESTIMATE_FILL_H

#include "matrix/matrix.h"

/*
 * From rows that are evenly spread: as many more as a budget of work allows. Both triangles count alike, as those of a
 * symmetric pattern do. Errors: memory. tests/unit/test_estimate.c
 *
 * Source: Hysom, Pothen, A scalable parallel algorithm for incomplete factor preconditioning, SIAM J. Sci. Comput. 22
 * (2001), theorem 3: an entry (i, j) has a level up to k where a path of up to k + 1 edges leads from i to j through
 * numbers below both.
 */
tess_status estimate_fill(const tess_matrix *a, int level, double *entries);

#endif
