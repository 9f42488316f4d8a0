/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are complete or absent: written under another name beside the target, then renamed. */
#ifndef TESS_IO_OUTPUT_FILE_H
#define TESS_IO_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

#include "matrix/matrix.h"

typedef struct output_file {
    tess_context *ctx;
    const char *name; /* as the caller gave it, for errors */
    char *target;     /* the final file, symbolic links resolved */
    char *aside;      /* the file that is written; NULL if the target is a device or pipe, which cannot be replaced */
    int descriptor;
    gzFile compressed; /* NULL for plain output */
} output_file;

/* Starts a file; with `compress`, gzip. Errors NOT_FOUND (no such directory), IO, memory. `name` is borrowed. */
tess_status output_file_open(tess_context *ctx, const char *name, bool compress, output_file *file);
tess_status output_file_write(output_file *file, const void *bytes, size_t count);
/* Completes the file if `status` is SUCCESS, else removes it. Returns `status` or the first failure. */
tess_status output_file_close(output_file *file, tess_status status);

/* True when the name ends in .gz. */
bool output_file_is_gzip_name(const char *name);

#endif
