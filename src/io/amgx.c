/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix Market as NVIDIA's AmgX writes it: a comment %%AMGX (or %%NVAMG) has words that change what follows. One or
 * two numbers are the size of blocks, of which all entries are listed; `base0` counts indices from 0; `diagonal`, `rhs`
 * and `solution` say that the diagonal's blocks, the right-hand side and a solution follow the entries; `sorted` is
 * about order alone. The entries are read by the reader of Matrix Market, from a text that ends behind them.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <tessera/names.h>

#include "io/lines.h"
#include "io/mtx.h"
#include "io/readers.h"

static const char blanks[] = " \t";

typedef struct amgx_file {
    blob b; /* the text, and one more newline behind it where it lacks its last */
    mtx_header header;
    int64_t block[2]; /* rows and columns of a block */
    bool diagonal, rhs, solution, base0;
    text_lines tail; /* behind the entries */
} amgx_file;

static bool is_word(text_word word, const char *name)
{
    return word.length == strlen(name) && strncasecmp(word.text, name, word.length) == 0;
}

static bool is_banner(text_word line, text_word *rest)
{
    text_word word;

    *rest = line;
    return text_next_word(rest, blanks, &word) && (is_word(word, "%%AMGX") || is_word(word, "%%NVAMG"));
}

bool amgx_knows(const file_head *head)
{
    const blob b = {.bytes = head->bytes, .count = head->count};
    text_lines t = text_lines_of(&b);
    text_word rest, word;

    if (!text_next_line(&t)) { return false; }
    rest = t.line;
    if (!text_next_word(&rest, blanks, &word) || !is_word(word, "%%MatrixMarket")) { return false; }
    while (text_next_line(&t) && (t.line.length == 0 || *t.line.text == '%')) {
        if (is_banner(t.line, &rest)) { return true; }
    }
    return false;
}

static tess_status read_words(const text_lines *t, text_word rest, amgx_file *f)
{
    text_word word;
    int sizes = 0;

    while (text_next_word(&rest, blanks, &word)) {
        int64_t size = 0;

        if (text_integer(word, &size) && size >= 1 && size <= 64 && sizes < 2) {
            f->block[sizes++] = size;
            if (sizes == 1) { f->block[1] = size; }
        } else if (is_word(word, "diagonal")) {
            f->diagonal = true;
        } else if (is_word(word, "rhs")) {
            f->rhs = true;
        } else if (is_word(word, "solution")) {
            f->solution = true;
        } else if (is_word(word, "base0")) {
            f->base0 = true;
        } else if (!is_word(word, "sorted") && !is_word(word, "general") && !is_word(word, "symmetric")) {
            return text_fail(t, word, "a size of blocks, diagonal, rhs, solution, sorted or base0");
        }
    }
    return TESS_SUCCESS;
}

static bool is_blank(text_word line)
{
    text_word word;

    return !text_next_word(&line, blanks, &word);
}

/* The banner, and where the entries end. */
static tess_status find_parts(const blob *b, amgx_file *f, text_lines *t)
{
    text_word rest;
    int64_t left = f->header.entries;

    while (text_next_line(t) && t->number < f->header.size_line) {
        if (is_banner(t->line, &rest)) {
            const tess_status status = read_words(t, rest, f);

            if (status != TESS_SUCCESS) { return status; }
        }
    }
    while (left > 0 && text_next_line(t)) {
        left -= !is_blank(t->line);
    }
    f->tail = *t;
    if (left > 0) { /* the other reader says where it ends */
        f->tail.next = f->tail.end;
    }
    (void)b;
    return TESS_SUCCESS;
}

static tess_status check_blocks(const amgx_file *f)
{
    const mtx_header *h = &f->header;

    if (!h->coordinate || h->pattern || (f->diagonal && h->nrows != h->ncols)) {
        return tess_fail_at(f->b.ctx, TESS_PARSE, f->b.name, 1, NULL,
                            "AmgX has matrices of entries with values, square ones where the diagonal is apart");
    }
    if (h->nrows % f->block[0] == 0 && h->ncols % f->block[1] == 0) { return TESS_SUCCESS; }
    return tess_fail_at(f->b.ctx, TESS_PARSE, f->b.name, h->size_line, NULL,
                        "blocks of %lld by %lld do not divide a matrix of %lld by %lld", (long long)f->block[0],
                        (long long)f->block[1], (long long)h->nrows, (long long)h->ncols);
}

/* Header and entries, by the reader of Matrix Market. `entries` NULL: the header alone. */
static tess_status read_plain(const amgx_file *f, int64_t count, mtx_header *header, mtx_entries *entries)
{
    text_source source;
    int64_t upper = 0;
    tess_status status = text_source_open_plain(f->b.ctx, f->b.name, f->b.bytes, (size_t)count, &source);

    if (status == TESS_SUCCESS) { status = text_source_begin(&source); }
    if (status == TESS_SUCCESS) { status = mtx_read_header(&source, header); }
    header->base = f->base0 ? 0 : 1;
    if (status == TESS_SUCCESS && entries) { status = mtx_read_body(&source, header, entries, &upper); }
    text_source_close(&source);
    return status;
}

static tess_status open_amgx(const blob *b, amgx_file *f)
{
    text_lines t = text_lines_of(b);
    tess_status status = TESS_SUCCESS;

    *f = (amgx_file){.b = *b, .block = {1, 1}};
    TESS_TRY(read_plain(f, b->count, &f->header, NULL));
    TESS_TRY(find_parts(b, f, &t));
    TESS_TRY(check_blocks(f));
cleanup:
    return status;
}

/* ---- what follows the entries ---- */

/* Words of the lines that are no comments. */
static bool next_word(text_lines *t, text_word *rest, text_word *word)
{
    while (!text_next_word(rest, blanks, word)) {
        do {
            if (!text_next_line(t)) { return false; }
        } while (t->line.length > 0 && *t->line.text == '%');
        *rest = t->line;
    }
    return true;
}

/* Some programs write the length in front of a vector: then there is one number more for each. */
static bool has_lengths(const amgx_file *f, int64_t expected)
{
    text_lines t = f->tail;
    text_word rest = {"", 0}, word;
    int64_t words = 0;

    while (next_word(&t, &rest, &word)) {
        words++;
    }
    return words == expected + f->rhs + f->solution;
}

/* `count` values, or places for them that are passed over. */
static tess_status take_values(amgx_file *f, text_word *rest, int64_t count, double *to)
{
    for (int64_t k = 0; k < count; k++) {
        text_word word;
        double value = 0.0;

        if (!next_word(&f->tail, rest, &word)) { return text_fail_end(&f->tail, "a value behind the entries"); }
        if (!text_real(word, &value)) { return text_fail(&f->tail, word, "a value behind the entries"); }
        if (to) { to[k] = value; }
    }
    return TESS_SUCCESS;
}

/* Diagonal, right-hand side, solution; each may be NULL. */
static tess_status read_tail(amgx_file *f, double *diagonal, double *rhs)
{
    const int64_t parts = f->header.is_complex ? 2 : 1, n = parts * f->header.nrows;
    const int64_t sizes[] = {f->diagonal ? n * f->block[1] : 0, f->rhs ? n : 0, f->solution ? n : 0};
    const bool lengths = has_lengths(f, sizes[0] + sizes[1] + sizes[2]);
    double *const to[] = {diagonal, rhs, NULL};
    text_word rest = {"", 0}, word;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < 3 && status == TESS_SUCCESS; i++) {
        if (lengths && i > 0 && sizes[i] > 0) { status = take_values(f, &rest, 1, NULL); }
        if (status == TESS_SUCCESS) { status = take_values(f, &rest, sizes[i], to[i]); }
    }
    if (status == TESS_SUCCESS && next_word(&f->tail, &rest, &word)) {
        return text_fail(&f->tail, word, "the end of the file");
    }
    return status;
}

/* The blocks of the diagonal become entries. */
static tess_status add_diagonal(const amgx_file *f, const double *diagonal, text_entries *e)
{
    const int64_t rows = f->block[0], cols = f->block[1];
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < f->header.nrows * cols && status == TESS_SUCCESS; k++) {
        const int64_t block = k / (rows * cols), place = k % (rows * cols);
        const int64_t row = block * rows + place / cols, col = block * cols + place % cols;

        if (f->header.symmetry != TESS_SYMMETRY_GENERAL && row < col) { continue; } /* comes by its mirror image */
        status = text_add_entry(e, row, col, diagonal + e->parts * k);
    }
    return status;
}

static tess_status read_matrix(amgx_file *f, text_entries *e, double **diagonal)
{
    tess_context *ctx = f->b.ctx;
    mtx_header header;
    mtx_entries entries = {0};
    const int64_t parts = f->header.is_complex ? 2 : 1;
    const int64_t values = f->diagonal ? parts * f->header.nrows * f->block[1] : 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_plain(f, (const unsigned char *)f->tail.next - f->b.bytes, &header, &entries));
    e->parts = (int)parts;
    for (int64_t k = 0; k < entries.count; k++) {
        TESS_TRY(text_add_entry(e, entries.row[k], entries.col[k], entries.val + parts * k));
    }
    if (values / 2 > f->b.count) { TESS_TRY(text_fail_end(&f->tail, "the diagonal")); }
    TESS_TRY(tess_host_allocate(ctx, values, sizeof **diagonal, (void **)diagonal));
    TESS_TRY(read_tail(f, *diagonal, NULL));
    if (f->diagonal) { TESS_TRY(add_diagonal(f, *diagonal, e)); }
cleanup:
    mtx_entries_release(ctx, &entries);
    tess_host_release(ctx, *diagonal, values, sizeof **diagonal);
    return status;
}

tess_status amgx_read_matrix(const blob *b, file_csr *out)
{
    amgx_file f;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    double *diagonal = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(open_amgx(b, &f));
    TESS_TRY(read_matrix(&f, &e, &diagonal));
    TESS_TRY(file_csr_from_entries(b->ctx,
                                   &(tess_entries){.nrows = f.header.nrows,
                                                   .ncols = f.header.ncols,
                                                   .count = e.count,
                                                   .row = e.row,
                                                   .col = e.col,
                                                   .val = e.val,
                                                   .symmetry = f.header.symmetry,
                                                   .is_complex = f.header.is_complex},
                                   out));
    (void)snprintf(out->kind, sizeof out->kind, "AmgX%s%s", f.rhs ? ", right-hand side" : "",
                   f.solution ? ", solution" : "");
cleanup:
    text_release_entries(&e);
    return status;
}

tess_status amgx_read_array(const blob *b, file_array *out)
{
    amgx_file f;
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(open_amgx(b, &f));
    if (!f.rhs) {
        TESS_TRY(tess_fail_at(b->ctx, TESS_NOT_FOUND, b->name, 0, "give the right-hand side in a file of its own",
                              "the file of AmgX has no right-hand side"));
    }
    if (f.header.nrows / 2 > b->count) { TESS_TRY(text_fail_end(&f.tail, "the right-hand side")); }
    *out = (file_array){.nrows = f.header.nrows, .ncols = 1, .is_complex = f.header.is_complex};
    TESS_TRY(file_array_allocate(b->ctx, out));
    TESS_TRY(read_tail(&f, NULL, out->val));
cleanup:
    if (status != TESS_SUCCESS) { file_array_release(b->ctx, out); }
    return status;
}
