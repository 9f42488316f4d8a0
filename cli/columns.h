/* SPDX-License-Identifier: Apache-2.0 */
/* Several right-hand sides in one file: solved with one set-up. */
#ifndef TESS_CLI_COLUMNS_H
#define TESS_CLI_COLUMNS_H

#include "cli.h"

/* A table of values on the host, column after column. */
typedef struct cli_columns {
    tess_context *ctx;
    double *values; /* NULL: none */
    int64_t nrows, ncols;
} cli_columns;

/* Reads a file, of any size, for a matrix. Real numbers for a complex matrix become complex ones; the other way round
   is an error. Returns an exit code, message printed. */
int cli_columns_open(tess_context *ctx, const char *path, const tess_matrix *a, cli_columns *out);
/* Reads the file of an option; it must have `nrows` rows, as `a` has rows or columns. */
int cli_columns_read(tess_context *ctx, const char *path, const char *option, int64_t nrows, const tess_matrix *a,
                     cli_columns *out);
/* Numbers of a file that one of the matrix's is: 2 of a complex one, re and im. */
int64_t cli_numbers_of(const tess_matrix *a);
/* Writes an x or y of the matrix, host values column after column or a vector: complex as it is. */
tess_status cli_write_values(const tess_matrix *a, const double *values, int64_t nrows, int64_t ncols,
                             const char *path);
tess_status cli_write_vector(const tess_matrix *a, const tess_vector *v, const char *path);
tess_status cli_columns_create(tess_context *ctx, int64_t nrows, int64_t ncols, cli_columns *out);
/* Column j to a vector, and back. */
tess_status cli_columns_get(const cli_columns *columns, int64_t j, tess_vector *out);
tess_status cli_columns_put(cli_columns *columns, int64_t j, const tess_vector *from);
void cli_columns_free(cli_columns *columns);

/* What one column's solve gave. */
typedef struct cli_column_result {
    tess_reason reason;
    bool converged, verified, solved; /* not solved: Ctrl-C came before */
    int exit_code;
    int64_t iterations, refinements;
    double relative_residual, estimated_relative_residual, residual_norm, residual_bound, tolerance, solve_seconds;
    tess_row_residual rows;
} cli_column_result;

typedef struct cli_column_list {
    int64_t count, worst; /* `worst`: whose report stands for all: the highest exit code, then residual */
    cli_column_result *column;
    double *history; /* of the worst */
    double seconds;  /* of all solves */
} cli_column_list;

bool cli_column_list_create(int64_t count, cli_column_list *out);
/* Notes a result. True: it is the worst so far, so the caller keeps its report; the result's history then is a copy. */
bool cli_column_list_note(cli_column_list *list, int64_t j, int exit_code, tess_solve_result *result);
int cli_column_list_exit_code(const cli_column_list *list);
void cli_column_list_free(cli_column_list *list);
/* A table, and what the rest of the report is about; nothing of one column. */
void cli_print_columns(const cli_column_list *list);
void cli_add_columns_json(json_t *root, const cli_column_list *list);

#endif
