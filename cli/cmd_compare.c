/* SPDX-License-Identifier: Apache-2.0 */
/* tessera compare: solvers, preconditioners and precisions by time, and products in each storage. */
#include "compare.h"
#include "html.h"

#include <float.h>
#include <stdlib.h>

typedef struct compare_options {
    cli_host_options host;
    tess_device device;
    cli_products_options products;
    cli_solves_options solves;
    cli_seed seed;
    const char *matrix, *html;
    const char *command; /* as it was called */
} compare_options;

enum { KEY_X = 600, KEY_MAGNITUDE, KEY_REPEAT, KEY_SEED, KEY_HTML };

static const struct argp_option compare_argp_options[] = {
    {"x", KEY_X, "NAME|FILE", 0,
     "products: the vector x (default random:1): ones, random[:SEED] in (-1, 1), "
     "uniform[:SEED] in (0, 1), or a file",
     TESS_SECTION_METHOD},
    {"x-magnitude", KEY_MAGNITUDE, "M", 0, "products: multiply x by M (default 1)", TESS_SECTION_METHOD},
    {"repeat", KEY_REPEAT, "N", 0, "products: timed products of each row, after one that is not timed (default 21)",
     TESS_SECTION_METHOD},
    {"seed", KEY_SEED, "N", 0, "seed of random and uniform where --x or --rhs gives none (default 1)",
     TESS_SECTION_METHOD},
    {"html", KEY_HTML, "FILE", 0, "write a page that shows the tables in a browser; it needs no network",
     TESS_SECTION_OUTPUT},
    {"format", 0, "NAME", OPTION_DOC, CLI_LISTED("format", "all"), TESS_SECTION_PRECISION},
    {"matrix-precision", 0, "P", OPTION_DOC, CLI_LISTED("matrix-precision", "all"), TESS_SECTION_PRECISION},
    {"device", 0, "NAME", OPTION_DOC, "auto, cpu, gpu, cuda or hip (default auto: the host, and a GPU if present)",
     TESS_SECTION_DEVICE},
    {0}};

static error_t parse_product(int key, char *arg, struct argp_state *state, cli_products_options *products)
{
    products->asked = products->asked || (key >= KEY_X && key <= KEY_REPEAT);
    switch (key) {
    case KEY_X: products->x = cli_parse_vector(state, "x", arg, false); return 0;
    case KEY_MAGNITUDE: products->x_magnitude = cli_parse_real(state, "x-magnitude", arg, DBL_MIN, DBL_MAX); return 0;
    case KEY_REPEAT: products->repeats = (int)cli_parse_integer(state, "repeat", arg, 1, 1000000); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void complete_products(struct argp_state *state, cli_products_options *products)
{
    const tess_storage_options *storage = &products->storage;
    products->asked = products->asked || (int)storage->format != CLI_NOT_GIVEN || products->choice.policy != NULL ||
                      (int)storage->precision != CLI_NOT_GIVEN || products->digits.wanted ||
                      storage->arithmetic != TESS_ARITHMETIC_FP64;
    if (storage->arithmetic == TESS_ARITHMETIC_FP32X2) {
        argp_error(state, "compare does not take --arithmetic fp32x2; use spmv or solve");
    }
    if (storage->arithmetic != TESS_ARITHMETIC_FP64 && !cli_is_mixed(storage)) {
        char formats[64];
        argp_error(state, "compare takes --arithmetic %s only with --format %s; use spmv for other formats",
                   tess_arithmetic_name(storage->arithmetic),
                   cli_formats_text(cli_rounds_products, " or ", formats, sizeof formats));
    }
}

static error_t parse_compare(int key, char *arg, struct argp_state *state)
{
    compare_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->solves;
        state->child_inputs[1] = &options->products.choice;
        state->child_inputs[2] = &options->products.digits;
        state->child_inputs[3] = &options->device;
        state->child_inputs[4] = &options->host;
        return 0;
    case KEY_SEED: options->seed = (cli_seed){cli_parse_seed(state, "seed", arg), true}; return 0;
    case KEY_HTML: options->html = cli_parse_output(state, "html", arg); return 0;
    case ARGP_KEY_ARG:
    case ARGP_KEY_NO_ARGS: cli_take_matrix(state, arg, &options->matrix); return 0;
    case ARGP_KEY_END:
        complete_products(state, &options->products);
        cli_check_seed(state, &options->seed, "--x or --rhs",
                       options->products.asked || !options->solves.asked ? &options->products.x : NULL,
                       options->solves.asked || !options->products.asked ? &options->solves.rhs : NULL);
        return 0;
    default: return parse_product(key, arg, state, &options->products);
    }
}

static const struct argp_child compare_children[] = {{&cli_solves_argp, 0, NULL, 0}, {&cli_storage_argp, 0, NULL, 0},
                                                     {&cli_digits_argp, 0, NULL, 0}, {&cli_device_argp, 0, NULL, 0},
                                                     {&cli_host_argp, 0, NULL, 0},   {0}};
static const struct argp compare_argp = {
    .options = compare_argp_options,
    .parser = parse_compare,
    .args_doc = "MATRIX",
    .doc =
        "Solves A x = b with several solvers, preconditioners and precisions, on the host and on the GPU if there is "
        "one, and sorts them by the time to a verified answer. A second table times y = A x in each format and "
        "precision, with the error against a product with the FP64 matrix in extended precision; formats that would "
        "store too much padding are left out.\n"
        "Options of solves alone leave out the second table, options of products alone the first.\n" CLI_MATRIX_HELP
        "\v"
        "The benchmarks (make bench) compare with cuSPARSE.\n"
        "\n"
        "Example: compare two solvers with two preconditioners, each at most five seconds.\n"
        "  tessera compare gallery:laplace2d:100 --solvers cg,minres --preconds none,ic0 --budget 5",
    .children = compare_children};

typedef struct comparison {
    const compare_options *options;
    bool with_solves, with_products;
    cli_matrix matrix; /* on the host */
    cli_products products;
    cli_solves solves;
    char gpu_name[256]; /* empty: no GPU was used */
    const char *no_gpu; /* why no GPU was used; NULL: one was */
} comparison;

static int measure(const tess_matrix *a, comparison *all)
{
    int code = all->with_solves ? cli_solves_measure(a, &all->solves) : CLI_CONVERGED;
    if (code != CLI_CONVERGED || all->solves.interrupted) { return code; }
    return all->with_products ? cli_products_measure(a, &all->products) : CLI_CONVERGED;
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
    status = tess_matrix_copy_to(all->matrix.a, ctx, &a);
    int code = status == TESS_SUCCESS ? measure(a, all) : cli_report_failure(ctx, status);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return code;
}

static void print_comparison(const comparison *all, const tess_context *ctx)
{
    char size[CLI_SIZE_TEXT];
    printf("%-17s %s: %s\n", "matrix", cli_shown(all->matrix.name), cli_size_text(all->matrix.a, size, sizeof size));
    printf("%-17s %s\n", "cpu", tess_context_device_name(ctx));
    printf("%-17s %s\n", "gpu", all->no_gpu == NULL ? all->gpu_name : all->no_gpu);
    if (all->with_solves) { cli_solves_print(&all->solves); }
    if (all->with_solves && all->with_products) { printf("\nproducts y = A x\n"); }
    if (all->with_products) { cli_products_print(&all->products); }
    if (tess_has_gpu_backend()) { printf("\ncuSPARSE is compared in the benchmarks: make bench\n"); }
}

static json_t *comparison_json(const comparison *all, const tess_context *ctx)
{
    char buffer[64];
    const cli_products_options *products = &all->options->products;
    const cli_size size = cli_size_of(all->matrix.a);
    json_t *root = json_pack(
        "{ss ss so sI sI sI so si ss? so so si sb so}", "command", "compare", "version", tess_version(), "matrix",
        cli_json_text(all->matrix.name), "nrows", (json_int_t)size.nrows, "ncols", (json_int_t)size.ncols, "nnz",
        (json_int_t)size.nnz, "cpu_name", cli_json_text(tess_context_device_name(ctx)), "threads",
        tess_context_threads(ctx), "gpu_name", all->no_gpu == NULL ? all->gpu_name : NULL, "x",
        cli_json_text(cli_vector_describe(&products->x, buffer, sizeof buffer)), "x_magnitude",
        cli_json_real(products->x_magnitude), "repeat", products->repeats, "format_chosen", products->choice.chosen,
        "results", all->with_products ? cli_products_json(&all->products) : json_array());
    if (root == NULL) { return NULL; }
    json_object_set_new(root, "solves", all->with_solves ? cli_solves_json(&all->solves) : json_null());
    return root;
}

static int compare(comparison *all, cli_solves_options *solves, tess_context *ctx)
{
    const compare_options *options = all->options;
    int code = cli_load_matrix(ctx, options->matrix, &all->matrix);
    all->solves.matrix = options->matrix;
    if (code == CLI_CONVERGED && all->with_products) { code = cli_products_start(all->matrix.a, &all->products); }
    if (code == CLI_CONVERGED && all->with_solves) { code = cli_solves_choose(all->matrix.a, solves); }
    if (code == CLI_CONVERGED) { code = measure(all->matrix.a, all); }
    if (code == CLI_CONVERGED && !all->solves.interrupted) { code = measure_on_gpu(all); }
    cli_solves_sort(&all->solves);
    if (code == CLI_CONVERGED && cli_text_wanted(options->host.json)) { print_comparison(all, ctx); }
    if (code == CLI_CONVERGED && options->host.json != NULL) {
        code = cli_write_json(options->host.json, comparison_json(all, ctx));
    }
    if (code == CLI_CONVERGED && options->html != NULL) {
        const cli_compare_page page = {.matrix = &all->matrix,
                                       .ctx = ctx,
                                       .gpu = all->no_gpu == NULL ? all->gpu_name : all->no_gpu,
                                       .command = options->command,
                                       .solves = all->with_solves ? &all->solves : NULL,
                                       .products = all->with_products ? &all->products : NULL};
        code = cli_write_compare_html(options->html, &page);
    }
    return code;
}

static int check_storage(tess_context *ctx, const tess_storage_options *storage)
{
    return (int)storage->format == CLI_NOT_GIVEN ? cli_check_papers(ctx, storage) : cli_check_storage(ctx, storage);
}

static void init_options(compare_options *options)
{
    *options = (compare_options){.seed = {1, false},
                                 .products = {.digits = {.leave_out = {[CLI_EXACT_EXTENDED] = true}},
                                              .x = {.source = CLI_VECTOR_RANDOM},
                                              .x_magnitude = 1.0,
                                              .repeats = 21}};
    cli_products_options *products = &options->products;
    tess_storage_options_init(&products->storage);
    cli_storage_choice_init(&products->choice, &products->storage);
    products->storage.format = (tess_format)CLI_NOT_GIVEN;
    products->storage.precision = (tess_precision)CLI_NOT_GIVEN;
    cli_solves_options_init(&options->solves);
}

static int run_compare(int argc, char **argv)
{
    cli_arguments arguments;
    compare_options options;
    init_options(&options);
    int code = cli_arguments_prepare(&compare_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    char *command = cli_quote_command(argc, argv);
    options.command = command;
    if (command == NULL) {
        cli_arguments_free(&arguments);
        return CLI_DEVICE;
    }
    cli_arguments_parse(&compare_argp, &arguments, &options);
    cli_take_seed(&options.seed, &options.products.x);
    cli_take_seed(&options.seed, &options.solves.rhs);
    tess_context *ctx = NULL;
    comparison all = {.options = &options,
                      .with_solves = options.solves.asked || !options.products.asked,
                      .with_products = options.products.asked || !options.solves.asked,
                      .products = {.options = &options.products},
                      .solves = {.options = &options.solves}};
    const cli_files files = {.input = {options.matrix, options.products.x.path, options.solves.rhs.path},
                             .output = {{"json", &options.host.json}, {"html", &options.html}},
                             .force = options.host.force};
    code = cli_prepare_files(&files);
    if (code == 0) { code = cli_open_context(TESS_DEVICE_CPU, options.host.threads, NULL, &ctx); }
    if (code == 0) { code = check_storage(ctx, &options.products.storage); }
    if (code == 0) { code = compare(&all, &options.solves, ctx); }
    cli_solves_free(&all.solves);
    cli_products_free(&all.products);
    tess_matrix_destroy(all.matrix.a);
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    free(command);
    return code;
}

const cli_command cli_command_compare = {"compare", &compare_argp, run_compare};
