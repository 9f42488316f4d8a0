/* SPDX-License-Identifier: Apache-2.0 */
/* Several columns on a GPU: moves between layouts, and products in every storage against the oracle. */
#include <math.h>

#include <tessera/columns.h>

#include "base/context.h"
#include "dense/columns.h"
#include "matrix/matrix.h"
#include "support/columns.h"
#include "support/product.h"

static tess_context *gpu;

/* ---- moves ---- */

/* From one place to another and back; the values between stay as they are. */
static void check_move(int64_t rows, int64_t columns, int64_t from_row, int64_t from_column, int64_t to_row,
                       int64_t to_column)
{
    const int64_t from_size = (rows - 1) * from_row + (columns - 1) * from_column + 1;
    const int64_t to_size = (rows - 1) * to_row + (columns - 1) * to_column + 1;
    double *values = random_values(from_size, 5, -1.0, 1.0), *there = test_allocate(to_size, sizeof *there);
    double *from = NULL, *to = NULL;
    int64_t moved = 0, touched = 0;

    assert_ok(gpu, tess_device_allocate(gpu, from_size, sizeof *from, (void **)&from));
    assert_ok(gpu, tess_device_allocate(gpu, to_size, sizeof *to, (void **)&to));
    assert_ok(gpu, gpu->backend->upload(gpu, from, values, (size_t)from_size * sizeof *from));
    assert_ok(gpu, gpu->backend->zero(gpu, to, (size_t)to_size * sizeof *to));
    assert_ok(gpu, columns_ops_of(gpu)->move(gpu, rows, columns, (columns_place){from, from_row, from_column},
                                             (columns_place){to, to_row, to_column}));
    assert_ok(gpu, gpu->backend->download(gpu, there, to, (size_t)to_size * sizeof *to));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < columns; c++) {
            const double value = there[i * to_row + c * to_column];

            assert_true(value == values[i * from_row + c * from_column]);
            moved += value != 0.0;
        }
    }
    for (int64_t k = 0; k < to_size; k++) {
        touched += there[k] != 0.0;
    }
    assert_int_equal(touched, moved);
    tess_device_release(gpu, from, from_size, sizeof *from);
    tess_device_release(gpu, to, to_size, sizeof *to);
    free(values);
    free(there);
}

static void columns_move_between_all_layouts(void **state)
{
    (void)state;
    check_move(700, 1, 8, 1, 1, 1);   /* a column of eight becomes one alone */
    check_move(700, 1, 1, 1, 16, 1);  /* and the reverse */
    check_move(300, 5, 5, 1, 8, 1);   /* by rows to by rows */
    check_move(300, 7, 1, 301, 7, 1); /* by columns to by rows */
    check_move(300, 7, 9, 1, 1, 300); /* and the reverse */
    check_move(1, 3, 3, 1, 1, 2);
    assert_ok(gpu, columns_ops_of(gpu)->move(gpu, 0, 4, (columns_place){NULL, 4, 1}, (columns_place){NULL, 4, 1}));
}

/* ---- products ---- */

/* Rows of 0, 1, 40 and 5,000 entries and, where asked, one that is summed in segments; each value is a multiple of 1/4
   up to 2, so that all precisions store it. */
static oracle_csr make_uneven(int64_t rows, bool segmented)
{
    static const int64_t lengths[] = {3, 0, 1, 40, 7, 120, 2, 9};
    const int64_t columns = segmented ? 9000 : 5200;
    oracle_csr a = oracle_open(rows, columns);
    uint64_t seed = 48;

    for (int64_t i = 0; i < rows; i++) {
        const bool longest = segmented && i == 5;
        const int64_t count = longest ? columns : i == rows / 2 || i == rows - 1 ? 5000 : lengths[i % 8];
        const int64_t first = count > 1000 ? 0 : i * 37 % 5000;

        for (int64_t j = 0; j < count; j++) {
            const double value = (double)(1 + oracle_random_bits(&seed) % 8) / 4.0;

            oracle_push(&a, first + j, (oracle_random_bits(&seed) & 1) != 0 ? value : -value);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_SELL, TESS_FORMAT_ELLR, TESS_FORMAT_DIA};
enum { FORMATS = (int)(sizeof formats / sizeof *formats) };

/* Rows of many lengths, whose slices are permuted, and among which a slice has wide columns; diagonals with holes and
   that leave the matrix. Values are as above. */
static oracle_csr make_ragged(int64_t rows, int64_t columns)
{
    oracle_csr a = oracle_open(rows, columns);
    uint64_t seed = 5;

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = i < 4 ? 0 : i - 4; j <= i + 5 && j < columns; j++) {
            if ((i + j) % 3 > 0 && i % 13 > 0) { oracle_push(&a, j, (double)(oracle_random_bits(&seed) % 8) / 4.0); }
        }
        if (i == 70 && columns > 40000) { oracle_push(&a, columns - 1, 0.5); }
        oracle_end_row(&a, i);
    }
    return a;
}

static void check_format(const tess_matrix *m, tess_format format, tess_precision precision, int turn)
{
    tess_matrix *stored = store_in(m, format, precision, TESS_ARITHMETIC_FP64);
    oracle_csr decoded = decode_matrix(stored);

    check_spmm(stored, &decoded, 2 << turn % 5, turn % 2 == 0, turn % 3 ? 1.0 : -0.5, turn % 4 ? 0.0 : 2.0);
    for (int fp32 = 0; fp32 < 2; fp32++) {
        check_columns_step(stored, &decoded,
                           (columns_step){.vectors = fp32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64,
                                          .columns = 2 << (turn + 2 * fp32) % 5,
                                          .keeps_y = turn % 2 == 0,
                                          .wide_total = fp32 && turn % 4 < 2});
    }
    tess_matrix_destroy(stored);
    if (format != TESS_FORMAT_CSR) {
        stored = store_in(m, format, precision, TESS_ARITHMETIC_FP32);
        assert_false(stored->ops->takes_columns(stored, false));
        check_columns_step(stored, &decoded,
                           (columns_step){.vectors = TESS_PRECISION_FP32, .columns = 8, .keeps_y = true});
        tess_matrix_destroy(stored);
    }
    oracle_free(&decoded);
}

static void products_of_every_format_and_precision_match_the_oracle(void **state)
{
    oracle_csr matrices[] = {make_ragged(150, 145), make_ragged(130, 40200), make_uneven(60, false)};

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_matrix *m = make_matrix(gpu, &matrices[k]);

        for (int f = 0; f < (k == 2 ? 1 : FORMATS); f++) {
            for (int p = k == 1 ? TESS_PRECISION_FP16 : 0;
                 p < (k == 1 ? TESS_PRECISION_FP16 + 1 : TESS_PRECISION_COUNT); p++) {
                check_format(m, formats[f], (tess_precision)p, f + p);
            }
        }
        tess_matrix_destroy(m);
        oracle_free(&matrices[k]);
    }
}

static void products_of_mixed_precisions_match_the_oracle(void **state)
{
    (void)state;
    check_mixed_columns(gpu);
}

static void products_of_every_width_match_the_oracle(void **state)
{
    oracle_csr a = make_uneven(100, true);
    tess_matrix *m = make_matrix(gpu, &a);

    (void)state;
    for (int64_t columns = 2; columns <= TESS_MAX_COLUMNS; columns *= 2) {
        check_spmm(m, &a, columns, columns % 4 == 0, columns > 4 ? 1.0 : -0.5, columns == 2 || columns == 32 ? 2.0 : 0);
    }
    check_spmm(m, &a, 7, true, 1.0, 0.0); /* 4, 2 and 1 */
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* More of them in a chunk than a block has waves: they come around more than once. */
static void many_longer_rows_match_the_oracle(void **state)
{
    oracle_csr a = oracle_open(1200, 1300);
    uint64_t seed = 5;
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        const int64_t count = i == 700 ? 100 : i % 3 == 0 ? 40 : 1;

        for (int64_t j = 0; j < count; j++) {
            oracle_push(&a, i + j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(gpu, &a);
    check_spmm(m, &a, 8, true, 1.0, 0.0);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* Of short rows, among which are some that a group leaves for a wave. */
static void longer_rows_among_short_ones_match_the_oracle(void **state)
{
    oracle_csr a = oracle_open(300, 700);
    uint64_t seed = 3;
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        const int64_t count = i % 40 == 7 ? 100 : i == 130 ? 650 : 3;

        for (int64_t j = 0; j < count; j++) {
            oracle_push(&a, (count == 3 ? i : 0) + j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(gpu, &a);
    for (int64_t columns = 2; columns <= TESS_MAX_COLUMNS; columns *= 4) {
        check_spmm(m, &a, columns, true, 1.0, 0.0);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* Diagonals have places without an entry, and slices are padded: what x has there may be no number. */
static void rows_read_x_where_they_have_entries_alone(void **state)
{
    enum { COLUMNS = 8, AT = 60 };
    oracle_csr a = make_ragged(150, 145);
    tess_matrix *m = make_matrix(gpu, &a);
    double *x = test_allocate(a.ncols * COLUMNS, sizeof *x), *y = test_allocate(a.nrows * COLUMNS, sizeof *y);
    const tess_columns from = tess_columns_by_row(a.ncols, COLUMNS, x, TESS_MEMORY_HOST),
                       to = tess_columns_by_row(a.nrows, COLUMNS, y, TESS_MEMORY_HOST);

    (void)state;
    for (int64_t k = 0; k < a.ncols * COLUMNS; k++) {
        x[k] = k / COLUMNS == AT ? INFINITY : 1.0;
    }
    for (int f = 0; f < FORMATS; f++) {
        tess_matrix *stored = store_in(m, formats[f], TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64);

        assert_ok(gpu, tess_matrix_spmm(stored, 1.0, &from, 0.0, &to));
        for (int64_t i = 0; i < a.nrows; i++) {
            bool has = false;

            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                has = has || a.col_ind[k] == AT;
            }
            for (int c = 0; c < COLUMNS; c++) {
                assert_true((isfinite(y[i * COLUMNS + c]) != 0) == !has);
            }
        }
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(x);
    free(y);
}

static void products_of_empty_matrices_are_zero(void **state)
{
    oracle_csr a = oracle_open(600, 9);
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        oracle_end_row(&a, i);
    }
    m = make_matrix(gpu, &a);
    check_spmm(m, &a, 4, true, 1.0, 0.5);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_move_between_all_layouts),
        cmocka_unit_test(products_of_every_format_and_precision_match_the_oracle),
        cmocka_unit_test(products_of_mixed_precisions_match_the_oracle),
        cmocka_unit_test(products_of_every_width_match_the_oracle),
        cmocka_unit_test(longer_rows_among_short_ones_match_the_oracle),
        cmocka_unit_test(many_longer_rows_match_the_oracle),
        cmocka_unit_test(rows_read_x_where_they_have_entries_alone),
        cmocka_unit_test(products_of_empty_matrices_are_zero),
    };

    return run_gpu_tests(tests, &gpu);
}
