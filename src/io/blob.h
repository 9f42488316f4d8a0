/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a binary file, all in memory, and a cursor that never leaves them. */
#ifndef TESS_IO_BLOB_H
#define TESS_IO_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "io/text_source.h"

typedef struct blob {
    tess_context *ctx;
    const char *name;
    const char *member; /* the variable that is wanted; NULL */
    const unsigned char *bytes;
    int64_t count;
    unsigned char *own; /* NULL: the bytes belong to the caller */
    int64_t capacity;
} blob;

/* All bytes that the source has: of memory without a copy. Errors IO, memory. */
tess_status blob_read(text_source *source, blob *out);
void blob_release(blob *b);

/* Kinds of files: readers.h has the table. */
typedef enum file_kind {
    FILE_TEXT = 0, /* Matrix Market, or something that no reader knows */
    FILE_CACHE,
    FILE_NPY,
    FILE_NPZ,
    FILE_PETSC,
    FILE_MATLAB,
    FILE_MATLAB4,
    FILE_OCTAVE,
    FILE_HDF5,
    FILE_AMGX,
    FILE_HARWELL_BOEING,
    FILE_HYPRE,
    FILE_PLAIN
} file_kind;

/* The kind that the end of a name asks for; FILE_TEXT for a name without one. */
file_kind tess_file_kind_of_name(const char *name);

/* Fails with "at byte N: what". */
tess_status blob_fail(const blob *b, int64_t at, const char *hint, const char *what);

/* Reads integers and FP64 values of the file's byte order. */
typedef struct blob_cursor {
    const blob *b;
    int64_t at;
    bool swapped; /* other than the machine's */
} blob_cursor;

/* Bytes of `count` items; the cursor moves behind them. NULL and *status PARSE if the file ends before: `what` is the
   name of the part. */
const unsigned char *blob_take(blob_cursor *c, int64_t count, int64_t each, const char *what, tess_status *status);

uint16_t blob_u16(const unsigned char *p, bool swapped);
uint32_t blob_u32(const unsigned char *p, bool swapped);
uint64_t blob_u64(const unsigned char *p, bool swapped);
double blob_f64(const unsigned char *p, bool swapped);
float blob_f32(const unsigned char *p, bool swapped);

/* Big-endian values to write. */
void blob_put_u32(unsigned char *p, uint32_t value);
void blob_put_f64(unsigned char *p, double value);

/* Whether this machine stores the low byte first. */
static inline bool blob_host_is_little(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

#endif
