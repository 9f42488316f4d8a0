/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of tessera verify. */
#ifndef TESS_CLI_VERIFY_H
#define TESS_CLI_VERIFY_H

#include "columns.h"

typedef struct verify_options {
    cli_host_options host;
    tess_device device;
    tess_verify_options verify;
    int64_t rows; /* how many to list */
    const char *matrix;
    cli_vector_choice rhs, solution;
    int given; /* how many of the three */
} verify_options;

typedef struct verify_run {
    const verify_options *options;
    const tess_context *ctx;
    cli_matrix matrix;
    cli_columns b, x;         /* b may have one column for all of x */
    tess_verification *found; /* of each column of x */
    int64_t count, worst;     /* `worst`: whose report stands for all: not met, then the largest residual */
    tess_verify_row *rows;    /* of that column */
    int64_t nrows;
    int exit_code;
} verify_run;

int64_t cli_count_met(const verify_run *run);
void cli_print_verification(const verify_run *run);
json_t *cli_verification_json(const verify_run *run);

#endif
