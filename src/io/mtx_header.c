/* SPDX-License-Identifier: Apache-2.0 */
/* Banner, comments and size line of Matrix Market text. */
#include <string.h>
#include <strings.h>

#include <tessera/names.h>

#include "base/spare_memory.h"
#include "io/mtx.h"

/* A word between blanks. */
typedef struct token {
    const char *text;
    size_t length;
} token;

enum { MAX_TOKENS = 6 };

typedef struct banner_word {
    const char *word;
    int value;
} banner_word;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Up to MAX_TOKENS words of a line; returns how many. */
static int split_line(const char *p, const char *end, token tokens[MAX_TOKENS])
{
    int count = 0;

    while (count < MAX_TOKENS) {
        while (p < end && is_blank(*p)) {
            p++;
        }
        if (p == end) { break; }
        tokens[count].text = p;
        while (p < end && !is_blank(*p)) {
            p++;
        }
        tokens[count].length = (size_t)(p - tokens[count].text);
        count++;
    }
    return count;
}

const char *mtx_quote(const char *p, const char *end, char quoted[MTX_QUOTE_BYTES])
{
    int used = 0;

    while (p < end && !is_blank(*p) && *p != '\n' && !(*p == '\r' && p[1] == '\n') && used < MTX_QUOTE_BYTES - 4) {
        quoted[used++] = *p >= ' ' && *p <= '~' ? *p : '?';
        p++;
    }
    if (used == MTX_QUOTE_BYTES - 4) {
        memset(quoted + used, '.', 3);
        used += 3;
    }
    quoted[used] = '\0';
    return quoted;
}

static bool token_is(token word, const char *name)
{
    return word.length == strlen(name) && strncasecmp(word.text, name, word.length) == 0;
}

/* The value of a word in a list ended by NULL, or -1. */
static int look_up(token word, const banner_word *list)
{
    for (; list->word; list++) {
        if (token_is(word, list->word)) { return list->value; }
    }
    return -1;
}

static tess_status fail_word(const text_source *source, int64_t line, token word, const char *expected)
{
    char quoted[MTX_QUOTE_BYTES];

    return tess_fail_at(source->ctx, TESS_PARSE, source->name, line, NULL, "found '%s', but %s was expected",
                        mtx_quote(word.text, word.text + word.length, quoted), expected);
}

/* ---- banner ---- */

enum { FIELD_REAL, FIELD_INTEGER, FIELD_PATTERN, FIELD_COMPLEX };

static const banner_word formats[] = {{"coordinate", 1}, {"array", 0}, {NULL, 0}};
/* SciPy's mmwrite names arrays of unsigned integers so. */
static const banner_word fields[] = {{"real", FIELD_REAL},
                                     {"double", FIELD_REAL},
                                     {"integer", FIELD_INTEGER},
                                     {"unsigned-integer", FIELD_INTEGER},
                                     {"pattern", FIELD_PATTERN},
                                     {"complex", FIELD_COMPLEX},
                                     {NULL, 0}};
static const banner_word symmetries[] = {{"general", TESS_SYMMETRY_GENERAL},
                                         {"symmetric", TESS_SYMMETRY_SYMMETRIC},
                                         {"skew-symmetric", TESS_SYMMETRY_SKEW},
                                         {"hermitian", TESS_SYMMETRY_HERMITIAN},
                                         {NULL, 0}};

static tess_status check_combination(const text_source *source, const mtx_header *header, int field, int symmetry)
{
    if (field == FIELD_PATTERN && (!header->coordinate || symmetry == TESS_SYMMETRY_SKEW)) {
        return tess_fail_at(source->ctx, TESS_PARSE, source->name, 1,
                            "write 'real' in the banner, with a value for each entry", "a pattern cannot be %s",
                            header->coordinate ? "skew-symmetric" : "an array");
    }
    return TESS_SUCCESS;
}

/* ---- the banner ---- */

static tess_status read_banner(text_source *source, mtx_header *header)
{
    const char *line = NULL, *end = NULL;
    token words[MAX_TOKENS];
    int64_t number = 0;
    int count = 0, format = 0, field = 0, symmetry = 0;
    tess_status status = text_source_line(source, &line, &end, &number);

    if (status != TESS_SUCCESS) { return status; }
    count = line ? split_line(line, end, words) : 0;
    if (count == 0 || !token_is(words[0], "%%MatrixMarket")) {
        const token first = count ? words[0] : (token){"", 0};

        return fail_word(source, 1, first, "the banner '%%MatrixMarket matrix ...' of a Matrix Market file");
    }
    if (count != 5) {
        return tess_fail_at(source->ctx, TESS_PARSE, source->name, 1,
                            "the banner is such as %%MatrixMarket matrix coordinate real general",
                            "the banner has %s than five words", count < 5 ? "fewer" : "more");
    }
    if (!token_is(words[1], "matrix")) { return fail_word(source, 1, words[1], "'matrix'"); }
    format = look_up(words[2], formats);
    if (format < 0) { return fail_word(source, 1, words[2], "'coordinate' or 'array'"); }
    field = look_up(words[3], fields);
    if (field < 0) { return fail_word(source, 1, words[3], "'real', 'integer', 'complex' or 'pattern'"); }
    symmetry = look_up(words[4], symmetries);
    if (symmetry < 0) {
        return fail_word(source, 1, words[4], "'general', 'symmetric', 'skew-symmetric' or 'hermitian'");
    }
    header->coordinate = format == 1;
    header->pattern = field == FIELD_PATTERN;
    header->integer = field == FIELD_INTEGER;
    header->is_complex = field == FIELD_COMPLEX;
    header->base = 1;
    status = check_combination(source, header, field, symmetry);
    if (status == TESS_SUCCESS) { header->symmetry = (tess_symmetry)symmetry; }
    if (header->symmetry == TESS_SYMMETRY_HERMITIAN && !header->is_complex) { /* of real numbers the same */
        header->symmetry = TESS_SYMMETRY_SYMMETRIC;
    }
    return status;
}

/* ---- size line ---- */

/* A nonnegative integer up to `limit`. */
static tess_status read_size(const text_source *source, int64_t line, token word, const char *what, int64_t limit,
                             int64_t *value)
{
    char quoted[MTX_QUOTE_BYTES];
    uint64_t sum = 0;
    bool large = false;

    for (size_t i = 0; i < word.length; i++) {
        unsigned digit = (unsigned char)(word.text[i] - '0');

        if (digit > 9) { return fail_word(source, line, word, what); }
        large = large || sum > ((uint64_t)limit - digit) / 10;
        sum = large ? sum : 10 * sum + digit;
    }
    if (large) {
        return tess_fail_at(source->ctx, TESS_OUT_OF_RANGE, source->name, line, "check the size line",
                            "%s is %s, but at most %lld is possible", what,
                            mtx_quote(word.text, word.text + word.length, quoted), (long long)limit);
    }
    *value = (int64_t)sum;
    return TESS_SUCCESS;
}

/* Values that an array lists: all, the lower triangle, or that without its diagonal. At most 2^62. */
static int64_t array_entries(const mtx_header *header)
{
    int64_t n = header->nrows;

    if (header->symmetry == TESS_SYMMETRY_GENERAL) { return n * header->ncols; }
    return header->symmetry == TESS_SYMMETRY_SKEW ? n * (n - 1) / 2 : n * (n + 1) / 2;
}

/* Up to so many rows and columns need no entries; beyond it at least one in so many must have one. */
enum { ALWAYS_PLAUSIBLE = 1 << 24, MOST_EMPTY = 256 };
/* Bytes that reading takes at least: offsets and counters of a row, and an entry as read and as assembled. */
enum { ROW_BYTES = 12, ENTRY_BYTES = 28, COMPLEX_ENTRY_BYTES = 136 /* four entries of the real form */ };

/* Checks that the sizes are such as a matrix has, and that memory suffices, before it is requested: an array of 2^31
   rows would end the process where the system promises more memory than it has. */
static tess_status check_memory(const text_source *source, const mtx_header *header)
{
    const int64_t larger = header->nrows > header->ncols ? header->nrows : header->ncols;
    const double needed = (double)ROW_BYTES * (double)larger +
                          (double)(header->is_complex ? COMPLEX_ENTRY_BYTES : ENTRY_BYTES) * (double)header->entries;
    const int64_t spare = needed < 1e8 ? INT64_MAX : tess_spare_memory();

    if (larger > ALWAYS_PLAUSIBLE && larger / MOST_EMPTY > header->entries) {
        return tess_fail_at(source->ctx, TESS_OUT_OF_RANGE, source->name, header->size_line, "check the size line",
                            "the size line announces %s, %s and %s: almost all rows or columns would be empty",
                            tess_count(header->nrows, "row").text, tess_count(header->ncols, "column").text,
                            tess_count(header->entries, "entry").text);
    }
    if (needed <= (double)spare) { return TESS_SUCCESS; }
    return tess_fail_at(source->ctx, TESS_OUT_OF_MEMORY, source->name, header->size_line,
                        "read it on a machine with more memory, or raise the limit (ulimit -v, control group)",
                        "%s and %s take at least %.3g GB to read, but only %.3g GB are left",
                        tess_count(header->nrows, "row").text, tess_count(header->entries, "entry").text, 1e-9 * needed,
                        1e-9 * (double)spare);
}

/* "1 1\n", "1 1 1\n" or "1\n"; two more characters where there is an imaginary part */
int64_t mtx_smallest_line(const mtx_header *header)
{
    return (header->coordinate ? (header->pattern ? 4 : 6) : 2) + (header->is_complex ? 2 : 0);
}

/* Checks that a file of this many bytes can hold the entries, before memory is requested. */
static tess_status check_plausible(const text_source *source, const mtx_header *header)
{
    int64_t remaining = text_source_remaining(source);

    if (remaining == INT64_MAX || header->entries <= remaining / mtx_smallest_line(header) + 1) {
        return check_memory(source, header);
    }
    return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line, "the file may be incomplete",
                        "the size line announces %s, more than a file of %lld bytes can hold",
                        tess_count(header->entries, "entry").text, (long long)source->stored_bytes);
}

static tess_status read_sizes(const text_source *source, mtx_header *header, const char *line, const char *end)
{
    static const char *const names[] = {"the number of rows", "the number of columns", "the number of entries"};
    int64_t *values[] = {&header->nrows, &header->ncols, &header->entries};
    token words[MAX_TOKENS];
    int count = split_line(line, end, words), expected = header->coordinate ? 3 : 2;

    if (count != expected) {
        return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line,
                            "check the size line, the first line after the comments",
                            "the size line has %s, but it must give %s", tess_count(count, "word").text,
                            header->coordinate ? "rows, columns and entries" : "rows and columns");
    }
    for (int i = 0; i < expected; i++) {
        tess_status status =
            read_size(source, header->size_line, words[i], names[i], i < 2 ? TESS_MAX_ROWS : INT64_MAX, values[i]);

        if (status != TESS_SUCCESS) { return status; }
    }
    if (header->symmetry != TESS_SYMMETRY_GENERAL && header->nrows != header->ncols) {
        return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line, "write 'general' in the banner",
                            "the matrix is %lld by %lld, not square, but the banner says that it is %s",
                            (long long)header->nrows, (long long)header->ncols,
                            header->symmetry == TESS_SYMMETRY_SKEW        ? "skew-symmetric"
                            : header->symmetry == TESS_SYMMETRY_HERMITIAN ? "Hermitian"
                                                                          : "symmetric");
    }
    if (!header->coordinate) { header->entries = array_entries(header); }
    return check_plausible(source, header);
}

tess_status mtx_read_header(text_source *source, mtx_header *header)
{
    tess_status status = TESS_SUCCESS;

    *header = (mtx_header){0};
    status = read_banner(source, header);
    while (status == TESS_SUCCESS) {
        const char *line = NULL, *end = NULL;
        token words[MAX_TOKENS];

        status = text_source_line(source, &line, &end, &header->size_line);
        if (status != TESS_SUCCESS) { break; }
        if (!line) {
            return tess_fail_at(source->ctx, TESS_PARSE, source->name, header->size_line, "the file may be incomplete",
                                "the file ends before its size line");
        }
        if (split_line(line, end, words) > 0 && *words[0].text != '%') { return read_sizes(source, header, line, end); }
    }
    return status;
}
