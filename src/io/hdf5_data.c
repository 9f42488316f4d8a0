/* SPDX-License-Identifier: Apache-2.0 */
/* The data of HDF5 files: types, pieces and chunks, filters; see hdf5_file.h. */
#include <string.h>
#include <zlib.h>

#include <tessera/codec.h>

#include "io/hdf5_file.h"
#include "io/hdf5_parts.h"

enum { CLASS_INTEGER = 0, CLASS_REAL = 1, CLASS_TEXT = 3, CLASS_COMPOUND = 6, CLASS_ENUM = 8 };
enum { FILTER_DEFLATE = 1, FILTER_SHUFFLE = 2, FILTER_CHECKSUM = 3, CHUNKS_DEEP = 16 };

/* ---- types ---- */

static bool is_number(int class, int64_t bytes)
{
    return class == CLASS_REAL ? bytes == 2 || bytes == 4 || bytes == 8
                               : class == CLASS_INTEGER && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

/* Class, flags and size in front of each type. An enumeration (h5py's booleans) has the type of its numbers behind. */
static bool parse_number(h5_span *s, h5_number *number, int64_t *bytes)
{
    int class = (int)h5_take(s, 1) & 15;
    uint64_t flags = h5_take(s, 3);

    *bytes = (int64_t)h5_take(s, 4);
    if (class == CLASS_ENUM) {
        class = (int)h5_take(s, 1) & 15;
        flags = h5_take(s, 3);
        *bytes = (int64_t)h5_take(s, 4);
    }
    *number = (h5_number){.bytes = (int)(*bytes & 15),
                          .real = class == CLASS_REAL,
                          .big = (flags & 1) != 0,
                          .is_signed = (flags & 8) != 0};
    h5_pass(s, class == CLASS_REAL ? 12 : 4);
    return !s->bad && is_number(class, *bytes);
}

/* A member of a compound: name, place, (of version 1 dimensions, none), type. */
static bool parse_member(h5_span *s, int version, int64_t whole, h5_number *number)
{
    const size_t length = strnlen((const char *)s->p, (size_t)s->left);
    int64_t bytes = 0;
    int width = 4;

    h5_pass(s, version < 3 ? (int64_t)(length / 8 + 1) * 8 : (int64_t)length + 1);
    if (version == 3) {
        for (width = 1; width < 4 && whole >> (8 * width) != 0;) {
            width++;
        }
    }
    const uint64_t at = h5_take(s, width);
    if (version == 1) { h5_pass(s, 28); }
    if (!parse_number(s, number, &bytes) || at + (uint64_t)bytes > (uint64_t)whole) { return false; }
    number->at = (int)at;
    return true;
}

void h5_parse_type(h5_span *s, h5_type *type)
{
    h5_span rest = *s;
    const int first = (int)h5_take(&rest, 1), class = first & 15, version = first >> 4;
    const uint64_t flags = h5_take(&rest, 3);
    const int64_t bytes = (int64_t)h5_take(&rest, 4);
    int64_t ignored = 0;

    *type = (h5_type){.parts = 1};
    if (rest.bad) { return; }
    if (class == CLASS_TEXT) {
        type->text = true;
        type->bytes = bytes;
    } else if (class == CLASS_COMPOUND && (flags & 0xffff) == 2 && bytes <= 64) {
        if (!parse_member(&rest, version, bytes, &type->part[0]) ||
            !parse_member(&rest, version, bytes, &type->part[1])) {
            return;
        }
        type->parts = 2;
        type->bytes = bytes;
    } else if (parse_number(s, &type->part[0], &ignored)) {
        type->bytes = type->part[0].bytes;
    }
}

double h5_value(const h5_type *type, const unsigned char *bytes, int64_t k, int part)
{
    const h5_number *n = &type->part[part];
    const unsigned char *p = bytes + k * type->bytes + n->at;
    const bool swapped = n->big == blob_host_is_little();

    if (n->real) {
        return n->bytes == 8   ? blob_f64(p, swapped)
               : n->bytes == 4 ? (double)blob_f32(p, swapped)
                               : tess_fp16_to_double(blob_u16(p, swapped));
    }
    switch (n->bytes) {
    case 1: return n->is_signed ? (double)(int8_t)*p : (double)*p;
    case 2: return n->is_signed ? (double)(int16_t)blob_u16(p, swapped) : (double)blob_u16(p, swapped);
    case 4: return n->is_signed ? (double)(int32_t)blob_u32(p, swapped) : (double)blob_u32(p, swapped);
    default: return n->is_signed ? (double)(int64_t)blob_u64(p, swapped) : (double)blob_u64(p, swapped);
    }
}

/* ---- data ---- */

int64_t h5_items(const h5_object *o)
{
    int64_t count = 1;

    for (int i = 0; i < o->rank; i++) {
        if (__builtin_mul_overflow(count, o->dims[i], &count)) { return -1; }
    }
    return o->rank < 0 ? -1 : count;
}

/* A chunk as it comes out of the filters, and what it goes through. */
typedef struct chunk_reader {
    h5_file *f;
    const h5_object *o;
    int64_t bytes; /* of a chunk */
    unsigned char *to, *plain, *spare;
} chunk_reader;

static tess_status inflate_chunk(const chunk_reader *r, const unsigned char *p, int64_t count)
{
    uLongf made = (uLongf)r->bytes;
    const int code = uncompress(r->plain, &made, p, (uLong)count);

    return code == Z_OK && (int64_t)made == r->bytes ? TESS_SUCCESS
                                                     : h5_fail(r->f, "the compressed data of a chunk is damaged");
}

/* Bytes of equal place in the items lie together. */
static void unshuffle(const chunk_reader *r)
{
    const int64_t width = r->o->type.bytes, count = r->bytes / width;

    memcpy(r->spare, r->plain, (size_t)r->bytes);
    for (int64_t k = 0; k < count; k++) {
        for (int64_t j = 0; j < width; j++) {
            r->plain[k * width + j] = r->spare[j * count + k];
        }
    }
}

/* Undoes the filters, the last one first. `mask`: those that were left out. */
static tess_status unfilter(const chunk_reader *r, const unsigned char *p, int64_t count, uint64_t mask)
{
    const h5_object *o = r->o;
    bool plain = false;

    for (int i = o->filters; i-- > 0;) {
        tess_status status = TESS_SUCCESS;

        if (mask >> i & 1) { continue; }
        if (o->filter[i] == FILTER_CHECKSUM && !plain && count >= 4) {
            count -= 4;
        } else if (o->filter[i] == FILTER_DEFLATE && !plain) {
            status = inflate_chunk(r, p, count);
            plain = true;
        } else if (o->filter[i] == FILTER_SHUFFLE) {
            if (!plain && count != r->bytes) { return h5_fail(r->f, "a chunk is too short or too long"); }
            if (!plain) { memcpy(r->plain, p, (size_t)count); }
            plain = true;
            unshuffle(r);
        } else {
            return tess_fail_at(r->f->b->ctx, TESS_UNSUPPORTED, r->f->b->name, 0,
                                "write the data with compression='gzip' or none",
                                "the HDF5 file has data behind filter %d; deflate and shuffle are read", o->filter[i]);
        }
        if (status != TESS_SUCCESS) { return status; }
    }
    if (plain) { return TESS_SUCCESS; }
    if (count != r->bytes) { return h5_fail(r->f, "a chunk is too short or too long"); }
    memcpy(r->plain, p, (size_t)count);
    return TESS_SUCCESS;
}

/* Puts rows of the chunk in their places; what is beyond the data set is padding. */
static void place_chunk(const chunk_reader *r, const int64_t *at)
{
    const h5_object *o = r->o;
    const int last = o->rank - 1;
    int64_t index[H5_MOST_DIMENSIONS] = {0}, width = o->chunk[last];

    width = width < o->dims[last] - at[last] ? width : o->dims[last] - at[last];
    for (int64_t row = 0; row < r->bytes / o->type.bytes / o->chunk[last]; row++) {
        int64_t to = 0, left = row;
        bool inside = true;

        for (int i = last; i-- > 0;) {
            index[i] = left % o->chunk[i] + at[i];
            left /= o->chunk[i];
            inside = inside && index[i] < o->dims[i];
        }
        for (int i = 0; i < last; i++) {
            to = to * o->dims[i] + index[i];
        }
        to = to * o->dims[last] + at[last];
        if (inside) {
            memcpy(r->to + to * o->type.bytes, r->plain + row * o->chunk[last] * o->type.bytes,
                   (size_t)(width * o->type.bytes));
        }
    }
}

static tess_status read_chunk(const chunk_reader *r, h5_span key, uint64_t address)
{
    const uint64_t count = h5_take(&key, 4), mask = h5_take(&key, 4);
    int64_t at[H5_MOST_DIMENSIONS] = {0};

    for (int i = 0; i < r->o->rank; i++) {
        at[i] = (int64_t)h5_take(&key, 8);
        if (at[i] < 0 || at[i] >= r->o->dims[i] || at[i] % r->o->chunk[i] != 0) {
            return at[i] >= r->o->dims[i] ? TESS_SUCCESS : h5_fail(r->f, "a chunk lies between others");
        }
    }
    const unsigned char *p = h5_bytes(r->f, address, count);
    if (!p) { return h5_fail(r->f, "a chunk lies outside"); }
    r->f->may_unpack -= r->bytes;
    if (r->f->may_unpack < 0) { return h5_fail(r->f, "its chunks unpack to more than 1032 times its size"); }
    const tess_status status = unfilter(r, p, (int64_t)count, mask);
    if (status == TESS_SUCCESS) { place_chunk(r, at); }
    return status;
}

static tess_status each_chunk(const chunk_reader *r, uint64_t address, int deepest)
{
    h5_file *f = r->f;
    const int head = 8 + 2 * f->offset_bytes, key_bytes = 8 + 8 * (r->o->rank + 1);
    const unsigned char *p = h5_bytes(f, address, (uint64_t)head);
    tess_status status = h5_step(f);

    if (status != TESS_SUCCESS) { return status; }
    if (!p || memcmp(p, "TREE", 4) != 0 || p[4] != 1 || p[5] > deepest) {
        return h5_fail(f, "the tree of the chunks lies outside or is none");
    }
    const int level = p[5], count = (int)h5_integer(p + 6, 2);
    h5_span s = {p + head, f->b->count - (p + head - f->b->bytes), false};
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        const h5_span key = {h5_pass(&s, key_bytes), key_bytes, false};
        const uint64_t child = h5_take(&s, f->offset_bytes);

        if (s.bad) { return h5_fail(f, "the tree of the chunks is incomplete"); }
        status = level > 0 ? each_chunk(r, child, level - 1) : read_chunk(r, key, child);
    }
    return status;
}

static tess_status read_chunks(h5_file *f, const h5_object *o, unsigned char *to)
{
    chunk_reader r = {.f = f, .o = o, .bytes = o->type.bytes, .to = to};
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < o->rank; i++) {
        if (o->chunk[i] < 1 || __builtin_mul_overflow(r.bytes, o->chunk[i], &r.bytes)) {
            return h5_fail(f, "the sizes of chunks are wrong");
        }
    }
    if (o->rank < 1 || o->chunk[o->rank] != o->type.bytes || r.bytes > f->may_unpack) {
        return h5_fail(f, "the sizes of chunks are wrong");
    }
    if (h5_bytes(f, o->data, 8) == NULL) { return TESS_SUCCESS; } /* none was written */
    TESS_TRY(tess_host_allocate(f->b->ctx, r.bytes, 1, (void **)&r.plain));
    TESS_TRY(tess_host_allocate(f->b->ctx, r.bytes, 1, (void **)&r.spare));
    TESS_TRY(each_chunk(&r, o->data, CHUNKS_DEEP));
cleanup:
    tess_host_release(f->b->ctx, r.plain, r.bytes, 1);
    tess_host_release(f->b->ctx, r.spare, r.bytes, 1);
    return status;
}

tess_status h5_read(h5_file *f, const h5_object *o, unsigned char **bytes)
{
    const int64_t items = h5_items(o);
    int64_t count = 0;

    *bytes = NULL;
    if (o->type.bytes == 0 || o->layout < 0 || items < 0) {
        return tess_fail_at(f->b->ctx, TESS_UNSUPPORTED, f->b->name, 0,
                            "in Python: h5py.File('B.h5', 'w')['A'] = h5py.File('A.h5')['A'][:]",
                            "the HDF5 file has data of a type or a layout that this library does not read");
    }
    if (__builtin_mul_overflow(items, o->type.bytes, &count) || (o->layout == 2 && count > f->may_unpack) ||
        (o->layout < 2 && count > o->data_bytes && items > 0 && h5_bytes(f, o->data, 1))) {
        return h5_fail(f, "a data set is larger than the file can hold");
    }
    if (o->layout < 2 && count > f->b->count) { return h5_fail(f, "a data set is larger than the file"); }
    tess_status status = tess_host_allocate(f->b->ctx, count, 1, (void **)bytes);
    if (status != TESS_SUCCESS || count == 0) { return status; }
    memset(*bytes, 0, (size_t)count);
    if (o->layout == 2) {
        status = read_chunks(f, o, *bytes);
    } else {
        const unsigned char *p = h5_bytes(f, o->data, (uint64_t)count);

        if (p) { memcpy(*bytes, p, (size_t)count); } /* else it was never written: zeros */
    }
    if (status != TESS_SUCCESS) {
        tess_host_release(f->b->ctx, *bytes, count, 1);
        *bytes = NULL;
    }
    return status;
}
