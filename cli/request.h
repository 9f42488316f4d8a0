/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that a report of tessera solve prints: what they ask for besides their method. */
#ifndef TESS_CLI_REQUEST_H
#define TESS_CLI_REQUEST_H

#include "cli.h"

typedef struct cli_request {
    tess_solver_kind solver; /* of the command: it decides which norm is the default, and what may be asked for */
    tess_scaling scale;
    tess_reordering reorder;
    tess_stop_norm stop_norm;                /* auto: that of the solver */
    double rtol, atol, divergence_tolerance; /* the last: 0 for the default */
    tess_accuracy_options accuracy;          /* in place of both, where one is wanted */
    int64_t max_iterations;
} cli_request;

/* The caller's own, for a command with another solver. Least squares know neither scaling, norms nor an accuracy. */
cli_request cli_request_for(const cli_solve_run *run, tess_solver_kind solver);
/* The norm that must meet the tolerance, as it was asked for or follows from the solver. */
tess_stop_norm cli_request_norm(const cli_solve_run *run);
bool cli_wants_accuracy(const tess_solve_options *options);

/* " --precond ilu0 --precond-precision fp32/fp64": with the options of the preconditioner that are not the defaults. */
void cli_write_precond(FILE *to, const tess_precond_options *precond);
/* " --scale rows --system transformed" */
void cli_write_transform(FILE *to, const cli_request *request, bool transformed);
/* " --stop-norm both --rtol 1e-08 --rhs b.mtx --max-iterations 500"; without rtol_too --rtol only where it is not the
   default. */
void cli_write_goal(FILE *to, const cli_request *request, const cli_vector_choice *rhs, bool rtol_too);
/* Whether the last attempt of an automatic solve may need those before it. */
bool cli_leans_on_others(const tess_solver *solver, const tess_solve_result *result);
/* The shortest decimal number that reads as the same value. */
const char *cli_real_text(double value, char *buffer, size_t size);

#endif
