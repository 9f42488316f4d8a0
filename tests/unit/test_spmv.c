/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the CPU: the documented bound on awkward shapes, the same bits for any number of threads. */
#include "support/product.h"

typedef oracle_csr (*maker)(void);

/* Around the chunk and segment length of 16,384, and far beyond. */
static oracle_csr make_long_rows(void)
{
    static const int64_t lengths[] = {16383, 0, 16384, 16385, 3, 40000, 40000, 1, 0, 33000};
    enum { ROWS = sizeof lengths / sizeof *lengths };
    oracle_csr a = oracle_open(ROWS, 40000);
    uint64_t seed = 17;

    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 40000 - lengths[i]; j < 40000; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr make_dense_row(void)
{
    oracle_csr a = oracle_open(20000, 20000);
    uint64_t seed = 18;

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = 0; i == 7000 && j < a.ncols; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        if (i % 3 == 0 && i != 7000) { oracle_push(&a, i, 1.5); }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr make_power_law(void)
{
    return oracle_power_law(30000, 4);
}

static oracle_csr make_mostly_empty(void)
{
    oracle_csr a = oracle_open(70000, 3);

    for (int64_t i = 0; i < a.nrows; i++) {
        if (i == 0 || i == 40000 || i == 69999) { oracle_push(&a, i % 3, 0.1 * (double)(i + 1)); }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr make_wide(void)
{
    return oracle_random(37, 5000, 300, 6);
}

static oracle_csr make_tall(void)
{
    return oracle_random(5000, 37, 9, 7);
}

static oracle_csr make_grid(void)
{
    return oracle_laplace2d(77);
}

static oracle_csr make_one(void)
{
    return oracle_tridiagonal(1, 0.0, 3.0, 0.0);
}

/* More long rows than would be summed by all threads together. */
static oracle_csr make_many_long_rows(void)
{
    oracle_csr a = oracle_open(40, 17000);
    uint64_t seed = 19;

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = i; j < a.ncols; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr make_every_length(void)
{
    oracle_csr a = oracle_open(40, 40);
    uint64_t seed = 20;

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = 0; j < i; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static const maker makers[] = {make_long_rows, make_dense_row, make_power_law, make_mostly_empty,   make_wide,
                               make_tall,      make_grid,      make_one,       make_many_long_rows, make_every_length};
enum { MAKERS = sizeof makers / sizeof *makers };

static void products_meet_the_bound(void **state)
{
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < MAKERS; k++) {
        oracle_csr a = makers[k]();
        tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;

        check_product(m, &a, TESS_OP_NONE, 1.0, 0.0);
        check_product(m, &a, TESS_OP_NONE, -0.3, 1.7);
        check_product(m, &a, TESS_OP_TRANSPOSE, 1.0, 0.0);
        check_product(m, &a, TESS_OP_TRANSPOSE, 2.5, -0.1);
        assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
        oracle_round_to_fp32(&a);
        check_product(stored, &a, TESS_OP_NONE, 1.0, 0.0);
        check_product(stored, &a, TESS_OP_NONE, 0.7, -1.1);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void product_with_threads(int threads, const oracle_csr *a, tess_operation operation, const double *x, double *y)
{
    tess_context *ctx = open_cpu(threads);
    tess_matrix *m = make_matrix(ctx, a);

    multiply(m, operation, 1.3, x, 0.0, y, y);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void products_have_the_same_bits_for_any_threads(void **state)
{
    (void)state;
    for (int k = 0; k < MAKERS; k++) {
        oracle_csr a = makers[k]();
        int64_t most = a.nrows > a.ncols ? a.nrows : a.ncols;
        double *x = random_values(most, 5, -1.0, 1.0);
        double *one = test_allocate(most, sizeof *one), *other = test_allocate(most, sizeof *other);

        for (int operation = TESS_OP_NONE; operation <= TESS_OP_TRANSPOSE; operation++) {
            product_with_threads(1, &a, (tess_operation)operation, x, one);
            for (int threads = 2; threads <= 4; threads++) {
                product_with_threads(threads, &a, (tess_operation)operation, x, other);
                assert_true(same_bits(one, other, operation == TESS_OP_NONE ? a.nrows : a.ncols));
            }
        }
        free(x);
        free(one);
        free(other);
        oracle_free(&a);
    }
}

/* With beta = 0 the old contents of y must not matter. */
static void nan_in_y_does_not_survive_beta_zero(void **state)
{
    oracle_csr a = oracle_tridiagonal(100, -1.0, 2.0, -1.0);
    double *x = random_values(100, 5, -1.0, 1.0), *y = test_allocate(100, sizeof *y),
           *out = test_allocate(100, sizeof *y);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int i = 0; i < 100; i++) {
        y[i] = i % 2 ? (double)NAN : HUGE_VAL;
    }
    for (int operation = TESS_OP_NONE; operation <= TESS_OP_TRANSPOSE; operation++) {
        multiply(m, (tess_operation)operation, 1.0, x, 0.0, y, out);
        for (int i = 0; i < 100; i++) {
            assert_true(isfinite(out[i]) != 0);
        }
        multiply(m, (tess_operation)operation, 1.0, x, 1.0, y, out);
        for (int i = 0; i < 100; i++) {
            assert_true(isfinite(out[i]) == 0);
        }
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(y);
    free(out);
}

/* FP32 storage must not mean FP32 arithmetic: [1, eps32 / 2] times [1, 1] is not 1. */
static void fp32_values_are_summed_in_fp64(void **state)
{
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    oracle_csr a = oracle_open(1, 2);
    double x[2] = {1.0, 1.0}, y = 0.0;
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL, *stored = NULL;

    (void)state;
    oracle_push(&a, 0, 1.0);
    oracle_push(&a, 1, 0x1p-24);
    oracle_end_row(&a, 0);
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, &y, &y);
    assert_true(y == 1.0 + 0x1p-24);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Values that every precision holds, and sums that FP64 holds: rows are decoded together, one by one, or by segments.
 */
static oracle_csr make_exact_rows(void)
{
    static const int64_t lengths[] = {1, 2047, 2048, 2049, 0, 3000, 16384, 7, 16385, 1000, 1000, 100, 20000, 2500};
    enum { ROWS = sizeof lengths / sizeof *lengths };
    oracle_csr a = oracle_open(ROWS, 20000);

    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < lengths[i]; j++) {
            oracle_push(&a, j, 0.5 * (double)(1 + (i + j) % 3));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void rows_of_any_length_in_any_precision(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16,
                                                TESS_PRECISION_FP16, TESS_PRECISION_E4M3, TESS_PRECISION_E5M2};
    oracle_csr a = make_exact_rows();
    double *x = random_values(a.ncols, 5, 1.0, 1.0), *y = test_allocate(a.nrows, sizeof *y);
    double *expected = test_allocate(a.nrows, sizeof *expected);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    multiply(m, TESS_OP_NONE, 1.0, x, 0.0, expected, expected);
    for (size_t k = 0; k < sizeof precisions / sizeof *precisions; k++) {
        const tess_storage_options options = {
            .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = precisions[k]};
        tess_matrix *stored = NULL;

        assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
        check_product(stored, &a, TESS_OP_NONE, 1.0, 0.0);
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        assert_true(same_bits(y, expected, a.nrows));
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(y);
    free(expected);
}

static void wrong_vectors_are_refused(void **state)
{
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    oracle_csr a = oracle_random(4, 4, 2, 1), wide_one = oracle_random(4, 6, 2, 1);
    tess_context *ctx = open_cpu(1), *other = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *rectangle = make_matrix(ctx, &wide_one), *stored = NULL;
    tess_vector *x = make_zeros(ctx, 4), *y = make_zeros(ctx, 4), *foreign = make_zeros(other, 4);
    tess_vector *alias = NULL, *single = NULL;

    (void)state;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, x, 0.0, x));
    assert_ok(ctx, tess_vector_wrap(ctx, 4, TESS_PRECISION_FP64, tess_vector_data(x), &alias));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, x, 0.0, alias));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, foreign, 0.0, y));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, x, 0.0, NULL));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_matrix_spmv(rectangle, TESS_OP_NONE, 1.0, x, 0.0, y));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_matrix_spmv(rectangle, TESS_OP_TRANSPOSE, 1.0, x, 0.0, y));
    assert_ok(ctx, tess_vector_create(ctx, 4, TESS_PRECISION_FP32, &single));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, single, 0.0, y));
    assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(stored, TESS_OP_TRANSPOSE, 1.0, x, 0.0, y));
    assert_ok(ctx, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, x, 0.0, y)); /* after all that */
    tess_vector_destroy(alias);
    tess_vector_destroy(single);
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    tess_vector_destroy(foreign);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_matrix_destroy(rectangle);
    tess_context_destroy(ctx);
    tess_context_destroy(other);
    oracle_free(&a);
    oracle_free(&wide_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_meet_the_bound),
        cmocka_unit_test(products_have_the_same_bits_for_any_threads),
        cmocka_unit_test(nan_in_y_does_not_survive_beta_zero),
        cmocka_unit_test(fp32_values_are_summed_in_fp64),
        cmocka_unit_test(rows_of_any_length_in_any_precision),
        cmocka_unit_test(wrong_vectors_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
