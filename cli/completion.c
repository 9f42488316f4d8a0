/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions for bash, zsh and fish, from the same tables and texts as --help.
 *
 * The words that a value may be are those that the option's text lists, before its default or behind it ("plain, graph
 * or auto (default auto)", "storage precision (default fp64): fp64, ..."), and those that begin its further lines
 * ("iluk:K: with the level of fill K").
 */
#include "help.h"

#include <ctype.h>
#include <string.h>

/* ---- what an option's value may be ---- */

bool cli_takes_file(const struct argp_option *option)
{
    return option->arg != NULL && (strstr(option->arg, "FILE") != NULL || strcmp(option->arg, "PREFIX") == 0);
}

static bool is_word(cli_word word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    return word.length > 0 && islower((unsigned char)word.text[0]) && (int)strspn(word.text, letters) >= word.length;
}

static int add_value(cli_word word, cli_word *values, int count)
{
    if (count == CLI_VALUE_LIMIT || !is_word(word)) { return count; }
    for (int i = 0; i < count; i++) {
        if (values[i].length == word.length && strncmp(values[i].text, word.text, (size_t)word.length) == 0) {
            return count;
        }
    }
    values[count] = word;
    return count + 1;
}

/* The next part of "a, b or c" up to `end`; moves *text behind it. */
static cli_word next_part(const char **text, const char *end)
{
    *text += strspn(*text, " ");
    if (strncmp(*text, "or ", 3) == 0) { *text += 3; }
    const char *comma = *text + strcspn(*text, ","), *word = strstr(*text, " or ");
    const char *stop = comma < end ? comma : end, *next = comma < end ? comma + 1 : end;
    if (word != NULL && word < stop) {
        stop = word;
        next = word + 4;
    }
    const cli_word part = {.text = *text, .length = (int)(stop - *text)};
    *text = next;
    return part;
}

/* The parts of a list, each a word and perhaps its argument ("idr[:S]", "iluk:K"). A part that is none is left out if
   the list has remarks; else it means that the text is a sentence and no list. */
static int add_list(const char *text, const char *end, bool remarks, cli_word *values, int count)
{
    const int before = count;
    while (text < end) {
        const cli_word part = next_part(&text, end);
        const int length = (int)strcspn(part.text, " [:,\n");
        const bool whole = length >= part.length || part.text[length] == '[' || part.text[length] == ':';
        const cli_word word = {.text = part.text, .length = length < part.length ? length : part.length};
        if (!remarks && !(whole && is_word(word))) { return before; }
        if (whole) { count = add_value(word, values, count); }
    }
    return count;
}

/* "minres, fgmres: what they are", in the lines behind the first. */
static int add_heads(const char *line, cli_word *values, int count)
{
    while (*line == '\n') {
        const char *next = line + 1 + strcspn(line + 1, "\n"), *colon = strstr(line, ": ");
        if (colon != NULL && colon < next) { count = add_list(line + 1, colon, false, values, count); }
        line = next;
    }
    return count;
}

int cli_option_values(const struct argp_option *option, char buffer[CLI_TEXT_LIMIT], cli_word *values)
{
    if (option->arg == NULL || option->doc == NULL) { return 0; }
    const bool names = strncmp(option->arg, "NAME", 4) == 0;
    if (!names && option->arg[0] != 'P') { return 0; }
    cli_fill_lists(option->doc, buffer, CLI_TEXT_LIMIT);
    const char *end = buffer + strcspn(buffer, "\n"), *mark = strstr(buffer, " (default"),
               *colon = strstr(buffer, ": ");
    int count = 0;
    if (mark != NULL && mark < end) {
        const char *behind = strstr(mark, "): ");
        count = add_list(colon != NULL && colon < mark ? colon + 2 : buffer, mark, false, values, count);
        if (behind != NULL && behind < end) { count = add_list(behind + 3, end, true, values, count); }
    }
    const bool single = strchr(option->arg, '[') == NULL; /* the lines may be about the parts of the value */
    return names && single ? add_heads(end, values, count) : count;
}

const char *cli_option_summary(const struct argp_option *option, char *buffer, size_t size)
{
    char text[CLI_TEXT_LIMIT];
    cli_fill_lists(option->doc, text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    char *mark = strstr(text, " (default");
    if (mark != NULL) { *mark = '\0'; }
    snprintf(buffer, size, "%s", text);
    return buffer;
}

/* ---- the scripts ---- */

typedef void (*option_writer)(FILE *stream, const char *command, const struct argp_option *option);

static void write_options(FILE *stream, const cli_command *command, option_writer write)
{
    cli_option_list list = {.count = 0};
    cli_collect_options(command->argp, &list);
    for (int i = 0; i < list.count; i++) {
        write(stream, command->name, list.option[i]);
    }
    write(stream, command->name, &cli_help_option);
}

/* The words of an option, with blanks between them. */
static int write_values(FILE *stream, const struct argp_option *option)
{
    char buffer[CLI_TEXT_LIMIT];
    cli_word values[CLI_VALUE_LIMIT];
    const int count = cli_option_values(option, buffer, values);
    for (int i = 0; i < count; i++) {
        fprintf(stream, "%s%.*s", i == 0 ? "" : " ", values[i].length, values[i].text);
    }
    return count;
}

static void write_bash_name(FILE *stream, const char *command, const struct argp_option *option)
{
    (void)command;
    fprintf(stream, " --%s", option->name);
}

static void write_bash_value(FILE *stream, const char *command, const struct argp_option *option)
{
    if (option->arg == NULL) { return; }
    fprintf(stream, "    '%s --%s') value=yes", command, option->name);
    if (cli_takes_file(option)) { fputs(" files=yes", stream); }
    fputs(" words='", stream);
    write_values(stream, option);
    fputs("' ;;\n", stream);
}

static void print_bash(FILE *stream)
{
    fputs("# Completion of tessera in bash, from the tables of its help: tessera --completion bash\n"
          "_tessera()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
          "    local words= files= value=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$current\" = = ]; then current=\n"
          "    elif [ \"$previous\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          stream);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        fprintf(stream, "%s ", c->command->name);
    }
    fputs("help --help --version --man --completion' -- \"$current\"))\n        return\n    fi\n"
          "    case \"$command $previous\" in\n",
          stream);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        write_options(stream, c->command, write_bash_value);
    }
    fputs("    esac\n    if [ -z \"$value\" ]; then\n        files=yes\n        case \"$current\" in\n"
          "        -*) files=\n            case \"$command\" in\n",
          stream);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        fprintf(stream, "            %s) words='", c->command->name);
        write_options(stream, c->command, write_bash_name);
        fputs("' ;;\n", stream);
    }
    fputs("            esac ;;\n        esac\n    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "    if [ -n \"$files\" ]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        local IFS=$'\\n'\n"
          "        COMPREPLY+=($(compgen -f -- \"$current\"))\n"
          "    fi\n}\ncomplete -F _tessera tessera\n",
          stream);
}

/* Text within single quotes; `special` are characters that get a backslash. */
static void write_quoted(FILE *stream, const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", stream);
            continue;
        }
        if (strchr(special, *text) != NULL) { fputc('\\', stream); }
        fputc(*text, stream);
    }
}

static void write_zsh_option(FILE *stream, const char *command, const struct argp_option *option)
{
    char summary[96];
    (void)command;
    fprintf(stream, "            '--%s%s[", option->name, option->arg == NULL ? "" : "=");
    write_quoted(stream, cli_option_summary(option, summary, sizeof summary), "[]:\\");
    fputs("]", stream);
    if (cli_takes_file(option)) {
        fputs(":file:_files", stream);
    } else if (option->arg != NULL) {
        fputs(":value:(", stream);
        write_values(stream, option);
        fputs(")", stream);
    }
    fputs("' \\\n", stream);
}

static void print_zsh(FILE *stream)
{
    fputs("#compdef tessera\n"
          "# Completion of tessera in zsh, from the tables of its help: tessera --completion zsh\n"
          "_tessera()\n{\n    local -a commands\n    commands=(\n",
          stream);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        fprintf(stream, "        '%s:", c->command->name);
        write_quoted(stream, c->summary, ":\\");
        fputs("'\n", stream);
    }
    fputs("        'help:print the options of a command')\n"
          "    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n",
          stream);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        fprintf(stream, "    %s)\n        _arguments \\\n", c->command->name);
        write_options(stream, c->command, write_zsh_option);
        fputs("            '*:file:_files' ;;\n", stream);
    }
    fputs("    esac\n}\nif [ \"$funcstack[1]\" = _tessera ]; then _tessera \"$@\"; else compdef _tessera tessera; fi\n",
          stream);
}

static void write_fish_option(FILE *stream, const char *command, const struct argp_option *option)
{
    char summary[96];
    fprintf(stream, "complete -c tessera -n '__fish_seen_subcommand_from %s' -l %s", command, option->name);
    if (option->arg != NULL) {
        fprintf(stream, " %s -a '", cli_takes_file(option) ? "-r -F" : "-x");
        write_values(stream, option);
        fputc('\'', stream);
    }
    fputs(" -d '", stream);
    for (const char *c = cli_option_summary(option, summary, sizeof summary); *c != '\0'; c++) {
        fprintf(stream, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
    }
    fputs("'\n", stream);
}

static void print_fish(FILE *stream)
{
    fputs("# Completion of tessera in fish, from the tables of its help: tessera --completion fish\n", stream);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        fprintf(stream, "complete -c tessera -n __fish_use_subcommand -f -a %s -d '%s'\n", c->command->name,
                c->summary);
    }
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        write_options(stream, c->command, write_fish_option);
    }
}

bool cli_print_completion(FILE *stream, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(FILE *stream);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(stream);
            return true;
        }
    }
    return false;
}
