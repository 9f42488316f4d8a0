/* SPDX-License-Identifier: Apache-2.0 */
/* Text from a file, packed or not, or from memory, in windows of whole lines; the next can be fetched while one is
   read. */
#ifndef TESS_IO_TEXT_SOURCE_H
#define TESS_IO_TEXT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/unpack.h"

enum { TEXT_PEEK_BYTES = 4096, TEXT_PADDING = 64 };

typedef struct text_source {
    tess_context *ctx;
    const char *name; /* for errors: of an archive with the member */
    char label[256];
    const char *member;   /* that the caller named behind a colon; NULL */
    const char *packed;   /* "gzip", "zip", ...: what the file is packed in; NULL */
    bool compressed;      /* contents differ from what is stored */
    int64_t stored_bytes; /* as stored (compressed, if so); -1 when the file does not tell */
    int64_t text_bytes;   /* of the contents; -1 when the file does not tell. Of gzip what its last bytes claim */

    /* the window: [text, end) are whole lines, the last ends in '\n'; TEXT_PADDING bytes after it are readable */
    const char *text, *end;
    int64_t line; /* number of the first line at `text`, from 1; code that moves `text` keeps it in step */

    /* where bytes come from */
    stored_bytes stored;
    unpacker *unpacker;                    /* NULL: contents are as stored */
    unsigned char peeked[TEXT_PEEK_BYTES]; /* the first of the contents */
    int peeked_bytes, peeked_used;

    /* two buffers that take turns */
    char *buffer[2];
    int64_t capacity, window;               /* size of each buffer; how much of it the next window uses */
    int64_t filled;                         /* bytes in the buffer that comes next */
    const char *fetched_text, *fetched_end; /* the next window, once fetched; empty after a problem */
    int next;
    bool fetched, exhausted;

    /* a failure while fetching, kept until the window is requested, because fetching may run beside other threads */
    io_problem problem;
} text_source;

/* Opens a file, or the member of an archive that has the role, and looks at the first bytes of the contents. Behind a
   colon the name may have that of a member. Errors NOT_FOUND, IO, CORRUPT, UNSUPPORTED (a packing that this build
   cannot read), memory. `name` and the memory below are borrowed. */
tess_status text_source_open_file(tess_context *ctx, const char *name, source_role role, text_source *source);
tess_status text_source_open_memory(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                    text_source *source);
/* No packed contents. */
tess_status text_source_open_plain(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                   text_source *source);
void text_source_close(text_source *source);

/* Up to `bytes` bytes of the contents, beginning with those that were looked at: for binary files, in place of the
   functions below. 0 at the end; -1 after a failure, which is in `problem`. */
int64_t text_source_read(text_source *source, void *to, int64_t bytes);

/* Allocates the windows, after the first bytes have been looked at. */
tess_status text_source_begin(text_source *source);

/* Makes the next window current; at the end of the text the window is empty. Errors IO, CORRUPT (gzip), PARSE. */
tess_status text_source_advance(text_source *source);

/* Fetches the bytes of the next window; one thread may do so while others read the current one. */
void text_source_fetch(text_source *source);

/* One line without its end ('\n' or "\r\n") and its number; *line = NULL at the end of the text. */
tess_status text_source_line(text_source *source, const char **line, const char **line_end, int64_t *number);

/* Upper bound of the bytes of text still to come; INT64_MAX if unknown. */
int64_t text_source_remaining(const text_source *source);

#endif
