/* SPDX-License-Identifier: Apache-2.0 */
/* ILU(0) and IC(0) of matrices whose pivots break down: shifts, and matrices that no shift mends. */
#include "support/incomplete.h"

static const tess_precond_kind kinds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_IC0};

/* The shift that a matrix needs; M is then that of the shifted matrix. Threads of the host make as many attempts at
 * once. */
static double shift_with(const oracle_csr *a, tess_precond_kind kind, int threads)
{
    const tess_precond_options options = factor_options(kind);
    tess_context *ctx = open_device(threads);
    tess_matrix *matrix = make_matrix(ctx, a);
    double *r = random_values(a->nrows, 7, -1.0, 1.0), *z = test_allocate(a->nrows, sizeof *z);
    tess_precond_factors facts = {.size = sizeof facts};
    tess_precond *m = NULL;

    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ok(ctx, tess_precond_get_factors(m, &facts));
    test_factors f = factor_matrix(matrix, kind == TESS_PRECOND_IC0, facts.shift);
    assert_int_equal(f.bad_row, -1);
    apply_precond(m, a->nrows, r, z);
    check_factor_solution(&f, r, z, 0.0);
    assert_int_equal(facts.factorization, test_factorization);
    if (facts.shift > 0.0) { /* half of it would not have done */
        test_factors half =
            factor_matrix(matrix, kind == TESS_PRECOND_IC0, facts.shift > 1e-3 ? facts.shift / 2.0 : 0.0);

        assert_true(half.bad_row >= 0);
        free_factors(&half);
    }
    free_factors(&f);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    free(r);
    free(z);
    return facts.shift;
}

static double shift_of(const oracle_csr *a, tess_precond_kind kind)
{
    const double shift = shift_with(a, kind, 1);

    for (int threads = 2; threads <= 9; threads += threads - 1) {
        assert_true(shift_with(a, kind, threads) == shift);
    }
    return shift;
}

static void shifts_mend_pivots(void **state)
{
    oracle_csr zero_pivot = two_by_two(1.0, 1.0, 1.0, 1.0), zero_entry = two_by_two(0.0, 1.0, 1.0, 1.0);
    oracle_csr tiny_entry = two_by_two(1e-30, -1.0, 1.0, 1.0), indefinite = two_by_two(1.0, 3.0, 3.0, 1.0);
    oracle_csr negative = two_by_two(-2.0, 1.0, 1.0, 4.0), good = two_by_two(4.0, -1.0, -1.0, 3.0);

    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_true(shift_of(&zero_pivot, kinds[k]) == 1e-3);
        assert_true(shift_of(&good, kinds[k]) == 0.0);
    }
    assert_true(shift_of(&zero_entry, TESS_PRECOND_ILU0) == 1e-3);
    assert_true(shift_of(&tiny_entry, TESS_PRECOND_ILU0) == 1e-3);
    assert_true(shift_of(&indefinite, TESS_PRECOND_ILU0) == 0.0);
    assert_true(shift_of(&negative, TESS_PRECOND_ILU0) == 0.0);
    /* (1 + s)^2 > 9: the first of 1e-3 times a power of two from 2 on */
    assert_true(shift_of(&indefinite, TESS_PRECOND_IC0) == 2.048);
    assert_true(shift_of(&negative, TESS_PRECOND_IC0) > 1.0); /* -2 + 2 s > 0 */
    oracle_free(&zero_pivot);
    oracle_free(&zero_entry);
    oracle_free(&tiny_entry);
    oracle_free(&indefinite);
    oracle_free(&negative);
    oracle_free(&good);
}

/* Scaling a matrix by a power of two scales its factors: the same shift, the same bits. */
static void shifts_do_not_depend_on_scale(void **state)
{
    const double scales[] = {0x1p-300, 0x1p-20, 0x1p300};

    (void)state;
    for (int s = 0; s < 3; s++) {
        oracle_csr a = two_by_two(scales[s], 3.0 * scales[s], 3.0 * scales[s], scales[s]);

        assert_true(shift_of(&a, TESS_PRECOND_IC0) == 2.048);
        oracle_free(&a);
    }
}

/* A pivot of 2^-42 beside a row of magnitude 2 is a number, one of 2^-47 is what rounding leaves of 1 - 1. */
static void small_pivots_are_told_from_rounding(void **state)
{
    oracle_csr small = two_by_two(1.0, 1.0, 1.0, 1.0 + 0x1p-42), rounding = two_by_two(1.0, 1.0, 1.0, 1.0 + 0x1p-47);

    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_true(shift_of(&small, kinds[k]) == 0.0);
        assert_true(shift_of(&rounding, kinds[k]) == 1e-3);
    }
    oracle_free(&small);
    oracle_free(&rounding);
}

/* A shift moves a diagonal entry away from zero, whatever its sign: -A has the L and U of A, and -D. */
static void shifts_keep_the_sign(void **state)
{
    oracle_csr a = two_by_two(1.0, 1.0, 1.0, 1.0), negative = two_by_two(-1.0, -1.0, -1.0, -1.0);
    tess_context *ctx = open_device(1);
    tess_matrix *of_a = make_matrix(ctx, &a), *of_negative = make_matrix(ctx, &negative);
    test_factors f = factor_matrix(of_a, false, 0.25), g = factor_matrix(of_negative, false, 0.25);

    (void)state;
    assert_true(shift_of(&negative, TESS_PRECOND_ILU0) == 1e-3);
    assert_true(f.lower.val[0] == 0.8 && g.lower.val[0] == 0.8);
    assert_true(f.upper.val[0] == g.upper.val[0]);
    for (int i = 0; i < 2; i++) {
        assert_true(f.inverse[i] == -g.inverse[i]);
    }
    free_factors(&f);
    free_factors(&g);
    tess_matrix_destroy(of_a);
    tess_matrix_destroy(of_negative);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&negative);
}

/* 2^-1030 stands alone in its row, but its inverse is beyond FP64: the pivot needs a shift until it is above 2^-1024.
 */
static void inverses_of_pivots_do_not_overflow(void **state)
{
    const double tiny[] = {0x1p-1030, -0x1p-1030};

    (void)state;
    for (int t = 0; t < 2; t++) {
        oracle_csr a = oracle_diagonal(1, &tiny[t]);

        assert_true(shift_of(&a, TESS_PRECOND_ILU0) == 65.536); /* 1e-3 2^16, the first above 63 */
        if (tiny[t] > 0.0) { assert_true(shift_of(&a, TESS_PRECOND_IC0) == 65.536); }
        oracle_free(&a);
    }
}

static void check_singular(const oracle_csr *a, const char *words)
{
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;

    for (int k = 0; k < 2; k++) {
        const tess_precond_options options = factor_options(kinds[k]);

        assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &options, &m));
        assert_null(m);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, words));
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

static void hopeless_matrices_name_a_row(void **state)
{
    oracle_csr missing = oracle_open(30, 30), zeros = oracle_tridiagonal(30, -1.0, 3.0, -1.0);
    oracle_csr not_finite = oracle_tridiagonal(30, -1.0, 3.0, -1.0);

    (void)state;
    for (int64_t i = 0; i < 30; i++) {
        if (i != 17) { oracle_push(&missing, i, 1.0); }
        oracle_end_row(&missing, i);
    }
    for (int64_t k = zeros.row_ptr[11]; k < zeros.row_ptr[12]; k++) {
        zeros.val[k] = 0.0;
    }
    not_finite.val[not_finite.row_ptr[8]] = (double)NAN;
    check_singular(&missing, "row 18 is missing");
    check_singular(&zeros, "row 12 has no entries but zeros: the matrix is singular");
    check_singular(&not_finite, "first seen in row 9");
    not_finite.val[not_finite.row_ptr[8]] = (double)INFINITY;
    check_singular(&not_finite, "has NaN or Inf");
    not_finite.val[not_finite.row_ptr[25]] = (double)NAN;
    check_singular(&not_finite, "first seen in row 9"); /* not in row 26 */
    zeros.val[zeros.row_ptr[20]] = (double)NAN;         /* after a row that no shift repairs */
    check_singular(&zeros, "first seen in row 21");
    oracle_free(&missing);
    oracle_free(&zeros);
    oracle_free(&not_finite);
}

#define INCOMPLETE_PIVOTS_TESTS                                                                                \
    cmocka_unit_test(shifts_mend_pivots), cmocka_unit_test(shifts_do_not_depend_on_scale),                     \
        cmocka_unit_test(hopeless_matrices_name_a_row), cmocka_unit_test(small_pivots_are_told_from_rounding), \
        cmocka_unit_test(shifts_keep_the_sign), cmocka_unit_test(inverses_of_pivots_do_not_overflow),          \
        BY_HOST(small_pivots_are_told_from_rounding), BY_HOST(shifts_keep_the_sign),                           \
        BY_HOST(inverses_of_pivots_do_not_overflow), BY_HOST(shifts_mend_pivots),                              \
        BY_HOST(shifts_do_not_depend_on_scale), BY_HOST(hopeless_matrices_name_a_row)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {INCOMPLETE_PIVOTS_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
