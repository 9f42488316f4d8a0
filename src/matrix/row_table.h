/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables from the columns of one row to places: 2^bits entries of -1 before use. */
#ifndef TESS_MATRIX_ROW_TABLE_H
#define TESS_MATRIX_ROW_TABLE_H

#include <stdint.h>
#include <string.h>

typedef struct row_entry {
    int32_t column; /* -1: empty */
    int32_t place;
} row_entry;

/* A table with at least twice as many entries. */
static inline int row_table_bits(int64_t entries)
{
    int bits = 4;

    while ((INT64_C(1) << bits) < 2 * entries) {
        bits++;
    }
    return bits;
}

static inline void row_table_clear(row_entry *table, int bits)
{
    memset(table, 0xff, sizeof *table << bits);
}

/* The entry of a column, which may be empty: linear probing from a multiplicative hash. */
static inline __attribute__((always_inline)) row_entry *row_table_find(row_entry *table, int bits, int32_t column)
{
    uint32_t at = (uint32_t)column * UINT32_C(2654435769) >> (32 - bits);

    while (table[at].column != column && table[at].column >= 0) {
        at = (at + 1) & ((UINT32_C(1) << bits) - 1);
    }
    return &table[at];
}

#endif
