/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and words of a text that lies in memory. */
#ifndef TESS_IO_LINES_H
#define TESS_IO_LINES_H

#include <stddef.h>

#include "io/binary.h"

typedef struct text_word {
    const char *text;
    size_t length;
} text_word;

typedef struct text_lines {
    const blob *b;
    const char *next, *end; /* what follows the current line */
    text_word line;         /* without its end */
    int64_t number;         /* of the current line; 0 before the first */
} text_lines;

text_lines text_lines_of(const blob *b);
/* False at the end of the text. */
bool text_next_line(text_lines *t);

/* The next word of *rest between blanks, or between other separators of a list; false at its end. */
bool text_next_word(text_word *rest, const char *separators, text_word *word);
/* A whole word that is a number; D marks an exponent as well as E. */
bool text_real(text_word word, double *value);
bool text_integer(text_word word, int64_t *value);

/* PARSE, with the line, "found '...', but `expected` was expected"; or that the text ends. */
tess_status text_fail(const text_lines *t, text_word found, const char *expected);
tess_status text_fail_end(const text_lines *t, const char *expected);

/* Entries that grow as they are found. */
typedef struct text_entries {
    tess_context *ctx;
    int64_t count, capacity;
    int parts;
    int32_t *row, *col;
    double *val;
} text_entries;

/* One entry; value has e->parts numbers. Error memory. */
tess_status text_add_entry(text_entries *e, int64_t row, int64_t col, const double *value);
void text_release_entries(text_entries *e);

#endif
