/* SPDX-License-Identifier: Apache-2.0 */
/* tess_verify_columns: each column has the bits that tess_verify gives it alone, however the arrays lie. */
#include <string.h>

#include <tessera/verify.h>

#include "support/precond_of.h"
#include "support/solve.h"

enum { ROWS = 4500, MOST = 70 }; /* more rows than one block of sums, more columns than one group */

/* Rows of 0 to 12 entries of very different size, with an entry that is zero in some. */
static oracle_csr odd_matrix(int64_t ncols, unsigned seed)
{
    oracle_csr a = oracle_open(ROWS, ncols);

    srand(seed);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t j = i % 7;

        for (int k = 0; k < (int)(i % 13) && j < ncols; k++) {
            const double value = (double)rand() / RAND_MAX - 0.4;

            oracle_push(&a, j, k == 3 ? 0.0 : ldexp(value, i % 97 == 0 ? rand() % 1800 - 1000 : rand() % 40 - 20));
            j += 1 + rand() % 300;
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Columns of ordinary numbers; of numbers whose squares leave the range; of zeros, NaN and Inf. */
static double value_of(int64_t i, int c)
{
    const double value = (double)rand() / RAND_MAX - 0.5;

    if (c % 9 == 2) { return ldexp(value, 900); }
    if (c % 9 == 3) { return ldexp(value, -1040); }
    if (c % 9 == 4) { return i % 5 == 0 ? 0.0 : value; }
    if (c % 9 == 5) { return i == 4321 ? (double)NAN : value; }
    if (c % 9 == 6) { return i == 17 ? (double)INFINITY : value; }
    return c % 9 == 7 ? 0.0 : value;
}

static double *values_of(int64_t rows, int columns, int64_t row_stride, int64_t column_stride)
{
    double *v = test_allocate(rows * row_stride + columns * column_stride, sizeof *v);

    for (int64_t i = 0; i < rows; i++) {
        for (int c = 0; c < columns; c++) {
            v[i * row_stride + c * column_stride] = value_of(i, c);
        }
    }
    return v;
}

static tess_verification alone(tess_context *ctx, const tess_matrix *m, const tess_columns *b, const tess_columns *x,
                               int c)
{
    double *of_b = test_allocate(b->rows, sizeof *of_b), *of_x = test_allocate(x->rows, sizeof *of_x);
    tess_vector *vb = NULL, *vx = NULL;
    tess_verification found;

    for (int64_t i = 0; i < b->rows; i++) {
        of_b[i] = b->data[i * b->row_stride + (b->columns == 1 ? 0 : c) * b->column_stride];
    }
    for (int64_t i = 0; i < x->rows; i++) {
        of_x[i] = x->data[i * x->row_stride + c * x->column_stride];
    }
    vb = make_vector(ctx, b->rows, of_b);
    vx = make_vector(ctx, x->rows, of_x);
    tess_verification_init(&found);
    assert_ok(ctx, tess_verify(m, vb, vx, NULL, &found));
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    free(of_b);
    free(of_x);
    return found;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static void assert_same(const tess_verification *a, const tess_verification *b)
{
    assert_true(a->met == b->met && a->given_met == b->given_met && a->rows.met == b->rows.met);
    assert_true(same(a->residual_norm, b->residual_norm) && same(a->residual_bound, b->residual_bound));
    assert_true(same(a->rhs_norm, b->rhs_norm) && same(a->tolerance, b->tolerance));
    assert_true(same(a->rows.norm, b->rows.norm) && same(a->rows.bound, b->rows.bound));
    assert_true(same(a->rows.rhs_norm, b->rows.rhs_norm) && same(a->rows.tolerance, b->rows.tolerance));
    assert_true(same(a->rows.backward_error, b->rows.backward_error));
    assert_true(same(a->rows.backward_bound, b->rows.backward_bound));
    assert_true(a->rows.backward_row == b->rows.backward_row);
    assert_true(same(a->backward_error, b->backward_error) && same(a->solution_norm, b->solution_norm));
    assert_true(a->nonfinite_solution == b->nonfinite_solution && a->nonfinite_rhs == b->nonfinite_rhs);
    assert_true(same(a->matrix_norm, b->matrix_norm) && isnan(a->forward_error));
}

static void compare(tess_context *ctx, const tess_matrix *m, const tess_columns *b, const tess_columns *x)
{
    tess_verification found[MOST];

    for (int c = 0; c < x->columns; c++) {
        tess_verification_init(&found[c]);
    }
    assert_ok(ctx, tess_verify_columns(m, b, x, NULL, found));
    for (int c = 0; c < x->columns; c++) {
        const tess_verification one = alone(ctx, m, b, x, c);

        assert_same(&found[c], &one);
    }
}

static void each_column_has_its_own_bits(void **state)
{
    static const int counts[] = {1, 2, 5, 8, 16, 33, MOST};
    tess_context *ctx = open_cpu(2);
    const int64_t ncols = 4096;
    oracle_csr a = odd_matrix(ncols, 1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const int count = counts[k];
        double *by_row = values_of(ROWS, count, count, 1), *by_column = values_of(ncols, count, 1, ncols);
        double *apart = values_of(ncols, count, 2 * count + 1, 2), *one = values_of(ROWS, 1, 3, 1);
        const tess_columns b = tess_columns_by_row(ROWS, count, by_row, TESS_MEMORY_HOST);
        const tess_columns b_of_all = {ROWS, 1, 3, 1, one, TESS_MEMORY_HOST};
        const tess_columns x = tess_columns_by_column(ncols, count, by_column, TESS_MEMORY_HOST);
        const tess_columns strided = {ncols, count, 2 * count + 1, 2, apart, TESS_MEMORY_HOST};

        compare(ctx, m, &b, &x);
        compare(ctx, m, &b_of_all, &strided);
        free(by_row);
        free(by_column);
        free(apart);
        free(one);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* x = 0 alone is a shorter way: also where A has NaN, Inf and rows of zeros. */
static void zero_has_the_same_bits(void **state)
{
    static const double odd[] = {1.0, (double)NAN, (double)INFINITY};
    tess_context *ctx = open_cpu(2);
    oracle_csr a = odd_matrix(4096, 2);
    double *b = values_of(ROWS, 1, 1, ROWS), *x = test_allocate(2 * 4096, sizeof *x);

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_matrix *m = NULL;
        const tess_columns of_b = tess_columns_by_column(ROWS, 1, b, TESS_MEMORY_HOST);
        const tess_columns of_x = tess_columns_by_column(4096, 2, x, TESS_MEMORY_HOST);

        memset(x, 0, 2 * 4096 * sizeof *x);
        a.val[7 * k] = odd[k];
        m = make_matrix(ctx, &a);
        compare(ctx, m, &of_b, &of_x); /* two columns are not looked at so */
        tess_matrix_destroy(m);
    }
    free(b);
    free(x);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The norm of A is that of its present values. */
static void new_values_have_their_own_norm(void **state)
{
    tess_context *ctx = open_cpu(1);
    const double d[] = {3.0, 4.0}, twice[] = {6.0, 8.0}, x[] = {1.0, 1.0};
    oracle_csr a = oracle_diagonal(2, d);
    tess_matrix *m = make_matrix(ctx, &a);
    double b[] = {3.0, 4.0};
    const tess_columns of_b = tess_columns_by_row(2, 1, b, TESS_MEMORY_HOST);

    (void)state;
    assert_true(
        alone(ctx, m, &of_b, &(tess_columns){2, 1, 1, 2, (double *)(uintptr_t)x, TESS_MEMORY_HOST}, 0).matrix_norm ==
        5.0);
    assert_ok(ctx, tess_matrix_update_values(m, twice, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_true(
        alone(ctx, m, &of_b, &(tess_columns){2, 1, 1, 2, (double *)(uintptr_t)x, TESS_MEMORY_HOST}, 0).matrix_norm ==
        10.0);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void forward_errors_too(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(50, -1.0, 4.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a);
    double b[100], x[100];
    const tess_columns of_b = tess_columns_by_column(50, 2, b, TESS_MEMORY_HOST);
    const tess_columns of_x = tess_columns_by_column(50, 2, x, TESS_MEMORY_HOST);
    tess_verification found[2];
    tess_verify_options o;
    tess_status status;

    (void)state;
    for (int k = 0; k < 100; k++) {
        x[k] = 1.0;
        b[k] = k % 50 == 0 || k % 50 == 49 ? 3.0 : 2.0;
    }
    x[60] = 1.5;
    tess_verify_options_init(&o);
    o.forward_error = 1;
    tess_verification_init(&found[0]);
    tess_verification_init(&found[1]);
    status = tess_verify_columns(m, &of_b, &of_x, &o, found);
    assert_ok(ctx, status);
    assert_true(found[0].met && !found[1].met);
    if (!isnan(found[1].forward_error)) { /* complete factors are here */
        assert_true(found[0].forward_error < 1e-12 && fabs(found[1].forward_error - 0.0702) < 0.01);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void what_does_not_fit_is_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(3, -1.0, 4.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a);
    double v[12] = {0.0};
    const tess_columns two = tess_columns_by_column(3, 2, v, TESS_MEMORY_HOST);
    const tess_columns three = tess_columns_by_column(3, 3, v, TESS_MEMORY_HOST);
    const tess_columns none = tess_columns_by_column(3, 0, NULL, TESS_MEMORY_HOST);
    const tess_columns long_ones = tess_columns_by_column(4, 2, v, TESS_MEMORY_HOST);
    const tess_columns elsewhere = tess_columns_by_column(3, 2, v, TESS_MEMORY_DEVICE);
    tess_verification found[3];
    tess_verify_options o;

    (void)state;
    for (int c = 0; c < 3; c++) {
        tess_verification_init(&found[c]);
    }
    assert_int_equal(tess_verify_columns(NULL, &two, &two, NULL, found), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_verify_columns(m, NULL, &two, NULL, found), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_verify_columns(m, &two, NULL, NULL, found), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_verify_columns(m, &two, &two, NULL, NULL), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_verify_columns(m, &two, &three, NULL, found), TESS_DIMENSION_MISMATCH);
    assert_int_equal(tess_verify_columns(m, &long_ones, &two, NULL, found), TESS_DIMENSION_MISMATCH);
    assert_int_equal(tess_verify_columns(m, &two, &long_ones, NULL, found), TESS_DIMENSION_MISMATCH);
    assert_int_equal(tess_verify_columns(m, &two, &elsewhere, NULL, found), TESS_INVALID_ARGUMENT);
    tess_verify_options_init(&o);
    o.rtol = -1.0;
    assert_int_equal(tess_verify_columns(m, &two, &two, &o, found), TESS_INVALID_ARGUMENT);
    found[0].size = sizeof found[0] + 8;
    assert_int_equal(tess_verify_columns(m, &two, &two, NULL, found), TESS_INVALID_ARGUMENT);
    assert_ok(ctx, tess_verify_columns(m, &none, &none, NULL, found));
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_column_has_its_own_bits), cmocka_unit_test(zero_has_the_same_bits),
        cmocka_unit_test(new_values_have_their_own_norm), cmocka_unit_test(forward_errors_too),
        cmocka_unit_test(what_does_not_fit_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
