/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hypre's IJ files, as HYPRE_IJMatrixPrint and HYPRE_IJVectorPrint write them: NAME.00000, NAME.00001, ..., one for
 * each process, each with the first and last row (of a matrix: and column) of the process and then its entries, from 0.
 */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/lines.h"
#include "io/readers.h"

enum { DIGITS = 5, MOST_PROCESSES = 100000 };
static const char blanks[] = " \t";

static bool has_number(const char *name)
{
    const size_t length = strlen(name);

    if (length <= DIGITS + 1 || name[length - DIGITS - 1] != '.') { return false; }
    return strspn(name + length - DIGITS, "0123456789") == DIGITS;
}

/* Integers in the line, or -1 where it has something else; the first four go to `to`. */
static int count_integers(text_word line, int64_t to[4])
{
    text_word word;
    int count = 0;

    while (text_next_word(&line, blanks, &word)) {
        int64_t value = 0;

        if (!text_integer(word, &value)) { return -1; }
        if (count < 4) { to[count] = value; }
        count++;
    }
    return count;
}

bool hypre_knows(const file_head *head)
{
    const blob b = {.bytes = head->bytes, .count = head->count};
    text_lines t = text_lines_of(&b);
    int64_t range[4];

    if (!has_number(head->name) || !text_next_line(&t)) { return false; }
    const int count = count_integers(t.line, range);
    return count == 2 || count == 4;
}

/* A file of one process. */
typedef struct ij_part {
    text_lines t;
    int64_t first, last, first_col, last_col;
    bool matrix;
} ij_part;

/* "first last first last" of a matrix, perhaps on two lines, or "first last" of a vector. */
static tess_status read_range(const blob *b, ij_part *part)
{
    int64_t range[4] = {0, -1, 0, -1}, cols[4];

    *part = (ij_part){.t = text_lines_of(b)};
    if (!text_next_line(&part->t)) { return text_fail_end(&part->t, "the first and last row"); }
    int count = count_integers(part->t.line, range);
    text_lines second = part->t;
    if (count == 2 && text_next_line(&second) && count_integers(second.line, cols) == 2) {
        text_lines third = second;
        text_word rest = text_next_line(&third) ? third.line : (text_word){"", 0}, word;
        int words = 0;

        while (text_next_word(&rest, blanks, &word)) {
            words++;
        }
        if (words == 3) { /* an entry of a matrix: the second line was the columns */
            part->t = second;
            range[2] = cols[0];
            range[3] = cols[1];
            count = 4;
        }
    }
    if (count != 2 && count != 4) { return text_fail(&part->t, part->t.line, "the first and last row, and column"); }
    part->matrix = count == 4;
    part->first = range[0];
    part->last = range[1];
    part->first_col = part->matrix ? range[2] : 0;
    part->last_col = part->matrix ? range[3] : 0;
    if (part->first < 0 || part->last < part->first - 1 || part->last >= TESS_MAX_ROWS || part->first_col < 0 ||
        part->last_col < part->first_col - 1 || part->last_col >= TESS_MAX_ROWS) {
        return text_fail(&part->t, part->t.line, "a first row (and column) from 0 and a last one behind it");
    }
    return TESS_SUCCESS;
}

static tess_status check_index(const ij_part *part, const char *what, int64_t value, int64_t least, int64_t most)
{
    if (value >= least && value <= most) { return TESS_SUCCESS; }
    return tess_fail_at(part->t.b->ctx, TESS_OUT_OF_RANGE, part->t.b->name, part->t.number, "indices count from 0",
                        "the %s %lld is outside of %lld to %lld", what, (long long)value, (long long)least,
                        (long long)most);
}

/* "row column value" or "row value". */
static tess_status read_entry(const ij_part *part, text_entries *e)
{
    text_word rest = part->t.line, word;
    int64_t index[2] = {0, 0};
    double value = 0.0;

    for (int i = 0; i < (part->matrix ? 2 : 1); i++) {
        (void)text_next_word(&rest, blanks, &word);
        if (!text_integer(word, &index[i])) { return text_fail(&part->t, word, i == 0 ? "a row" : "a column"); }
    }
    (void)text_next_word(&rest, blanks, &word);
    if (!text_real(word, &value)) { return text_fail(&part->t, word, "a number"); }
    if (text_next_word(&rest, blanks, &word)) { return text_fail(&part->t, word, "the end of the line"); }
    tess_status status = check_index(part, "row", index[0], part->first, part->last);
    if (status == TESS_SUCCESS && part->matrix) {
        status = check_index(part, "column", index[1], 0, TESS_MAX_ROWS - 1);
    }
    return status == TESS_SUCCESS ? text_add_entry(e, index[0], index[1], &value) : status;
}

/* All entries of one process; *nrows and *ncols grow. */
static tess_status read_part(const blob *b, bool matrix, int64_t *nrows, int64_t *ncols, text_entries *e)
{
    ij_part part;
    tess_status status = read_range(b, &part);

    if (status == TESS_SUCCESS && part.matrix != matrix) {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, NULL, "the file is a %s of hypre, but a %s was expected",
                            part.matrix ? "matrix" : "vector", matrix ? "matrix" : "vector");
    }
    if (status == TESS_SUCCESS && part.first != *nrows) {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 1, "give the first file, NAME.00000",
                            "the file begins with row %lld, but %lld was expected", (long long)part.first,
                            (long long)*nrows);
    }
    while (status == TESS_SUCCESS && text_next_line(&part.t)) {
        text_word rest = part.t.line, word;

        if (text_next_word(&rest, blanks, &word)) { status = read_entry(&part, e); }
    }
    *nrows = part.last + 1;
    *ncols = part.last_col + 1 > *ncols ? part.last_col + 1 : *ncols;
    return status;
}

/* The files of the other processes lie beside the first one. *more: there was one. */
static tess_status read_other(const blob *first, int number, bool matrix, int64_t *nrows, int64_t *ncols,
                              text_entries *e, bool *more)
{
    char name[512];
    const int length = (int)strlen(first->name) - DIGITS;
    text_source source;
    blob b = {.ctx = first->ctx};
    const tess_error before = first->ctx->error;

    *more = false;
    if (snprintf(name, sizeof name, "%.*s%05d", length, first->name, number) >= (int)sizeof name) {
        return TESS_SUCCESS;
    }
    tess_status status = text_source_open_file(first->ctx, name, SOURCE_MATRIX, &source);
    if (status == TESS_NOT_FOUND) {
        first->ctx->error = before;
        return TESS_SUCCESS;
    }
    if (status != TESS_SUCCESS) { return status; }
    *more = true;
    status = blob_read(&source, &b);
    if (status == TESS_SUCCESS) { status = read_part(&b, matrix, nrows, ncols, e); }
    blob_release(&b);
    text_source_close(&source);
    return status;
}

static tess_status read_all(const blob *b, bool matrix, tess_entries *all, text_entries *e)
{
    int64_t nrows = 0, ncols = 0;
    bool more = b->own != NULL; /* a file, not memory */
    tess_status status = read_part(b, matrix, &nrows, &ncols, e);

    for (int number = 1; status == TESS_SUCCESS && more && number < MOST_PROCESSES; number++) {
        status = read_other(b, number, matrix, &nrows, &ncols, e, &more);
    }
    if (status == TESS_SUCCESS) { status = file_check_rows(b, nrows); }
    *all = (tess_entries){
        .nrows = nrows, .ncols = matrix ? ncols : 1, .count = e->count, .row = e->row, .col = e->col, .val = e->val};
    for (int64_t k = 0; k < e->count && status == TESS_SUCCESS; k++) {
        if (e->col[k] >= all->ncols) {
            status = tess_fail_at(b->ctx, TESS_OUT_OF_RANGE, b->name, 0, NULL,
                                  "the column %d of row %d is outside of 0 to %lld", e->col[k], e->row[k],
                                  (long long)all->ncols - 1);
        }
    }
    return status;
}

tess_status hypre_read_matrix(const blob *b, file_csr *out)
{
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries all;

    *out = (file_csr){.nrows = 0};
    tess_status status = read_all(b, true, &all, &e);
    if (status == TESS_SUCCESS) { status = file_csr_from_entries(b->ctx, &all, out); }
    if (status == TESS_SUCCESS) { (void)snprintf(out->kind, sizeof out->kind, "hypre IJ"); }
    text_release_entries(&e);
    return status;
}

tess_status hypre_read_array(const blob *b, file_array *out)
{
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries all;

    *out = (file_array){.nrows = 0};
    tess_status status = read_all(b, false, &all, &e);
    if (status == TESS_SUCCESS) {
        *out = (file_array){.nrows = all.nrows, .ncols = 1};
        status = file_array_allocate(b->ctx, out);
    }
    if (status == TESS_SUCCESS && out->nrows > 0) {
        memset(out->val, 0, (size_t)out->nrows * sizeof *out->val);
        for (int64_t k = 0; k < e.count; k++) {
            out->val[e.row[k]] = e.val[k];
        }
    }
    text_release_entries(&e);
    return status;
}
