/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with the default solver and preconditioner. */
#ifndef TESS_TESTS_SUPPORT_AUTOMATIC_H
#define TESS_TESTS_SUPPORT_AUTOMATIC_H

#include <tessera/automatic.h>

#include "support/solve.h"

/* SLOW_LEFT: CG is left before so many iterations. On a GPU these cost little beside other methods' set-ups. */
#ifdef TESTS_ON_GPU
enum { GRID = 24, SLOW_ROWS = 1000, SLOW_LEFT = 10000 };
#else
enum { GRID = 24, SLOW_ROWS = 300, SLOW_LEFT = 1000 };
#endif

/* A solver on a matrix of the oracle, with b = 1 and x = 0. */
typedef struct automatic_run {
    tess_context *ctx;
    oracle_csr a;
    tess_matrix *matrix;
    tess_solver *solver;
    tess_solve_options options;
    double *b, *x;
    tess_solve_result result;
    const tess_attempt *attempts;
    int count;
} automatic_run;

/* A system of which CG needs many times more iterations than there are rows; a tolerance that FP64 can reach for it. */
oracle_csr slow_system(int64_t n);
tess_solve_options slow_options(void);
tess_solve_options automatic_options(void);

automatic_run open_automatic(tess_context *ctx, oracle_csr a, tess_solve_options options);
void run_automatic(automatic_run *t);
void close_automatic(automatic_run *t);
void assert_why(const automatic_run *t, const char *words);

#endif
