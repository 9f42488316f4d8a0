/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout resident (Yang et al. 2024, section III-B): how a block row's record is laid out, for builders and products on
 * host and device.
 *
 *   u32  number of tiles; u32 0
 *   header of each tile, 8 bytes, in the order of their columns:
 *     u32  where: block column (27 bits), precision (3 bits)
 *     u32  what: rows that have entries, one bit each (16 bits), entries less one (8 bits), whether it is scaled (1
 * bit) data of each tile, at multiples of 8 bytes: value  of each entry, row by row, in the order of their columns i16
 * exponent, if the tile is scaled: values are stored over 2^exponent u8     for each row that has entries, but for the
 * last: the entries in rows up to it; nothing where every such row has one u8     column in the tile, 4 bits: two
 * entries in a byte, the first in the lower half
 *
 * A tile's bytes follow from its header, so that it can be passed over; values stand first, so that they may be
 * replaced in place by others of fewer bytes.
 */
#ifndef TESS_PAPERS_TILES_RESIDENT_RECORD_H
#define TESS_PAPERS_TILES_RESIDENT_RECORD_H

#include <math.h>

#include "format/tiles/tiles.h"
#include "policy/rules.h"
#include <tessera/codec.h>
#include <tessera/export.h>

enum {
    RESIDENT_SIDE = 16,       /* rows and columns of a tile */
    RESIDENT_COLUMN_BITS = 4, /* 1 << RESIDENT_COLUMN_BITS columns */
    RESIDENT_UNIT = 8         /* bytes: headers and data begin at multiples of it */
};

/* ---- headers ---- */

typedef struct resident_header {
    uint32_t where, what;
} resident_header;

/* rows: bit r, row r has entries. */
TESS_HD resident_header resident_header_of(int32_t column, tess_precision precision, unsigned rows, int entries,
                                           bool scaled)
{
    resident_header h;

    h.where = (uint32_t)column | (uint32_t)precision << 27;
    h.what = rows | (uint32_t)(entries - 1) << 16 | (scaled ? 1U << 24 : 0U);
    return h;
}

/* The same header with another column. */
TESS_HD resident_header resident_moved_header(resident_header h, int32_t column)
{
    h.where = (h.where >> 27 << 27) | (uint32_t)column;
    return h;
}

TESS_HD int32_t resident_column(resident_header h)
{
    return (int32_t)(h.where & ((1U << 27) - 1U));
}

TESS_HD tess_precision resident_precision(resident_header h)
{
    return (tess_precision)(h.where >> 27 & 7U);
}

TESS_HD unsigned resident_rows(resident_header h)
{
    return h.what & 0xffffU;
}

TESS_HD int resident_entries(resident_header h)
{
    return (int)(h.what >> 16 & 255U) + 1;
}

TESS_HD bool resident_is_scaled(resident_header h)
{
    return (h.what >> 24 & 1U) != 0;
}

/* ---- a record ---- */

TESS_HD int resident_tiles(const char *record)
{
    return (int)*(const uint32_t *)(const void *)record;
}

TESS_HD const resident_header *resident_headers(const char *record)
{
    return (const resident_header *)(const void *)(record + RESIDENT_UNIT);
}

/* Where the first tile's data begin. */
TESS_HD int64_t resident_data(int ntiles)
{
    return RESIDENT_UNIT + (int64_t)ntiles * (int64_t)sizeof(resident_header);
}

/* ---- a tile ---- */

/* Bytes from the beginning of the tile's data, where its values are; `bytes`: where the next tile's begin. */
typedef struct resident_parts {
    uint32_t exponent, ends, index, bytes;
    int nrows; /* that have entries */
    bool has_ends;
} resident_parts;

TESS_HD resident_parts resident_parts_of(resident_header h)
{
    const uint32_t entries = (uint32_t)resident_entries(h);
    const uint32_t values = entries * (uint32_t)tess_storage_bytes(resident_precision(h));
    resident_parts p;

    p.nrows = __builtin_popcount(resident_rows(h));
    p.has_ends = entries > (uint32_t)p.nrows;
    p.exponent = resident_is_scaled(h) ? (values + 1U) & ~1U : values;
    p.ends = p.exponent + (resident_is_scaled(h) ? 2U : 0U);
    p.index = p.ends + (p.has_ends ? (uint32_t)p.nrows - 1U : 0U);
    p.bytes = (p.index + (entries + 1U) / 2U + RESIDENT_UNIT - 1U) & ~(RESIDENT_UNIT - 1U);
    return p;
}

/* What the values are multiplied by. */
TESS_HD double resident_scale(const char *data, const resident_parts *p, resident_header h)
{
    return resident_is_scaled(h) ? tess_power_of_two(*(const int16_t *)(const void *)(data + p->exponent)) : 1.0;
}

/* The entries of a row: places first to end - 1 of the tile's. */
typedef struct resident_row {
    int first, end;
} resident_row;

TESS_HD resident_row resident_row_of(const char *data, const resident_parts *p, resident_header h, int row)
{
    const uint8_t *ends = (const uint8_t *)data + p->ends;
    const unsigned rows = resident_rows(h);
    const int number = __builtin_popcount(rows & ((1U << row) - 1U));
    resident_row at = {number, number};

    if ((rows >> row & 1U) == 0) { return at; }
    at.end = number + 1;
    if (p->has_ends) {
        at.first = number > 0 ? ends[number - 1] : 0;
        at.end = number + 1 < p->nrows ? ends[number] : resident_entries(h);
    }
    return at;
}

/* The value of an entry. */
TESS_HD double resident_value(const char *data, const resident_parts *p, resident_header h, int place)
{
    return tess_load(resident_precision(h), data, place) * resident_scale(data, p, h);
}

/* The largest magnitude of the values at some places; NaN does not count. */
TESS_HD double resident_largest(const char *data, const resident_parts *p, resident_header h, int first, int end)
{
    double largest = 0.0;

    for (int k = first; k < end; k++) {
        largest = fmax(largest, fabs(resident_value(data, p, h, k)));
    }
    return largest;
}

/* The column in the tile of an entry. */
TESS_HD int resident_index(const char *data, const resident_parts *p, int place)
{
    return ((const uint8_t *)data)[p->index + (uint32_t)place / 2U] >> (place % 2 * 4) & 15;
}

#endif
