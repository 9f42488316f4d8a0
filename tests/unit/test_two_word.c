/* SPDX-License-Identifier: Apache-2.0 */
/* Error-free transformations, the bound of Dot2, and the inversion of one block, against wide arithmetic. */
#include <tessera/two_word.h>

#include "matrix/residual_rows.h"
#include "precond/block_jacobi/invert_block.h"
#include "support/test.h"

static double any_double(uint64_t *seed, int exponents)
{
    double value = oracle_uniform(seed, -2.0, 2.0);

    return ldexp(value, (int)(oracle_random_bits(seed) % (uint64_t)(2 * exponents + 1)) - exponents);
}

/* A sum of two doubles a factor 2^50 apart needs at most 53 + 50 bits, a product 106: exact in 113. */
static void transformations_are_exact(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int trial = 0; trial < 100000; trial++) {
        double a = any_double(&seed, 25), b = any_double(&seed, 25);
        tess_two_word sum = tess_two_sum(a, b), product = tess_two_product(a, b);

        assert_true((wide)sum.high + (wide)sum.low == (wide)a + (wide)b);
        assert_true((wide)product.high + (wide)product.low == (wide)a * (wide)b);
        assert_true(sum.high == a + b && product.high == a * b);
    }
}

/* Products that cancel to a small rest: condition numbers up to 1e30. */
static void dot2_stays_within_its_bound(void **state)
{
    enum { LENGTH = 60 };
    uint64_t seed = 2;
    int tight = 0;

    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        tess_two_word sum = {0.0, 0.0};
        double magnitude = 0.0, errors = 0.0, value, bound;
        wide exact = 0;

        for (int k = 0; k < LENGTH; k++) {
            double a = any_double(&seed, 20), b = any_double(&seed, 20);

            if (k >= LENGTH / 2) { /* brings the sum near zero */
                a = -(double)exact / b * (k % 2 ? 1.0 : 0.5);
            }
            exact += (wide)a * (wide)b;
            errors += fabs(tess_two_product(a, b).low) + fabs(tess_two_sum(sum.high, a * b).low);
            tess_two_word_add_product(&sum, a, b);
            magnitude += fabs(a * b);
        }
        value = tess_two_word_value(sum);
        bound = tess_two_word_bound(value, errors, 2 * LENGTH);
        assert_at_most(fabs((double)((wide)value - exact)), bound);
        tight += bound < 1e-20 * magnitude;
    }
    assert_true(tight > 0); /* the bound must say more than plain summation could */
}

/* Sums of which nothing is rounded have the bound 0; one word that is not 0 and the bound is not. */
static void bound_of_an_exact_sum_is_zero(void **state)
{
    (void)state;
    assert_true(tess_two_word_bound(0.0, 0.0, 100.0) == 0.0);
    assert_true(tess_two_word_bound(0.0, 0x1p-200, 2.0) > 0.0);
    assert_true(tess_two_word_bound(1.0, 0.0, 2.0) >= TESS_U64);
    /* what underflows in a product is below what its word adds to the bound */
    assert_true(tess_two_word_underflow(0x1p-600, 0x1.8p-475, 0.0) == TESS_UNDERFLOW_WORD);
    assert_true(tess_two_word_underflow(0.0, 0x1p-1074, 0.0) == 0.0);
    assert_true(tess_two_word_underflow(0x1p-480, 0x1p-480, 0x1p-960) == 0.0);
    assert_true(tess_two_word_bound(0.0, TESS_UNDERFLOW_WORD, 2.0) >= 0x1p-1074);
    {
        const tess_row_sum r = {{0.0, 0.0}, 1.0, 0.0, 0.0}; /* two additions per entry, and per join of parts */

        assert_true(tess_row_sum_bound(&r, 6, 4) == tess_two_word_bound(0.0, 1.0, 20.0));
    }
}

static void inverse_of_a_block(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int k = 1; k <= TESS_MAX_BLOCK_SIZE; k += 7) {
        double *a = test_allocate((int64_t)k * k, sizeof *a), *inverse = test_allocate((int64_t)k * k, sizeof *inverse);

        for (int i = 0; i < k * k; i++) {
            a[i] = oracle_uniform(&seed, -1.0, 1.0);
        }
        for (int i = 0; i < k; i++) {
            a[(i + 1) % k + k * i] += 2.0 * k;
        } /* large off the diagonal: pivoting needed */
        memcpy(inverse, a, (size_t)(k * k) * sizeof *a);
        assert_int_equal(invert_block(inverse, k), -1);
        for (int i = 0; i < k; i++) {
            for (int j = 0; j < k; j++) {
                wide product = i == j ? -1 : 0;

                for (int l = 0; l < k; l++) {
                    product += (wide)a[i + k * l] * (wide)inverse[l + k * j];
                }
                /* condition number below 4: the residual is a small multiple of k u */
                assert_at_most((double)wide_abs(product), 16.0 * gamma_of(k + 1));
            }
        }
        free(a);
        free(inverse);
    }
}

static void singular_blocks_are_found(void **state)
{
    double zero[1] = {0.0}, nan_entry[4] = {1.0, (double)NAN, 2.0, 3.0}, rank_one[4] = {1.0, 2.0, 2.0, 4.0};
    double infinite[1] = {HUGE_VAL}, permutation[4] = {0.0, 1.0, 1.0, 0.0}, tiny[1] = {0x1p-1074};

    (void)state;
    assert_int_equal(invert_block(zero, 1), 0);
    assert_true(invert_block(nan_entry, 2) >= 0);
    assert_int_equal(invert_block(rank_one, 2), 1);
    assert_int_equal(invert_block(infinite, 1), 0);
    assert_int_equal(invert_block(tiny, 1), 0); /* its inverse overflows */
    assert_int_equal(invert_block(permutation, 2), -1);
    assert_true(permutation[0] == 0.0 && permutation[1] == 1.0 && permutation[2] == 1.0 && permutation[3] == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transformations_are_exact),     cmocka_unit_test(dot2_stays_within_its_bound),
        cmocka_unit_test(bound_of_an_exact_sum_is_zero), cmocka_unit_test(inverse_of_a_block),
        cmocka_unit_test(singular_blocks_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
