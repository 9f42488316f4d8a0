/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's options of a solve, copied together with the data that they point to. */
#ifndef TESS_SOLVER_SOLVE_OPTIONS_H
#define TESS_SOLVER_SOLVE_OPTIONS_H

#include <stdbool.h>

#include <tessera/papers.h>
#include <tessera/solver.h>

/* The data that the options' pointers point to, copied from the caller. */
typedef struct solve_papers {
    tess_papers_solve solve;
    tess_papers_storage storage, squares;
} solve_papers;

/* Copies a caller's options, or the defaults if they are NULL; their pointers lead into *papers. INVALID_ARGUMENT for
   sizes, reserved words and limits. */
tess_status solve_options_take(tess_context *ctx, const tess_solve_options *given, tess_solve_options *out,
                               solve_papers *papers);
/* Copies tolerances, limits, guard and monitor. */
tess_status solve_options_take_limits(tess_context *ctx, const tess_solve_options *given, tess_solve_options *out);
/* Whether the storage fits a solve by its method, with the sweeps of Jacobi. nrows, ncols: -1 if unknown.
   INVALID_ARGUMENT for a contradiction, UNSUPPORTED for what the context's device does not have. */
tess_status solve_options_check_storage(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_solve_options *o);
/* Whether an error of x is wanted in place of a tolerance. */
bool wants_accuracy(const tess_solve_options *options);
/* With automatic.fp64_only, what a named preconditioner would keep in a lower precision by itself is in FP64. */
void solve_options_keep_fp64(tess_solve_options *options);
/* The requested recurrence. */
tess_recurrence solve_options_recurrence(const tess_solve_options *options);

#endif
