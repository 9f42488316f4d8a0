/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a command, before it begins: which outputs are standard output, and which would replace an input. */
#include "cli.h"

#include <fcntl.h>
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

/* The folder and the name in it: of a file that does not exist yet. */
static const char *split_path(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    (void)snprintf(folder, size, "%.*s", length == 0 ? 1 : (int)length, length == 0 ? "." : path);
    return path + length;
}

/* Whether both outputs will be the same file; those that do not exist yet have one name in one folder. */
static bool will_be_same_file(const char *a, const char *b)
{
    char folder_of_a[CLI_PATH_LENGTH], folder_of_b[CLI_PATH_LENGTH];
    struct stat of_a, of_b;
    if (stat(a, &of_a) == 0 || stat(b, &of_b) == 0) { return is_same_file(a, b); }
    if (strcmp(a, "-") == 0) { return false; } /* standard output */
    const char *name_of_a = split_path(a, folder_of_a, sizeof folder_of_a);
    const char *name_of_b = split_path(b, folder_of_b, sizeof folder_of_b);
    return strcmp(name_of_a, name_of_b) == 0 && stat(folder_of_a, &of_a) == 0 && stat(folder_of_b, &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* Whether an input is that file; of gallery:NAME:ARGUMENT..., whether an argument is. */
static bool reads(const char *input, const char *path)
{
    char part[CLI_PATH_LENGTH];
    if (strncmp(input, "gallery:", 8) != 0) { return is_same_file(input, path); }
    for (const char *at = input; at != NULL; at = strchr(at, ':')) {
        at += *at == ':';
        const size_t length = strcspn(at, ":");
        if (length == 0 || length >= sizeof part) { continue; }
        memcpy(part, at, length);
        part[length] = '\0';
        if (is_same_file(part, path)) { return true; }
    }
    return false;
}

static int refuse_inputs(const cli_files *files, const cli_output *output)
{
    for (int i = 0; i < CLI_MAX_FILES && !files->force; i++) {
        if (files->input[i] == files->resume && strcmp(output->option, "checkpoint") == 0) { continue; }
        if (files->input[i] == NULL || !reads(files->input[i], *output->path)) { continue; }
        cli_error("--%s %s would replace a file that the command reads; name another file, or give --force",
                  output->option, *output->path);
        return CLI_USAGE;
    }
    return 0;
}

static int refuse_twins(const cli_files *files, int count)
{
    const cli_output *last = &files->output[count];
    for (int i = 0; i < count; i++) {
        const cli_output *other = &files->output[i];
        if (*other->path == NULL || !will_be_same_file(*other->path, *last->path)) { continue; }
        cli_error("--%s and --%s would both write the file %s; give each a name of its own", other->option,
                  last->option, *last->path);
        return CLI_USAGE;
    }
    return 0;
}

/* ---- files that are added to, or replaced again and again ---- */

/* What a file must begin with, unless it is empty. */
static const struct {
    const char *option, *name, *begin;
    size_t length;
} own_kinds[] = {{"choices", "a file of choices", "tessera-choice ", 15},
                 {"checkpoint", "a checkpoint", "\x89TCKP\r\n\x1a", 8},
                 {"resume", "a checkpoint", "", 0}};

/* Why the tool must not write to a file; NULL: it may. Nothing waits for the other end of a pipe. */
static const char *objection_to(const char *path, const char *begin, size_t length)
{
    char first[16];
    struct stat facts;
    if (stat(path, &facts) != 0) { return NULL; }
    if (S_ISDIR(facts.st_mode)) { return "a folder"; }
    if (!S_ISREG(facts.st_mode)) { return "a device or pipe"; }
    if (length == 0) { return NULL; }
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) { return "a file that cannot be read"; }
    const ssize_t got = read(descriptor, first, length);
    close(descriptor);
    if (facts.st_size == 0 && got == 0) { return NULL; } /* files of /proc say that they are empty */
    return got == (ssize_t)length && memcmp(first, begin, length) == 0 ? NULL : "another file, which would be lost";
}

int cli_check_own_file(const char *option, const char *path, bool force)
{
    for (size_t i = 0; i < sizeof own_kinds / sizeof own_kinds[0] && path != NULL; i++) {
        if (strcmp(own_kinds[i].option, option) != 0) { continue; }
        const char *objection = objection_to(path, own_kinds[i].begin, force ? 0 : own_kinds[i].length);
        if (objection == NULL) { continue; }
        cli_error("--%s %s: the name is that of %s, not of %s", option, path, objection, own_kinds[i].name);
        return CLI_USAGE;
    }
    return 0;
}

/* ---- before the work ---- */

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
    if (cli_check_own_file("resume", files->resume, false) != 0) { return CLI_USAGE; }
    for (int i = 0; i < CLI_MAX_FILES && files->output[i].path != NULL; i++) {
        const cli_output *output = &files->output[i];
        if (*output->path == NULL) { continue; }
        int code = refuse_inputs(files, output);
        if (code == 0) { code = refuse_twins(files, i); }
        if (code == 0 && strcmp(output->option, "checkpoint") == 0) {
            code = cli_check_own_file("checkpoint", *output->path, files->force);
        }
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
