/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Harwell-Boeing and Rutherford-Boeing files: a head of four or five lines, then pointers of columns, row indices,
 * values and right-hand sides in fixed columns, as the Fortran formats of the head say. Sources: I. Duff, R. Grimes,
 * J. Lewis, "Users' guide for the Harwell-Boeing sparse matrix collection", 1992; "The Rutherford-Boeing sparse matrix
 * collection", 1997.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <tessera/names.h>

#include "io/lines.h"
#include "io/readers.h"

enum { FORMATS = 4, WIDEST = 60 };

/* A Fortran format such as (1P,4E20.12): `count` items a line, each of `width` characters. */
typedef struct fortran_format {
    int64_t count, width, decimals; /* decimals: where the text has no point */
} fortran_format;

typedef struct hb_file {
    text_lines t;
    fortran_format form; /* of the part that is read */
    int64_t column;      /* of the line: items taken of it; count at its end */
    int64_t left;        /* items of the part that are still to come */
    bool words;          /* the line has as many words as items */
    text_word rest;      /* of such a line */
    char type[4];
    bool is_complex;
    int parts;
    int64_t nrows, ncols, entries, values; /* values: of unassembled matrices */
    int64_t rhs_lines, rhs, rhs_entries;
    char rhs_type[4];
    fortran_format format[FORMATS];
} hb_file;

/* ---- the head ---- */

static bool is_type(const char *p)
{
    static const char *const letters[] = {"RCPIQ", "SUHZR", "AE"};

    for (int i = 0; i < 3; i++) {
        if (!isalpha((unsigned char)p[i]) || !strchr(letters[i], toupper((unsigned char)p[i]))) { return false; }
    }
    return true;
}

/* Second and third line: counts of lines; a type such as RSA and sizes. */
bool harwell_boeing_knows(const file_head *head)
{
    const blob b = {.bytes = head->bytes, .count = head->count};
    text_lines t = text_lines_of(&b);
    text_word word;
    int64_t number = 0;

    for (int i = 0; i < 2; i++) {
        if (!text_next_line(&t)) { return false; }
    }
    text_word rest = t.line;
    for (int i = 0; i < 4; i++) { /* four counts; a fifth may be absent */
        if (!text_next_word(&rest, " \t", &word) || !text_integer(word, &number)) { return false; }
    }
    if (!text_next_line(&t)) { return false; }
    rest = t.line;
    return text_next_word(&rest, " \t", &word) && word.length == 3 && is_type(word.text) &&
           text_next_word(&rest, " \t", &word) && text_integer(word, &number);
}

static tess_status next_line(hb_file *f, const char *expected)
{
    return text_next_line(&f->t) ? TESS_SUCCESS : text_fail_end(&f->t, expected);
}

/* Up to `most` integers of the line behind `skip` characters; missing ones are 0. */
static tess_status take_counts(hb_file *f, size_t skip, int least, int most, int64_t *to)
{
    text_word rest = f->t.line, word;

    rest.text += skip < rest.length ? skip : rest.length;
    rest.length -= skip < rest.length ? skip : rest.length;
    for (int i = 0; i < most; i++) {
        to[i] = 0;
        if (!text_next_word(&rest, " \t", &word)) {
            if (i < least) { return text_fail(&f->t, f->t.line, "another number in this line of the head"); }
            continue;
        }
        if (!text_integer(word, &to[i]) || to[i] < 0) { return text_fail(&f->t, word, "a count of 0 or more"); }
    }
    return TESS_SUCCESS;
}

/* Digits at *p; 0 without any. */
static int64_t take_digits(const char **p, const char *end)
{
    int64_t value = 0;

    for (; *p < end && isdigit((unsigned char)**p); (*p)++) {
        value = value < 100000 ? 10 * value + (**p - '0') : value;
    }
    return value;
}

/* "(1P,4E20.12)": a scale in front, the count, a letter, the width, digits behind the point. */
static bool parse_format(text_word word, fortran_format *to)
{
    const char *p = word.text, *end = p + word.length;

    *to = (fortran_format){.count = 1};
    while (p < end) {
        const int64_t number = take_digits(&p, end);

        if (p == end) { return false; }
        const char letter = (char)toupper((unsigned char)*p++);
        if (!isalpha((unsigned char)letter) || !strchr("IEDFG", letter)) { continue; }
        to->count = number > 0 ? number : 1;
        to->width = take_digits(&p, end);
        if (p < end && *p == '.') {
            p++;
            to->decimals = letter == 'I' ? 0 : take_digits(&p, end);
        }
        return to->width > 0 && to->width <= WIDEST;
    }
    return false;
}

/* Formats in brackets, in the order in which the line has them. */
static tess_status take_formats(hb_file *f, int least)
{
    const char *p = f->t.line.text, *end = p + f->t.line.length;

    for (int i = 0; i < FORMATS; i++) {
        const char *open = memchr(p, '(', (size_t)(end - p)), *close = NULL;
        int depth = 0;

        for (const char *q = open; q && q < end && !close; q++) {
            depth += *q == '(' ? 1 : *q == ')' ? -1 : 0;
            if (depth == 0) { close = q; }
        }
        if (!close) {
            return i >= least
                       ? TESS_SUCCESS
                       : text_fail(&f->t, f->t.line, "formats such as (10I8) (10I8) (4E20.12) in the fourth line");
        }
        const text_word word = {open, (size_t)(close + 1 - open)};
        if (!parse_format(word, &f->format[i])) {
            return text_fail(&f->t, word, "a format such as (10I8) or (4E20.12)");
        }
        p = close + 1;
    }
    return TESS_SUCCESS;
}

static tess_status check_head(hb_file *f)
{
    const blob *b = f->t.b;
    const bool unassembled = f->type[2] == 'E', pattern = f->type[0] == 'P' || f->type[0] == 'Q';
    const tess_status status = file_check_sizes(b, 0, f->nrows, f->ncols);

    if (status != TESS_SUCCESS) { return status; }
    if (f->entries > b->count || f->values > b->count || f->ncols > b->count || f->rhs > b->count ||
        f->rhs_entries > b->count) {
        return text_fail_end(&f->t, "as many numbers as the head says");
    }
    if (!unassembled && f->type[1] != 'U' && f->type[1] != 'R' && f->nrows != f->ncols) {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 3, NULL,
                            "the type %s is of square matrices, but this one has %s and %s", f->type,
                            tess_count(f->nrows, "row").text, tess_count(f->ncols, "column").text);
    }
    if (unassembled && pattern) {
        return tess_fail_at(b->ctx, TESS_UNSUPPORTED, b->name, 3, "write the assembled matrix",
                            "the pattern of an unassembled matrix has no values");
    }
    return file_check_rows(b, f->nrows);
}

static tess_status read_head(const blob *b, hb_file *f)
{
    int64_t lines[5], sizes[4], rhs[2] = {0, 0};
    tess_status status = TESS_SUCCESS;

    *f = (hb_file){.t = text_lines_of(b)};
    TESS_TRY(next_line(f, "the title"));
    TESS_TRY(next_line(f, "counts of lines"));
    TESS_TRY(take_counts(f, 0, 4, 5, lines));
    TESS_TRY(next_line(f, "the type and sizes"));
    text_word rest = f->t.line, word;
    if (!text_next_word(&rest, " \t", &word) || word.length != 3 || !is_type(word.text)) {
        TESS_TRY(text_fail(&f->t, word, "a type such as RSA or rua"));
    }
    for (int i = 0; i < 3; i++) {
        f->type[i] = (char)toupper((unsigned char)word.text[i]);
    }
    TESS_TRY(take_counts(f, (size_t)(word.text + 3 - f->t.line.text), 3, 4, sizes));
    TESS_TRY(next_line(f, "formats"));
    TESS_TRY(take_formats(f, 2));
    f->rhs_lines = lines[4];
    if (f->rhs_lines > 0) {
        TESS_TRY(next_line(f, "the type of the right-hand sides"));
        rest = f->t.line;
        if (!text_next_word(&rest, " \t", &word) || word.length > 3) {
            TESS_TRY(text_fail(&f->t, word, "a type of right-hand sides such as F"));
        }
        memcpy(f->rhs_type, word.text, word.length);
        TESS_TRY(take_counts(f, (size_t)(word.text + word.length - f->t.line.text), 1, 2, rhs));
    }
    f->nrows = sizes[0];
    f->ncols = sizes[1];
    f->entries = sizes[2];
    f->values = sizes[3];
    f->rhs = rhs[0];
    f->rhs_entries = rhs[1];
    f->is_complex = f->type[0] == 'C';
    f->parts = f->is_complex ? 2 : 1;
    status = check_head(f);
cleanup:
    return status;
}

/* ---- numbers in fixed columns ---- */

/* A part of so many items begins with a line of its own. */
static void begin_part(hb_file *f, int format, int64_t items)
{
    f->form = f->format[format];
    f->column = f->form.count;
    f->left = items;
}

/* The next line of the part. SciPy's hb_write makes columns narrower than the format that it states: where a line has
   as many words as items, blanks are between these. */
static tess_status begin_line(hb_file *f, const char *what)
{
    const tess_status status = next_line(f, what);
    const int64_t items = f->left < f->form.count ? f->left : f->form.count;
    text_word rest = f->t.line, word;
    int64_t words = 0;

    if (status != TESS_SUCCESS) { return status; }
    while (text_next_word(&rest, " \t", &word)) {
        words++;
    }
    f->words = words == items;
    f->rest = f->t.line;
    f->column = 0;
    return TESS_SUCCESS;
}

/* The characters of the next item, without blanks around them. */
static tess_status take_item(hb_file *f, const char *what, text_word *item)
{
    if (f->form.width == 0) {
        return text_fail(&f->t, (text_word){"", 0}, "a format for this part in the fourth line");
    }
    if (f->column >= f->form.count) {
        const tess_status status = begin_line(f, what);

        if (status != TESS_SUCCESS) { return status; }
    }
    f->left--;
    if (f->words) {
        f->column++;
        (void)text_next_word(&f->rest, " \t", item);
        return TESS_SUCCESS;
    }
    const size_t width = (size_t)f->form.width, at = (size_t)f->column++ * width;
    *item = (text_word){f->t.line.text, 0};
    if (at < f->t.line.length) {
        item->text += at;
        item->length = f->t.line.length - at < width ? f->t.line.length - at : width;
    }
    while (item->length > 0 && (*item->text == ' ' || *item->text == '\t')) {
        item->text++;
        item->length--;
    }
    while (item->length > 0 && (item->text[item->length - 1] == ' ' || item->text[item->length - 1] == '\t')) {
        item->length--;
    }
    return TESS_SUCCESS;
}

/* An integer from `least` to `most`. */
static tess_status take_index(hb_file *f, const char *what, int64_t least, int64_t most, int64_t *value)
{
    text_word item;
    const tess_status status = take_item(f, what, &item);

    if (status != TESS_SUCCESS) { return status; }
    if (!text_integer(item, value)) { return text_fail(&f->t, item, what); }
    if (*value >= least && *value <= most) { return TESS_SUCCESS; }
    return tess_fail_at(f->t.b->ctx, TESS_OUT_OF_RANGE, f->t.b->name, f->t.number, "indices count from 1",
                        "%s is %lld, outside of %lld to %lld", what, (long long)*value, (long long)least,
                        (long long)most);
}

/* Fortran leaves the exponent's letter out where it has three digits, and the point where the format has it. */
static bool spell_real(text_word item, const fortran_format *form, double *value)
{
    char text[2 * WIDEST];
    size_t used = 0;
    bool point = false, exponent = false;
    double power = 1.0;

    if (item.length == 0 || item.length > WIDEST) { return false; }
    for (size_t i = 0; i < item.length; i++) {
        const char c = item.text[i];

        point = point || c == '.';
        exponent = exponent || c == 'E' || c == 'e' || c == 'D' || c == 'd';
        if ((c == '+' || c == '-') && i > 0 && !exponent && isdigit((unsigned char)item.text[i - 1])) {
            text[used++] = 'E';
            exponent = true;
        } else if ((c == '+' || c == '-') && i > 0 && !exponent && item.text[i - 1] == '.') {
            text[used++] = 'E';
            exponent = true;
        }
        text[used++] = c;
    }
    if (!text_real((text_word){text, used}, value)) { return false; }
    if (point || isalpha((unsigned char)item.text[item.length - 1])) { return true; }
    for (int64_t k = 0; k < form->decimals; k++) { /* exact up to 22 digits */
        power *= 10.0;
    }
    *value /= power;
    return true;
}

static tess_status take_value(hb_file *f, double *to)
{
    for (int part = 0; part < f->parts; part++) {
        text_word item;
        const tess_status status = take_item(f, "a value", &item);

        if (status != TESS_SUCCESS) { return status; }
        if (!spell_real(item, &f->form, &to[part])) { return text_fail(&f->t, item, "a value"); }
    }
    return TESS_SUCCESS;
}

/* ---- the matrix ---- */

/* Pointers of columns, or of elements, and indices of rows; from 0. */
typedef struct hb_structure {
    int64_t *start;
    int32_t *row;
} hb_structure;

static tess_status take_pointers(hb_file *f, int format, int64_t count, int64_t entries, int64_t *start)
{
    begin_part(f, format, count + 1);
    for (int64_t j = 0; j <= count; j++) {
        int64_t value = 0;
        const tess_status status =
            take_index(f, "the pointer of a column", j == 0 ? 1 : start[j - 1] + 1, j == 0 ? 1 : entries + 1, &value);

        if (status != TESS_SUCCESS) { return status; }
        start[j] = value - 1;
    }
    return TESS_SUCCESS;
}

static tess_status take_structure(hb_file *f, hb_structure *s)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(f->t.b->ctx, f->ncols + 1, sizeof *s->start, (void **)&s->start));
    TESS_TRY(tess_host_allocate(f->t.b->ctx, f->entries, sizeof *s->row, (void **)&s->row));
    TESS_TRY(take_pointers(f, 0, f->ncols, f->entries, s->start));
    begin_part(f, 1, f->entries);
    for (int64_t k = 0; k < f->entries; k++) {
        int64_t value = 0;

        TESS_TRY(take_index(f, "the index of a row", 1, f->nrows, &value));
        s->row[k] = (int32_t)(value - 1);
    }
cleanup:
    return status;
}

static void release_structure(const hb_file *f, hb_structure *s)
{
    tess_host_release(f->t.b->ctx, s->start, f->ncols + 1, sizeof *s->start);
    tess_host_release(f->t.b->ctx, s->row, f->entries, sizeof *s->row);
}

static tess_status take_columns(hb_file *f, const hb_structure *s, text_entries *e)
{
    const bool pattern = f->type[0] == 'P' || f->type[0] == 'Q';

    if (!pattern) { begin_part(f, 2, f->parts * f->entries); }
    for (int64_t j = 0; j < f->ncols; j++) {
        for (int64_t k = s->start[j]; k < s->start[j + 1]; k++) {
            double value[2] = {1.0, 0.0};
            tess_status status = pattern ? TESS_SUCCESS : take_value(f, value);

            if (status == TESS_SUCCESS) { status = text_add_entry(e, s->row[k], j, value); }
            if (status != TESS_SUCCESS) { return status; }
        }
    }
    return TESS_SUCCESS;
}

/* Each element is a dense matrix, column after column; of a symmetric one the lower triangle. */
static tess_status take_elements(hb_file *f, const hb_structure *s, text_entries *e)
{
    const bool whole = f->type[1] == 'U' || f->type[1] == 'R';

    begin_part(f, 2, f->parts * f->values);
    for (int64_t element = 0; element < f->ncols; element++) {
        const int64_t first = s->start[element], last = s->start[element + 1];

        for (int64_t j = first; j < last; j++) {
            for (int64_t i = whole ? first : j; i < last; i++) {
                double value[2] = {0.0, 0.0};
                tess_status status = take_value(f, value);

                if (status == TESS_SUCCESS) { status = text_add_entry(e, s->row[i], s->row[j], value); }
                if (status != TESS_SUCCESS) { return status; }
            }
        }
    }
    return TESS_SUCCESS;
}

static tess_symmetry symmetry_of(const hb_file *f)
{
    switch (f->type[1]) {
    case 'S': return TESS_SYMMETRY_SYMMETRIC;
    case 'H': return f->is_complex ? TESS_SYMMETRY_HERMITIAN : TESS_SYMMETRY_SYMMETRIC;
    case 'Z': return TESS_SYMMETRY_SKEW;
    default: return TESS_SYMMETRY_GENERAL;
    }
}

/* The matrix, and the cursor behind it. */
static tess_status take_matrix(hb_file *f, text_entries *e)
{
    hb_structure s = {.start = NULL};
    tess_status status = take_structure(f, &s);

    if (status == TESS_SUCCESS) { status = f->type[2] == 'E' ? take_elements(f, &s, e) : take_columns(f, &s, e); }
    release_structure(f, &s);
    return status;
}

static tess_entries entries_of(const hb_file *f, const text_entries *e)
{
    return (tess_entries){.nrows = f->nrows,
                          .ncols = f->type[2] == 'E' ? f->nrows : f->ncols,
                          .count = e->count,
                          .row = e->row,
                          .col = e->col,
                          .val = e->val,
                          .is_complex = f->is_complex,
                          .symmetry = symmetry_of(f)};
}

tess_status harwell_boeing_read_matrix(const blob *b, file_csr *out)
{
    hb_file f;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(read_head(b, &f));
    e.parts = f.parts;
    TESS_TRY(take_matrix(&f, &e));
    const tess_entries entries = entries_of(&f, &e);
    TESS_TRY(file_csr_from_entries(b->ctx, &entries, out));
    (void)snprintf(out->kind, sizeof out->kind, "Harwell-Boeing, %s", f.type);
cleanup:
    text_release_entries(&e);
    return status;
}

/* ---- right-hand sides ---- */

/* Stored as the matrix is: pointers, rows, values. */
static tess_status take_sparse_rhs(hb_file *f, file_array *out)
{
    tess_context *ctx = f->t.b->ctx;
    int64_t *start = NULL;
    int32_t *row = NULL;
    tess_status status = TESS_SUCCESS;

    memset(out->val, 0, (size_t)file_array_numbers(out) * sizeof *out->val);
    TESS_TRY(tess_host_allocate(ctx, f->rhs + 1, sizeof *start, (void **)&start));
    TESS_TRY(tess_host_allocate(ctx, f->rhs_entries, sizeof *row, (void **)&row));
    TESS_TRY(take_pointers(f, 0, f->rhs, f->rhs_entries, start));
    begin_part(f, 1, f->rhs_entries);
    for (int64_t k = 0; k < f->rhs_entries; k++) {
        int64_t value = 0;

        TESS_TRY(take_index(f, "the index of a row", 1, f->nrows, &value));
        row[k] = (int32_t)(value - 1);
    }
    begin_part(f, 3, f->parts * f->rhs_entries);
    for (int64_t j = 0; j < f->rhs; j++) {
        for (int64_t k = start[j]; k < start[j + 1]; k++) {
            TESS_TRY(take_value(f, out->val + f->parts * (j * f->nrows + row[k])));
        }
    }
cleanup:
    tess_host_release(ctx, start, f->rhs + 1, sizeof *start);
    tess_host_release(ctx, row, f->rhs_entries, sizeof *row);
    return status;
}

tess_status harwell_boeing_read_array(const blob *b, file_array *out)
{
    hb_file f;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(read_head(b, &f));
    if (f.rhs_lines == 0 && f.ncols < f.nrows) { /* vectors, given as a matrix */
        e.parts = f.parts;
        TESS_TRY(take_matrix(&f, &e));
        const tess_entries entries = entries_of(&f, &e);
        status = file_array_from_entries(b, &entries, out);
        goto cleanup;
    }
    if (f.rhs_lines == 0 || f.rhs == 0) {
        TESS_TRY(tess_fail_at(b->ctx, TESS_NOT_FOUND, b->name, 0, "give the right-hand side in a file of its own",
                              "the Harwell-Boeing file has no right-hand side"));
    }
    if (f.nrows > 0 && f.rhs > b->count / f.nrows) {
        TESS_TRY(text_fail_end(&f.t, "as many right-hand sides as it says"));
    }
    e.parts = f.parts;
    TESS_TRY(take_matrix(&f, &e));
    *out = (file_array){.nrows = f.nrows, .ncols = f.rhs, .is_complex = f.is_complex};
    TESS_TRY(file_array_allocate(b->ctx, out));
    if (toupper((unsigned char)f.rhs_type[0]) == 'M') {
        TESS_TRY(take_sparse_rhs(&f, out));
        goto cleanup;
    }
    begin_part(&f, 3, f.parts * f.nrows * f.rhs);
    for (int64_t k = 0; k < f.nrows * f.rhs; k++) {
        TESS_TRY(take_value(&f, out->val + f.parts * k));
    }
cleanup:
    text_release_entries(&e);
    if (status != TESS_SUCCESS) { file_array_release(b->ctx, out); }
    return status;
}
