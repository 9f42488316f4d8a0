/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --help and --usage of a command, printed from the same tables that argp parses. argp's own help breaks long entries
 * in awkward places and sorts options by name; here they stand in groups, in the order of need.
 *
 * An option's text (`doc`) may have several lines. Its {WORDS} stand for lists that the library knows, see
 * cli_fill_lists. The command's text is "what it does\vnotes", and a line of notes that begins with a space is printed
 * as it is.
 */
#include "help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    WIDEST = 100,
    NARROWEST = 64,
    TEXT_COLUMN = 29 /* where the text of an option begins */
};

static const char *const group_titles[] = {
    [TESS_SECTION_MAIN / 10] = "Main options:",
    [TESS_SECTION_STOPPING / 10] = "When to stop, at ||b - A x|| <= max(rtol ||b||, atol):",
    [TESS_SECTION_PRECISION / 10] = "Storage and precision of the matrix:",
    [TESS_SECTION_PRECOND / 10] = "Preconditioner:",
    [TESS_SECTION_METHOD / 10] = "Details of the method:",
    [TESS_SECTION_OUTPUT / 10] = "Output:",
    [TESS_SECTION_DEVICE / 10] = "Device:",
    [TESS_SECTION_PAPERS / 10] = "For studies of the papers (auto never chooses these):",
};

/* ---- width and lines ---- */

/* Columns to use: COLUMNS, else the terminal's, at most WIDEST; WIDEST without a terminal. */
static int find_width(FILE *stream)
{
    struct winsize size = {.ws_col = 0};
    const char *text = getenv("COLUMNS");
    long columns = text == NULL ? 0 : strtol(text, NULL, 10);
    if (columns <= 0 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0) { columns = size.ws_col; }
    if (columns <= 0 || columns > WIDEST) { return WIDEST; }
    return columns < NARROWEST ? NARROWEST : (int)columns;
}

/* Prints words up to the end of the line and moves on to the next line. The cursor stands at `column`; lines that are
   broken go on at `margin`. */
static const char *print_words(FILE *stream, const char *line, int column, int margin, int width)
{
    const char *end = line + strcspn(line, "\n");
    bool first = true;
    while (line < end) {
        line += strspn(line, " ");
        int length = (int)strcspn(line, " \n");
        if (length == 0) { break; }
        if (!first && column + 1 + length > width) {
            fprintf(stream, "\n%*s", margin, "");
            column = margin;
        } else if (!first) {
            fputc(' ', stream);
            column++;
        }
        fprintf(stream, "%.*s", length, line);
        column += length;
        line += length;
        first = false;
    }
    fputc('\n', stream);
    return *end == '\n' ? end + 1 : end;
}

static void print_paragraphs(FILE *stream, const char *text, int width)
{
    while (*text != '\0') {
        if (*text == ' ') {
            size_t length = strcspn(text, "\n");
            fprintf(stream, "%.*s\n", (int)length, text);
            text += length + (text[length] == '\n');
        } else {
            text = print_words(stream, text, 0, 0, width);
        }
    }
}

/* ---- options ---- */

const struct argp_option cli_help_option = {
    "help", '?', NULL, 0, "print this help; --usage lists the options alone, --version the version", 0};

const char *cli_group_title(int group)
{
    return group_titles[group / 10];
}

/* Keeps the list sorted by group; options of one group stay in the order of their tables. A name that is there already
   is a command's own text for an option of a child. */
static void insert_option(cli_option_list *list, const struct argp_option *option)
{
    int at = list->count;
    if (list->count == CLI_OPTION_LIMIT) { return; }
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->option[i]->name, option->name) == 0) { return; }
    }
    while (at > 0 && list->option[at - 1]->group > option->group) {
        list->option[at] = list->option[at - 1];
        at--;
    }
    list->option[at] = option;
    list->count++;
}

void cli_collect_options(const struct argp *argp, cli_option_list *list)
{
    for (const struct argp_option *o = argp->options; o != NULL && o->name != NULL; o++) {
        insert_option(list, o);
    }
    for (const struct argp_child *c = argp->children; c != NULL && c->argp != NULL; c++) {
        cli_collect_options(c->argp, list);
    }
}

static void print_option(FILE *stream, const struct argp_option *option, int width)
{
    char text[CLI_TEXT_LIMIT];
    int column = fprintf(stream, "  --%s%s%s", option->name, option->arg == NULL ? "" : " ",
                         option->arg == NULL ? "" : option->arg);
    if (column > TEXT_COLUMN - 2) {
        fputc('\n', stream);
        column = 0;
    }
    const char *line = cli_fill_lists(option->doc, text, sizeof text);
    do {
        fprintf(stream, "%*s", TEXT_COLUMN - column, "");
        line = print_words(stream, line, TEXT_COLUMN, TEXT_COLUMN + 2, width);
        column = 0;
    } while (*line != '\0');
}

static void print_usage_line(FILE *stream, const char *program, const struct argp *argp)
{
    const char *words = argp->args_doc;
    const char *lead = "Usage:";
    do {
        int length = (int)strcspn(words, "\n");
        fprintf(stream, "%s %s %.*s [OPTION...]\n", lead, program, length, words);
        words += length + (words[length] == '\n');
        lead = "      ";
    } while (*words != '\0');
}

void cli_print_help(FILE *stream, const char *program, const struct argp *argp)
{
    char doc[CLI_TEXT_LIMIT];
    cli_option_list list = {.count = 0};
    const int width = find_width(stream);
    int group = -1;
    snprintf(doc, sizeof doc, "%s", argp->doc);
    char *notes = strchr(doc, '\v');
    if (notes != NULL) { *notes++ = '\0'; }
    print_usage_line(stream, program, argp);
    print_paragraphs(stream, doc, width);
    cli_collect_options(argp, &list);
    for (int i = 0; i < list.count; i++) {
        if (list.option[i]->group / 10 != group) {
            group = list.option[i]->group / 10;
            fprintf(stream, "\n%s\n", cli_group_title(list.option[i]->group));
        }
        print_option(stream, list.option[i], width);
    }
    fputc('\n', stream);
    print_option(stream, &cli_help_option, width);
    if (notes != NULL) {
        fputc('\n', stream);
        print_paragraphs(stream, notes, width);
    }
}

void cli_print_usage(FILE *stream, const char *program, const struct argp *argp)
{
    char text[CLI_TEXT_LIMIT];
    size_t used = 0;
    cli_option_list list = {.count = 0};
    cli_collect_options(argp, &list);
    print_usage_line(stream, program, argp);
    for (int i = 0; i < list.count && used < sizeof text; i++) {
        const struct argp_option *o = list.option[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "[--%s%s%s] ", o->name, o->arg == NULL ? "" : "=",
                                 o->arg == NULL ? "" : o->arg);
    }
    fprintf(stream, "%*s", 4, "");
    print_words(stream, text, 4, 4, find_width(stream));
}
