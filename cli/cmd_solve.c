/* SPDX-License-Identifier: Apache-2.0 */
/* tessera solve: A x = b, with a verified result. */
#include "html.h"
#include "solve.h"
#include "streams.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    KEY_SOLVER = 600,
    KEY_ENGINE,
    KEY_RECURRENCE,
    KEY_NARROWING,
    KEY_EPSILON,
    KEY_GUARD,
    KEY_ITERATE,
    KEY_SCALE,
    KEY_REORDER,
    KEY_SYSTEM,
    KEY_RTOL,
    KEY_ATOL,
    KEY_DTOL,
    KEY_MAX_ITERATIONS,
    KEY_RHS,
    KEY_GUESS,
    KEY_OUTPUT,
    KEY_HISTORY,
    KEY_HTML,
    KEY_TIMINGS,
    KEY_MONITOR,
    KEY_SEED,
    KEY_PRESET,
    KEY_SCHEDULE,
    KEY_OMEGA,
    KEY_RESTART,
    KEY_BASIS,
    KEY_INNER,
    KEY_ORTHOGONALIZATION,
    KEY_SWITCH,
    KEY_PRECISION,
    KEY_CHOICES,
    KEY_EXPLAIN,
    KEY_ACCURACY,
    KEY_STOP_NORM
};

static const struct argp_option solve_argp_options[] = {
    {"solver", KEY_SOLVER, "NAME", 0,
     "{tess_solver_kind} (default auto)\n"
     "auto: a short list of attempts, with reasons\n"
     "minres: for a symmetric A that need not be positive definite\n"
     "gmres-ir: cycles in fp32, residuals in fp64\n"
     "gmres-fd: all in fp32 up to --switch-at, then all in fp64\n"
     "fgmres: gmres with a preconditioner that need not be linear\n"
     "idr[:S]: IDR(S) for any A, S from 1 to 64 (default 4)\n"
     "lsqr, lsmr: least squares, for matrices of any shape",
     CLI_GROUP_MAIN},
    {"rhs", KEY_RHS, "NAME|FILE", 0,
     "right-hand side b (default ones): ones, a-times-ones, a-times-ramp, "
     "random[:SEED] in (-1, 1), uniform[:SEED] in (0, 1), or a file, whose columns are solved one after another\n"
     "a-times-ramp: A x with x_i = i / n",
     CLI_GROUP_MAIN + 2},
    {"seed", KEY_SEED, "N", 0, "seed of random and uniform where --rhs gives none (default 1)", CLI_GROUP_MAIN + 2},
    {"initial-guess", KEY_GUESS, "FILE", 0, "x at the start (default: zero); one column, or one for each of b",
     CLI_GROUP_MAIN + 2},
    {"guard", KEY_GUARD, "NAME", 0,
     "{tess_guard} (default repair)\n"
     "if the estimate and the true residual disagree, repair goes on in a higher precision; report only says so",
     CLI_GROUP_MAIN + 2},
    {"iterate", KEY_ITERATE, "NAME", 0,
     "best or last (default best)\n"
     "which x a solve returns that does not converge: that of the smallest true residual, or the method's last",
     CLI_GROUP_MAIN + 2},
    {"precision", KEY_PRECISION, "NAME", 0,
     "auto or fp64 (default auto)\n"
     "with solver auto: auto keeps factors in fp32 where that is enough, and without --format the matrix where no "
     "bit is lost; fp64 forbids lower precisions",
     CLI_GROUP_MAIN + 2},
    {"format", 0, "NAME", OPTION_DOC, CLI_FORMAT_HELP("csr; with solver auto: auto"), CLI_GROUP_PRECISION},
    {"explain", KEY_EXPLAIN, NULL, 0, "with solver auto: print all that was found and tried", CLI_GROUP_OUTPUT},
    {"choices", KEY_CHOICES, "FILE", 0,
     "with solver auto: the file that remembers what solved a pattern, or none (default: tessera/choices in the user's "
     "cache folder)",
     CLI_GROUP_OUTPUT},
    {"rtol", KEY_RTOL, "R", 0, "relative tolerance (default 1e-5); 0 is allowed", CLI_GROUP_STOPPING},
    {"accuracy", KEY_ACCURACY, "E", 0,
     "in place of a tolerance (default: none): relative error of x wanted, ||x - x*|| <= E ||x||, as estimated; "
     "an unknown error is not reached\n"
     "backward:E: |b - A x| <= E (|A| |x| + |b|) in each row instead",
     CLI_GROUP_STOPPING},
    {"stop-norm", KEY_STOP_NORM, "NAME", 0,
     "{tess_stop_norm} (default auto: both with solver auto, else given)\n"
     "the norm of b - A x that must meet the tolerance\n"
     "rows: row i of it and of b divided by the largest |a_ij|, so that rows of very different size weigh alike",
     CLI_GROUP_STOPPING},
    {"atol", KEY_ATOL, "R", 0, "absolute tolerance (default 0)", CLI_GROUP_STOPPING},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "most iterations (default 10000)", CLI_GROUP_STOPPING},
    {"divergence-tolerance", KEY_DTOL, "R", 0, "give up above R max(||b||, ||r0||) (default 1e10)", CLI_GROUP_STOPPING},
    {"inner-precision", KEY_INNER, "P[/A]", 0,
     "gmres: storage P and arithmetic A of a cycle, or auto "
     "(default fp64/fp64; gmres-ir and gmres-fd: fp32/fp32)\n"
     "P: matrix, basis and preconditioner; A, fp64 or fp32: vectors\n"
     "auto: fp32/fp32 if matrix and basis take more than 48 MiB in fp64",
     CLI_GROUP_PRECISION + 5},
    {"basis-precision", KEY_BASIS, "P", 0, "gmres: storage of the Krylov basis (default: that of --inner-precision)",
     CLI_GROUP_PRECISION + 5},
    {"engine", KEY_ENGINE, "NAME", 0,
     "{tess_engine} (default auto)\n"
     "how iterations are launched; graph and single-kernel need a GPU\n"
     "single-kernel: cg or bicgstab with precond none or jacobi, on a small "
     "matrix in csr, or in tiles with --layout resident",
     CLI_GROUP_METHOD},
    {"scale", KEY_SCALE, "NAME", 0,
     "{tess_scaling} (default none)\n"
     "max-product: permute rows for the largest product on the diagonal, "
     "then scale the diagonal to 1 and the rest to at most 1\n"
     "rows: the largest magnitude of each row to 1\n"
     "symmetric: D A D by powers of two, with magnitudes of about 1 at most",
     CLI_GROUP_METHOD},
    {"reorder", KEY_REORDER, "NAME", 0, "{tess_reordering} (default none); rcm: reverse Cuthill-McKee",
     CLI_GROUP_METHOD},
    {"system", KEY_SYSTEM, "NAME", 0,
     "original or transformed (default original)\n"
     "with --scale or --reorder: whether b, x and residuals are those of A or of the transformed matrix",
     CLI_GROUP_METHOD},
    {"restart", KEY_RESTART, "M", 0, "gmres: vectors of a cycle (default 50)", CLI_GROUP_METHOD},
    {"orthogonalization", KEY_ORTHOGONALIZATION, "NAME", 0,
     "gmres: {tess_orthogonalization} (default cgs2-delayed)\n"
     "two passes of classical Gram-Schmidt at once, or the second pass "
     "together with the first of the next iteration",
     CLI_GROUP_METHOD},
    {"switch-at", KEY_SWITCH, "N", 0,
     "gmres-fd: switch to fp64 at the first restart from iteration N on "
     "(default: when fp32 makes no more progress)",
     CLI_GROUP_METHOD},
    {"recurrence", KEY_RECURRENCE, "NAME", 0,
     "{tess_recurrence} (default auto)\n"
     "for cg; standard: two reductions per iteration; the others: one\n"
     "auto: predict-and-recompute in a single kernel, else standard\n"
     "one-reduction: for studies of the papers; engines single-kernel, plain",
     CLI_GROUP_METHOD},
    {"steps", KEY_SCHEDULE, "LIST", 0,
     "jacobi: precisions and mixed, one after another, each with :N for "
     "N iterations, such as fp32:100,mixed,fp64 (default for composite: "
     "fp32,mixed,fp64; for split: mixed; else --matrix-precision)",
     CLI_GROUP_METHOD},
    {"omega", KEY_OMEGA, "W", 0, "jacobi: weight of the update (default 1)", CLI_GROUP_METHOD},
    {"output", KEY_OUTPUT, "FILE", 0,
     "write x: .npy, .petsc, else a Matrix Market array; - is standard output, and the report goes to standard error",
     CLI_GROUP_OUTPUT},
    {"history", KEY_HISTORY, "FILE", 0,
     "write the residual estimate of each iteration: a picture (.png, .svg), else CSV", CLI_GROUP_OUTPUT},
    {"html", KEY_HTML, "FILE", 0, "write a page that shows the solve in a browser; it needs no network",
     CLI_GROUP_OUTPUT},
    {"timings", KEY_TIMINGS, NULL, 0, "report where the time went", CLI_GROUP_OUTPUT},
    {"monitor", KEY_MONITOR, NULL, 0, "print the residual estimate of each iteration to standard error",
     CLI_GROUP_OUTPUT},
    {"narrowing", KEY_NARROWING, "NAME", 0,
     "cg, bicgstab: {tess_narrowing} (default off); needs --layout resident\n"
     "multiply tiles in lower precisions, or skip them, where x is small\n"
     "safe: within the tolerance; paper: by absolute bounds, permanently",
     CLI_GROUP_PAPERS + 1},
    {"narrowing-epsilon", KEY_EPSILON, "E", 0,
     "eps of the bounds of --narrowing (default: the tolerance); fixed numbers of iterations need it",
     CLI_GROUP_PAPERS + 1},
    {"preset", KEY_PRESET, "NAME", 0,
     "measurement of a paper: {preset-names} (default: none)\n"
     "options given as well override those of the preset\n"
     "{presets}",
     CLI_GROUP_PAPERS + 2},
    {0}};

/* One of the recurrences is an option of the papers. */
static void parse_recurrence(struct argp_state *state, const char *text, solve_options *options)
{
    const tess_recurrence asked = cli_parse_recurrence(state, text);
    options->papers.one_reduction = asked == TESS_RECURRENCE_ONE_REDUCTION;
    options->solve.cg.recurrence = options->papers.one_reduction ? TESS_RECURRENCE_AUTO : asked;
}

/* 1 for last, 0 for best. */
static int takes_last(struct argp_state *state, const char *text)
{
    if (strcasecmp(text, "best") != 0 && strcasecmp(text, "last") != 0) {
        argp_error(state, "the iterate is best or last, not '%s'", text);
    }
    return strcasecmp(text, "last") == 0;
}

/* A name, or idr:S. */
static void parse_solver(struct argp_state *state, const char *text, tess_solve_options *solve)
{
    static const char idr[] = "idr:";
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    const bool numbered = strncasecmp(text, idr, sizeof idr - 1) == 0;
    solve->solver = numbered ? TESS_SOLVER_IDR : cli_parse_solver(state, text);
    solve->idr.s =
        numbered ? (int)cli_parse_integer(state, "solver idr", text + sizeof idr - 1, 1, 64) : defaults.idr.s;
}

/* The options that are fields of tess_solve_options. */
static error_t parse_method(int key, char *arg, struct argp_state *state, tess_solve_options *solve)
{
    switch (key) {
    case KEY_SOLVER: parse_solver(state, arg, solve); return 0;
    case KEY_ENGINE: solve->engine = cli_parse_engine(state, arg); return 0;
    case KEY_STOP_NORM:
        solve->stop_norm = (tess_stop_norm)cli_parse_name(state, "stop-norm", arg, "tess_stop_norm");
        return 0;
    case KEY_ITERATE: solve->return_last = takes_last(state, arg); return 0;
    case KEY_GUARD: solve->guard = (tess_guard)cli_parse_name(state, "guard", arg, "tess_guard"); return 0;
    case KEY_SCHEDULE: solve->jacobi.schedule = cli_parse_schedule(state, arg); return 0;
    case KEY_OMEGA: solve->jacobi.omega = cli_parse_real(state, "omega", arg, DBL_MIN, DBL_MAX); return 0;
    case KEY_RESTART: solve->gmres.restart = (int)cli_parse_integer(state, "restart", arg, 1, 1 << 20); return 0;
    case KEY_BASIS:
        solve->gmres.basis =
            (tess_role_precision){.given = 1, .storage = cli_parse_precision(state, "basis-precision", arg)};
        return 0;
    case KEY_INNER:
        solve->gmres.inner_auto = strcmp(arg, "auto") == 0;
        solve->gmres.inner =
            solve->gmres.inner_auto ? (tess_role_precision){.given = 0} : cli_parse_role(state, "inner-precision", arg);
        return 0;
    case KEY_ORTHOGONALIZATION: solve->gmres.orthogonalization = cli_parse_orthogonalization(state, arg); return 0;
    case KEY_SWITCH: solve->gmres.switch_at = cli_parse_integer(state, "switch-at", arg, 1, INT64_MAX / 4); return 0;
    case KEY_SCALE: solve->scale = cli_parse_scaling(state, arg); return 0;
    case KEY_REORDER: solve->reorder = cli_parse_reordering(state, arg); return 0;
    case KEY_RTOL: solve->rtol = cli_parse_real(state, "rtol", arg, 0.0, 1.0); return 0;
    case KEY_ATOL: solve->atol = cli_parse_real(state, "atol", arg, 0.0, DBL_MAX); return 0;
    case KEY_DTOL:
        solve->divergence_tolerance = cli_parse_real(state, "divergence-tolerance", arg, 1.0, DBL_MAX);
        return 0;
    case KEY_MAX_ITERATIONS:
        solve->max_iterations = cli_parse_integer(state, "max-iterations", arg, 0, INT64_MAX / 4);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Whether the system is the transformed one. */
static bool parse_system(struct argp_state *state, const char *text)
{
    static const char *const available[] = {"original", "transformed", NULL};
    return cli_parse_word(state, "system", text, available, NULL) == 1;
}

/* Whether --precision allows FP64 alone. */
static int parse_precision_choice(struct argp_state *state, const char *text)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "fp64") != 0) {
        argp_error(state, "--precision is auto or fp64, not '%s'; --matrix-precision sets that of the matrix alone",
                   text);
    }
    return strcmp(text, "fp64") == 0;
}

static error_t parse_rest(int key, char *arg, struct argp_state *state, solve_options *options)
{
    switch (key) {
    case KEY_RECURRENCE: parse_recurrence(state, arg, options); return 0;
    case KEY_NARROWING:
        options->papers.narrowing = (tess_narrowing)cli_parse_name(state, "narrowing", arg, "tess_narrowing");
        return 0;
    case KEY_EPSILON:
        options->papers.narrowing_epsilon = cli_parse_real(state, "narrowing-epsilon", arg, DBL_MIN, DBL_MAX);
        return 0;
    case KEY_ACCURACY: cli_parse_accuracy(state, arg, &options->solve.accuracy); return 0;
    case KEY_PRECISION: options->solve.automatic.fp64_only = parse_precision_choice(state, arg); return 0;
    case KEY_SYSTEM: options->transformed = parse_system(state, arg); return 0;
    case KEY_EXPLAIN: options->explain = true; return 0;
    case KEY_CHOICES: options->choices = arg; return 0;
    case KEY_RHS: options->rhs = cli_parse_vector(state, "rhs", arg, true); return 0;
    case KEY_GUESS: options->initial_guess = arg; return 0;
    case KEY_OUTPUT: options->output = cli_parse_output_or_stdout(state, "output", arg); return 0;
    case KEY_HISTORY: options->history = cli_parse_output(state, "history", arg); return 0;
    case KEY_HTML: options->html = cli_parse_output(state, "html", arg); return 0;
    case KEY_SEED: options->seed = cli_parse_seed(state, "seed", arg); return 0;
    case KEY_TIMINGS:
        options->timings = true;
        options->solve.timings = 1;
        return 0;
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
        state->child_inputs[0] = &options->solve.precond;
        state->child_inputs[1] = &options->storage;
        state->child_inputs[2] = &options->device;
        state->child_inputs[3] = &options->host;
        state->child_inputs[4] = &options->storage;
        state->child_inputs[5] = &options->stop;
        state->child_inputs[6] = &options->nullspace;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "one matrix at a time is possible, but '%s' is a second one", arg);
        }
        options->matrix = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "no matrix was given; name a file or gallery:NAME"); return 0;
    case ARGP_KEY_END: cli_check_solve(state, options); return 0;
    default: break;
    }
    error_t code = parse_method(key, arg, state, &options->solve);
    return code == ARGP_ERR_UNKNOWN ? parse_rest(key, arg, state, options) : code;
}

static const struct argp_child solve_children[] = {{&cli_precond_argp, 0, NULL, 0},   {&cli_storage_argp, 0, NULL, 0},
                                                   {&cli_device_argp, 0, NULL, 0},    {&cli_host_argp, 0, NULL, 0},
                                                   {&cli_papers_argp, 0, NULL, 0},    {&cli_stop_argp, 0, NULL, 0},
                                                   {&cli_nullspace_argp, 0, NULL, 0}, {0}};
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

static int require_narrowing(const solve_options *options)
{
    const tess_narrowing narrowing = options->papers.narrowing;
    if (narrowing == TESS_NARROWING_OFF || options->storage.papers.layout == TESS_LAYOUT_RESIDENT) { return 0; }
    cli_error("--narrowing %s needs --format tiles --layout resident", tess_narrowing_name(narrowing));
    return CLI_USAGE;
}

static int check_options(solve_options *options)
{
    int code = require_narrowing(options);
    const char *choices = options->choices != NULL && strcmp(options->choices, "none") != 0 ? options->choices : NULL;
    const cli_files files = {.input = {options->matrix, options->rhs.path, options->initial_guess, options->stop.resume,
                                       options->nullspace.coordinates, options->nullspace.vectors, choices},
                             .resume = options->stop.resume,
                             .output = {{"json", &options->host.json},
                                        {"history", &options->history},
                                        {"output", &options->output},
                                        {"html", &options->html},
                                        {"checkpoint", &options->stop.checkpoint}},
                             .force = options->host.force};
    if (code == 0) { code = cli_check_own_file("choices", choices, false); }
    if (code == 0) { code = cli_check_nullspace(&options->nullspace, &options->solve.precond); }
    return code == 0 ? cli_prepare_files(&files) : code;
}

static int solve(solve_options *options, const cli_preset *preset)
{
    double start = cli_seconds();
    cli_progress progress;
    cli_progress_init(&progress);
    solve_objects o = {.ctx = NULL, .session = {.options = &options->stop, .start = start}};
    int code = check_options(options);
    if (code == 0) { code = cli_open_context(options->device, options->host.threads, &progress, &o.ctx); }
    if (code == 0) { code = cli_check_storage(o.ctx, &options->solve.storage); }
    if (code == 0) { code = cli_load_matrix(o.ctx, options->matrix, &o.matrix); }
    if (code == 0) { code = cli_solve_check_matrix(options, &o); }
    if (code == 0) { code = cli_solve_transform(options, &o); }
    if (code == 0) { code = cli_solve_load(options, &o); }
    if (code == 0) { code = cli_load_nullspace(o.ctx, o.matrix.a, &options->nullspace, &options->solve.precond.amg); }
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
    tess_vector_destroy(o.b);
    tess_vector_destroy(o.x);
    tess_matrix_destroy(o.matrix.a);
    tess_context_destroy(o.ctx);
    return code;
}

static int run_solve(int argc, char **argv)
{
    cli_arguments arguments;
    solve_options options = {.rhs = {.source = CLI_VECTOR_ONES}, .seed = 1};
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
    if (!options.rhs.seeded) { options.rhs.seed = options.seed; }
    options.solve.automatic.format_given = options.storage.given && !options.storage.chosen;
    code = solve(&options, arguments.preset);
    free(command);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_solve = {"solve", &solve_argp, run_solve};
