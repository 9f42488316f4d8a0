/* SPDX-License-Identifier: Apache-2.0 */
/* tessera solve: A x = b, with a verified result. */
#include "device_choice.h"
#include "html.h"
#include "solve.h"
#include "streams.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_SYSTEM = 600,
    KEY_RHS,
    KEY_GUESS,
    KEY_OUTPUT,
    KEY_HISTORY,
    KEY_HTML,
    KEY_MONITOR,
    KEY_SEED,
    KEY_PRESET,
    KEY_EXPLAIN
};

static const struct argp_option solve_argp_options[] = {
    {"rhs", KEY_RHS, "NAME|FILE", 0,
     "right-hand side b (default ones): ones, a-times-ones, a-times-ramp, "
     "random[:SEED] in (-1, 1), uniform[:SEED] in (0, 1), or a file, each column of which is one\n"
     "a-times-ramp: A x with x_i = i / n",
     TESS_SECTION_MAIN + 2},
    {"seed", KEY_SEED, "N", 0, "seed of random and uniform where --rhs gives none (default 1)", TESS_SECTION_MAIN + 2},
    {"initial-guess", KEY_GUESS, "FILE", 0, "x at the start (default: zero); one column, or one for each of b",
     TESS_SECTION_MAIN + 2},
    {"explain", KEY_EXPLAIN, NULL, 0, "with solver auto: print all that was found and tried", TESS_SECTION_OUTPUT},
    {"system", KEY_SYSTEM, "NAME", 0,
     "original or transformed (default original)\n"
     "with --scale or --reorder: whether b, x and residuals are those of A or of the transformed matrix",
     TESS_SECTION_METHOD + 1},
    {"output", KEY_OUTPUT, "FILE", 0,
     "write x: .npy, .petsc, else a Matrix Market array; - is standard output, and the report goes to standard error",
     TESS_SECTION_OUTPUT},
    {"history", KEY_HISTORY, "FILE", 0,
     "write the residual estimate of each iteration: a picture (.png, .svg), else CSV", TESS_SECTION_OUTPUT},
    {"html", KEY_HTML, "FILE", 0, "write a page that shows the solve in a browser; it needs no network",
     TESS_SECTION_OUTPUT},
    {"monitor", KEY_MONITOR, NULL, 0, "print the residual estimate of each iteration to standard error",
     TESS_SECTION_OUTPUT},
    {"preset", KEY_PRESET, "NAME", 0,
     "measurement of a paper: {preset-names} (default: none)\n"
     "options given as well override those of the preset\n"
     "{presets}",
     TESS_SECTION_PAPERS + 2},
    {0}};

/* Whether the system is the transformed one. */
static bool parse_system(struct argp_state *state, const char *text)
{
    static const char *const available[] = {"original", "transformed", NULL};
    return cli_parse_word(state, "system", text, available) == 1;
}

static error_t parse_own(int key, char *arg, struct argp_state *state, solve_options *options)
{
    switch (key) {
    case KEY_SYSTEM: options->transformed = parse_system(state, arg); return 0;
    case KEY_EXPLAIN: options->explain = true; return 0;
    case KEY_RHS: options->rhs = cli_parse_vector(state, "rhs", arg, true); return 0;
    case KEY_GUESS: options->initial_guess = cli_parse_input(state, "initial-guess", arg); return 0;
    case KEY_OUTPUT: options->output = cli_parse_output_or_stdout(state, "output", arg); return 0;
    case KEY_HISTORY: options->history = cli_parse_output(state, "history", arg); return 0;
    case KEY_HTML: options->html = cli_parse_output(state, "html", arg); return 0;
    case KEY_SEED: options->seed = (cli_seed){cli_parse_seed(state, "seed", arg), true}; return 0;
    case KEY_MONITOR: options->monitor = true; return 0;
    case KEY_PRESET: /* expanded before argp saw the command line */ return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_solve(int key, char *arg, struct argp_state *state)
{
    solve_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->solve;
        state->child_inputs[1] = &options->solve.precond;
        state->child_inputs[2] = &options->storage;
        state->child_inputs[3] = &options->device;
        state->child_inputs[4] = &options->host;
        state->child_inputs[5] = &options->stop;
        state->child_inputs[6] = &options->nullspace;
        state->child_inputs[7] = &options->saddle;
        return 0;
    case ARGP_KEY_ARG:
    case ARGP_KEY_NO_ARGS: cli_take_matrix(state, arg, &options->matrix); return 0;
    case ARGP_KEY_END: cli_check_solve(state, options); return 0;
    default: return parse_own(key, arg, state, options);
    }
}

static const struct argp_child solve_children[] = {
    {&cli_method_argp, 0, NULL, 0},    {&cli_precond_argp, 0, NULL, 0}, {&cli_storage_argp, 0, NULL, 0},
    {&cli_device_argp, 0, NULL, 0},    {&cli_host_argp, 0, NULL, 0},    {&cli_stop_argp, 0, NULL, 0},
    {&cli_nullspace_argp, 0, NULL, 0}, {&cli_saddle_argp, 0, NULL, 0},  {0}};
static const struct argp solve_argp = {
    .options = solve_argp_options,
    .parser = parse_solve,
    .args_doc = "MATRIX",
    .doc =
        "Solves A x = b. The true residual of the FP64 matrix, with a bound on its rounding error, decides whether the "
        "solve has converged.\n" CLI_MATRIX_HELP "\v"
        "PETSc's names are accepted: -ksp_type cg|bcgs|gmres|fgmres|minres|lsqr, -pc_type "
        "none|jacobi|bjacobi|ilu|icc|lu|cholesky|gamg, -ksp_rtol, -ksp_atol, -ksp_divtol, -ksp_max_it, "
        "-ksp_gmres_restart, -ksp_monitor, -ksp_monitor_true_residual, -ksp_converged_reason, -ksp_view, -log_view, "
        "-options_left.\n"
        "\n"
        "Exit status: 0 converged and verified, 1 not converged (also after --time-limit or a signal), 2 usage, 3 "
        "input or format, 4 device or memory, 5 breakdown.\n"
        "\n"
        "Example: solve to a relative residual of 1e-10 with a preconditioner, and write a report.\n"
        "  tessera solve gallery:laplace2d:100 --precond jacobi --rtol 1e-10 --json report.json",
    .children = solve_children};

/* ---- the solve ---- */

static int check_options(solve_options *options)
{
    const char *asked = options->solve.automatic.choices;
    const char *choices = asked != NULL && strcmp(asked, "none") != 0 ? asked : NULL;
    const cli_files files = {.input = {options->matrix, options->rhs.path, options->initial_guess, options->stop.resume,
                                       options->nullspace.coordinates, options->nullspace.vectors,
                                       options->saddle.index, options->saddle.schur, choices},
                             .resume = options->stop.resume,
                             .output = {{"json", &options->host.json},
                                        {"history", &options->history},
                                        {"output", &options->output},
                                        {"html", &options->html},
                                        {"checkpoint", &options->stop.checkpoint}},
                             .force = options->host.force};
    int code = cli_check_own_file("choices", choices, false);
    if (code == 0) { code = cli_check_nullspace(&options->nullspace, &options->solve.precond); }
    if (code == 0) { code = cli_check_saddle(&options->saddle, &options->solve.precond); }
    return code == 0 ? cli_prepare_files(&files) : code;
}

/* The context and the matrix, where options or the matrix's size say. A paper's measurement is made where its GPU is.
 */
static int load(solve_options *options, const cli_preset *preset, cli_progress *progress, solve_objects *o)
{
    const int threads = options->host.threads;
    const bool chooses = options->device == TESS_DEVICE_AUTO && preset == NULL && !cli_needs_gpu(options->solve.engine);
    const tess_device first = chooses ? cli_first_device(options->matrix) : options->device;
    int code = cli_open_context(first, threads, progress, &o->ctx);
    if (code == 0) { code = cli_check_storage(o->ctx, &options->solve.storage); }
    if (code == 0) { code = cli_load_matrix(o->ctx, options->matrix, &o->matrix); }
    if (code == 0 && chooses) { code = cli_settle_device(threads, progress, &o->ctx, &o->matrix, o->device_why); }
    if (code == 0 && chooses) { code = cli_check_storage(o->ctx, &options->solve.storage); }
    return code;
}

static int solve(solve_options *options, const cli_preset *preset)
{
    double start = cli_seconds();
    cli_progress progress;
    cli_progress_init(&progress);
    solve_objects o = {.ctx = NULL, .session = {.options = &options->stop, .start = start}};
    int code = check_options(options);
    if (code == 0) { code = load(options, preset, &progress, &o); }
    if (code == 0) { code = cli_solve_check_matrix(options, &o); }
    if (code == 0) { code = cli_solve_transform(options, &o); }
    if (code == 0) { code = cli_solve_load(options, &o); }
    if (code == 0) { code = cli_load_nullspace(o.ctx, o.matrix.a, &options->nullspace, &options->solve.precond); }
    if (code == 0) { code = cli_load_saddle(o.ctx, &options->saddle, &options->solve.precond.saddle); }
    if (code == 0) { code = cli_solve_run_columns(options, &o, &progress); }
    if (code == 0 || (code == CLI_BREAKDOWN && o.solver == NULL)) {
        code = cli_solve_report(options, &o, preset, start);
    }
    tess_solver_destroy(o.solver);
    free(o.pieces.history);
    cli_columns_free(&o.rhs);
    cli_columns_free(&o.guess);
    cli_columns_free(&o.solution);
    cli_column_list_free(&o.columns);
    cli_free_nullspace(&options->nullspace);
    cli_free_saddle(&options->saddle);
    tess_vector_destroy(o.b);
    tess_vector_destroy(o.x);
    tess_matrix_destroy(o.matrix.a);
    tess_context_destroy(o.ctx);
    return code;
}

static int run_solve(int argc, char **argv)
{
    cli_arguments arguments;
    solve_options options = {.rhs = {.source = CLI_VECTOR_ONES}, .seed = {1, false}};
    tess_solve_options_init(&options.solve);
    tess_papers_solve_init(&options.papers);
    options.solve.papers = &options.papers;
    cli_storage_choice_init(&options.storage, &options.solve.storage);
    int code = cli_arguments_prepare(&solve_argp, argc, argv, true, &arguments);
    if (code != 0) { return code; }
    char *command = cli_quote_command(argc, argv);
    options.command = command;
    if (command == NULL) {
        cli_arguments_free(&arguments);
        return CLI_DEVICE;
    }
    cli_arguments_parse(&solve_argp, &arguments, &options);
    cli_take_seed(&options.seed, &options.rhs);
    options.solve.automatic.format_given = options.storage.given && !options.storage.chosen;
    code = solve(&options, arguments.preset);
    free(command);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_solve = {"solve", &solve_argp, run_solve};
