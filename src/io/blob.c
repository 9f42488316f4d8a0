/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of binary files; see blob.h. */
#include <string.h>

#include <tessera/names.h>

#include "io/blob.h"

enum { FIRST_BYTES = 1 << 16 };

/* ---- bytes ---- */

static tess_status grow(blob *b)
{
    const int64_t larger = 2 * b->capacity;
    unsigned char *next = NULL;
    tess_status status = tess_host_allocate(b->ctx, larger, 1, (void **)&next);

    if (status != TESS_SUCCESS) { return status; }
    memcpy(next, b->own, (size_t)b->count);
    tess_host_release(b->ctx, b->own, b->capacity, 1);
    b->own = next;
    b->capacity = larger;
    return TESS_SUCCESS;
}

static tess_status read_all(text_source *source, blob *b)
{
    tess_status status = TESS_SUCCESS;

    b->capacity = source->stored_bytes >= 0 ? source->stored_bytes + 1 : FIRST_BYTES; /* one more: to see the end */
    b->capacity = source->compressed && b->capacity < FIRST_BYTES ? FIRST_BYTES : b->capacity;
    status = tess_host_allocate(b->ctx, b->capacity, 1, (void **)&b->own);
    while (status == TESS_SUCCESS) {
        if (b->count == b->capacity) { status = grow(b); }
        if (status != TESS_SUCCESS) { break; }
        const int64_t got = text_source_read(source, b->own + b->count, b->capacity - b->count);
        if (got < 0) {
            return tess_fail_at(b->ctx, source->problem.status, b->name, 0, NULL, "%s", source->problem.text);
        }
        if (got == 0) { break; }
        b->count += got;
    }
    b->bytes = b->own;
    return status;
}

tess_status blob_read(text_source *source, blob *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (blob){.ctx = source->ctx, .name = source->name, .member = source->member};
    if (source->stored.descriptor < 0 && !source->unpacker) {
        out->bytes = source->stored.memory;
        out->count = source->stored.memory_bytes;
        return TESS_SUCCESS;
    }
    status = read_all(source, out);
    if (status != TESS_SUCCESS) { blob_release(out); }
    return status;
}

void blob_release(blob *b)
{
    tess_host_release(b->ctx, b->own, b->capacity, 1);
    b->own = NULL;
    b->bytes = NULL;
    b->count = 0;
}

/* ---- reading ---- */

tess_status blob_fail(const blob *b, int64_t at, const char *hint, const char *what)
{
    return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, hint, "at byte %lld of %lld: %s", (long long)at,
                        (long long)b->count, what);
}

const unsigned char *blob_take(blob_cursor *c, int64_t count, int64_t each, const char *what, tess_status *status)
{
    const int64_t left = c->b->count - c->at;
    const unsigned char *p = c->b->bytes + c->at;

    if (count < 0 || count > left / each) {
        *status = tess_fail_at(c->b->ctx, TESS_PARSE, c->b->name, 0, "the file may be incomplete",
                               "at byte %lld of %lld: %s should have %s of %lld bytes, but the file ends before",
                               (long long)c->at, (long long)c->b->count, what, tess_count(count, "item").text,
                               (long long)each);
        return NULL;
    }
    c->at += count * each;
    return p;
}

uint16_t blob_u16(const unsigned char *p, bool swapped)
{
    uint16_t value;

    memcpy(&value, p, sizeof value);
    return swapped ? __builtin_bswap16(value) : value;
}

uint32_t blob_u32(const unsigned char *p, bool swapped)
{
    uint32_t value;

    memcpy(&value, p, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

uint64_t blob_u64(const unsigned char *p, bool swapped)
{
    uint64_t value;

    memcpy(&value, p, sizeof value);
    return swapped ? __builtin_bswap64(value) : value;
}

double blob_f64(const unsigned char *p, bool swapped)
{
    const uint64_t bits = blob_u64(p, swapped);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

float blob_f32(const unsigned char *p, bool swapped)
{
    const uint32_t bits = blob_u32(p, swapped);
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- writing ---- */

void blob_put_u32(unsigned char *p, uint32_t value)
{
    value = blob_host_is_little() ? __builtin_bswap32(value) : value;
    memcpy(p, &value, sizeof value);
}

void blob_put_f64(unsigned char *p, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits = blob_host_is_little() ? __builtin_bswap64(bits) : bits;
    memcpy(p, &bits, sizeof bits);
}
