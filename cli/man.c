/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages in man(7), from the same tables and texts as --help. */
#include "help.h"

#include <ctype.h>
#include <string.h>

/* What troff would read as its own: backslashes, a dot or an apostrophe that begins a line, and hyphens, which it would
   make typographic so that an option could not be copied. */
static void print_escaped(FILE *stream, const char *text, size_t length, bool begins_line)
{
    if (begins_line && length > 0 && (text[0] == '.' || text[0] == '\'')) { fputs("\\&", stream); }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') {
            fputs("\\e", stream);
        } else if (text[i] == '-') {
            fputs("\\-", stream);
        } else {
            fputc(text[i], stream);
        }
    }
}

/* A line of its own; returns the text behind it. */
static const char *print_line(FILE *stream, const char *text)
{
    const size_t length = strcspn(text, "\n");
    print_escaped(stream, text, length, true);
    fputc('\n', stream);
    return text + length + (text[length] == '\n');
}

static void print_name(FILE *stream, const char *command)
{
    fputs("tessera", stream);
    if (command != NULL) { fprintf(stream, "\\-%s", command); }
}

static void print_title(FILE *stream, const char *command, const char *summary)
{
    char version[64];
    snprintf(version, sizeof version, "tessera %s", tess_version());
    fputs(".TH TESSERA", stream);
    if (command != NULL) { fputs("\\-", stream); }
    for (const char *c = command == NULL ? "" : command; *c != '\0'; c++) {
        fputc(toupper((unsigned char)*c), stream);
    }
    fprintf(stream, " 1 \"\" \"%s\" \"Tessera manual\"\n.SH NAME\n", version);
    print_name(stream, command);
    fputs(" \\- ", stream);
    print_line(stream, summary);
}

/* Paragraphs of help. A line that begins with a blank is printed as it is, and one of those titles opens a section. */
static void print_paragraphs(FILE *stream, const char *text, const char *section)
{
    static const struct {
        const char *begins, *section;
    } sections[] = {{"Exit status:", "EXIT STATUS"}, {"Example:", "EXAMPLES"}};
    bool fresh = false; /* a heading or a blank line has just been printed */
    while (*text != '\0') {
        for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
            if (strncmp(text, sections[i].begins, strlen(sections[i].begins)) != 0) { continue; }
            fprintf(stream, ".SH %s\n", sections[i].section);
            text += strlen(sections[i].begins);
            text += strspn(text, " ");
            fresh = true;
            section = NULL;
        }
        if (section != NULL) {
            fprintf(stream, ".SH %s\n", section);
            section = NULL;
            fresh = true;
        }
        if (*text == '\n') {
            const bool opens = strncmp(text + 1, "Exit", 4) == 0 || strncmp(text + 1, "Example", 7) == 0;
            if (!fresh && !opens && text[1] != '\0') { fputs(".PP\n", stream); }
            text++;
            fresh = true;
        } else if (*text == ' ') {
            fputs(".PP\n.nf\n.RS\n", stream);
            text = print_line(stream, text + strspn(text, " "));
            fputs(".RE\n.fi\n", stream);
        } else {
            text = print_line(stream, text);
            if (*text != '\0' && *text != '\n' && *text != ' ') { fputs(".br\n", stream); }
            fresh = false;
        }
    }
}

static void print_option(FILE *stream, const struct argp_option *option)
{
    char text[CLI_TEXT_LIMIT];
    fputs(".TP\n\\fB\\-\\-", stream);
    print_escaped(stream, option->name, strlen(option->name), false);
    fputs("\\fR", stream);
    if (option->arg != NULL) {
        fputs(" \\fI", stream);
        print_escaped(stream, option->arg, strlen(option->arg), false);
        fputs("\\fR", stream);
    }
    fputc('\n', stream);
    const char *line = cli_fill_lists(option->doc, text, sizeof text);
    while (*line != '\0') {
        line = print_line(stream, line);
        if (*line != '\0') { fputs(".br\n", stream); }
    }
}

static void print_options(FILE *stream, const struct argp *argp)
{
    cli_option_list list = {.count = 0};
    int group = -1;
    cli_collect_options(argp, &list);
    fputs(".SH OPTIONS\n", stream);
    for (int i = 0; i < list.count; i++) {
        if (list.option[i]->group / 10 != group) {
            const char *title = cli_group_title(list.option[i]->group);
            group = list.option[i]->group / 10;
            fputs(".SS ", stream);
            print_escaped(stream, title, strcspn(title, ":"), false);
            fputc('\n', stream);
        }
        print_option(stream, list.option[i]);
    }
    fputs(".SS Help\n", stream);
    print_option(stream, &cli_help_option);
}

static void print_command_page(FILE *stream, const cli_command_entry *entry)
{
    char doc[CLI_TEXT_LIMIT];
    const struct argp *argp = entry->command->argp;
    snprintf(doc, sizeof doc, "%s", argp->doc);
    char *notes = strchr(doc, '\v');
    if (notes != NULL) { *notes++ = '\0'; }
    print_title(stream, entry->command->name, entry->summary);
    fputs(".SH SYNOPSIS\n", stream);
    for (const char *words = argp->args_doc; *words != '\0';) {
        const size_t length = strcspn(words, "\n");
        fprintf(stream, ".B tessera %s\n", entry->command->name);
        print_escaped(stream, words, length, true);
        words += length + (words[length] == '\n');
        fprintf(stream, " [OPTION...]\n%s", *words == '\0' ? "" : ".br\n");
    }
    print_paragraphs(stream, doc, "DESCRIPTION");
    print_options(stream, argp);
    if (notes != NULL) { print_paragraphs(stream, notes, "NOTES"); }
}

static void print_overview_page(FILE *stream)
{
    print_title(stream, NULL, "solve large sparse linear systems in mixed precision, with a verified answer");
    fputs(".SH SYNOPSIS\n.B tessera\nCOMMAND [OPTION...]\n", stream);
    print_paragraphs(stream, cli_overview, "DESCRIPTION");
    fputs(".SH COMMANDS\n", stream);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        fprintf(stream, ".TP\n\\fBtessera %s\\fR\n", c->command->name);
        print_line(stream, c->summary);
    }
    print_paragraphs(stream, cli_overview_notes, "NOTES");
}

void cli_print_man(FILE *stream, const cli_command_entry *entry)
{
    if (entry == NULL) {
        print_overview_page(stream);
    } else {
        print_command_page(stream, entry);
    }
    fputs(".SH SEE ALSO\n", stream);
    if (entry != NULL) { fputs(".BR tessera (1),\n", stream); }
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        const cli_command_entry *next = c + 1 == entry ? c + 2 : c + 1;
        if (c == entry) { continue; }
        fputs(".BR ", stream);
        print_name(stream, c->command->name);
        fprintf(stream, " (1)%s\n", next->command == NULL ? "" : ",");
    }
}
