/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are complete or absent; see output_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/output_file.h"

enum { NAME_ATTEMPTS = 100, GZIP_BUFFER = 1 << 18, LARGEST_WRITE = 1 << 30 };

bool output_file_is_gzip_name(const char *name)
{
    size_t length = strlen(name);

    return length >= 3 && strcmp(name + length - 3, ".gz") == 0;
}

static tess_status fail_errno(output_file *file, const char *what)
{
    bool absent = errno == ENOENT || errno == ENOTDIR;
    char text[64];
    const char *reason = strerror_r(errno, text, sizeof text);

    return tess_fail_at(file->ctx, absent ? TESS_NOT_FOUND : TESS_IO, file->name, 0,
                        absent ? "check that the directory exists" : NULL, "%s: %s", what, reason);
}

/* Opens a file in the target's directory, under a name that no other writer uses. It gets the permissions of the file
   that it will replace. */
static tess_status open_aside(output_file *file, const struct stat *replaced)
{
    size_t capacity = strlen(file->target) + 80;
    const char *slash = strrchr(file->target, '/');
    int folder = slash ? (int)(slash + 1 - file->target) : 0;
    struct timespec now;

    file->aside = malloc(capacity);
    if (!file->aside) { return fail_errno(file, "the file cannot be written"); }
    clock_gettime(CLOCK_REALTIME, &now);
    for (int attempt = 0; attempt < NAME_ATTEMPTS && file->descriptor < 0; attempt++) {
        snprintf(file->aside, capacity, "%.*s.tessera-%ld-%lx-%d", folder, file->target, (long)getpid(),
                 (unsigned long)now.tv_nsec, attempt);
        file->descriptor = open(file->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaced ? 0600 : 0666);
        if (file->descriptor < 0 && errno != EEXIST) { break; }
    }
    if (file->descriptor < 0) { return fail_errno(file, "the file cannot be written"); }
    if (replaced && fchmod(file->descriptor, replaced->st_mode & 0777) != 0) {
        return fail_errno(file, "the file's permissions cannot be kept");
    }
    return TESS_SUCCESS;
}

/* The descriptor that names such as /dev/stdout, /dev/fd/63 and /proc/self/fd/1 stand for; -1 for other names. */
static int own_descriptor(const char *name)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    char *end = NULL;

    if (strcmp(name, "/dev/stdout") == 0) { return STDOUT_FILENO; }
    if (strcmp(name, "/dev/stderr") == 0) { return STDERR_FILENO; }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *digits = name + strlen(folders[i]);
        long number = 0;

        if (strncmp(name, folders[i], strlen(folders[i])) != 0 || *digits < '0' || *digits > '9') { continue; }
        number = strtol(digits, &end, 10);
        return *end == '\0' && number <= INT_MAX ? (int)number : -1;
    }
    return -1;
}

/* Devices, pipes and open descriptors are written in place: a rename would replace them. */
static tess_status open_in_place(output_file *file)
{
    const int own = own_descriptor(file->name);

    file->descriptor = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : open(file->name, O_WRONLY | O_CLOEXEC);
    return file->descriptor < 0 ? fail_errno(file, "the file cannot be written") : TESS_SUCCESS;
}

static tess_status open_target(output_file *file)
{
    struct stat facts;
    bool exists = stat(file->name, &facts) == 0;

    if (own_descriptor(file->name) >= 0 || (exists && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))) {
        return open_in_place(file);
    }
    if (!exists && errno == ELOOP) { return fail_errno(file, "the file cannot be written"); }
    if (!exists && lstat(file->name, &facts) == 0) {
        return tess_fail_at(file->ctx, TESS_IO, file->name, 0, "remove the link, or make the file that it names",
                            "the file cannot be written: the name is a symbolic link to a file that is not there");
    }
    if (exists && S_ISDIR(facts.st_mode)) {
        errno = EISDIR;
        return fail_errno(file, "the file cannot be written");
    }
    file->target = exists ? realpath(file->name, NULL) : strdup(file->name);
    if (!file->target) { return fail_errno(file, "the file cannot be written"); }
    return open_aside(file, exists ? &facts : NULL);
}

tess_status output_file_open(tess_context *ctx, const char *name, bool compress, output_file *file)
{
    tess_status status = TESS_SUCCESS;

    *file = (output_file){.ctx = ctx, .name = name, .descriptor = -1};
    status = open_target(file);
    if (status == TESS_SUCCESS && compress) {
        file->compressed = gzdopen(file->descriptor, "wb6");
        if (file->compressed) {
            gzbuffer(file->compressed, GZIP_BUFFER);
        } else {
            status = tess_fail_at(ctx, TESS_OUT_OF_MEMORY, name, 0, "write an uncompressed file",
                                  "there is no memory to compress the file");
        }
    }
    return status == TESS_SUCCESS ? status : output_file_close(file, status);
}

static ssize_t write_some(output_file *file, const void *bytes, size_t count)
{
    if (file->compressed) { return gzwrite(file->compressed, bytes, (unsigned)count) > 0 ? (ssize_t)count : -1; }
    return write(file->descriptor, bytes, count);
}

tess_status output_file_write(output_file *file, const void *bytes, size_t count)
{
    const char *p = bytes;

    while (count > 0) {
        ssize_t done = write_some(file, p, count < LARGEST_WRITE ? count : LARGEST_WRITE);

        if (done < 0 && errno == EINTR && !file->compressed) { continue; }
        if (done < 0) { return fail_errno(file, "the file could not be written"); }
        p += done;
        count -= (size_t)done;
    }
    return TESS_SUCCESS;
}

tess_status output_file_close(output_file *file, tess_status status)
{
    bool opened = file->descriptor >= 0;
    int code = 0;

    if (file->compressed) {
        code = gzclose(file->compressed);
    } else if (opened) {
        code = close(file->descriptor);
    }
    if (code != 0 && status == TESS_SUCCESS) { status = fail_errno(file, "the file could not be written"); }
    if (file->aside && status == TESS_SUCCESS && rename(file->aside, file->target) != 0) {
        status = fail_errno(file, "the file could not be moved to its place");
    }
    if (file->aside && opened && status != TESS_SUCCESS) { unlink(file->aside); }
    free(file->aside);
    free(file->target);
    *file = (output_file){.descriptor = -1};
    return status;
}
