/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of numbers in text that says nothing about itself: numpy.savetxt, MATLAB's save -ascii, spreadsheets. Only
 * the file's name tells that it is meant. As vectors: a row of the table is a row of each vector. As a matrix: three
 * columns of which two are integers are rows, columns and values, from 0 if a 0 is among them, else from 1; any other
 * table is a dense matrix.
 */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/lines.h"
#include "io/readers.h"

static const char separators[] = " \t,;";

static bool has_end(const char *name, const char *end)
{
    const size_t length = strlen(name), n = strlen(end);

    return length >= n && strcmp(name + length - n, end) == 0;
}

/* The name, without what tells of compression: "b.txt.gz", and "A.zip(b.txt" of a member. */
static bool has_plain_name(const char *name)
{
    static const char *const ends[] = {".txt", ".dat", ".csv", ".tsv", ".coo", ".ijv"};
    static const char *const packed[] = {".gz", ".bz2", ".xz", ".zst", ")"};
    char copy[256];
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        if (has_end(name, packed[i])) {
            length -= strlen(packed[i]);
            break;
        }
    }
    snprintf(copy, sizeof copy, "%s", name + (length >= sizeof copy ? length - sizeof copy + 1 : 0));
    copy[length < sizeof copy ? length : sizeof copy - 1] = '\0';
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (has_end(copy, ends[i])) { return true; }
    }
    return false;
}

static bool is_comment(text_word line)
{
    text_word word;

    return !text_next_word(&line, separators, &word) || *word.text == '#' || *word.text == '%';
}

/* The first line that is no comment, perhaps behind one line of titles, begins with a number. */
bool plain_knows(const file_head *head)
{
    const blob b = {.bytes = head->bytes, .count = head->count};
    text_lines t = text_lines_of(&b);
    double value = 0.0;

    if (!has_plain_name(head->name) || (head->count > 1 && memcmp(head->bytes, "%%", 2) == 0) ||
        tess_is_stranger(head)) {
        return false;
    }
    for (int lines = 0; lines < 2 && text_next_line(&t);) {
        text_word rest = t.line, word;

        if (is_comment(t.line)) { continue; }
        if (text_next_word(&rest, separators, &word) && text_real(word, &value)) { return true; }
        lines++;
    }
    return false;
}

typedef struct plain_table {
    text_lines t; /* at the first line of numbers */
    int64_t nrows, ncols;
} plain_table;

/* Numbers of a line; -1 where a word is no number, which goes to *wrong. */
static int64_t count_numbers(text_word line, text_word *wrong)
{
    text_word word;
    int64_t count = 0;

    while (text_next_word(&line, separators, &word)) {
        double value = 0.0;

        if (!text_real(word, &value)) {
            *wrong = word;
            return -1;
        }
        count++;
    }
    return count;
}

/* Counts rows, and sees that all have as many numbers. */
static tess_status measure(const blob *b, plain_table *table)
{
    text_lines t = text_lines_of(b), before = t;
    text_word wrong = {"", 0};
    bool titles = false;

    *table = (plain_table){.nrows = 0};
    while (text_next_line(&t)) {
        const int64_t count = is_comment(t.line) ? 0 : count_numbers(t.line, &wrong);

        if (count < 0 && (titles || table->nrows > 0)) { return text_fail(&t, wrong, "a number"); }
        titles = titles || count < 0; /* one line of them */
        if (count > 0 && table->nrows == 0) {
            table->t = before;
            table->ncols = count;
        }
        if (count > 0 && count != table->ncols) {
            return tess_fail_at(b->ctx, TESS_PARSE, b->name, t.number, NULL,
                                "the line has %s, but the first one has %lld", tess_count(count, "number").text,
                                (long long)table->ncols);
        }
        table->nrows += count > 0;
        before = t;
    }
    if (table->nrows == 0) { return text_fail_end(&t, "a line of numbers"); }
    return file_check_sizes(b, 0, table->nrows, table->ncols);
}

/* The next line of numbers; there is one. */
static text_word next_numbers(plain_table *table)
{
    do {
        (void)text_next_line(&table->t);
    } while (is_comment(table->t.line));
    return table->t.line;
}

tess_status plain_read_array(const blob *b, file_array *out)
{
    plain_table table;
    tess_status status = measure(b, &table);

    *out = (file_array){.nrows = table.nrows, .ncols = table.ncols};
    if (status == TESS_SUCCESS) { status = file_array_allocate(b->ctx, out); }
    for (int64_t i = 0; i < table.nrows && status == TESS_SUCCESS; i++) {
        text_word line = next_numbers(&table), word;

        for (int64_t j = 0; j < table.ncols; j++) {
            (void)text_next_word(&line, separators, &word);
            (void)text_real(word, &out->val[j * out->nrows + i]);
        }
    }
    return status;
}

/* ---- matrices ---- */

static bool is_index(double value)
{
    return value >= 0.0 && value <= (double)TESS_MAX_ROWS && value == (double)(int64_t)value;
}

/* Whether the table is rows, columns and values; *least and *most are of the indices. */
static bool is_triplets(const file_array *a, double *least, double most[2])
{
    *least = (double)TESS_MAX_ROWS;
    most[0] = most[1] = 0.0;
    for (int64_t k = 0; k < 2 * a->nrows && a->ncols == 3; k++) {
        if (!is_index(a->val[k])) { return false; }
        *least = a->val[k] < *least ? a->val[k] : *least;
        if (a->val[k] > most[k / a->nrows]) { most[k / a->nrows] = a->val[k]; }
    }
    return a->ncols == 3;
}

static tess_status collect(const file_array *a, bool triplets, int base, text_entries *e)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < a->nrows * (triplets ? 1 : a->ncols) && status == TESS_SUCCESS; k++) {
        const double *value = &a->val[triplets ? 2 * a->nrows + k : k];

        if (triplets) {
            status = text_add_entry(e, (int64_t)a->val[k] - base, (int64_t)a->val[a->nrows + k] - base, value);
        } else if (*value != 0.0) {
            status = text_add_entry(e, k % a->nrows, k / a->nrows, value);
        }
    }
    return status;
}

tess_status plain_read_matrix(const blob *b, file_csr *out)
{
    file_array table = {.nrows = 0};
    text_entries e = {.ctx = b->ctx, .parts = 1};
    double least = 0.0, most[2];
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(plain_read_array(b, &table));
    const bool triplets = is_triplets(&table, &least, most);
    const int base = triplets && least == 0.0 ? 0 : 1;
    const int64_t nrows = triplets ? (int64_t)most[0] + 1 - base : table.nrows;
    const int64_t ncols = triplets ? (int64_t)most[1] + 1 - base : table.ncols;
    TESS_TRY(file_check_sizes(b, 0, nrows, ncols));
    TESS_TRY(file_check_rows(b, nrows));
    TESS_TRY(collect(&table, triplets, base, &e));
    TESS_TRY(file_csr_from_entries(
        b->ctx,
        &(tess_entries){.nrows = nrows, .ncols = ncols, .count = e.count, .row = e.row, .col = e.col, .val = e.val},
        out));
    (void)snprintf(out->kind, sizeof out->kind, triplets ? "text, triplets from %d" : "text, dense", base);
cleanup:
    file_array_release(b->ctx, &table);
    text_release_entries(&e);
    return status;
}
