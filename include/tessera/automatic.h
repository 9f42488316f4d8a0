/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file automatic.h  What a solver chose by itself, and why.
 *
 *     tess_solver_create(a, NULL, &solver);          solver and preconditioner auto: the defaults
 *     tess_solver_solve(solver, b, x, &result);
 *     puts(tess_solver_why(solver));                 some lines of text: what was found, tried and taken
 *
 * With solver and preconditioner `auto`, a solve is a short list of attempts. Each starts from the best x so far and
 * has a budget; the first that is verified ends the solve. Later solves with the same solver begin with it.
 * docs/concepts/automatic.md
 */
#ifndef TESSERA_AUTOMATIC_H
#define TESSERA_AUTOMATIC_H

#include <stdint.h>

#include <tessera/solver.h>

TESS_BEGIN_DECLS

/** One attempt of the last solve. */
typedef struct tess_attempt {
    tess_solver_kind solver;
    tess_precond_kind precond;
    tess_precision factors; /**< storage of the preconditioner; fp64 for none and jacobi */
    tess_scaling scale;
    tess_format format;       /**< of the matrix of the iterations, */
    tess_precision matrix;    /**< and its precision, which is exact unless the options ask for another */
    int left;                 /**< 1: the library left it, since another should take less time */
    tess_status status;       /**< not SUCCESS: it could not be set up, and the numbers below are 0 */
    tess_reason reason;       /**< why it ended; CANCELLED if it was left */
    int64_t iterations;       /**< its own */
    double relative_residual; /**< of its x, true */
    double setup_seconds, solve_seconds;
    tess_reordering reorder; /**< of the system, after `scale` */
    int64_t reserved[2];
} tess_attempt;

/**
 * The attempts of the last solve, in order; *out is valid until the next one. Returns their number: 0 if the caller
 * named the method, if the matrix has NaN or Inf, or before the first solve.
 */
TESS_EXPORT int tess_solver_attempts(const tess_solver *solver, const tess_attempt **out);

/**
 * Why the last solve did what it did: lines that end with '\n', without a trailing one. "" if the caller named the
 * method. The text belongs to the solver and is valid until its next solve.
 */
TESS_EXPORT const char *tess_solver_why(const tess_solver *solver);

/**
 * The options that request by hand what the last solve ended with: those of the solver, with its choices filled in.
 * Pointers in *out are the solver's. Errors: INVALID_ARGUMENT (@c out->size).
 */
TESS_EXPORT tess_status tess_solver_chosen_options(const tess_solver *solver, tess_solve_options *out);

TESS_END_DECLS

#endif
