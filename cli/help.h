/* SPDX-License-Identifier: Apache-2.0 */
/* The one table behind --help, --usage, manual pages and completions: commands, and the options of each. */
#ifndef TESS_CLI_HELP_H
#define TESS_CLI_HELP_H

#include "cli.h"

enum { CLI_OPTION_LIMIT = 128, CLI_TEXT_LIMIT = 4096 };

typedef struct cli_command_entry {
    const cli_command *command;
    const char *summary;
} cli_command_entry;

/* In the order of need; the last has no command. */
extern const cli_command_entry cli_commands[];
extern const char cli_overview[], cli_overview_notes[];
/* NULL: there is no such command. */
const cli_command_entry *cli_find_command(const char *name);

/* The options of a command, sorted by group; those of one group in the order of their tables. */
typedef struct cli_option_list {
    const struct argp_option *option[CLI_OPTION_LIMIT];
    int count;
} cli_option_list;

void cli_collect_options(const struct argp *argp, cli_option_list *list);
/* --help, which every command has. */
extern const struct argp_option cli_help_option;
const char *cli_group_title(int group);

/* ---- man.c ---- */

/* A manual page in man(7): of a command, or with NULL of the tool. */
void cli_print_man(FILE *stream, const cli_command_entry *entry);

/* ---- reference.c ---- */

/* The page of all options of the library, in Markdown. */
void cli_print_reference(FILE *stream);

/* ---- completion.c ---- */

typedef struct cli_word {
    const char *text;
    int length;
} cli_word;
/* Words that an option's value may be, as its text lists them; returns their number. They are parts of `buffer`. */
enum { CLI_VALUE_LIMIT = 32 };
int cli_option_values(const struct argp_option *option, char buffer[CLI_TEXT_LIMIT], cli_word *values);
/* Whether an option's value may be the name of a file. */
bool cli_takes_file(const struct argp_option *option);
/* The first line of an option's text, without its default. */
const char *cli_option_summary(const struct argp_option *option, char *buffer, size_t size);
/* A script for "bash", "zsh" or "fish"; false: there is none for that shell. */
bool cli_print_completion(FILE *stream, const char *shell);

#endif
