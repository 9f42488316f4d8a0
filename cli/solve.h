/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of tessera solve. Functions return an exit code, message printed. */
#ifndef TESS_CLI_SOLVE_H
#define TESS_CLI_SOLVE_H

#include "columns.h"
#include "hidden_rows.h"

typedef struct solve_options {
    cli_host_options host;
    cli_stop_options stop;
    tess_device device;
    tess_solve_options solve;
    tess_papers_solve papers; /* solve.papers */
    cli_storage_choice storage;
    cli_vector_choice rhs;
    cli_seed seed;
    const char *matrix, *initial_guess, *output, *history, *html;
    const char *command; /* as it was called */
    bool monitor, explain;
    bool transformed; /* --system transformed: the matrix is scaled and reordered before all else */
    cli_nullspace nullspace;
    cli_saddle saddle;
} solve_options;

typedef struct solve_objects {
    tess_context *ctx;
    cli_matrix matrix;
    char device_why[TESS_ADVICE_LENGTH]; /* with --device auto: why that of the context; empty: there was no choice */
    cli_columns rhs, guess, solution;    /* of files; solution: of several right-hand sides */
    cli_column_list columns;
    tess_vector *b, *x; /* of one column */
    tess_solver *solver;
    cli_session session;
    cli_solve_pieces pieces;
    tess_solve_result result;
    tess_papers_result papers;
    tess_findings findings;
    cli_hidden_rows hidden;
    char detail[sizeof((tess_error *)0)->message + sizeof((tess_error *)0)->hint + 2];
} solve_objects;

/* ---- solve_checks.c ---- */

/* Refuses options that do not go together, and completes those that follow from others. */
void cli_check_solve(struct argp_state *state, solve_options *options);
bool cli_is_least_squares(tess_solver_kind solver);
/* Whether the outer iterations take a preconditioner that varies, as fgmres does. */
bool cli_is_flexible(tess_solver_kind solver);
/* fgmres does not take cgs2-delayed, the default of its kin. */
void cli_check_orthogonalization(struct argp_state *state, const tess_solve_options *solve);
void cli_check_narrowing(struct argp_state *state, const tess_papers_solve *papers, const cli_storage_choice *storage);
bool cli_needs_gpu(tess_engine engine);

/* ---- system.c ---- */

/* With --system transformed: puts the transformed matrix in the place of the one that was read. */
int cli_solve_transform(const solve_options *options, solve_objects *o);

/* ---- solve_run.c ---- */

/* Refuses an engine of a GPU where none can be used. */
int cli_check_engine(tess_engine engine, bool has_gpu);
/* Refuses a solver that needs a square matrix for one that is not. */
int cli_check_shape(const char *name, const tess_matrix *a, tess_solver_kind solver);
int cli_solve_check_matrix(const solve_options *options, const solve_objects *o);
int cli_solve_load(const solve_options *options, solve_objects *o);
int cli_solve_run_columns(const solve_options *options, solve_objects *o, cli_progress *progress);
/* The exit code that belongs to a result. */
int cli_solve_exit_code(const tess_solve_result *result);

/* ---- solve_together.c ---- */

/* How many columns, from the first that is left, the next call solves; 1: that one alone. */
int64_t cli_columns_together(const solve_objects *o, const cli_progress *progress, int64_t first);
/* Notes the result of a column, whose b and x are in `o`. */
typedef tess_status cli_note_column(solve_objects *o, int64_t j, tess_solve_result *result);
int cli_solve_together(const tess_solve_options *solve, solve_objects *o, int64_t first, int64_t count,
                       cli_progress *progress, cli_note_column *note);

/* ---- solve_results.c ---- */

int cli_solve_report(const solve_options *options, const solve_objects *o, const cli_preset *preset, double start);

#endif
