/* SPDX-License-Identifier: Apache-2.0 */
/* The report of tessera verify: text and JSON. */
#include <math.h>

#include "verify.h"

/* Of more columns than these, a report lists those that do not meet the tolerance. */
enum { MOST_LINES = 20 };

int64_t cli_count_met(const verify_run *run)
{
    int64_t count = 0;
    for (int64_t j = 0; j < run->count; j++) {
        count += run->found[j].met;
    }
    return count;
}

/* ---- text ---- */

static void print_columns(const verify_run *run)
{
    if (run->count < 2) { return; }
    printf("%-17s %lld of %lld meet the tolerance; the report below is of column %lld, the worst\n", "columns",
           (long long)cli_count_met(run), (long long)run->count, (long long)run->worst + 1);
    printf("%-17s %6s %12s %12s %14s  %s\n", "", "column", "residual", "scaled rows", "backward error", "result");
    for (int64_t j = 0; j < run->count; j++) {
        const tess_verification *v = &run->found[j];
        if (v->met && run->count > MOST_LINES && j != run->worst) { continue; }
        char text[3][CLI_REAL_TEXT];
        printf("%-17s %6lld %12s %12s %14s  %s\n", "", (long long)j + 1,
               cli_real_text(v->relative_residual, 3, text[0], sizeof text[0]),
               cli_real_text(v->rows.relative, 3, text[1], sizeof text[1]),
               cli_real_text(v->rows.backward_error, 1, text[2], sizeof text[2]), v->met ? "met" : "NOT MET");
    }
}

static const char *norms_text(tess_stop_norm norm)
{
    switch (norm) {
    case TESS_STOP_NORM_GIVEN: return "";
    case TESS_STOP_NORM_ROWS: return " of scaled rows";
    default: return ", and of scaled rows";
    }
}

static void print_outcome(const verify_run *run, const tess_verification *v)
{
    const tess_stop_norm norm = run->options->verify.stop_norm;
    const bool given = norm == TESS_STOP_NORM_ROWS || v->given_met, rows = norm == TESS_STOP_NORM_GIVEN || v->rows.met;
    printf("%-17s ", "result");
    if (v->nonfinite_solution >= 0) {
        printf("NOT MET: x has NaN or Inf, first in row %lld\n", (long long)v->nonfinite_solution + 1);
    } else if (v->nonfinite_rhs >= 0) {
        printf("NOT MET: b has NaN or Inf, first in row %lld\n", (long long)v->nonfinite_rhs + 1);
    } else if (v->met) {
        printf("the tolerance is met\n");
    } else {
        printf("NOT MET %s\n", !given && !rows ? "in either norm"
                               : given         ? "in the norm of scaled rows"
                                               : "in the norm as given");
    }
}

static void print_errors(const verify_run *run, const tess_verification *v)
{
    char text[CLI_REAL_TEXT];
    cli_print_true_residual("residual", v->relative_residual, v->residual_norm, v->residual_bound);
    cli_print_row_residual(&v->rows);
    printf("%-17s %s = ||r|| / (||A||_F ||x|| + ||b||)\n", "backward error",
           cli_real_text(v->backward_error, 1, text, sizeof text));
    if (!run->options->verify.forward_error) { return; }
    if (isnan(v->forward_error)) {
        printf("%-17s unknown: no complete factors in fp64 tell it\n", "forward error");
    } else {
        printf("%-17s about %.1e = ||x - x*|| / ||x||, by complete factors in fp64\n", "forward error",
               v->forward_error);
    }
}

static void print_rows(const verify_run *run)
{
    if (run->nrows == 0) { return; }
    printf("%-17s %12s %14s %14s %12s\n", "rows", "row", "residual", "backward error", "share");
    for (int64_t k = 0; k < run->nrows; k++) {
        const tess_verify_row *row = &run->rows[k];
        char text[2][CLI_REAL_TEXT],
            share[32] = "unknown"; /* where all residuals over their rows' sizes underflow, or one is NaN */
        if (!isnan(row->share)) { snprintf(share, sizeof share, "%.1f %%", 100.0 * row->share); }
        printf("%-17s %12lld %14s %14s %12s\n", "", (long long)row->row + 1,
               cli_real_text(row->residual, 3, text[0], sizeof text[0]),
               cli_real_text(row->backward_error, 1, text[1], sizeof text[1]), share);
    }
}

void cli_print_verification(const verify_run *run)
{
    char buffer[64], norm[CLI_REAL_TEXT];
    const tess_verification *v = &run->found[run->worst];
    const tess_verify_options *o = &run->options->verify;
    print_columns(run);
    cli_print_matrix(&run->matrix);
    cli_print_device(run->ctx);
    printf("%-17s %s, ||b|| = %s\n", "right-hand side", cli_vector_describe(&run->options->rhs, buffer, sizeof buffer),
           cli_norm_text(v->rhs_norm, norm, sizeof norm));
    printf("%-17s %s, ||x|| = %s\n", "answer", cli_vector_describe(&run->options->solution, buffer, sizeof buffer),
           cli_norm_text(v->solution_norm, norm, sizeof norm));
    printf("%-17s ||b - A x|| <= %s (rtol %g, atol %g)%s\n", "tolerance",
           cli_norm_text(v->tolerance, norm, sizeof norm), o->rtol, o->atol, norms_text(o->stop_norm));
    print_outcome(run, v);
    print_errors(run, v);
    print_rows(run);
}

/* ---- JSON ---- */

static json_t *place(int64_t index)
{
    return index >= 0 ? json_integer(index + 1) : json_null();
}

static void add_verification(json_t *root, const tess_verification *v)
{
    const struct {
        const char *key;
        double value;
    } reals[] = {{"relative_residual", v->relative_residual},
                 {"residual_norm", v->residual_norm},
                 {"residual_bound", v->residual_bound},
                 {"rhs_norm", v->rhs_norm},
                 {"tolerance", v->tolerance},
                 {"backward_error", v->backward_error},
                 {"matrix_norm", v->matrix_norm},
                 {"solution_norm", v->solution_norm},
                 {"forward_error", v->forward_error}};
    json_object_set_new(root, "met", json_boolean(v->met));
    json_object_set_new(root, "given_met", json_boolean(v->given_met));
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        json_object_set_new(root, reals[i].key, cli_json_real(reals[i].value));
    }
    json_object_set_new(root, "row_residual", cli_row_residual_json(&v->rows));
    json_object_set_new(root, "nonfinite_solution", place(v->nonfinite_solution));
    json_object_set_new(root, "nonfinite_rhs", place(v->nonfinite_rhs));
}

static void add_columns(json_t *root, const verify_run *run)
{
    json_t *columns = run->count < 2 ? json_null() : json_array();
    for (int64_t j = 0; j < run->count && run->count > 1; j++) {
        json_t *item = json_pack("{sI}", "column", (json_int_t)j + 1);
        add_verification(item, &run->found[j]);
        json_array_append_new(columns, item);
    }
    json_object_set_new(root, "columns", columns);
    if (run->count < 2) { return; }
    json_object_set_new(root, "worst_column", json_integer(run->worst + 1));
    json_object_set_new(root, "met_columns", json_integer(cli_count_met(run)));
}

static json_t *rows_json(const verify_run *run)
{
    json_t *rows = json_array();
    for (int64_t k = 0; k < run->nrows; k++) {
        const tess_verify_row *row = &run->rows[k];
        json_array_append_new(rows, json_pack("{sI so so so}", "row", (json_int_t)row->row + 1, "residual",
                                              cli_json_real(row->residual), "backward_error",
                                              cli_json_real(row->backward_error), "share", cli_json_real(row->share)));
    }
    return rows;
}

static json_t *options_json(const verify_options *o)
{
    return json_pack("{so so ss sI sb}", "rtol", cli_json_real(o->verify.rtol), "atol", cli_json_real(o->verify.atol),
                     "stop_norm", tess_stop_norm_name(o->verify.stop_norm), "rows", (json_int_t)o->rows, "accuracy",
                     o->verify.forward_error);
}

json_t *cli_verification_json(const verify_run *run)
{
    char rhs[64], solution[64];
    const cli_size size = cli_size_of(run->matrix.a);
    json_t *root =
        json_pack("{ss ss so sI sI sI ss so si so so si}", "command", "verify", "version", tess_version(), "matrix",
                  cli_json_text(run->matrix.name), "nrows", (json_int_t)size.nrows, "ncols", (json_int_t)size.ncols,
                  "nnz", (json_int_t)size.nnz, "device", cli_device_name(run->ctx), "device_name",
                  cli_json_text(tess_context_device_name(run->ctx)), "threads", tess_context_threads(run->ctx), "rhs",
                  cli_json_text(cli_vector_describe(&run->options->rhs, rhs, sizeof rhs)), "solution",
                  cli_json_text(cli_vector_describe(&run->options->solution, solution, sizeof solution)), "exit_code",
                  run->exit_code);
    if (root == NULL) { return NULL; }
    add_verification(root, &run->found[run->worst]);
    json_object_set_new(root, "rows", rows_json(run));
    add_columns(root, run);
    json_object_set_new(root, "options", options_json(run->options));
    json_object_set_new(root, "read_seconds", cli_json_real(run->matrix.seconds));
    return root;
}
