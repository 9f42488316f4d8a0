/* SPDX-License-Identifier: Apache-2.0 */
/* Several right-hand sides; see columns.h. */
#include "columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of more columns than these, a report lists those that are not verified. */
enum { MOST_LINES = 20 };

/* ---- values ---- */

int64_t cli_numbers_of(const tess_matrix *a)
{
    return tess_matrix_is_complex(a) ? 2 : 1;
}

tess_status cli_write_values(const tess_matrix *a, const double *values, int64_t nrows, int64_t ncols, const char *path)
{
    tess_context *ctx = tess_matrix_context(a);
    return tess_matrix_is_complex(a) ? tess_array_write_complex(ctx, values, nrows, ncols, path)
                                     : tess_array_write(ctx, values, nrows, ncols, path);
}

tess_status cli_write_vector(const tess_matrix *a, const tess_vector *v, const char *path)
{
    if (!tess_matrix_is_complex(a)) { return tess_vector_write(v, path); }
    cli_columns one;
    tess_status status = cli_columns_create(NULL, tess_vector_size(v), 1, &one);
    if (status == TESS_SUCCESS) { status = cli_columns_put(&one, 0, v); }
    if (status == TESS_SUCCESS) { status = cli_write_values(a, one.values, one.nrows, 1, path); }
    cli_columns_free(&one);
    return status;
}

/* Real numbers get imaginary parts. */
static tess_status make_complex(cli_columns *columns)
{
    cli_columns wide;
    tess_status status = cli_columns_create(columns->ctx, 2 * columns->nrows, columns->ncols, &wide);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t k = 0; k < columns->nrows * columns->ncols; k++) {
        wide.values[2 * k] = columns->values[k];
    }
    cli_columns_free(columns);
    *columns = wide;
    return TESS_SUCCESS;
}

int cli_columns_open(tess_context *ctx, const char *path, const tess_matrix *a, cli_columns *out)
{
    int is_complex = 0;
    *out = (cli_columns){.ctx = ctx};
    tess_status status =
        tess_array_read_complex(ctx, cli_input_path(path), &out->values, &out->nrows, &out->ncols, &is_complex);
    if (status == TESS_SUCCESS && is_complex && !tess_matrix_is_complex(a)) {
        cli_error("%s: its numbers are complex, and the matrix is real; solve for the real and the imaginary part, as "
                  "two columns",
                  path);
        return CLI_INPUT;
    }
    if (status == TESS_SUCCESS && !is_complex && tess_matrix_is_complex(a)) { status = make_complex(out); }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

int cli_columns_read(tess_context *ctx, const char *path, const char *option, int64_t nrows, const tess_matrix *a,
                     cli_columns *out)
{
    int code = cli_columns_open(ctx, path, a, out);
    if (code != CLI_CONVERGED) {
        if (tess_context_last_error(ctx)->status == TESS_NOT_FOUND) { cli_hint_file(option); }
        return code;
    }
    if (out->nrows == nrows && out->ncols > 0) { return CLI_CONVERGED; }
    const int64_t each = cli_numbers_of(a), has = out->nrows / each, needs = nrows / each;
    if (out->ncols == 1) {
        cli_error("%s: the file for --%s has %s, but the matrix needs %lld", path, option,
                  tess_count(has, "value").text, (long long)needs);
    } else {
        cli_error("%s: the file for --%s has %s and %s, but the matrix needs %s and a column for each right-hand side",
                  path, option, tess_count(has, "row").text, tess_count(out->ncols, "column").text,
                  tess_count(needs, "row").text);
    }
    return CLI_INPUT;
}

tess_status cli_columns_create(tess_context *ctx, int64_t nrows, int64_t ncols, cli_columns *out)
{
    *out = (cli_columns){.ctx = NULL, .nrows = nrows, .ncols = ncols};
    (void)ctx;
    out->values = calloc((size_t)nrows * (size_t)ncols + 1, sizeof *out->values);
    return out->values == NULL ? TESS_OUT_OF_MEMORY : TESS_SUCCESS;
}

tess_status cli_columns_get(const cli_columns *columns, int64_t j, tess_vector *out)
{
    return tess_vector_set(out, columns->values + j * columns->nrows, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

tess_status cli_columns_put(cli_columns *columns, int64_t j, const tess_vector *from)
{
    return tess_vector_get(from, columns->values + j * columns->nrows, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

void cli_columns_free(cli_columns *columns)
{
    if (columns->ctx == NULL) {
        free(columns->values);
    } else {
        tess_array_free(columns->ctx, columns->values, columns->nrows, columns->ncols);
    }
    columns->values = NULL;
}

/* ---- results ---- */

bool cli_column_list_create(int64_t count, cli_column_list *out)
{
    *out = (cli_column_list){.count = count, .worst = -1};
    out->column = calloc((size_t)count, sizeof *out->column);
    for (int64_t j = 0; j < count && out->column != NULL; j++) {
        out->column[j].exit_code = CLI_NOT_CONVERGED;
    }
    return out->column != NULL;
}

static bool is_worse(const cli_column_result *a, const cli_column_result *b)
{
    if (a->exit_code != b->exit_code) { return a->exit_code > b->exit_code; }
    return !(a->relative_residual <= b->relative_residual); /* NaN is worst */
}

/* The solver's history lasts until its next solve. */
static void keep_history(cli_column_list *list, tess_solve_result *result)
{
    const size_t bytes = (size_t)result->history_length * sizeof(double);
    free(list->history);
    list->history = malloc(bytes + 1);
    if (list->history != NULL && bytes > 0) { memcpy(list->history, result->history, bytes); }
    result->history = list->history;
    if (list->history == NULL) { result->history_length = 0; }
}

bool cli_column_list_note(cli_column_list *list, int64_t j, int exit_code, tess_solve_result *result)
{
    list->column[j] = (cli_column_result){.reason = result->reason,
                                          .converged = result->converged,
                                          .verified = result->verified,
                                          .solved = true,
                                          .exit_code = exit_code,
                                          .iterations = result->iterations,
                                          .refinements = result->refinements,
                                          .relative_residual = result->relative_residual,
                                          .estimated_relative_residual = result->estimated_relative_residual,
                                          .residual_norm = result->residual_norm,
                                          .residual_bound = result->residual_bound,
                                          .tolerance = result->tolerance,
                                          .solve_seconds = result->solve_seconds,
                                          .rows = result->rows};
    if (list->worst >= 0 && !is_worse(&list->column[j], &list->column[list->worst])) { return false; }
    list->worst = j;
    keep_history(list, result);
    return true;
}

int cli_column_list_exit_code(const cli_column_list *list)
{
    int code = CLI_CONVERGED;
    for (int64_t j = 0; j < list->count; j++) {
        if (list->column[j].exit_code > code) { code = list->column[j].exit_code; }
    }
    return code;
}

void cli_column_list_free(cli_column_list *list)
{
    free(list->column);
    free(list->history);
    *list = (cli_column_list){.count = 0};
}

/* ---- text and JSON ---- */

static int64_t count_verified(const cli_column_list *list)
{
    int64_t count = 0;
    for (int64_t j = 0; j < list->count; j++) {
        count += list->column[j].verified;
    }
    return count;
}

void cli_print_columns(const cli_column_list *list)
{
    if (list->count < 2) { return; }
    printf("%-17s %lld of %lld verified; the report below is of column %lld, the worst\n", "right-hand sides",
           (long long)count_verified(list), (long long)list->count, (long long)list->worst + 1);
    printf("%-17s %6s %10s %12s %10s  %s\n", "", "column", "iterations", "residual", "time", "result");
    for (int64_t j = 0; j < list->count; j++) {
        const cli_column_result *c = &list->column[j];
        char time[32], residual[CLI_REAL_TEXT];
        if (c->verified && list->count > MOST_LINES && j != list->worst) { continue; }
        if (!c->solved) {
            printf("%-17s %6lld %10s %12s %10s  not solved: interrupted before\n", "", (long long)j + 1, "-", "-", "-");
            continue;
        }
        printf("%-17s %6lld %10lld %12s %10s  %s\n", "", (long long)j + 1, (long long)c->iterations,
               cli_real_text(c->relative_residual, 3, residual, sizeof residual),
               cli_seconds_text(c->solve_seconds, time, sizeof time),
               c->verified ? "verified" : tess_reason_text(c->reason));
    }
}

static json_t *column_json(const cli_column_result *c, int64_t j)
{
    json_t *item = json_pack("{sI sb sb sb ss si si sI sI}", "column", (json_int_t)j + 1, "solved", c->solved,
                             "converged", c->converged, "verified", c->verified, "reason", tess_reason_name(c->reason),
                             "reason_code", (int)c->reason, "exit_code", c->exit_code, "iterations",
                             (json_int_t)c->iterations, "refinements", (json_int_t)c->refinements);
    if (item == NULL) { return NULL; }
    json_object_set_new(item, "relative_residual", cli_json_real(c->solved ? c->relative_residual : NAN));
    json_object_set_new(item, "estimated_relative_residual",
                        cli_json_real(c->solved ? c->estimated_relative_residual : NAN));
    json_object_set_new(item, "residual_norm", cli_json_real(c->solved ? c->residual_norm : NAN));
    json_object_set_new(item, "residual_bound", cli_json_real(c->solved ? c->residual_bound : NAN));
    json_object_set_new(item, "tolerance", cli_json_real(c->solved ? c->tolerance : NAN));
    json_object_set_new(item, "row_residual", c->solved ? cli_row_residual_json(&c->rows) : json_null());
    json_object_set_new(item, "solve_seconds", cli_json_real(c->solve_seconds));
    return item;
}

void cli_add_columns_json(json_t *root, const cli_column_list *list)
{
    int64_t iterations = 0;
    json_t *columns = list->count < 2 ? json_null() : json_array();
    for (int64_t j = 0; j < list->count && list->count > 1; j++) {
        json_array_append_new(columns, column_json(&list->column[j], j));
        iterations += list->column[j].iterations;
    }
    json_object_set_new(root, "columns", columns);
    if (list->count < 2) { return; }
    json_object_set_new(root, "worst_column", json_integer(list->worst + 1));
    json_object_set_new(root, "verified_columns", json_integer(count_verified(list)));
    json_object_set_new(root, "columns_iterations", json_integer(iterations));
    json_object_set_new(root, "columns_solve_seconds", cli_json_real(list->seconds));
}
