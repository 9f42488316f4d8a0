/* SPDX-License-Identifier: Apache-2.0 */
/* tessera solve: A x = b, with a verified result. */
#include "columns.h"
#include "html.h"
#include "streams.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct solve_options {
    cli_host_options host;
    cli_stop_options stop;
    tess_device device;
    tess_solve_options solve;
    tess_papers_solve papers; /* solve.papers */
    cli_storage_choice storage;
    cli_vector_choice rhs;
    uint64_t seed;
    const char *matrix, *initial_guess, *output, *history, *html;
    const char *command; /* as it was called */
    const char *choices; /* NULL: the default file */
    bool timings, monitor, explain;
    cli_nullspace nullspace;
} solve_options;

enum {
    KEY_SOLVER = 600,
    KEY_ENGINE,
    KEY_RECURRENCE,
    KEY_NARROWING,
    KEY_GUARD,
    KEY_SCALE,
    KEY_REORDER,
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
    KEY_ACCURACY
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
    {"precision", KEY_PRECISION, "NAME", 0,
     "auto or fp64 (default auto)\n"
     "with solver auto: auto keeps factors in fp32 where that is enough; fp64 forbids lower precisions",
     CLI_GROUP_MAIN + 2},
    {"explain", KEY_EXPLAIN, NULL, 0, "with solver auto: print all that was found and tried", CLI_GROUP_OUTPUT},
    {"choices", KEY_CHOICES, "FILE", 0,
     "with solver auto: the file that remembers what solved a pattern, or none (default: tessera/choices in the user's "
     "cache folder)",
     CLI_GROUP_OUTPUT},
    {"rtol", KEY_RTOL, "R", 0, "relative tolerance (default 1e-5); 0 is allowed", CLI_GROUP_STOPPING},
    {"accuracy", KEY_ACCURACY, "E", 0,
     "in place of a tolerance (default: none): relative error of x wanted, ||x - x*|| <= E ||x||, as estimated "
     "where the method allows\n"
     "backward:E: ||b - A x|| <= E (||A||_F ||x|| + ||b||) instead",
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
     "symmetric: D A D by powers of two, with magnitudes of about 1 at most",
     CLI_GROUP_METHOD},
    {"reorder", KEY_REORDER, "NAME", 0, "{tess_reordering} (default none); rcm: reverse Cuthill-McKee",
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
    case KEY_ACCURACY: cli_parse_accuracy(state, arg, &options->solve.accuracy); return 0;
    case KEY_PRECISION: options->solve.automatic.fp64_only = parse_precision_choice(state, arg); return 0;
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

/* Standard input can be read once. */
static void check_input_names(struct argp_state *state, const solve_options *options)
{
    const char *rhs = options->rhs.source == CLI_VECTOR_FILE ? options->rhs.path : NULL;
    if (cli_is_stream(options->matrix) + cli_is_stream(rhs) + cli_is_stream(options->initial_guess) > 1) {
        argp_error(state, "two inputs are -, but standard input can be read once; give a file for one of them");
    }
}

static void check_output_names(struct argp_state *state, const solve_options *options)
{
    const char *names[] = {options->host.json, options->history, options->output, options->html,
                           options->stop.checkpoint};
    for (int i = 0; i < 5; i++) {
        for (int j = i + 1; j < 5; j++) {
            if (names[i] != NULL && names[j] != NULL && strcmp(names[i], names[j]) == 0) {
                argp_error(state, "two outputs have the same name, '%s'; give each a name of its own", names[i]);
            }
        }
    }
}

/* If the schedule has a mixed entry and no policy was given, sets the policy that the library would use, so that
   reports name it. */
static void complete_jacobi(struct argp_state *state, solve_options *options)
{
    tess_solve_options *solve = &options->solve;
    tess_policy_options *policy = &solve->storage.policy;
    if (solve->solver != TESS_SOLVER_JACOBI) {
        if (solve->jacobi.schedule.count > 0 || solve->jacobi.omega != 1.0) {
            argp_error(state, "--%s is for --solver jacobi", solve->jacobi.schedule.count > 0 ? "steps" : "omega");
        }
        return;
    }
    if (solve->precond.kind != TESS_PRECOND_NONE && solve->precond.kind != TESS_PRECOND_AUTO) {
        argp_error(state, "--solver jacobi takes no preconditioner; leave out --precond");
    }
    bool mixed = cli_is_mixed(&solve->storage) && solve->jacobi.schedule.count == 0;
    for (int i = 0; i < solve->jacobi.schedule.count; i++) {
        mixed = mixed || solve->jacobi.schedule.entry[i].what == TESS_MIXED;
    }
    if (mixed && policy->policy == TESS_POLICY_NONE) {
        policy->policy = TESS_POLICY_MEAN_RANGE;
        policy->parameter = 0.1;
    }
    if (mixed && !cli_is_mixed(&solve->storage)) {
        solve->storage.split.base = solve->storage.format;
        solve->storage.format = cli_find_format(cli_copies_levels);
        policy->granularity = TESS_GRANULARITY_ROW;
    }
    if (cli_is_mixed(&solve->storage)) { cli_note_sweep(&solve->storage); }
    if (cli_is_lossless_whole(&solve->storage)) {
        argp_error(state, "--solver jacobi takes --policy lossless only with --format split, composite or auto");
    }
}

static bool is_gmres(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_GMRES || solver == TESS_SOLVER_GMRES_IR || solver == TESS_SOLVER_GMRES_FD ||
           solver == TESS_SOLVER_FGMRES;
}

static void check_gmres(struct argp_state *state, tess_solve_options *solve)
{
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    const struct {
        const char *name;
        bool given;
    } options[] = {{"restart", solve->gmres.restart != defaults.gmres.restart},
                   {"inner-precision", solve->gmres.inner.given != 0 || solve->gmres.inner_auto},
                   {"basis-precision", solve->gmres.basis.given != 0},
                   {"orthogonalization", solve->gmres.orthogonalization != defaults.gmres.orthogonalization}};
    if (solve->gmres.switch_at > 0 && solve->solver != TESS_SOLVER_GMRES_FD) {
        argp_error(state, "--switch-at is for --solver gmres-fd");
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].given && !is_gmres(solve->solver)) {
            argp_error(state, "--%s is for --solver gmres, gmres-ir, gmres-fd or fgmres", options[i].name);
        }
    }
    if (solve->solver == TESS_SOLVER_FGMRES) { solve->gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
}

static bool is_least_squares(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_LSQR || solver == TESS_SOLVER_LSMR;
}

static bool needs_gpu(tess_engine engine)
{
    return engine == TESS_ENGINE_GRAPH || engine == TESS_ENGINE_SINGLE_KERNEL;
}

static void check_engine(struct argp_state *state, const solve_options *options)
{
    const tess_solve_options *solve = &options->solve;
    const bool other =
        solve->solver != TESS_SOLVER_AUTO && solve->solver != TESS_SOLVER_CG && solve->solver != TESS_SOLVER_BICGSTAB;
    if (needs_gpu(solve->engine) && options->device == TESS_DEVICE_CPU) {
        argp_error(state, "--engine %s needs a GPU, but --device cpu is given", tess_engine_name(solve->engine));
    }
    if (other && (solve->cg.recurrence != TESS_RECURRENCE_AUTO || options->papers.one_reduction)) {
        argp_error(state, "--recurrence is for --solver cg or bicgstab");
    }
    if (other && options->papers.narrowing != TESS_NARROWING_OFF) {
        argp_error(state, "--narrowing is for --solver cg or bicgstab");
    }
}

static void check_tolerances(struct argp_state *state, const tess_solve_options *solve)
{
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    const bool accuracy = solve->accuracy.forward > 0.0 || solve->accuracy.backward > 0.0;
    if (accuracy && (solve->rtol != defaults.rtol || solve->atol != defaults.atol)) {
        argp_error(state, "--accuracy sets the tolerance by itself; leave out --rtol and --atol");
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
    case ARGP_KEY_END:
        check_input_names(state, options);
        if (options->initial_guess != NULL && options->stop.resume != NULL) {
            argp_error(state, "--resume brings x along; leave out --initial-guess");
        }
        check_output_names(state, options);
        complete_jacobi(state, options);
        check_gmres(state, &options->solve);
        check_engine(state, options);
        check_tolerances(state, &options->solve);
        return 0;
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
        "PETSc's names are accepted: -ksp_type cg|bcgs|gmres|fgmres|minres|lsqr, -pc_type none|jacobi|bjacobi|ilu|icc, "
        "-ksp_rtol, -ksp_atol, -ksp_divtol, -ksp_max_it, -ksp_gmres_restart, -ksp_monitor, "
        "-ksp_monitor_true_residual, -ksp_converged_reason, -ksp_view, -log_view, -options_left.\n"
        "\n"
        "Exit status: 0 converged and verified, 1 not converged (also after --time-limit or a signal), 2 usage, 3 "
        "input or format, 4 device or memory, 5 "
        "breakdown.\n"
        "\n"
        "Example: solve to a relative residual of 1e-10 with a preconditioner, and write a report.\n"
        "  tessera solve gallery:laplace2d:100 --precond jacobi --rtol 1e-10 --json report.json",
    .children = solve_children};

/* ---- the solve ---- */

typedef struct solve_objects {
    tess_context *ctx;
    cli_matrix matrix;
    cli_columns rhs, guess, solution; /* of files; solution: of several right-hand sides */
    cli_column_list columns;
    tess_vector *b, *x; /* of one column */
    tess_solver *solver;
    cli_session session;
    cli_solve_pieces pieces;
    tess_solve_result result;
    tess_papers_result papers;
    tess_findings findings;
    char detail[sizeof((tess_error *)0)->message + sizeof((tess_error *)0)->hint + 2];
} solve_objects;

static int exit_code_of(const tess_solve_result *result)
{
    if (result->verified) { return CLI_CONVERGED; }
    switch (result->reason) {
    case TESS_REASON_BREAKDOWN:
    case TESS_REASON_INDEFINITE_PRECOND:
    case TESS_REASON_NAN_OR_INF:
    case TESS_REASON_INDEFINITE_MATRIX:
    case TESS_REASON_PRECOND_SETUP:
    case TESS_REASON_OVERFLOW: return CLI_BREAKDOWN;
    default: return CLI_NOT_CONVERGED;
    }
}

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
    const cli_files files = {.input = {options->matrix, options->rhs.path, options->initial_guess, options->stop.resume,
                                       options->nullspace.coordinates, options->nullspace.vectors},
                             .resume = options->stop.resume,
                             .output = {{"json", &options->host.json},
                                        {"history", &options->history},
                                        {"output", &options->output},
                                        {"html", &options->html},
                                        {"checkpoint", &options->stop.checkpoint}},
                             .force = options->host.force};
    if (code == 0) { code = cli_check_nullspace(&options->nullspace, &options->solve.precond); }
    return code == 0 ? cli_prepare_files(&files) : code;
}

static int check_matrix(const solve_options *options, const solve_objects *o)
{
    int64_t nrows = tess_matrix_nrows(o->matrix.a), ncols = tess_matrix_ncols(o->matrix.a);
    const bool any_shape = is_least_squares(options->solve.solver) || options->solve.solver == TESS_SOLVER_AUTO;
    if (nrows != ncols && !any_shape) {
        cli_error("%s: the matrix is %lld x %lld, but a solve needs a square one; use --solver lsqr or lsmr for least "
                  "squares",
                  options->matrix, (long long)nrows, (long long)ncols);
        return CLI_INPUT;
    }
    if (needs_gpu(options->solve.engine) && tess_context_device(o->ctx) != TESS_DEVICE_GPU) {
        cli_error("--engine %s needs a GPU, but none can be used here; choose --engine plain or auto",
                  tess_engine_name(options->solve.engine));
        return CLI_DEVICE;
    }
    return CLI_CONVERGED;
}

/* What a checkpoint counts as options: those that decide which x a tolerance stands for, and how it is reached. */
static const char *options_text(const tess_solve_options *solve, char *buffer, size_t size)
{
    char precond[64];
    snprintf(buffer, size, "%s %s %s %s %s %s %a %a", tess_solver_kind_name(solve->solver),
             cli_precond_text(&solve->precond, precond, sizeof precond), tess_format_name(solve->storage.format),
             tess_precision_name(solve->storage.precision), tess_scaling_name(solve->scale),
             tess_reordering_name(solve->reorder), solve->rtol, solve->atol);
    return buffer;
}

static int load_rhs(const solve_options *options, solve_objects *o)
{
    const int64_t nrows = tess_matrix_nrows(o->matrix.a);
    if (options->rhs.source != CLI_VECTOR_FILE) {
        return cli_load_vector(o->ctx, &options->rhs, "rhs", nrows, o->matrix.a, &o->b);
    }
    int code = cli_columns_read(o->ctx, options->rhs.path, "rhs", nrows, &o->rhs);
    if (code != CLI_CONVERGED) { return code; }
    tess_status status = tess_vector_create(o->ctx, nrows, TESS_PRECISION_FP64, &o->b);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

static int load_guess(const solve_options *options, solve_objects *o, int64_t columns)
{
    int code =
        cli_columns_read(o->ctx, options->initial_guess, "initial-guess", tess_matrix_ncols(o->matrix.a), &o->guess);
    if (code != CLI_CONVERGED || o->guess.ncols == 1 || o->guess.ncols == columns) { return code; }
    cli_error(
        "%s: the file for --initial-guess has %lld columns, but there are %lld right-hand sides; it may have 1 or "
        "%lld",
        options->initial_guess, (long long)o->guess.ncols, (long long)columns, (long long)columns);
    return CLI_INPUT;
}

/* A checkpoint is of one right-hand side. */
static int begin_session(const solve_options *options, solve_objects *o, int64_t columns)
{
    char text[256];
    if (columns > 1 && (options->stop.checkpoint != NULL || options->stop.resume != NULL)) {
        cli_error("%s: --checkpoint and --resume are for one right-hand side, but the file has %lld", options->rhs.path,
                  (long long)columns);
        return CLI_USAGE;
    }
    tess_status status = o->rhs.values == NULL ? TESS_SUCCESS : cli_columns_get(&o->rhs, 0, o->b);
    if (status != TESS_SUCCESS) { return cli_report_failure(o->ctx, status); }
    return cli_session_begin(&o->session, o->matrix.a, o->b, options_text(&options->solve, text, sizeof text));
}

static int load_vectors(const solve_options *options, solve_objects *o)
{
    int code = load_rhs(options, o);
    const int64_t columns = o->rhs.values == NULL ? 1 : o->rhs.ncols, n = tess_matrix_ncols(o->matrix.a);
    if (code == CLI_CONVERGED) { code = begin_session(options, o, columns); }
    if (code == CLI_CONVERGED && options->initial_guess != NULL) { code = load_guess(options, o, columns); }
    if (code == CLI_CONVERGED && !cli_column_list_create(columns, &o->columns)) {
        code = cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    }
    if (code != CLI_CONVERGED) { return code; }
    if (options->stop.resume != NULL) { return cli_resume(&o->session, o->ctx, n, false, &o->x); }
    tess_status status = tess_vector_create(o->ctx, n, TESS_PRECISION_FP64, &o->x);
    if (status == TESS_SUCCESS && columns > 1) { status = cli_columns_create(o->ctx, n, columns, &o->solution); }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

static tess_status fetch_rhs(solve_objects *o, int64_t j)
{
    return o->rhs.values == NULL ? TESS_SUCCESS : cli_columns_get(&o->rhs, j, o->b);
}

static tess_status fetch_guess(solve_objects *o, int64_t j)
{
    if (o->guess.values == NULL) { return tess_vector_fill(o->x, 0.0); }
    return cli_columns_get(&o->guess, o->guess.ncols == 1 ? 0 : j, o->x);
}

static void note_detail(solve_objects *o)
{
    const tess_error *error = tess_context_last_error(o->ctx);
    snprintf(o->detail, sizeof o->detail, "%s%s%s", error->message, error->hint[0] == '\0' ? "" : "; ", error->hint);
}

/* A singular matrix for which no solver can be set up is reported as a solve of no iterations. */
static void note_singular(const solve_options *options, solve_objects *o)
{
    tess_solve_result_init(&o->result);
    tess_papers_result_init(&o->papers);
    o->result.reason = TESS_REASON_PRECOND_SETUP;
    o->result.solver = options->solve.solver;
    o->result.relative_residual = o->result.residual_norm = o->result.residual_bound = NAN;
    o->result.estimated_relative_residual = o->result.estimated_residual_norm = NAN;
    note_detail(o);
}

/* What is wrong with the system, as far as it can be found: an error here would hide the failure itself. */
static void look_for_problems(solve_objects *o)
{
    tess_findings_init(&o->findings);
    if (o->result.verified || o->result.reason == TESS_REASON_TIME_LIMIT ||
        o->result.reason == TESS_REASON_INTERRUPTED) {
        return;
    }
    if (tess_find_problems(o->matrix.a, o->b, o->x, &o->findings) != TESS_SUCCESS) { tess_findings_init(&o->findings); }
}

/* One line on stderr, for those who read the report later or not at all; on a terminal the report says it. */
static void say_failure(const solve_objects *o)
{
    const tess_findings *f = &o->findings;
    if (o->result.converged || isatty(STDOUT_FILENO)) { return; }
    cli_error("not converged: %s%s%s", tess_reason_text(o->result.reason),
              f->nonfinite.count > 0       ? "; the matrix has NaN or Inf"
              : f->nonfinite_rhs.count > 0 ? "; the right-hand side has NaN or Inf"
                                           : "",
              f->empty_rows.count > 0 ? "; the matrix has empty rows" : "");
}

/* One column. Only the report of the worst is kept. Returns an exit code; a message is printed but for TESS_SINGULAR.
 */
static int solve_column(const tess_solve_options *solve, solve_objects *o, int64_t j, cli_progress *progress)
{
    char label[64];
    snprintf(label, sizeof label, "column %lld of %lld", (long long)j + 1, (long long)o->columns.count);
    progress->label = o->columns.count > 1 ? label : NULL;
    progress->first_residual = 0.0;
    progress->next_seconds = 0.0;
    free(o->pieces.history);
    o->pieces = (cli_solve_pieces){.history = NULL};
    tess_status status = o->session.options->resume != NULL ? TESS_SUCCESS : fetch_guess(o, j);
    if (status == TESS_SUCCESS) { status = fetch_rhs(o, j); }
    if (status == TESS_SUCCESS) { status = tess_vector_norm2(o->b, TESS_ARITHMETIC_FP64, &progress->rhs_norm); }
    if (status != TESS_SUCCESS) { return cli_report_failure(o->ctx, status); }
    int code = cli_solve_in_pieces(o->solver, solve, &o->session, o->b, o->x, &o->pieces);
    cli_progress_end(progress);
    progress->label = NULL;
    if (code != CLI_CONVERGED) { return code; }
    if (o->solution.values != NULL) { status = cli_columns_put(&o->solution, j, o->x); }
    tess_solve_result *result = &o->pieces.result;
    if (status == TESS_SUCCESS && cli_column_list_note(&o->columns, j, exit_code_of(result), result)) {
        o->result = *result;
        tess_papers_result_init(&o->papers);
        status = tess_solver_papers_result(o->solver, &o->papers);
        if (o->result.reason == TESS_REASON_PRECOND_SETUP) { note_detail(o); }
        look_for_problems(o);
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

/* Whether the columns that are still to come are left as they are. */
static bool is_stopped(tess_reason reason)
{
    return reason == TESS_REASON_CANCELLED || reason == TESS_REASON_INTERRUPTED || reason == TESS_REASON_TIME_LIMIT;
}

/* Prepares the solver and runs it. Returns an exit code; a message is printed but for TESS_SINGULAR. */
static int set_up_and_solve(const solve_options *options, solve_objects *o, cli_progress *progress)
{
    char choices[CLI_PATH_LENGTH];
    tess_solve_options solve = options->solve;
    progress->every = options->monitor;
    progress->max_iterations = solve.max_iterations;
    solve.monitor = cli_progress_monitor;
    solve.monitor_user = progress;
    solve.automatic.choices = cli_choices_path(options->choices, choices, sizeof choices);
    cli_interrupt_on();
    o->pieces.status = tess_solver_create(o->matrix.a, &solve, &o->solver);
    if (o->pieces.status == TESS_SINGULAR) { return CLI_BREAKDOWN; }
    if (o->pieces.status != TESS_SUCCESS) { return cli_report_failure(o->ctx, o->pieces.status); }
    int code = CLI_CONVERGED;
    for (int64_t j = 0; j < o->columns.count && code == CLI_CONVERGED; j++) {
        code = solve_column(&solve, o, j, progress);
        if (is_stopped(o->columns.column[j].reason)) { break; }
    }
    return code;
}

static int run_solver(const solve_options *options, solve_objects *o, cli_progress *progress)
{
    int code = set_up_and_solve(options, o, progress);
    if (o->pieces.status == TESS_SINGULAR) {
        note_singular(options, o);
        look_for_problems(o);
        return cli_report_failure(o->ctx, TESS_SINGULAR);
    }
    if (code == CLI_CONVERGED) { say_failure(o); }
    return code;
}

static int write_solution(const char *path, const void *user)
{
    const solve_objects *o = user;
    tess_status status = TESS_SUCCESS;
    if (o->solution.values == NULL) {
        status = tess_vector_write(o->x, path);
    } else {
        status = tess_array_write(o->ctx, o->solution.values, o->solution.nrows, o->solution.ncols, path);
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

static int write_outputs(const solve_options *options, const solve_objects *o)
{
    int code = CLI_CONVERGED;
    if (options->output != NULL) { code = write_solution(options->output, o); }
    if (code != CLI_CONVERGED) { return code; }
    return options->history == NULL ? CLI_CONVERGED : cli_write_history(options->history, &o->result);
}

/* The options of the report: with those that the library or the matrix settled. */
static int settle_options(const solve_options *options, const solve_objects *o, tess_solve_options *settled)
{
    const tess_attempt *attempts = NULL;
    *settled = options->solve;
    if (o->solver == NULL || tess_solver_attempts(o->solver, &attempts) == 0) {
        if (settled->precond.kind == TESS_PRECOND_AUTO) { settled->precond.kind = o->result.precond.kind; }
        cli_note_format(o->result.storage.format, &settled->storage);
        return CLI_CONVERGED;
    }
    tess_status status = tess_solver_chosen_options(o->solver, settled);
    if (status != TESS_SUCCESS) { return cli_report_failure(o->ctx, status); }
    settled->papers = options->solve.papers;
    settled->storage.papers = options->solve.storage.papers;
    cli_note_format(o->result.storage.format, &settled->storage);
    return CLI_CONVERGED;
}

static int report(const solve_options *options, const solve_objects *o, const cli_preset *preset, double start)
{
    double before = cli_seconds();
    int code = o->solver == NULL ? CLI_CONVERGED : write_outputs(options, o);
    double now = cli_seconds();
    tess_solve_options settled;
    int settled_code = settle_options(options, o, &settled);
    if (settled_code != CLI_CONVERGED) { return settled_code; }
    cli_solve_run run = {.matrix = &o->matrix,
                         .ctx = o->ctx,
                         .options = &settled,
                         .asked = &options->solve,
                         .format_chosen = options->storage.chosen,
                         .solver = o->solver,
                         .explain = options->explain,
                         .result = &o->result,
                         .papers = &o->papers,
                         .rhs = &options->rhs,
                         .initial_guess = options->stop.resume != NULL ? options->stop.resume : options->initial_guess,
                         .session = &o->session,
                         .nullspace = &options->nullspace,
                         .preset = preset,
                         .findings = &o->findings,
                         .detail = o->detail,
                         .output_seconds = now - before,
                         .total_seconds = now - start,
                         .columns = &o->columns,
                         .exit_code =
                             o->solver == NULL ? exit_code_of(&o->result) : cli_column_list_exit_code(&o->columns)};
    if (cli_text_wanted(options->host.json)) { cli_report_solve(&run, options->timings); }
    if (options->host.json != NULL) {
        int json_code = cli_write_json(options->host.json, cli_solve_json(&run));
        if (code == CLI_CONVERGED) { code = json_code; }
    }
    if (code == CLI_CONVERGED) { code = o->session.failed; }
    if (options->html != NULL) {
        int html_code = cli_write_solve_html(options->html, &run, options->command);
        if (code == CLI_CONVERGED) { code = html_code; }
    }
    return code == CLI_CONVERGED ? run.exit_code : code;
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
    if (code == 0) { code = check_matrix(options, &o); }
    if (code == 0) { code = load_vectors(options, &o); }
    if (code == 0) { code = cli_load_nullspace(o.ctx, o.matrix.a, &options->nullspace, &options->solve.precond.amg); }
    if (code == 0) { code = run_solver(options, &o, &progress); }
    if (code == 0 || (code == CLI_BREAKDOWN && o.solver == NULL)) { code = report(options, &o, preset, start); }
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
    code = solve(&options, arguments.preset);
    free(command);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_solve = {"solve", &solve_argp, run_solve};
