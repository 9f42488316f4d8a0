/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of text; see text_source.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/text_source.h"

enum {
    INPUT_BYTES = 1 << 18,
    WINDOW_PER_THREAD = 1 << 22,
    WINDOW_SMALLEST = 1 << 22,
    WINDOW_LARGEST = 1 << 26,
    FIRST_WINDOW_SHARE = 8, /* the first window is fetched by one thread alone: small, then each doubles */
    DEFLATE_RATIO = 1032    /* deflate cannot do better: 258 bytes from two bits */
};

/* ---- bytes as stored ---- */

static void note_problem(text_source *source, tess_status status, const char *what, const char *detail)
{
    source->problem_status = status;
    snprintf(source->problem, sizeof source->problem, "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
}

static void note_errno(text_source *source, const char *what)
{
    char text[64];

    /* the GNU strerror_r: returns the message and uses no global buffer */
    note_problem(source, TESS_IO, what, strerror_r(errno, text, sizeof text));
}

static int64_t read_descriptor(text_source *source, void *to, int64_t bytes)
{
    ssize_t got = 0;

    do {
        got = read(source->descriptor, to, (size_t)bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0) { note_errno(source, "the file could not be read"); }
    return got;
}

/* Up to `bytes` bytes as stored; 0 at the end, -1 after a problem. */
static int64_t read_stored(text_source *source, void *to, int64_t bytes)
{
    int64_t left = source->peeked_bytes - source->peeked_used;

    if (left > 0) {
        bytes = bytes < left ? bytes : left;
        memcpy(to, source->peeked + source->peeked_used, (size_t)bytes);
        source->peeked_used += (int)bytes;
        return bytes;
    }
    if (source->descriptor >= 0) { return read_descriptor(source, to, bytes); }
    bytes = bytes < source->memory_left ? bytes : source->memory_left;
    if (bytes > 0) {
        memcpy(to, source->memory, (size_t)bytes);
        source->memory += bytes;
        source->memory_left -= bytes;
    }
    return bytes;
}

static tess_status peek(text_source *source)
{
    while (source->peeked_bytes < TEXT_PEEK_BYTES) {
        unsigned char more[TEXT_PEEK_BYTES];
        int64_t got = 0;

        source->peeked_used = source->peeked_bytes; /* so that new bytes are read, not the ones already here */
        got = read_stored(source, more, TEXT_PEEK_BYTES - source->peeked_bytes);
        if (got < 0) { return tess_fail_at(source->ctx, TESS_IO, source->name, 0, NULL, "%s", source->problem); }
        if (got == 0) { break; }
        memcpy(source->peeked + source->peeked_bytes, more, (size_t)got);
        source->peeked_bytes += (int)got;
    }
    source->peeked_used = 0;
    source->compressed = source->peeked_bytes >= 2 && source->peeked[0] == 0x1f && source->peeked[1] == 0x8b;
    return TESS_SUCCESS;
}

int64_t text_source_read(text_source *source, void *to, int64_t bytes)
{
    return read_stored(source, to, bytes);
}

tess_status text_source_open_file(tess_context *ctx, const char *name, text_source *source)
{
    struct stat facts;
    tess_status status = TESS_SUCCESS;

    *source = (text_source){.ctx = ctx, .name = name, .line = 1, .stored_bytes = -1};
    source->descriptor = open(name, O_RDONLY | O_CLOEXEC);
    if (source->descriptor < 0) {
        const int code = errno;
        const bool absent = code == ENOENT || code == ENOTDIR;

        note_errno(source, "the file cannot be opened");
        return tess_fail_at(ctx, absent ? TESS_NOT_FOUND : TESS_IO, name, 0,
                            absent          ? "check the path"
                            : code == ELOOP ? "the name is a symbolic link that leads back to itself"
                                            : "check the file's permissions",
                            "%s", source->problem);
    }
    if (fstat(source->descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) { source->stored_bytes = facts.st_size; }
    status = peek(source);
    if (status != TESS_SUCCESS) { text_source_close(source); }
    return status;
}

tess_status text_source_open_memory(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                    text_source *source)
{
    *source = (text_source){.ctx = ctx,
                            .name = name,
                            .line = 1,
                            .descriptor = -1,
                            .stored_bytes = (int64_t)bytes,
                            .memory = text,
                            .memory_left = (int64_t)bytes};
    return peek(source);
}

void text_source_close(text_source *source)
{
    for (int i = 0; i < 2; i++) {
        tess_host_release(source->ctx, source->buffer[i], source->capacity + TEXT_PADDING, 1);
        source->buffer[i] = NULL;
    }
    tess_host_release(source->ctx, source->input, INPUT_BYTES, 1);
    source->input = NULL;
    if (source->stream_open) { inflateEnd(&source->stream); }
    source->stream_open = false;
    if (source->descriptor >= 0) { close(source->descriptor); }
    source->descriptor = -1;
}

/* ---- bytes of text ---- */

static int64_t window_capacity(const text_source *source)
{
    int64_t capacity = (int64_t)source->ctx->threads * WINDOW_PER_THREAD;

    capacity = capacity < WINDOW_SMALLEST ? WINDOW_SMALLEST : capacity;
    capacity = capacity > WINDOW_LARGEST ? WINDOW_LARGEST : capacity;
    return text_source_remaining(source) < capacity ? text_source_remaining(source) + 1 : capacity;
}

tess_status text_source_begin(text_source *source)
{
    tess_status status = TESS_SUCCESS;

    source->capacity = window_capacity(source);
    source->window = source->capacity / FIRST_WINDOW_SHARE + 1;
    source->window = source->window < source->capacity ? source->window : source->capacity;
    for (int i = 0; i < 2 && status == TESS_SUCCESS; i++) {
        status = tess_host_allocate(source->ctx, source->capacity + TEXT_PADDING, 1, (void **)&source->buffer[i]);
    }
    if (status != TESS_SUCCESS || !source->compressed) { return status; }
    status = tess_host_allocate(source->ctx, INPUT_BYTES, 1, (void **)&source->input);
    if (status != TESS_SUCCESS) { return status; }
    if (inflateInit2(&source->stream, 15 + 16) != Z_OK) {
        return tess_fail_at(source->ctx, TESS_OUT_OF_MEMORY, source->name, 0, "decompress the file first",
                            "there is no memory to decompress the file");
    }
    source->stream_open = true;
    return TESS_SUCCESS;
}

/* More compressed bytes; false at the end of the file or after a problem. */
static bool refill_input(text_source *source)
{
    int64_t got = read_stored(source, source->input, INPUT_BYTES);

    if (got == 0 && !source->stream_between) {
        note_problem(source, TESS_CORRUPT, "the compressed data ends too early; the file may be incomplete", NULL);
    }
    source->stream.next_in = source->input;
    source->stream.avail_in = got > 0 ? (uInt)got : 0;
    return got > 0;
}

/* Decompresses up to `bytes` bytes; 0 at the end or after a problem. Files of several gzip members are one text. */
static int64_t inflate_some(text_source *source, char *to, int64_t bytes)
{
    z_stream *stream = &source->stream;

    stream->next_out = (unsigned char *)to;
    stream->avail_out = (uInt)(bytes < INT_MAX ? bytes : INT_MAX);
    while (stream->next_out == (unsigned char *)to) {
        int code = Z_OK;

        if (stream->avail_in == 0 && !refill_input(source)) { return 0; }
        if (source->stream_between) {
            /* data after the last member, such as zero padding, is not text */
            if (*stream->next_in != 0x1f) { return 0; }
            source->stream_between = false;
            inflateReset(stream);
        }
        code = inflate(stream, Z_NO_FLUSH);
        source->stream_between = code == Z_STREAM_END;
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
            note_problem(source, code == Z_MEM_ERROR ? TESS_OUT_OF_MEMORY : TESS_CORRUPT,
                         "the compressed data is damaged", stream->msg);
            break;
        }
    }
    return (char *)stream->next_out - to;
}

int64_t text_source_remaining(const text_source *source)
{
    int64_t stored = source->stored_bytes;

    if (stored < 0) { return INT64_MAX; }
    if (!source->compressed) { return stored; }
    return stored < INT64_MAX / DEFLATE_RATIO ? stored * DEFLATE_RATIO : INT64_MAX;
}

/* ---- windows ---- */

/* The last text may lack its newline or end with blank lines: it is made to end in one newline. */
static int64_t trim_end(char *buffer, int64_t bytes)
{
    while (bytes > 0 && strchr(" \t\r\n", buffer[bytes - 1]) && buffer[bytes - 1] != '\0') {
        bytes--;
    }
    if (bytes > 0) { buffer[bytes++] = '\n'; }
    memset(buffer + bytes, 0, TEXT_PADDING);
    return bytes;
}

/* Fills the next buffer up to the window's size. */
static void fill(text_source *source, char *buffer)
{
    while (!source->exhausted && source->filled < source->window) {
        int64_t free_bytes = source->window - source->filled;
        int64_t got = source->compressed ? inflate_some(source, buffer + source->filled, free_bytes)
                                         : read_stored(source, buffer + source->filled, free_bytes);

        if (got <= 0) { source->exhausted = true; }
        source->filled += got > 0 ? got : 0;
    }
}

void text_source_fetch(text_source *source)
{
    char *buffer = source->buffer[source->next];
    const char *newline = NULL;

    if (source->fetched) { return; }
    source->fetched = true;
    source->fetched_text = source->fetched_end = buffer;
    for (;;) {
        bool largest = source->window == source->capacity;

        fill(source, buffer);
        newline = memrchr(buffer, '\n', (size_t)source->filled);
        source->window = largest || source->window > source->capacity / 2 ? source->capacity : 2 * source->window;
        if (newline || source->exhausted || largest) { break; }
    }
    if (source->exhausted) {
        source->filled = trim_end(buffer, source->filled);
        source->fetched_end = buffer + source->filled;
    } else if (newline) {
        source->fetched_end = newline + 1;
    } else if (source->problem_status == TESS_SUCCESS) {
        note_problem(source, TESS_PARSE, "a line is too long for a Matrix Market file", NULL);
    }
}

tess_status text_source_advance(text_source *source)
{
    int64_t bytes = 0;

    text_source_fetch(source);
    if (source->problem_status != TESS_SUCCESS) {
        return tess_fail_at(source->ctx, source->problem_status, source->name,
                            source->problem_status == TESS_PARSE ? source->line : 0, NULL, "%s", source->problem);
    }
    /* The line that was cut begins the next window, in the other buffer. */
    bytes = source->fetched_end - source->fetched_text;
    source->filled -= bytes;
    source->text = source->fetched_text;
    source->end = source->fetched_end;
    source->next = 1 - source->next;
    if (source->filled > 0) { memcpy(source->buffer[source->next], source->end, (size_t)source->filled); }
    source->fetched = false;
    return TESS_SUCCESS;
}

tess_status text_source_line(text_source *source, const char **line, const char **line_end, int64_t *number)
{
    const char *newline = NULL;

    *line = *line_end = NULL;
    *number = source->line;
    if (source->text == source->end) {
        tess_status status = text_source_advance(source);

        if (status != TESS_SUCCESS || source->text == source->end) { return status; }
    }
    newline = memchr(source->text, '\n', (size_t)(source->end - source->text));
    *line = source->text;
    *line_end = newline > *line && newline[-1] == '\r' ? newline - 1 : newline;
    source->text = newline + 1;
    source->line++;
    return TESS_SUCCESS;
}
