/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a stretch of lines. Each line ends in '\n', so every scan stops there without looking at the end. */
#include <string.h>

#include "base/decimal.h"
#include "io/mtx.h"

/* The differences between kinds of file; constant in each caller, so that the tests fold away. */
typedef struct line_kind {
    bool coordinate, pattern, integer, is_complex;
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

/* An index of `limit` ones from `base` on, stored from 0: eight characters at once, then one by one. Reading stops once
   the number is beyond any limit. */
static inline const char *parse_index(const char *p, int base, int64_t limit, int32_t *index)
{
    uint64_t value = 0;
    const int count = tess_decimal_eight(p, &value);

    p += count;
    for (unsigned digit = (unsigned char)(*p - '0'); count == 8 && digit < 10; digit = (unsigned char)(*++p - '0')) {
        value = 10 * value + digit;
        if (value > (uint64_t)TESS_MAX_ROWS) { return p; }
    }
    value -= (uint64_t)base;
    *index = (int32_t)value;
    return value < (uint64_t)limit ? p : p - 1;
}

/* Distinguishes the ways in which an index can be wrong; NULL and a note if it is. */
static inline const char *read_index(mtx_chunk *chunk, const char *p, int base, int64_t limit, int32_t *index,
                                     mtx_problem number, mtx_problem range)
{
    const char *end = NULL;

    if ((unsigned char)(*p - '0') > 9) { return note(chunk, number, p); }
    end = parse_index(p, base, limit, index);
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

static inline const char *read_imaginary(mtx_chunk *chunk, const char *p, double *value)
{
    const char *end = at_line_end(p) ? NULL : tess_decimal_parse(p, value);

    return end && is_separator(*end) ? skip_blanks(end) : note(chunk, MTX_IMAGINARY_NUMBER, p);
}

/* The diagonal of a skew-symmetric matrix is 0, that of a Hermitian one is real. */
static mtx_problem check_diagonal(const mtx_header *header, const mtx_entries *entries, int64_t k)
{
    const double re = entries->val[entries->parts * k], im = header->is_complex ? entries->val[2 * k + 1] : 0.0;

    if (header->symmetry == TESS_SYMMETRY_SKEW) { return re == 0.0 && im == 0.0 ? MTX_FINE : MTX_SKEW_DIAGONAL; }
    return im == 0.0 ? MTX_FINE : MTX_HERMITIAN_DIAGONAL;
}

/* The k-th entry, at p, the first character of a line that is not blank; returns its end, or NULL after a problem. */
TESS_INLINE const char *read_entry(const mtx_header *header, mtx_chunk *chunk, const mtx_entries *entries, int64_t k,
                                   const char *p, line_kind kind)
{
    if (kind.coordinate) {
        int32_t *row = entries->row + k, *col = entries->col + k;

        p = read_index(chunk, p, header->base, header->nrows, row, MTX_ROW_NUMBER, MTX_ROW_RANGE);
        if (!p) { return NULL; }
        p = read_index(chunk, p, header->base, header->ncols, col, MTX_COLUMN_NUMBER, MTX_COLUMN_RANGE);
        if (!p) { return NULL; }
        chunk->upper += *row < *col;
    }
    if (!kind.pattern) {
        const char *value = p;

        p = read_value(chunk, p, kind.integer, entries->val + (kind.is_complex ? 2 * k : k));
        if (!p) { return NULL; }
        if (kind.is_complex) {
            p = read_imaginary(chunk, p, entries->val + 2 * k + 1);
            if (!p) { return NULL; }
        }
        if (kind.coordinate && header->symmetry >= TESS_SYMMETRY_SKEW && entries->row[k] == entries->col[k]) {
            const mtx_problem problem = check_diagonal(header, entries, k);

            if (problem != MTX_FINE) { return note(chunk, problem, value); }
        }
    }
    return at_line_end(p) ? p : note(chunk, MTX_LINE_END, p);
}

TESS_INLINE void parse_lines(const mtx_header *header, mtx_chunk *chunk, const mtx_entries *entries, line_kind kind)
{
    const char *p = chunk->text;
    int64_t k = chunk->at;

    while (p < chunk->end) {
        const char *line = p;

        p = skip_blanks(p);
        if (!at_line_end(p)) {
            p = read_entry(header, chunk, entries, k, p, kind);
            if (!p) {
                chunk->problem_line = line;
                break;
            }
            k++;
        }
        p += *p == '\r' ? 2 : 1;
    }
    chunk->count = k - chunk->at;
}

void mtx_parse_chunk(const mtx_header *header, mtx_chunk *chunk, const mtx_entries *entries)
{
    chunk->count = chunk->upper = 0;
    chunk->problem = MTX_FINE;
    if (header->is_complex) {
        parse_lines(header, chunk, entries, (line_kind){.coordinate = header->coordinate, .is_complex = true});
    } else if (!header->coordinate) {
        parse_lines(header, chunk, entries, (line_kind){.integer = header->integer});
    } else if (header->pattern) {
        parse_lines(header, chunk, entries, (line_kind){.coordinate = true, .pattern = true});
    } else if (header->integer) {
        parse_lines(header, chunk, entries, (line_kind){.coordinate = true, .integer = true});
    } else {
        parse_lines(header, chunk, entries, (line_kind){.coordinate = true});
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
                                           [MTX_IMAGINARY_NUMBER] =
                                               "the imaginary part of a complex number was expected",
                                           [MTX_LINE_END] = "the end of the line was expected"};
    tess_context *ctx = source->ctx;
    int64_t line = line_of(chunk);
    const char *text = chunk->problem_text;
    char quoted[MTX_QUOTE_BYTES];

    mtx_quote(text, chunk->end, quoted);
    switch (chunk->problem) {
    case MTX_ROW_RANGE:
    case MTX_COLUMN_RANGE:
        return tess_fail_at(
            ctx, TESS_OUT_OF_RANGE, source->name, line,
            header->base == 1 ? "indices count from 1" : "indices count from 0 in this file",
            "the %s index '%s' is outside the range %d to %lld", chunk->problem == MTX_ROW_RANGE ? "row" : "column",
            quoted, header->base,
            (long long)((chunk->problem == MTX_ROW_RANGE ? header->nrows : header->ncols) + header->base - 1));
    case MTX_HERMITIAN_DIAGONAL:
        return tess_fail_at(ctx, TESS_PARSE, source->name, line, "write 'general' or 'symmetric' in the banner",
                            "'%s' is on the diagonal of a Hermitian matrix, whose imaginary parts there are 0", quoted);
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
