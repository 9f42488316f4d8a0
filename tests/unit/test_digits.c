/* SPDX-License-Identifier: Apache-2.0 */
/* Significant digits: boundaries, the ends of the range, NaN and Inf, the histogram and the verdict. */
#include <tessera/digits.h>

#include "support/test.h"

enum { MOST = TESS_MAX_DIGITS };

/* The definition, in wide arithmetic: 10^n |T - A| < 5 |T|. */
static int digits_by_definition(double exact, double computed)
{
    wide error = (wide)exact - (wide)computed, magnitude = exact < 0.0 ? -(wide)exact : (wide)exact, power = 10;
    int n = 0;

    if (error < 0) { error = -error; }
    if (error == 0) { return MOST; }
    for (; n < MOST && power * error < 5 * magnitude; n++) {
        power *= 10;
    }
    return n;
}

/* T = 10^7 and integer errors, so that T, A and the difference are exact: 5 is 5e-7 of it, and 5e-7 is not below 5e-7.
 */
static void equality_does_not_do(void **state)
{
    static const struct {
        double exact, error;
        int digits;
    } cases[] = {{1e7, 5.0, 6},     {1e7, 4.0, 7},   {1e7, 6.0, 6},     {1e7, 50.0, 5},   {1e7, 49.0, 6},
                 {1e8, 5.0, 7},     {1e8, 4.0, 8},   {1e8, 6.0, 7},     {1e9, 49.0, 8},   {1e9, 50.0, 7},
                 {1e9, 51.0, 7},    {2.0, 1.0, 0},   {2.0, 0.875, 1},   {2.0, 1.125, 0},  {20.0, 1.0, 1},
                 {20.0, 0.9375, 2}, {2.0, 9.0, 0},   {2.0, 10.0, 0},    {2.0, 1000.0, 0}, {200.0, 1.0, 2},
                 {2e3, 1.0, 3},     {2e4, 1.0, 4},   {2e5, 1.0, 5},     {2e6, 1.0, 6},    {2e7, 1.0, 7},
                 {2e8, 1.0, 8},     {2e3, 0.999, 4}, {2e5, 0.99999, 6}, {1e15, 1.0, 8},   {5e300, 0.0, 8}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double t = cases[k].exact, e = cases[k].error;

        assert_int_equal(tess_significant_digits(t, t + e), cases[k].digits);
        assert_int_equal(tess_significant_digits(t, t - e), cases[k].digits);
        assert_int_equal(tess_significant_digits(-t, -t + e), cases[k].digits);
        assert_int_equal(tess_significant_digits(-t, e - t), cases[k].digits);
    }
    assert_int_equal(tess_significant_digits(1e7, nextafter(1e7 + 5.0, 0.0)), 7);
    assert_int_equal(tess_significant_digits(1e7, nextafter(1e7 - 5.0, HUGE_VAL)), 7);
    assert_int_equal(tess_significant_digits(1e7, -1e7), 0);
}

/* 1 + 2^-24 - 2^-40 falls to 1 in FP32, off by 5.96e-8: seven digits; 1/3 is off by 2.98e-8: eight. */
static void roundings_to_fp32(void **state)
{
    static const double seven = 1.0 + 0x1p-24 - 0x1p-40, eight = 1.0 / 3.0;

    (void)state;
    assert_int_equal(tess_significant_digits(seven, (double)(float)seven), 7);
    assert_int_equal(tess_significant_digits(eight, (double)(float)eight), 8);
}

/* Powers of two change nothing, down to where all bits of T and A are still held and up to the largest double. */
static void scale_changes_nothing(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int trial = 0; trial < 20000; trial++) {
        double t = (double)(oracle_random_bits(&seed) % 900000000 + 100000000);
        double a = t - (double)(oracle_random_bits(&seed) % (UINT64_C(1) << (oracle_random_bits(&seed) % 30)));
        int digits = digits_by_definition(t, a);

        assert_int_equal(tess_significant_digits(t, a), digits);
        assert_int_equal(tess_significant_digits(ldexp(t, -1074), ldexp(a, -1074)), digits);
        assert_int_equal(tess_significant_digits(ldexp(t, 994), ldexp(a, 994)), digits);
        assert_int_equal(tess_significant_digits(ldexp(-t, 300), ldexp(-a, 300)), digits);
    }
}

static void doubles_that_are_near_or_far(void **state)
{
    uint64_t seed = 6;

    (void)state;
    for (int trial = 0; trial < 100000; trial++) {
        double t = oracle_uniform(&seed, -1.0, 1.0);
        double a = t * (1.0 + ldexp(oracle_uniform(&seed, -1.0, 1.0), -(int)(oracle_random_bits(&seed) % 34)));

        assert_int_equal(tess_significant_digits(t, a), digits_by_definition(t, a));
        assert_int_equal(tess_significant_digits(t, -a), digits_by_definition(t, -a));
    }
}

static void ends_of_the_range(void **state)
{
    static const double largest = 0x1.fffffffffffffp1023, least = 0x1p-1074;

    (void)state;
    assert_int_equal(tess_significant_digits(largest, largest), MOST);
    assert_int_equal(tess_significant_digits(largest, nextafter(largest, 0.0)), MOST);
    assert_int_equal(tess_significant_digits(largest, 0.999 * largest), 3);
    assert_int_equal(tess_significant_digits(largest, -largest), 0); /* the difference overflows */
    assert_int_equal(tess_significant_digits(largest, 0.0), 0);
    assert_int_equal(tess_significant_digits(least, 0.0), 0);
    assert_int_equal(tess_significant_digits(0.0, least), 0);
    assert_int_equal(tess_significant_digits(least, 2 * least), 0);
    assert_int_equal(tess_significant_digits(2 * least, least), 0); /* exactly 5e-1 */
    assert_int_equal(tess_significant_digits(3 * least, 2 * least), 1);
    assert_int_equal(tess_significant_digits(20 * least, 21 * least), 1);
    assert_int_equal(tess_significant_digits(21 * least, 20 * least), 2);
    assert_int_equal(tess_significant_digits(least, least), MOST);
    assert_int_equal(tess_significant_digits(0.0, 0.0), MOST);
    assert_int_equal(tess_significant_digits(0.0, -0.0), MOST);
}

static void what_is_not_finite(void **state)
{
    const double inf = HUGE_VAL, nan = (double)NAN;

    (void)state;
    assert_int_equal(tess_significant_digits(inf, inf), MOST);
    assert_int_equal(tess_significant_digits(-inf, -inf), MOST);
    assert_int_equal(tess_significant_digits(nan, nan), MOST);
    assert_int_equal(tess_significant_digits(inf, -inf), 0);
    assert_int_equal(tess_significant_digits(inf, nan), 0);
    assert_int_equal(tess_significant_digits(nan, inf), 0);
    assert_int_equal(tess_significant_digits(nan, 1.0), 0);
    assert_int_equal(tess_significant_digits(1.0, nan), 0);
    assert_int_equal(tess_significant_digits(inf, 1.0), 0);
    assert_int_equal(tess_significant_digits(1.0, inf), 0);
    assert_int_equal(tess_significant_digits(0.0, nan), 0);
}

/* One element for each column, two more with eight, two more with none that are not finite. */
static void vectors_are_counted(void **state)
{
    enum { N = 13 };
    static const double exact[N] = {2, 2, 20, 200, 2e3, 2e4, 2e5, 2e6, 2e7, 0, (double)NAN, 1, (double)INFINITY};
    static const double other[N] = {3,         2.5,       20.5, 200.5,       2e3 + 0.5,        2e4 + 0.5, 2e5 + 0.5,
                                    2e6 + 0.5, 2e7 + 0.5, 0,    (double)NAN, (double)INFINITY, 1};
    tess_context *ctx = open_cpu(1), *second = open_cpu(1);
    tess_vector *t = make_vector(ctx, N, exact), *a = make_vector(second, N, other), *narrow = NULL;
    tess_digit_counts counts;

    (void)state;
    assert_ok(second, tess_vector_count_digits(t, a, &counts)); /* contexts may differ */
    for (int n = 0; n < MOST; n++) {
        assert_int_equal(counts.elements[n], n == 0 ? 3 : 1);
    }
    assert_int_equal(counts.elements[MOST], 3);
    assert_int_equal(counts.not_finite, 2);
    assert_true(tess_digits_accuracy_ratio(&counts) == 4.0 / 13.0);
    assert_int_equal(tess_digits_accurate(&counts), 0);
    assert_ok(ctx, tess_vector_create(ctx, N, TESS_PRECISION_FP32, &narrow));
    assert_ok(ctx, tess_vector_copy(t, narrow)); /* exact: these are all FP32 numbers */
    assert_ok(ctx, tess_vector_count_digits(t, narrow, &counts));
    assert_int_equal(counts.elements[MOST], N);
    assert_int_equal(counts.not_finite, 0);
    tess_vector_destroy(t);
    tess_vector_destroy(a);
    tess_vector_destroy(narrow);
    tess_context_destroy(ctx);
    tess_context_destroy(second);
}

static void accurate_is_above_95_percent(void **state)
{
    tess_digit_counts counts = {.elements = {[6] = 5, [7] = 90, [8] = 5}};

    (void)state;
    assert_true(tess_digits_accuracy_ratio(&counts) == 0.95);
    assert_int_equal(tess_digits_accurate(&counts), 0);
    counts.elements[7]++;
    assert_int_equal(tess_digits_accurate(&counts), 1);
    counts = (tess_digit_counts){.elements = {0}};
    assert_true(tess_digits_accuracy_ratio(&counts) == 1.0);
    assert_int_equal(tess_digits_accurate(&counts), 1);
}

static void wrong_arguments_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_vector *three = make_zeros(ctx, 3), *four = make_zeros(ctx, 4), *none = make_zeros(ctx, 0);
    tess_digit_counts counts = {.not_finite = 17};

    (void)state;
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_vector_count_digits(three, four, &counts));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_count_digits(NULL, four, &counts));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_count_digits(four, four, NULL));
    assert_int_equal(tess_vector_count_digits(three, NULL, &counts), TESS_INVALID_ARGUMENT);
    assert_int_equal(counts.not_finite, 17);
    assert_ok(ctx, tess_vector_count_digits(none, none, &counts));
    assert_int_equal(counts.elements[MOST], 0);
    tess_vector_destroy(three);
    tess_vector_destroy(four);
    tess_vector_destroy(none);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality_does_not_do),        cmocka_unit_test(roundings_to_fp32),
        cmocka_unit_test(scale_changes_nothing),       cmocka_unit_test(doubles_that_are_near_or_far),
        cmocka_unit_test(ends_of_the_range),           cmocka_unit_test(what_is_not_finite),
        cmocka_unit_test(vectors_are_counted),         cmocka_unit_test(accurate_is_above_95_percent),
        cmocka_unit_test(wrong_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
