/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MATLAB's files of version 5 to 7 (save -v6, -v7), also of Octave and scipy.io.savemat: a head of 128 bytes, then
 * elements of type, size and data; an element may be compressed by zlib. Variables are sparse or dense arrays, or
 * structures, of which fields one level down are read. Source: MathWorks, "MAT-file format", level 5.
 */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <tessera/names.h>

#include "io/mat_numbers.h"
#include "io/readers.h"
#include "io/variables.h"

enum { HEAD_BYTES = 128, ENDIAN_AT = 126, COMPRESSED = 15, MATRIX = 14, NAMES_OF_A_FIELD = 64 };
enum { CLASS_STRUCT = 2, CLASS_SPARSE = 5, CLASS_DOUBLE = 6, CLASS_LAST = 15 };
enum { FLAG_COMPLEX = 0x08 };

/* A stretch of bytes with elements. */
typedef struct mat_span {
    const blob *b; /* for errors and the byte order */
    const unsigned char *p, *end;
    bool swapped;
} mat_span;

typedef struct mat_element {
    uint32_t type;
    int64_t size;
    const unsigned char *data;
} mat_element;

/* A variable of numbers: what its first elements say, and the rest. */
typedef struct mat_array {
    int class;
    bool is_complex;
    int64_t nrows, ncols;
    const char *name;
    size_t name_length;
    mat_span rest;
} mat_array;

static tess_status fail_mat(const mat_span *s, const char *what)
{
    return tess_fail_at(s->b->ctx, TESS_PARSE, s->b->name, 0, "the file may be incomplete or damaged",
                        "the MATLAB file cannot be read: %s", what);
}

/* The next element; small ones have their data in the tag. */
static tess_status take_element(mat_span *s, mat_element *out)
{
    const int64_t left = s->end - s->p;

    if (left < 8) { return fail_mat(s, "an element has fewer than 8 bytes"); }
    const uint32_t first = blob_u32(s->p, s->swapped);
    if (first >> 16 != 0) {
        *out = (mat_element){first & 0xffff, first >> 16, s->p + 4};
        if (out->size > 4) { return fail_mat(s, "a small element has more than 4 bytes"); }
        s->p += 8;
        return TESS_SUCCESS;
    }
    *out = (mat_element){first, blob_u32(s->p + 4, s->swapped), s->p + 8};
    if (out->size > left - 8) { return fail_mat(s, "an element is longer than the file"); }
    const int64_t padded = out->type == COMPRESSED ? out->size : (out->size + 7) / 8 * 8;
    s->p += 8 + (padded < left - 8 ? padded : left - 8);
    return TESS_SUCCESS;
}

/* ---- numbers ---- */

static double number_at(const mat_span *s, const mat_element *e, int64_t k)
{
    return mat_number_at(e->data, e->type, s->swapped, k);
}

/* The same as an integer; -1: it is none, or out of range. */
static int64_t integer_at(const mat_span *s, const mat_element *e, int64_t k)
{
    const double value = number_at(s, e, k);

    return value >= 0.0 && value <= 0x1p62 ? (int64_t)value : -1;
}

/* An element of at least `count` numbers. */
static tess_status take_numbers(mat_span *s, int64_t count, mat_element *out)
{
    const tess_status status = take_element(s, out);

    if (status != TESS_SUCCESS) { return status; }
    if (mat_item_bytes(out->type) == 0) { return fail_mat(s, "numbers were expected"); }
    return out->size / mat_item_bytes(out->type) >= count ? TESS_SUCCESS : fail_mat(s, "an array is too short");
}

/* How many numbers an element has; 0: it has none. */
static int64_t items_of(const mat_element *e)
{
    const int64_t bytes = mat_item_bytes(e->type);

    return bytes > 0 ? (int64_t)e->size / bytes : 0;
}

/* ---- variables ---- */

/* Flags, sizes and name of a variable. *numbers false: it has others than two dimensions, or no numbers. */
static tess_status open_array(const mat_span *s, const mat_element *e, mat_array *a, bool *numbers)
{
    mat_element part;
    tess_status status = TESS_SUCCESS;

    *a = (mat_array){.rest = {s->b, e->data, e->data + e->size, s->swapped}};
    *numbers = false;
    if (e->size == 0) { return TESS_SUCCESS; }
    TESS_TRY(take_numbers(&a->rest, 2, &part));
    const uint64_t flags = (uint64_t)integer_at(s, &part, 0);
    a->class = (int)(flags & 0xff);
    a->is_complex = (flags >> 8 & FLAG_COMPLEX) != 0;
    if (a->class > CLASS_LAST) { return TESS_SUCCESS; } /* functions and objects, whose layout differs */
    TESS_TRY(take_numbers(&a->rest, 2, &part));
    const bool table = items_of(&part) == 2;
    a->nrows = integer_at(s, &part, 0);
    a->ncols = integer_at(s, &part, 1);
    TESS_TRY(take_element(&a->rest, &part));
    a->name = (const char *)part.data;
    a->name_length = (size_t)part.size;
    *numbers = table && (a->class >= CLASS_SPARSE || a->class == CLASS_STRUCT);
cleanup:
    return status;
}

/* Calls for a structure's fields, one element each. */
typedef tess_status (*field_taker)(void *user, const mat_span *s, const mat_element *e, const char *name,
                                   size_t length);

static tess_status each_field(const mat_array *a, field_taker take, void *user)
{
    mat_span s = a->rest;
    mat_element length = {.size = 0}, names = {.size = 0};
    tess_status status = take_numbers(&s, 1, &length);

    if (status == TESS_SUCCESS) { status = take_element(&s, &names); }
    if (status != TESS_SUCCESS || a->nrows != 1 || a->ncols != 1) { return status; } /* one structure, no array */
    const int64_t width = integer_at(&s, &length, 0);
    if (width < 1 || width > NAMES_OF_A_FIELD) { return fail_mat(&s, "the names of a structure have no length"); }
    for (int64_t i = 0; i < names.size / width && status == TESS_SUCCESS; i++) {
        const char *name = (const char *)names.data + i * width;
        mat_element e;

        status = take_element(&s, &e);
        if (status == TESS_SUCCESS && e.type == MATRIX) {
            status = take(user, &s, &e, name, strnlen(name, (size_t)width));
        }
    }
    return status;
}

typedef struct listing {
    file_variables *all;
    int64_t place;
    char in[VARIABLE_NAME_BYTES];
} listing;

static tess_status list_field(void *user, const mat_span *s, const mat_element *e, const char *name, size_t length)
{
    const listing *l = user;
    mat_array a;
    bool numbers = false;
    const tess_status status = open_array(s, e, &a, &numbers);

    if (status != TESS_SUCCESS || !numbers || a.class == CLASS_STRUCT) { return status; }
    file_variable *v = file_add_variable(l->all, l->in[0] ? l->in : NULL, name, length);
    if (v) {
        v->sparse = a.class == CLASS_SPARSE;
        v->nrows = a.nrows;
        v->ncols = a.ncols;
        v->place = l->place;
    }
    return TESS_SUCCESS;
}

static tess_status list_element(const mat_span *s, const mat_element *e, int64_t place, file_variables *all)
{
    listing l = {.all = all, .place = place};
    mat_array a;
    bool numbers = false;
    const tess_status status = open_array(s, e, &a, &numbers);

    if (status != TESS_SUCCESS || !numbers) { return status; }
    if (a.class != CLASS_STRUCT) { return list_field(&l, s, e, a.name, a.name_length); }
    snprintf(l.in, sizeof l.in, "%.*s", a.name_length < 64 ? (int)a.name_length : 64, a.name);
    return each_field(&a, list_field, &l);
}

/* ---- elements of the file ---- */

/* The element inside of a compressed one. */
typedef struct unpacked {
    unsigned char *bytes;
    int64_t capacity, count;
} unpacked;

static tess_status grow(tess_context *ctx, unpacked *u)
{
    unsigned char *larger = NULL;
    const tess_status status = tess_host_allocate(ctx, 2 * u->capacity, 1, (void **)&larger);

    if (status != TESS_SUCCESS) { return status; }
    memcpy(larger, u->bytes, (size_t)u->count);
    tess_host_release(ctx, u->bytes, u->capacity, 1);
    u->bytes = larger;
    u->capacity *= 2;
    return TESS_SUCCESS;
}

/* Memory grows with what comes out: at most 1032 times what goes in. */
static tess_status inflate_element(const mat_span *s, const mat_element *e, unpacked *u)
{
    tess_context *ctx = s->b->ctx;
    z_stream z = {0};
    union {
        const unsigned char *given;
        unsigned char *taken;
    } in = {.given = e->data};
    int code = Z_OK;

    *u = (unpacked){.capacity = 4 * e->size + 256};
    tess_status status = tess_host_allocate(ctx, u->capacity, 1, (void **)&u->bytes);
    if (status != TESS_SUCCESS) { return status; }
    if (inflateInit(&z) != Z_OK) {
        return tess_fail_at(ctx, TESS_OUT_OF_MEMORY, s->b->name, 0, NULL, "there is no memory to decompress the file");
    }
    z.next_in = in.taken;
    z.avail_in = (uInt)e->size;
    while (status == TESS_SUCCESS && code == Z_OK) {
        const int64_t free_bytes = u->capacity - u->count, most = free_bytes < (1 << 30) ? free_bytes : 1 << 30;

        z.next_out = u->bytes + u->count;
        z.avail_out = (uInt)most;
        code = inflate(&z, Z_NO_FLUSH);
        u->count += most - z.avail_out;
        if (u->count == u->capacity && code == Z_OK) { status = grow(ctx, u); }
    }
    inflateEnd(&z);
    if (status == TESS_SUCCESS && code != Z_STREAM_END) {
        status =
            tess_fail_at(ctx, TESS_CORRUPT, s->b->name, 0, "the file may be incomplete or damaged",
                         "the compressed data of a variable is damaged%s%s", z.msg ? ": " : "", z.msg ? z.msg : "");
    }
    return status;
}

/* The matrix element that e is or has inside; *inner is where it lies. */
static tess_status unpack_element(const mat_span *s, const mat_element *e, unpacked *u, mat_span *inner,
                                  mat_element *out)
{
    tess_status status = TESS_SUCCESS;

    *inner = *s;
    *out = *e;
    if (e->type != COMPRESSED) { return TESS_SUCCESS; }
    status = inflate_element(s, e, u);
    if (status != TESS_SUCCESS) { return status; }
    *inner = (mat_span){s->b, u->bytes, u->bytes + u->count, s->swapped};
    return take_element(inner, out);
}

static tess_status open_file(const blob *b, mat_span *s)
{
    if (b->count < HEAD_BYTES) { return blob_fail(b, b->count, NULL, "the head of 128 bytes is incomplete"); }
    const unsigned char *mark = b->bytes + ENDIAN_AT;
    const bool little = mark[0] == 'I' && mark[1] == 'M';
    if (!little && !(mark[0] == 'M' && mark[1] == 'I')) {
        return blob_fail(b, ENDIAN_AT, NULL, "the mark of the byte order, IM or MI, was expected");
    }
    *s = (mat_span){b, b->bytes + HEAD_BYTES, b->bytes + b->count, little != blob_host_is_little()};
    return TESS_SUCCESS;
}

static tess_status list_variables(const blob *b, file_variables *all)
{
    mat_span s = {.b = b};
    tess_status status = open_file(b, &s);

    *all = (file_variables){.count = 0};
    while (status == TESS_SUCCESS && s.p < s.end) {
        const int64_t place = s.p - b->bytes;
        unpacked u = {.bytes = NULL};
        mat_span inner;
        mat_element e, matrix;

        status = take_element(&s, &e);
        if (status == TESS_SUCCESS) { status = unpack_element(&s, &e, &u, &inner, &matrix); }
        if (status == TESS_SUCCESS && matrix.type == MATRIX) { status = list_element(&inner, &matrix, place, all); }
        tess_host_release(b->ctx, u.bytes, u.capacity, 1);
    }
    return status;
}

/* ---- the chosen one ---- */

typedef tess_status (*array_reader)(const mat_array *a, void *out);

typedef struct choice {
    const char *field; /* of a structure */
    array_reader read;
    void *out;
    bool found;
} choice;

static tess_status read_field(void *user, const mat_span *s, const mat_element *e, const char *name, size_t length)
{
    choice *c = user;
    mat_array a;
    bool numbers = false;

    if (strlen(c->field) != length || memcmp(c->field, name, length) != 0) { return TESS_SUCCESS; }
    const tess_status status = open_array(s, e, &a, &numbers);
    if (status != TESS_SUCCESS || !numbers || c->found) { return status; }
    c->found = true;
    return c->read(&a, c->out);
}

static tess_status read_variable(const blob *b, source_role role, array_reader read, void *out)
{
    file_variables *all = NULL;
    const file_variable *chosen = NULL;
    unpacked u = {.bytes = NULL};
    mat_span s, inner;
    mat_element e, matrix;
    mat_array a;
    bool numbers = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(b->ctx, 1, sizeof *all, (void **)&all));
    TESS_TRY(list_variables(b, all));
    TESS_TRY(file_choose_variable(b, all, role, &chosen));
    TESS_TRY(open_file(b, &s));
    s.p = b->bytes + chosen->place;
    TESS_TRY(take_element(&s, &e));
    TESS_TRY(unpack_element(&s, &e, &u, &inner, &matrix));
    TESS_TRY(open_array(&inner, &matrix, &a, &numbers));
    if (a.class == CLASS_STRUCT) {
        choice c = {strchr(chosen->name, '.') ? strchr(chosen->name, '.') + 1 : "", read, out, false};

        TESS_TRY(each_field(&a, read_field, &c));
        if (!c.found) { TESS_TRY(fail_mat(&inner, "a field of a structure has no name of its own")); }
    } else {
        TESS_TRY(read(&a, out));
    }
cleanup:
    tess_host_release(b->ctx, u.bytes, u.capacity, 1);
    tess_host_release(b->ctx, all, 1, sizeof *all);
    return status;
}

/* Values, and imaginary parts of complex ones. */
static tess_status take_parts(mat_span *s, const mat_array *a, int64_t count, mat_element part[2])
{
    tess_status status = take_numbers(s, count, &part[0]);

    if (status == TESS_SUCCESS && a->is_complex) { status = take_numbers(s, count, &part[1]); }
    return status;
}

static tess_status check_sizes(const mat_array *a)
{
    const tess_status status = file_check_sizes(a->rest.b, 0, a->nrows, a->ncols);

    /* all values of a dense array are in the file */
    const bool few = a->class == CLASS_SPARSE || a->ncols == 0;
    return status == TESS_SUCCESS && few ? file_check_rows(a->rest.b, a->nrows) : status;
}

/* The row of an entry of column j. */
static tess_status take_row(const mat_array *a, const mat_span *s, double index, int64_t j, int32_t *row)
{
    if (!(index >= 0.0 && index < (double)a->nrows)) {
        return tess_fail_at(s->b->ctx, TESS_OUT_OF_RANGE, s->b->name, 0, NULL,
                            "row %g of column %lld is outside of the matrix; 0 to %lld were expected", index,
                            (long long)j, (long long)a->nrows - 1);
    }
    *row = (int32_t)index;
    return TESS_SUCCESS;
}

/* Entries of columns: ir and jc, then values. The arrays of *e belong to *held. */
static tess_status sparse_entries(const mat_array *a, tess_entries *e, void *held[3])
{
    tess_context *ctx = a->rest.b->ctx;
    mat_span s = a->rest;
    mat_element ir, jc, part[2];
    const int parts = a->is_complex ? 2 : 1;
    int32_t *row = NULL, *col = NULL;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_numbers(&s, 0, &ir));
    TESS_TRY(take_numbers(&s, a->ncols + 1, &jc));
    const int64_t stored = items_of(&ir), count = integer_at(&s, &jc, a->ncols);
    if (count < 0 || count > stored || number_at(&s, &jc, 0) != 0.0) { TESS_TRY(fail_mat(&s, "columns out of order")); }
    TESS_TRY(take_parts(&s, a, count, part));
    *e = (tess_entries){.nrows = a->nrows, .ncols = a->ncols, .count = count, .is_complex = a->is_complex};
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *row, &held[0]));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *col, &held[1]));
    TESS_TRY(tess_host_allocate(ctx, parts * count, sizeof *val, &held[2]));
    row = held[0];
    col = held[1];
    val = held[2];
    for (int64_t j = 0, k = 0; j < a->ncols; j++) {
        const double end = number_at(&s, &jc, j + 1);

        if (end < (double)k || end > (double)count) { TESS_TRY(fail_mat(&s, "columns out of order")); }
        for (; k < (int64_t)end; k++) {
            TESS_TRY(take_row(a, &s, number_at(&s, &ir, k), j, &row[k]));
            col[k] = (int32_t)j;
            for (int p = 0; p < parts; p++) {
                val[parts * k + p] = number_at(&s, &part[p], k);
            }
        }
    }
    e->row = row;
    e->col = col;
    e->val = val;
cleanup:
    return status;
}

static void release_entries(tess_context *ctx, const tess_entries *e, void *held[3])
{
    tess_host_release(ctx, held[0], e->count, sizeof(int32_t));
    tess_host_release(ctx, held[1], e->count, sizeof(int32_t));
    tess_host_release(ctx, held[2], (e->is_complex ? 2 : 1) * e->count, sizeof(double));
}

/* All values, column after column. */
static tess_status read_dense(const mat_array *a, file_array *out)
{
    mat_span s = a->rest;
    mat_element part[2];
    const int parts = a->is_complex ? 2 : 1;
    const int64_t count = a->nrows * a->ncols;
    tess_status status = take_parts(&s, a, count, part);

    *out = (file_array){.nrows = a->nrows, .ncols = a->ncols, .is_complex = a->is_complex};
    if (status == TESS_SUCCESS) { status = file_array_allocate(s.b->ctx, out); }
    for (int64_t k = 0; k < count && status == TESS_SUCCESS; k++) {
        for (int p = 0; p < parts; p++) {
            out->val[parts * k + p] = number_at(&s, &part[p], k);
        }
    }
    return status;
}

static tess_status read_as_array(const mat_array *a, void *user)
{
    file_array *out = user;
    tess_entries e = {.count = 0};
    void *held[3] = {NULL, NULL, NULL};
    tess_status status = check_sizes(a);

    if (status != TESS_SUCCESS) { return status; }
    if (a->class == CLASS_SPARSE) {
        status = sparse_entries(a, &e, held);
        if (status == TESS_SUCCESS) { status = file_array_from_entries(a->rest.b, &e, out); }
        release_entries(a->rest.b->ctx, &e, held);
    } else {
        status = read_dense(a, out);
    }
    if (status == TESS_SUCCESS) { file_turn_row(out); }
    return status;
}

static tess_status read_as_matrix(const mat_array *a, void *user)
{
    file_csr *out = user;
    const blob *b = a->rest.b;
    tess_entries e = {.count = 0};
    void *held[3] = {NULL, NULL, NULL};
    file_array table = {.nrows = 0};
    tess_status status = check_sizes(a);

    if (status != TESS_SUCCESS) { return status; }
    if (a->class == CLASS_SPARSE) {
        status = sparse_entries(a, &e, held);
        if (status == TESS_SUCCESS) { status = file_csr_from_entries(b->ctx, &e, out); }
        release_entries(b->ctx, &e, held);
    } else {
        status = read_dense(a, &table);
        if (status == TESS_SUCCESS) { status = file_csr_from_array(b->ctx, &table, out); }
        file_array_release(b->ctx, &table);
    }
    (void)snprintf(out->kind, sizeof out->kind, "MATLAB, %s", a->class == CLASS_SPARSE ? "sparse" : "dense");
    return status;
}

tess_status mat5_read_matrix(const blob *b, file_csr *out)
{
    *out = (file_csr){.nrows = 0};
    return read_variable(b, SOURCE_MATRIX, read_as_matrix, out);
}

tess_status mat5_read_array(const blob *b, file_array *out)
{
    *out = (file_array){.nrows = 0};
    return read_variable(b, SOURCE_VECTOR, read_as_array, out);
}
