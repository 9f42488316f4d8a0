/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as one page of HTML that needs nothing else: no network, no scripts. */
#ifndef TESS_CLI_HTML_H
#define TESS_CLI_HTML_H

#include "chart.h"

struct cli_solves;   /* compare.h */
struct cli_products; /* compare.h */

/* The page's frame. `verdict`: 1 good, 0 bad, -1 neither. */
void cli_html_begin(FILE *file, const char *title, const char *verdict_text, int verdict);
void cli_html_end(FILE *file);
/* The last part of a path: what a title says. */
const char *cli_html_name(const char *path);
void cli_html_section(FILE *file, const char *title);
void cli_html_end_section(FILE *file);

/* A table of two columns: names and values. */
void cli_html_begin_facts(FILE *file, const char *caption);
void cli_html_fact(FILE *file, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cli_html_end_facts(FILE *file);
/* A table whose rows become blocks on a narrow screen. `columns` ends with NULL. */
void cli_html_begin_table(FILE *file, const char *caption, const char *const *columns);
void cli_html_begin_row(FILE *file, bool marked);
void cli_html_cell(FILE *file, const char *column, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cli_html_end_row(FILE *file);
void cli_html_end_table(FILE *file);
/* Bars: `parts` with their shares of the largest. */
typedef struct cli_html_part {
    const char *name;
    double value;
    char text[48];
} cli_html_part;
void cli_html_bars(FILE *file, const char *caption, const cli_html_part *parts, int count);
void cli_html_chart(FILE *file, const cli_chart *chart, const char *mark_name);
/* A command to copy. */
void cli_html_command(FILE *file, const char *command);
/* Version, machine, date, environment. */
void cli_html_environment(FILE *file, const tess_context *ctx);
/* A picture within the page. */
void cli_html_png(FILE *file, const unsigned char *bytes, size_t count, const char *description);

/* ---- pages; return an exit code, message printed ---- */

int cli_write_solve_html(const char *path, const cli_solve_run *run, const char *command);
typedef struct cli_compare_page {
    const cli_matrix *matrix;
    const tess_context *ctx;
    const char *gpu, *command;
    const struct cli_solves *solves;     /* NULL: none */
    const struct cli_products *products; /* NULL: none */
} cli_compare_page;
int cli_write_compare_html(const char *path, const cli_compare_page *page);

/* plot.c: the picture of precisions as PNG in memory, with a transparent ground; NULL where there is nothing to draw.
   `legend` gets the colours with their precisions. The caller frees it. */
unsigned char *cli_plot_in_memory(const tess_matrix *a, const tess_policy_options *policy, size_t *count, char *legend,
                                  size_t size);

#endif
