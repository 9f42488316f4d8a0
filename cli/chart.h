/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of convergence: residuals on a logarithmic scale over iterations, as SVG or PNG. */
#ifndef TESS_CLI_CHART_H
#define TESS_CLI_CHART_H

#include "cli.h"

/* In units of the picture. */
enum { CLI_CHART_WIDTH = 560, CLI_CHART_HEIGHT = 340, CLI_CHART_STYLES = 6 };

typedef struct cli_series {
    const char *name;
    const double *x, *y; /* y above 0; others are left out */
    int count;
} cli_series;

typedef struct cli_chart {
    const char *title, *description; /* for those who cannot see it */
    const char *x_label, *y_label;
    const cli_series *series;
    int count;    /* of series; each has a style of its own, up to CLI_CHART_STYLES */
    double level; /* a dashed line, and its name; NaN: none */
    const char *level_name;
    double mark_x, mark_y; /* a diamond; NaN: none */
} cli_chart;

/* What is drawn, by one of the two writers below. Styles: a series, or one of these. */
enum { CLI_STYLE_GRID = -1, CLI_STYLE_AXIS = -2, CLI_STYLE_LEVEL = -3, CLI_STYLE_MARK = -4 };
enum { CLI_ANCHOR_LEFT, CLI_ANCHOR_MIDDLE, CLI_ANCHOR_RIGHT };
typedef struct cli_canvas {
    void *to;
    void (*line)(void *to, int style, const double *x, const double *y, int count);
    void (*text)(void *to, int anchor, double x, double y, const char *text);
    void (*mark)(void *to, double x, double y);
} cli_canvas;
void cli_draw_chart(const cli_chart *chart, const cli_canvas *canvas);

/* An svg element. `standalone`: with its own styles, as a file; else those of the page. */
void cli_write_svg(FILE *file, const cli_chart *chart, bool standalone);
/* The styles of lines, which a page needs once. */
extern const char cli_chart_styles[];
/* Text with &, <, > and quotes replaced. */
void cli_write_escaped(FILE *file, const char *text);
/* Returns nonzero after a failure. */
int cli_write_chart_png(FILE *file, const cli_chart *chart);

/* The history of a solve as a chart, at most `CLI_CHART_POINTS` points. */
enum { CLI_CHART_POINTS = 1000 };
typedef struct cli_history_chart {
    double x[CLI_CHART_POINTS], y[CLI_CHART_POINTS];
    cli_series series;
    cli_chart chart;
    char description[256];
} cli_history_chart;
void cli_chart_history(const tess_solve_result *result, cli_history_chart *out);

#endif
