/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a stretch of lines. Each line ends in '\n', so every scan stops there without looking at the end. */
#include <string.h>

#include "base/decimal.h"
#include "io/mtx.h"

/* The differences between kinds of file; constant in each caller, so that the tests fold away. */
typedef struct line_kind {
    bool coordinate, pattern, integer;
} line_kind;

static inline const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    return p;
}

static inline bool at_line_end(const char *p)
{
    return *p == '\n' || (*p == '\r' && p[1] == '\n');
}

static inline bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline const char *note(mtx_chunk *chunk, mtx_problem problem, const char *where)
{
    chunk->problem = problem;
    chunk->problem_text = where;
    return NULL;
}

/* An index from 1 to limit, stored from 0. Reading stops once the number is beyond any limit. */
static inline const char *parse_index(const char *p, int64_t limit, int32_t *index)
{
    uint64_t value = 0;

    for (unsigned digit = (unsigned char)(*p - '0'); digit < 10; digit = (unsigned char)(*++p - '0')) {
        value = 10 * value + digit;
        if (value > (uint64_t)TESS_MAX_ROWS) { return p; }
    }
    *index = (int32_t)(value - 1);
    return value >= 1 && value <= (uint64_t)limit ? p : p - 1;
}

/* Distinguishes the ways in which an index can be wrong; NULL and a note if it is. */
static inline const char *read_index(mtx_chunk *chunk, const char *p, int64_t limit, int32_t *index, mtx_problem number,
                                     mtx_problem range)
{
    const char *end = NULL;

    if ((unsigned char)(*p - '0') > 9) { return note(chunk, number, p); }
    end = parse_index(p, limit, index);
    if (is_separator(*end)) { return skip_blanks(end); }
    while ((unsigned char)(*end - '0') < 10) {
        end++;
    }
    return note(chunk, is_separator(*end) ? range : number, p);
}

static bool is_integer(const char *p, const char *end)
{
    p += *p == '-' || *p == '+';
    while (p < end && (unsigned char)(*p - '0') < 10) {
        p++;
    }
    return p == end;
}

static inline const char *read_value(mtx_chunk *chunk, const char *p, bool integer, double *value)
{
    const char *end = tess_decimal_parse(p, value);

    if (!end || !is_separator(*end)) { return note(chunk, integer ? MTX_VALUE_INTEGER : MTX_VALUE_NUMBER, p); }
    if (integer && !is_integer(p, end)) { return note(chunk, MTX_VALUE_INTEGER, p); }
    return skip_blanks(end);
}

/* The entry at p, the first character of a line that is not blank; returns its end, or NULL after a problem. */
static inline const char *read_entry(const mtx_header *header, mtx_chunk *chunk, const mtx_entries *entries,
                                     const char *p, line_kind kind)
{
    int64_t k = chunk->at + chunk->count;

    if (kind.coordinate) {
        int32_t *row = entries->row + k, *col = entries->col + k;

        p = read_index(chunk, p, header->nrows, row, MTX_ROW_NUMBER, MTX_ROW_RANGE);
        if (!p) { return NULL; }
        p = read_index(chunk, p, header->ncols, col, MTX_COLUMN_NUMBER, MTX_COLUMN_RANGE);
        if (!p) { return NULL; }
        chunk->upper += *row < *col;
    }
    if (!kind.pattern) {
        const char *value = p;

        p = read_value(chunk, p, kind.integer, entries->val + k);
        if (!p) { return NULL; }
        if (kind.coordinate && header->symmetry == TESS_SYMMETRY_SKEW && entries->row[k] == entries->col[k] &&
            entries->val[k] != 0.0) {
            return note(chunk, MTX_SKEW_DIAGONAL, value);
        }
    }
    return at_line_end(p) ? p : note(chunk, MTX_LINE_END, p);
}

TESS_INLINE void parse_lines(const mtx_header *header, mtx_chunk *chunk, const mtx_entries *entries, line_kind kind)
{
    const char *p = chunk->text;

    while (p < chunk->end) {
        const char *line = p;

        p = skip_blanks(p);
        if (!at_line_end(p)) {
            p = read_entry(header, chunk, entries, p, kind);
            if (!p) {
                chunk->problem_line = line;
                return;
            }
            chunk->count++;
        }
        p += *p == '\r' ? 2 : 1;
    }
}

void mtx_parse_chunk(const mtx_header *header, mtx_chunk *chunk, const mtx_entries *entries)
{
    chunk->count = chunk->upper = 0;
    chunk->problem = MTX_FINE;
    if (!header->coordinate) {
        parse_lines(header, chunk, entries, (line_kind){false, false, header->integer});
    } else if (header->pattern) {
        parse_lines(header, chunk, entries, (line_kind){true, true, false});
    } else if (header->integer) {
        parse_lines(header, chunk, entries, (line_kind){true, false, true});
    } else {
        parse_lines(header, chunk, entries, (line_kind){true, false, false});
    }
}

static int64_t line_of(const mtx_chunk *chunk)
{
    int64_t line = chunk->first_line;

    for (const char *p = chunk->text; p < chunk->problem_line; p++) {
        line += *p == '\n';
    }
    return line;
}

tess_status mtx_fail_chunk(const text_source *source, const mtx_header *header, const mtx_chunk *chunk)
{
    static const char *const expected[] = {[MTX_ROW_NUMBER] = "a row index was expected",
                                           [MTX_COLUMN_NUMBER] = "a column index was expected",
                                           [MTX_VALUE_NUMBER] = "a number was expected",
                                           [MTX_VALUE_INTEGER] = "an integer was expected (the banner says integer)",
                                           [MTX_LINE_END] = "the end of the line was expected"};
    tess_context *ctx = source->ctx;
    int64_t line = line_of(chunk);
    const char *text = chunk->problem_text;
    char quoted[MTX_QUOTE_BYTES];

    mtx_quote(text, chunk->end, quoted);
    switch (chunk->problem) {
    case MTX_ROW_RANGE:
        return tess_fail_at(ctx, TESS_OUT_OF_RANGE, source->name, line, "indices count from 1",
                            "the row index '%s' is outside the range 1 to %lld", quoted, (long long)header->nrows);
    case MTX_COLUMN_RANGE:
        return tess_fail_at(ctx, TESS_OUT_OF_RANGE, source->name, line, "indices count from 1",
                            "the column index '%s' is outside the range 1 to %lld", quoted, (long long)header->ncols);
    case MTX_SKEW_DIAGONAL:
        return tess_fail_at(ctx, TESS_PARSE, source->name, line, "write 'general' in the banner, or remove the entry",
                            "'%s' is on the diagonal of a skew-symmetric matrix, which can only hold 0", quoted);
    default:
        if (at_line_end(text)) {
            return tess_fail_at(ctx, TESS_PARSE, source->name, line, NULL, "the line ends, but %s",
                                expected[chunk->problem]);
        }
        return tess_fail_at(ctx, TESS_PARSE, source->name, line,
                            *text == '%' ? "comments (%) are allowed only before the size line" : NULL,
                            "found '%s', but %s", quoted, expected[chunk->problem]);
    }
}
