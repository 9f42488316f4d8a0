/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix with several columns: those of the columns one by one, to rounding. */
#include <tessera/columns.h>

#include "support/test.h"

/* Y := alpha A X + beta Y by one column after another, from the same y. */
static void multiply_alone(const tess_matrix *m, tess_context *ctx, int64_t c, double alpha, const double *x,
                           double beta, double *y)
{
    const int64_t n = tess_matrix_ncols(m), rows = tess_matrix_nrows(m);
    tess_vector *from = make_vector(ctx, n, x + c * n), *to = make_vector(ctx, rows, y + c * rows);

    assert_ok(ctx, tess_matrix_spmv(m, TESS_OP_NONE, alpha, from, beta, to));
    read_vector(to, y + c * rows);
    tess_vector_destroy(from);
    tess_vector_destroy(to);
}

static void check_column(const oracle_csr *a, const double *x, double alpha, double beta, const double *y,
                         const double *expected)
{
    const double bound = 4.0 * gamma_of((double)oracle_longest_row(a, false) + 3.0);
    double *magnitude = test_allocate(a->nrows, sizeof *magnitude);
    wide *product = test_allocate(a->nrows, sizeof *product);

    oracle_multiply(a, false, x, product, magnitude);
    for (int64_t i = 0; i < a->nrows; i++) {
        assert_true(fabs(y[i] - expected[i]) <= bound * (fabs(alpha) * magnitude[i] + fabs(beta)));
    }
    free(magnitude);
    free(product);
}

/* One column is the product of one, to the bit; several are the same to the rounding of a sum. */
static void check_product(const oracle_csr *a, tess_precision precision, int64_t k, double alpha, double beta)
{
    tess_context *ctx = open_device(2);
    tess_matrix *assembled = make_matrix(ctx, a), *m = NULL;
    tess_storage_options storage;
    double *x = random_values(a->ncols * k, 7, -1.0, 1.0), *y = random_values(a->nrows * k, 8, -1.0, 1.0),
           *expected = random_values(a->nrows * k, 8, -1.0, 1.0);
    const tess_columns vx = tess_columns_by_column(a->ncols, k, x, TESS_MEMORY_HOST),
                       vy = tess_columns_by_column(a->nrows, k, y, TESS_MEMORY_HOST);

    tess_storage_options_init(&storage);
    storage.format = TESS_FORMAT_CSR;
    storage.precision = precision;
    assert_ok(ctx, tess_matrix_convert(assembled, &storage, &m));
    assert_ok(ctx, tess_matrix_spmm(m, alpha, &vx, beta, &vy));
    for (int64_t c = 0; c < k; c++) {
        multiply_alone(m, ctx, c, alpha, x, beta, expected);
        check_column(a, x + c * a->ncols, alpha, beta, y + c * a->nrows, expected + c * a->nrows);
        if (k == 1) { assert_true(same_bits(y, expected, a->nrows)); }
    }
    tess_matrix_destroy(m);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
    free(x);
    free(y);
    free(expected);
}

/* Rows of 0, 1 and many entries, in every precision, for counts that one pass takes and others. */
static void products_of_columns(void **state)
{
    static const int64_t counts[] = {1, 2, 3, 8, 21, 33};
    oracle_csr matrices[] = {oracle_power_law(300, 3), oracle_with_empty_rows(40), oracle_random(30, 70, 5, 2),
                             oracle_random(3, 9000, 5000, 4)};

    (void)state;
    for (size_t m = 0; m < sizeof matrices / sizeof matrices[0]; m++) {
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
                check_product(&matrices[m], (tess_precision)p, counts[k], k % 2 ? 1.0 : -0.5, k % 3 ? 0.0 : 2.0);
            }
        }
        oracle_free(&matrices[m]);
    }
}

/* Strides of a part of a larger array; values beside it stay. */
static void strides_of_the_caller(void **state)
{
    enum { ROWS = 12, COLUMNS = 5, WIDE = 9 };

    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_tridiagonal(ROWS, -1.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a);
    double *x = random_values((int64_t)ROWS * WIDE, 3, -1.0, 1.0), y[ROWS * WIDE];
    const tess_columns vx = {ROWS, COLUMNS, WIDE, 1, x + 2, TESS_MEMORY_HOST},
                       vy = {ROWS, COLUMNS, WIDE, 1, y + 2, TESS_MEMORY_HOST};

    (void)state;
    for (int k = 0; k < ROWS * WIDE; k++) {
        y[k] = 7.0;
    }
    assert_ok(ctx, tess_matrix_spmm(m, 1.0, &vx, 0.0, &vy));
    for (int i = 0; i < ROWS; i++) {
        for (int c = 0; c < WIDE; c++) {
            const double *at = x + i * WIDE + c;
            const double below = i > 0 ? at[-WIDE] : 0.0, above = i + 1 < ROWS ? at[WIDE] : 0.0;

            if (c < 2 || c >= 2 + COLUMNS) {
                assert_true(y[i * WIDE + c] == 7.0);
            } else {
                assert_true(fabs(y[i * WIDE + c] - (2.0 * at[0] - below - above)) <= gamma_of(5) * 4.0);
            }
        }
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
}

static void wrong_arrays_are_refused(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_random(6, 4, 2, 1);
    tess_matrix *m = make_matrix(ctx, &a);
    double values[12] = {0.0}, out[12] = {0.0};
    tess_columns x = tess_columns_by_row(4, 2, values, TESS_MEMORY_HOST),
                 y = tess_columns_by_row(6, 2, out, TESS_MEMORY_HOST);

    (void)state;
    assert_ok(ctx, tess_matrix_spmm(m, 1.0, &x, 0.0, &y));
    assert_int_equal(tess_matrix_spmm(m, 1.0, &y, 0.0, &x), TESS_DIMENSION_MISMATCH);
    y.columns = 1;
    assert_int_equal(tess_matrix_spmm(m, 1.0, &x, 0.0, &y), TESS_DIMENSION_MISMATCH);
    y.columns = 2;
    y.where = TESS_MEMORY_DEVICE;
    assert_int_equal(tess_matrix_spmm(m, 1.0, &x, 0.0, &y), TESS_INVALID_ARGUMENT);
    y.where = (tess_memory)9;
    assert_int_equal(tess_matrix_spmm(m, 1.0, &x, 0.0, &y), TESS_INVALID_ARGUMENT);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_of_columns), cmocka_unit_test(strides_of_the_caller),
                                       cmocka_unit_test(wrong_arrays_are_refused)};

    return cmocka_run_group_tests_name("unit.columns", tests, NULL, NULL);
}
