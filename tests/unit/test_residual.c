/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of tessera/residual.h by themselves: passes, parts of vectors, tolerances, and what a bound proves. The
   sums of rows are those of test_verify.c. */
#include <tessera/residual.h>
#include <tessera/solver.h>

#include "support/test.h"

/* ---- passes ---- */

/* One row with r = b = magnitude = value and a bound of it, and how often it was asked for. */
typedef struct one_row {
    double value;
    int passes, fails_at; /* 0: never */
} one_row;

static int pass_of_one(void *user, int exponent, tess_residual_sums *sums)
{
    one_row *const row = user;
    const tess_row_terms terms = {7, row->value, row->value * 0x1p-20, row->value, 1.0, row->value, 2.0};

    row->passes++;
    *sums = tess_residual_sums_start();
    tess_residual_sums_add_row(sums, &terms, ldexp(1.0, -exponent));
    return row->passes == row->fails_at ? 42 : 0;
}

/* Norms are exact from the least number to the largest; squares in range take one pass, any others three at most. */
static void norms_take_few_passes(void **state)
{
    const int exponents[] = {0, -100, 300, -520, -600, -1022, -1060, -1074, 511, 600, 1000, 1023};

    (void)state;
    for (size_t k = 0; k < sizeof exponents / sizeof exponents[0]; k++) {
        one_row row = {.value = ldexp(1.0, exponents[k])};
        tess_residual_norms found = {.norm = 0.0};

        assert_int_equal(tess_residual_norms_by(pass_of_one, &row, &found), 0);
        assert_true(found.norm == row.value && found.rhs_norm == row.value && found.rows_norm == row.value);
        assert_true(found.bound >= row.value * 0x1p-20 && found.bound <= row.value * 0x1p-19 + 0x1p-1073);
        assert_true(found.rhs_least <= row.value && found.rows_rhs_least <= row.value);
        assert_true(found.backward == 1.0 && found.backward_most >= 1.0 && found.backward_row == 7);
        assert_in_range(row.passes, 1, exponents[k] == 0 || exponents[k] == -100 ? 1 : TESS_PASSES);
    }
}

static void passes_that_fail_are_reported(void **state)
{
    (void)state;
    for (int at = 1; at <= 2; at++) {
        one_row row = {.value = 0x1p-600, .fails_at = at};
        tess_residual_norms found = {.norm = 0.0};

        assert_int_equal(tess_residual_norms_by(pass_of_one, &row, &found), 42);
    }
}

static void a_residual_that_is_no_number_has_no_backward_error(void **state)
{
    const double values[] = {NAN, INFINITY};

    (void)state;
    for (int k = 0; k < 2; k++) {
        one_row row = {.value = values[k]};
        tess_residual_norms found = {.norm = 0.0};

        assert_int_equal(tess_residual_norms_by(pass_of_one, &row, &found), 0);
        assert_true(!isfinite(found.norm) && isnan(found.backward) && found.backward_row == -1);
        assert_false(tess_residual_proves(found.norm, found.bound, INFINITY));
    }
}

/* ---- parts ---- */

/* Each part's norm is off by its bound: the joined norm is off by the joined bound at most, and b is not below least.
 */
static void joined_bounds_cover_parts(void **state)
{
    enum { PARTS = 5 };
    uint64_t seed = 3;

    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        const int shift = trial % 3 == 0 ? 0 : trial % 3 == 1 ? 900 : -900;
        double norm[PARTS], bound[PARTS], squares[2] = {0.0, 0.0}, largest = 0.0, joined, bounds;
        wide exact = 0;
        int exponent;

        for (int p = 0; p < PARTS; p++) {
            const double whole = ldexp(oracle_uniform(&seed, 0.0, 1.0), (int)(oracle_random_bits(&seed) % 8));

            bound[p] = ldexp(whole, -3 - (int)(oracle_random_bits(&seed) % 50));
            norm[p] = ldexp(whole + (p % 2 ? bound[p] : -bound[p]), shift);
            bound[p] = ldexp(bound[p], shift);
            exact += (wide)whole * (wide)whole;
            largest = fmax(largest, norm[p]);
        }
        exponent = tess_parts_exponent(largest);
        for (int p = 0; p < PARTS; p++) {
            squares[0] += tess_part_square(norm[p], exponent);
            squares[1] += tess_part_square(bound[p], exponent);
        }
        joined = tess_parts_norm(squares[0], exponent);
        bounds = tess_parts_bound(joined, tess_parts_norm(squares[1], exponent), PARTS);
        assert_at_most((double)wide_abs((wide)ldexp(joined, -shift) - wide_sqrt(exact)),
                       ldexp(bounds, -shift) * (1.0 + 0x1p-50));
        assert_true(tess_parts_least(joined, PARTS) < joined);
        assert_true(tess_parts_bound(joined, 0.0, PARTS) >= PARTS * 0x1p-53 * joined);
    }
    assert_true(tess_parts_least(0.0, 2) == 0.0 && tess_parts_least(0x1p-1074, 2) == 0.0);
    assert_true(tess_parts_bound(0x1p-1000, 0.0, 2) >= 8.0 * 0x1p-1074);
    assert_int_equal(tess_parts_exponent(INFINITY), tess_parts_exponent(1.0));
}

/* ---- decisions ---- */

/* Never more than max(rtol ||b||, atol), and of b = 0 the absolute one. */
static void tolerances_are_rounded_down(void **state)
{
    (void)state;
    assert_true(tess_given_tolerance(0.1, 0.0, 3.0) < 0.1 * 3.0 * (1.0 + 0x1p-52));
    assert_true(tess_given_tolerance(0.1, 0.0, 3.0) > 0.1 * 3.0 * (1.0 - 0x1p-50));
    assert_true(tess_given_tolerance(0.1, 7.0, 3.0) == 7.0);
    assert_true(tess_given_tolerance(0.1, 0.25, 0.0) == 0.25);
    assert_true(tess_rows_tolerance(0.1, 0.25, 0.0, 0.0) == 0.25);
    assert_true(tess_rows_tolerance(0.5, 0.0, 8.0, 2.0) <= 1.0 && tess_rows_tolerance(0.5, 0.0, 8.0, 2.0) > 0.999);
    assert_true(tess_rows_tolerance(0.0, 4.0, 8.0, 2.0) <= 1.0 && tess_rows_tolerance(0.0, 4.0, 8.0, 2.0) > 0.999);
}

/* The bound decides, and the slack is of scaled rows alone. */
static void bounds_decide(void **state)
{
    (void)state;
    assert_true(tess_residual_proves(0.75, 0.25, 1.0));
    assert_false(tess_residual_proves(0.75, 0.2500001, 1.0));
    assert_false(tess_residual_proves(0.0, NAN, 1.0));
    assert_false(tess_residual_proves(INFINITY, 0.0, INFINITY));
    assert_true(tess_residual_meets_rows(99.0, 0.5, 1.0, TESS_ROWS_SLACK));
    assert_false(tess_residual_meets_rows(99.0, 1.5, 1.0, TESS_ROWS_SLACK));
    assert_false(tess_residual_meets_rows(1.5, 0.0, 1.0, 1.0));
    assert_false(tess_residual_meets_rows(1.0, 0.0, NAN, 1.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(norms_take_few_passes),
                                       cmocka_unit_test(passes_that_fail_are_reported),
                                       cmocka_unit_test(a_residual_that_is_no_number_has_no_backward_error),
                                       cmocka_unit_test(joined_bounds_cover_parts),
                                       cmocka_unit_test(tolerances_are_rounded_down),
                                       cmocka_unit_test(bounds_decide)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
