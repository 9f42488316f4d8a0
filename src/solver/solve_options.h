/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a solve of a caller's, with what they point to. */
#ifndef TESS_SOLVER_SOLVE_OPTIONS_H
#define TESS_SOLVER_SOLVE_OPTIONS_H

#include <tessera/papers.h>

/* What the options' pointers point to: they are not the caller's. */
typedef struct solve_papers {
    tess_papers_solve solve;
    tess_papers_storage storage, squares;
} solve_papers;

/* A caller's options, or the defaults where they are NULL; their pointers lead into *papers. INVALID_ARGUMENT for
   sizes, reserved words and limits. */
tess_status solve_options_take(tess_context *ctx, const tess_solve_options *given, tess_solve_options *out,
                               solve_papers *papers);
/* Takes over tolerances, limits, guard and monitor. */
tess_status solve_options_take_limits(tess_context *ctx, const tess_solve_options *given, tess_solve_options *out);
/* The recurrence that is asked for. */
tess_recurrence solve_options_recurrence(const tess_solve_options *options);

#endif
