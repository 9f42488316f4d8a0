/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file or of memory as they are stored, in order, with a look at the first ones. */
#ifndef TESS_IO_STORED_H
#define TESS_IO_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "matrix/matrix.h"

enum { STORED_HEAD_BYTES = 1024 };

/* A failure that may come up beside other threads: kept until somebody asks. */
typedef struct io_problem {
    tess_status status;
    char text[160];
} io_problem;

void io_problem_note(io_problem *problem, tess_status status, const char *what, const char *detail);

typedef struct stored_bytes {
    int descriptor; /* -1 for memory */
    const unsigned char *memory;
    int64_t memory_bytes, memory_at;
    int64_t size; /* -1 when the file does not tell */
    unsigned char head[STORED_HEAD_BYTES];
    int head_bytes, head_used;
    io_problem problem;
} stored_bytes;

/* Opens a file and looks at its head; errors NOT_FOUND, IO. */
tess_status stored_open_file(tess_context *ctx, const char *name, stored_bytes *s);
tess_status stored_open_memory(tess_context *ctx, const char *name, const void *bytes, size_t count, stored_bytes *s);
void stored_close(stored_bytes *s);

/* Up to `bytes` bytes, beginning with the head; 0 at the end, -1 after a problem. */
int64_t stored_read(stored_bytes *s, void *to, int64_t bytes);
/* The next byte becomes that at `offset`; false where the file cannot. */
bool stored_seek(stored_bytes *s, int64_t offset);
/* The last bytes, without a change of place; false where the file cannot tell, or is shorter. */
bool stored_peek_end(const stored_bytes *s, void *to, int64_t bytes);

#endif
