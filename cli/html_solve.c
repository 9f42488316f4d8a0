/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a solve. */
#include "columns.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct solve_page {
    const cli_solve_run *run;
    const char *command;
} solve_page;

/* ---- the summary ---- */

static void write_summary(FILE *file, const cli_solve_run *run)
{
    char precond[64], bytes[32], setup[32], solve[32], residual[CLI_REAL_TEXT];
    const tess_solve_result *r = run->result;
    const cli_size size = cli_size_of(run->matrix->a);
    fprintf(file, "<p>The system has %s and %s%s. ", tess_count(size.nrows, "equation").text,
            tess_count(size.nnz, "nonzero").text, size.kind);
    fprintf(file, "<strong>%s</strong> with preconditioner <strong>", tess_solver_kind_name(r->solver));
    cli_write_escaped(file, cli_precond_text(&run->options->precond, precond, sizeof precond));
    fprintf(file, "</strong> made %s in %s, after %s of set-up, with %s of memory. ",
            tess_count(r->iterations, "iteration").text, cli_seconds_text(r->solve_seconds, solve, sizeof solve),
            cli_seconds_text(r->setup_seconds, setup, sizeof setup),
            cli_bytes_text((double)r->resident_bytes, bytes, sizeof bytes));
    fprintf(file, "The true relative residual, of the FP64 matrix, is <strong>%s</strong>",
            cli_real_text(r->relative_residual, 3, residual, sizeof residual));
    if (r->rhs_norm > 0.0) { fprintf(file, "; the tolerance is %.3e", r->tolerance / r->rhs_norm); }
    fputs(".</p>\n", file);
    if (r->verified) {
        fputs(
            "<p>Verified: this residual and a bound on its own rounding error are together within the tolerance.</p>\n",
            file);
    } else {
        fputs("<p>The solve ended because: ", file);
        cli_write_escaped(file, tess_reason_text(r->reason));
        fputs(". The answer is not verified.</p>\n", file);
    }
    if (r->escalated) { fputs("<p>The guard went on in a higher precision than the options name.</p>\n", file); }
    if (run->detail[0] != '\0') {
        fputs("<p>", file);
        cli_write_escaped(file, run->detail);
        fputs("</p>\n", file);
    }
}

static void write_columns(FILE *file, const cli_column_list *list)
{
    static const char *const heads[] = {"column", "iterations", "true relative residual", "time", "result", NULL};
    if (list == NULL || list->count < 2) { return; }
    cli_html_section(file, "Right-hand sides");
    fprintf(file, "<p>The rest of this page is about column %lld, the worst.</p>\n", (long long)list->worst + 1);
    cli_html_begin_table(file, "Each column of b, with one set-up", heads);
    for (int64_t j = 0; j < list->count; j++) {
        const cli_column_result *c = &list->column[j];
        char time[32], residual[CLI_REAL_TEXT];
        cli_html_begin_row(file, j == list->worst);
        cli_html_cell(file, heads[0], "%lld", (long long)j + 1);
        cli_html_cell(file, heads[1], "%lld", (long long)c->iterations);
        cli_html_cell(file, heads[2], "%s",
                      c->solved ? cli_real_text(c->relative_residual, 3, residual, sizeof residual) : "-");
        cli_html_cell(file, heads[3], "%s", cli_seconds_text(c->solve_seconds, time, sizeof time));
        cli_html_cell(file, heads[4], "%s",
                      !c->solved    ? "not solved: interrupted before"
                      : c->verified ? "verified"
                                    : tess_reason_text(c->reason));
        cli_html_end_row(file);
    }
    cli_html_end_table(file);
    cli_html_end_section(file);
}

/* ---- pictures ---- */

/* false: there is no memory. */
static bool write_convergence(FILE *file, const tess_solve_result *r)
{
    char text[CLI_REAL_TEXT];
    cli_history_chart *made = malloc(sizeof *made);
    if (made == NULL) { return false; }
    cli_html_section(file, "Convergence");
    cli_chart_history(r, made);
    if (made->series.count > 0) {
        cli_html_chart(file, &made->chart, "true residual, computed at the end");
    } else {
        fputs("<p>There is no history: nothing was iterated.</p>\n", file);
    }
    cli_html_begin_facts(file, "Residuals at the end, over the norm of b");
    cli_html_fact(file, "estimated by the solver", "%s",
                  cli_real_text(r->estimated_relative_residual, 6, text, sizeof text));
    cli_html_fact(file, "true", "%s", cli_real_text(r->relative_residual, 6, text, sizeof text));
    cli_html_fact(file, "bound on its rounding error", "%s",
                  cli_real_text(r->rhs_norm > 0.0 ? r->residual_bound / r->rhs_norm : 0.0, 1, text, sizeof text));
    cli_html_fact(file, "tolerance", "%.6e", r->rhs_norm > 0.0 ? r->tolerance / r->rhs_norm : r->tolerance);
    cli_html_end_facts(file);
    cli_html_end_section(file);
    free(made);
    return true;
}

static void write_map(FILE *file, const cli_solve_run *run)
{
    char legend[128], text[512];
    size_t count = 0;
    const tess_solve_result *r = run->result;
    const bool mixed = cli_takes_policy(r->storage.format);
    const tess_policy_options *policy = mixed ? &run->options->storage.policy : NULL;
    unsigned char *png = cli_plot_in_memory(run->matrix->a, policy, &count, legend, sizeof legend);
    cli_html_section(file, mixed ? "Precision map" : "Matrix");
    if (png != NULL && mixed) {
        snprintf(text, sizeof text,
                 "Where the matrix has which precision. A point has the colour of the highest one in it: "
                 "%s.",
                 legend);
        cli_html_png(file, png, count, text);
    } else if (png != NULL) {
        snprintf(text, sizeof text, "The nonzeros of the matrix. All are stored in %s.",
                 tess_precision_name(r->storage.precision));
        cli_html_png(file, png, count, text);
    }
    cli_html_begin_facts(file, "Nonzeros by precision, in the matrix of the iterations");
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        if (r->storage.nonzeros_per_precision[p] == 0) { continue; }
        cli_html_fact(file, tess_precision_name((tess_precision)p), "%lld",
                      (long long)r->storage.nonzeros_per_precision[p]);
    }
    cli_html_end_facts(file);
    cli_html_end_section(file);
    free(png);
}

/* ---- costs ---- */

static cli_html_part seconds_part(const char *name, double seconds)
{
    cli_html_part part = {.name = name, .value = seconds};
    cli_seconds_text(seconds, part.text, sizeof part.text);
    return part;
}

static cli_html_part bytes_part(const char *name, int64_t bytes)
{
    cli_html_part part = {.name = name, .value = (double)bytes};
    cli_bytes_text((double)bytes, part.text, sizeof part.text);
    return part;
}

static void write_costs(FILE *file, const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    const cli_html_part times[] = {
        seconds_part(run->matrix->from_file ? "read the matrix" : "generate the matrix", run->matrix->seconds),
        seconds_part("set-up", r->setup_seconds), seconds_part("solve", r->solve_seconds),
        seconds_part("write results", run->output_seconds)};
    const cli_html_part bytes[] = {bytes_part("matrix of the iterations", r->storage.matrix_bytes),
                                   bytes_part("the same as FP64 CSR", r->storage.fp64_csr_bytes),
                                   bytes_part("matrix, preconditioner, vectors", r->resident_bytes),
                                   bytes_part("most at any time", r->peak_device_bytes)};
    cli_html_section(file, "Time and memory");
    cli_html_bars(file, "Wall-clock time", times, 4);
    if (r->timed) {
        cli_html_part phases[TESS_PHASE_COUNT];
        int count = 0;
        for (int p = 0; p < TESS_PHASE_COUNT; p++) {
            if (r->phase_seconds[p] > 0.0) {
                phases[count++] = seconds_part(tess_phase_name((tess_phase)p), r->phase_seconds[p]);
            }
        }
        cli_html_bars(file, "Parts of the solve", phases, count);
    }
    if (!r->timed) { fputs("<p class=\"soft\">--timings adds the parts of the solve.</p>\n", file); }
    cli_html_bars(file, "Memory", bytes, 4);
    cli_html_end_section(file);
}

/* ---- method ---- */

static void write_method(FILE *file, const cli_solve_run *run)
{
    char text[CLI_PATH_LENGTH], levels[64], role[32];
    const tess_solve_result *r = run->result;
    const tess_solve_options *o = run->options;
    cli_html_section(file, "Method");
    cli_html_begin_facts(file, "What ran");
    cli_html_fact(file, "solver", "%s, engine %s, guard %s", tess_solver_kind_name(r->solver),
                  tess_engine_name(r->engine), tess_guard_name(o->guard));
    cli_html_fact(file, "preconditioner", "%s%s%s", cli_precond_text(&o->precond, text, sizeof text),
                  o->precond.role.given ? ", " : "",
                  o->precond.role.given ? cli_role_text(&o->precond.role, role, sizeof role) : "");
    cli_html_fact(file, "file", "%s", cli_shown(run->matrix->name));
    cli_html_fact(file, "matrix", "%s, %s", tess_format_name(r->storage.format),
                  cli_takes_policy(r->storage.format) ? cli_levels_text(&o->storage.policy, levels, sizeof levels)
                                                      : tess_precision_name(r->storage.precision));
    if (r->gmres.inner.given) {
        cli_html_fact(file, "cycles", "%s, basis %s, restart after %s",
                      cli_role_text(&r->gmres.inner, role, sizeof role), tess_precision_name(r->gmres.basis.storage),
                      tess_count(o->gmres.restart, "vector").text);
    }
    cli_html_fact(file, "right-hand side", "%s, norm %.6g", cli_shown(cli_vector_describe(run->rhs, text, sizeof text)),
                  r->rhs_norm);
    cli_html_fact(file, "start", "%s", run->initial_guess == NULL ? "x = 0" : run->initial_guess);
    cli_html_fact(file, "stop at", "||b - A x|| <= max(%g ||b||, %g), or %s", o->rtol, o->atol,
                  tess_count(o->max_iterations, "iteration").text);
    cli_html_fact(file, "end", "%s (%s, %d)", tess_reason_text(r->reason), tess_reason_name(r->reason), (int)r->reason);
    cli_html_end_facts(file);
    cli_html_end_section(file);
}

static void write_why(FILE *file, const cli_solve_run *run)
{
    const char *text = run->solver == NULL ? "" : tess_solver_why(run->solver);
    if (text[0] == '\0') { return; }
    cli_html_section(file, "Why this method");
    fputs("<p>The library looked at the matrix and tried:</p>\n<ol>\n", file);
    while (*text != '\0') {
        const int length = (int)strcspn(text, "\n");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", length, text);
        fputs("<li>", file);
        cli_write_escaped(file, line);
        fputs("</li>\n", file);
        text += length + (text[length] == '\n');
    }
    fputs("</ol>\n", file);
    cli_html_end_section(file);
}

static int write_page(FILE *file, const void *user)
{
    const solve_page *page = user;
    const cli_solve_run *run = page->run;
    const bool good = run->exit_code == CLI_CONVERGED;
    char title[CLI_PATH_LENGTH + 32];
    snprintf(title, sizeof title, "Solve of %s", cli_shown(cli_html_name(run->matrix->name)));
    cli_html_begin(file, title,
                   good                     ? "Converged and verified"
                   : run->result->converged ? "Not verified"
                                            : "Not converged",
                   good);
    write_summary(file, run);
    write_columns(file, run->columns);
    const bool drawn = write_convergence(file, run->result);
    write_map(file, run);
    write_costs(file, run);
    write_method(file, run);
    write_why(file, run);
    cli_html_environment(file, run->ctx);
    cli_html_section(file, "Repeat it");
    cli_html_command(file, page->command);
    cli_html_end_section(file);
    cli_html_end(file);
    return !drawn || ferror(file);
}

int cli_write_solve_html(const char *path, const cli_solve_run *run, const char *command)
{
    return cli_write_file(path, write_page, &(solve_page){.run = run, .command = command});
}
