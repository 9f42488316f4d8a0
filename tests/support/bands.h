/* SPDX-License-Identifier: Apache-2.0 */
/* Banded matrices with and without holes, for DIA. */
#ifndef TESS_TESTS_SUPPORT_BANDS_H
#define TESS_TESTS_SUPPORT_BANDS_H

#include "support/test.h"

/* A band of a matrix: offsets of its diagonals, and which of their places are entries. */
typedef struct band {
    int64_t nrows, ncols;
    int count;
    int32_t offset[8];
    bool (*is_entry)(int64_t row, int32_t offset);
} band;

/* Where bands may have entries. */
bool everywhere(int64_t row, int32_t offset);
/* Every diagonal but the main one has holes: short ones, ones longer than a word, and ends that are absent. */
bool with_holes(int64_t row, int32_t offset);
/* One in each diagonal, in the first, a middle and the last word, where x is not finite in tests/unit/test_dia.c. */
bool with_one_hole(int64_t row, int32_t offset);

/* Square and oblong, of one row or column, with diagonals at every end. */
enum { BANDS = 12 };
extern const band bands[BANDS];

/* Entries are in (-1, 1). */
oracle_csr make_band(const band *b);
/* Stored as DIA, however much padding that takes. */
tess_matrix *to_diagonals(const tess_matrix *a, tess_precision precision);

#endif
