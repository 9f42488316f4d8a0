/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as PNG: lines by their distance from pixels, text in a font of 5 by 7 points. */
#include "chart.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Pixels of a unit, and of a point of the font. */
enum { ZOOM = 2, POINT = 2, GLYPH_COLUMNS = 5, GLYPH_ROWS = 7, CHANNELS = 3 };
enum { WIDTH = ZOOM * CLI_CHART_WIDTH, HEIGHT = ZOOM * CLI_CHART_HEIGHT };

/* Columns from left to right; the lowest bit is the top row. */
static const struct {
    char character;
    unsigned char column[GLYPH_COLUMNS];
} font[] = {{'0', {0x3e, 0x51, 0x49, 0x45, 0x3e}}, {'1', {0x00, 0x42, 0x7f, 0x40, 0x00}},
            {'2', {0x42, 0x61, 0x51, 0x49, 0x46}}, {'3', {0x21, 0x41, 0x45, 0x4b, 0x31}},
            {'4', {0x18, 0x14, 0x12, 0x7f, 0x10}}, {'5', {0x27, 0x45, 0x45, 0x45, 0x39}},
            {'6', {0x3c, 0x4a, 0x49, 0x49, 0x30}}, {'7', {0x01, 0x71, 0x09, 0x05, 0x03}},
            {'8', {0x36, 0x49, 0x49, 0x49, 0x36}}, {'9', {0x06, 0x49, 0x49, 0x29, 0x1e}},
            {'-', {0x08, 0x08, 0x08, 0x08, 0x08}}, {'a', {0x20, 0x54, 0x54, 0x54, 0x78}},
            {'c', {0x38, 0x44, 0x44, 0x44, 0x20}}, {'d', {0x38, 0x44, 0x44, 0x48, 0x7f}},
            {'e', {0x38, 0x54, 0x54, 0x54, 0x18}}, {'i', {0x00, 0x44, 0x7d, 0x40, 0x00}},
            {'l', {0x00, 0x41, 0x7f, 0x40, 0x00}}, {'n', {0x7c, 0x08, 0x04, 0x04, 0x78}},
            {'o', {0x38, 0x44, 0x44, 0x44, 0x38}}, {'r', {0x7c, 0x08, 0x04, 0x04, 0x08}},
            {'s', {0x48, 0x54, 0x54, 0x54, 0x20}}, {'t', {0x04, 0x3f, 0x44, 0x40, 0x20}},
            {'u', {0x3c, 0x40, 0x40, 0x20, 0x7c}}, {'v', {0x1c, 0x20, 0x40, 0x20, 0x1c}}};

typedef struct colour {
    png_byte part[CHANNELS];
} colour;

static colour colour_of(int style)
{
    static const colour series[CLI_CHART_STYLES] = {{{0x00, 0x72, 0xb2}}, {{0xd5, 0x5e, 0x00}}, {{0x00, 0x9e, 0x73}},
                                                    {{0xa8, 0x50, 0x8a}}, {{0x8a, 0x6d, 0x00}}, {{0x4f, 0x7d, 0x95}}};
    if (style >= 0) { return series[style]; }
    if (style == CLI_STYLE_MARK) { return series[1]; }
    return style == CLI_STYLE_GRID ? (colour){{0xd9, 0xdc, 0xe1}} : (colour){{0x33, 0x37, 0x3d}};
}

/* Mixes the colour into a pixel, `share` of it. */
static void tint(png_bytep pixels, int x, int y, colour c, double share)
{
    if (x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT || share <= 0.0) { return; }
    png_bytep p = pixels + CHANNELS * ((size_t)y * WIDTH + (size_t)x);
    for (int i = 0; i < CHANNELS; i++) {
        p[i] = (png_byte)lround((double)p[i] * (1.0 - share) + (double)c.part[i] * share);
    }
}

static double distance_to(double px, double py, double x0, double y0, double x1, double y1)
{
    const double dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
    const double t = square > 0.0 ? fmin(1.0, fmax(0.0, ((px - x0) * dx + (py - y0) * dy) / square)) : 0.0;
    return hypot(px - x0 - t * dx, py - y0 - t * dy);
}

/* A pixel is covered as far as the line's edge reaches into it. */
static void draw_segment(png_bytep pixels, colour c, double half, const double x[2], const double y[2])
{
    const int left = (int)floor(fmin(x[0], x[1]) - half), right = (int)ceil(fmax(x[0], x[1]) + half);
    const int top = (int)floor(fmin(y[0], y[1]) - half), bottom = (int)ceil(fmax(y[0], y[1]) + half);
    for (int j = top; j <= bottom; j++) {
        for (int i = left; i <= right; i++) {
            const double away = distance_to(i + 0.5, j + 0.5, x[0], y[0], x[1], y[1]);
            tint(pixels, i, j, c, fmin(1.0, half + 0.5 - away));
        }
    }
}

static void draw_line(void *to, int style, const double *x, const double *y, int count)
{
    const double half = style >= 0 ? 2.5 : 0.75;
    const int dashes = style == CLI_STYLE_LEVEL ? 80 : 1;
    for (int i = 0; i + 1 < count; i++) {
        for (int d = 0; d < dashes; d += 2) { /* every second piece */
            const double from = (double)d / dashes, until = (double)(d + 1) / dashes;
            const double ends_x[] = {ZOOM * (x[i] + from * (x[i + 1] - x[i])),
                                     ZOOM * (x[i] + until * (x[i + 1] - x[i]))};
            const double ends_y[] = {ZOOM * (y[i] + from * (y[i + 1] - y[i])),
                                     ZOOM * (y[i] + until * (y[i + 1] - y[i]))};
            draw_segment(to, colour_of(style), half, ends_x, ends_y);
        }
    }
}

static void draw_glyph(png_bytep pixels, char character, int x, int y)
{
    for (size_t g = 0; g < sizeof font / sizeof font[0]; g++) {
        for (int i = 0; font[g].character == character && i < GLYPH_COLUMNS * GLYPH_ROWS * POINT * POINT; i++) {
            const int column = i / (GLYPH_ROWS * POINT * POINT), row = i / (POINT * POINT) % GLYPH_ROWS;
            const int across = x + POINT * column + i % POINT, down = y + POINT * row + i / POINT % POINT;
            if ((font[g].column[column] >> row & 1) != 0) {
                tint(pixels, across, down, colour_of(CLI_STYLE_AXIS), 1.0);
            }
        }
    }
}

/* `y` is the base line. */
static void draw_text(void *to, int anchor, double x, double y, const char *text)
{
    const int step = (GLYPH_COLUMNS + 1) * POINT, length = (int)strlen(text) * step;
    int at = (int)lround(ZOOM * x) - (anchor == CLI_ANCHOR_LEFT     ? 0
                                      : anchor == CLI_ANCHOR_MIDDLE ? length / 2
                                                                    : length);
    for (; *text != '\0'; text++, at += step) {
        draw_glyph(to, *text, at, (int)lround(ZOOM * y) - GLYPH_ROWS * POINT);
    }
}

static void draw_mark(void *to, double x, double y)
{
    const int half = 7 * ZOOM, cx = (int)lround(ZOOM * x), cy = (int)lround(ZOOM * y);
    for (int j = -half; j <= half; j++) {
        for (int i = -half; i <= half; i++) {
            if (abs(i) + abs(j) <= half) { tint(to, cx + i, cy + j, colour_of(CLI_STYLE_MARK), 1.0); }
        }
    }
}

int cli_write_chart_png(FILE *file, const cli_chart *chart)
{
    png_bytep pixels = malloc((size_t)WIDTH * HEIGHT * CHANNELS);
    if (pixels == NULL) { return 1; }
    memset(pixels, 0xff, (size_t)WIDTH * HEIGHT * CHANNELS);
    cli_draw_chart(chart, &(cli_canvas){.to = pixels, .line = draw_line, .text = draw_text, .mark = draw_mark});
    png_image image = {.version = PNG_IMAGE_VERSION, .width = WIDTH, .height = HEIGHT, .format = PNG_FORMAT_RGB};
    const int written = png_image_write_to_stdio(&image, file, 0, pixels, 0, NULL);
    free(pixels);
    return written == 0;
}
