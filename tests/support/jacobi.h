/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the Jacobi iteration to a tolerance. */
#ifndef TESS_TESTS_SUPPORT_JACOBI_H
#define TESS_TESTS_SUPPORT_JACOBI_H

#include <tessera/solver.h>

#include "support/test.h"

enum { JACOBI_ROWS = 150, JACOBI_ROW = 12 }; /* and entries of a row, at most */

typedef struct request_case {
    tess_format format;
    const char *schedule; /* NULL: the default */
    tess_granularity granularity;
} request_case;

/* NULL: the default schedule. */
tess_solve_options jacobi_options(tess_format format, const char *schedule);
/* Diagonally dominant, rows of unequal length. */
oracle_csr uneven_matrix(void);

#endif
