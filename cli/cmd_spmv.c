/* SPDX-License-Identifier: Apache-2.0 */
/* tessera spmv: y = A x, timed, and checked against an extended-precision product. */
#include "columns.h"

typedef struct spmv_options {
    cli_host_options host;
    tess_device device;
    tess_storage_options storage;
    cli_storage_choice choice;
    cli_vector_choice x;
    cli_seed seed;
    int repeats;
    const char *matrix, *output;
} spmv_options;

enum { KEY_X = 600, KEY_OUTPUT, KEY_REPEAT, KEY_SEED };

static const struct argp_option spmv_argp_options[] = {
    {"x", KEY_X, "NAME|FILE", 0,
     "the vector x (default ones): ones, random[:SEED] in (-1, 1), "
     "uniform[:SEED] in (0, 1), or a file",
     TESS_SECTION_MAIN},
    {"seed", KEY_SEED, "N", 0, "seed of random and uniform where --x gives none (default 1)", TESS_SECTION_MAIN},
    {"repeat", KEY_REPEAT, "N", 0, "timed products, after one that is not timed (default 21)", TESS_SECTION_MAIN},
    {"format", 0, "NAME", OPTION_DOC, CLI_LISTED("format", "csr"), TESS_SECTION_PRECISION},
    {"output", KEY_OUTPUT, "FILE", 0, "write y: .npy, .petsc, else a Matrix Market array", TESS_SECTION_OUTPUT},
    {0}};

static error_t parse_spmv(int key, char *arg, struct argp_state *state)
{
    spmv_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->choice;
        state->child_inputs[1] = &options->device;
        state->child_inputs[2] = &options->host;
        return 0;
    case KEY_X: options->x = cli_parse_vector(state, "x", arg, false); return 0;
    case KEY_OUTPUT: options->output = cli_parse_output(state, "output", arg); return 0;
    case KEY_REPEAT: options->repeats = (int)cli_parse_integer(state, "repeat", arg, 1, 1000000); return 0;
    case KEY_SEED: options->seed = (cli_seed){cli_parse_seed(state, "seed", arg), true}; return 0;
    case ARGP_KEY_ARG:
    case ARGP_KEY_NO_ARGS: cli_take_matrix(state, arg, &options->matrix); return 0;
    case ARGP_KEY_END: cli_check_seed(state, &options->seed, "--x", &options->x, NULL); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child spmv_children[] = {
    {&cli_storage_argp, 0, NULL, 0}, {&cli_device_argp, 0, NULL, 0}, {&cli_host_argp, 0, NULL, 0}, {0}};
static const struct argp spmv_argp = {
    .options = spmv_argp_options,
    .parser = parse_spmv,
    .args_doc = "MATRIX",
    .doc =
        "Computes y = A x, times it, and compares y with a product in extended precision on the host.\n" CLI_MATRIX_HELP
        "\v"
        "Example: time a product with the matrix stored in fp32.\n"
        "  tessera spmv gallery:laplace2d:300 --matrix-precision fp32",
    .children = spmv_children};

typedef struct spmv_run {
    spmv_options *options;
    const tess_context *ctx;
    cli_matrix matrix;
    tess_matrix *stored;
    tess_vector *x, *y;
    cli_timing timing;
    cli_error_norms arithmetic, total; /* against the stored values, and against the FP64 matrix */
    double bound;                      /* of the arithmetic, componentwise */
    tess_assignment_summary assigned;  /* policy error-bound: its options and the backward error */
} spmv_run;

static tess_precision arithmetic_precision(const spmv_options *options)
{
    return options->storage.arithmetic == TESS_ARITHMETIC_FP32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
}

/* Formats that only round products to FP32 keep FP64 vectors and sums. */
static tess_precision vector_precision(const spmv_options *options)
{
    return cli_rounds_products(tess_format_can(options->storage.format)) ? TESS_PRECISION_FP64
                                                                         : arithmetic_precision(options);
}

/* gamma(longest row + 2), as the library promises; of pairs (longest row + 1) 2^-44. FP32 products summed in FP64 add
   two roundings: of x and of the product. */
static double error_bound(int64_t longest_row, const spmv_options *options)
{
    if (options->storage.arithmetic == TESS_ARITHMETIC_FP32X2) { return ldexp((double)(longest_row + 1), -44); }
    double ku = (double)(longest_row + 2) * tess_precision_unit_roundoff(vector_precision(options));
    double u = arithmetic_precision(options) == vector_precision(options)
                   ? 0.0
                   : tess_precision_unit_roundoff(TESS_PRECISION_FP32);
    return ku / (1.0 - ku) + 2.0 * u + u * u;
}

static bool is_bounded(const spmv_options *options)
{
    return options->storage.policy.policy == TESS_POLICY_ERROR_BOUND;
}

static int measure_errors(spmv_run *run)
{
    cli_reference reference;
    int code = cli_reference_create(run->stored, run->x, &reference);
    if (code == CLI_CONVERGED) { code = cli_reference_error(&reference, run->y, &run->arithmetic); }
    run->bound = error_bound(reference.longest_row, run->options);
    cli_reference_free(&reference);
    if (code != CLI_CONVERGED) { return code; }
    code = cli_reference_create(run->matrix.a, run->x, &reference);
    if (code == CLI_CONVERGED) { code = cli_reference_error(&reference, run->y, &run->total); }
    cli_reference_free(&reference);
    if (code != CLI_CONVERGED || !is_bounded(run->options)) { return code; }
    run->assigned.options = run->options->storage.policy;
    return cli_measure_storage(run->matrix.a, run->stored, &run->assigned.options, &run->assigned.backward_error);
}

static void print_spmv(const spmv_run *run)
{
    char buffer[64], bytes[32], time[32], format[32], size[CLI_SIZE_TEXT];
    printf("%-17s %s: %s\n", "matrix", cli_shown(run->matrix.name), cli_size_text(run->matrix.a, size, sizeof size));
    cli_print_device(run->ctx);
    bool mixed = cli_takes_policy(run->options->storage.format);
    printf("%-17s %s %s, %s\n", "storage",
           cli_format_text(run->options->storage.format, run->options->choice.chosen, format, sizeof format),
           mixed ? cli_levels_text(&run->options->storage.policy, buffer, sizeof buffer)
                 : cli_precision_text(tess_matrix_precision(run->stored), tess_matrix_is_exact(run->stored), buffer,
                                      sizeof buffer),
           cli_bytes_text((double)tess_matrix_bytes(run->stored), bytes, sizeof bytes));
    cli_print_parameter(&run->options->storage);
    cli_print_untouched_matrix(run->stored);
    cli_block_formats formats = cli_find_block_formats(run->stored, &run->options->storage);
    cli_print_block_formats(&formats);
    if (run->options->storage.arithmetic == TESS_ARITHMETIC_FP32X2) {
        printf("%-17s sums of rows in pairs of fp32 numbers\n", "arithmetic");
    } else if (arithmetic_precision(run->options) != TESS_PRECISION_FP64) {
        printf("%-17s %s\n", "arithmetic",
               mixed ? "products of low values in fp32, sums in fp64" : "fp32, vectors in fp32");
    }
    printf("%-17s %s\n", "x", cli_shown(cli_vector_describe(&run->options->x, buffer, sizeof buffer)));
    printf("%-17s %s (median of %d, wall clock)\n", "time", cli_seconds_text(run->timing.median, time, sizeof time),
           run->timing.repeats);
    printf("%-17s %s by model, %.2f GB/s\n", "moved", cli_bytes_text(run->timing.bytes, bytes, sizeof bytes),
           1e-9 * run->timing.bytes / run->timing.median);
    printf("%-17s %.2e componentwise on the stored values (bound %.2e)\n", "arithmetic error",
           run->arithmetic.componentwise, run->bound);
    if (run->options->storage.arithmetic == TESS_ARITHMETIC_FP32X2 && !(run->arithmetic.componentwise <= run->bound)) {
        printf("%-17s numbers leave the range of fp32, where the bound does not hold\n", "");
    }
    printf("%-17s %.2e componentwise, %.2e in norm, against the FP64 matrix\n", "whole error", run->total.componentwise,
           run->total.relative);
    if (is_bounded(run->options)) { cli_print_backward_error(&run->assigned); }
}

static json_t *spmv_json(const spmv_run *run)
{
    char buffer[64];
    const cli_size size = cli_size_of(run->matrix.a);
    json_t *root =
        json_pack("{ss ss so sI sI sI ss so si ss ss so sI}", "command", "spmv", "version", tess_version(), "matrix",
                  cli_json_text(run->matrix.name), "nrows", (json_int_t)size.nrows, "ncols", (json_int_t)size.ncols,
                  "nnz", (json_int_t)size.nnz, "device", cli_device_name(run->ctx), "device_name",
                  cli_json_text(tess_context_device_name(run->ctx)), "threads", tess_context_threads(run->ctx),
                  "format", tess_format_name(tess_matrix_format(run->stored)), "matrix_precision",
                  tess_precision_name(tess_matrix_precision(run->stored)), "x",
                  cli_json_text(cli_vector_describe(&run->options->x, buffer, sizeof buffer)), "matrix_bytes",
                  (json_int_t)tess_matrix_bytes(run->stored));
    if (root == NULL) { return NULL; }
    json_object_set_new(root, "matrix_exact", json_boolean(tess_matrix_is_exact(run->stored)));
    json_object_set_new(root, "arithmetic", json_string(tess_arithmetic_name(run->options->storage.arithmetic)));
    json_object_set_new(root, "vector_precision", json_string(tess_precision_name(vector_precision(run->options))));
    json_object_set_new(root, "options", cli_storage_json(&run->options->storage, run->options->choice.chosen));
    cli_block_formats formats = cli_find_block_formats(run->stored, &run->options->storage);
    json_object_set_new(root, "block_formats", cli_block_formats_json(&formats));
    json_object_set_new(root, "repeat", json_integer(run->timing.repeats));
    json_object_set_new(root, "seconds_median", cli_json_real(run->timing.median));
    json_object_set_new(root, "seconds_fastest", cli_json_real(run->timing.fastest));
    json_object_set_new(root, "bytes_moved", cli_json_real(run->timing.bytes));
    json_object_set_new(root, "gigabytes_per_second", cli_json_real(1e-9 * run->timing.bytes / run->timing.median));
    json_object_set_new(root, "componentwise_error", cli_json_real(run->arithmetic.componentwise));
    json_object_set_new(root, "componentwise_bound", cli_json_real(run->bound));
    json_object_set_new(root, "fp64_componentwise_error", cli_json_real(run->total.componentwise));
    json_object_set_new(root, "fp64_relative_error", cli_json_real(run->total.relative));
    json_object_set_new(root, "read_seconds", cli_json_real(run->matrix.seconds));
    json_object_set_new(root, "error_bound",
                        is_bounded(run->options) ? cli_json_real(run->assigned.options.parameter) : json_null());
    json_object_set_new(root, "backward_error",
                        is_bounded(run->options) ? cli_json_real(run->assigned.backward_error) : json_null());
    return root;
}

/* Replaces an FP64 vector by its copy in another precision. */
static tess_status narrow_vector(tess_vector **v, tess_precision precision)
{
    tess_vector *narrow = NULL;
    if (precision == TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    tess_status status = tess_vector_create(tess_vector_context(*v), tess_vector_size(*v), precision, &narrow);
    if (status == TESS_SUCCESS) { status = tess_vector_copy(*v, narrow); }
    if (status != TESS_SUCCESS) {
        tess_vector_destroy(narrow);
        return status;
    }
    tess_vector_destroy(*v);
    *v = narrow;
    return TESS_SUCCESS;
}

static int compute(spmv_run *run, tess_context *ctx)
{
    spmv_options *options = run->options;
    int code = cli_load_matrix(ctx, options->matrix, &run->matrix);
    if (code != CLI_CONVERGED) { return code; }
    code = cli_load_vector(ctx, &options->x, "x", tess_matrix_ncols(run->matrix.a), run->matrix.a, &run->x);
    if (code != CLI_CONVERGED) { return code; }
    tess_status status = tess_matrix_convert(run->matrix.a, &options->storage, &run->stored);
    if (status == TESS_SUCCESS) { cli_note_choices(run->stored, &options->storage); }
    if (status == TESS_SUCCESS) { status = narrow_vector(&run->x, vector_precision(options)); }
    if (status == TESS_SUCCESS) {
        status = tess_vector_create(ctx, tess_matrix_nrows(run->matrix.a), vector_precision(options), &run->y);
    }
    if (status != TESS_SUCCESS) { return cli_report_failure(ctx, status); }
    code =
        cli_time_product(run->stored, cli_row_order(&options->storage), run->x, run->y, options->repeats, &run->timing);
    return code == CLI_CONVERGED ? measure_errors(run) : code;
}

static int report(const spmv_run *run)
{
    const spmv_options *options = run->options;
    if (options->output != NULL) {
        if (cli_check_reader(options->output) != 0) { return CLI_INPUT; }
        tess_status status = cli_write_vector(run->matrix.a, run->y, options->output);
        if (status != TESS_SUCCESS) { return cli_report_failure(run->ctx, status); }
    }
    if (cli_text_wanted(options->host.json)) { print_spmv(run); }
    return options->host.json == NULL ? CLI_CONVERGED : cli_write_json(options->host.json, spmv_json(run));
}

static int run_spmv(int argc, char **argv)
{
    cli_arguments arguments;
    spmv_options options = {.x = {.source = CLI_VECTOR_ONES}, .seed = {1, false}, .repeats = 21};
    tess_storage_options_init(&options.storage);
    cli_storage_choice_init(&options.choice, &options.storage);
    int code = cli_arguments_prepare(&spmv_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&spmv_argp, &arguments, &options);
    cli_take_seed(&options.seed, &options.x);
    tess_context *ctx = NULL;
    spmv_run run = {.options = &options, .assigned = {.size = sizeof run.assigned}};
    const cli_files files = {.input = {options.matrix, options.x.path},
                             .output = {{"json", &options.host.json}, {"output", &options.output}},
                             .force = options.host.force};
    code = cli_prepare_files(&files);
    if (code == 0) { code = cli_open_context(options.device, options.host.threads, NULL, &ctx); }
    if (code == 0) { code = cli_check_storage(ctx, &options.storage); }
    run.ctx = ctx;
    if (code == 0) { code = compute(&run, ctx); }
    if (code == 0) { code = report(&run); }
    tess_vector_destroy(run.x);
    tess_vector_destroy(run.y);
    tess_matrix_destroy(run.stored);
    tess_matrix_destroy(run.matrix.a);
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_spmv = {"spmv", &spmv_argp, run_spmv};
