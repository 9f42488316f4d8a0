/* SPDX-License-Identifier: Apache-2.0 */
/* The vector operations on the CPU in every precision and arithmetic. */
#include "support/blas.h"

static void every_combination(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    check_blas_combinations(ctx);
    tess_context_destroy(ctx);
}

/* Several blocks, several threads. */
static void long_vectors(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        for (int a = 0; a < 2; a++) {
            blas_case c = {100003, (tess_precision)p, (tess_precision)p, (tess_arithmetic)a, 0};

            check_blas(ctx, &c);
        }
    }
    tess_context_destroy(ctx);
}

static void conversions(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_conversions(ctx);
    tess_context_destroy(ctx);
}

static void range(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_blas_range(ctx);
    tess_context_destroy(ctx);
}

static void shadows(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_blas_shadows(ctx);
    tess_context_destroy(ctx);
}

/* An array that is not even aligned to its own values' size is the caller's mistake; one that is only so aligned is
 * not. */
static void sums_do_not_depend_on_threads_or_place(void **state)
{
    enum { N = 70001 };
    double first[TESS_PRECISION_COUNT][2], sum;

    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);

        for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
            for (int a = 0; a < 2; a++) {
                tess_vector *v = NULL;

                assert_ok(ctx, tess_vector_create(ctx, N, (tess_precision)p, &v));
                assert_ok(ctx, tess_vector_set_random(v, 5, -1.0, 3.0));
                assert_ok(ctx, tess_vector_dot(v, v, (tess_arithmetic)a, &sum));
                if (threads == 1) { first[p][a] = sum; }
                assert_true(sum == first[p][a]);
                tess_vector_destroy(v);
            }
        }
        tess_context_destroy(ctx);
    }
}

/* FP32 arithmetic is FP32: where FP64 keeps 2^-30 beside 1, it does not. */
static void fp32_arithmetic_rounds(void **state)
{
    double values[2] = {1.0, 0x1p-15}, dot = 0.0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int p = 0; p <= TESS_PRECISION_BF16; p++) {
        tess_vector *v = NULL;

        assert_ok(ctx, tess_vector_create(ctx, 2, (tess_precision)p, &v));
        assert_ok(ctx, tess_vector_set(v, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_vector_dot(v, v, TESS_ARITHMETIC_FP64, &dot));
        assert_true(dot == 1.0 + 0x1p-30);
        assert_ok(ctx, tess_vector_dot(v, v, TESS_ARITHMETIC_FP32, &dot));
        assert_true(dot == 1.0);
        tess_vector_destroy(v);
    }
    tess_context_destroy(ctx);
}

static void wrong_arguments(void **state)
{
    tess_context *ctx = open_cpu(1), *other = open_cpu(1);
    tess_vector *v = make_zeros(ctx, 3), *longer = make_zeros(ctx, 4), *strange = make_zeros(other, 3), *none = NULL;
    double sum = 0.0;

    (void)state;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_create(ctx, 3, (tess_precision)TESS_PRECISION_COUNT, &none));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_scale(2.0, v, (tess_arithmetic)2));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_vector_axpby(1.0, longer, 1.0, v, TESS_ARITHMETIC_FP64));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_dot(strange, v, TESS_ARITHMETIC_FP64, &sum));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_dot(NULL, v, TESS_ARITHMETIC_FP64, &sum));
    tess_vector_destroy(v);
    tess_vector_destroy(longer);
    tess_vector_destroy(strange);
    tess_context_destroy(ctx);
    tess_context_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination),
        cmocka_unit_test(long_vectors),
        cmocka_unit_test(conversions),
        cmocka_unit_test(range),
        cmocka_unit_test(shadows),
        cmocka_unit_test(sums_do_not_depend_on_threads_or_place),
        cmocka_unit_test(fp32_arithmetic_rounds),
        cmocka_unit_test(wrong_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
