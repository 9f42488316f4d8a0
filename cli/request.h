/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that reports print: a solve with the options of a request. */
#ifndef TESS_CLI_REQUEST_H
#define TESS_CLI_REQUEST_H

#include "cli.h"

/* What a command has beside the options of the library. */
typedef struct cli_request_words {
    const char *matrix;
    const cli_vector_choice *rhs;
    const char *device;        /* --device; NULL: it was not given */
    bool transformed;          /* --system transformed */
    bool solver, format, rtol; /* named even where they are the defaults */
} cli_request_words;

/* What the caller wants of x, by another solver: norm, tolerance or accuracy, scaling. All else is left to defaults.
   Least squares know neither scaling, norms nor an accuracy. */
tess_solve_options cli_request_for(const cli_solve_run *run, tess_solver_kind solver);
/* "tessera solve A.mtx --solver cg --precond ic0 --rtol 1e-08 --rhs b.mtx": all options that are set. */
void cli_write_request(FILE *to, const tess_solve_options *request, const cli_request_words *words);
/* The norm that must meet the tolerance, as it was asked for or follows from the solver. */
tess_stop_norm cli_request_norm(const cli_solve_run *run);
bool cli_wants_accuracy(const tess_solve_options *options);
/* Whether the last attempt of an automatic solve may need those before it. */
bool cli_leans_on_others(const tess_solver *solver, const tess_solve_result *result);

#endif
