/* SPDX-License-Identifier: Apache-2.0 */
/* After a solve that failed: advice, and a command that has a chance. */
#ifndef TESS_CLI_NEXT_H
#define TESS_CLI_NEXT_H

#include "cli.h"

enum { CLI_ADVICE_LENGTH = 256 };

/* What may help, written into `buffer` of that length; NULL: nothing is known. */
const char *cli_advice(const cli_solve_run *run, char *buffer);
/* A command that has a chance where this one failed, and that keeps what the caller asked for; NULL: there is none. */
const char *cli_next_command(const cli_solve_run *run, char *buffer, size_t size);
/* ||A||_F ||x|| / ||A x||, which the condition number is at least; 0: nothing is known. */
double cli_least_condition(const cli_solve_run *run);
/* Whether that says that A is singular up to rounding. */
bool cli_is_nearly_singular(const cli_solve_run *run);

#endif
