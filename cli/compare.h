/* SPDX-License-Identifier: Apache-2.0 */
/* The two tables of tessera compare: solves and products. */
#ifndef TESS_CLI_COMPARE_H
#define TESS_CLI_COMPARE_H

#include "cli.h"

/* ---- compare_products.c: y = A x in each storage ---- */

enum { CLI_NOT_GIVEN = -1 };

typedef struct cli_products_options {
    bool asked;                   /* an option of products was given */
    tess_storage_options storage; /* format and precision CLI_NOT_GIVEN: all of them */
    cli_storage_choice choice;
    cli_digits_options digits;
    cli_vector_choice x;
    double x_magnitude;
    int repeats;
} cli_products_options;

typedef struct cli_product_row {
    const char *device;
    tess_storage_options storage;
    tess_precision vectors; /* what x and y are in */
    int64_t matrix_bytes;
    cli_timing timing;
    cli_error_norms error;
    cli_digits digits;
    int64_t nonzeros[TESS_MAX_PRECISIONS]; /* by precision, of storage by a policy */
} cli_product_row;

typedef struct cli_products {
    const cli_products_options *options;
    cli_reference reference;
    cli_exact exact;
    tess_vector *x;        /* on the host */
    cli_product_row *rows; /* space for every storage on two devices */
    int count;
} cli_products;

/* Makes x and the references; `a` is on the host. Free it after a failure too. Both return an exit code, message
   printed. */
int cli_products_start(const tess_matrix *a, cli_products *all);
/* Adds the rows of the device of `a`. */
int cli_products_measure(const tess_matrix *a, cli_products *all);
void cli_products_print(const cli_products *all);
json_t *cli_products_json(const cli_products *all); /* the rows */
void cli_products_free(cli_products *all);

/* ---- compare_options.c: what to solve with ---- */

enum { CLI_MOST_CHOICES = 16, CLI_MOST_LEFT_OUT = 64, CLI_NAME_LENGTH = 48, CLI_REASON_LENGTH = 512 };

/* A name of --solver, with S of idr:S. */
typedef struct cli_listed_solver {
    tess_solver_kind kind;
    tess_idr_options idr;
} cli_listed_solver;

/* A solver with preconditioners that it is not tried with, for one reason. */
typedef struct cli_left_out {
    char solver[CLI_NAME_LENGTH];
    int preconds;
    char precond[CLI_MOST_CHOICES][CLI_NAME_LENGTH];
    char reason[CLI_REASON_LENGTH];
} cli_left_out;

/* Each name is in a list once. */
typedef struct cli_solves_options {
    bool asked;                                 /* an option of solves was given */
    int solvers, preconds, precisions;          /* how many are listed; 0: those that suit the matrix */
    cli_listed_solver solver[CLI_MOST_CHOICES]; /* auto among them */
    tess_precond_options precond[CLI_MOST_CHOICES];
    tess_precond_options given; /* what was given for them beside their names */
    tess_precision precision[CLI_MOST_CHOICES];
    int parts_left_out;
    cli_left_out left_out[CLI_MOST_LEFT_OUT];
    const tess_matrix *a; /* on the host; NULL: it is not read yet */
    tess_advice advice;   /* its attempts, and auto, are tried where neither solvers nor preconditioners are listed */
    cli_vector_choice rhs;
    double rtol, budget; /* budget: seconds of each solve */
    int64_t max_iterations;
} cli_solves_options;

void cli_solves_options_init(cli_solves_options *options);
/* --solvers --preconds --precisions --budget --rtol --max-iterations --rhs, and options of preconditioners; input:
   cli_solves_options */
extern const struct argp cli_solves_argp;
/* Fills the lists that were not given by the library's advice for the matrix. Returns an exit code, message printed. */
int cli_solves_choose(const tess_matrix *a, cli_solves_options *options);
/* What a pair of the lists asks for, in a precision of the list. */
void cli_set_pair(const cli_solves_options *options, int solver, int precond, int precision, tess_solve_options *out);
/* The same of an attempt of the advice. */
void cli_set_attempt(const cli_solves_options *options, int attempt, int precision, tess_solve_options *out);
/* Whether a solve of the matrix takes what was set; solver auto takes none of the lists. */
bool cli_request_fits(const cli_solves_options *options, const tess_solve_options *request);
/* "lsqr with ilu0, ic0: --solver lsqr takes no preconditioner but jacobi" */
const char *cli_left_out_text(const cli_left_out *part, char *buffer, size_t size);

/* ---- compare_solves.c: A x = b by each of them ---- */

/* The precision of matrix and preconditioner, or of the cycles of gmres. */
void cli_set_precision(tess_precision precision, tess_solve_options *o);

enum { CLI_HISTORY_POINTS = 300 };

/* One solve, of the fastest of a few runs. */
typedef struct cli_solve_row {
    const char *device;
    tess_solve_options options; /* with what the library chose */
    bool automatic;             /* solver auto was asked for */
    tess_precision precision;   /* as asked; not for auto */
    tess_status status;         /* not SUCCESS: it was refused, for `reason` */
    char reason[CLI_REASON_LENGTH];
    bool stopped;  /* at the budget */
    bool together; /* an automatic solve whose last attempt may need those before it */
    tess_solve_result result;
    double seconds; /* set-up and solve */
    int points;     /* some of the history */
    double iteration[CLI_HISTORY_POINTS], residual[CLI_HISTORY_POINTS];
} cli_solve_row;

typedef struct cli_solves {
    const cli_solves_options *options;
    const char *matrix; /* its name, for commands */
    cli_solve_row *rows;
    int count, capacity;
    bool interrupted; /* Ctrl-C: the rows so far are reported */
} cli_solves;

/* Adds the rows of the device of `a`. Returns an exit code, message printed. */
int cli_solves_measure(const tess_matrix *a, cli_solves *all);
/* Those that are verified first, by time; then the others. */
void cli_solves_sort(cli_solves *all);
void cli_solves_print(const cli_solves *all);
json_t *cli_solves_json(const cli_solves *all);
void cli_solves_free(cli_solves *all);

/* Parts of a row, for tables. The command repeats it; the precisions are those of matrix, preconditioner and vectors.
 */
const char *cli_row_method(const cli_solve_row *row, char *buffer, size_t size);
const char *cli_row_precisions(const cli_solve_row *row, char *buffer, size_t size);
const char *cli_row_outcome(const cli_solve_row *row, double budget, char *buffer, size_t size);
const char *cli_row_command(const cli_solve_row *row, const cli_solves *all, char *buffer, size_t size);

#endif
