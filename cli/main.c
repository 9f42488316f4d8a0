/* SPDX-License-Identifier: Apache-2.0 */
/* tessera COMMAND ...: finds the command and runs it. */
#include "cli.h"

#include <string.h>

typedef struct command_entry {
    const cli_command *command;
    const char *summary;
} command_entry;

static const command_entry commands[] = {
    {&cli_command_info, "facts about a matrix, memory per format, a recommendation of solver"},
    {&cli_command_spmv, "y = A x, timed and checked"},
    {&cli_command_solve, "solve A x = b and prove the answer by its true residual"},
    {&cli_command_timestep, "x := A x again and again, in low, mixed and full precision"},
    {&cli_command_compare, "SpMV error, time and bytes of each precision on each device"},
    {&cli_command_generate, "write a model problem"},
    {&cli_command_convert, "between Matrix Market and the binary cache"},
};
enum { COMMAND_COUNT = (int)(sizeof commands / sizeof commands[0]) };

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "tessera %s (GPU backend: %s)\n", tess_version(), tess_gpu_backend());
}

static void print_help(FILE *stream)
{
    fprintf(stream, "Usage: tessera COMMAND [OPTION...]\n"
                    "Solves large sparse linear systems and proves the answer with a true residual in FP64.\n\n"
                    "Commands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        fprintf(stream, "  %-10s %s\n", commands[i].command->name, commands[i].summary);
    }
    fprintf(stream,
            "  %-10s help on a command\n\n"
            "A matrix is a file (.mtx, .mtx.gz, .tess) or gallery:NAME[:ARG...], made in place.\n"
            "Results go to stdout, log and progress to stderr; TESSERA_LOG=debug|info|warn sets the log.\n\n"
            "Exit status: 0 done (converged and verified), 1 not converged, 2 usage, 3 input or format,\n"
            "4 device or memory, 5 breakdown.\n\n"
            "'tessera COMMAND --help' lists a command's options; 'tessera --version' prints the version.\n",
            "help");
}

static const cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].command->name, name) == 0) { return commands[i].command; }
    }
    return NULL;
}

static int refuse_command(const char *name)
{
    const char *known[COMMAND_COUNT + 3];
    int count = 0;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        known[count++] = commands[i].command->name;
    }
    known[count++] = "help";
    known[count++] = "--help";
    known[count++] = "--version";
    const char *nearest = cli_nearest(name, known, count);
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest != NULL) {
        cli_error("unknown %s '%s'; did you mean '%s'?", what, name, nearest);
    } else {
        cli_error("unknown %s '%s'; 'tessera --help' lists what there is", what, name);
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
    const cli_command *command = find_command(argv[1]);
    if (command == NULL) { return refuse_command(argv[1]); }
    char option[] = "--help";
    char *arguments[] = {argv[1], option, NULL};
    return run_command(command, 2, arguments);
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
        print_version(stdout, NULL);
        return CLI_CONVERGED;
    }
    if (strcmp(word, "help") == 0) { return run_help(argc - 1, argv + 1); }
    const cli_command *command = find_command(word);
    return command == NULL ? refuse_command(word) : run_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    argp_err_exit_status = CLI_USAGE;
    argp_program_version_hook = print_version;
    cli_set_name("tessera");
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_error("cannot write to standard output");
        if (code == CLI_CONVERGED) { code = CLI_INPUT; }
    }
    return code;
}
