/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of kernel paper, for builders and products on host and device: the choice of a format, shapes, where things
 * are. */
#ifndef TESS_PAPERS_TILES_TCKI_RECORD_H
#define TESS_PAPERS_TILES_TCKI_RECORD_H

#include <math.h>

#include "papers/tiles/tcki.h"
#include "policy/rules.h"
#include <tessera/codec.h>
#include <tessera/export.h>

/* ---- the choice (Zhao et al. 2024, equations 6 to 8 and Figure 3) ---- */

/*
 * The coefficient of variation of the lengths of a block's rows, given their sum and the sum of their squares, which
 * are exact: sqrt(rows squares - entries^2) / entries. Two roundings, so that a rational one is the double that is
 * nearest to it.
 */
TESS_HD double tcki_variation(int rows, int entries, int squares)
{
    return sqrt((double)(rows * squares - entries * entries)) / (double)entries;
}

TESS_HD int tcki_choose(const tcki_rules *rules, int rows, int entries, int squares)
{
    const double variation = tcki_variation(rows, entries, squares);

    if ((double)entries < rules->fewest) { return TESS_TCKI_COO; }
    return variation < rules->low ? TESS_TCKI_ELL : variation > rules->high ? TESS_TCKI_HYB : TESS_TCKI_CSR;
}

/* Whether the ELL part of a HYB block is as wide as a length that `count` rows have or exceed: if a third of the rows
   do (Bell and Garland, SC 2009, section 4.4). */
TESS_HD bool tcki_is_common(int count, int rows)
{
    return 3 * count >= rows;
}

/* ---- shapes ---- */

/* Entries in bits 0 to 10, those of them that are in COO or the CSR part in bits 11 to 21, width of the ELL part in
   bits 22 to 27, format in bits 28 and 29, level in bits 30 and 31. A block has up to 1,024 entries. */
TESS_HD uint32_t tcki_shape(int entries, int rest, int width, int format, int level)
{
    return (uint32_t)entries | (uint32_t)rest << 11 | (uint32_t)width << 22 | (uint32_t)format << 28 |
           (uint32_t)level << 30;
}

TESS_HD int tcki_entries(uint32_t shape)
{
    return (int)(shape & 2047U);
}

TESS_HD int tcki_rest(uint32_t shape)
{
    return (int)(shape >> 11 & 2047U);
}

TESS_HD int tcki_width(uint32_t shape)
{
    return (int)(shape >> 22 & 63U);
}

TESS_HD int tcki_format(uint32_t shape)
{
    return (int)(shape >> 28 & 3U);
}

TESS_HD int tcki_level(uint32_t shape)
{
    return (int)(shape >> 30);
}

TESS_HD tess_precision tcki_precision(const tcki_view *v, uint32_t shape)
{
    return (tess_precision)(v->precisions >> (4 * tcki_level(shape)) & 15U);
}

/* ---- records ---- */

/* Bytes from the record's beginning. */
typedef struct tcki_parts {
    int slots; /* places of the ELL part */
    int count; /* all places */
    bool has_ends, wide_ends, has_lengths;
    uint32_t lengths, index, values, end; /* ends are at 0; `end` is a multiple of TCKI_UNIT */
} tcki_parts;

TESS_HD int tcki_row_bits(int rows)
{
    return rows == 32 ? 5 : 4;
}

/* value_bytes: a power of two. */
TESS_HD tcki_parts tcki_parts_of(uint32_t shape, int rows, int column_bits, int value_bytes)
{
    const bool coo = tcki_format(shape) == TESS_TCKI_COO;
    const uint32_t size = (uint32_t)value_bytes;
    uint32_t bytes;
    tcki_parts p;

    p.slots = tcki_width(shape) * rows;
    p.count = p.slots + tcki_rest(shape);
    p.has_ends = !coo && tcki_rest(shape) > 0;
    p.wide_ends = tcki_rest(shape) >= 256;
    p.has_lengths = p.slots > tcki_entries(shape) - tcki_rest(shape);
    p.lengths = p.has_ends ? (uint32_t)rows * (p.wide_ends ? 2U : 1U) : 0U;
    p.index = p.lengths + (p.has_lengths ? (uint32_t)rows : 0U);
    if (coo) {
        bytes = (uint32_t)p.count * (tcki_row_bits(rows) + column_bits > 8 ? 2U : 1U);
    } else {
        bytes = column_bits > 4 ? (uint32_t)p.count : ((uint32_t)p.count + 1U) / 2U;
    }
    p.values = (p.index + bytes + size - 1U) & ~(size - 1U);
    p.end = (p.values + (uint32_t)p.count * size + TCKI_UNIT - 1U) / TCKI_UNIT * TCKI_UNIT;
    return p;
}

/* The column in the block of a place that is not of COO. */
TESS_HD int tcki_column(const uint8_t *index, int column_bits, int place)
{
    return column_bits > 4 ? index[place] : index[place / 2] >> (place % 2 * 4) & 15;
}

/* The row and the column of an entry of COO, as row << column_bits | column. */
TESS_HD int tcki_row_and_column(const uint8_t *index, int rows, int column_bits, int place)
{
    return tcki_row_bits(rows) + column_bits > 8 ? ((const uint16_t *)(const void *)index)[place] : index[place];
}

/* Entries of the CSR part in the rows up to this one. */
TESS_HD int tcki_end(const char *record, const tcki_parts *p, int row)
{
    if (!p->has_ends) { return 0; }
    return p->wide_ends ? ((const uint16_t *)(const void *)record)[row] : ((const uint8_t *)(const void *)record)[row];
}

TESS_HD void tcki_set_end(char *record, const tcki_parts *p, int row, int end)
{
    if (!p->has_ends) { return; }
    if (p->wide_ends) {
        ((uint16_t *)(void *)record)[row] = (uint16_t)end;
    } else {
        ((uint8_t *)(void *)record)[row] = (uint8_t)end;
    }
}

/* Entries of a row in the ELL part. */
TESS_HD int tcki_length(const char *record, const tcki_parts *p, uint32_t shape, int row)
{
    return p->has_lengths ? ((const uint8_t *)(const void *)record)[p->lengths + (uint32_t)row] : tcki_width(shape);
}

/* Place of entry k of a row; `before`: entries of the CSR part, or of COO, in the rows before. */
TESS_HD int tcki_place(const tcki_parts *p, int rows, int width, int row, int before, int k)
{
    return k < width ? k * rows + row : p->slots + before + (k - width);
}

TESS_HD tcki_parts tcki_parts_in(const tcki_view *v, uint32_t shape)
{
    return tcki_parts_of(shape, v->rows, v->column_bits, (int)tess_storage_bytes(tcki_precision(v, shape)));
}

/* What a block's values are multiplied by. */
TESS_HD double tcki_scale(const tcki_view *v, int64_t block)
{
    return v->exponent ? tess_power_of_two(v->exponent[block]) : 1.0;
}

#endif
