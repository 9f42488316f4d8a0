/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Octave's text files (save -text, its default): variables one after another, each with lines "# key: value" and its
 * numbers. Sparse and full matrices, scalars, diagonal and permutation matrices are read, also as fields of a
 * structure. Ranges, cells, text and functions are passed over: what they hold never begins a variable.
 * Source: what Octave 7.3 writes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/lines.h"
#include "io/readers.h"
#include "io/variables.h"

enum { DEEPEST = 16 /* structures and cells in one another */ };

static const char blanks[] = " \t";

typedef enum octave_kind {
    KIND_OTHER = 0, /* nothing that is read */
    KIND_SCALAR,
    KIND_MATRIX,
    KIND_SPARSE,
    KIND_DIAGONAL,
    KIND_PERMUTATION,
    KIND_STRUCT,
    KIND_CELL,
    KIND_TEXT,
    KIND_WRAPPED /* lazy_index: one variable in another */
} octave_kind;

/* A file, between two words of it. */
typedef struct octave_file {
    text_lines t;
    text_word rest; /* of the current line */
} octave_file;

/* What stands before the numbers of a variable. */
typedef struct octave_variable {
    text_word name;
    octave_kind kind;
    bool is_complex;
    bool by_rows; /* the numbers; otherwise by columns */
    int64_t nrows, ncols, count;
    int64_t place; /* of its first line */
} octave_variable;

/* ---- lines and words ---- */

static bool next_line(octave_file *f)
{
    const bool more = text_next_line(&f->t);

    f->rest = more ? f->t.line : (text_word){"", 0};
    return more;
}

static bool begins(text_word word, const char *text)
{
    return word.length >= strlen(text) && memcmp(word.text, text, strlen(text)) == 0;
}

static bool is_word(text_word word, const char *text)
{
    return word.length == strlen(text) && begins(word, text);
}

/* "# key: value" */
static bool has_key(text_word line, const char *key, text_word *value)
{
    const size_t length = strlen(key);

    if (line.length < length + 3 || (*line.text != '#' && *line.text != '%') || line.text[1] != ' ' ||
        memcmp(line.text + 2, key, length) != 0 || line.text[length + 2] != ':') {
        return false;
    }
    *value = (text_word){line.text + length + 3, line.length - length - 3};
    while (value->length > 0 && *value->text == ' ') {
        value->text++;
        value->length--;
    }
    return true;
}

/* The next line that is not blank. */
static bool next_filled(octave_file *f)
{
    text_word word, line;

    do {
        if (!next_line(f)) { return false; }
        line = f->t.line;
    } while (!text_next_word(&line, blanks, &word));
    return true;
}

static tess_status take_key(octave_file *f, const char *key, text_word *value)
{
    char expected[64];

    snprintf(expected, sizeof expected, "'# %s: ...'", key);
    if (!next_filled(f)) { return text_fail_end(&f->t, expected); }
    return has_key(f->t.line, key, value) ? TESS_SUCCESS : text_fail(&f->t, f->t.line, expected);
}

/* A size or a count after "# key:". */
static tess_status take_size(octave_file *f, const char *key, int64_t *size)
{
    text_word value = {"", 0};
    const tess_status status = take_key(f, key, &value);

    if (status != TESS_SUCCESS) { return status; }
    return text_integer(value, size) && *size >= 0 ? TESS_SUCCESS : text_fail(&f->t, value, "a size, 0 or more,");
}

/* The next word, on this line or a later one. */
static tess_status take_word(octave_file *f, const char *expected, text_word *word)
{
    while (!text_next_word(&f->rest, blanks, word)) {
        if (!next_line(f)) { return text_fail_end(&f->t, expected); }
    }
    return TESS_SUCCESS;
}

/* Octave's missing value is a NaN. */
static bool is_real(text_word word, double *value)
{
    if (is_word(word, "NA")) {
        *value = (double)NAN;
        return true;
    }
    return text_real(word, value);
}

/* "(re,im)" */
static bool is_pair(text_word word, double value[2])
{
    const char *comma = word.length > 2 ? memchr(word.text, ',', word.length) : NULL;

    if (!comma || *word.text != '(' || word.text[word.length - 1] != ')') { return false; }
    const text_word re = {word.text + 1, (size_t)(comma - word.text) - 1};
    const text_word im = {comma + 1, word.length - re.length - 3};
    return is_real(re, &value[0]) && is_real(im, &value[1]);
}

static tess_status take_value(octave_file *f, bool is_complex, double value[2])
{
    const char *expected = is_complex ? "a complex number, (re,im)," : "a number";
    text_word word = {"", 0};
    const tess_status status = take_word(f, expected, &word);

    if (status != TESS_SUCCESS) { return status; }
    return (is_complex ? is_pair(word, value) : is_real(word, value)) ? TESS_SUCCESS : text_fail(&f->t, word, expected);
}

/* An index from 1 to `most`, stored from 0. */
static tess_status take_index(octave_file *f, const char *what, int64_t most, int64_t *index)
{
    text_word word = {"", 0};
    const tess_status status = take_word(f, what, &word);

    if (status != TESS_SUCCESS) { return status; }
    if (!text_integer(word, index)) { return text_fail(&f->t, word, what); }
    if (*index < 1 || *index > most) {
        return tess_fail_at(f->t.b->ctx, TESS_OUT_OF_RANGE, f->t.b->name, f->t.number, "indices count from 1",
                            "%s is %lld; 1 to %lld were expected", what, (long long)*index, (long long)most);
    }
    --*index;
    return TESS_SUCCESS;
}

/* ---- heads of variables ---- */

/* The type's last word, and what the words before it say: "float complex diagonal matrix". */
static octave_kind kind_of_type(text_word type, bool *is_complex)
{
    static const char *const passed[] = {"global", "float", "bool",   "int8",   "int16", "int32",
                                         "int64",  "uint8", "uint16", "uint32", "uint64"};
    static const struct {
        const char *word, *last;
        octave_kind kind;
    } kinds[] = {{"sparse", "matrix", KIND_SPARSE},
                 {"diagonal", "matrix", KIND_DIAGONAL},
                 {"permutation", "matrix", KIND_PERMUTATION},
                 {"scalar", "struct", KIND_STRUCT},
                 {"", "matrix", KIND_MATRIX},
                 {"", "scalar", KIND_SCALAR},
                 {"", "bool", KIND_SCALAR},
                 {"", "struct", KIND_STRUCT},
                 {"", "cell", KIND_CELL},
                 {"", "string", KIND_TEXT},
                 {"", "sq_string", KIND_TEXT},
                 {"", "lazy_index", KIND_WRAPPED}};
    text_word word, last = {"", 0}, special = {"", 0};

    *is_complex = false;
    while (text_next_word(&type, blanks, &word)) {
        bool known = last.length == 0 || is_word(last, "complex");

        *is_complex = *is_complex || is_word(word, "complex");
        for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
            known = known || is_word(last, passed[i]);
        }
        if (!known && special.length > 0) { return KIND_OTHER; }
        if (!known) { special = last; }
        last = word;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (is_word(last, kinds[i].last) && is_word(special, kinds[i].word)) { return kinds[i].kind; }
    }
    return KIND_OTHER;
}

/* Sizes of an array: rows and columns, its numbers by rows; or the number of dimensions and their sizes, by columns.
   Other than two dimensions are passed over. */
static tess_status take_array_sizes(octave_file *f, octave_variable *v)
{
    const octave_file before = *f;
    text_word value;
    int64_t dimensions = 0;
    tess_status status = TESS_SUCCESS;

    if (next_filled(f) && has_key(f->t.line, "rows", &value)) {
        *f = before;
        TESS_TRY(take_size(f, "rows", &v->nrows));
        TESS_TRY(take_size(f, "columns", &v->ncols));
        v->by_rows = true;
        return TESS_SUCCESS;
    }
    *f = before;
    TESS_TRY(take_size(f, "ndims", &dimensions));
    if (dimensions != 2) {
        v->kind = KIND_OTHER;
        return TESS_SUCCESS;
    }
    (void)next_line(f);
    for (int k = 0; k < 2; k++) {
        int64_t *size = k ? &v->ncols : &v->nrows;

        TESS_TRY(take_word(f, "the sizes of an array", &value));
        if (!text_integer(value, size) || *size < 0) { return text_fail(&f->t, value, "the size of an array"); }
    }
    f->rest.length = 0;
cleanup:
    return status;
}

/* Text of two dimensions says how many rows it has. */
static tess_status take_elements(octave_file *f, octave_variable *v)
{
    const octave_file before = *f;
    text_word value;
    const bool rows = next_filled(f) && has_key(f->t.line, "elements", &value);

    *f = before;
    if (rows) { return take_size(f, "elements", &v->count); }
    v->kind = KIND_OTHER;
    return TESS_SUCCESS;
}

static tess_status take_permutation(octave_file *f, octave_variable *v)
{
    text_word orient = {"", 0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_size(f, "size", &v->nrows));
    TESS_TRY(take_key(f, "orient", &orient));
    v->ncols = v->nrows;
    v->by_rows = is_word(orient, "r");
cleanup:
    return status;
}

static tess_status take_fields(octave_file *f, octave_variable *v)
{
    int64_t dimensions = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_size(f, "ndims", &dimensions));
    if (!next_line(f)) { return text_fail_end(&f->t, "the sizes of a structure"); }
    status = take_size(f, "length", &v->count);
cleanup:
    return status;
}

static tess_status take_rows_and_columns(octave_file *f, octave_variable *v)
{
    const tess_status status = take_size(f, "rows", &v->nrows);

    return status == TESS_SUCCESS ? take_size(f, "columns", &v->ncols) : status;
}

/* What the kind says of itself before its numbers. */
static tess_status take_sizes(octave_file *f, octave_variable *v)
{
    tess_status status = TESS_SUCCESS;

    switch (v->kind) {
    case KIND_MATRIX: return take_array_sizes(f, v);
    case KIND_SPARSE:
        status = take_size(f, "nnz", &v->count);
        return status == TESS_SUCCESS ? take_rows_and_columns(f, v) : status;
    case KIND_DIAGONAL:
    case KIND_CELL: return take_rows_and_columns(f, v);
    case KIND_PERMUTATION: return take_permutation(f, v);
    case KIND_STRUCT: return take_fields(f, v);
    case KIND_TEXT: return take_elements(f, v);
    default: return TESS_SUCCESS;
    }
}

/* Name, type and sizes; the numbers, elements or fields follow. *found false: the file ends. */
static tess_status take_head(octave_file *f, octave_variable *v, bool *found)
{
    text_word type = {"", 0};
    tess_status status = TESS_SUCCESS;

    *v = (octave_variable){.nrows = 1, .ncols = 1};
    *found = false;
    do {
        if (!next_line(f)) { return TESS_SUCCESS; }
    } while (!has_key(f->t.line, "name", &v->name));
    *found = true;
    v->place = (const unsigned char *)f->t.line.text - f->t.b->bytes;
    TESS_TRY(take_key(f, "type", &type));
    v->kind = kind_of_type(type, &v->is_complex);
    TESS_TRY(take_sizes(f, v));
    f->rest.length = 0;
cleanup:
    return status;
}

/* ---- the list of variables ---- */

/* Text may have any lines in it: each element says how many bytes it has. */
static tess_status skip_text(octave_file *f, int64_t elements)
{
    for (int64_t k = 0; k < elements; k++) {
        int64_t length = 0;
        const tess_status status = take_size(f, "length", &length);

        if (status != TESS_SUCCESS) { return status; }
        if (length > f->t.end - f->t.next) { return text_fail_end(&f->t, "text as long as it says"); }
        for (const char *end = f->t.next + length; f->t.next < end;) {
            if (!text_next_line(&f->t)) { break; }
        }
    }
    return TESS_SUCCESS;
}

static void add_listed(file_variables *all, text_word in, const octave_variable *v)
{
    char structure[VARIABLE_NAME_BYTES];

    snprintf(structure, sizeof structure, "%.*s", in.length < 64 ? (int)in.length : 64, in.text);
    file_variable *listed = file_add_variable(all, structure[0] ? structure : NULL, v->name.text, v->name.length);
    if (!listed) { return; }
    listed->sparse = v->kind == KIND_SPARSE || v->kind == KIND_DIAGONAL || v->kind == KIND_PERMUTATION;
    listed->nrows = v->nrows;
    listed->ncols = v->ncols;
    listed->place = v->place;
}

/* What is still to come of structures and cells: variables that are inside. */
typedef struct nesting {
    int64_t left[DEEPEST];
    int depth;
    text_word in; /* the structure at depth 1 that has fields */
} nesting;

/* Goes into a variable that has others, and out of those that have ended. */
static tess_status nest(const octave_file *f, const octave_variable *v, nesting *n)
{
    int64_t inside = 0;

    if (v->kind == KIND_STRUCT) { inside = v->count; }
    if (v->kind == KIND_WRAPPED) { inside = 1; }
    if (v->kind == KIND_CELL && v->ncols > 0) {
        inside = v->nrows > f->t.b->count / v->ncols ? f->t.b->count : v->nrows * v->ncols;
    }
    if (n->depth > 0) { n->left[n->depth - 1]--; }
    if (inside > 0) {
        if (n->depth == DEEPEST) {
            return tess_fail_at(f->t.b->ctx, TESS_UNSUPPORTED, f->t.b->name, f->t.number,
                                "save the matrix as a variable of its own",
                                "structures and cells are nested more than %d deep", DEEPEST);
        }
        if (n->depth == 0) { n->in = v->kind == KIND_STRUCT ? v->name : (text_word){"", 0}; }
        n->left[n->depth++] = inside;
    }
    while (n->depth > 0 && n->left[n->depth - 1] <= 0) {
        n->depth--;
    }
    return TESS_SUCCESS;
}

static bool has_numbers(const octave_variable *v)
{
    return v->kind >= KIND_SCALAR && v->kind <= KIND_PERMUTATION;
}

/* Variables, and fields of structures that are variables. */
static tess_status list_variables(const blob *b, file_variables *all)
{
    octave_file f = {.t = text_lines_of(b)};
    nesting n = {.depth = 0};
    octave_variable v;
    bool found = false;
    tess_status status = TESS_SUCCESS;

    *all = (file_variables){.count = 0};
    for (;;) {
        TESS_TRY(take_head(&f, &v, &found));
        if (!found) { break; }
        if (has_numbers(&v) && (n.depth == 0 || (n.depth == 1 && n.in.length > 0))) {
            add_listed(all, n.depth > 0 ? n.in : (text_word){"", 0}, &v);
        }
        if (v.kind == KIND_TEXT) { TESS_TRY(skip_text(&f, v.count)); }
        TESS_TRY(nest(&f, &v, &n));
    }
cleanup:
    return status;
}

/* ---- numbers ---- */

/* As many as the sizes say fit into the rest of the file, at two bytes each. */
static tess_status check_count(const octave_file *f, const octave_variable *v)
{
    const int64_t left = f->t.end - f->t.next;

    if (v->ncols == 0 || v->nrows <= (left / 2 + 1) / v->ncols) { return TESS_SUCCESS; }
    return tess_fail_at(f->t.b->ctx, TESS_PARSE, f->t.b->name, f->t.number, "the file may be incomplete",
                        "%s by %s were announced, more than a file of %lld bytes can hold",
                        tess_count(v->nrows, "row").text, tess_count(v->ncols, "column").text,
                        (long long)f->t.b->count);
}

static tess_status take_dense(octave_file *f, const octave_variable *v, file_array *out)
{
    const int parts = v->is_complex ? 2 : 1;
    tess_status status = check_count(f, v);

    *out = (file_array){.nrows = v->nrows, .ncols = v->ncols, .is_complex = v->is_complex};
    if (status == TESS_SUCCESS) { status = file_array_allocate(f->t.b->ctx, out); }
    for (int64_t k = 0; k < v->nrows * v->ncols && status == TESS_SUCCESS; k++) {
        const int64_t at = v->by_rows ? k / v->ncols + k % v->ncols * v->nrows : k;
        double value[2] = {0.0, 0.0};

        status = take_value(f, v->is_complex, value);
        memcpy(out->val + parts * at, value, (size_t)parts * sizeof *value);
    }
    if (status != TESS_SUCCESS) { file_array_release(f->t.b->ctx, out); }
    return status;
}

/* The next entry of a sparse, diagonal or permutation matrix. */
static tess_status take_entry(octave_file *f, const octave_variable *v, int64_t k, text_entries *e)
{
    int64_t row = k, col = k;
    double value[2] = {1.0, 0.0};
    tess_status status = TESS_SUCCESS;

    if (v->kind == KIND_SPARSE) {
        TESS_TRY(take_index(f, "a row", v->nrows, &row));
        TESS_TRY(take_index(f, "a column", v->ncols, &col));
    } else if (v->kind == KIND_PERMUTATION) {
        TESS_TRY(take_index(f, v->by_rows ? "a column" : "a row", v->nrows, v->by_rows ? &col : &row));
    }
    if (v->kind != KIND_PERMUTATION) { TESS_TRY(take_value(f, v->is_complex, value)); }
    status = text_add_entry(e, row, col, value);
cleanup:
    return status;
}

static tess_status take_entries(octave_file *f, const octave_variable *v, text_entries *e, tess_entries *out)
{
    int64_t count = v->count;
    tess_status status = file_check_rows(f->t.b, v->nrows);

    if (v->kind != KIND_SPARSE) { count = v->nrows < v->ncols ? v->nrows : v->ncols; }
    e->parts = v->is_complex ? 2 : 1;
    for (int64_t k = 0; k < count && status == TESS_SUCCESS; k++) {
        status = take_entry(f, v, k, e);
    }
    *out = (tess_entries){.nrows = v->nrows,
                          .ncols = v->ncols,
                          .count = e->count,
                          .row = e->row,
                          .col = e->col,
                          .val = e->val,
                          .is_complex = v->is_complex};
    return status;
}

/* The cursor before the numbers of the variable that is meant. */
static tess_status open_variable(const blob *b, source_role role, octave_file *f, octave_variable *v)
{
    file_variables *all = NULL;
    const file_variable *chosen = NULL;
    bool found = false;
    tess_status status = tess_host_allocate(b->ctx, 1, sizeof *all, (void **)&all);

    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(list_variables(b, all));
    TESS_TRY(file_choose_variable(b, all, role, &chosen));
    *f = (octave_file){.t = text_lines_of(b)};
    while (f->t.next - (const char *)b->bytes < chosen->place) {
        (void)text_next_line(&f->t);
    }
    TESS_TRY(take_head(f, v, &found));
    status = file_check_sizes(b, v->place, v->nrows, v->ncols);
cleanup:
    tess_host_release(b->ctx, all, 1, sizeof *all);
    return status;
}

static bool is_table(const octave_variable *v)
{
    return v->kind == KIND_SCALAR || v->kind == KIND_MATRIX;
}

/* ---- the reader ---- */

/* Its first line, which an option leaves out; then the first variable. */
bool octave_text_knows(const file_head *head)
{
    static const char created[] = "# Created by Octave", name[] = "# name: ", type[] = "# type: ";
    const blob b = {.bytes = head->bytes, .count = head->count};
    text_lines t = text_lines_of(&b);

    if (!text_next_line(&t)) { return false; }
    if (begins(t.line, created)) { return true; }
    return begins(t.line, name) && t.end - t.next >= (int64_t)strlen(type) && memcmp(t.next, type, strlen(type)) == 0;
}

tess_status octave_text_read_matrix(const blob *b, file_csr *out)
{
    octave_file f;
    octave_variable v;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries entries;
    file_array table = {.nrows = 0};
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(open_variable(b, SOURCE_MATRIX, &f, &v));
    if (is_table(&v)) {
        if (v.ncols == 0) { TESS_TRY(file_check_rows(b, v.nrows)); }
        TESS_TRY(take_dense(&f, &v, &table));
        TESS_TRY(file_csr_from_array(b->ctx, &table, out));
    } else {
        TESS_TRY(take_entries(&f, &v, &e, &entries));
        TESS_TRY(file_csr_from_entries(b->ctx, &entries, out));
    }
    (void)snprintf(out->kind, sizeof out->kind, "Octave text, %s", is_table(&v) ? "dense" : "sparse");
cleanup:
    file_array_release(b->ctx, &table);
    text_release_entries(&e);
    return status;
}

tess_status octave_text_read_array(const blob *b, file_array *out)
{
    octave_file f;
    octave_variable v;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries entries;
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(open_variable(b, SOURCE_VECTOR, &f, &v));
    if (is_table(&v)) {
        TESS_TRY(take_dense(&f, &v, out));
    } else {
        TESS_TRY(take_entries(&f, &v, &e, &entries));
        TESS_TRY(file_array_from_entries(b, &entries, out));
    }
    file_turn_row(out);
cleanup:
    text_release_entries(&e);
    return status;
}
