/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a comparison. */
#include "compare.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>

static void write_summary(FILE *file, const cli_compare_page *page)
{
    char method[64], precond[64], time[32];
    const cli_solves *solves = page->solves;
    const cli_size size = cli_size_of(page->matrix->a);
    fprintf(file, "<p>The matrix has %s, %s and %s%s. GPU: ", tess_count(size.nrows, "row").text,
            tess_count(size.ncols, "column").text, tess_count(size.nnz, "nonzero").text, size.kind);
    cli_write_escaped(file, page->gpu);
    fputs(".</p>\n", file);
    if (solves == NULL) { return; }
    if (solves->count == 0 || !solves->rows[0].result.verified) {
        fprintf(file, "<p>None of %s is verified.</p>\n", tess_count(solves->count, "solve").text);
        return;
    }
    const cli_solve_row *best = &solves->rows[0];
    int verified = 0;
    while (verified < solves->count && solves->rows[verified].result.verified) {
        verified++;
    }
    fputs("<p><strong>", file);
    cli_write_escaped(file, cli_row_method(best, method, sizeof method));
    fputs("</strong> with preconditioner <strong>", file);
    cli_write_escaped(file, cli_precond_text(&best->options.precond, precond, sizeof precond));
    fprintf(file,
            "</strong> was the fastest: %s for set-up and solve, on the %s. %d of %s %s verified: the true "
            "residual, of the FP64 matrix, is within the tolerance.</p>\n",
            cli_seconds_text(best->seconds, time, sizeof time), best->device, verified,
            tess_count(solves->count, "solve").text, verified == 1 ? "is" : "are");
    if (verified > 1) {
        fprintf(file, "<p>The slowest verified one took %.1f times as long.</p>\n",
                solves->rows[verified - 1].seconds / best->seconds);
    }
}

static void write_row(FILE *file, const char *const *heads, const cli_solve_row *row, const cli_solves *solves)
{
    char text[CLI_REASON_LENGTH + 64];
    const bool ran = row->status == TESS_SUCCESS;
    const tess_solve_result *r = &row->result;
    cli_html_cell(file, heads[0], "%s", cli_row_method(row, text, sizeof text));
    cli_html_cell(file, heads[1], "%s", cli_precond_text(&row->options.precond, text, sizeof text));
    cli_html_cell(file, heads[2], "%s", cli_row_precisions(row, text, sizeof text));
    cli_html_cell(file, heads[3], "%s", row->device);
    cli_html_cell(file, heads[4], "%s", ran ? cli_seconds_text(row->seconds, text, sizeof text) : "-");
    cli_html_cell(file, heads[5], "%s", ran ? cli_seconds_text(r->setup_seconds, text, sizeof text) : "-");
    cli_html_cell(file, heads[6], "%lld", (long long)r->iterations);
    cli_html_cell(file, heads[7], "%s", ran ? cli_bytes_text((double)r->resident_bytes, text, sizeof text) : "-");
    cli_html_cell(file, heads[8], "%s", cli_row_outcome(row, solves->options->budget, text, sizeof text));
}

static void write_solves(FILE *file, const cli_solves *solves)
{
    static const char *const heads[] = {"solver", "preconditioner", "precisions", "device", "time",
                                        "set-up", "iterations",     "memory",     "result", NULL};
    char rhs[CLI_PATH_LENGTH];
    cli_html_section(file, "Solves");
    fputs("<p class=\"soft\">Right-hand side ", file);
    cli_write_escaped(file, cli_shown(cli_vector_describe(&solves->options->rhs, rhs, sizeof rhs)));
    fprintf(file,
            ", relative tolerance %g, at most %g s each. Time is set-up and solve together. Precisions are those "
            "of matrix, preconditioner and vectors; + means that the guard raised one.</p>\n",
            solves->options->rtol, solves->options->budget);
    for (int i = 0; i < solves->options->parts_left_out; i++) {
        char text[CLI_COMMAND_LENGTH];
        fputs("<p class=\"soft\">Left out: ", file);
        cli_write_escaped(file, cli_left_out_text(&solves->options->left_out[i], text, sizeof text));
        fputs(".</p>\n", file);
    }
    cli_html_begin_table(file, "The verified ones by time, then the others", heads);
    for (int i = 0; i < solves->count; i++) {
        cli_html_begin_row(file, i == 0 && solves->rows[i].result.verified);
        write_row(file, heads, &solves->rows[i], solves);
        cli_html_end_row(file);
    }
    cli_html_end_table(file);
    cli_html_end_section(file);
}

/* Whether a row before has the same method, in another precision: its line would cover this one. */
static bool is_shown(const cli_solves *solves, int at)
{
    const cli_solve_row *row = &solves->rows[at];
    for (int i = 0; i < at; i++) {
        const cli_solve_row *other = &solves->rows[i];
        if (other->status == TESS_SUCCESS && other->result.solver == row->result.solver &&
            other->options.precond.kind == row->options.precond.kind) {
            return true;
        }
    }
    return false;
}

/* The first rows that have a history: more lines cannot be told apart. */
static void write_convergence(FILE *file, const cli_solves *solves)
{
    cli_series series[CLI_CHART_STYLES];
    char names[CLI_CHART_STYLES][192];
    int count = 0;
    for (int i = 0; i < solves->count && count < CLI_CHART_STYLES; i++) {
        const cli_solve_row *row = &solves->rows[i];
        char method[64], precond[64], precisions[64];
        if (row->status != TESS_SUCCESS || row->points < 2 || is_shown(solves, i)) { continue; }
        snprintf(names[count], sizeof names[count], "%s, %s, %s", cli_row_method(row, method, sizeof method),
                 cli_precond_text(&row->options.precond, precond, sizeof precond),
                 cli_row_precisions(row, precisions, sizeof precisions));
        series[count] =
            (cli_series){.name = names[count], .x = row->iteration, .y = row->residual, .count = row->points};
        count++;
    }
    if (count == 0) { return; }
    const cli_chart chart = {.title = "Convergence of the fastest methods",
                             .description = "Relative residuals as the solvers estimate them, over iterations, on a "
                                            "logarithmic scale.",
                             .x_label = "iteration",
                             .y_label = "relative residual, estimated",
                             .series = series,
                             .count = count,
                             .level = solves->options->rtol,
                             .level_name = "tolerance",
                             .mark_x = NAN,
                             .mark_y = NAN};
    cli_html_section(file, "Convergence");
    cli_html_chart(file, &chart, NULL);
    fputs("<p class=\"soft\">Each method in its fastest precision. Iterations differ in cost; the table has the "
          "times.</p>\n",
          file);
    cli_html_end_section(file);
}

static void write_products(FILE *file, const cli_products *products)
{
    static const char *const heads[] = {"format", "precision", "device", "time", "GB/s", "memory", "error", NULL};
    cli_html_section(file, "Products y = A x");
    cli_html_begin_table(file, "Median of repeated products; the error is that of y, over its norm", heads);
    for (int i = 0; i < products->count; i++) {
        const cli_product_row *row = &products->rows[i];
        char text[64];
        cli_html_begin_row(file, false);
        cli_html_cell(file, heads[0], "%s", tess_format_name(row->storage.format));
        cli_html_cell(file, heads[1], "%s",
                      cli_takes_policy(row->storage.format) ? cli_levels_text(&row->storage.policy, text, sizeof text)
                                                            : tess_precision_name(row->storage.precision));
        cli_html_cell(file, heads[2], "%s", row->device);
        cli_html_cell(file, heads[3], "%s", cli_seconds_text(row->timing.median, text, sizeof text));
        cli_html_cell(file, heads[4], "%.2f", 1e-9 * row->timing.bytes / row->timing.median);
        cli_html_cell(file, heads[5], "%s", cli_bytes_text((double)row->matrix_bytes, text, sizeof text));
        cli_html_cell(file, heads[6], "%.2e", row->error.relative);
        cli_html_end_row(file);
    }
    cli_html_end_table(file);
    cli_html_end_section(file);
}

static int write_page(FILE *file, const void *user)
{
    const cli_compare_page *page = user;
    char title[CLI_PATH_LENGTH + 32], command[CLI_COMMAND_LENGTH], legend[8];
    const cli_solves *solves = page->solves;
    const bool found = solves != NULL && solves->count > 0 && solves->rows[0].result.verified;
    snprintf(title, sizeof title, "Comparison for %s", cli_shown(cli_html_name(page->matrix->name)));
    cli_html_begin(file, title,
                   solves == NULL ? "Products"
                   : found        ? "A verified answer was found"
                                  : "No solve is verified",
                   solves == NULL ? -1 : found);
    write_summary(file, page);
    if (found) {
        fputs("<p>This repeats the fastest solve:</p>\n", file);
        cli_html_command(file, cli_row_command(&solves->rows[0], solves, command, sizeof command));
    }
    if (solves != NULL) {
        write_solves(file, solves);
        write_convergence(file, solves);
    }
    if (page->products != NULL) { write_products(file, page->products); }
    size_t count = 0;
    unsigned char *png = cli_plot_in_memory(page->matrix->a, NULL, &count, legend, sizeof legend);
    if (png != NULL) {
        cli_html_section(file, "Matrix");
        cli_html_png(file, png, count, "The nonzeros of the matrix.");
        cli_html_end_section(file);
    }
    free(png);
    cli_html_environment(file, page->ctx);
    cli_html_section(file, "Repeat the comparison");
    cli_html_command(file, page->command);
    cli_html_end_section(file);
    cli_html_end(file);
    return ferror(file);
}

int cli_write_compare_html(const char *path, const cli_compare_page *page)
{
    return cli_write_file(path, write_page, page);
}
