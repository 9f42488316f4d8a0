/* SPDX-License-Identifier: Apache-2.0 */
/* tessera generate: writes a model problem of the gallery. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct generate_options {
    cli_host_options host;
    const char *output, *points, *initial;
    bool list, symmetric;
    const char *words[16]; /* the name, then its arguments */
    int word_count;
} generate_options;

enum { KEY_OUTPUT = 600, KEY_LIST, KEY_SYMMETRIC, KEY_POINTS, KEY_INITIAL, WORD_LIMIT = 16 };

static const struct argp_option generate_argp_options[] = {
    {"list", KEY_LIST, NULL, 0, "list the problems and their arguments", TESS_SECTION_MAIN},
    {"output", KEY_OUTPUT, "FILE", 0,
     "where to write the matrix: .mtx, .mtx.gz, .tess (binary cache), .npz (SciPy) or .petsc", TESS_SECTION_MAIN},
    {"symmetric", KEY_SYMMETRIC, NULL, 0, "write only the lower triangle of a symmetric matrix", TESS_SECTION_MAIN},
    {"points", KEY_POINTS, "FILE", 0, "ventricle: write the centres of the cells, n by 3, in mm", TESS_SECTION_OUTPUT},
    {"initial", KEY_INITIAL, "FILE", 0, "ventricle: write an initial potential, in mV", TESS_SECTION_OUTPUT},
    {0}};

static void check_words(struct argp_state *state, const generate_options *options)
{
    if (options->word_count == 0) { argp_error(state, "no problem was given; --list names them"); }
    if (options->output == NULL) { argp_error(state, "--output FILE is missing; it says where to write the matrix"); }
    if ((options->points != NULL || options->initial != NULL) && strcmp(options->words[0], "ventricle") != 0) {
        argp_error(state, "--%s is for the problem ventricle, not for '%s'",
                   options->points != NULL ? "points" : "initial", options->words[0]);
    }
}

static error_t parse_generate(int key, char *arg, struct argp_state *state)
{
    generate_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
    case KEY_OUTPUT:
        if (!cli_is_matrix_path(arg)) {
            argp_error(state, "--output: '%s' must end in .mtx, .mtx.gz, .tess, .npz, .petsc or .mat", arg);
        }
        options->output = arg;
        return 0;
    case KEY_POINTS: options->points = cli_parse_output(state, "points", arg); return 0;
    case KEY_INITIAL: options->initial = cli_parse_output(state, "initial", arg); return 0;
    case KEY_LIST: options->list = true; return 0;
    case KEY_SYMMETRIC: options->symmetric = true; return 0;
    case ARGP_KEY_ARG:
        if (options->word_count == WORD_LIMIT) { argp_error(state, "there are too many arguments, from '%s' on", arg); }
        options->words[options->word_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->list) { check_words(state, options); }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child generate_children[] = {{&cli_host_argp, 0, NULL, 0}, {0}};
static const struct argp generate_argp = {
    .options = generate_argp_options,
    .parser = parse_generate,
    .args_doc = "NAME [ARG...] --output FILE\n--list",
    .doc = "Makes a model problem and writes it to a file. --list names the problems.\v"
           "Arguments below zero go after a double dash: tessera generate NAME --output A.mtx -- -1\n"
           "\n"
           "Example: write a Laplacian on a grid of 300 by 300 points.\n"
           "  tessera generate laplace2d 300 --output laplace.mtx",
    .children = generate_children};

static json_t *list_json(void)
{
    size_t count = 0;
    const tess_gallery_entry *entries = tess_gallery_list(&count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_pack("{ss ss ss}", "name", entries[i].name, "arguments", entries[i].arguments,
                                              "description", entries[i].description));
    }
    return json_pack("{ss ss so}", "command", "generate", "version", tess_version(), "problems", list);
}

static int print_list(const char *json)
{
    size_t count = 0;
    const tess_gallery_entry *entries = tess_gallery_list(&count);
    for (size_t i = 0; i < count && cli_text_wanted(json); i++) {
        printf("%s %s\n    %s\n", entries[i].name, entries[i].arguments, entries[i].description);
    }
    return json == NULL ? CLI_CONVERGED : cli_write_json(json, list_json());
}

static json_t *generate_json(const generate_options *options, const tess_matrix *a, double seconds)
{
    json_t *arguments = json_array();
    const cli_size size = cli_size_of(a);
    for (int i = 1; i < options->word_count; i++) {
        json_array_append_new(arguments, cli_json_text(options->words[i]));
    }
    return json_pack("{ss ss ss so so sI sI sI sf}", "command", "generate", "version", tess_version(), "name",
                     options->words[0], "arguments", arguments, "output", cli_json_text(options->output), "nrows",
                     (json_int_t)size.nrows, "ncols", (json_int_t)size.ncols, "nnz", (json_int_t)size.nnz, "seconds",
                     seconds);
}

/* The files beside the matrix, of n rows, that `ventricle` can have. */
static int write_extras(const generate_options *options, tess_context *ctx, int64_t n)
{
    int nargs = options->word_count - 1;
    const char *const *args = options->words + 1;
    double *xyz = NULL;
    tess_vector *potential = NULL;
    tess_status status = TESS_SUCCESS;
    if (options->points != NULL) {
        xyz = malloc(3 * (size_t)n * sizeof *xyz);
        if (xyz == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
        status = tess_gallery_ventricle_points(ctx, nargs, args, xyz);
        if (status == TESS_SUCCESS) { status = tess_array_write(ctx, xyz, n, 3, options->points); }
    }
    if (status == TESS_SUCCESS && options->initial != NULL) {
        status = tess_gallery_ventricle_potential(ctx, nargs, args, &potential);
        if (status == TESS_SUCCESS) { status = tess_vector_write(potential, options->initial); }
    }
    tess_vector_destroy(potential);
    free(xyz);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

static int make_and_write(const generate_options *options, tess_context *ctx)
{
    tess_matrix *a = NULL;
    double start = cli_seconds();
    int code = cli_generate(ctx, options->words[0], options->word_count - 1, options->words + 1, &a);
    if (code == CLI_CONVERGED) { code = cli_write_matrix(a, options->output, options->symmetric); }
    if (code == CLI_CONVERGED) { code = write_extras(options, ctx, tess_matrix_nrows(a)); }
    double seconds = cli_seconds() - start;
    if (code == CLI_CONVERGED && cli_text_wanted(options->host.json)) {
        char time[32], size[CLI_SIZE_TEXT];
        printf("%s: %s, written in %s\n", cli_shown(options->output), cli_size_text(a, size, sizeof size),
               cli_seconds_text(seconds, time, sizeof time));
    }
    if (code == CLI_CONVERGED && options->host.json != NULL) {
        code = cli_write_json(options->host.json, generate_json(options, a, seconds));
    }
    tess_matrix_destroy(a);
    return code;
}

static int run_generate(int argc, char **argv)
{
    cli_arguments arguments;
    generate_options options = {.output = NULL};
    int code = cli_arguments_prepare(&generate_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&generate_argp, &arguments, &options);
    tess_context *ctx = NULL;
    cli_files files = {.output = {{"json", &options.host.json},
                                  {"output", &options.output},
                                  {"points", &options.points},
                                  {"initial", &options.initial}},
                       .force = options.host.force};
    for (int i = 0; i < CLI_MAX_FILES && i < options.word_count; i++) {
        files.input[i] = options.words[i]; /* `replicate` takes a file */
    }
    code = cli_prepare_files(&files);
    if (code == 0 && options.list) {
        code = print_list(options.host.json);
    } else if (code == 0) {
        code = cli_open_context(TESS_DEVICE_CPU, options.host.threads, NULL, &ctx);
        if (code == 0) { code = make_and_write(&options, ctx); }
    }
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_generate = {"generate", &generate_argp, run_generate};
