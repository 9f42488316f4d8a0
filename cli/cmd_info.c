/* SPDX-License-Identifier: Apache-2.0 */
/* tessera info: properties of a matrix, the storage it needs, and a solver to try. */
#include "info.h"
#include "solve.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct info_options {
    cli_host_options host;
    tess_solve_options solve; /* what a solve would be asked for; its storage is what is tried */
    tess_papers_solve papers;
    cli_storage_choice choice;
    tess_solve_options estimated; /* the solve whose memory is wanted: `solve` with the words of --solve */
    const char *matrix;
    const char *plot; /* NULL: none */
    bool estimates;
    const char *words; /* of --solve; NULL: none */
    int64_t columns;   /* right-hand sides; 0: not given */
    cli_nullspace nullspace;
    cli_saddle saddle;
} info_options;

enum { KEY_PLOT = 1, KEY_SOLVE, KEY_COLUMNS };

/* A policy without a format asks for an assignment, which reads it and the arithmetic. Where no solver is named, the
   storage is for products, too. */
static void take_storage(info_options *options)
{
    tess_storage_options *storage = &options->estimated.storage, plain;
    const bool named = options->estimates || options->solve.solver != TESS_SOLVER_AUTO;
    const bool alone = options->choice.assigns || (!named && storage->format == TESS_FORMAT_CSR);
    const bool assigned = alone && (storage->policy.policy != TESS_POLICY_NONE || options->plot != NULL);
    tess_storage_options_init(&plain);
    if (assigned) { storage->policy = plain.policy; }
    if (!named && (assigned || !alone)) {
        storage->arithmetic = plain.arithmetic;
        storage->split.row_order = plain.split.row_order;
    }
}

/* "gmres,ilu0" or "cg". */
static void take_words(struct argp_state *state, info_options *options)
{
    char solver[32];
    const char *text = options->words;
    tess_solve_options *o = &options->estimated;
    const size_t length = strcspn(text, ",");
    const bool both = text[length] == ',';
    if (o->solver != TESS_SOLVER_AUTO) { cli_refuse(state, "--solve=%s names a solver; leave out --solver", text); }
    if (both && o->precond.kind != TESS_PRECOND_AUTO) {
        cli_refuse(state, "--solve=%s names a preconditioner; leave out --precond", text);
    }
    snprintf(solver, sizeof solver, "%.*s", (int)(length < sizeof solver ? length : sizeof solver - 1), text);
    cli_set_option(state, "solve", "solver", solver, o);
    if (both) { cli_set_option(state, "solve", "precond", text + length + 1, o); }
}

/* What tessera solve refuses before it looks at a matrix. */
static void check_request(struct argp_state *state, info_options *options)
{
    char message[TESS_OPTION_TEXT];
    if (options->columns > 0 && !options->estimates) {
        cli_refuse(state, "--columns is for the memory of a solve; give --solve too");
    }
    if (options->columns == 0) { options->columns = 1; }
    options->estimated = options->solve;
    take_storage(options);
    if (options->words != NULL) { take_words(state, options); }
    if (tess_options_check(&options->estimated, message, sizeof message) != TESS_SUCCESS) {
        cli_refuse(state, "%s", message);
    }
    cli_check_orthogonalization(state, &options->estimated);
    cli_check_narrowing(state, &options->papers, &options->choice);
    tess_options_prune(&options->solve); /* options of the solve that --solve names */
}

/* "--solve cg": an option whose value may be missing takes none from the next word. */
static void refuse_word_of_solve(struct argp_state *state, const info_options *options, const char *argument)
{
    char solver[32];
    tess_solver_kind kind;
    const bool takes = options->estimates && options->words == NULL;
    if (!takes || argument == NULL || access(argument, F_OK) == 0) { return; }
    const size_t length = strcspn(argument, ",");
    snprintf(solver, sizeof solver, "%.*s", (int)(length < sizeof solver ? length : 0), argument);
    if (tess_solver_kind_parse(solver, &kind) == TESS_SUCCESS) {
        cli_refuse(state, "'%s' is no matrix; write --solve=%s to estimate that solve", argument, argument);
    }
}

static error_t parse_info(int key, char *arg, struct argp_state *state)
{
    info_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->solve;
        state->child_inputs[1] = &options->solve.precond;
        state->child_inputs[2] = &options->choice;
        state->child_inputs[3] = &options->host;
        state->child_inputs[4] = &options->nullspace;
        state->child_inputs[5] = &options->saddle;
        return 0;
    case KEY_SOLVE:
        options->estimates = true;
        options->words = arg;
        return 0;
    case KEY_COLUMNS: options->columns = cli_parse_integer(state, "columns", arg, 1, INT32_MAX); return 0;
    case KEY_PLOT: options->plot = cli_parse_output(state, "plot", arg); return 0;
    case ARGP_KEY_ARG:
    case ARGP_KEY_NO_ARGS:
        refuse_word_of_solve(state, options, arg);
        cli_take_matrix(state, arg, &options->matrix);
        return 0;
    case ARGP_KEY_END: check_request(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option info_own_options[] = {
    {"plot", KEY_PLOT, "FILE.png", 0, "draw the matrix; colours show the precision of each entry", TESS_SECTION_OUTPUT},
    {"solve", KEY_SOLVE, "NAME[,PRECOND]", OPTION_ARG_OPTIONAL,
     "estimate the memory of a solve by part, such as --solve=gmres,ilu0 (default of NAME: --solver, of PRECOND: "
     "--precond)",
     TESS_SECTION_MAIN},
    {"columns", KEY_COLUMNS, "K", 0,
     "with --solve: of a solve of K right-hand sides, and into how many slices they are cut (default 1)",
     TESS_SECTION_MAIN},
    {"format", 0, "NAME", OPTION_DOC, CLI_LISTED("format", "csr"), TESS_SECTION_PRECISION},
    {0}};
static const struct argp_child info_children[] = {{&cli_method_argp, 0, NULL, 0},
                                                  {&cli_precond_argp, 0, NULL, 0},
                                                  {&cli_storage_argp, 0, NULL, 0},
                                                  {&cli_host_argp, 0, NULL, 0},
                                                  {&cli_nullspace_argp, 0, NULL, 0},
                                                  {&cli_saddle_argp, 0, NULL, 0},
                                                  {0}};
static const struct argp info_argp = {
    .options = info_own_options,
    .parser = parse_info,
    .args_doc = "MATRIX",
    .doc = "Describes a matrix: size, symmetry, diagonal, row lengths, range of values, the share of its nonzeros that "
           "each precision stores exactly, memory, and a solver to try. With --format it also stores the matrix in "
           "that way and reports the bytes, or why this is refused. With --policy it also reports which part gets "
           "which precision. With --precond amg it also sets up the levels of algebraic multigrid, and reports "
           "them. Options of solve say which solve is advised on.\n" CLI_MATRIX_HELP "\v"
           "Example: describe a model problem, and what the policy lossless would store in low precisions.\n"
           "  tessera info gallery:laplace2d:100 --policy lossless",
    .children = info_children};

/* ---- the storage that was asked for ---- */

/* Without a format a policy asks for an assignment alone. Lossless is stored all the same where a solve would do so: in
   the one precision that holds the whole matrix. */
static bool stores_policy(tess_context *ctx, const info_options *options)
{
    const tess_storage_options *storage = &options->solve.storage;
    if (!options->choice.assigns) { return true; }
    return cli_chooses_whole(storage) && tess_storage_options_check(ctx, -1, -1, storage) == TESS_SUCCESS;
}

/* Padding depends on the matrix: only storing it tells how many bytes it takes. */
static int try_storage(const tess_matrix *a, const info_options *options, storage_trial *out)
{
    tess_matrix *stored = NULL;
    tess_context *ctx = tess_matrix_context(a);
    tess_storage_options storage = options->solve.storage;
    if (!stores_policy(ctx, options)) { storage.policy.policy = TESS_POLICY_NONE; }
    tess_status status = tess_matrix_convert(a, &storage, &stored);
    *out = (storage_trial){.options = options->solve.storage,
                           .chosen = options->choice.chosen,
                           .block_size = tess_matrix_block_size(stored),
                           .bytes = status == TESS_SUCCESS ? tess_matrix_bytes(stored) : -1};
    cli_note_format(status == TESS_SUCCESS ? tess_matrix_format(stored) : TESS_FORMAT_AUTO, &out->options);
    if (status == TESS_SUCCESS) { out->formats = cli_find_block_formats(stored, &out->options); }
    storage.format = out->options.format; /* auto has chosen */
    if (status == TESS_SUCCESS && cli_chooses_whole(&storage)) {
        out->options.precision = tess_matrix_precision(stored);
    }
    tess_matrix_destroy(stored);
    if (status == TESS_UNSUPPORTED || status == TESS_OUT_OF_RANGE) {
        out->reason = tess_context_last_error(ctx)->message;
        return CLI_CONVERGED;
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

/* ---- the precisions that a policy assigns ---- */

static int assign(const tess_matrix *a, const info_options *options, const tess_storage_options *storage,
                  info_assignment *out)
{
    tess_policy_options policy = storage->policy;
    bool wanted = policy.policy != TESS_POLICY_NONE || cli_takes_policy(storage->format) || options->plot != NULL;
    *out = (info_assignment){.plot = {.path = options->plot}};
    if (!wanted) { return CLI_CONVERGED; }
    if (storage->arithmetic == TESS_ARITHMETIC_FP32) { policy.arithmetic = storage->arithmetic; }
    tess_status status = tess_assignment_create(a, &policy, &out->assignment);
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(out->assignment, a); }
    if (status != TESS_SUCCESS) { return cli_report_failure(tess_matrix_context(a), status); }
    tess_assignment_summary_init(&out->summary);
    tess_assignment_get_summary(out->assignment, &out->summary);
    return options->plot == NULL ? CLI_CONVERGED : cli_plot_assignment(a, out->assignment, &out->plot);
}

/* ---- levels of algebraic multigrid, blocks of a saddle point ---- */

/* Other preconditioners have nothing to report. */
static int find_levels(const tess_matrix *a, const info_options *options, info_levels *out)
{
    tess_precond *m = NULL;
    *out = (info_levels){.factor = NAN};
    const tess_precond_kind kind = options->solve.precond.kind;
    if (kind != TESS_PRECOND_AMG && kind != TESS_PRECOND_SADDLE) { return CLI_CONVERGED; }
    tess_status status = tess_precond_create(a, &options->solve.precond, &m);
    if (status == TESS_SUCCESS && kind == TESS_PRECOND_SADDLE) {
        out->saddle = m;
        return CLI_CONVERGED;
    }
    if (status == TESS_SUCCESS) {
        out->known = cli_find_levels(m, &out->levels);
        status = cli_measure_factor(a, m, &out->factor);
    }
    tess_precond_destroy(m);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

/* What tessera solve would do next, which remembers what solved a matrix. */
static int advise(const tess_matrix *a, const info_options *options, tess_advice *advice)
{
    char choices[CLI_PATH_LENGTH];
    tess_solve_options asked = options->solve;
    if (tess_matrix_nrows(a) == tess_matrix_ncols(a)) {
        asked.engine = TESS_ENGINE_AUTO; /* of the device that solves; the matrix is on the host here */
    }
    asked.storage = options->estimated.storage;
    if (options->words != NULL) { tess_storage_options_init(&asked.storage); } /* that of another solve */
    if (asked.solver == TESS_SOLVER_AUTO) {
        asked.automatic.choices = cli_choices_path(asked.automatic.choices, choices, sizeof choices);
    }
    tess_advice_init(advice);
    tess_status status = tess_advise(a, &asked, advice);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

static int report_all(const info_options *options, const info_report *report, const cli_solve_estimate *estimate)
{
    if (cli_text_wanted(options->host.json)) {
        cli_info_print(report);
        if (options->estimates) { cli_print_estimate(estimate, options->columns, report->advice); }
    }
    if (options->host.json == NULL) { return CLI_CONVERGED; }
    json_t *root = cli_info_json(report);
    json_object_set_new(root, "solve_memory",
                        estimate != NULL ? cli_estimate_json(estimate, options->columns) : json_null());
    return cli_write_json(options->host.json, root);
}

/* An order is looked for where x is large and fetched badly, as a solve does. */
static int find_fetch(const tess_matrix *a, info_fetch *out)
{
    const int64_t n = tess_matrix_nrows(a);
    int32_t *perm = NULL;
    *out = (info_fetch){.given = NAN, .ordered = NAN};
    tess_status status = tess_order_fetch(a, NULL, &out->given);
    if (status == TESS_SUCCESS && out->given >= CLI_BADLY_FETCHED && n >= CLI_LARGE_ORDER &&
        n == tess_matrix_ncols(a)) {
        perm = malloc((size_t)n * sizeof *perm);
        if (perm == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
        status = tess_order_clusters(a, perm);
        if (status == TESS_SUCCESS) { status = tess_order_fetch(a, perm, &out->ordered); }
        free(perm);
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

/* Everything is found before anything is printed. */
static int find_all(const info_options *options, const cli_matrix *matrix, info_assignment *made)
{
    tess_matrix_analysis facts = {.size = sizeof facts};
    storage_trial trial;
    info_levels levels = {.factor = NAN};
    tess_advice advice;
    cli_solve_estimate estimate;
    bool estimated = false;
    info_fetch fetch = {.given = NAN, .ordered = NAN};
    const tess_status status = tess_matrix_analyze(matrix->a, &facts);
    int code = status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(matrix->a), status);
    if (code == CLI_CONVERGED) { code = find_fetch(matrix->a, &fetch); }
    if (code == CLI_CONVERGED) { code = advise(matrix->a, options, &advice); } /* refuses what no solve takes */
    if (code == CLI_CONVERGED) { code = try_storage(matrix->a, options, &trial); }
    if (code == CLI_CONVERGED) { code = assign(matrix->a, options, &trial.options, made); }
    if (code == CLI_CONVERGED) { code = find_levels(matrix->a, options, &levels); }
    if (code == CLI_CONVERGED && options->estimates) {
        code = cli_estimate_solve(matrix->a, &advice, &options->estimated, options->columns, &estimate, &estimated);
    }
    const info_report report = {
        matrix, &facts, &trial, made, &levels, &options->solve, &advice, fetch, &options->nullspace, &options->saddle};
    if (code == CLI_CONVERGED) { code = report_all(options, &report, estimated ? &estimate : NULL); }
    tess_precond_destroy(levels.saddle);
    return code;
}

/* The preconditioner that files of --coordinates and the like are for: that of --solve, if it names one. */
static tess_precond_options *precond_of_files(info_options *options)
{
    return options->words != NULL ? &options->estimated.precond : &options->solve.precond;
}

static int load_files(info_options *options, tess_context *ctx, const tess_matrix *a)
{
    tess_precond_options *taken = precond_of_files(options);
    int code = cli_load_nullspace(ctx, a, &options->nullspace, taken);
    if (code == CLI_CONVERGED) { code = cli_load_saddle(ctx, &options->saddle, &taken->saddle); }
    options->estimated.precond.amg = taken->amg;
    options->estimated.precond.saddle = taken->saddle;
    return code;
}

static int analyse(info_options *options, tess_context *ctx)
{
    cli_matrix matrix;
    info_assignment made = {.assignment = NULL};
    int code = cli_load_matrix(ctx, options->matrix, &matrix);
    if (code == CLI_CONVERGED) { code = cli_check_shape(options->matrix, matrix.a, options->estimated.solver); }
    if (code == CLI_CONVERGED) { code = cli_check_engine(options->estimated.engine, tess_gpu_count() > 0); }
    if (code == CLI_CONVERGED) { code = load_files(options, ctx, matrix.a); }
    if (code == CLI_CONVERGED) { code = find_all(options, &matrix, &made); }
    tess_assignment_destroy(made.assignment);
    cli_free_nullspace(&options->nullspace);
    cli_free_saddle(&options->saddle);
    tess_matrix_destroy(matrix.a);
    return code;
}

static int check_files(info_options *options)
{
    const char *asked = options->solve.automatic.choices;
    const char *choices = asked != NULL && strcmp(asked, "none") != 0 ? asked : NULL;
    const cli_files files = {.input = {options->matrix, options->nullspace.coordinates, options->nullspace.vectors,
                                       options->saddle.index, options->saddle.schur, choices},
                             .output = {{"json", &options->host.json}, {"plot", &options->plot}},
                             .force = options->host.force};
    int code = cli_check_own_file("choices", choices, false);
    if (code == 0) { code = cli_check_nullspace(&options->nullspace, precond_of_files(options)); }
    if (code == 0) { code = cli_check_saddle(&options->saddle, precond_of_files(options)); }
    return code == 0 ? cli_prepare_files(&files) : code;
}

static int check_storage(tess_context *ctx, const info_options *options)
{
    tess_storage_options storage = options->estimated.storage;
    if (storage.format != TESS_FORMAT_CSR) { storage.arithmetic = options->solve.storage.arithmetic; }
    storage.split.row_order = options->solve.storage.split.row_order;
    return cli_check_storage(ctx, &storage);
}

static int run_info(int argc, char **argv)
{
    cli_arguments arguments;
    info_options options = {.matrix = NULL};
    tess_solve_options_init(&options.solve);
    tess_papers_solve_init(&options.papers);
    options.solve.papers = &options.papers;
    cli_storage_choice_init(&options.choice, &options.solve.storage);
    options.choice.assigns = true;
    int code = cli_arguments_prepare(&info_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&info_argp, &arguments, &options);
    tess_context *ctx = NULL;
    code = check_files(&options);
    if (code == 0) { code = cli_open_context(TESS_DEVICE_CPU, options.host.threads, NULL, &ctx); }
    if (code == 0) { code = check_storage(ctx, &options); }
    if (code == 0) { code = analyse(&options, ctx); }
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_info = {"info", &info_argp, run_info};
