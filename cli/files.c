/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a command, before it begins: which outputs are standard output, and which would replace an input. */
#include "cli.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool names_stdout(const char *path)
{
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(path, names[i]) == 0) { return true; }
    }
    return false;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static int refuse_inputs(const cli_files *files, const cli_output *output)
{
    for (int i = 0; i < CLI_MAX_FILES && !files->force; i++) {
        if (files->input[i] == files->resume && strcmp(output->option, "checkpoint") == 0) { continue; }
        if (files->input[i] == NULL || !is_same_file(files->input[i], *output->path)) { continue; }
        cli_error("--%s %s would replace a file that the command reads; name another file, or give --force",
                  output->option, *output->path);
        return CLI_USAGE;
    }
    return 0;
}

/* Gives standard output to `path`. The report goes to standard error from now on. */
static int claim_stdout(const char **path)
{
    static char name[32];
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    if (saved < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        cli_error("%s: standard output cannot be used for a result", *path);
        return CLI_INPUT;
    }
    snprintf(name, sizeof name, "/dev/fd/%d", saved);
    *path = name;
    return 0;
}

int cli_prepare_files(const cli_files *files)
{
    const cli_output *on_stdout = NULL;
    for (int i = 0; i < CLI_MAX_FILES && files->output[i].path != NULL; i++) {
        const cli_output *output = &files->output[i];
        if (*output->path == NULL) { continue; }
        int code = refuse_inputs(files, output);
        const bool json = strcmp(output->option, "json") == 0;
        const bool here = (json && strcmp(*output->path, "-") == 0) || names_stdout(*output->path);
        if (here && on_stdout != NULL) {
            cli_error("--%s and --%s would both be on standard output", on_stdout->option, output->option);
            return CLI_USAGE;
        }
        if (here) { on_stdout = output; }
        if (here && json) { *output->path = "-"; }
        if (code == 0 && here && !json) { code = claim_stdout(output->path); }
        if (code == 0) { code = cli_check_output(*output->path); }
        if (code != 0) { return code; }
    }
    return 0;
}
