/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as SVG. Colours are those of Okabe and Ito, which can be told apart with all common kinds of colour blindness;
   lines also differ in their dashes. */
#include "chart.h"

const char cli_chart_styles[] = "svg text{font:14px system-ui,sans-serif;fill:var(--ink,#33373d)}"
                                "svg .grid{stroke:var(--rule,#d9dce1);stroke-width:1}"
                                "svg .axis{stroke:var(--ink,#33373d);stroke-width:1}"
                                "svg .level{stroke:var(--ink,#33373d);stroke-width:1.5;stroke-dasharray:2 5}"
                                "svg polyline{fill:none;stroke-width:2.5;stroke-linejoin:round}"
                                "svg .s0{stroke:var(--s0,#0072b2)}"
                                "svg .s1{stroke:var(--s1,#d55e00);stroke-dasharray:9 4}"
                                "svg .s2{stroke:var(--s2,#009e73);stroke-dasharray:2 3}"
                                "svg .s3{stroke:var(--s3,#a8508a);stroke-dasharray:12 4 3 4}"
                                "svg .s4{stroke:var(--s4,#8a6d00);stroke-dasharray:5 5}"
                                "svg .s5{stroke:var(--s5,#4f7d95);stroke-dasharray:16 4}"
                                "svg .mark{fill:var(--s1,#d55e00);stroke:var(--page,#fff);stroke-width:1.5}";

void cli_write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': fputs("&amp;", file); break;
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '"': fputs("&quot;", file); break;
        default: fputc((unsigned char)*text < 0x20 ? ' ' : *text, file); break;
        }
    }
}

static void write_line(void *to, int style, const double *x, const double *y, int count)
{
    FILE *file = to;
    if (style >= 0) {
        fprintf(file, "<polyline class=\"s%d\" points=\"", style);
        for (int i = 0; i < count; i++) {
            fprintf(file, "%s%.1f,%.1f", i == 0 ? "" : " ", x[i], y[i]);
        }
        fputs("\"/>\n", file);
        return;
    }
    const char *name = style == CLI_STYLE_GRID ? "grid" : style == CLI_STYLE_AXIS ? "axis" : "level";
    fprintf(file, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", name, x[0], y[0],
            x[count - 1], y[count - 1]);
}

static void write_text(void *to, int anchor, double x, double y, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    FILE *file = to;
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchors[anchor]);
    cli_write_escaped(file, text);
    fputs("</text>\n", file);
}

static void write_mark(void *to, double x, double y)
{
    fprintf(to, "<path class=\"mark\" d=\"M%.1f %.1f l7 7 l-7 7 l-7 -7 z\"/>\n", x, y - 7);
}

void cli_write_svg(FILE *file, const cli_chart *chart, bool standalone)
{
    const cli_canvas canvas = {.to = file, .line = write_line, .text = write_text, .mark = write_mark};
    fprintf(file, "<svg%s viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
            standalone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", CLI_CHART_WIDTH, CLI_CHART_HEIGHT);
    cli_write_escaped(file, chart->title);
    fputs("</title>\n<desc>", file);
    cli_write_escaped(file, chart->description);
    fputs("</desc>\n", file);
    if (standalone) {
        fprintf(file,
                "<style>svg{background:var(--page,#fff)}%s@media(prefers-color-scheme:dark){svg{--page:#16181c;"
                "--ink:#d7dae0;--rule:#3a3f47;--s0:#56b4e9;--s1:#f0944d}}</style>\n",
                cli_chart_styles);
    }
    cli_draw_chart(chart, &canvas);
    fputs("</svg>\n", file);
}
