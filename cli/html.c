/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of pages; see html.h. */
#include "html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* Nothing may be fetched: the page says so to the browser as well. */
static const char head[] = "<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src "
                           "'unsafe-inline';img-src data:\">\n"
                           "<meta name=\"color-scheme\" content=\"light dark\">\n";

static const char styles[] =
    ":root{--page:#fff;--card:#f5f6f8;--ink:#22262b;--soft:#5a616b;--rule:#d9dce1;--good:#00694c;--bad:#b03a00;"
    "--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#a8508a;--s4:#8a6d00;--s5:#4f7d95}"
    "@media(prefers-color-scheme:dark){:root{--page:#16181c;--card:#202329;--ink:#e3e6ea;--soft:#a6adb8;--rule:#3a3f47;"
    "--good:#4fd1a5;--bad:#ff9d66;--s0:#56b4e9;--s1:#f0944d;--s2:#3ac79b;--s3:#d78fc0;--s4:#e0c04f;--s5:#93bdd3}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    "main{max-width:72rem;margin:0 auto;padding:1.25rem 1rem 3rem}"
    "h1{font-size:1.5rem;line-height:1.25;margin:.4rem 0}h2{font-size:1.15rem;margin:2rem 0 .6rem}"
    "p{margin:.5rem 0;max-width:46rem}.soft,figcaption,caption{color:var(--soft)}"
    ".verdict{display:inline-block;font-weight:600;border:2px solid;border-radius:.4rem;padding:.1rem .6rem}"
    ".good{color:var(--good)}.bad{color:var(--bad)}"
    "table{border-collapse:collapse;width:100%;margin:.8rem 0;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding-bottom:.4rem}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--rule)}"
    "th{font-weight:600}.facts th{width:14rem;color:var(--soft);font-weight:400}"
    "tr.marked td:first-child,tr.marked th:first-child{box-shadow:inset 4px 0 0 var(--good);padding-left:.7rem}"
    "figure{margin:0}figure svg,figure img{display:block;width:100%;max-width:44rem;height:auto}"
    "figure img{image-rendering:pixelated;border:1px solid var(--rule);max-width:28rem}"
    "pre{background:var(--card);border-radius:.4rem;padding:.8rem;white-space:pre-wrap;font:.9rem/1.45 ui-monospace,"
    "monospace;margin:.5rem 0}"
    ".bar{display:block;height:.7rem;margin-top:.4rem;background:var(--s0);border-radius:.15rem}.bars "
    "td:last-child{width:45%}"
    ".key{display:inline-block;width:1.8rem;height:0;border-top:3px solid;vertical-align:middle;margin-right:.4rem}"
    ".key.mark{width:.7rem;height:.7rem;border:0;background:var(--s1);transform:rotate(45deg);margin:0 .6rem 0 .5rem}"
    "ul.keys{list-style:none;margin:.4rem 0;padding:0}"
    ".wide th,.wide td:not(:last-child),.bars td{white-space:nowrap}"
    "@media(max-width:42rem){.facts th{width:38%}.wide thead{position:absolute;left:-999px;width:1px;height:1px;"
    "overflow:hidden}.wide,.wide caption,.wide tbody,.wide tr{display:block}.wide "
    "td{display:grid;grid-template-columns:9rem 1fr;"
    "gap:.6rem;padding:.15rem 0;border:0}.wide td::before{content:attr(data-label);color:var(--soft)}"
    ".wide tr{border:1px solid var(--rule);border-radius:.4rem;padding:.5rem .7rem;margin:.6rem 0}"
    ".wide tr.marked{border-color:var(--good)}.wide tr.marked td:first-child{box-shadow:none;padding-left:0}}";

/* ---- frame ---- */

void cli_html_begin(FILE *file, const char *title, const char *verdict_text, int verdict)
{
    fprintf(file, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n%s<title>", head);
    cli_write_escaped(file, title);
    fprintf(file, "</title>\n<style>%s%s</style>\n</head>\n<body>\n<main>\n<h1>", styles, cli_chart_styles);
    cli_write_escaped(file, title);
    fprintf(file, "</h1>\n<p><span class=\"verdict %s\">", verdict > 0 ? "good" : verdict == 0 ? "bad" : "");
    cli_write_escaped(file, verdict_text);
    fputs("</span></p>\n", file);
}

void cli_html_end(FILE *file)
{
    fputs("</main>\n</body>\n</html>\n", file);
}

void cli_html_section(FILE *file, const char *title)
{
    fputs("<section>\n<h2>", file);
    cli_write_escaped(file, title);
    fputs("</h2>\n", file);
}

void cli_html_end_section(FILE *file)
{
    fputs("</section>\n", file);
}

/* ---- tables ---- */

const char *cli_html_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

/* Formats into HTML text. */
static void write_formatted(FILE *file, const char *format, va_list list)
{
    char text[2 * CLI_PATH_LENGTH];
    vsnprintf(text, sizeof text, format, list);
    cli_write_escaped(file, text);
}

void cli_html_begin_facts(FILE *file, const char *caption)
{
    fputs("<table class=\"facts\">\n<caption>", file);
    cli_write_escaped(file, caption);
    fputs("</caption>\n<tbody>\n", file);
}

void cli_html_fact(FILE *file, const char *name, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("<tr><th scope=\"row\">", file);
    cli_write_escaped(file, name);
    fputs("</th><td>", file);
    write_formatted(file, format, list);
    fputs("</td></tr>\n", file);
    va_end(list);
}

void cli_html_end_facts(FILE *file)
{
    fputs("</tbody>\n</table>\n", file);
}

void cli_html_begin_table(FILE *file, const char *caption, const char *const *columns)
{
    fputs("<table class=\"wide\" role=\"table\">\n<caption>", file);
    cli_write_escaped(file, caption);
    fputs("</caption>\n<thead role=\"rowgroup\"><tr role=\"row\">", file);
    for (; *columns != NULL; columns++) {
        fputs("<th scope=\"col\" role=\"columnheader\">", file);
        cli_write_escaped(file, *columns);
        fputs("</th>", file);
    }
    fputs("</tr></thead>\n<tbody role=\"rowgroup\">\n", file);
}

void cli_html_begin_row(FILE *file, bool marked)
{
    fprintf(file, "<tr role=\"row\"%s>", marked ? " class=\"marked\"" : "");
}

void cli_html_cell(FILE *file, const char *column, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("<td role=\"cell\" data-label=\"", file);
    cli_write_escaped(file, column);
    fputs("\"><span>", file);
    write_formatted(file, format, list);
    fputs("</span></td>", file);
    va_end(list);
}

void cli_html_end_row(FILE *file)
{
    fputs("</tr>\n", file);
}

void cli_html_end_table(FILE *file)
{
    fputs("</tbody>\n</table>\n", file);
}

void cli_html_bars(FILE *file, const char *caption, const cli_html_part *parts, int count)
{
    double largest = 0.0;
    for (int i = 0; i < count; i++) {
        largest = parts[i].value > largest ? parts[i].value : largest;
    }
    fputs("<table class=\"facts bars\">\n<caption>", file);
    cli_write_escaped(file, caption);
    fputs("</caption>\n<tbody>\n", file);
    for (int i = 0; i < count; i++) {
        fputs("<tr><th scope=\"row\">", file);
        cli_write_escaped(file, parts[i].name);
        fputs("</th><td>", file);
        cli_write_escaped(file, parts[i].text);
        fprintf(file, "</td><td aria-hidden=\"true\"><span class=\"bar\" style=\"width:%.1f%%\"></span></td></tr>\n",
                largest > 0.0 ? 100.0 * parts[i].value / largest : 0.0);
    }
    fputs("</tbody>\n</table>\n", file);
}

/* ---- figures ---- */

void cli_html_chart(FILE *file, const cli_chart *chart, const char *mark_name)
{
    fputs("<figure>\n", file);
    cli_write_svg(file, chart, false);
    fputs("<figcaption><ul class=\"keys\">\n", file);
    for (int s = 0; s < chart->count; s++) {
        static const char *const dashes[] = {"solid", "dashed", "dotted", "dashed", "dashed", "dashed"};
        fprintf(file, "<li><span class=\"key\" style=\"color:var(--s%d);border-top-style:%s\"></span>",
                s % CLI_CHART_STYLES, dashes[s % CLI_CHART_STYLES]);
        cli_write_escaped(file, chart->series[s].name);
        fputs("</li>\n", file);
    }
    if (mark_name != NULL) {
        fputs("<li><span class=\"key mark\"></span>", file);
        cli_write_escaped(file, mark_name);
        fputs("</li>\n", file);
    }
    fputs("</ul></figcaption>\n</figure>\n", file);
}

void cli_html_png(FILE *file, const unsigned char *bytes, size_t count, const char *description)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputs("<figure><img alt=\"", file);
    cli_write_escaped(file, description);
    fputs("\" src=\"data:image/png;base64,", file);
    for (size_t i = 0; i < count; i += 3) {
        const unsigned long bits = (unsigned long)bytes[i] << 16 |
                                   (i + 1 < count ? (unsigned long)bytes[i + 1] << 8 : 0UL) |
                                   (i + 2 < count ? (unsigned long)bytes[i + 2] : 0UL);
        fputc(digits[bits >> 18 & 63], file);
        fputc(digits[bits >> 12 & 63], file);
        fputc(i + 1 < count ? digits[bits >> 6 & 63] : '=', file);
        fputc(i + 2 < count ? digits[bits & 63] : '=', file);
    }
    fputs("\"><figcaption>", file);
    cli_write_escaped(file, description);
    fputs("</figcaption></figure>\n", file);
}

void cli_html_command(FILE *file, const char *command)
{
    fputs("<pre><code>", file);
    cli_write_escaped(file, command);
    fputs("</code></pre>\n", file);
}

/* ---- environment ---- */

/* The value of "model name" of the first processor; empty where the system does not say. */
static void find_processor(char *text, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    text[0] = '\0';
    while (file != NULL && text[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            snprintf(text, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        }
    }
    if (file != NULL) { fclose(file); }
}

void cli_html_environment(FILE *file, const tess_context *ctx)
{
    static const char *const variables[] = {"OMP_NUM_THREADS", "OMP_PROC_BIND", "CUDA_VISIBLE_DEVICES"};
    char processor[256], date[64] = "";
    struct utsname system;
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL) { strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts); }
    find_processor(processor, sizeof processor);
    cli_html_section(file, "Environment");
    cli_html_begin_facts(file, "Where this ran");
    cli_html_fact(file, "Tessera", "%s, GPU backend %s", tess_version(), tess_gpu_backend());
    cli_html_fact(file, "device", "%s: %s", cli_device_name(ctx), tess_context_device_name(ctx));
    cli_html_fact(file, "host threads", "%d", tess_context_threads(ctx));
    if (processor[0] != '\0') { cli_html_fact(file, "processor", "%s", processor); }
    if (uname(&system) == 0) {
        cli_html_fact(file, "system", "%s %s, %s", system.sysname, system.release, system.machine);
    }
    cli_html_fact(file, "date", "%s", date);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL) { cli_html_fact(file, variables[i], "%s", value); }
    }
    cli_html_end_facts(file);
    cli_html_end_section(file);
}
