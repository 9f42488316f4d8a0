/* SPDX-License-Identifier: Apache-2.0 */
/* A solve in one call, its result judged by the oracle. */
#ifndef TESS_TESTS_SUPPORT_SOLVE_H
#define TESS_TESTS_SUPPORT_SOLVE_H

#include <tessera/papers.h>
#include <tessera/solver.h>

#include "support/test.h"

/* The Krylov methods without restarts, all of them right for symmetric definite systems. The first RECORDED_METHODS
   run as recorded loops on a GPU. */
enum { LOOP_METHODS = 4, RECORDED_METHODS = 3 };
extern const tess_solver_kind loop_methods[LOOP_METHODS];

/* Defaults for tests: the solver named, 1e-10, 2,000 iterations. */
tess_solve_options solve_options(tess_solver_kind solver);
/* The same, but for a relative error of x in place of the tolerance. */
tess_solve_options solve_options_to(tess_solver_kind solver, double error);

/* The same in one kernel, of a GPU. */
tess_solve_options single_options(tess_solver_kind kind, tess_recurrence recurrence);

/* Those of GMRES with that restart, basis and orthogonalization (one of GMRES_WAYS). */
enum { GMRES_WAYS = TESS_ORTHOGONALIZATION_CGS2_DELAYED + 1 };
/* Whether it has a basis, and so a restart. */
bool is_gmres(tess_solver_kind solver);
tess_solve_options gmres_basis_options(int restart, tess_precision basis, int way);

/* Solves with a handle; x is the initial guess and receives the solution. The history pointer stays the handle's. */
tess_solve_result solve_with(tess_solver *solver, tess_context *ctx, int64_t n, const double *b, double *x);

/* Set-up, solve and destruction; the history pointer of the result is NULL. */
tess_solve_result solve_once(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options, const double *b,
                             double *x);

/*
 * Checks the result's claims about x in wide arithmetic: the residual norm within its bound, and `converged` only if
 * the tolerance is met (to the rounding of the tolerance itself).
 */
void check_honest(const oracle_csr *a, const double *b, const double *x, const tess_solve_options *options,
                  const tess_solve_result *result);

/* The results of one solve by a handle that is destroyed; result.history is no longer valid. */
typedef struct solved {
    double *x, *history;
    tess_solve_result result;
    tess_papers_result papers;
} solved;

solved solve_here(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options, const double *b);
void discard(solved *s);

/* A fixed run of 0 to 19 iterations takes as many, ends at its limit and is honest. */
void check_limits_are_exact(tess_context *ctx, const oracle_csr *a, const double *b, tess_solve_options options);

/* Solves A x = b, b random, by both engines of a GPU: converged, honest, with the same bits. */
void check_engines_agree(tess_context *gpu, const oracle_csr *a, tess_solve_options options);

/* Set-up and solve of A x = b, b random, so many times: the first one's bits of x and number of iterations each time.
 */
void check_repeats(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options, int times);

/*
 * The return value of main in a program whose tests share a system: the Laplacian of a grid of side * side points, a b
 * of ones and an x, in `context`. They go to where the pointers say, and end with the tests.
 */
typedef struct shared_system {
    tess_context **ctx;
    tess_matrix **a;
    tess_vector **b, **x;
} shared_system;

#define run_with_system(context, side, tests, ...)                                          \
    run_group_with_system(#tests, tests, sizeof(tests) / sizeof((tests)[0]), context, side, \
                          (shared_system){__VA_ARGS__})
int run_group_with_system(const char *name, const struct CMUnitTest *tests, size_t count, tess_context *context,
                          int side, shared_system shared);

#endif
