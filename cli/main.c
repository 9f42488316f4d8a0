/* SPDX-License-Identifier: Apache-2.0 */
/* tessera COMMAND ...: finds the command and runs it. */
#include "help.h"

#include <signal.h>
#include <string.h>

enum { MOST_WORDS = 32 };

static void print_help(FILE *stream)
{
    fprintf(stream, "Usage: tessera COMMAND [OPTION...]\n%s\nCommands:\n", cli_overview);
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        fprintf(stream, "  %-10s %s\n", c->command->name, c->summary);
    }
    fprintf(stream,
            "  %-10s print the options of a command, as 'tessera COMMAND --help' does\n\n"
            "  --help     print this help\n"
            "  --version  print the version and the GPU backend\n"
            "  --man [COMMAND]     print the manual page of a command, for man -l -\n"
            "  --completion SHELL  print the completions for bash, zsh or fish\n\n"
            "%s",
            "help", cli_overview_notes);
}

static int refuse_command(const char *name)
{
    const char *known[MOST_WORDS + 5];
    int count = 0;
    for (const cli_command_entry *c = cli_commands; c->command != NULL && count < MOST_WORDS; c++) {
        known[count++] = c->command->name;
    }
    known[count++] = "help";
    known[count++] = "--help";
    known[count++] = "--version";
    known[count++] = "--man";
    known[count++] = "--completion";
    const char *nearest = tess_nearest_word(name, known, count);
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest != NULL) {
        cli_error("unknown %s '%s'; did you mean '%s'?", what, name, nearest);
    } else {
        cli_error("unknown %s '%s'; 'tessera --help' lists the commands", what, name);
    }
    return CLI_USAGE;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    char name[32];
    snprintf(name, sizeof name, "tessera %s", command->name);
    argv[0] = name;
    cli_set_name(name);
    return command->run(argc, argv);
}

static int run_help(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stdout);
        return CLI_CONVERGED;
    }
    const cli_command_entry *entry = cli_find_command(argv[1]);
    if (entry == NULL) { return refuse_command(argv[1]); }
    char option[] = "--help";
    char *arguments[] = {argv[1], option, NULL};
    return run_command(entry->command, 2, arguments);
}

/* --man: the page of the tool; --man COMMAND: that of the command. */
static int run_man(int argc, char **argv)
{
    const cli_command_entry *entry = argc < 2 ? NULL : cli_find_command(argv[1]);
    if (argc >= 2 && entry == NULL) { return refuse_command(argv[1]); }
    cli_print_man(stdout, entry);
    return CLI_CONVERGED;
}

static int run_completion(int argc, char **argv)
{
    if (argc >= 2 && cli_print_completion(stdout, argv[1])) { return CLI_CONVERGED; }
    cli_error("--completion takes bash, zsh or fish%s%s", argc < 2 ? "" : ", not ", argc < 2 ? "" : argv[1]);
    return CLI_USAGE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0) {
        print_help(stdout);
        return CLI_CONVERGED;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        cli_print_version(stdout);
        return CLI_CONVERGED;
    }
    if (strcmp(word, "help") == 0) { return run_help(argc - 1, argv + 1); }
    if (strcmp(word, "--man") == 0) { return run_man(argc - 1, argv + 1); }
    if (strcmp(word, "--completion") == 0) { return run_completion(argc - 1, argv + 1); }
    if (strcmp(word, "--reference") == 0) { /* for docs */
        cli_print_reference(stdout);
        return CLI_CONVERGED;
    }
    const cli_command_entry *entry = cli_find_command(word);
    return entry == NULL ? refuse_command(word) : run_command(entry->command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    cli_limit_spinning(argv);
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of writing, after which no part of it stays */
    argp_err_exit_status = CLI_USAGE;
    cli_options_init();
    cli_set_name("tessera");
    return cli_close_output(dispatch(argc, argv));
}
