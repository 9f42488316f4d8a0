/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of text; see text_source.h. */
#include <stdio.h>
#include <string.h>

#include "io/text_source.h"

enum {
    WINDOW_PER_THREAD = 1 << 20,
    WINDOW_SMALLEST = 1 << 22,
    WINDOW_LARGEST = 1 << 26,
    FIRST_WINDOW_SHARE = 8 /* the first window is fetched by one thread alone: small, then each doubles */
};

/* ---- contents ---- */

/* Up to `bytes` bytes of the contents; 0 at the end, -1 after a problem. */
static int64_t read_contents(text_source *source, void *to, int64_t bytes)
{
    const int64_t left = source->peeked_bytes - source->peeked_used;

    if (left > 0) {
        bytes = bytes < left ? bytes : left;
        memcpy(to, source->peeked + source->peeked_used, (size_t)bytes);
        source->peeked_used += (int)bytes;
        return bytes;
    }
    const int64_t got =
        source->unpacker ? unpack_read(source->unpacker, to, bytes) : stored_read(&source->stored, to, bytes);
    if (got < 0) { source->problem = source->unpacker ? *unpack_problem(source->unpacker) : source->stored.problem; }
    return got;
}

static tess_status peek(text_source *source)
{
    while (source->peeked_bytes < TEXT_PEEK_BYTES) {
        unsigned char more[TEXT_PEEK_BYTES];

        source->peeked_used = source->peeked_bytes; /* so that new bytes are read, not the ones already here */
        const int64_t got = read_contents(source, more, TEXT_PEEK_BYTES - source->peeked_bytes);
        if (got < 0) {
            return tess_fail_at(source->ctx, source->problem.status, source->name, 0, NULL, "%s", source->problem.text);
        }
        if (got == 0) { break; }
        memcpy(source->peeked + source->peeked_bytes, more, (size_t)got);
        source->peeked_bytes += (int)got;
    }
    source->peeked_used = 0;
    return TESS_SUCCESS;
}

int64_t text_source_read(text_source *source, void *to, int64_t bytes)
{
    return read_contents(source, to, bytes);
}

/* `archive`: the file's name without that of a member. */
static tess_status open_contents(text_source *source, const char *archive, source_role role)
{
    const unpack_wish wish = {.archive = archive, .member = source->member, .role = role};
    const packing kind = unpack_kind(&source->stored, &source->packed);
    tess_status status = TESS_SUCCESS;

    source->stored_bytes = source->stored.size;
    source->compressed = kind != PACKING_NONE;
    source->text_bytes = kind == PACKING_NONE ? source->stored_bytes : unpack_claim(kind, &source->stored);
    if (kind != PACKING_NONE) { status = unpack_open(source->ctx, &wish, kind, &source->stored, &source->unpacker); }
    if (status == TESS_SUCCESS && source->unpacker && unpack_member(source->unpacker)) {
        snprintf(source->label, sizeof source->label, "%.120s(%.120s)", archive, unpack_member(source->unpacker));
        source->name = source->label;
        source->member = NULL;
    }
    if (status == TESS_SUCCESS) { status = peek(source); }
    if (status != TESS_SUCCESS) { text_source_close(source); }
    return status;
}

/* NAME:MEMBER, where there is no file of the whole name. */
static tess_status open_stored(text_source *source, const char *name)
{
    const char *colon = strrchr(name, ':');
    const tess_error before = source->ctx->error;
    const tess_status status = stored_open_file(source->ctx, name, &source->stored);

    if (status != TESS_NOT_FOUND || !colon || colon == name || (size_t)(colon - name) >= sizeof source->label) {
        return status;
    }
    const tess_error first = source->ctx->error;
    snprintf(source->label, sizeof source->label, "%.*s", (int)(colon - name), name);
    source->ctx->error = before;
    if (stored_open_file(source->ctx, source->label, &source->stored) != TESS_SUCCESS) {
        source->ctx->error = first;
        return status;
    }
    source->member = colon + 1;
    source->name = source->label;
    return TESS_SUCCESS;
}

tess_status text_source_open_file(tess_context *ctx, const char *name, source_role role, text_source *source)
{
    char archive[sizeof source->label];

    *source = (text_source){.ctx = ctx, .name = name, .line = 1, .stored_bytes = -1, .stored = {.descriptor = -1}};
    const tess_status status = open_stored(source, name);
    if (status != TESS_SUCCESS) { return status; }
    if (!source->member) { return open_contents(source, name, role); }
    memcpy(archive, source->label, sizeof archive); /* the label changes */
    return open_contents(source, archive, role);
}

tess_status text_source_open_memory(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                    text_source *source)
{
    *source = (text_source){.ctx = ctx, .name = name, .line = 1};
    const tess_status status = stored_open_memory(ctx, name, text, bytes, &source->stored);

    return status == TESS_SUCCESS ? open_contents(source, name, SOURCE_MATRIX) : status;
}

tess_status text_source_open_plain(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                   text_source *source)
{
    *source = (text_source){
        .ctx = ctx, .name = name, .line = 1, .stored_bytes = (int64_t)bytes, .text_bytes = (int64_t)bytes};
    const tess_status status = stored_open_memory(ctx, name, text, bytes, &source->stored);

    return status == TESS_SUCCESS ? peek(source) : status;
}

void text_source_close(text_source *source)
{
    for (int i = 0; i < 2; i++) {
        tess_host_release(source->ctx, source->buffer[i], source->capacity + TEXT_PADDING, 1);
        source->buffer[i] = NULL;
    }
    unpack_close(source->unpacker);
    source->unpacker = NULL;
    stored_close(&source->stored);
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
    return status;
}

int64_t text_source_remaining(const text_source *source)
{
    int64_t stored = source->stored_bytes;

    if (stored < 0) { return INT64_MAX; }
    return source->compressed ? unpack_most(stored) : stored;
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
        int64_t got = read_contents(source, buffer + source->filled, free_bytes);

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
    } else if (source->problem.status == TESS_SUCCESS) {
        io_problem_note(&source->problem, TESS_PARSE, "a line is too long for a Matrix Market file", NULL);
    }
}

tess_status text_source_advance(text_source *source)
{
    int64_t bytes = 0;

    text_source_fetch(source);
    if (source->problem.status != TESS_SUCCESS) {
        return tess_fail_at(source->ctx, source->problem.status, source->name,
                            source->problem.status == TESS_PARSE ? source->line : 0, NULL, "%s", source->problem.text);
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
