/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as stored; see stored.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/stored.h"

void io_problem_note(io_problem *problem, tess_status status, const char *what, const char *detail)
{
    problem->status = status;
    snprintf(problem->text, sizeof problem->text, "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
}

static void note_errno(stored_bytes *s, const char *what)
{
    char text[64];

    /* the GNU strerror_r: returns the message and uses no global buffer */
    io_problem_note(&s->problem, TESS_IO, what, strerror_r(errno, text, sizeof text));
}

static int64_t read_descriptor(stored_bytes *s, void *to, int64_t bytes)
{
    ssize_t got = 0;

    do {
        got = read(s->descriptor, to, (size_t)bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0) { note_errno(s, "the file could not be read"); }
    return got;
}

/* Bytes behind the head. */
static int64_t read_on(stored_bytes *s, void *to, int64_t bytes)
{
    if (s->descriptor >= 0) { return read_descriptor(s, to, bytes); }
    const int64_t left = s->memory_bytes - s->memory_at;
    bytes = bytes < left ? bytes : left;
    if (bytes > 0) { memcpy(to, s->memory + s->memory_at, (size_t)bytes); }
    s->memory_at += bytes;
    return bytes;
}

int64_t stored_read(stored_bytes *s, void *to, int64_t bytes)
{
    const int64_t left = s->head_bytes - s->head_used;

    if (left == 0) { return read_on(s, to, bytes); }
    bytes = bytes < left ? bytes : left;
    memcpy(to, s->head + s->head_used, (size_t)bytes);
    s->head_used += (int)bytes;
    return bytes;
}

bool stored_seek(stored_bytes *s, int64_t offset)
{
    if (s->size < 0 || offset < 0 || offset > s->size) { return false; }
    if (s->descriptor >= 0 && lseek(s->descriptor, offset, SEEK_SET) != offset) { return false; }
    s->memory_at = offset;
    s->head_used = s->head_bytes;
    return true;
}

bool stored_peek_end(const stored_bytes *s, void *to, int64_t bytes)
{
    if (s->size < bytes) { return false; }
    if (s->descriptor >= 0) { return pread(s->descriptor, to, (size_t)bytes, s->size - bytes) == bytes; }
    memcpy(to, s->memory + s->size - bytes, (size_t)bytes);
    return true;
}

static tess_status look(tess_context *ctx, const char *name, stored_bytes *s)
{
    while (s->head_bytes < STORED_HEAD_BYTES) {
        const int64_t got = read_on(s, s->head + s->head_bytes, STORED_HEAD_BYTES - s->head_bytes);

        if (got < 0) { return tess_fail_at(ctx, TESS_IO, name, 0, NULL, "%s", s->problem.text); }
        if (got == 0) { break; }
        s->head_bytes += (int)got;
    }
    return TESS_SUCCESS;
}

tess_status stored_open_file(tess_context *ctx, const char *name, stored_bytes *s)
{
    struct stat facts;
    tess_status status = TESS_SUCCESS;

    *s = (stored_bytes){.size = -1};
    s->descriptor = open(name, O_RDONLY | O_CLOEXEC);
    if (s->descriptor < 0) {
        const int code = errno;
        const bool absent = code == ENOENT || code == ENOTDIR;

        note_errno(s, "the file cannot be opened");
        return tess_fail_at(ctx, absent ? TESS_NOT_FOUND : TESS_IO, name, 0,
                            absent          ? "check the path"
                            : code == ELOOP ? "the name is a symbolic link that leads back to itself"
                                            : "check the file's permissions",
                            "%s", s->problem.text);
    }
    if (fstat(s->descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) { s->size = facts.st_size; }
    status = look(ctx, name, s);
    if (status != TESS_SUCCESS) { stored_close(s); }
    return status;
}

tess_status stored_open_memory(tess_context *ctx, const char *name, const void *bytes, size_t count, stored_bytes *s)
{
    *s = (stored_bytes){.descriptor = -1, .memory = bytes, .memory_bytes = (int64_t)count, .size = (int64_t)count};
    return look(ctx, name, s);
}

void stored_close(stored_bytes *s)
{
    if (s->descriptor >= 0) { close(s->descriptor); }
    s->descriptor = -1;
}
