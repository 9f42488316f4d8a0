/* SPDX-License-Identifier: Apache-2.0 */
/* What host and device share of packed records: their layout, and which entries a row of a slice has. */
#ifndef TESS_FORMAT_PACKED_PACKED_SLICES_H
#define TESS_FORMAT_PACKED_PACKED_SLICES_H

#include "base/offsets.h"
#include "base/precision_traits.h"
#include "base/search.h"
#include "format/packed/packed.h"
#include "policy/assignment.h"

/* ---- the word of a section ---- */

/*
 * Its places (entries of the longest row), all its entries, the bytes of an offset where all places have the same, and
 * the precision. Each word of a slice also says whether a row of it is long.
 */
enum {
    PACKED_COUNT_SHIFT = 8,
    PACKED_COUNT_MASK = (1 << 13) - 1, /* 32 rows of 255 entries are fewer */
    PACKED_WIDTH_SHIFT = 21,
    PACKED_WIDTHS_DIFFER = 7,
    PACKED_PRECISION_SHIFT = 24
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

/* Bytes of an offset at every place; PACKED_WIDTHS_DIFFER: as the section says. */
TESS_HD int packed_width(uint32_t word)
{
    return (int)(word >> PACKED_WIDTH_SHIFT & 7U);
}

TESS_HD tess_precision packed_precision(uint32_t word)
{
    return (tess_precision)(word >> PACKED_PRECISION_SHIFT & 0xFU);
}

TESS_HD uint32_t packed_word(int places, int count, int width, tess_precision precision, bool has_long)
{
    return (uint32_t)places | (uint32_t)count << PACKED_COUNT_SHIFT | (uint32_t)width << PACKED_WIDTH_SHIFT |
           (uint32_t)precision << PACKED_PRECISION_SHIFT | (has_long ? PACKED_HAS_LONG : 0U);
}

/* Whether each row has as many entries as the others. */
TESS_HD bool packed_is_full(uint32_t word)
{
    return packed_count(word) == packed_places(word) * PACKED_SLICE;
}

/* ---- places in a section, in bytes from its begin ---- */

enum { PACKED_OFFSET_UNIT = 4, PACKED_BASE_UNIT = 16 };

TESS_HD int packed_round(int bytes, int unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Of the base columns; the lengths of rows, if any, are before them. */
TESS_HD int packed_bases_at(uint32_t word)
{
    return packed_is_full(word) ? 0 : PACKED_SLICE;
}

/* Of the bytes of offsets, if places differ in them. */
TESS_HD int packed_widths_at(uint32_t word)
{
    return packed_bases_at(word) + packed_round(4 * packed_places(word), PACKED_BASE_UNIT);
}

TESS_HD int packed_values_at(uint32_t word)
{
    const int widths = packed_width(word) == PACKED_WIDTHS_DIFFER ? packed_round(packed_places(word), 4) : 0;

    return packed_round(packed_widths_at(word) + widths, PACKED_UNIT);
}

TESS_HD int packed_offsets_at(uint32_t word)
{
    const int bytes = packed_count(word) * (int)tess_storage_bytes(packed_precision(word));

    return packed_round(packed_values_at(word) + bytes, PACKED_OFFSET_UNIT);
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

/* Bytes of an offset at place k of a section. */
TESS_HD int packed_place_width(const char *section, uint32_t word, int k)
{
    return packed_width(word) == PACKED_WIDTHS_DIFFER ? section[packed_widths_at(word) + k] : packed_width(word);
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

/* Segments of a long row. */
TESS_HD int64_t packed_segments(int64_t length)
{
    return (length + PACKED_SLICE * PACKED_PIECE - 1) / (PACKED_SLICE * PACKED_PIECE);
}

/* Piece `lane` of segment s: pieces of a segment have the same length but for the last. */
TESS_HD packed_range packed_piece(const csr_view *csr, const packed_view *v, int64_t s, int lane)
{
    const int64_t j = tess_last_up_to(v->long_segment, v->nlong, s), row = v->long_row[j];
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

/* Of a slice: a row that is not long; or of a segment, after the slices: a piece. */
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

/* Decodes the entries of a row that are stored nowhere: as 0. Either array may be NULL. */
TESS_HD void packed_decode_left_out(const packed_source *source, packed_range row, int32_t *col_ind, double *val)
{
    for (int64_t k = row.begin; k < row.end; k++) {
        if (packed_level_of(source, k) != TESS_LEVEL_NONE) { continue; }
        if (col_ind) { col_ind[k] = source->csr->col_ind[k]; }
        if (val) { val[k] = 0.0; }
    }
}

/* Whether a row of a slice is long. */
TESS_HD bool packed_is_long(const csr_view *csr, const packed_view *v, int64_t slice, int lane)
{
    const int64_t row = slice * PACKED_SLICE + lane;

    return slice < v->nslices && row < v->nrows && packed_row_length(csr, row) > v->longest;
}

#endif
