/* SPDX-License-Identifier: Apache-2.0 */
/* tessera verify: how far an x, whoever computed it, is from the solution of A x = b. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "streams.h"
#include "verify.h"

enum { KEY_RTOL = 600, KEY_ATOL, KEY_STOP_NORM, KEY_ROWS, KEY_ACCURACY };
enum { MOST_ROWS = 1000000 };

static const struct argp_option verify_argp_options[] = {
    {"rtol", KEY_RTOL, "R", 0, "relative tolerance (default 1e-5); 0 is allowed", TESS_SECTION_MAIN},
    {"atol", KEY_ATOL, "R", 0, "absolute tolerance (default 0)", TESS_SECTION_MAIN},
    {"stop-norm", KEY_STOP_NORM, "NAME", 0,
     "given, rows or both (default both)\n"
     "the norm of b - A x that must meet the tolerance\n"
     "rows: row i of it and of b divided by the largest |a_ij|, so that rows of very different size weigh alike",
     TESS_SECTION_MAIN},
    {"accuracy", KEY_ACCURACY, NULL, 0,
     "estimate the relative error of x, by complete factors of A in fp64: they take time and memory",
     TESS_SECTION_MAIN},
    {"rows", KEY_ROWS, "N", 0, "how many rows to list, those of the largest backward error first (default 5)",
     TESS_SECTION_OUTPUT},
    {0}};

/* ---- options ---- */

static tess_stop_norm parse_norm(struct argp_state *state, const char *text)
{
    static const char *const available[] = {"given", "rows", "both", NULL};
    static const tess_stop_norm norms[] = {TESS_STOP_NORM_GIVEN, TESS_STOP_NORM_ROWS, TESS_STOP_NORM_BOTH};
    return norms[cli_parse_word(state, "stop-norm", text, available)];
}

static void take_argument(struct argp_state *state, char *arg, verify_options *options)
{
    switch (options->given++) {
    case 0: options->matrix = arg; return;
    case 1: options->rhs = cli_parse_vector(state, "rhs", arg, true); return;
    case 2: options->solution = cli_parse_vector(state, "x", arg, false); return;
    default: argp_error(state, "verify takes a matrix, b and x, but '%s' is a fourth argument", arg);
    }
}

/* Standard input is read once. */
static bool is_stdin(const cli_vector_choice *choice)
{
    return choice->source == CLI_VECTOR_FILE && cli_is_stream(choice->path);
}

static void check_arguments(struct argp_state *state, const verify_options *options)
{
    if (options->given < 3) {
        argp_error(state, "%s; verify takes a matrix, the right-hand side b and the answer x",
                   options->given == 0   ? "no matrix was given"
                   : options->given == 1 ? "b and x were not given"
                                         : "x was not given");
    }
    if (cli_is_stream(options->matrix) + is_stdin(&options->rhs) + is_stdin(&options->solution) > 1) {
        argp_error(state, "only one of the matrix, b and x can come from standard input");
    }
}

static error_t parse_verify(int key, char *arg, struct argp_state *state)
{
    verify_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->device;
        state->child_inputs[1] = &options->host;
        return 0;
    case KEY_RTOL: options->verify.rtol = cli_parse_real(state, "rtol", arg, 0.0, 1.0); return 0;
    case KEY_ATOL: options->verify.atol = cli_parse_real(state, "atol", arg, 0.0, DBL_MAX); return 0;
    case KEY_STOP_NORM: options->verify.stop_norm = parse_norm(state, arg); return 0;
    case KEY_ROWS: options->rows = cli_parse_integer(state, "rows", arg, 0, MOST_ROWS); return 0;
    case KEY_ACCURACY: options->verify.forward_error = 1; return 0;
    case ARGP_KEY_ARG: take_argument(state, arg, options); return 0;
    case ARGP_KEY_END: check_arguments(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child verify_children[] = {{&cli_device_argp, 0, NULL, 0}, {&cli_host_argp, 0, NULL, 0}, {0}};
static const struct argp verify_argp = {
    .options = verify_argp_options,
    .parser = parse_verify,
    .args_doc = "MATRIX B X",
    .doc =
        "Judges an answer x of A x = b, whoever computed it: its true residual in FP64, with a bound on the rounding "
        "error, the error of each row, and the rows that carry it.\n" CLI_MATRIX_HELP "\n"
        "B and X are files; with several columns each x is judged by its b, or all by one b. B may also be ones, "
        "a-times-ones, a-times-ramp (A x with x_i = i / n), random[:SEED] in (-1, 1) or uniform[:SEED] in (0, 1); X "
        "likewise but for those of A.\v"
        "Exit status: 0 every column is proved to meet the tolerance, 1 not, 2 usage, 3 input or format, 4 device or "
        "memory.\n"
        "\n"
        "Example: verify that x = (1, ..., 1) solves A x = A (1, ..., 1).\n"
        "  tessera verify gallery:laplace2d:100 a-times-ones ones --rtol 1e-12",
    .children = verify_children};

/* ---- vectors ---- */

/* A file, of any number of columns, or a vector that is made, as one column. `what`: b or x. */
static int load_columns(tess_context *ctx, const cli_vector_choice *choice, const char *what, const tess_matrix *a,
                        int64_t nrows, cli_columns *out)
{
    tess_vector *made = NULL;
    if (choice->source == CLI_VECTOR_FILE) {
        int code = cli_columns_open(ctx, choice->path, a, out);
        if (code != CLI_CONVERGED) { return code; }
        if (out->nrows == nrows && out->ncols > 0) { return CLI_CONVERGED; }
        const int64_t each = cli_numbers_of(a);
        cli_error("%s: %s has %s and %s, but the matrix is %lld x %lld, and %s needs %s", choice->path, what,
                  tess_count(out->nrows / each, "row").text, tess_count(out->ncols, "column").text,
                  (long long)cli_size_of(a).nrows, (long long)cli_size_of(a).ncols, what,
                  tess_count(nrows / each, "row").text);
        return CLI_INPUT;
    }
    int code = cli_load_vector(ctx, choice, what, nrows, a, &made);
    if (code != CLI_CONVERGED) { return code; }
    tess_status status = cli_columns_create(ctx, nrows, 1, out);
    if (status == TESS_SUCCESS) { status = cli_columns_put(out, 0, made); }
    tess_vector_destroy(made);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

static int load(tess_context *ctx, verify_run *run)
{
    const verify_options *o = run->options;
    int code = cli_load_matrix(ctx, o->matrix, &run->matrix);
    const tess_matrix *a = run->matrix.a;
    if (code == CLI_CONVERGED) { code = load_columns(ctx, &o->rhs, "b", a, tess_matrix_nrows(a), &run->b); }
    if (code == CLI_CONVERGED) { code = load_columns(ctx, &o->solution, "x", a, tess_matrix_ncols(a), &run->x); }
    if (code != CLI_CONVERGED) { return code; }
    if (run->b.ncols != 1 && run->b.ncols != run->x.ncols) {
        cli_error("b has %s and x has %lld: b may have one, or as many as x", tess_count(run->b.ncols, "column").text,
                  (long long)run->x.ncols);
        return CLI_INPUT;
    }
    run->count = run->x.ncols;
    run->found = calloc((size_t)run->count, sizeof *run->found);
    run->rows = calloc((size_t)o->rows + 1, sizeof *run->rows);
    return run->found != NULL && run->rows != NULL ? CLI_CONVERGED : cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
}

/* ---- the verification ---- */

/* The first column counts as worse than none. */
static bool is_worse(const verify_run *run, int64_t j)
{
    if (j == 0) { return true; }
    const tess_verification *now = &run->found[j], *worst = &run->found[run->worst];
    if (now->met != worst->met) { return !now->met; }
    if (isnan(worst->relative_residual)) { return false; }
    return isnan(now->relative_residual) || now->rows.relative > worst->rows.relative;
}

/* The rows of the worst column. */
static tess_status list_rows(tess_context *ctx, verify_run *run)
{
    tess_vector *b = NULL, *x = NULL;
    tess_status status = tess_vector_create(ctx, run->b.nrows, TESS_PRECISION_FP64, &b);
    if (status == TESS_SUCCESS) { status = tess_vector_create(ctx, run->x.nrows, TESS_PRECISION_FP64, &x); }
    if (status == TESS_SUCCESS) { status = cli_columns_get(&run->b, run->b.ncols == 1 ? 0 : run->worst, b); }
    if (status == TESS_SUCCESS) { status = cli_columns_get(&run->x, run->worst, x); }
    if (status == TESS_SUCCESS) {
        status = tess_verify_rows(run->matrix.a, b, x, run->options->rows, run->rows, &run->nrows);
    }
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    return status;
}

static int judge(tess_context *ctx, verify_run *run)
{
    const tess_columns b = tess_columns_by_column(run->b.nrows, run->b.ncols, run->b.values, TESS_MEMORY_HOST);
    const tess_columns x = tess_columns_by_column(run->x.nrows, run->x.ncols, run->x.values, TESS_MEMORY_HOST);
    for (int64_t j = 0; j < run->count; j++) {
        tess_verification_init(&run->found[j]);
    }
    tess_status status = tess_verify_columns(run->matrix.a, &b, &x, &run->options->verify, run->found);
    for (int64_t j = 0; j < run->count && status == TESS_SUCCESS; j++) {
        if (is_worse(run, j)) { run->worst = j; }
    }
    if (status == TESS_SUCCESS && run->count > 0) { status = list_rows(ctx, run); }
    if (status != TESS_SUCCESS) { return cli_report_failure(ctx, status); }
    run->exit_code = cli_count_met(run) == run->count ? CLI_CONVERGED : CLI_NOT_CONVERGED;
    return CLI_CONVERGED;
}

static int report(const verify_run *run)
{
    const char *json = run->options->host.json;
    if (cli_text_wanted(json)) { cli_print_verification(run); }
    const int code = json == NULL ? CLI_CONVERGED : cli_write_json(json, cli_verification_json(run));
    return code == CLI_CONVERGED ? run->exit_code : code;
}

static int run_verify(int argc, char **argv)
{
    cli_arguments arguments;
    verify_options options = {.rows = 5};
    tess_verify_options_init(&options.verify);
    options.verify.stop_norm = TESS_STOP_NORM_BOTH;
    int code = cli_arguments_prepare(&verify_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&verify_argp, &arguments, &options);
    tess_context *ctx = NULL;
    verify_run run = {.options = &options};
    const cli_files files = {.input = {options.matrix, options.rhs.path, options.solution.path},
                             .output = {{"json", &options.host.json}},
                             .force = options.host.force};
    code = cli_prepare_files(&files);
    if (code == 0) { code = cli_open_context(options.device, options.host.threads, NULL, &ctx); }
    run.ctx = ctx;
    if (code == 0) { code = load(ctx, &run); }
    if (code == 0) { code = judge(ctx, &run); }
    if (code == 0) { code = report(&run); }
    cli_columns_free(&run.b);
    cli_columns_free(&run.x);
    free(run.found);
    free(run.rows);
    tess_matrix_destroy(run.matrix.a);
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_verify = {"verify", &verify_argp, run_verify};
