/* SPDX-License-Identifier: Apache-2.0 */
/* The header of .npy arrays, which is a Python dictionary, and their values. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/codec.h>

#include "io/npy.h"

static const unsigned char npy_magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* ---- the dictionary ---- */

typedef struct dictionary {
    const blob *b;
    const char *p, *end;
    char type[NPY_TYPE_LENGTH];
    bool has_type, has_order, has_shape;
} dictionary;

static int64_t place_of(const dictionary *d)
{
    return (const unsigned char *)d->p - d->b->bytes;
}

static void skip_blanks(dictionary *d)
{
    while (d->p < d->end && (*d->p == ' ' || *d->p == '\n' || *d->p == '\t' || *d->p == '\r')) {
        d->p++;
    }
}

static bool take(dictionary *d, char c)
{
    skip_blanks(d);
    if (d->p == d->end || *d->p != c) { return false; }
    d->p++;
    return true;
}

/* 'text' or "text". */
static bool take_string(dictionary *d, char *out, size_t size)
{
    size_t used = 0;

    skip_blanks(d);
    if (d->p == d->end || (*d->p != '\'' && *d->p != '"')) { return false; }
    const char quote = *d->p++;
    while (d->p < d->end && *d->p != quote && used + 1 < size) {
        out[used++] = *d->p++;
    }
    out[used] = '\0';
    return d->p < d->end && *d->p++ == quote;
}

static bool take_word(dictionary *d, const char *word)
{
    const size_t length = strlen(word);

    skip_blanks(d);
    if ((size_t)(d->end - d->p) < length || strncmp(d->p, word, length) != 0) { return false; }
    d->p += length;
    return true;
}

/* "(3, 4)", "(3,)" or "()". */
static tess_status take_shape(dictionary *d, npy_array *out)
{
    if (!take(d, '(')) { return blob_fail(d->b, place_of(d), NULL, "expected a shape such as (3, 4)"); }
    for (out->dimensions = 0; !take(d, ')'); out->dimensions++) {
        int64_t value = 0;
        const char *first = d->p;

        if (out->dimensions == NPY_MOST_DIMENSIONS) {
            return blob_fail(d->b, place_of(d), NULL, "the array has more than three dimensions");
        }
        while (d->p < d->end && *d->p >= '0' && *d->p <= '9') {
            if (value > (INT64_MAX - 9) / 10) { return blob_fail(d->b, place_of(d), NULL, "the shape is too large"); }
            value = 10 * value + (*d->p++ - '0');
        }
        if (d->p == first) { return blob_fail(d->b, place_of(d), NULL, "expected a number of the shape"); }
        out->shape[out->dimensions] = value;
        (void)take_word(d, "L"); /* Python 2 */
        if (!take(d, ',') && (d->p == d->end || *d->p != ')')) {
            return blob_fail(d->b, place_of(d), NULL, "expected ',' or ')' in the shape");
        }
    }
    return TESS_SUCCESS;
}

static tess_status take_entry(dictionary *d, npy_array *out)
{
    char key[NPY_TYPE_LENGTH];

    if (!take_string(d, key, sizeof key) || !take(d, ':')) {
        return blob_fail(d->b, place_of(d), NULL, "expected a key of the header, such as 'descr':");
    }
    if (strcmp(key, "shape") == 0) {
        d->has_shape = true;
        return take_shape(d, out);
    }
    if (strcmp(key, "fortran_order") == 0) {
        out->fortran = take_word(d, "True");
        d->has_order = out->fortran || take_word(d, "False");
        return d->has_order ? TESS_SUCCESS : blob_fail(d->b, place_of(d), NULL, "expected True or False");
    }
    if (strcmp(key, "descr") != 0) {
        return blob_fail(d->b, place_of(d), NULL, "the header has a key other than descr, fortran_order and shape");
    }
    skip_blanks(d);
    if (d->p < d->end && *d->p == '[') {
        return tess_fail_at(d->b->ctx, TESS_UNSUPPORTED, d->b->name, 0, "save each field as an array of its own",
                            "the array has structures as values; numbers were expected");
    }
    d->has_type = take_string(d, d->type, sizeof d->type);
    return d->has_type ? TESS_SUCCESS : blob_fail(d->b, place_of(d), NULL, "expected a type such as '<f8'");
}

static tess_status read_dictionary(dictionary *d, npy_array *out)
{
    if (!take(d, '{')) { return blob_fail(d->b, place_of(d), NULL, "expected '{', the beginning of the header"); }
    while (!take(d, '}')) {
        const tess_status status = take_entry(d, out);

        if (status != TESS_SUCCESS) { return status; }
        if (!take(d, ',') && (d->p == d->end || *d->p != '}')) {
            return blob_fail(d->b, place_of(d), NULL, "expected ',' or '}' in the header");
        }
    }
    return d->has_type && d->has_order && d->has_shape
               ? TESS_SUCCESS
               : blob_fail(d->b, place_of(d), NULL, "the header lacks one of descr, fortran_order and shape");
}

/* ---- the type ---- */

static tess_status refuse_type(const blob *b, const char *type, const char *hint, const char *why)
{
    return tess_fail_at(b->ctx, TESS_UNSUPPORTED, b->name, 0, hint, "the array has the type '%s'%s", type, why);
}

static bool is_number(char kind, int bytes)
{
    switch (kind) {
    case 'f': return bytes == 2 || bytes == 4 || bytes == 8;
    case 'i':
    case 'u': return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    case 'b': return bytes == 1;
    case 'c': return bytes == 8 || bytes == 16;
    default: return false;
    }
}

/* The digits of "8" in "<f8"; -1: none, or too many. */
static int parse_bytes(const char *digits)
{
    char *end = NULL;
    const long bytes = strtol(digits, &end, 10);

    return end != digits && bytes >= 0 && bytes <= INT_MAX ? (int)bytes : -1;
}

/* "<f8": byte order, kind, bytes. */
static tess_status set_type(const blob *b, const char *type, npy_array *out)
{
    const bool ordered = type[0] == '<' || type[0] == '>' || type[0] == '=' || type[0] == '|';
    const char *rest = type + (ordered ? 1 : 0);

    out->type = rest[0];
    out->item_bytes = rest[0] == '\0' ? 0 : parse_bytes(rest + 1);
    out->swapped = (type[0] == '>') == blob_host_is_little() && (type[0] == '>' || type[0] == '<');
    if (out->type == 'O') {
        return refuse_type(b, type, "save numbers: numpy.save(file, x.astype(float), allow_pickle=False)",
                           ": pickled Python objects, which could run any code, are refused");
    }
    if ((out->type == 'S' || out->type == 'U') && out->item_bytes >= 0 && out->item_bytes <= 256) {
        out->item_bytes *= out->type == 'U' ? 4 : 1;
        return TESS_SUCCESS;
    }
    return is_number(out->type, out->item_bytes)
               ? TESS_SUCCESS
               : refuse_type(b, type, "save it as float64: numpy.save(file, x.astype(float))",
                             ", but only f2, f4, f8, c8, c16, integers and b1 are read");
}

/* ---- arrays ---- */

static tess_status count_values(const blob *b, npy_array *out)
{
    out->count = 1;
    for (int i = 0; i < out->dimensions; i++) {
        if (__builtin_mul_overflow(out->count, out->shape[i], &out->count)) {
            return blob_fail(b, 0, NULL, "the shape is too large");
        }
    }
    return TESS_SUCCESS;
}

tess_status npy_parse(const blob *b, npy_array *out)
{
    blob_cursor c = {.b = b, .swapped = !blob_host_is_little()};
    tess_status status = TESS_SUCCESS;

    *out = (npy_array){.dimensions = 0};
    const unsigned char *p = blob_take(&c, sizeof npy_magic + 2, 1, "the magic string and the version", &status);
    if (!p) { return status; }
    if (memcmp(p, npy_magic, sizeof npy_magic) != 0) { return blob_fail(b, 0, NULL, "this is no .npy array"); }
    if (p[6] < 1 || p[6] > 3) { return blob_fail(b, 6, NULL, "expected version 1, 2 or 3 of the .npy format"); }
    const int width = p[6] == 1 ? 2 : 4;
    p = blob_take(&c, width, 1, "the length of the header", &status);
    if (!p) { return status; }
    const int64_t length = width == 2 ? blob_u16(p, c.swapped) : (int64_t)blob_u32(p, c.swapped);
    p = blob_take(&c, length, 1, "the header", &status);
    if (!p) { return status; }
    dictionary d = {.b = b, .p = (const char *)p, .end = (const char *)p + length};
    TESS_TRY(read_dictionary(&d, out));
    TESS_TRY(set_type(b, d.type, out));
    TESS_TRY(count_values(b, out));
    out->data =
        out->item_bytes == 0 ? b->bytes + c.at : blob_take(&c, out->count, out->item_bytes, "the data", &status);
    if (status == TESS_SUCCESS && c.at != b->count) {
        status = blob_fail(b, c.at, "the file may hold several arrays; save each in a file of its own",
                           "the array ends here, but the file goes on");
    }
cleanup:
    return status;
}

static uint64_t unsigned_value(const npy_array *a, const unsigned char *p)
{
    switch (a->item_bytes) {
    case 1: return *p;
    case 2: return blob_u16(p, a->swapped);
    case 4: return blob_u32(p, a->swapped);
    default: return blob_u64(p, a->swapped);
    }
}

static int64_t signed_value(const npy_array *a, const unsigned char *p)
{
    switch (a->item_bytes) {
    case 1: return (int8_t)*p;
    case 2: return (int16_t)blob_u16(p, a->swapped);
    case 4: return (int32_t)blob_u32(p, a->swapped);
    default: return (int64_t)blob_u64(p, a->swapped);
    }
}

int64_t npy_integer(const npy_array *a, int64_t k)
{
    const unsigned char *p = a->data + k * a->item_bytes;

    if (a->type == 'i') { return signed_value(a, p); }
    return a->type == 'u' || a->type == 'b' ? (int64_t)unsigned_value(a, p) : 0;
}

/* Part 0 or 1 of a complex value. */
static double part_of(const npy_array *a, int64_t k, int part)
{
    const unsigned char *p = a->data + k * a->item_bytes + part * (a->item_bytes / 2);

    return a->item_bytes == 16 ? blob_f64(p, a->swapped) : (double)blob_f32(p, a->swapped);
}

double npy_imaginary(const npy_array *a, int64_t k)
{
    return part_of(a, k, 1);
}

void npy_value(const npy_array *a, int64_t k, double *to)
{
    to[0] = npy_real(a, k);
    if (a->type == 'c') { to[1] = npy_imaginary(a, k); }
}

bool npy_is_zero(const npy_array *a, int64_t k)
{
    return npy_real(a, k) == 0.0 && (a->type != 'c' || npy_imaginary(a, k) == 0.0);
}

double npy_real(const npy_array *a, int64_t k)
{
    const unsigned char *p = a->data + k * a->item_bytes;

    if (a->type == 'c') { return part_of(a, k, 0); }
    if (a->type == 'i') { return (double)signed_value(a, p); }
    if (a->type != 'f') { return (double)unsigned_value(a, p); }
    if (a->item_bytes == 8) { return blob_f64(p, a->swapped); }
    return a->item_bytes == 4 ? (double)blob_f32(p, a->swapped) : tess_fp16_to_double(blob_u16(p, a->swapped));
}

int64_t npy_place(const npy_array *a, int64_t row, int64_t col)
{
    if (a->dimensions < 2) { return row; }
    return a->fortran ? row + col * a->shape[0] : row * a->shape[1] + col;
}

tess_status npy_as_table(const blob *b, const npy_array *a, int64_t *rows, int64_t *cols)
{
    if (a->type == 'S' || a->type == 'U') {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, NULL, "the array holds text; numbers were expected");
    }
    if (a->dimensions < 1 || a->dimensions > 2) {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, "numpy.save(file, x.reshape(n, k))",
                            "the array has %d dimensions, but one or two were expected", a->dimensions);
    }
    *rows = a->shape[0];
    *cols = a->dimensions == 2 ? a->shape[1] : 1;
    return TESS_SUCCESS;
}

/* ---- writing ---- */

/* Pads with blanks and a newline, and puts the length in front. */
static int finish_header(char *header, int used)
{
    const int total = (used + 1 + 63) / 64 * 64, length = total - 10;

    memset(header + used, ' ', (size_t)(total - used - 1));
    header[total - 1] = '\n';
    memcpy(header, npy_magic, sizeof npy_magic);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)(length & 0xff);
    header[9] = (char)(length >> 8);
    return total;
}

int npy_header(char *header, const char *type, bool fortran, int dimensions, const int64_t *shape)
{
    const size_t size = NPY_HEADER_BYTES;
    int used = 10;

    used += snprintf(header + used, size - (size_t)used, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
                     blob_host_is_little() ? '<' : '>', type, fortran ? "True" : "False");
    for (int i = 0; i < dimensions; i++) {
        used += snprintf(header + used, size - (size_t)used,
                         i == 0   ? "%lld,"
                         : i == 1 ? " %lld"
                                  : ", %lld",
                         (long long)shape[i]);
    }
    used += snprintf(header + used, size - (size_t)used, "), }");
    return finish_header(header, used);
}

int npy_text_header(char *header, int length)
{
    const int used = 10 + snprintf(header + 10, NPY_HEADER_BYTES - 10,
                                   "{'descr': '|S%d', 'fortran_order': False, 'shape': (), }", length);

    return finish_header(header, used);
}
