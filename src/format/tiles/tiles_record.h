/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a block row's record, for builders and products on host and device: headers, and places in a group. */
#ifndef TESS_FORMAT_TILES_TILES_RECORD_H
#define TESS_FORMAT_TILES_TILES_RECORD_H

#include "format/tiles/tiles.h"
#include <tessera/codec.h>
#include <tessera/export.h>

/* ---- the header of a group ---- */

enum { TILES_WIDE = 1U << 20, TILES_SCALED = 1U << 21 };

/* Entries in bits 0 to 15, slots in bits 16 to 19, then the flags. Most entries: 15 slots of 32 x 16. */
TESS_HD uint32_t tiles_header(int entries, int slots, bool wide, bool scaled)
{
    return (uint32_t)entries | (uint32_t)slots << 16 | (wide ? (uint32_t)TILES_WIDE : 0U) |
           (scaled ? (uint32_t)TILES_SCALED : 0U);
}

TESS_HD int tiles_entries(uint32_t header)
{
    return (int)(header & 0xffffU);
}

TESS_HD int tiles_slots(uint32_t header)
{
    return (int)(header >> 16 & 15U);
}

TESS_HD bool tiles_is_wide(uint32_t header)
{
    return (header & TILES_WIDE) != 0;
}

TESS_HD bool tiles_is_scaled(uint32_t header)
{
    return (header & TILES_SCALED) != 0;
}

/* Slots of a group: as many as one byte of index can count, less one. */
TESS_HD int tiles_slots_of(int column_bits)
{
    return (1 << (8 - column_bits)) - 1;
}

/* Bytes before the groups. */
TESS_HD uint32_t tiles_head_bytes(int nruns, int nlevels)
{
    return 4U * (1U + (uint32_t)(nruns * nlevels));
}

/* Place of the header of level l in run r, counted in words after the number of runs: the lowest precision comes first.
 */
TESS_HD int tiles_header_place(int run, int level, int nlevels)
{
    return run * nlevels + (nlevels - 1 - level);
}

/* ---- a group ---- */

/* Bytes from the record's beginning; `end` is where the next group begins. */
typedef struct tiles_group {
    uint32_t slots, exponents, ends, index, values, end;
} tiles_group;

/* Bytes of a row's end: the number of entries of the group in the block row's rows up to and including this one. */
TESS_HD uint32_t tiles_end_bytes(uint32_t header)
{
    return tiles_entries(header) < 256 ? 1U : 2U;
}

/* value_bytes: a power of two. */
TESS_HD tiles_group tiles_group_at(uint32_t header, uint32_t at, int rows, int value_bytes)
{
    const uint32_t nslots = (uint32_t)tiles_slots(header), entries = (uint32_t)tiles_entries(header);
    const uint32_t size = (uint32_t)value_bytes;
    tiles_group g;

    g.slots = at;
    g.exponents = at + nslots * (tiles_is_wide(header) ? 4U : 2U);
    g.ends = g.exponents + (tiles_is_scaled(header) ? 2U * nslots : 0U);
    g.index = g.ends + (uint32_t)rows * tiles_end_bytes(header);
    g.values = (g.index + entries + size - 1U) & ~(size - 1U);
    g.end = (g.values + entries * size + 3U) / 4U * 4U;
    return g;
}

/* The block column that a block row's narrow slots are relative to. */
TESS_HD int32_t tiles_diagonal_column(const tiles_view *v, int64_t block_row)
{
    return (int32_t)(block_row * v->rows >> v->column_bits);
}

TESS_HD bool tiles_fits_narrow(int32_t column, int32_t diagonal)
{
    int64_t distance = (int64_t)column - diagonal;

    return distance >= INT16_MIN && distance <= INT16_MAX;
}

TESS_HD int32_t tiles_slot_column(const char *record, const tiles_group *g, uint32_t header, int slot, int32_t diagonal)
{
    const char *slots = record + g->slots;

    return tiles_is_wide(header) ? ((const int32_t *)(const void *)slots)[slot]
                                 : diagonal + ((const int16_t *)(const void *)slots)[slot];
}

/* Place, among the group's entries, after the last of a row. */
TESS_HD int tiles_row_end(const char *record, const tiles_group *g, uint32_t header, int row)
{
    const char *ends = record + g->ends;

    return tiles_end_bytes(header) == 1U ? ((const uint8_t *)(const void *)ends)[row]
                                         : ((const uint16_t *)(const void *)ends)[row];
}

TESS_HD void tiles_set_row_end(char *record, const tiles_group *g, uint32_t header, int row, int end)
{
    char *ends = record + g->ends;

    if (tiles_end_bytes(header) == 1U) {
        ((uint8_t *)(void *)ends)[row] = (uint8_t)end;
    } else {
        ((uint16_t *)(void *)ends)[row] = (uint16_t)end;
    }
}

TESS_HD int tiles_slot_exponent(const char *record, const tiles_group *g, int slot)
{
    return ((const int16_t *)(const void *)(record + g->exponents))[slot];
}

#endif
