/* SPDX-License-Identifier: Apache-2.0 */
/* tessera convert: between all kinds of files, of matrices and of vectors. */
#include "streams.h"

typedef struct convert_options {
    cli_host_options host;
    bool symmetric;
    const char *to;                     /* the ending that --to stands for; NULL: not given */
    const char *input, *output, *given; /* given: the output as the command line has it */
} convert_options;

enum { KEY_SYMMETRIC = 600, KEY_TO };

static const struct argp_option convert_argp_options[] = {
    {"symmetric", KEY_SYMMETRIC, NULL, 0, "write only the lower triangle of a symmetric matrix (.mtx, .mtx.gz)",
     TESS_SECTION_MAIN},
    {"to", KEY_TO, "NAME", 0,
     "mtx, mtx.gz, tess, npz, npy, petsc, mat, txt or csv (default: what the name of OUT says; of -, mtx)",
     TESS_SECTION_MAIN},
    {0}};

static const char *const endings[] = {".mtx", ".mtx.gz", ".tess", ".npz", ".npy", ".petsc", ".mat", ".txt", ".csv"};
enum { ENDINGS = (int)(sizeof endings / sizeof endings[0]) };

static const char *parse_to(struct argp_state *state, const char *text)
{
    const char *words[ENDINGS + 1] = {NULL};
    for (int i = 0; i < ENDINGS; i++) {
        words[i] = endings[i] + 1;
    }
    return endings[cli_parse_word(state, "to", text, words)];
}

static void check_names(struct argp_state *state, const convert_options *options)
{
    if (options->output == NULL) { argp_error(state, "convert needs an input and an output file"); }
    const bool stream = cli_is_stream(options->output);
    bool known = stream || (options->to != NULL && cli_ends_with(options->output, options->to));
    for (int i = 0; i < ENDINGS && options->to == NULL; i++) {
        known = known || cli_ends_with(options->output, endings[i]);
    }
    if (!known && options->to != NULL) {
        argp_error(state, "the name of the output, '%s', must end in %s, as --to says, or be -", options->output,
                   options->to);
    }
    if (!known) {
        argp_error(state,
                   "the name of the output, '%s', must end in .mtx, .mtx.gz, .tess, .npz, .npy, .petsc, .mat, .txt "
                   "or .csv, or be -",
                   options->output);
    }
    if (stream && cli_is_stream(options->host.json)) { argp_error(state, "OUT and --json are both -"); }
}

static error_t parse_convert(int key, char *arg, struct argp_state *state)
{
    convert_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
    case KEY_SYMMETRIC: options->symmetric = true; return 0;
    case KEY_TO: options->to = parse_to(state, arg); return 0;
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
    case ARGP_KEY_END: check_names(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child convert_children[] = {{&cli_host_argp, 0, NULL, 0}, {0}};
static const struct argp convert_argp = {
    .options = convert_argp_options,
    .parser = parse_convert,
    .args_doc = "IN OUT",
    .doc = "Reads a matrix or a vector and writes it in the format that the name of OUT says: Matrix Market (.mtx, "
           ".mtx.gz), the binary cache (.tess), SciPy (.npz), NumPy (.npy, for vectors and dense arrays), PETSc "
           "(.petsc), MATLAB (.mat), or text (.txt and .csv, for vectors).\n"
           "The first bytes of IN say what it is; IN may also be a model problem, gallery:NAME[:ARG...]. - is standard "
           "input or output.\v"
           "Example: convert a matrix to the binary cache, which is read much faster.\n"
           "  tessera convert A.mtx A.tess",
    .children = convert_children};

/* What is converted: a matrix, or a table of vectors. */
typedef struct conversion {
    const convert_options *options;
    tess_context *ctx;
    cli_matrix matrix;
    double *values; /* NULL: the matrix is converted */
    int64_t nrows, ncols;
    int is_complex; /* of values: nrows counts re and im */
    double read_seconds, write_seconds;
} conversion;

/* Vectors come from .npy files, vectors of PETSc and whatever is written as .npy. A dense .npy becomes a matrix where
   the output is one of the formats that only matrices have. */
static bool wants_array(const convert_options *options)
{
    const char *to = options->to != NULL ? options->to : options->given;
    if (cli_ends_with(to, ".npy") || cli_ends_with(to, ".txt") || cli_ends_with(to, ".csv")) { return true; }
    if (cli_ends_with(to, ".npz") || cli_ends_with(to, ".tess")) { return false; }
    return cli_ends_with(options->input, ".npy");
}

static int load_array(conversion *c, bool report)
{
    const double start = cli_seconds();
    const tess_status status = tess_array_read_complex(c->ctx, cli_input_path(c->options->input), &c->values, &c->nrows,
                                                       &c->ncols, &c->is_complex);
    c->read_seconds = cli_seconds() - start;
    if (status == TESS_SUCCESS) { return CLI_CONVERGED; }
    return report ? cli_report_failure(c->ctx, status) : CLI_INPUT;
}

/* Vectors may stand behind a matrix in the same file: the matrix is meant. */
static bool has_matrix(const conversion *c)
{
    tess_matrix *a = NULL;
    const bool found = tess_matrix_read(c->ctx, cli_input_path(c->options->input), &a, NULL) == TESS_SUCCESS;
    tess_matrix_destroy(a);
    return found;
}

static int load(conversion *c)
{
    if (wants_array(c->options)) { return load_array(c, true); }
    const bool may_be_vector = cli_ends_with(c->options->input, ".petsc") && !has_matrix(c);
    if (may_be_vector && load_array(c, false) == CLI_CONVERGED) { return CLI_CONVERGED; }
    int code = cli_load_matrix(c->ctx, c->options->input, &c->matrix);
    c->read_seconds = c->matrix.seconds;
    if (code == CLI_CONVERGED) {
        c->nrows = cli_size_of(c->matrix.a).nrows;
        c->ncols = cli_size_of(c->matrix.a).ncols;
    }
    return code;
}

static int write_to(const char *path, const void *user)
{
    const conversion *c = user;
    if (c->values == NULL) { return cli_write_matrix(c->matrix.a, path, c->options->symmetric); }
    const tess_status status = c->is_complex ? tess_array_write_complex(c->ctx, c->values, c->nrows, c->ncols, path)
                                             : tess_array_write(c->ctx, c->values, c->nrows, c->ncols, path);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(c->ctx, status);
}

static json_t *convert_json(const conversion *c)
{
    const int64_t nrows = c->is_complex ? c->nrows / 2 : c->nrows;
    const int64_t nnz = c->values == NULL ? cli_size_of(c->matrix.a).nnz : nrows * c->ncols;
    return json_pack("{ss ss so so sI sI sI sf sf}", "command", "convert", "version", tess_version(), "input",
                     cli_json_text(c->options->input), "output", cli_json_text(c->options->given), "nrows",
                     (json_int_t)nrows, "ncols", (json_int_t)c->ncols, "nnz", (json_int_t)nnz, "read_seconds",
                     c->read_seconds, "write_seconds", c->write_seconds);
}

static void print_conversion(const conversion *c)
{
    char read_text[32], write_text[32];
    char size[CLI_SIZE_TEXT];
    if (c->values == NULL) {
        printf("%s: %s", c->options->given, cli_size_text(c->matrix.a, size, sizeof size));
    } else {
        printf("%s: %lld x %lld, a dense array%s", c->options->given,
               (long long)(c->is_complex ? c->nrows / 2 : c->nrows), (long long)c->ncols,
               c->is_complex ? ", complex" : "");
    }
    printf("; read in %s, written in %s\n", cli_seconds_text(c->read_seconds, read_text, sizeof read_text),
           cli_seconds_text(c->write_seconds, write_text, sizeof write_text));
}

static int convert(const convert_options *options, tess_context *ctx)
{
    conversion c = {.options = options, .ctx = ctx};
    const bool through = options->to != NULL && cli_is_stream(options->given);
    int code = load(&c);
    const double start = cli_seconds();
    if (code == CLI_CONVERGED) {
        code = through ? cli_write_through(options->output, options->to, write_to, &c) : write_to(options->output, &c);
    }
    c.write_seconds = cli_seconds() - start;
    if (code == CLI_CONVERGED && cli_text_wanted(options->host.json)) { print_conversion(&c); }
    if (code == CLI_CONVERGED && options->host.json != NULL) {
        code = cli_write_json(options->host.json, convert_json(&c));
    }
    tess_array_free(ctx, c.values, c.nrows, c.ncols);
    tess_matrix_destroy(c.matrix.a);
    return code;
}

static int run_convert(int argc, char **argv)
{
    cli_arguments arguments;
    convert_options options = {.input = NULL};
    int code = cli_arguments_prepare(&convert_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&convert_argp, &arguments, &options);
    options.given = options.output;
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
