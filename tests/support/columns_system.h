/* SPDX-License-Identifier: Apache-2.0 */
/* A system with several right-hand sides, for tests of solves of columns. */
#ifndef TESS_TESTS_SUPPORT_COLUMNS_SYSTEM_H
#define TESS_TESTS_SUPPORT_COLUMNS_SYSTEM_H

#include <tessera/many.h>

#include "support/solve.h"

/* k columns of n values, b and x one column after another. */
typedef struct system_of {
    tess_context *ctx;
    oracle_csr a;
    tess_matrix *m;
    int64_t k;
    double *b, *x;
    tess_solve_result *results;
} system_of;

/* Random right-hand sides, x = 0, two threads. It takes the matrix. */
system_of make_system(oracle_csr a, int64_t k);
void discard_system(system_of *s);
/* Solves all columns, by a solver or by one that is made for it. */
tess_status solve_all(system_of *s, tess_solver *solver);
void solve_by(system_of *s, const tess_solve_options *options);

#endif
