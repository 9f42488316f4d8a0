/* SPDX-License-Identifier: Apache-2.0 */
/* tessera convert: between Matrix Market and the binary cache. */
#include "cli.h"

typedef struct convert_options {
    cli_host_options host;
    bool symmetric;
    const char *input, *output;
} convert_options;

enum { KEY_SYMMETRIC = 600 };

static const struct argp_option convert_argp_options[] = {
    {"symmetric", KEY_SYMMETRIC, NULL, 0, "write only the lower triangle of a symmetric matrix (.mtx, .mtx.gz)",
     CLI_GROUP_MAIN},
    {0}};

static error_t parse_convert(int key, char *arg, struct argp_state *state)
{
    convert_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
    case KEY_SYMMETRIC: options->symmetric = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            argp_error(state, "convert takes one input and one output, but '%s' is a third file", arg);
        }
        if (state->arg_num == 0) {
            options->input = arg;
        } else {
            options->output = arg;
        }
        return 0;
    case ARGP_KEY_END:
        if (options->output == NULL) { argp_error(state, "convert needs an input and an output file"); }
        if (!cli_is_matrix_path(options->output)) {
            argp_error(state, "the name of the output, '%s', must end in .mtx, .mtx.gz or .tess", options->output);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child convert_children[] = {{&cli_host_argp, 0, NULL, 0}, {0}};
static const struct argp convert_argp = {
    .options = convert_argp_options,
    .parser = parse_convert,
    .args_doc = "IN OUT",
    .doc = "Reads a matrix and writes it in the format that the name of OUT says: Matrix Market (.mtx, .mtx.gz) or the "
           "binary cache (.tess). The first bytes of IN say what it is; IN may also be a model problem, "
           "gallery:NAME[:ARG...].\v"
           "Example: convert a matrix to the binary cache, which is read much faster.\n"
           "  tessera convert A.mtx A.tess",
    .children = convert_children};

static json_t *convert_json(const convert_options *options, const cli_matrix *matrix, double write_seconds)
{
    return json_pack("{ss ss so so sI sI sI sf sf}", "command", "convert", "version", tess_version(), "input",
                     cli_json_text(options->input), "output", cli_json_text(options->output), "nrows",
                     (json_int_t)tess_matrix_nrows(matrix->a), "ncols", (json_int_t)tess_matrix_ncols(matrix->a), "nnz",
                     (json_int_t)tess_matrix_nnz(matrix->a), "read_seconds", matrix->seconds, "write_seconds",
                     write_seconds);
}

static int convert(const convert_options *options, tess_context *ctx)
{
    cli_matrix matrix;
    int code = cli_load_matrix(ctx, options->input, &matrix);
    double start = cli_seconds();
    if (code == CLI_CONVERGED) { code = cli_write_matrix(matrix.a, options->output, options->symmetric); }
    double write_seconds = cli_seconds() - start;
    if (code == CLI_CONVERGED && cli_text_wanted(options->host.json)) {
        char read_text[32], write_text[32];
        printf("%s: %lld x %lld, %lld nonzeros; read in %s, written in %s\n", options->output,
               (long long)tess_matrix_nrows(matrix.a), (long long)tess_matrix_ncols(matrix.a),
               (long long)tess_matrix_nnz(matrix.a), cli_seconds_text(matrix.seconds, read_text, sizeof read_text),
               cli_seconds_text(write_seconds, write_text, sizeof write_text));
    }
    if (code == CLI_CONVERGED && options->host.json != NULL) {
        code = cli_write_json(options->host.json, convert_json(options, &matrix, write_seconds));
    }
    tess_matrix_destroy(matrix.a);
    return code;
}

static int run_convert(int argc, char **argv)
{
    cli_arguments arguments;
    convert_options options = {.input = NULL};
    int code = cli_arguments_prepare(&convert_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&convert_argp, &arguments, &options);
    tess_context *ctx = NULL;
    const cli_files files = {.input = {options.input},
                             .output = {{"json", &options.host.json}, {"output", &options.output}},
                             .force = options.host.force};
    code = cli_prepare_files(&files);
    if (code == 0) { code = cli_open_context(TESS_DEVICE_CPU, options.host.threads, NULL, &ctx); }
    if (code == 0) { code = convert(&options, ctx); }
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_convert = {"convert", &convert_argp, run_convert};
