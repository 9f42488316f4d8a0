/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors on the CPU: transfer and conversion, shadows, sums that do not depend on threads, range of norms. */
#include "support/test.h"

static void set_and_get_convert(void **state)
{
    static const double values[] = {1.0, 1.0 / 3.0, -0x1p-149, 1e300, 0x1.000001p0, -0.0};
    enum { N = sizeof values / sizeof *values };
    double back[N];
    float narrow[N];
    tess_context *ctx = open_cpu(2);
    tess_vector *v = make_vector(ctx, N, values), *w = NULL;

    (void)state;
    read_vector(v, back);
    assert_true(same_bits(back, values, N));
    assert_ok(ctx, tess_vector_get(v, narrow, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_vector_create(ctx, N, TESS_PRECISION_FP32, &w));
    assert_ok(ctx, tess_vector_copy(v, w));
    read_vector(w, back);
    for (int i = 0; i < N; i++) {
        assert_true(narrow[i] == (float)values[i]);
        assert_true(back[i] == (double)(float)values[i]);
    }
    assert_ok(ctx, tess_vector_set(v, narrow, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    read_vector(v, back);
    for (int i = 0; i < N; i++) {
        assert_true(back[i] == (double)narrow[i]);
    }
    assert_int_equal(tess_vector_precision(w), TESS_PRECISION_FP32);
    assert_int_equal(tess_vector_size(w), N);
    tess_vector_destroy(v);
    tess_vector_destroy(w);
    tess_context_destroy(ctx);
}

static void new_vectors_are_zero(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_vector *v = make_zeros(ctx, 777);
    const double *data = tess_vector_data_const(v);

    (void)state;
    for (int i = 0; i < 777; i++) {
        assert_true(data[i] == 0.0);
    }
    tess_vector_destroy(v);
    tess_vector_destroy(NULL);
    tess_context_destroy(ctx);
}

static void wrapped_array_is_used_in_place(void **state)
{
    double array[5] = {1, 2, 3, 4, 5}, sum = 0.0;
    tess_context *ctx = open_cpu(1);
    tess_vector *v = NULL, *none = NULL;

    (void)state;
    assert_ok(ctx, tess_vector_wrap(ctx, 5, TESS_PRECISION_FP64, array, &v));
    assert_ptr_equal(tess_vector_data(v), array);
    assert_ok(ctx, tess_vector_fill(v, 2.5));
    assert_true(array[0] == 2.5 && array[4] == 2.5);
    assert_ok(ctx, tess_vector_dot(v, v, TESS_ARITHMETIC_FP64, &sum));
    assert_true(sum == 5 * 6.25);
    tess_vector_destroy(v);
    assert_true(array[4] == 2.5);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_wrap(ctx, 5, TESS_PRECISION_FP64, NULL, &none));
    assert_ok(ctx, tess_vector_wrap(ctx, 0, TESS_PRECISION_FP64, NULL, &none));
    assert_ok(ctx, tess_vector_norm2(none, TESS_ARITHMETIC_FP64, &sum));
    assert_true(sum == 0.0);
    tess_vector_destroy(none);
    tess_context_destroy(ctx);
}

static void assert_shadow_in_step(const tess_vector *v)
{
    const double *data = tess_vector_data_const(v);
    const float *shadow = tess_vector_shadow(v);

    assert_non_null(shadow);
    for (int64_t i = 0; i < tess_vector_size(v); i++) {
        assert_true(shadow[i] == (float)data[i]);
    }
}

/* Every operation that writes the vector writes the shadow. */
static void shadow_follows_every_writer(void **state)
{
    enum { N = 5000 };
    double *values = random_values(N, 11, -1.0, 1.0);
    oracle_csr a = oracle_tridiagonal(N, -1.0, 2.0, -1.0);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *x = make_vector(ctx, N, values), *y = make_zeros(ctx, N), *narrow = NULL;

    (void)state;
    assert_null(tess_vector_shadow(y));
    assert_ok(ctx, tess_vector_add_shadow(y, TESS_PRECISION_FP32));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_vector_set(y, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_vector_fill(y, 1.0 / 3.0));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_vector_copy(x, y));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_vector_axpby(1.0 / 7.0, x, 3.0, y, TESS_ARITHMETIC_FP64));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_vector_set_random(y, 3, 0.0, 1.0));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, x, 0.0, y));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_matrix_diagonal(m, y));
    assert_shadow_in_step(y);
    ((double *)tess_vector_data(y))[17] = 1e-3;
    assert_ok(ctx, tess_vector_refresh_shadow(y));
    assert_shadow_in_step(y);
    assert_ok(ctx, tess_vector_create(ctx, N, TESS_PRECISION_FP32, &narrow));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_vector_add_shadow(narrow, TESS_PRECISION_FP32));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_vector_add_shadow(x, TESS_PRECISION_FP16));
    tess_vector_destroy(narrow);
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(values);
}

typedef struct sums {
    double dot, norm;
} sums;

static sums sums_with_threads(int threads, int64_t n, const double *x, const double *y)
{
    sums s = {0.0, 0.0};
    tess_context *ctx = open_cpu(threads);
    tess_vector *vx = make_vector(ctx, n, x), *vy = make_vector(ctx, n, y);

    assert_ok(ctx, tess_vector_dot(vx, vy, TESS_ARITHMETIC_FP64, &s.dot));
    assert_ok(ctx, tess_vector_norm2(vx, TESS_ARITHMETIC_FP64, &s.norm));
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_context_destroy(ctx);
    return s;
}

/* Sizes on both sides of a block of 4,096. */
static void dot_has_the_same_bits_for_any_threads_and_meets_its_bound(void **state)
{
    static const int64_t sizes[] = {0, 1, 5, 4095, 4096, 4097, 100003};

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k];
        double *x = random_values(n, 21, -1.0, 1.0), *y = random_values(n, 22, -1.0, 1.0), magnitude = 0.0;
        sums one = sums_with_threads(1, n, x, y);
        wide exact = oracle_dot(x, y, n), norm = oracle_norm2(x, n);

        for (int threads = 2; threads <= 5; threads++) {
            sums other = sums_with_threads(threads, n, x, y);

            assert_memory_equal(&one, &other, sizeof one);
        }
        for (int64_t i = 0; i < n; i++) {
            magnitude += fabs(x[i] * y[i]);
        }
        assert_at_most(fabs((double)((wide)one.dot - exact)), gamma_of(ceil((double)n / 4096.0) + 4096.0) * magnitude);
        assert_at_most(fabs((double)((wide)one.norm - norm)),
                       gamma_of(ceil((double)n / 4096.0) + 4098.0) * (double)norm);
        free(x);
        free(y);
    }
}

/* Norms from the smallest subnormal to near the largest double, where squares leave the range. */
static void norm_neither_overflows_nor_underflows(void **state)
{
    static const double scales[] = {0x1p-1074, 0x1p-1060, 1e-310,  0x1p-1000, 0x1p-600, 0x1p-540,
                                    0x1p-450,  1.0,       0x1p500, 0x1p512,   0x1p900,  0x1p1020};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        double x[3] = {3.0 * scales[k], -4.0 * scales[k], 0.0}, norm = 0.0;
        tess_vector *v = make_vector(ctx, 3, x);

        assert_ok(ctx, tess_vector_norm2(v, TESS_ARITHMETIC_FP64, &norm));
        assert_at_most(fabs(norm / scales[k] - 5.0), 5.0 * 8.0 * U64);
        tess_vector_destroy(v);
    }
    tess_context_destroy(ctx);
}

static void norm_passes_on_what_is_not_finite(void **state)
{
    double with_nan[2] = {1.0, (double)NAN}, with_inf[2] = {1.0, -HUGE_VAL}, norm = 0.0;
    tess_context *ctx = open_cpu(1);
    tess_vector *v = make_vector(ctx, 2, with_nan);

    (void)state;
    assert_ok(ctx, tess_vector_norm2(v, TESS_ARITHMETIC_FP64, &norm));
    assert_true(isnan(norm));
    assert_ok(ctx, tess_vector_set(v, with_inf, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_vector_norm2(v, TESS_ARITHMETIC_FP64, &norm));
    assert_true(isfinite(norm) == 0);
    tess_vector_destroy(v);
    tess_context_destroy(ctx);
}

static void axpby_follows_its_definition(void **state)
{
    double x[4] = {1.0, -2.0, 3.0, 0.5}, y[4] = {(double)NAN, HUGE_VAL, 1.0, 2.0}, out[4];
    tess_context *ctx = open_cpu(2);
    tess_vector *vx = make_vector(ctx, 4, x), *vy = make_vector(ctx, 4, y), *other = make_zeros(ctx, 5), *narrow = NULL;

    (void)state;
    assert_ok(ctx, tess_vector_axpby(2.0, vx, 0.0, vy, TESS_ARITHMETIC_FP64)); /* y is not read */
    read_vector(vy, out);
    for (int i = 0; i < 4; i++) {
        assert_true(out[i] == 2.0 * x[i]);
    }
    assert_ok(ctx, tess_vector_axpby(-1.0, vx, 0.5, vy, TESS_ARITHMETIC_FP64));
    read_vector(vy, out);
    for (int i = 0; i < 4; i++) {
        assert_true(out[i] == 0.0);
    }
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_vector_axpby(1.0, vx, 1.0, other, TESS_ARITHMETIC_FP64));
    assert_ok(ctx, tess_vector_create(ctx, 4, TESS_PRECISION_FP32, &narrow));
    assert_ok(ctx, tess_vector_axpby(1.0, narrow, 1.0, vy, TESS_ARITHMETIC_FP64));
    tess_vector_destroy(narrow);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_vector_destroy(other);
    tess_context_destroy(ctx);
}

static void random_depends_on_seed_and_index_alone(void **state)
{
    enum { N = 20000 };
    double *first = test_allocate(N, sizeof *first), *again = test_allocate(N, sizeof *again), mean = 0.0;

    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_vector *v = make_zeros(ctx, N), *part = make_zeros(ctx, N / 2);

        assert_ok(ctx, tess_vector_set_random(v, 42, -3.0, 5.0));
        read_vector(v, threads == 1 ? first : again);
        if (threads > 1) { assert_true(same_bits(first, again, N)); }
        assert_ok(ctx, tess_vector_set_random(part, 42, -3.0, 5.0));
        read_vector(part, again);
        assert_true(same_bits(first, again, N / 2));
        assert_ok(ctx, tess_vector_set_random(part, 43, -3.0, 5.0));
        read_vector(part, again);
        assert_false(same_bits(first, again, 1));
        tess_vector_destroy(v);
        tess_vector_destroy(part);
        tess_context_destroy(ctx);
    }
    for (int i = 0; i < N; i++) {
        assert_true(first[i] > -3.0 && first[i] < 5.0);
        mean += first[i] / N;
    }
    /* six standard deviations of the mean of N uniform values of variance 64 / 12 */
    assert_at_most(fabs(mean - 1.0), 6.0 * sqrt(64.0 / 12.0 / N));
    free(first);
    free(again);
}

static void wrong_partners_are_refused(void **state)
{
    double value = 0.0;
    tess_context *one = open_cpu(1), *two = open_cpu(1);
    tess_vector *x = make_zeros(one, 3), *y = make_zeros(two, 3), *longer = make_zeros(one, 4);

    (void)state;
    assert_fails(two, TESS_INVALID_ARGUMENT, tess_vector_dot(x, y, TESS_ARITHMETIC_FP64, &value));
    assert_fails(two, TESS_INVALID_ARGUMENT, tess_vector_copy(x, y));
    assert_fails(one, TESS_DIMENSION_MISMATCH, tess_vector_copy(x, longer));
    assert_fails(one, TESS_DIMENSION_MISMATCH, tess_vector_dot(x, longer, TESS_ARITHMETIC_FP64, &value));
    assert_fails(one, TESS_INVALID_ARGUMENT, tess_vector_set(x, &value, TESS_PRECISION_FP64, TESS_MEMORY_DEVICE));
    assert_fails(one, TESS_INVALID_ARGUMENT,
                 tess_vector_get(x, &value, (tess_precision)TESS_PRECISION_COUNT, TESS_MEMORY_HOST));
    assert_ok(one, tess_vector_copy(x, x));
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    tess_vector_destroy(longer);
    tess_context_destroy(one);
    tess_context_destroy(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_and_get_convert),
        cmocka_unit_test(new_vectors_are_zero),
        cmocka_unit_test(wrapped_array_is_used_in_place),
        cmocka_unit_test(shadow_follows_every_writer),
        cmocka_unit_test(dot_has_the_same_bits_for_any_threads_and_meets_its_bound),
        cmocka_unit_test(norm_neither_overflows_nor_underflows),
        cmocka_unit_test(norm_passes_on_what_is_not_finite),
        cmocka_unit_test(axpby_follows_its_definition),
        cmocka_unit_test(random_depends_on_seed_and_index_alone),
        cmocka_unit_test(wrong_partners_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
