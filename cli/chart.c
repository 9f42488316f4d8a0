/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a chart: axes, ticks, lines. */
#include "chart.h"

#include <math.h>
#include <string.h>

/* The plot's place in the picture. */
enum { LEFT = 62, RIGHT = 14, TOP = 32, BOTTOM = 46, MOST_TICKS = 7, POINTS_AT_ONCE = 256 };

typedef struct frame {
    double x_max, y_low, y_high; /* y: decimal logarithms */
} frame;

static double place_x(const frame *f, double x)
{
    return LEFT + (CLI_CHART_WIDTH - LEFT - RIGHT) * x / f->x_max;
}

static double place_y(const frame *f, double y)
{
    const double part = (log10(y) - f->y_low) / (f->y_high - f->y_low);
    return CLI_CHART_HEIGHT - BOTTOM - (CLI_CHART_HEIGHT - TOP - BOTTOM) * part;
}

static bool is_drawable(double y)
{
    return y > 0.0 && isfinite(y);
}

static void include(frame *f, double x, double y)
{
    if (!is_drawable(y)) { return; }
    f->x_max = fmax(f->x_max, x);
    f->y_low = fmin(f->y_low, log10(y));
    f->y_high = fmax(f->y_high, log10(y));
}

static frame find_frame(const cli_chart *c)
{
    frame f = {.x_max = 1.0, .y_low = INFINITY, .y_high = -INFINITY};
    for (int s = 0; s < c->count; s++) {
        for (int i = 0; i < c->series[s].count; i++) {
            include(&f, c->series[s].x[i], c->series[s].y[i]);
        }
    }
    include(&f, 0.0, c->level);
    if (isfinite(c->mark_x)) { include(&f, c->mark_x, c->mark_y); }
    if (!(f.y_low <= f.y_high)) { f.y_low = f.y_high = 0.0; }
    f.y_low = floor(f.y_low - 0.1);
    f.y_high = ceil(f.y_high + 0.1);
    return f;
}

/* 1, 2 or 5 times a power of ten. */
static double step_for(double extent)
{
    const double raw = extent / MOST_TICKS, power = pow(10.0, floor(log10(raw)));
    const double part = raw / power;
    return power * (part <= 1.0 ? 1.0 : part <= 2.0 ? 2.0 : part <= 5.0 ? 5.0 : 10.0);
}

static void draw_line(const cli_canvas *canvas, int style, double x0, double y0, double x1, double y1)
{
    const double x[] = {x0, x1}, y[] = {y0, y1};
    canvas->line(canvas->to, style, x, y, 2);
}

static void draw_axes(const cli_chart *c, const frame *f, const cli_canvas *canvas)
{
    const double bottom = CLI_CHART_HEIGHT - BOTTOM, right = CLI_CHART_WIDTH - RIGHT;
    const double decades = fmax(1.0, ceil((f->y_high - f->y_low) / MOST_TICKS)), step = fmax(1.0, step_for(f->x_max));
    char text[32];
    for (int i = 0; f->y_low + i * decades <= f->y_high + 0.5; i++) {
        const double y = f->y_low + i * decades;
        const double at = place_y(f, pow(10.0, y));
        draw_line(canvas, CLI_STYLE_GRID, LEFT, at, right, at);
        snprintf(text, sizeof text, "1e%.0f", y);
        canvas->text(canvas->to, CLI_ANCHOR_RIGHT, LEFT - 8, at + 4, text);
    }
    for (int i = 0; i * step <= f->x_max * 1.0001; i++) {
        const double x = i * step;
        const double at = place_x(f, x);
        draw_line(canvas, CLI_STYLE_AXIS, at, bottom, at, bottom + 5);
        snprintf(text, sizeof text, "%.0f", x);
        canvas->text(canvas->to, x > 0.97 * f->x_max ? CLI_ANCHOR_RIGHT : CLI_ANCHOR_MIDDLE,
                     x > 0.97 * f->x_max ? fmin(at + 6, CLI_CHART_WIDTH - 2) : at, bottom + 19, text);
    }
    draw_line(canvas, CLI_STYLE_AXIS, LEFT, bottom, right, bottom);
    canvas->text(canvas->to, CLI_ANCHOR_MIDDLE, (LEFT + right) / 2, CLI_CHART_HEIGHT - 8, c->x_label);
    canvas->text(canvas->to, CLI_ANCHOR_LEFT, 2, 14, c->y_label);
}

static void draw_series(const cli_series *s, int style, const frame *f, const cli_canvas *canvas)
{
    double x[POINTS_AT_ONCE], y[POINTS_AT_ONCE];
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        if (is_drawable(s->y[i])) {
            x[count] = place_x(f, s->x[i]);
            y[count++] = place_y(f, s->y[i]);
        }
        if (count == POINTS_AT_ONCE) { /* the next piece begins where this one ends */
            canvas->line(canvas->to, style, x, y, count);
            x[0] = x[count - 1];
            y[0] = y[count - 1];
            count = 1;
        }
    }
    if (count > 1) { canvas->line(canvas->to, style, x, y, count); }
    if (count == 1) {
        const double ends_x[] = {x[0] - 2, x[0] + 2}, ends_y[] = {y[0], y[0]};
        canvas->line(canvas->to, style, ends_x, ends_y, 2);
    }
}

void cli_draw_chart(const cli_chart *c, const cli_canvas *canvas)
{
    const frame f = find_frame(c);
    draw_axes(c, &f, canvas);
    if (is_drawable(c->level)) {
        const double at = place_y(&f, c->level);
        draw_line(canvas, CLI_STYLE_LEVEL, LEFT, at, CLI_CHART_WIDTH - RIGHT, at);
        canvas->text(canvas->to, CLI_ANCHOR_LEFT, LEFT + 6, at - 5, c->level_name);
    }
    for (int s = c->count - 1; s >= 0; s--) { /* the first on top */
        draw_series(&c->series[s], s % CLI_CHART_STYLES, &f, canvas);
    }
    if (isfinite(c->mark_x) && is_drawable(c->mark_y)) {
        canvas->mark(canvas->to, place_x(&f, c->mark_x), place_y(&f, c->mark_y));
    }
}

/* ---- the history of a solve ---- */

void cli_chart_history(const tess_solve_result *r, cli_history_chart *out)
{
    char text[2][CLI_REAL_TEXT];
    const double scale = r->rhs_norm > 0.0 ? r->rhs_norm : 1.0;
    const int64_t step = r->history_length / (CLI_CHART_POINTS - 1) + 1;
    int count = 0;
    for (int64_t i = 0; i < r->history_length && count < CLI_CHART_POINTS; i++) {
        if (i % step != 0 && i != r->history_length - 1) { continue; }
        out->x[count] = (double)i;
        out->y[count++] = r->history[i] / scale;
    }
    out->series = (cli_series){.name = "estimated by the solver", .x = out->x, .y = out->y, .count = count};
    snprintf(out->description, sizeof out->description,
             "The relative residual as the solver estimates it, over %s, on a logarithmic scale. It ends at %s; the "
             "true residual is %s.",
             tess_count(r->iterations, "iteration").text,
             cli_real_text(r->estimated_relative_residual, 2, text[0], sizeof text[0]),
             cli_real_text(r->relative_residual, 2, text[1], sizeof text[1]));
    out->chart = (cli_chart){.title = "Convergence",
                             .description = out->description,
                             .x_label = "iteration",
                             .y_label = "relative residual",
                             .series = &out->series,
                             .count = 1,
                             .level = r->tolerance / scale,
                             .level_name = "tolerance",
                             .mark_x = (double)r->iterations,
                             .mark_y = r->relative_residual};
}
