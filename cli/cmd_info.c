/* SPDX-License-Identifier: Apache-2.0 */
/* tessera info: properties of a matrix, the storage it needs, and a solver to try. */
#include "cli.h"

#include <math.h>
#include <string.h>

typedef struct info_options {
    cli_host_options host;
    tess_storage_options storage;
    cli_storage_choice choice;
    tess_precond_options precond;
    const char *matrix;
    const char *plot; /* NULL: none */
    bool estimates;
    const char *solve; /* what of; NULL: auto */
} info_options;

enum { KEY_PLOT = 1, KEY_SOLVE };

static error_t parse_info(int key, char *arg, struct argp_state *state)
{
    info_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->choice;
        state->child_inputs[1] = &options->host;
        state->child_inputs[2] = &options->choice;
        state->child_inputs[3] = &options->precond;
        return 0;
    case KEY_SOLVE:
        options->estimates = true;
        options->solve = arg;
        return 0;
    case KEY_PLOT: options->plot = cli_parse_output(state, "plot", arg); return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "one matrix at a time is possible, but '%s' is a second one", arg);
        }
        options->matrix = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "no matrix was given; name a file or gallery:NAME"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option info_own_options[] = {
    {"plot", KEY_PLOT, "FILE.png", 0, "draw the matrix; colours show the precision of each entry", CLI_GROUP_OUTPUT},
    {"solve", KEY_SOLVE, "NAME[,PRECOND]", OPTION_ARG_OPTIONAL,
     "estimate the memory of a solve by part, such as --solve=gmres,ilu0 (default of NAME: auto)", CLI_GROUP_MAIN},
    {0}};
static const struct argp_child info_children[] = {{&cli_storage_argp, 0, NULL, 0},
                                                  {&cli_host_argp, 0, NULL, 0},
                                                  {&cli_papers_argp, 0, NULL, 0},
                                                  {&cli_precond_argp, 0, NULL, 0},
                                                  {0}};
static const struct argp info_argp = {
    .options = info_own_options,
    .parser = parse_info,
    .args_doc = "MATRIX",
    .doc = "Describes a matrix: size, symmetry, diagonal, row lengths, range of values, the share of its nonzeros that "
           "each precision stores exactly, memory, and a solver to try. With --format it also stores the matrix in "
           "that way and reports the bytes, or why this is refused. With --policy it also reports which part gets "
           "which precision. With --precond amg it also sets up the levels of algebraic multigrid, and reports "
           "them.\n" CLI_MATRIX_HELP "\v"
           "Example: describe a model problem, and what the policy lossless would store in low precisions.\n"
           "  tessera info gallery:laplace2d:100 --policy lossless",
    .children = info_children};

/* ---- memory of CSR in each precision ---- */

static double csr_bytes(const tess_matrix_analysis *facts, tess_precision precision)
{
    double offset = facts->nnz < INT64_C(2147483648) ? 4.0 : 8.0;
    return offset * ((double)facts->nrows + 1.0) + (double)facts->nnz * (4.0 + (double)tess_precision_bytes(precision));
}

/* ---- the storage that was asked for ---- */

typedef struct storage_trial {
    tess_storage_options options; /* with the format that auto chose */
    bool chosen;
    int64_t bytes;      /* -1: refused */
    const char *reason; /* why */
    cli_block_formats formats;
} storage_trial;

/* Padding depends on the matrix: only storing it tells how many bytes it takes. */
static int try_storage(const tess_matrix *a, const info_options *options, storage_trial *out)
{
    tess_matrix *stored = NULL;
    const tess_context *ctx = tess_matrix_context(a);
    tess_storage_options storage = options->storage;
    if (options->choice.assigns) { storage.policy.policy = TESS_POLICY_NONE; }
    tess_status status = tess_matrix_convert(a, &storage, &stored);
    *out = (storage_trial){.options = options->storage,
                           .chosen = options->choice.chosen,
                           .bytes = status == TESS_SUCCESS ? tess_matrix_bytes(stored) : -1};
    cli_note_format(status == TESS_SUCCESS ? tess_matrix_format(stored) : TESS_FORMAT_AUTO, &out->options);
    if (status == TESS_SUCCESS) { out->formats = cli_find_block_formats(stored, &out->options); }
    if (status == TESS_SUCCESS && cli_is_lossless_whole(&storage)) {
        out->options.precision = tess_matrix_precision(stored);
    }
    tess_matrix_destroy(stored);
    if (status == TESS_UNSUPPORTED || status == TESS_OUT_OF_RANGE) {
        out->reason = tess_context_last_error(ctx)->message;
        return CLI_CONVERGED;
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

static void print_storage(const storage_trial *trial, int64_t nnz)
{
    char text[32], levels[64], format[32];
    if (trial->bytes < 0) {
        printf("%-17s refused: %s\n", "storage", trial->reason);
        return;
    }
    bool mixed = cli_takes_policy(trial->options.format);
    printf("%-17s %s %s: %s, %.3g bytes per nonzero\n", "storage",
           cli_format_text(trial->options.format, trial->chosen, format, sizeof format),
           mixed ? cli_levels_text(&trial->options.policy, levels, sizeof levels)
                 : tess_precision_name(trial->options.precision),
           cli_bytes_text((double)trial->bytes, text, sizeof text), nnz > 0 ? (double)trial->bytes / (double)nnz : 0.0);
    cli_print_block_formats(&trial->formats);
}

static json_t *storage_json(const storage_trial *trial)
{
    json_t *object = cli_storage_json(&trial->options, trial->chosen);
    json_object_set_new(object, "bytes", trial->bytes < 0 ? json_null() : json_integer(trial->bytes));
    json_object_set_new(object, "block_formats", cli_block_formats_json(&trial->formats));
    json_object_set_new(object, "refused", trial->bytes < 0 ? cli_json_text(trial->reason) : json_null());
    return object;
}

/* ---- the precisions that a policy assigns ---- */

typedef struct info_assignment {
    tess_assignment *assignment; /* NULL: no assignment */
    tess_assignment_summary summary;
    cli_plot plot; /* path NULL: none */
} info_assignment;

static int assign(const tess_matrix *a, const info_options *options, const tess_storage_options *storage,
                  info_assignment *out)
{
    tess_policy_options policy = storage->policy;
    bool wanted = policy.policy != TESS_POLICY_NONE || cli_takes_policy(storage->format) || options->plot != NULL;
    *out = (info_assignment){.plot = {.path = options->plot}};
    if (!wanted) { return CLI_CONVERGED; }
    policy.arithmetic = storage->arithmetic;
    tess_status status = tess_assignment_create(a, &policy, &out->assignment);
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(out->assignment, a); }
    if (status != TESS_SUCCESS) { return cli_report_failure(tess_matrix_context(a), status); }
    tess_assignment_get_summary(out->assignment, &out->summary);
    return options->plot == NULL ? CLI_CONVERGED : cli_plot_assignment(a, out->assignment, &out->plot);
}

static void print_assignment(const info_assignment *made, int64_t nrows)
{
    if (made->assignment == NULL) { return; }
    cli_print_assignment(&made->summary, nrows);
    if (made->plot.path != NULL) { cli_print_plot(&made->plot, &made->summary.options); }
}

static void add_assignment(json_t *root, const info_assignment *made, int64_t nrows)
{
    bool plotted = made->assignment != NULL && made->plot.path != NULL;
    json_object_set_new(root, "assignment",
                        made->assignment == NULL ? json_null() : cli_assignment_json(&made->summary, nrows));
    json_object_set_new(root, "plot", plotted ? cli_plot_json(&made->plot, &made->summary.options) : json_null());
}

/* ---- levels of algebraic multigrid ---- */

typedef struct info_levels {
    bool known;
    tess_amg_levels levels;
    double factor;
} info_levels;

/* Other preconditioners have nothing to report. */
static int find_levels(const tess_matrix *a, const info_options *options, info_levels *out)
{
    tess_precond *m = NULL;
    *out = (info_levels){.factor = NAN};
    if (options->precond.kind != TESS_PRECOND_AMG) { return CLI_CONVERGED; }
    tess_status status = tess_precond_create(a, &options->precond, &m);
    if (status == TESS_SUCCESS) {
        out->known = cli_find_levels(m, &out->levels);
        status = cli_measure_factor(a, m, &out->factor);
    }
    tess_precond_destroy(m);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

/* ---- recommendation ---- */

typedef struct recommendation {
    const char *solver, *precond; /* NULL: none can be recommended */
    const char *reason;
} recommendation;

static recommendation recommend(const tess_matrix_analysis *f)
{
    bool whole_diagonal = f->diagonal_missing == 0 && f->diagonal_zero == 0;
    if (f->nrows != f->ncols) {
        return (recommendation){NULL, NULL, "the matrix is not square, and every solver needs a square one"};
    }
    if (f->not_finite > 0) {
        return (recommendation){NULL, NULL, "the matrix has NaN or Inf, which no solver can use"};
    }
    if (f->empty_rows > 0) { return (recommendation){NULL, NULL, "the matrix has empty rows, so it is singular"}; }
    if (f->numerically_symmetric == 1 && f->diagonal_positive == f->nrows) {
        bool dominant = f->diagonally_dominant_rows == f->nrows;
        return (recommendation){"cg", "jacobi",
                                dominant ? "symmetric, diagonally dominant and with a positive diagonal, so it is "
                                           "positive (semi)definite, as CG needs"
                                         : "symmetric with a positive diagonal, so it may be positive definite; if CG "
                                           "reports indefinite_matrix, use bicgstab"};
    }
    if (f->numerically_symmetric == 1) {
        return (recommendation){
            "bicgstab", whole_diagonal ? "jacobi" : "none",
            "symmetric, but not positive definite, because the diagonal is not all positive; CG does not apply"};
    }
    if (f->skew_symmetric == 1) {
        return (recommendation){
            "bicgstab", "none",
            "skew-symmetric; CG does not apply, and BiCGSTAB may break down because the eigenvalues are imaginary"};
    }
    return (recommendation){
        "bicgstab", whole_diagonal ? "jacobi" : "none",
        whole_diagonal
            ? "not symmetric, so BiCGSTAB; the diagonal has no zeros, so Jacobi applies and costs little"
            : "not symmetric, so BiCGSTAB; the diagonal has zeros or missing entries, so Jacobi does not apply"};
}

/* ---- text ---- */

static const char *yes_no(int value)
{
    return value > 0 ? "yes" : value == 0 ? "no" : "not square";
}

static void print_file_facts(const tess_mtx_info *info)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    if (info->cache) { /* the cache does not keep the header of its source */
        printf("%-17s binary cache; %lld explicit zeros\n", "file", (long long)info->explicit_zeros);
        return;
    }
    if (strcmp(info->kind, "Matrix Market") != 0) {
        printf("%-17s %s; %lld entries, %lld duplicates summed, %lld explicit zeros kept\n", "file", info->kind,
               (long long)info->entries, (long long)info->duplicates, (long long)info->explicit_zeros);
        return;
    }
    const char *symmetry = info->symmetry >= 0 && info->symmetry <= 2 ? symmetries[info->symmetry] : "?";
    printf("%-17s %s, %s, %s%s; %lld entries, %lld duplicates summed, %lld explicit zeros kept\n", "file",
           info->coordinate ? "coordinate" : "array",
           info->pattern   ? "pattern"
           : info->integer ? "integer"
                           : "real",
           symmetry, info->compressed ? ", gzip" : "", (long long)info->entries, (long long)info->duplicates,
           (long long)info->explicit_zeros);
}

static void print_structure(const tess_matrix_analysis *f)
{
    double full = (double)f->nrows * (double)f->ncols;
    printf("%-17s %lld x %lld, %lld nonzeros (%.3g %% of all entries)\n", "size", (long long)f->nrows,
           (long long)f->ncols, (long long)f->nnz, full > 0.0 ? 100.0 * (double)f->nnz / full : 0.0);
    printf("%-17s pattern %s, numerical %s, skew %s\n", "symmetry", yes_no(f->pattern_symmetric),
           yes_no(f->numerically_symmetric), yes_no(f->skew_symmetric));
    printf("%-17s %lld positive, %lld negative, %lld zero, %lld missing; dominant in %lld rows\n", "diagonal",
           (long long)f->diagonal_positive, (long long)f->diagonal_negative, (long long)f->diagonal_zero,
           (long long)f->diagonal_missing, (long long)f->diagonally_dominant_rows);
    printf("%-17s %lld to %lld nonzeros, mean %.2f, standard deviation %.2f; %lld empty, %lld dense\n", "rows",
           (long long)f->row_nnz_min, (long long)f->row_nnz_max, f->row_nnz_mean, f->row_nnz_stddev,
           (long long)f->empty_rows, (long long)f->dense_rows);
    printf("%-17s %lld\n", "bandwidth", (long long)f->bandwidth);
    printf("%-17s magnitudes %.3g to %.3g; %lld explicit zeros, %lld NaN or Inf\n", "values", f->value_abs_min,
           f->value_abs_max, (long long)f->explicit_zeros, (long long)f->not_finite);
}

static void print_info(const cli_matrix *matrix, const tess_matrix_analysis *facts, const storage_trial *trial,
                       const info_assignment *made, const info_levels *levels)
{
    printf("%-17s %s\n", "matrix", matrix->name);
    if (matrix->from_file) { print_file_facts(&matrix->info); }
    print_structure(facts);
    printf("%-17s", "stored exactly");
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        printf("%s %s %.4g %%", p == 0 ? "" : ",", tess_precision_name((tess_precision)p),
               100.0 * facts->exact_share[p]);
    }
    printf("\n%-17s", "memory");
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        char text[32];
        const tess_precision precision = (tess_precision)p;
        printf("%s csr %s %s", p == 0 ? "" : ",", tess_precision_name(precision),
               cli_bytes_text(csr_bytes(facts, precision), text, sizeof text));
    }
    recommendation advice = recommend(facts);
    putchar('\n');
    print_storage(trial, facts->nnz);
    print_assignment(made, facts->nrows);
    if (levels->known) { cli_print_levels(&levels->levels, levels->factor); }
    printf("%-17s ", "recommendation");
    if (advice.solver != NULL) {
        printf("--solver %s --precond %s: %s\n", advice.solver, advice.precond, advice.reason);
    } else {
        printf("none: %s\n", advice.reason);
    }
}

/* ---- JSON ---- */

static json_t *file_json(const tess_mtx_info *info)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    int symmetry = info->symmetry >= 0 && info->symmetry <= 2 ? info->symmetry : 0;
    return json_pack("{ss sb sb sb sb ss sb sI sI sI}", "kind", info->kind, "cache", info->cache, "coordinate",
                     info->coordinate, "pattern", info->pattern, "integer", info->integer, "symmetry",
                     symmetries[symmetry], "gzip", info->compressed, "entries", (json_int_t)info->entries, "duplicates",
                     (json_int_t)info->duplicates, "explicit_zeros", (json_int_t)info->explicit_zeros);
}

static json_t *symmetry_json(int value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

static json_t *memory_json(const tess_matrix_analysis *facts)
{
    json_t *list = json_array();
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        const tess_precision precision = (tess_precision)p;
        json_array_append_new(list,
                              json_pack("{ss ss sI}", "format", "csr", "precision", tess_precision_name(precision),
                                        "bytes", (json_int_t)csr_bytes(facts, precision)));
    }
    return list;
}

static json_t *exact_json(const tess_matrix_analysis *facts)
{
    json_t *shares = json_object();
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        json_object_set_new(shares, tess_precision_name((tess_precision)p), cli_json_real(facts->exact_share[p]));
    }
    return shares;
}

static void add_counts(json_t *root, const tess_matrix_analysis *f)
{
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"nrows", f->nrows},
                  {"ncols", f->ncols},
                  {"nnz", f->nnz},
                  {"explicit_zeros", f->explicit_zeros},
                  {"not_finite", f->not_finite},
                  {"diagonal_missing", f->diagonal_missing},
                  {"diagonal_zero", f->diagonal_zero},
                  {"diagonal_negative", f->diagonal_negative},
                  {"diagonal_positive", f->diagonal_positive},
                  {"diagonally_dominant_rows", f->diagonally_dominant_rows},
                  {"empty_rows", f->empty_rows},
                  {"dense_rows", f->dense_rows},
                  {"row_nnz_min", f->row_nnz_min},
                  {"row_nnz_max", f->row_nnz_max},
                  {"bandwidth", f->bandwidth}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        json_object_set_new(root, counts[i].key, json_integer(counts[i].value));
    }
}

static json_t *info_json(const cli_matrix *matrix, const tess_matrix_analysis *f, const storage_trial *trial,
                         const info_assignment *made, const info_levels *levels)
{
    recommendation advice = recommend(f);
    json_t *root =
        json_pack("{ss ss so}", "command", "info", "version", tess_version(), "matrix", cli_json_text(matrix->name));
    if (root == NULL) { return NULL; }
    json_object_set_new(root, "file", matrix->from_file ? file_json(&matrix->info) : json_null());
    add_counts(root, f);
    json_object_set_new(root, "pattern_symmetric", symmetry_json(f->pattern_symmetric));
    json_object_set_new(root, "numerically_symmetric", symmetry_json(f->numerically_symmetric));
    json_object_set_new(root, "skew_symmetric", symmetry_json(f->skew_symmetric));
    json_object_set_new(root, "row_nnz_mean", cli_json_real(f->row_nnz_mean));
    json_object_set_new(root, "row_nnz_stddev", cli_json_real(f->row_nnz_stddev));
    json_object_set_new(root, "value_abs_min", cli_json_real(f->value_abs_min));
    json_object_set_new(root, "value_abs_max", cli_json_real(f->value_abs_max));
    json_object_set_new(root, "exact_share", exact_json(f));
    json_object_set_new(root, "memory", memory_json(f));
    json_object_set_new(root, "storage", storage_json(trial));
    add_assignment(root, made, f->nrows);
    json_object_set_new(root, "amg", levels->known ? cli_levels_json(&levels->levels, levels->factor) : json_null());
    json_object_set_new(
        root, "recommendation",
        json_pack("{ss? ss? ss}", "solver", advice.solver, "precond", advice.precond, "reason", advice.reason));
    json_object_set_new(root, "read_seconds", cli_json_real(matrix->seconds));
    return root;
}

static int analyse(const info_options *options, tess_context *ctx)
{
    cli_matrix matrix;
    tess_matrix_analysis facts;
    storage_trial trial;
    info_assignment made = {.assignment = NULL};
    info_levels levels;
    int code = cli_load_matrix(ctx, options->matrix, &matrix);
    if (code == CLI_CONVERGED) {
        tess_status status = tess_matrix_analyze(matrix.a, &facts);
        if (status != TESS_SUCCESS) { code = cli_report_failure(ctx, status); }
    }
    if (code == CLI_CONVERGED) { code = try_storage(matrix.a, options, &trial); }
    if (code == CLI_CONVERGED) { code = assign(matrix.a, options, &trial.options, &made); }
    if (code == CLI_CONVERGED) { code = find_levels(matrix.a, options, &levels); }
    tess_solve_estimate estimate;
    if (code == CLI_CONVERGED && options->estimates) { code = cli_estimate_solve(matrix.a, options->solve, &estimate); }
    if (code == CLI_CONVERGED) {
        if (cli_text_wanted(options->host.json)) {
            print_info(&matrix, &facts, &trial, &made, &levels);
            if (options->estimates) { cli_print_estimate(&estimate); }
        }
        if (options->host.json != NULL) {
            json_t *root = info_json(&matrix, &facts, &trial, &made, &levels);
            json_object_set_new(root, "solve_memory", options->estimates ? cli_estimate_json(&estimate) : json_null());
            code = cli_write_json(options->host.json, root);
        }
    }
    tess_assignment_destroy(made.assignment);
    tess_matrix_destroy(matrix.a);
    return code;
}

static int run_info(int argc, char **argv)
{
    cli_arguments arguments;
    info_options options = {.matrix = NULL};
    tess_storage_options_init(&options.storage);
    tess_precond_options_init(&options.precond);
    cli_storage_choice_init(&options.choice, &options.storage);
    options.choice.assigns = true;
    int code = cli_arguments_prepare(&info_argp, argc, argv, false, &arguments);
    if (code != 0) { return code; }
    cli_arguments_parse(&info_argp, &arguments, &options);
    tess_context *ctx = NULL;
    const cli_files files = {.input = {options.matrix},
                             .output = {{"json", &options.host.json}, {"plot", &options.plot}},
                             .force = options.host.force};
    code = cli_prepare_files(&files);
    if (code == 0) { code = cli_open_context(TESS_DEVICE_CPU, options.host.threads, NULL, &ctx); }
    if (code == 0) { code = cli_check_papers(ctx, &options.storage); }
    if (code == 0) { code = analyse(&options, ctx); }
    tess_context_destroy(ctx);
    cli_arguments_free(&arguments);
    return code;
}

const cli_command cli_command_info = {"info", &info_argp, run_info};
