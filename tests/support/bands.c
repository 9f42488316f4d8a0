/* SPDX-License-Identifier: Apache-2.0 */
#include "support/bands.h"

bool everywhere(int64_t row, int32_t offset)
{
    (void)row;
    (void)offset;
    return true;
}

bool with_holes(int64_t row, int32_t offset)
{
    if (offset == 0) { return true; }
    if (offset == 1) { return row % 7 != 6; }
    if (offset < 0) { return row % 97 < 40; }
    return row > 100 && row % 5 != 0 && row % 1300 < 900;
}

bool with_one_hole(int64_t row, int32_t offset)
{
    return !(offset == 0 ? row == 99 : offset == 1 ? row == 10 : row == 67);
}

oracle_csr make_band(const band *b)
{
    oracle_csr a = oracle_open(b->nrows, b->ncols);
    uint64_t seed = 5;

    for (int64_t i = 0; i < b->nrows; i++) {
        for (int d = 0; d < b->count; d++) {
            int64_t column = i + b->offset[d];

            if (column < 0 || column >= b->ncols || !b->is_entry(i, b->offset[d])) { continue; }
            oracle_push(&a, column, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

const band bands[BANDS] = {
    {5000, 5000, 7, {-70, -32, -1, 0, 1, 33, 71}, with_holes},
    {5000, 5000, 5, {-64, -1, 0, 1, 64}, everywhere},
    {300, 1100, 6, {-3, 0, 1, 500, 799, 900}, everywhere},
    {1100, 300, 6, {-900, -799, -500, -1, 0, 4}, everywhere},
    {300, 1100, 6, {-3, 0, 1, 120, 799, 800}, with_holes},
    {1100, 300, 4, {-1099, -801, 0, 1}, with_holes},
    {1023, 1023, 3, {-1, 0, 1}, with_holes},
    {100, 100, 3, {-1, 0, 1}, with_one_hole},
    {1025, 1025, 8, {-1024, -2, -1, 0, 1, 2, 3, 1024}, everywhere},
    {1, 1, 1, {0}, everywhere},
    {1, 50, 8, {0, 1, 2, 3, 10, 20, 30, 49}, everywhere},
    {50, 1, 3, {-49, -20, 0}, everywhere},
};

tess_matrix *to_diagonals(const tess_matrix *a, tess_precision precision)
{
    const tess_storage_options options = {.size = sizeof(tess_storage_options),
                                          .format = TESS_FORMAT_DIA,
                                          .precision = precision,
                                          .slices.max_padding = 1000.0};
    tess_matrix *stored = NULL;

    assert_ok(tess_matrix_context(a), tess_matrix_convert(a, &options, &stored));
    return stored;
}
