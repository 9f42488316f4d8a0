/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a reader of Matrix Market text: header, entries of one stretch of lines, the whole body. */
#ifndef TESS_IO_MTX_H
#define TESS_IO_MTX_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/io.h>

#include "io/text_source.h"
#include "matrix/assemble.h"

/* The contents of banner and size line. */
typedef struct mtx_header {
    bool coordinate, pattern, integer, is_complex;
    int base; /* of indices: 1, but 0 where AmgX says so */
    tess_symmetry symmetry;
    int64_t nrows, ncols, entries; /* entries of an array: those that the file lists */
    int64_t size_line;             /* its number */
} mtx_header;

/* Entries as read, base 0. row and col are NULL for an array, val is NULL for a pattern and has `parts` numbers for
   each entry: 1, or 2 for re and im. */
typedef struct mtx_entries {
    int64_t count, capacity;
    int parts;
    int32_t *row, *col;
    double *val;
} mtx_entries;

/* The text that a line should have had. */
typedef enum mtx_problem {
    MTX_FINE = 0,
    MTX_ROW_NUMBER,
    MTX_COLUMN_NUMBER,
    MTX_VALUE_NUMBER,
    MTX_VALUE_INTEGER,
    MTX_IMAGINARY_NUMBER,
    MTX_LINE_END,
    MTX_ROW_RANGE,
    MTX_COLUMN_RANGE,
    MTX_SKEW_DIAGONAL,
    MTX_HERMITIAN_DIAGONAL
} mtx_problem;

/* A stretch of whole lines, and the place for its entries. */
typedef struct mtx_chunk {
    const char *text, *end;
    int64_t first_line; /* number of the line at `text` */
    int64_t lines;
    int64_t at;    /* index of the first entry */
    int64_t count; /* out: entries found */
    int64_t upper; /* out: entries above the diagonal */
    mtx_problem problem;
    const char *problem_line, *problem_text; /* the line and the place in it */
} mtx_chunk;

/* Reads up to and including the size line. Errors PARSE, UNSUPPORTED, OUT_OF_RANGE, and those of the source. */
tess_status mtx_read_header(text_source *source, mtx_header *header);

/* Bytes of the shortest line that has an entry. */
int64_t mtx_smallest_line(const mtx_header *header);

/* Entries of a chunk; at most chunk->lines of them. Stops at the first problem. */
void mtx_parse_chunk(const mtx_header *header, mtx_chunk *chunk, const mtx_entries *entries);

/* Reports the problem of a chunk. */
tess_status mtx_fail_chunk(const text_source *source, const mtx_header *header, const mtx_chunk *chunk);

/* Reads everything after the header. *upper counts entries above the diagonal. On failure nothing is held. */
tess_status mtx_read_body(text_source *source, const mtx_header *header, mtx_entries *entries, int64_t *upper);
void mtx_entries_release(tess_context *ctx, mtx_entries *entries);

/* Row and column of the k-th value of an array, in the order in which a file lists them. */
void mtx_array_position(const mtx_header *header, int64_t k, int64_t *row, int64_t *col);

/* The text at p up to a blank or the line's end, shortened and made printable. */
enum { MTX_QUOTE_BYTES = 64 };
const char *mtx_quote(const char *p, const char *end, char quoted[MTX_QUOTE_BYTES]);

#endif
