/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of solvers, preconditioners and precisions that tessera compare tries, and what suits a matrix. */
#include "compare.h"
#include "streams.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SOLVERS = 800, KEY_PRECONDS, KEY_PRECISIONS, KEY_BUDGET, KEY_RTOL, KEY_MAX_ITERATIONS, KEY_RHS };

/* Complete factors are tried by default up to this many nonzeros: nothing can stop a factorization. */
static const int64_t most_to_factor = 1000000;

void cli_solves_options_init(cli_solves_options *options)
{
    *options = (cli_solves_options){
        .rhs = {.source = CLI_VECTOR_ONES}, .rtol = 1e-5, .budget = 10.0, .max_iterations = 1000000};
}

/* Calls `add` with each word between commas. */
static void parse_list(struct argp_state *state, const char *option, const char *text, int *count,
                       void (*add)(struct argp_state *state, const char *word, cli_solves_options *options))
{
    char *copy = strdup(text), *rest = copy;
    *count = 0;
    if (copy == NULL) { argp_failure(state, CLI_DEVICE, 0, "there is no memory for --%s", option); }
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        if (*count == CLI_MOST_CHOICES) {
            argp_error(state, "--%s takes at most %s", option, tess_count((int)CLI_MOST_CHOICES, "name").text);
        }
        add(state, word, state->input);
        *count += 1;
    }
    free(copy);
}

static void add_solver(struct argp_state *state, const char *word, cli_solves_options *options)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    cli_set_option(state, "solvers", "solver", word, &solve);
    options->solver[options->solvers] = solve.solver;
}

static void add_precond(struct argp_state *state, const char *word, cli_solves_options *options)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    cli_set_option(state, "preconds", "precond", word, &solve);
    options->precond[options->preconds] = solve.precond;
}

static void add_precision(struct argp_state *state, const char *word, cli_solves_options *options)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    cli_set_option(state, "precisions", "matrix-precision", word, &solve);
    options->precision[options->precisions] = solve.storage.precision;
}

static error_t parse_solves(int key, char *arg, struct argp_state *state)
{
    cli_solves_options *options = state->input;
    options->asked = options->asked || (key >= KEY_SOLVERS && key <= KEY_RHS);
    switch (key) {
    case KEY_SOLVERS: parse_list(state, "solvers", arg, &options->solvers, add_solver); return 0;
    case KEY_PRECONDS: parse_list(state, "preconds", arg, &options->preconds, add_precond); return 0;
    case KEY_PRECISIONS: parse_list(state, "precisions", arg, &options->precisions, add_precision); return 0;
    case KEY_BUDGET: options->budget = cli_parse_real(state, "budget", arg, DBL_MIN, DBL_MAX); return 0;
    case KEY_RTOL: options->rtol = cli_parse_real(state, "rtol", arg, 0.0, 1.0); return 0;
    case KEY_MAX_ITERATIONS:
        options->max_iterations = cli_parse_integer(state, "max-iterations", arg, 0, INT64_MAX / 4);
        return 0;
    case KEY_RHS:
        options->rhs = cli_parse_vector(state, "rhs", arg, true);
        if (cli_is_stream(arg)) {
            argp_error(state, "--rhs: a comparison reads b for each device; give a file, not -");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option solves_options[] = {
    {"solvers", KEY_SOLVERS, "LIST", 0,
     "solves: names of --solver with commas between them (default: auto and those that suit the matrix)",
     TESS_SECTION_MAIN},
    {"preconds", KEY_PRECONDS, "LIST", 0,
     "solves: names of --precond with commas between them (default: none, jacobi, and factors that suit the matrix)",
     TESS_SECTION_MAIN},
    {"precisions", KEY_PRECISIONS, "LIST", 0,
     "solves: precisions of matrix and preconditioner, and of the cycles of gmres (default fp64,fp32)",
     TESS_SECTION_MAIN},
    {"budget", KEY_BUDGET, "S", 0, "solves: stop each after S seconds (default 10)", TESS_SECTION_MAIN},
    {"rhs", KEY_RHS, "NAME|FILE", 0,
     "solves: right-hand side b (default ones): ones, a-times-ones, a-times-ramp, "
     "random[:SEED] in (-1, 1), uniform[:SEED] in (0, 1), or a file",
     TESS_SECTION_MAIN + 1},
    {"rtol", KEY_RTOL, "R", 0, "solves: relative tolerance (default 1e-5)", TESS_SECTION_STOPPING},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "solves: most iterations of each (default 1000000)",
     TESS_SECTION_STOPPING},
    {0}};
const struct argp cli_solves_argp = {.options = solves_options, .parser = parse_solves};

/* ---- what suits a matrix: the library's advice ---- */

static void take_solver(cli_solves_options *options, tess_solver_kind kind)
{
    for (int k = 0; k < options->solvers; k++) {
        if (options->solver[k] == kind) { return; }
    }
    options->solver[options->solvers++] = kind;
}

static void take_precond(cli_solves_options *options, tess_precond_kind kind)
{
    for (int k = 0; k < options->preconds; k++) {
        if (options->precond[k].kind == kind) { return; }
    }
    tess_precond_options_parse(tess_precond_kind_name(kind), &options->precond[options->preconds++]);
}

/* Beside preconditioners that were listed. */
static void take_solvers(cli_solves_options *options)
{
    take_solver(options, TESS_SOLVER_AUTO);
    for (int k = 0; k < options->advice.count; k++) {
        take_solver(options, options->advice.attempt[k].solver);
    }
}

/* Beside solvers that were listed. */
static void take_preconds(cli_solves_options *options)
{
    take_precond(options, TESS_PRECOND_NONE);
    for (int k = 0; k < options->advice.count; k++) {
        take_precond(options, options->advice.attempt[k].precond);
    }
}

static bool is_complete(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_LU || kind == TESS_PRECOND_CHOLESKY;
}

/* Attempts that differ in more than the precision, which is the list's; without factors that nothing could stop. */
static void keep_distinct(const tess_matrix *a, tess_advice *advice)
{
    int kept = 0;
    for (int k = 0; k < advice->count; k++) {
        const tess_advised_attempt one = advice->attempt[k];
        bool taken = is_complete(one.precond) && tess_matrix_nnz(a) > most_to_factor;
        for (int j = 0; j < kept; j++) {
            taken = taken || (advice->attempt[j].solver == one.solver && advice->attempt[j].precond == one.precond);
        }
        if (!taken) { advice->attempt[kept++] = one; }
    }
    advice->count = kept;
}

/* Least squares know two methods; the advice names one. */
static void choose_least_squares(cli_solves_options *options)
{
    if (options->solvers == 0) {
        take_solvers(options);
        take_solver(options, TESS_SOLVER_LSQR);
    }
    if (options->preconds == 0) { take_preconds(options); }
}

int cli_solves_choose(const tess_matrix *a, cli_solves_options *options)
{
    tess_advice *advice = &options->advice;
    tess_advice_init(advice);
    tess_status status = tess_advise(a, NULL, advice);
    if (status != TESS_SUCCESS) { return cli_report_failure(tess_matrix_context(a), status); }
    keep_distinct(a, advice);
    if (tess_matrix_nrows(a) != tess_matrix_ncols(a)) {
        choose_least_squares(options);
    } else if (options->solvers > 0 && options->preconds == 0) {
        take_preconds(options);
    } else if (options->preconds > 0 && options->solvers == 0) {
        take_solvers(options);
    }
    if (options->precisions == 0) {
        options->precision[options->precisions++] = TESS_PRECISION_FP64;
        options->precision[options->precisions++] = TESS_PRECISION_FP32;
    }
    return CLI_CONVERGED;
}
