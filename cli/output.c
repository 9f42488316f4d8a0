/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are complete or absent, JSON values, numbers for people. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* A name of an open file of this process, such as /dev/fd/63. */
static bool is_open_already(const char *path)
{
    static const char *const begins[] = {"/dev/fd/", "/dev/std", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(path, begins[i], strlen(begins[i])) == 0) { return true; }
    }
    return false;
}

/* An existing device or pipe, or a file that is open. It is written in place, because a rename would replace it. */
static bool is_special(const char *path)
{
    struct stat facts;
    if (is_open_already(path)) { return true; }
    return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

static bool is_directory(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* A new file in the folder of `path`, with the permissions of the file that it will replace, or of a newly created
   one. The caller frees the name. */
static int create_beside(const char *path, char **name)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - path);
    struct stat replaced;
    if (asprintf(name, "%.*s.tessera-XXXXXX", folder, path) < 0) {
        *name = NULL;
        errno = ENOMEM;
        return -1;
    }
    int descriptor = mkstemp(*name);
    if (descriptor < 0) {
        int reason = errno;
        free(*name);
        *name = NULL;
        errno = reason;
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor, stat(path, &replaced) == 0 ? replaced.st_mode & 0777 : 0666 & ~mask) != 0) {
        cli_error("%s: the permissions could not be set, so only you can read the file", path);
    }
    return descriptor;
}

static int refuse_output(const char *path, int reason)
{
    cli_error("%s: the file cannot be written: %s", path, strerror(reason));
    return CLI_INPUT;
}

/* A symbolic link to a file that is not there: a rename would replace the link. */
static bool leads_nowhere(const char *path)
{
    struct stat facts;
    return stat(path, &facts) != 0 && errno == ENOENT && lstat(path, &facts) == 0;
}

/* A name that is too long is found before the work starts, not by the rename after it. */
static bool is_too_long(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) != 0 && errno == ENAMETOOLONG;
}

/* A folder of the kernel, such as /proc/self, takes no new files, and says that they are not there. */
static int refuse_creation(const char *path, int reason)
{
    char folder[CLI_PATH_LENGTH];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 0 : (int)(slash - path), path);
    if (reason != ENOENT || !is_directory(folder)) { return refuse_output(path, reason); }
    cli_error("%s: the file cannot be written: its folder takes no new files", path);
    return CLI_INPUT;
}

/* ---- named pipes ---- */

/* A reader may be started together with the tool; nobody who waits longer sees why. */
enum { READER_WAIT_MILLISECONDS = 1000, READER_TURN_MILLISECONDS = 10 };

static bool is_named_pipe(const char *path)
{
    struct stat facts;
    return !is_open_already(path) && stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

static int refuse_pipe(const char *path)
{
    cli_error("%s: the file cannot be written: nobody reads from the pipe; start its reader first", path);
    return CLI_INPUT;
}

/* Opens the pipe once, and for good: its reader then sees no end before the results. */
static int await_reader(const char *path)
{
    const struct timespec turn = {.tv_nsec = READER_TURN_MILLISECONDS * 1000000L};
    for (int waited = 0; waited < READER_WAIT_MILLISECONDS; waited += READER_TURN_MILLISECONDS) {
        if (open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0) { return 0; }
        if (errno != ENXIO) { return refuse_output(path, errno); }
        (void)nanosleep(&turn, NULL);
    }
    return refuse_pipe(path);
}

int cli_check_reader(const char *path)
{
    if (!is_named_pipe(path)) { return 0; }
    const int descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0) { close(descriptor); }
    return descriptor >= 0 ? 0 : refuse_pipe(path);
}

/* ---- before the work and after it ---- */

int cli_check_output(const char *path)
{
    if (path == NULL || is_stdout(path)) { return 0; }
    if (is_too_long(path)) { return refuse_output(path, ENAMETOOLONG); }
    if (!is_special(path) && leads_nowhere(path)) {
        cli_error("%s: the file cannot be written: the name is a symbolic link to a file that is not there", path);
        return CLI_INPUT;
    }
    if (is_directory(path)) { return refuse_output(path, EISDIR); }
    if (is_named_pipe(path)) { return await_reader(path); }
    if (is_special(path)) { return access(path, W_OK) == 0 ? 0 : refuse_output(path, errno); }
    char *name = NULL;
    int descriptor = create_beside(path, &name);
    if (descriptor < 0) { return refuse_creation(path, errno); }
    close(descriptor);
    unlink(name);
    free(name);
    return 0;
}

static int write_in_place(const char *path, int (*write)(FILE *file, const void *user), const void *user)
{
    if (cli_check_reader(path) != 0) { return CLI_INPUT; }
    FILE *file = is_stdout(path) ? stdout : fopen(path, is_open_already(path) ? "a" : "w");
    if (file == NULL) { return refuse_output(path, errno); }
    int failed = write(file, user) != 0 || fflush(file) != 0 || ferror(file);
    int reason = errno;
    if (file != stdout && fclose(file) != 0) { failed = 1; }
    return failed ? refuse_output(path, reason) : 0;
}

int cli_write_file(const char *path, int (*write)(FILE *file, const void *user), const void *user)
{
    if (is_stdout(path) || is_special(path)) { return write_in_place(path, write, user); }
    char *name = NULL;
    char *target = access(path, F_OK) == 0 ? realpath(path, NULL) : strdup(path); /* a link stays a link */
    int descriptor = target == NULL ? -1 : create_beside(target, &name);
    if (descriptor < 0) {
        int reason = errno;
        free(target);
        return refuse_output(path, reason);
    }
    FILE *file = fdopen(descriptor, "w");
    bool failed = file == NULL || write(file, user) != 0 || fflush(file) != 0;
    int reason = errno;
    if (file == NULL) {
        close(descriptor);
    } else if (fclose(file) != 0 && !failed) {
        failed = true;
        reason = errno;
    }
    if (!failed && rename(name, target) != 0) {
        failed = true;
        reason = errno;
    }
    if (failed) { unlink(name); }
    free(name);
    free(target);
    return failed ? refuse_output(path, reason) : 0;
}

static int dump_json(FILE *file, const void *user)
{
    if (json_dumpf(user, file, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0) { return 1; }
    return fputc('\n', file) == EOF;
}

int cli_write_json(const char *path, json_t *root)
{
    int code = CLI_DEVICE;
    if (root == NULL) {
        cli_error("there is no memory for the JSON report");
    } else {
        code = cli_write_file(path, dump_json, root);
    }
    json_decref(root);
    return code;
}

bool cli_text_wanted(const char *json_path)
{
    return json_path == NULL || !is_stdout(json_path);
}

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_text(const char *text)
{
    json_t *value = json_string(text);
    char *copy = value == NULL ? strdup(text) : NULL;
    if (copy == NULL) { return value; }
    for (char *c = copy; *c != '\0'; c++) {
        if ((unsigned char)*c >= 0x80) { *c = '?'; }
    }
    value = json_string(copy);
    free(copy);
    return value;
}

const char *cli_bytes_text(double bytes, char *buffer, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    while (bytes >= 1000.0 && unit < 4) {
        bytes /= 1000.0;
        unit++;
    }
    snprintf(buffer, size, unit == 0 ? "%.0f %s" : "%.3g %s", bytes, units[unit]);
    return buffer;
}

const char *cli_seconds_text(double seconds, char *buffer, size_t size)
{
    if (seconds < 1e-3) {
        snprintf(buffer, size, "%.3g us", 1e6 * seconds);
    } else if (seconds < 1.0) {
        snprintf(buffer, size, "%.3g ms", 1e3 * seconds);
    } else {
        snprintf(buffer, size, "%.4g s", seconds);
    }
    return buffer;
}

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
