/* SPDX-License-Identifier: Apache-2.0 */
/* The report of tessera info, as text and as JSON. */
#include "info.h"
#include "options.h"

#include <math.h>
#include <string.h>

/* ---- memory of CSR in each precision ---- */

static double csr_bytes(const tess_matrix_analysis *facts, tess_precision precision)
{
    double offset = facts->nnz < INT64_C(2147483648) ? 4.0 : 8.0;
    return offset * ((double)facts->nrows + 1.0) + (double)facts->nnz * (4.0 + (double)tess_precision_bytes(precision));
}

/* ---- recommendation: the attempts of an automatic solve ---- */

enum { ATTEMPT_TEXT = 512 + 2 * CLI_QUOTED_LENGTH };

/* The options of tessera solve that ask for one attempt. */
static const char *attempt_text(const tess_advised_attempt *attempt, const info_report *report, char *buffer,
                                size_t size)
{
    tess_solve_options options = *report->asked;
    char solver[32];
    FILE *to = fmemopen(buffer, size, "w");
    buffer[0] = '\0';
    if (to == NULL) { return buffer; }
    (void)tess_advised_options(attempt, &options);
    tess_options_prune(&options); /* what was given for other attempts */
    fprintf(to, "--solver %s", cli_value_text(&options, "solver", solver, sizeof solver));
    cli_write_options(to, &options, TESS_OPTION_OF_PRECOND);
    cli_write_precond_files(to, report->nullspace, report->saddle, options.precond.kind);
    if (attempt->scale != TESS_SCALING_NONE) { cli_write_option(to, &options, tess_option_find("scale")); }
    if (attempt->reorder != TESS_REORDERING_NONE) { cli_write_option(to, &options, tess_option_find("reorder")); }
    fclose(to);
    buffer[size - 1] = '\0';
    return buffer;
}

static void print_advice(const info_report *report)
{
    const tess_advice *advice = report->advice;
    char text[ATTEMPT_TEXT];
    const char *found = advice->why[0] != '\0' ? advice->why : "as the options ask";
    printf("%-17s %s%s%s\n", "recommendation", advice->count == 0 ? "none: " : "", found,
           advice->count > 1 ? ". The next follows where one fails, or should take longer:" : "");
    for (int k = 0; k < advice->count; k++) {
        const tess_advised_attempt *attempt = &advice->attempt[k];
        printf("%-17s %s %s: %s\n", "", k == 0 ? "first" : "then ", attempt_text(attempt, report, text, sizeof text),
               attempt->why);
    }
}

static json_t *attempt_json(const tess_advised_attempt *attempt, const info_report *report)
{
    char text[ATTEMPT_TEXT];
    return json_pack("{ss ss ss ss ss sb sb ss ss}", "solver", tess_solver_kind_name(attempt->solver), "precond",
                     tess_precond_kind_name(attempt->precond), "factors", tess_precision_name(attempt->factors),
                     "scale", tess_scaling_name(attempt->scale), "reorder", tess_reordering_name(attempt->reorder),
                     "last", attempt->last, "open", attempt->open, "options",
                     attempt_text(attempt, report, text, sizeof text), "reason", attempt->why);
}

/* The first attempt by itself, and all of them. */
static json_t *advice_json(const info_report *report)
{
    const tess_advice *advice = report->advice;
    const tess_advised_attempt *first = advice->count > 0 ? &advice->attempt[0] : NULL;
    json_t *attempts = json_array();
    for (int k = 0; k < advice->count; k++) {
        json_array_append_new(attempts, attempt_json(&advice->attempt[k], report));
    }
    return json_pack("{ss? ss? ss so}", "solver", first ? tess_solver_kind_name(first->solver) : NULL, "precond",
                     first ? tess_precond_kind_name(first->precond) : NULL, "reason", advice->why, "attempts",
                     attempts);
}

/* ---- text ---- */

static void print_storage(const storage_trial *trial, int64_t nnz)
{
    char text[32], levels[64], format[32], blocks[32] = "";
    if (trial->bytes < 0) {
        printf("%-17s refused: %s\n", "storage", trial->reason);
        return;
    }
    bool mixed = cli_takes_policy(trial->options.format);
    if (trial->block_size > 0) { snprintf(blocks, sizeof blocks, " in blocks of %d", trial->block_size); }
    printf("%-17s %s %s%s: %s, %.3g bytes per nonzero\n", "storage",
           cli_format_text(trial->options.format, trial->chosen, format, sizeof format),
           mixed ? cli_levels_text(&trial->options.policy, levels, sizeof levels)
                 : tess_precision_name(trial->options.precision),
           blocks, cli_bytes_text((double)trial->bytes, text, sizeof text),
           nnz > 0 ? (double)trial->bytes / (double)nnz : 0.0);
    cli_print_block_formats(&trial->formats);
}

static void print_assignment(const info_assignment *made, int64_t nrows)
{
    if (made->assignment == NULL) { return; }
    cli_print_assignment(&made->summary, nrows);
    if (made->plot.path != NULL) { cli_print_plot(&made->plot, &made->summary.options); }
}

static const char *yes_no(int value)
{
    return value > 0 ? "yes" : value == 0 ? "no" : "not square";
}

static void print_file_facts(const tess_mtx_info *info)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    if (info->cache) { /* the cache does not keep the header of its source */
        printf("%-17s binary cache; %s\n", "file", tess_count(info->explicit_zeros, "explicit zero").text);
        return;
    }
    if (strcmp(info->kind, "Matrix Market") != 0) {
        printf("%-17s %s; %s, %s summed, %s kept\n", "file", info->kind, tess_count(info->entries, "entry").text,
               tess_count(info->duplicates, "duplicate").text, tess_count(info->explicit_zeros, "explicit zero").text);
        return;
    }
    const char *symmetry = info->symmetry >= 0 && info->symmetry <= 2 ? symmetries[info->symmetry] : "?";
    printf("%-17s %s, %s, %s%s; %s, %s summed, %s kept\n", "file", info->coordinate ? "coordinate" : "array",
           info->pattern   ? "pattern"
           : info->integer ? "integer"
                           : "real",
           symmetry, info->compressed ? ", gzip" : "", tess_count(info->entries, "entry").text,
           tess_count(info->duplicates, "duplicate").text, tess_count(info->explicit_zeros, "explicit zero").text);
}

static void print_structure(const tess_matrix_analysis *f)
{
    double full = (double)f->nrows * (double)f->ncols;
    printf("%-17s %lld x %lld, %s (%.3g %% of all entries)\n", "size", (long long)f->nrows, (long long)f->ncols,
           tess_count(f->nnz, "nonzero").text, full > 0.0 ? 100.0 * (double)f->nnz / full : 0.0);
    printf("%-17s pattern %s, numerical %s, skew %s\n", "symmetry", yes_no(f->pattern_symmetric),
           yes_no(f->numerically_symmetric), yes_no(f->skew_symmetric));
    printf("%-17s %lld positive, %lld negative, %lld zero, %lld missing; dominant in %s\n", "diagonal",
           (long long)f->diagonal_positive, (long long)f->diagonal_negative, (long long)f->diagonal_zero,
           (long long)f->diagonal_missing, tess_count(f->diagonally_dominant_rows, "row").text);
    printf("%-17s %lld to %s, mean %.2f, standard deviation %.2f; %lld empty, %lld dense\n", "rows",
           (long long)f->row_nnz_min, tess_count(f->row_nnz_max, "nonzero").text, f->row_nnz_mean, f->row_nnz_stddev,
           (long long)f->empty_rows, (long long)f->dense_rows);
    printf("%-17s %lld\n", "bandwidth", (long long)f->bandwidth);
    printf("%-17s magnitudes %.3g to %.3g; %s, %lld NaN or Inf\n", "values", f->value_abs_min, f->value_abs_max,
           tess_count(f->explicit_zeros, "explicit zero").text, (long long)f->not_finite);
}

static void print_fetch(const info_fetch *f, int64_t nnz)
{
    if (nnz == 0) { return; }
    printf("%-17s 32 rows fetch %.2f lines of x for a nonzero", "order", f->given);
    if (f->given < CLI_BADLY_FETCHED) {
        puts(": neighbours are near");
    } else if (isnan(f->ordered)) {
        puts(": neighbours are far apart, but x is small");
    } else {
        printf(", %.2f by clusters: %s\n", f->ordered,
               f->ordered <= f->given / 2.0 ? "solve with --reorder clusters" : "no order known here helps");
    }
}

void cli_info_print(const info_report *report)
{
    const cli_matrix *matrix = report->matrix;
    const tess_matrix_analysis *facts = report->facts;
    printf("%-17s %s\n", "matrix", cli_shown(matrix->name));
    if (matrix->from_file) { print_file_facts(&matrix->info); }
    if (tess_matrix_is_complex(matrix->a)) {
        char size[CLI_SIZE_TEXT];
        printf("%-17s %s; below is its real form, symmetric if the matrix is Hermitian\n", "complex",
               cli_size_text(matrix->a, size, sizeof size));
    }
    print_structure(facts);
    printf("%-17s", "stored exactly");
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        printf("%s %s %.4g %%", p == 0 ? "" : ",", tess_precision_name((tess_precision)p),
               100.0 * facts->exact_share[p]);
    }
    putchar('\n');
    print_fetch(&report->fetch, facts->nnz);
    printf("%-17s", "memory");
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        char text[32];
        const tess_precision precision = (tess_precision)p;
        printf("%s csr %s %s", p == 0 ? "" : ",", tess_precision_name(precision),
               cli_bytes_text(csr_bytes(facts, precision), text, sizeof text));
    }
    putchar('\n');
    print_storage(report->trial, facts->nnz);
    print_assignment(report->made, facts->nrows);
    if (report->levels->known) { cli_print_levels(&report->levels->levels, report->levels->factor); }
    cli_print_saddle(report->levels->saddle);
    print_advice(report);
}

/* ---- JSON ---- */

static json_t *storage_json(const storage_trial *trial)
{
    json_t *object = cli_storage_json(&trial->options, trial->chosen);
    json_object_set_new(object, "bytes", trial->bytes < 0 ? json_null() : json_integer(trial->bytes));
    json_object_set_new(object, "block_size", trial->block_size > 0 ? json_integer(trial->block_size) : json_null());
    json_object_set_new(object, "block_formats", cli_block_formats_json(&trial->formats));
    json_object_set_new(object, "refused", trial->bytes < 0 ? cli_json_text(trial->reason) : json_null());
    return object;
}

static void add_assignment(json_t *root, const info_assignment *made, int64_t nrows)
{
    bool plotted = made->assignment != NULL && made->plot.path != NULL;
    json_object_set_new(root, "assignment",
                        made->assignment == NULL ? json_null() : cli_assignment_json(&made->summary, nrows));
    json_object_set_new(root, "plot", plotted ? cli_plot_json(&made->plot, &made->summary.options) : json_null());
}

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

json_t *cli_info_json(const info_report *report)
{
    const cli_matrix *matrix = report->matrix;
    const tess_matrix_analysis *f = report->facts;
    const info_levels *levels = report->levels;
    json_t *root =
        json_pack("{ss ss so}", "command", "info", "version", tess_version(), "matrix", cli_json_text(matrix->name));
    if (root == NULL) { return NULL; }
    json_object_set_new(root, "file", matrix->from_file ? file_json(&matrix->info) : json_null());
    json_object_set_new(root, "complex", json_boolean(tess_matrix_is_complex(matrix->a)));
    add_counts(root, f);
    json_object_set_new(root, "pattern_symmetric", symmetry_json(f->pattern_symmetric));
    json_object_set_new(root, "numerically_symmetric", symmetry_json(f->numerically_symmetric));
    json_object_set_new(root, "skew_symmetric", symmetry_json(f->skew_symmetric));
    json_object_set_new(root, "row_nnz_mean", cli_json_real(f->row_nnz_mean));
    json_object_set_new(root, "row_nnz_stddev", cli_json_real(f->row_nnz_stddev));
    json_object_set_new(root, "value_abs_min", cli_json_real(f->value_abs_min));
    json_object_set_new(root, "value_abs_max", cli_json_real(f->value_abs_max));
    json_object_set_new(root, "exact_share", exact_json(f));
    json_object_set_new(root, "lines_of_x", cli_json_real(report->fetch.given));
    json_object_set_new(root, "lines_of_x_by_clusters", cli_json_real(report->fetch.ordered));
    json_object_set_new(root, "memory", memory_json(f));
    json_object_set_new(root, "storage", storage_json(report->trial));
    add_assignment(root, report->made, f->nrows);
    json_object_set_new(root, "saddle", cli_saddle_json(levels->saddle));
    json_object_set_new(root, "amg", levels->known ? cli_levels_json(&levels->levels, levels->factor) : json_null());
    json_object_set_new(root, "recommendation", advice_json(report));
    json_object_set_new(root, "read_seconds", cli_json_real(matrix->seconds));
    return root;
}
