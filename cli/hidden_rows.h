/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that the norm as given hides: their part of the residual is small beside others, and large for themselves. */
#ifndef TESS_CLI_HIDDEN_ROWS_H
#define TESS_CLI_HIDDEN_ROWS_H

#include "cli.h"

typedef struct cli_hidden_rows {
    int64_t count;      /* 0: none */
    int64_t first;      /* from 0 */
    double times;       /* the row-scaled residual over its tolerance */
    tess_scaling scale; /* that brings the rows to one size; none: they are */
} cli_hidden_rows;

/* Of a result that converged and is not verified because of the row-scaled residual; an error finds none. */
void cli_find_hidden_rows(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                          const tess_solve_result *result, cli_hidden_rows *out);
void cli_print_hidden_rows(const cli_hidden_rows *hidden, const char *label);
json_t *cli_hidden_rows_json(const cli_hidden_rows *hidden); /* null where there are none */
/* The options of a solve that sees them. */
void cli_hidden_rows_options(const cli_solve_run *run, char *buffer, size_t size);

#endif
