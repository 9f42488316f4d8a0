/* SPDX-License-Identifier: Apache-2.0 */
/* What host and device share of packed records: their layout, and which entries a row of a slice has. */
#ifndef TESS_FORMAT_PACKED_PACKED_SLICES_H
#define TESS_FORMAT_PACKED_PACKED_SLICES_H

#include "base/offsets.h"
#include "base/precision_traits.h"
#include "format/packed/packed.h"

/* ---- the head of a record ---- */

/*
 * The word of a level has its places (entries of its longest row), all its entries, and the bytes of an offset where
 * all places have the same; the first word also says whether a row of the slice is long. Where values and offsets begin
 * is in units of PACKED_UNIT.
 */
typedef struct packed_head {
    uint32_t word[TESS_MAX_LEVELS];
    uint16_t values[TESS_MAX_LEVELS];
    uint16_t offsets, unused;
    uint8_t precision[TESS_MAX_LEVELS]; /* tess_precision */
} packed_head;

enum {
    PACKED_COUNT_SHIFT = 8,
    PACKED_COUNT_MASK = (1 << 13) - 1, /* 32 rows of 255 entries are fewer */
    PACKED_WIDTH_SHIFT = 21,
    PACKED_WIDTHS_DIFFER = 7
};
#define PACKED_HAS_LONG 0x80000000U

TESS_HD int packed_places(uint32_t word)
{
    return (int)(word & 0xFFU);
}

TESS_HD int packed_count(uint32_t word)
{
    return (int)(word >> PACKED_COUNT_SHIFT & PACKED_COUNT_MASK);
}

/* Bytes of an offset at every place; PACKED_WIDTHS_DIFFER: as the record says. */
TESS_HD int packed_width(uint32_t word)
{
    return (int)(word >> PACKED_WIDTH_SHIFT & 7U);
}

TESS_HD uint32_t packed_word(int places, int count, int width)
{
    return (uint32_t)places | (uint32_t)count << PACKED_COUNT_SHIFT | (uint32_t)width << PACKED_WIDTH_SHIFT;
}

/* ---- places in a record ---- */

enum { PACKED_OFFSET_UNIT = 4 };

TESS_HD int packed_round(int bytes, int unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Bytes of a level before its values. */
TESS_HD int packed_level_head(int places)
{
    return places == 0 ? 0 : PACKED_SLICE + 4 * places + packed_round(places, 4);
}

/* Bytes of a level's values, up to where the next ones begin. */
TESS_HD int packed_value_bytes(tess_precision precision, int count)
{
    return packed_round(count * (int)tess_storage_bytes(precision), PACKED_UNIT);
}

/* Bytes of the offsets of a place. */
TESS_HD int packed_offset_bytes(int count, int width)
{
    return packed_round(count * width, PACKED_OFFSET_UNIT);
}

/* Bytes of an offset that may be as large as this. */
TESS_HD int packed_width_of(uint32_t largest)
{
    return largest == 0 ? 0 : largest <= 0xFFU ? 1 : largest <= 0xFFFFU ? 2 : 4;
}

TESS_HD uint32_t packed_offset(const char *at, int width, int i)
{
    switch (width) {
    case 0: return 0;
    case 1: return ((const uint8_t *)at)[i];
    case 2: return ((const uint16_t *)(const void *)at)[i];
    default: return ((const uint32_t *)(const void *)at)[i];
    }
}

TESS_HD void packed_offset_set(char *at, int width, int i, uint32_t offset)
{
    switch (width) {
    case 0: break;
    case 1: ((uint8_t *)at)[i] = (uint8_t)offset; break;
    case 2: ((uint16_t *)(void *)at)[i] = (uint16_t)offset; break;
    default: ((uint32_t *)(void *)at)[i] = offset; break;
    }
}

/* Completes a head that has its words; returns where the offsets begin, in bytes. */
TESS_HD int packed_place_parts(const packed_view *v, packed_head *head)
{
    int at = (int)sizeof *head;

    for (int l = 0; l < v->nlevels; l++) {
        at += packed_level_head(packed_places(head->word[l]));
    }
    at = packed_round(at, PACKED_UNIT);
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        head->values[l] = (uint16_t)(at / PACKED_UNIT);
        head->precision[l] = (uint8_t)v->precision[l];
        if (l < v->nlevels) { at += packed_value_bytes(v->precision[l], packed_count(head->word[l])); }
    }
    head->offsets = (uint16_t)(at / PACKED_UNIT);
    head->unused = 0;
    return at;
}

/* ---- the entries of a row of a slice ---- */

/* Entries begin .. end - 1 of the CSR arrays. */
typedef struct packed_range {
    int64_t begin, end;
} packed_range;

TESS_HD int64_t packed_row_length(const csr_view *csr, int64_t row)
{
    return tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + 1) -
           tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row);
}

/* The place of the last number of an ascending list that is at most `number`. */
TESS_HD int64_t packed_find(const int32_t *list, int64_t count, int64_t number)
{
    int64_t low = 0, high = count - 1;

    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;

        if (list[middle] <= number) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Segments of a long row. */
TESS_HD int64_t packed_segments(int64_t length)
{
    return (length + PACKED_SLICE * PACKED_PIECE - 1) / (PACKED_SLICE * PACKED_PIECE);
}

/* Piece `lane` of segment s: pieces of a segment have the same length but for the last. */
TESS_HD packed_range packed_piece(const csr_view *csr, const packed_view *v, int64_t s, int lane)
{
    const int64_t j = packed_find(v->long_segment, v->nlong, s), row = v->long_row[j];
    const int64_t end = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + 1);
    const int64_t first =
        tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row) + (s - v->long_segment[j]) * PACKED_SLICE * PACKED_PIECE;
    const int64_t left = end - first < PACKED_SLICE * PACKED_PIECE ? end - first : PACKED_SLICE * PACKED_PIECE;
    const int64_t each = (left + PACKED_SLICE - 1) / PACKED_SLICE;
    packed_range r = {first + lane * each, first + (lane + 1) * each};

    r.end = r.end < first + left ? r.end : first + left;
    r.begin = r.begin < r.end ? r.begin : r.end;
    return r;
}

/* Of record `slice`: a row that is not long, or a piece of a segment. */
TESS_HD packed_range packed_range_of(const csr_view *csr, const packed_view *v, int64_t slice, int lane)
{
    const int64_t row = slice * PACKED_SLICE + lane;
    packed_range r = {0, 0};

    if (slice >= v->nslices) { return packed_piece(csr, v, slice - v->nslices, lane); }
    if (row >= v->nrows || packed_row_length(csr, row) > v->longest) { return r; }
    r.begin = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row);
    r.end = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + 1);
    return r;
}

TESS_HD int packed_level_of(const packed_source *source, int64_t entry)
{
    return source->level ? source->level[entry] : source->whole;
}

/* The first entry of a level from `at` on, or `end`. */
TESS_HD int64_t packed_next(const packed_source *source, int level, int64_t at, int64_t end)
{
    if (!source->level) { return source->whole == level ? at : end; }
    while (at < end && source->level[at] != level) {
        at += 1;
    }
    return at;
}

/* Whether a row of a slice is long. */
TESS_HD bool packed_is_long(const csr_view *csr, const packed_view *v, int64_t slice, int lane)
{
    const int64_t row = slice * PACKED_SLICE + lane;

    return slice < v->nslices && row < v->nrows && packed_row_length(csr, row) > v->longest;
}

#endif
