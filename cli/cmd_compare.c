/* SPDX-License-Identifier: Apache-2.0 */
/* tessera compare: every storage on every device, against the FP64 product. */
#include "cli.h"

#include <float.h>
#include <stdlib.h>

typedef struct compare_options {
    cli_host_options host;
    tess_device device;
    tess_storage_options storage; /* format and precision NOT_GIVEN: all of them */
    cli_storage_choice choice;
    cli_digits_options digits;
    cli_vector_choice x;
    double x_magnitude;
    uint64_t seed;
    int repeats;
    const char *matrix;
} compare_options;

enum { KEY_X = 600, KEY_MAGNITUDE, KEY_REPEAT, KEY_SEED };
enum { NOT_GIVEN = -1 };

static const struct argp_option compare_argp_options[] = {
    {"x", KEY_X, "NAME|FILE", 0,
     "the vector x (default random:1): ones, random[:SEED] in (-1, 1), "
     "uniform[:SEED] in (0, 1), or a file",
     CLI_GROUP_MAIN},
    {"x-magnitude", KEY_MAGNITUDE, "M", 0, "multiply x by M (default 1)", CLI_GROUP_MAIN},
    {"seed", KEY_SEED, "N", 0, "seed of random and uniform where --x gives none (default 1)", CLI_GROUP_MAIN},
    {"repeat", KEY_REPEAT, "N", 0, "timed products of each row, after one that is not timed (default 21)",
     CLI_GROUP_MAIN},
    {"format", 0, "NAME", OPTION_DOC, CLI_FORMAT_HELP("all"), CLI_GROUP_PRECISION},
    {"matrix-precision", 0, "P", OPTION_DOC, "storage precision (default all): {tess_precision}", CLI_GROUP_PRECISION},
    {"device", 0, "NAME", OPTION_DOC, "auto, cpu, cuda or hip (default auto: the host, and a GPU if present)",
     CLI_GROUP_DEVICE},
    {0}};

static error_t parse_compare(int key, char *arg, struct argp_state *state)
{
    compare_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->choice;
        state->child_inputs[1] = &options->digits;
        state->child_inputs[2] = &options->device;
        state->child_inputs[3] = &options->host;
        state->child_inputs[4] = &options->choice;
        return 0;
    case KEY_X: options->x = cli_parse_vector(state, "x", arg, false); return 0;
    case KEY_MAGNITUDE: options->x_magnitude = cli_parse_real(state, "x-magnitude", arg, DBL_MIN, DBL_MAX); return 0;
    case KEY_REPEAT: options->repeats = (int)cli_parse_integer(state, "repeat", arg, 1, 1000000); return 0;
    case KEY_SEED: options->seed = cli_parse_seed(state, "seed", arg); return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "one matrix at a time is possible, but '%s' is a second one", arg);
        }
        options->matrix = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "no matrix was given; name a file or gallery:NAME"); return 0;
    case ARGP_KEY_END:
        if (options->storage.arithmetic != TESS_ARITHMETIC_FP64 && !cli_is_mixed(&options->storage)) {
            char formats[64];
            argp_error(state, "compare takes --arithmetic fp32 only with --format %s; use spmv for other formats",
                       cli_formats_text(cli_rounds_products, " or ", formats, sizeof formats));
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child compare_children[] = {{&cli_storage_argp, 0, NULL, 0}, {&cli_digits_argp, 0, NULL, 0},
                                                     {&cli_device_argp, 0, NULL, 0},  {&cli_host_argp, 0, NULL, 0},
                                                     {&cli_papers_argp, 0, NULL, 0},  {0}};
static const struct argp compare_argp = {
    .options = compare_argp_options,
    .parser = parse_compare,
    .args_doc = "MATRIX",
    .doc = "Times y = A x in each format and precision, on the host and on the GPU if there is one. Each row shows the "
           "error against a product with the FP64 matrix in extended precision. Formats that would store too much "
           "padding are left out.\n"
           "MATRIX is a file (.mtx, .mtx.gz, .tess) or a model problem, gallery:NAME[:ARG...].\v"
           "The benchmarks (make bench) compare with cuSPARSE.\n"
           "\n"
           "Example: compare csr in all precisions on the host.\n"
           "  tessera compare gallery:laplace2d:200 --format csr --device cpu",
    .children = compare_children};

typedef struct compare_row {
    const char *device;
    tess_storage_options storage;
    tess_precision vectors; /* what x and y are in */
    int64_t matrix_bytes;
    cli_timing timing;
    cli_error_norms error;
    cli_digits digits;
} compare_row;

typedef struct comparison {
    const compare_options *options;
    cli_matrix matrix; /* on the host */
    tess_vector *x;    /* on the host */
    cli_reference reference;
    cli_exact exact;
    compare_row *rows; /* space for every storage on two devices */
    int count;
    char gpu_name[256]; /* empty: no GPU was used */
    const char *no_gpu; /* why no GPU was used; NULL: one was */
} comparison;

static int measure(const tess_matrix *a, const tess_vector *x, tess_vector *y, const tess_storage_options *storage,
                   comparison *all)
{
    tess_matrix *stored = NULL;
    compare_row *row = &all->rows[all->count];
    const tess_context *ctx = tess_matrix_context(a);
    tess_status status = tess_matrix_convert(a, storage, &stored);
    bool chosen =
        (int)all->options->storage.format != NOT_GIVEN &&
        ((int)all->options->storage.precision != NOT_GIVEN || cli_is_mixed(storage) || cli_is_lossless_whole(storage));
    if (status == TESS_UNSUPPORTED && !chosen) { return CLI_CONVERGED; } /* this device does not have it */
    if (status != TESS_SUCCESS) { return cli_report_failure(ctx, status); }
    *row = (compare_row){.device = cli_device_name(ctx),
                         .storage = *storage,
                         .vectors = tess_vector_precision(x),
                         .matrix_bytes = tess_matrix_bytes(stored)};
    cli_note_choices(stored, &row->storage);
    int code = cli_time_product(stored, cli_row_order(&row->storage), x, y, all->options->repeats, &row->timing);
    if (code == CLI_CONVERGED) { code = cli_reference_error(&all->reference, y, &row->error); }
    if (code == CLI_CONVERGED) { code = cli_count_digits(&all->exact, y, &row->digits); }
    if (code == CLI_CONVERGED) { all->count++; }
    tess_matrix_destroy(stored);
    return code;
}

/* A policy chooses the precisions: one row, or none without a policy. */
static int measure_mixed(const tess_matrix *a, const tess_vector *x, tess_vector *y, tess_format format,
                         comparison *all)
{
    tess_storage_options storage = all->options->storage;
    bool wanted = (int)storage.format == (int)format;
    bool fits = storage.policy.policy != TESS_POLICY_NONE && (int)storage.precision == NOT_GIVEN;
    storage.format = format;
    storage.precision = TESS_PRECISION_FP64;
    cli_settle_granularity(&storage);
    if (!wanted && !(fits && cli_storage_is_possible(&storage))) { return CLI_CONVERGED; }
    return measure(a, x, y, &storage, all);
}

static int measure_precisions(const tess_matrix *a, const tess_vector *x, tess_vector *y, tess_format format,
                              comparison *all)
{
    int code = CLI_CONVERGED;
    int wanted = (int)all->options->storage.precision;
    tess_storage_options storage = all->options->storage;
    storage.format = format;
    if (cli_is_mixed(&storage)) { return measure_mixed(a, x, y, format, all); }
    if (cli_is_lossless_whole(&all->options->storage)) {
        storage.precision = TESS_PRECISION_FP64;
        return measure(a, x, y, &storage, all);
    }
    storage.policy.policy = TESS_POLICY_NONE; /* without --format, the policy is only for formats in parts */
    for (int p = 0; p < TESS_PRECISION_COUNT && code == CLI_CONVERGED; p++) {
        storage.precision = (tess_precision)p;
        if (wanted == NOT_GIVEN || wanted == p) { code = measure(a, x, y, &storage, all); }
    }
    return code;
}

/* The reference for digits (Zhao et al. 2024, Table 3): matrix, x, y and products all in FP32. */
static int measure_single(const tess_matrix *a, const tess_vector *x, comparison *all)
{
    tess_context *ctx = tess_matrix_context(a);
    tess_vector *x_single = NULL, *y_single = NULL;
    tess_storage_options storage;
    tess_storage_options_init(&storage);
    storage.precision = TESS_PRECISION_FP32;
    tess_status status = tess_vector_create(ctx, tess_matrix_ncols(a), TESS_PRECISION_FP32, &x_single);
    if (status == TESS_SUCCESS) { status = tess_vector_copy(x, x_single); }
    if (status == TESS_SUCCESS) {
        status = tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP32, &y_single);
    }
    int code = status == TESS_SUCCESS ? measure(a, x_single, y_single, &storage, all) : cli_report_failure(ctx, status);
    tess_vector_destroy(x_single);
    tess_vector_destroy(y_single);
    return code;
}

static int measure_all(const tess_matrix *a, const tess_vector *x, comparison *all)
{
    tess_vector *y = NULL;
    tess_context *ctx = tess_matrix_context(a);
    tess_status status = tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &y);
    int code = status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
    int wanted = (int)all->options->storage.format;
    if (wanted == (int)TESS_FORMAT_AUTO && code == CLI_CONVERGED) {
        code = measure_precisions(a, x, y, TESS_FORMAT_AUTO, all);
    }
    for (int i = 0; i < tess_format_count() && code == CLI_CONVERGED; i++) {
        const tess_format format = tess_format_at(i);
        if (wanted == NOT_GIVEN || wanted == (int)format) { code = measure_precisions(a, x, y, format, all); }
    }
    tess_vector_destroy(y);
    return code == CLI_CONVERGED && all->options->digits.wanted ? measure_single(a, x, all) : code;
}

/* A vector with the same values on another context. */
static tess_status copy_vector(const tess_vector *x, tess_context *ctx, tess_vector **out)
{
    tess_status status = tess_vector_create(ctx, tess_vector_size(x), TESS_PRECISION_FP64, out);
    if (status != TESS_SUCCESS) { return status; }
    return tess_vector_set(*out, tess_vector_data_const(x), TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

static int measure_on_gpu(comparison *all)
{
    if (all->options->device == TESS_DEVICE_CPU) {
        all->no_gpu = "left out by --device cpu";
        return CLI_CONVERGED;
    }
    tess_context_options gpu;
    tess_context_options_init(&gpu);
    gpu.device = TESS_DEVICE_GPU;
    gpu.threads = all->options->host.threads;
    tess_context *ctx = NULL;
    tess_status status = tess_context_create(&gpu, &ctx);
    if (status == TESS_NO_DEVICE && all->options->device == TESS_DEVICE_AUTO) {
        all->no_gpu = tess_has_gpu_backend() ? "no GPU can be used here" : "this build has no GPU backend";
        return CLI_CONVERGED;
    }
    if (status != TESS_SUCCESS) { return cli_report_failure(NULL, status); }
    snprintf(all->gpu_name, sizeof all->gpu_name, "%s", tess_context_device_name(ctx));
    tess_matrix *a = NULL;
    tess_vector *x = NULL;
    status = tess_matrix_copy_to(all->matrix.a, ctx, &a);
    if (status == TESS_SUCCESS) { status = copy_vector(all->x, ctx, &x); }
    int code = status == TESS_SUCCESS ? measure_all(a, x, all) : cli_report_failure(ctx, status);
    tess_vector_destroy(x);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return code;
}

/* "fp32/fp32" if vectors and products are in FP32 too. */
static const char *precisions_text(const compare_row *row, char *buffer, size_t size)
{
    const char *name = tess_precision_name(row->storage.precision);
    if (cli_takes_policy(row->storage.format)) { return cli_levels_text(&row->storage.policy, buffer, size); }
    if (row->vectors == TESS_PRECISION_FP64) { return name; }
    snprintf(buffer, size, "%s/%s", name, tess_precision_name(row->vectors));
    return buffer;
}

static void print_digits(const comparison *all)
{
    for (int k = 0; k < CLI_EXACT_COUNT; k++) {
        if (all->exact.y[k] == NULL) { continue; }
        cli_print_digits_head(k);
        for (int i = 0; i < all->count; i++) {
            char levels[64];
            const compare_row *row = &all->rows[i];
            printf("%-6s %-10s %-9s", row->device, tess_format_name(row->storage.format),
                   precisions_text(row, levels, sizeof levels));
            cli_print_digits(&row->digits.counts[k]);
        }
    }
}

static void print_comparison(const comparison *all, const tess_context *ctx)
{
    char buffer[64];
    const tess_matrix *a = all->matrix.a;
    printf("%-17s %s: %lld x %lld, %lld nonzeros\n", "matrix", all->matrix.name, (long long)tess_matrix_nrows(a),
           (long long)tess_matrix_ncols(a), (long long)tess_matrix_nnz(a));
    printf("%-17s %s\n", "cpu", tess_context_device_name(ctx));
    printf("%-17s %s\n", "gpu", all->no_gpu == NULL ? all->gpu_name : all->no_gpu);
    if (all->options->storage.arithmetic == TESS_ARITHMETIC_FP32) {
        printf("%-17s products of low values in fp32, sums in fp64\n", "arithmetic");
    }
    if (all->options->choice.chosen) { printf("%-17s chosen for the matrix\n", "format"); }
    printf("%-17s %s", "x", cli_vector_describe(&all->options->x, buffer, sizeof buffer));
    if (all->options->x_magnitude != 1.0) { printf(" times %g", all->options->x_magnitude); }
    printf("; %d products each, median, wall clock\n\n", all->options->repeats);
    printf("%-6s %-10s %-9s %10s %10s %8s %15s %15s\n", "device", "format", "precision", "bytes", "time", "GB/s",
           "componentwise", "norm error");
    for (int i = 0; i < all->count; i++) {
        char bytes[32], time[32], levels[64];
        const compare_row *row = &all->rows[i];
        printf("%-6s %-10s %-9s %10s %10s %8.2f %15.2e %15.2e\n", row->device, tess_format_name(row->storage.format),
               precisions_text(row, levels, sizeof levels),
               cli_bytes_text((double)row->matrix_bytes, bytes, sizeof bytes),
               cli_seconds_text(row->timing.median, time, sizeof time), 1e-9 * row->timing.bytes / row->timing.median,
               row->error.componentwise, row->error.relative);
    }
    for (int i = 0; i < all->count; i++) {
        cli_print_parameter(&all->rows[i].storage);
    }
    print_digits(all);
    if (tess_has_gpu_backend()) { printf("\ncuSPARSE is compared in the benchmarks: make bench\n"); }
}

static json_t *row_json(const compare_row *row, const cli_exact *exact)
{
    json_t *item = json_pack("{ss ss ss sI}", "device", row->device, "format", tess_format_name(row->storage.format),
                             "matrix_precision", tess_precision_name(row->storage.precision), "matrix_bytes",
                             (json_int_t)row->matrix_bytes);
    if (item == NULL) { return NULL; }
    bool mixed = cli_takes_policy(row->storage.format);
    json_object_set_new(item, "policy", json_string(mixed ? tess_policy_name(row->storage.policy.policy) : "none"));
    json_object_set_new(item, "policy_parameter",
                        mixed && row->storage.policy.parameter > 0.0 ? cli_json_real(row->storage.policy.parameter)
                                                                     : json_null());
    json_object_set_new(item, "seconds_median", cli_json_real(row->timing.median));
    json_object_set_new(item, "seconds_fastest", cli_json_real(row->timing.fastest));
    json_object_set_new(item, "bytes_moved", cli_json_real(row->timing.bytes));
    json_object_set_new(item, "gigabytes_per_second", cli_json_real(1e-9 * row->timing.bytes / row->timing.median));
    json_object_set_new(item, "fp64_componentwise_error", cli_json_real(row->error.componentwise));
    json_object_set_new(item, "fp64_relative_error", cli_json_real(row->error.relative));
    json_object_set_new(item, "arithmetic", json_string(tess_arithmetic_name(row->storage.arithmetic)));
    json_object_set_new(item, "vector_precision", json_string(tess_precision_name(row->vectors)));
    json_object_set_new(item, "digits", cli_digits_json(exact, &row->digits));
    return item;
}

static json_t *comparison_json(const comparison *all, const tess_context *ctx)
{
    char buffer[64];
    json_t *list = json_array();
    for (int i = 0; i < all->count; i++) {
        json_array_append_new(list, row_json(&all->rows[i], &all->exact));
    }
    return json_pack("{ss ss so sI sI sI so si ss? so so si sb so}", "command", "compare", "version", tess_version(),
                     "matrix", cli_json_text(all->matrix.name), "nrows", (json_int_t)tess_matrix_nrows(all->matrix.a),
                     "ncols", (json_int_t)tess_matrix_ncols(all->matrix.a), "nnz",
                     (json_int_t)tess_matrix_nnz(all->matrix.a), "cpu_name",
                     cli_json_text(tess_context_device_name(ctx)), "threads", tess_context_threads(ctx), "gpu_name",
                     all->no_gpu == NULL ? all->gpu_name : NULL, "x",
                     cli_json_text(cli_vector_describe(&all->options->x, buffer, sizeof buffer)), "x_magnitude",
                     cli_json_real(all->options->x_magnitude), "repeat", all->options->repeats, "format_chosen",
                     all->options->choice.chosen, "results", list);
}

static int compare(comparison *all, tess_context *ctx)
{
    const compare_options *options = all->options;
    int code = cli_load_matrix(ctx, options->matrix, &all->matrix);
    if (code == CLI_CONVERGED) {
        code = cli_load_vector(ctx, &options->x, "x", tess_matrix_ncols(all->matrix.a), NULL, &all->x);
    }
    if (code == CLI_CONVERGED && options->x_magnitude != 1.0) {
        tess_status status = tess_vector_scale(options->x_magnitude, all->x, TESS_ARITHMETIC_FP64);
        code = status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
    }
    if (code == CLI_CONVERGED) { code = cli_reference_create(all->matrix.a, all->x, &all->reference); }
    if (code == CLI_CONVERGED) {
        code = cli_exact_create(all->matrix.a, all->x, &all->reference, &options->digits, &all->exact);
    }
    if (code == CLI_CONVERGED) { code = measure_all(all->matrix.a, all->x, all); }
    if (code == CLI_CONVERGED) { code = measure_on_gpu(all); }
    if (code == CLI_CONVERGED && cli_text_wanted(options->host.json)) { print_comparison(all, ctx); }
    if (code == CLI_CONVERGED && options->host.json != NULL) {
        code = cli_write_json(options->host.json, comparison_json(all, ctx));
    }
    return code;
}

static int check_storage(tess_context *ctx, const compare_options *options)
{
    if ((int)options->storage.format == NOT_GIVEN) { return cli_check_papers(ctx, &options->storage); }
    return cli_check_storage(ctx, &options->storage);
}

static bool make_rows(comparison *all)
{
    const size_t each = (size_t)tess_format_count() * TESS_PRECISION_COUNT + 1; /* and all in FP32 */
    all->rows = calloc(2 * each, sizeof *all->rows);
    return all->rows != NULL;
}

static int run_compare(int argc, char **argv)
{
    cli_arguments arguments;
    compare_options options = {.digits = {.leave_out = {[CLI_EXACT_EXTENDED] = true}},
                               .x = {.source = CLI_VECTOR_RANDOM},
                               .x_magnitude = 1.0,
                               .seed = 1,
                               .repeats = 21};
    tess_storage_options_init(&options.storage);
    cli_storage_choice_init(&options.choice, &options.storage);
    options.storage.format = (tess_format)NOT_GIVEN;
    options.storage.precision = (tess_precision)NOT_GIVEN;
    int code = cli_arguments_prepare(&compare_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&compare_argp, &arguments, &options);
    if (!options.x.seeded) { options.x.seed = options.seed; }
    tess_context *ctx = NULL;
    comparison all = {.options = &options};
    code = cli_check_output(options.host.json);
    if (code == 0) { code = cli_open_context(TESS_DEVICE_CPU, options.host.threads, NULL, &ctx); }
    if (code == 0) { code = check_storage(ctx, &options); }
    if (code == 0 && !make_rows(&all)) { code = cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    if (code == 0) { code = compare(&all, ctx); }
    free(all.rows);
    cli_exact_free(&all.exact);
    cli_reference_free(&all.reference);
    tess_vector_destroy(all.x);
    tess_matrix_destroy(all.matrix.a);
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_compare = {"compare", &compare_argp, run_compare};
