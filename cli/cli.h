/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the tool share: exit codes, arguments, input, output, progress. */
#ifndef TESS_CLI_CLI_H
#define TESS_CLI_CLI_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tessera/codec.h>
#include <tessera/papers.h>
#include <tessera/tessera.h>

#include "arguments.h"
#include "options.h"
#include "output.h"
#include "products.h"
#include "session.h"
#include "values.h"

/* Exit codes: scripts rely on them. */
enum {
    CLI_CONVERGED = 0, /* or: the command succeeded */
    CLI_NOT_CONVERGED = 1,
    CLI_USAGE = 2,
    CLI_INPUT = 3, /* input, format, or a file that cannot be written */
    CLI_DEVICE = 4,
    CLI_BREAKDOWN = 5
};

typedef struct cli_command {
    const char *name;
    const struct argp *argp;
    int (*run)(int argc, char **argv);
} cli_command;

extern const cli_command cli_command_info, cli_command_spmv, cli_command_solve, cli_command_compare,
    cli_command_generate, cli_command_convert, cli_command_timestep, cli_command_verify;

/* ---- help.c: --help and --usage ---- */

#define CLI_MATRIX_HELP                                                                                       \
    "MATRIX is a file (.mtx, .mtx.gz, .tess, .npz, .npy, .petsc), - for standard input, or a model problem, " \
    "gallery:NAME[:ARG...]."
void cli_print_help(FILE *stream, const char *program, const struct argp *argp);
void cli_print_usage(FILE *stream, const char *program, const struct argp *argp);

/* ---- host_options.c: options that all commands have ---- */

typedef struct cli_host_options {
    int threads;
    const char *json;
    bool force; /* an output may replace an input */
} cli_host_options;
extern const struct argp cli_host_argp;   /* --threads --json --force */
extern const struct argp cli_device_argp; /* --device; input: tess_device */
/* ---- options.c: how a matrix is stored ---- */

/* Where the options of storage go, with the facts about the command line that the options themselves do not hold. */
typedef struct cli_storage_choice {
    tess_storage_options *options;
    tess_papers_storage papers; /* options->papers */
    const char *shorthand;      /* the shorthand given to --format, such as pbp; NULL: none */
    const char *policy;         /* the argument of --policy; NULL: not given */
    bool assigns;               /* info without --format: the policy is for the assignment only, not for the storage */
    bool given;                 /* --format was given */
    bool chosen;                /* --format auto was given; options->format is the chosen format once it is known */
} cli_storage_choice;
/* Call it before argp, and after setting the defaults of the options: these get a pointer into the choice. */
void cli_storage_choice_init(cli_storage_choice *choice, tess_storage_options *options);
/* The options of storage, those of the papers among them; input: cli_storage_choice */
extern const struct argp cli_storage_argp;
/* options_report.c */
json_t *cli_storage_json(const tess_storage_options *options, bool chosen);
/* formats.c: "tiles", or "tiles (chosen)" if --format auto chose it. */
const char *cli_format_text(tess_format format, bool chosen, char *buffer, size_t size);

/* waiting.c: starts the program once more with settings under which the idle threads of OpenMP sleep soon, unless the
   environment has such settings. Call it first in main(). */
void cli_limit_spinning(char **argv);

/* ---- messages.c, failures.c ---- */

/* Sets the program's name for messages ("tessera solve"). */
void cli_set_name(const char *name);
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_print_version(FILE *stream);
/* Flushes standard output. Returns `code`, or CLI_INPUT with a message if the output could not be written. */
int cli_close_output(int code);
/* Prints the last error of the context (NULL: the status alone) and returns the exit code that belongs to it. */
int cli_report_failure(const tess_context *ctx, tess_status status);

/* ---- context.c, inputs.c ---- */

typedef struct cli_progress cli_progress;
/* Opens a context whose log goes to stderr; returns an exit code, message printed. */
int cli_open_context(tess_device device, int threads, cli_progress *progress, tess_context **out);
const char *cli_device_name(const tess_context *ctx);                   /* "cpu", "cuda" or "hip" */
void cli_print_device(const tess_context *ctx);                         /* the line of a report */
void cli_print_chosen_device(const tess_context *ctx, const char *why); /* NULL: it was not chosen */

typedef struct cli_matrix {
    tess_matrix *a;
    const char *name;
    bool from_file;
    tess_mtx_info info; /* of a file */
    double seconds;     /* to read or generate it */
} cli_matrix;
/* `name` is a file or gallery:NAME[:ARG...]. Returns an exit code, message printed. */
int cli_load_matrix(tess_context *ctx, const char *name, cli_matrix *out);
/* A model problem; a wrong name or argument is a usage error. Returns an exit code, message printed. */
int cli_generate(tess_context *ctx, const char *name, int nargs, const char *const *args, tess_matrix **out);
/* A vector of n values. Only a-times-ones and a-times-ramp need `a`. Returns an exit code, message printed. */
int cli_load_vector(tess_context *ctx, const cli_vector_choice *choice, const char *option, int64_t n,
                    const tess_matrix *a, tess_vector **out);
bool cli_ends_with(const char *text, const char *end);
/* The file of an argument: that of standard input for "-". */
const char *cli_input_path(const char *path);
/* After a file of an option was not found: what the option takes. */
void cli_hint_file(const char *option);
/* Whether `path` ends as a matrix file does: .mtx, .mtx.gz, .tess, .npz, .petsc. */
bool cli_is_matrix_path(const char *path);
int cli_write_matrix(const tess_matrix *a, const char *path, bool symmetric);
double cli_seconds(void);

/* ---- formats.c: what formats can do ---- */

typedef bool (*cli_capability)(const tess_format_capabilities *can);
bool cli_takes_parts(const tess_format_capabilities *can);
bool cli_copies_levels(const tess_format_capabilities *can);
bool cli_is_by_blocks(const tess_format_capabilities *can);
bool cli_rounds_products(const tess_format_capabilities *can);
bool cli_takes_papers(const tess_format_capabilities *can);
/* The first format with a capability; TESS_FORMAT_AUTO: none. */
tess_format cli_find_format(cli_capability has);
/* The names of all such formats: "split, composite or tiles" if `last` is " or ". */
const char *cli_formats_text(cli_capability has, const char *last, char *buffer, size_t size);
bool cli_in_set(unsigned set, int value);

bool cli_takes_policy(tess_format format);
/* Whether a policy decides the precisions. Format auto: whether a policy was given. */
bool cli_is_mixed(const tess_storage_options *options);
/* Whether policy lossless or error-bound chooses the precision of the whole matrix. */
bool cli_chooses_whole(const tess_storage_options *options);
/* Sets the format's default granularity if none was given. */
void cli_settle_granularity(tess_storage_options *options);
/* Whether the format takes the granularity. */
bool cli_storage_is_possible(const tess_storage_options *options);
/* --row-order if the format has row orders, else original. */
tess_row_order cli_row_order(const tess_storage_options *options);
/* Replaces auto in the options by the chosen format and its granularity, for reports. */
void cli_note_format(tess_format format, tess_storage_options *options);
/* Refuses options that do not fit the format: returns 0 or CLI_USAGE, message printed. */
int cli_check_storage(tess_context *ctx, const tess_storage_options *options);

/* ---- policy_report.c: precisions by policy ---- */

/* "e4m3 (exact)": the precision of a matrix that has one. It says "exact" for a precision below fp64 that stores every
   value exactly. */
const char *cli_precision_text(tess_precision precision, bool exact, char *buffer, size_t size);
/* Sets for reports what Jacobi and time steps use in any case: with a mixed step a format in parts and a policy, by
   default mean-range with that range, and settings of split and composite. */
void cli_complete_sweeps(const tess_precision_schedule *schedule, double range, tess_storage_options *storage);
/* As cli_note_format, with the parameter and the base that were chosen for a stored matrix. */
void cli_note_choices(const tess_matrix *stored, tess_storage_options *options);
/* Prints a line with the parameter, if the library chose it. */
void cli_print_parameter(const tess_storage_options *options);
/* The assignment of a format, or of what its policy chooses for the whole matrix, with its errors. */
tess_status cli_measure_assignment(const tess_matrix *a, const tess_storage_options *options,
                                   tess_assignment_summary *out);
/* One line, with policy error-bound. */
void cli_print_backward_error(const tess_assignment_summary *s);
/* One line if a policy put all nonzeros into fp64: then it does nothing. */
void cli_print_untouched(const tess_policy_options *policy, const int64_t per_precision[TESS_MAX_PRECISIONS]);
void cli_print_untouched_matrix(const tess_matrix *stored);
/* Nonzeros by precision; false: no policy stored the matrix. */
bool cli_count_precisions(const tess_matrix *stored, int64_t per_precision[TESS_MAX_PRECISIONS]);
/* Rows (entries, blocks), nonzeros and the largest relative error at each precision, a line each. */
void cli_print_precisions(const tess_assignment_summary *s);
const char *cli_levels_text(const tess_policy_options *options, char *buffer, size_t size);
void cli_print_assignment(const tess_assignment_summary *summary, int64_t nrows);
json_t *cli_assignment_json(const tess_assignment_summary *summary, int64_t nrows);

/* ---- papers.c: tiles for studies of the papers ---- */

/* The papers' options; defaults if the pointer is NULL. */
const tess_papers_storage *cli_papers(const tess_storage_options *options);
/* Refuses the papers' options if format or kernel do not have them: returns 0 or CLI_USAGE, message printed. Part of
   cli_check_storage. */
int cli_check_papers(tess_context *ctx, const tess_storage_options *options);
/* How many blocks of a stored matrix have each format, if the matrix has such blocks. */
typedef struct cli_block_formats {
    bool known;
    int64_t count[TESS_TCKI_FORMATS];
} cli_block_formats;
cli_block_formats cli_find_block_formats(const tess_matrix *stored, const tess_storage_options *options);
void cli_print_block_formats(const cli_block_formats *formats);
json_t *cli_block_formats_json(const cli_block_formats *formats); /* null where it is not known */

/* ---- options_report.c, factors.c: preconditioners ---- */

/* "block-jacobi:8" */
const char *cli_precond_text(const tess_precond_options *precond, char *buffer, size_t size);
/* Adds the options to an object. */
void cli_add_precond_json(json_t *object, const tess_precond_options *precond);
/* Whether it has incomplete factors. */
bool cli_is_incomplete(tess_precond_kind kind);
/* A line about factors; none for other preconditioners. */
void cli_print_factors(const tess_precond_options *precond, const tess_solve_result *result, const tess_solver *solver);
/* Leaves and squares of triangles in recursive blocks; null for others. */
json_t *cli_factor_precision_json(const tess_precond_options *precond, const tess_solver *solver);
json_t *cli_blocks_json(const tess_solver *solver);

/* ---- nullspace.c: the near-nullspace of amg, from files ---- */

typedef struct cli_nullspace {
    const char *coordinates, *vectors; /* files; NULL: not given */
    double *values;                    /* what the options of amg point to */
} cli_nullspace;
extern const struct argp cli_nullspace_argp; /* --coordinates --near-nullspace; input: cli_nullspace */
/* Refuses the options above for other preconditioners: returns 0 or CLI_USAGE, message printed. */
int cli_check_nullspace(const cli_nullspace *nullspace, const tess_precond_options *precond);
/* Reads the files for a matrix, and sets the options. Returns an exit code, message printed. Free it in any case. */
int cli_load_nullspace(tess_context *ctx, const tess_matrix *a, cli_nullspace *nullspace,
                       tess_precond_options *precond);
void cli_free_nullspace(cli_nullspace *nullspace);
/* Adds the files' names to an object. */
void cli_add_nullspace_json(json_t *object, const cli_nullspace *nullspace);

/* ---- saddle.c: the rows and the matrix of saddle, from files ---- */

typedef struct cli_saddle {
    const char *index, *schur; /* files; NULL: not given */
    int64_t *rows;             /* what the options of saddle point to */
    tess_matrix *matrix;
} cli_saddle;
extern const struct argp cli_saddle_argp; /* --saddle-index --schur-matrix; input: cli_saddle */
/* Refuses the options above for other preconditioners: returns 0 or CLI_USAGE, message printed. */
int cli_check_saddle(const cli_saddle *saddle, const tess_precond_options *precond);
/* Reads the files, and sets the options. Returns an exit code, message printed. Free it in any case. */
int cli_load_saddle(tess_context *ctx, cli_saddle *saddle, tess_saddle_options *options);
void cli_free_saddle(cli_saddle *saddle);
/* Adds the files' names to an object. */
void cli_write_precond_files(FILE *to, const cli_nullspace *nullspace, const cli_saddle *saddle,
                             tess_precond_kind kind);
void cli_add_saddle_json(json_t *object, const cli_saddle *saddle);

/* ---- plot.c: a picture of the precisions ---- */

typedef struct cli_plot {
    const char *path;
    int width, height;
} cli_plot;
/* Draws the matrix, of a CPU context, and sets width and height. Returns an exit code, message printed. */
int cli_plot_assignment(const tess_matrix *a, const tess_assignment *assignment, cli_plot *plot);
void cli_print_plot(const cli_plot *plot, const tess_policy_options *options);
json_t *cli_plot_json(const cli_plot *plot, const tess_policy_options *options);

/* ---- multigrid.c: the levels of algebraic multigrid ---- */

/* false: the preconditioner, which may be NULL, has no levels. */
bool cli_find_levels(const tess_precond *m, tess_amg_levels *out);
/* The mean factor per iteration of the residual's norm; NaN: unknown. */
double cli_convergence_factor(const tess_solve_result *result);
/* The factor of the error's norm by the last of some cycles alone. */
tess_status cli_measure_factor(const tess_matrix *a, const tess_precond *m, double *factor);
void cli_print_levels(const tess_amg_levels *levels, double factor);
json_t *cli_levels_json(const tess_amg_levels *levels, double factor);

/* ---- saddle_report.c: the blocks of a saddle point; nothing, and null, for other preconditioners and NULL ---- */

void cli_print_saddle(const tess_precond *m);
json_t *cli_saddle_json(const tess_precond *m);

/* ---- progress.c ---- */

struct cli_progress {
    bool terminal;     /* stderr is one: a line that overwrites itself */
    bool every;        /* --monitor: a line for each iteration */
    bool line_open;    /* the terminal's current line has text */
    const char *label; /* what is solved, before the iteration; NULL: nothing */
    double budget;     /* seconds after which the solve is stopped; 0: none */
    double rhs_norm;
    double first_residual;
    double next_seconds;
    int64_t max_iterations;
};
void cli_progress_init(cli_progress *progress);
int cli_progress_monitor(void *user, const tess_progress *state);
/* A solve begins; label: NULL, or what it is of. */
void cli_progress_begin(cli_progress *progress, const char *label);
void cli_progress_end(cli_progress *progress);
void cli_log(void *user, tess_log_level level, const char *message);
tess_log_level cli_log_level(void);
/* ---- report.c ---- */

struct cli_column_list; /* columns.h */
struct cli_hidden_rows; /* hidden_rows.h */
typedef struct cli_solve_run {
    const cli_matrix *matrix;
    const tess_context *ctx;
    const tess_solve_options *options; /* with what the library chose */
    const tess_solve_options *asked;   /* the caller's */
    bool format_chosen;
    bool transformed; /* the matrix, b, x and the residuals are those of the transformed system */
    const tess_solver *solver;
    bool explain; /* print all attempts */
    const tess_solve_result *result;
    const tess_papers_result *papers;
    const cli_vector_choice *rhs;
    const char *initial_guess; /* NULL: zero */
    const char *device;        /* the argument of --device; NULL: not given, or auto */
    const char *device_why;    /* why auto took that of ctx; NULL: there was no choice */
    const cli_nullspace *nullspace;
    const cli_saddle *saddle;
    const cli_session *session;
    const cli_preset *preset;
    const struct cli_column_list *columns; /* of several right-hand sides */
    const tess_assignment_summary
        *assignment;               /* of the solved matrix; NULL: no policy, or one of a transformed matrix */
    const tess_findings *findings; /* after a failure; nrows 0: nothing was looked for */
    const struct cli_hidden_rows *hidden;
    const char *detail; /* of a failed set-up; may be empty */
    double output_seconds, total_seconds;
    int exit_code;
} cli_solve_run;
void cli_report_solve(const cli_solve_run *run, bool timings);
json_t *cli_solve_json(const cli_solve_run *run);
void cli_print_matrix(const cli_matrix *matrix);
/* Rows, columns and nonzeros as the user has them: those of a complex matrix, not of its real form. */
typedef struct cli_size {
    int64_t nrows, ncols, nnz;
    const char *kind; /* ", complex", or nothing */
} cli_size;
cli_size cli_size_of(const tess_matrix *a);
/* "960 x 960, 15844 nonzeros, complex" */
enum { CLI_SIZE_TEXT = 128 };
const char *cli_size_text(const tess_matrix *a, char *buffer, size_t size);
/* "1.5e-06" with so many digits after the point, or "not finite". */
enum { CLI_REAL_TEXT = 32 };
const char *cli_real_text(double value, int digits, char *buffer, size_t size);
/* "30", or "not finite". */
const char *cli_norm_text(double norm, char *buffer, size_t size);
/* A line of a relative residual; `what` is the rest of it. */
void cli_print_relative(const char *label, double relative, const char *what);
void cli_print_true_residual(const char *label, double relative, double norm, double bound);
/* The line of the row-scaled residual; nothing where nobody knows the rows. In JSON: null. */
void cli_print_row_residual(const tess_row_residual *rows);
json_t *cli_row_residual_json(const tess_row_residual *rows);
/* Of the narrowing in papers' tiles. */
int64_t cli_tile_products(const tess_papers_result *papers);
void cli_print_narrowing(const cli_solve_run *run);
void cli_print_cost(const cli_solve_run *run);
void cli_print_timings(const cli_solve_run *run);
int cli_write_history(const char *path, const tess_solve_result *result);

/* ---- sweeps.c ---- */

void cli_print_sweeps(const cli_solve_run *run);
/* Null for other preconditioners. */
json_t *cli_sweeps_json(const cli_solve_run *run);

/* ---- quote.c: names as people and shells may read them ---- */

enum {
    CLI_PATH_LENGTH = 4096,
    CLI_QUOTED_LENGTH = 4 * CLI_PATH_LENGTH + 16,
    CLI_COMMAND_LENGTH = 3 * CLI_QUOTED_LENGTH + 1024
};
/* Control characters, which a terminal would obey, as \x1b; with `lines`, those that end lines stay. */
void cli_write_shown(FILE *to, const char *text, bool lines);
/* The same: `text` itself, or one of four buffers, which later calls use again. */
const char *cli_shown(const char *text);
FILE *cli_shown_errors(void); /* stderr, through the same */
/* An argument that a shell reads as `text`. */
void cli_write_quoted(FILE *to, const char *text);
/* The name of a file, which is no option either; returns `buffer`, of CLI_QUOTED_LENGTH. */
const char *cli_quoted_file(const char *name, char *buffer, size_t size);
/* The command line that the tool was called with, quoted for a shell; the caller frees it. NULL: no memory, message
   printed. */
char *cli_quote_command(int argc, char **argv);

/* ---- automatic.c ---- */

/* The file of choices: the argument of --choices, or by default one in the user's cache folder, which is made; NULL:
   none. The default path is written to `buffer`. */
const char *cli_choices_path(const char *argument, char *buffer, size_t size);
/* What the library chose, and the line that asks for it by hand; nothing if the caller named the method. */
void cli_print_why(const cli_solve_run *run);
void cli_add_why_json(json_t *root, const cli_solve_run *run);

/* ---- accuracy.c ---- */

/* The argument of --accuracy. */
const char *cli_accuracy_text(const tess_accuracy_options *options, char *buffer, size_t size);
void cli_print_accuracy(const cli_solve_run *run);
json_t *cli_accuracy_json(const cli_solve_run *run); /* null for other solves */
/* Whether the error that was asked for is known, and too large. */
bool cli_accuracy_missed(const cli_solve_run *run);
/* After a solve whose error missed what was wanted, and which stagnated. */
const char *cli_accuracy_advice(const cli_solve_run *run);

/* ---- findings.c, next.c: after a solve that failed ---- */

/* Whether the structural rank is known and too small. */
bool cli_is_structurally_singular(const tess_findings *f);
/* Whether what no x reaches is more than the tolerance. */
bool cli_has_no_solution(const cli_solve_run *run);
void cli_print_findings(const cli_solve_run *run);
json_t *cli_findings_json(const cli_solve_run *run); /* null after a solve that did not fail */

#endif
