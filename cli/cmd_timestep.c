/* SPDX-License-Identifier: Apache-2.0 */
/* tessera timestep: computes x := A x repeatedly, in a schedule of precisions. */
#include "columns.h"
#include "timestep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_INITIAL = 600,
    KEY_COUNT,
    KEY_SCHEDULE,
    KEY_OUTPUT,
    KEY_SNAPSHOTS,
    KEY_EVERY,
    KEY_COMPARE,
    KEY_SEED,
    KEY_ENGINE,
    DEFAULT_COUNT = 1000
};

static const struct argp_option timestep_argp_options[] = {
    {"count", KEY_COUNT, "N", 0, "number of time steps (default: as many as --steps names, else 1000)",
     TESS_SECTION_MAIN},
    {"steps", KEY_SCHEDULE, "LIST", 0,
     "precisions and mixed, one after another (default mixed), each with "
     ":N for N time steps; the others share the rest equally\n"
     "with {whole} the default is products with the whole matrix",
     TESS_SECTION_MAIN},
    {"initial", KEY_INITIAL, "NAME|FILE", 0,
     "x at the beginning (default ones): ones, random[:SEED] in (-1, 1), "
     "uniform[:SEED] in (0, 1), or a file",
     TESS_SECTION_MAIN},
    {"seed", KEY_SEED, "N", 0, "seed of random and uniform where --initial gives none (default 1)", TESS_SECTION_MAIN},
    {"compare", KEY_COMPARE, NULL, 0, "run fp64 as well, and report the difference of x and the speed-up",
     TESS_SECTION_MAIN},
    {"time-limit", 0, "S", OPTION_DOC,
     "end after S seconds of the whole command, with the x of the last time step (default: none)", TESS_SECTION_MAIN},
    {"format", 0, "NAME", OPTION_DOC, CLI_LISTED("format", "composite"), TESS_SECTION_PRECISION},
    {"policy", 0, "NAME", OPTION_DOC, CLI_LISTED("policy", "mean-range:2"), TESS_SECTION_PRECISION + 1},
    {"engine", KEY_ENGINE, "NAME", 0,
     "auto, plain or graph (default auto): how steps are launched\n"
     "graph needs a GPU",
     TESS_SECTION_METHOD},
    {"output", KEY_OUTPUT, "FILE", 0, "write the last x: .npy, .petsc, else a Matrix Market array",
     TESS_SECTION_OUTPUT},
    {"snapshots", KEY_SNAPSHOTS, "PREFIX", 0, "write x at some steps, to PREFIX, the number of the step and .mtx",
     TESS_SECTION_OUTPUT},
    {"every", KEY_EVERY, "K", 0, "time steps between snapshots (default: a tenth of --count)", TESS_SECTION_OUTPUT},
    {0}};

/* Default of --count: the sum of the steps if each entry names a number, else 1000. A --count that contradicts the
   steps is refused. */
static void complete_count(struct argp_state *state, timestep_options *o)
{
    const tess_precision_schedule *schedule = &o->steps.schedule;
    double named = 0.0; /* exact where it matters: counts may be as large as 10^18 */
    bool all = schedule->count > 0;
    for (int i = 0; i < schedule->count; i++) {
        named += (double)schedule->entry[i].iterations;
        all = all && schedule->entry[i].iterations > 0;
    }
    if (o->count < 0 && named > 0x1p53) { argp_error(state, "--steps names %g time steps, which is too many", named); }
    if (o->count < 0) { o->count = all ? (int64_t)named : DEFAULT_COUNT; }
    if (named > (double)o->count || (all && named < (double)o->count)) {
        argp_error(state, "--steps names %.0f time steps, but --count is %lld; leave out one of them", named,
                   (long long)o->count);
    }
}

static void complete_options(struct argp_state *state, timestep_options *o)
{
    cli_complete_sweeps(&o->steps.schedule, 2.0, &o->steps.storage); /* Tezcan et al. 2022, section IV */
    if (cli_chooses_whole(&o->steps.storage)) {
        argp_error(state, "time steps take --policy %s only with --format split, composite or auto",
                   tess_policy_name(o->steps.storage.policy.policy));
    }
    complete_count(state, o);
    if (o->compare && o->stop.resume != NULL) {
        argp_error(state, "--compare needs all steps from the first on; leave it out with --resume");
    }
    if (o->every > 0 && o->snapshots == NULL) { argp_error(state, "--every needs --snapshots"); }
    if (o->every == 0 && o->snapshots != NULL) { o->every = o->count < 10 ? 1 : o->count / 10; }
    if (o->steps.engine == TESS_ENGINE_GRAPH && o->device == TESS_DEVICE_CPU) {
        argp_error(state, "--engine graph needs a GPU, but --device cpu is given");
    }
}

/* Those that a solve has too. */
static void take_option(struct argp_state *state, const char *name, const char *text, timestep_options *o)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    solve.engine = o->steps.engine;
    solve.jacobi.schedule = o->steps.schedule;
    cli_set_option(state, name, name, text, &solve);
    o->steps.engine = solve.engine;
    o->steps.schedule = solve.jacobi.schedule;
    if (solve.engine == TESS_ENGINE_SINGLE_KERNEL) { argp_error(state, "--engine single-kernel is for solve"); }
}

static error_t parse_timestep(int key, char *arg, struct argp_state *state)
{
    timestep_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->storage;
        state->child_inputs[1] = &o->device;
        state->child_inputs[2] = &o->host;
        state->child_inputs[3] = &o->stop;
        return 0;
    case KEY_INITIAL: o->initial = cli_parse_vector(state, "initial", arg, false); return 0;
    case KEY_SEED: o->seed = (cli_seed){cli_parse_seed(state, "seed", arg), true}; return 0;
    case KEY_COUNT: o->count = cli_parse_integer(state, "count", arg, 0, INT64_MAX / 4); return 0;
    case KEY_EVERY: o->every = cli_parse_integer(state, "every", arg, 1, INT64_MAX / 4); return 0;
    case KEY_SCHEDULE:
    case KEY_ENGINE: take_option(state, key == KEY_ENGINE ? "engine" : "steps", arg, o); return 0;
    case KEY_OUTPUT: o->output = cli_parse_output(state, "output", arg); return 0;
    case KEY_SNAPSHOTS: o->snapshots = cli_parse_output(state, "snapshots", arg); return 0;
    case KEY_COMPARE: o->compare = true; return 0;
    case ARGP_KEY_ARG:
    case ARGP_KEY_NO_ARGS: cli_take_matrix(state, arg, &o->matrix); return 0;
    case ARGP_KEY_END:
        complete_options(state, o);
        cli_check_seed(state, &o->seed, "--initial", &o->initial, NULL);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child timestep_children[] = {{&cli_storage_argp, 0, NULL, 0},
                                                      {&cli_device_argp, 0, NULL, 0},
                                                      {&cli_host_argp, 0, NULL, 0},
                                                      {&cli_stop_argp, 0, NULL, 0},
                                                      {0}};
static const struct argp timestep_argp = {
    .options = timestep_argp_options,
    .parser = parse_timestep,
    .args_doc = "MATRIX",
    .doc =
        "Makes explicit time steps x := A x. The diagonal of A stays in FP64; the rest is multiplied in the "
        "precisions of --steps.\n" CLI_MATRIX_HELP "\v"
        "Exit status: 0 done, 1 stopped by --time-limit or a signal, 2 usage, 3 input or format, 4 device or memory, "
        "5 NaN or Inf in x.\n"
        "\n"
        "Example: make 1000 time steps in mixed precision, and compare with FP64.\n"
        "  tessera timestep gallery:ventricle:2000 --compare",
    .children = timestep_children};

/* ---- the run ---- */

/* All names after the prefix have the same length, so checking one checks all. */
static int check_snapshots(const char *prefix)
{
    char *path = NULL;
    if (prefix == NULL) { return CLI_CONVERGED; }
    if (asprintf(&path, "%s%08d.mtx", prefix, 0) < 0) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    int code = cli_check_output(path);
    free(path);
    return code;
}

static int write_snapshot(void *user, int64_t step, const tess_vector *x)
{
    timestep_objects *o = user;
    char *path = NULL;
    if (asprintf(&path, "%s%08lld.mtx", o->options->snapshots, (long long)step) < 0) {
        o->snapshot_code = cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
        return 1;
    }
    tess_status status = cli_write_vector(o->matrix.a, x, path);
    free(path);
    if (status != TESS_SUCCESS) { o->snapshot_code = cli_report_failure(o->ctx, status); }
    o->snapshots += status == TESS_SUCCESS;
    return status != TESS_SUCCESS;
}

static tess_status run_steps(timestep_objects *o, const tess_timestep_options *steps, bool snapshots, tess_vector *x,
                             int64_t count, tess_timestep_result *result)
{
    tess_timestep *ts = NULL;
    tess_status status = tess_timestep_create(o->matrix.a, steps, &ts);
    tess_timestep_result_init(result);
    if (status == TESS_SUCCESS) {
        status = tess_timestep_run(ts, x, count, snapshots ? write_snapshot : NULL, o,
                                   snapshots ? o->options->every : 0, result);
    }
    tess_timestep_destroy(ts);
    return status;
}

/* The steps in pieces of time, with a checkpoint after each. The result counts the steps of all pieces. */
static tess_status run_in_pieces(timestep_objects *o)
{
    const timestep_options *options = o->options;
    tess_timestep_options steps = options->steps;
    double seconds = 0.0, setup = 0.0;
    tess_status status = TESS_SUCCESS;
    steps.monitor = cli_interrupt_monitor;
    cli_interrupt_on(o->ctx);
    do {
        steps.first_step = o->session.facts.iterations;
        steps.time_limit = cli_piece_seconds(&o->session);
        status = run_steps(o, &steps, options->snapshots != NULL, o->x, options->count, &o->result);
        if (status != TESS_SUCCESS) { return status; }
        seconds += o->result.seconds;
        setup += o->result.setup_seconds;
        cli_session_save(&o->session, o->x, o->result.count - steps.first_step, o->result.seconds);
    } while (cli_goes_on(&o->session, o->result.reason));
    o->result.reason = cli_reason_of_end(&o->session, o->result.reason);
    o->result.seconds = seconds;
    o->result.setup_seconds = setup;
    return status;
}

static tess_status compare(timestep_objects *o)
{
    tess_timestep_options plain;
    tess_vector *difference = NULL;
    double norm = 0.0, size = 0.0;
    tess_timestep_options_init(&plain);
    tess_storage_options_init(&plain.storage); /* CSR, fp64 */
    plain.engine = o->options->steps.engine;
    tess_status status = run_steps(o, &plain, false, o->reference, o->result.count, &o->fp64);
    if (status == TESS_SUCCESS) {
        status = tess_vector_create(o->ctx, tess_vector_size(o->x), TESS_PRECISION_FP64, &difference);
    }
    if (status == TESS_SUCCESS) { status = tess_vector_copy(o->x, difference); }
    if (status == TESS_SUCCESS) {
        status = tess_vector_axpby(-1.0, o->reference, 1.0, difference, TESS_ARITHMETIC_FP64);
    }
    if (status == TESS_SUCCESS) { status = tess_vector_norm2(difference, TESS_ARITHMETIC_FP64, &norm); }
    if (status == TESS_SUCCESS) { status = tess_vector_norm2(o->reference, TESS_ARITHMETIC_FP64, &size); }
    o->difference = norm == 0.0 ? 0.0 : norm / size;
    tess_vector_destroy(difference);
    return status;
}

/* What a checkpoint counts as options: all that changes what a step computes. */
static const char *options_text(const timestep_options *o, char *buffer, size_t size)
{
    char schedule[CLI_SCHEDULE_TEXT], levels[64], start[64];
    const tess_storage_options *s = &o->steps.storage;
    snprintf(buffer, size, "%s %s %s %a %d %s %a %s %s %s %lld", tess_format_name(s->format),
             tess_precision_name(s->precision), tess_policy_name(s->policy.policy), s->policy.parameter,
             s->policy.choose_parameter, tess_granularity_name(s->policy.granularity), s->policy.share,
             cli_levels_text(&s->policy, levels, sizeof levels),
             cli_schedule_text(&o->steps.schedule, schedule, sizeof schedule),
             cli_vector_describe(&o->initial, start, sizeof start), (long long)o->count);
    return buffer;
}

static int load_start(timestep_objects *o, int64_t n)
{
    char text[768];
    int code = cli_session_begin(&o->session, o->matrix.a, NULL, options_text(o->options, text, sizeof text));
    if (code != CLI_CONVERGED) { return code; }
    return o->options->stop.resume != NULL
               ? cli_resume(&o->session, o->ctx, n, true, &o->x)
               : cli_load_vector(o->ctx, &o->options->initial, "initial", n, o->matrix.a, &o->x);
}

static int make_steps(timestep_objects *o)
{
    const timestep_options *options = o->options;
    int64_t n = tess_matrix_nrows(o->matrix.a);
    if (n != tess_matrix_ncols(o->matrix.a)) {
        cli_error("%s: the matrix is %lld x %lld, but x := A x needs a square one", options->matrix, (long long)n,
                  (long long)tess_matrix_ncols(o->matrix.a));
        return CLI_INPUT;
    }
    int code = load_start(o, n);
    if (code != CLI_CONVERGED) { return code; }
    tess_status status = TESS_SUCCESS;
    if (options->compare) {
        status = tess_vector_create(o->ctx, n, TESS_PRECISION_FP64, &o->reference);
        if (status == TESS_SUCCESS) { status = tess_vector_copy(o->x, o->reference); }
    }
    if (status == TESS_SUCCESS) { status = run_in_pieces(o); }
    if (status == TESS_SUCCESS && o->snapshot_code != 0) { return o->snapshot_code; }
    if (options->compare && cli_was_stopped(&o->result)) { /* fp64 would take more time, or was not wanted any more */
        tess_vector_destroy(o->reference);
        o->reference = NULL;
    } else if (status == TESS_SUCCESS && options->compare) {
        status = compare(o);
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

static int run_timestep(int argc, char **argv)
{
    cli_arguments arguments;
    timestep_options options = {.initial = {.source = CLI_VECTOR_ONES}, .seed = {1, false}, .count = -1};
    tess_timestep_options_init(&options.steps);
    cli_storage_choice_init(&options.storage, &options.steps.storage);
    options.steps.storage.policy.policy = TESS_POLICY_NONE; /* until the options decide what is mixed */
    options.steps.storage.policy.parameter = 0.0;
    int code = cli_arguments_prepare(&timestep_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&timestep_argp, &arguments, &options);
    cli_take_seed(&options.seed, &options.initial);
    timestep_objects o = {.options = &options, .session = {.options = &options.stop, .start = cli_seconds()}};
    const cli_files files = {
        .input = {options.matrix, options.initial.path, options.stop.resume},
        .resume = options.stop.resume,
        .output = {{"json", &options.host.json}, {"output", &options.output}, {"checkpoint", &options.stop.checkpoint}},
        .force = options.host.force};
    code = cli_prepare_files(&files);
    if (code == 0) { code = check_snapshots(options.snapshots); }
    if (code == 0) { code = cli_open_context(options.device, options.host.threads, NULL, &o.ctx); }
    if (code == 0) { code = cli_check_storage(o.ctx, &options.steps.storage); }
    if (code == 0) { code = cli_load_matrix(o.ctx, options.matrix, &o.matrix); }
    if (code == 0) { code = make_steps(&o); }
    if (code == 0) { code = cli_report_timestep(&o); }
    tess_vector_destroy(o.x);
    tess_vector_destroy(o.reference);
    tess_matrix_destroy(o.matrix.a);
    tess_context_destroy(o.ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_timestep = {"timestep", &timestep_argp, run_timestep};
