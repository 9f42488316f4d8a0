/* SPDX-License-Identifier: Apache-2.0 */
/* ILU(0) and IC(0): their factors against their definitions, solves with them, shifts, new values, refusals. */
#include "support/incomplete.h"

static const tess_precond_kind kinds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_IC0};

/* Factors and an application of a preconditioner, by the definition. */
static void check_factors(const oracle_csr *a, tess_precond_kind kind)
{
    const int64_t n = a->nrows;
    const tess_precond_options options = factor_options(kind);
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);
    test_factors f = factor_matrix(matrix, kind == TESS_PRECOND_IC0, 0.0);
    tess_precond_factors facts = {.size = sizeof facts};
    tess_precond *m = NULL;

    assert_int_equal(f.bad_row, -1);
    assert_true(f.finite);
    check_on_pattern(a, kind == TESS_PRECOND_IC0, &f);
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    apply_precond(m, n, r, z);
    check_factor_solution(&f, r, z, 0.0);
    assert_ok(ctx, tess_precond_get_factors(m, &facts));
    assert_true(facts.shift == 0.0);
    assert_int_equal(facts.nonzeros, f.lower.nnz + f.upper.nnz);
    tess_precond_destroy(m);
    free_factors(&f);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    free(r);
    free(z);
}

static void factors_agree_on_the_pattern(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        oracle_csr convection = oracle_convection2d(9 + (int64_t)seed, 0.7), laplace = oracle_laplace2d(12);
        oracle_csr random = random_dominant(120, 3, false, seed), symmetric = random_dominant(120, 3, true, seed);

        check_factors(&convection, TESS_PRECOND_ILU0);
        check_factors(&random, TESS_PRECOND_ILU0);
        for (int k = 0; k < 2; k++) {
            check_factors(&laplace, kinds[k]);
            check_factors(&symmetric, kinds[k]);
        }
        oracle_free(&convection);
        oracle_free(&laplace);
        oracle_free(&random);
        oracle_free(&symmetric);
    }
}

/* Whether M^-1 r solves A z = r: patterns without fill-in have exact factors. |L| |D| |U| <= 3 |A| here: diagonals
 * dominate. */
static void check_exact(const oracle_csr *a, tess_precond_kind kind)
{
    const int64_t n = a->nrows;
    const tess_precond_options options = factor_options(kind);
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    double *magnitude = test_allocate(n, sizeof *magnitude);
    wide *product = test_allocate(n, sizeof *product);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;

    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    apply_precond(m, n, r, z);
    oracle_multiply(a, false, z, product, magnitude);
    for (int64_t i = 0; i < n; i++) {
        assert_at_most((double)wide_abs(product[i] - (wide)r[i]),
                       9.0 * gamma_of((double)oracle_longest_row(a, false) + 8.0) * magnitude[i]);
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    free(r);
    free(z);
    free(magnitude);
    free(product);
}

static oracle_csr triangle_of(int64_t n, bool upper)
{
    oracle_csr full = random_dominant(n, 3, false, 5), t = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = full.row_ptr[i]; k < full.row_ptr[i + 1]; k++) {
            if (full.col_ind[k] == i || (full.col_ind[k] > i) == upper) {
                oracle_push(&t, full.col_ind[k], full.val[k]);
            }
        }
        oracle_end_row(&t, i);
    }
    oracle_free(&full);
    return t;
}

static void exact_without_fill_in(void **state)
{
    const double values[] = {3.0, 0.5, 1e200, 1e-200, 7.0};
    oracle_csr tridiagonal = oracle_tridiagonal(200, -1.0, 2.5, -1.2), spd = oracle_tridiagonal(200, -1.0, 2.0, -1.0);
    oracle_csr last = arrow(90, false), diagonal = oracle_diagonal(5, values);
    oracle_csr lower = triangle_of(100, false), upper = triangle_of(100, true);

    (void)state;
    check_exact(&tridiagonal, TESS_PRECOND_ILU0);
    check_exact(&last, TESS_PRECOND_ILU0);
    check_exact(&lower, TESS_PRECOND_ILU0);
    check_exact(&upper, TESS_PRECOND_ILU0);
    for (int k = 0; k < 2; k++) {
        check_exact(&spd, kinds[k]);
        check_exact(&diagonal, kinds[k]);
    }
    oracle_free(&tridiagonal);
    oracle_free(&spd);
    oracle_free(&last);
    oracle_free(&diagonal);
    oracle_free(&lower);
    oracle_free(&upper);
}

/* An arrow that points at the first row would fill up: the factors are another matrix's. */
static void fill_in_is_dropped(void **state)
{
    oracle_csr a = arrow(60, true);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    test_factors f = factor_matrix(matrix, false, 0.0);

    (void)state;
    check_on_pattern(&a, false, &f);
    assert_int_equal(f.lower.nnz + f.upper.nnz + 60, a.nnz);
    for (int64_t i = 1; i < 60; i++) { /* row i has one multiplier, and a pivot that only that changed */
        const wide l = (wide)a.val[a.row_ptr[i]] / (wide)a.val[0];
        const wide pivot = (wide)a.val[a.row_ptr[i] + 1] - l * (wide)a.val[i];

        assert_at_most((double)wide_abs(1 - pivot * (wide)f.inverse[i]), gamma_of(8.0));
    }
    free_factors(&f);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* The stored M of IC(0) is symmetric to the bit: (M^-1 u, v) = (u, M^-1 v) to rounding, in low precision too. */
static void ic_is_symmetric(void **state)
{
    static const tess_precision storage[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16,
                                             TESS_PRECISION_FP16};
    oracle_csr a = random_dominant(150, 3, true, 9);
    const int64_t n = a.nrows;
    double *r = random_values(2 * n, 3, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (size_t s = 0; s < 4; s++) {
        tess_precond_options options = factor_options(TESS_PRECOND_IC0);
        test_factors f = factor_matrix(matrix, true, 0.0);
        tess_precond *m = NULL;
        double size = 0.0;

        options.role = (tess_role_precision){1, storage[s], TESS_ARITHMETIC_FP64};
        round_factors(&f, storage[s]);
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        for (int k = 0; k < 2; k++) {
            apply_precond(m, n, r + k * n, z + k * n);
            check_factor_solution(&f, r + k * n, z + k * n, 0.0);
        }
        for (int64_t i = 0; i < n; i++) {
            size += fabs(z[i] * r[n + i]) + fabs(z[n + i] * r[i]);
        }
        /* the diagonal dominates: M^-1 is at most 1 in norm, and magnitudes of its sums are a few times their results
         */
        assert_at_most((double)wide_abs(oracle_dot(z, r + n, n) - oracle_dot(z + n, r, n)),
                       gamma_of(8.0 * (double)n) * size);
        tess_precond_destroy(m);
        free_factors(&f);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(z);
}

/* ---- new values ---- */

/* The values of a, which has the pattern of the matrix. */
static void renew(tess_matrix *matrix, const oracle_csr *a)
{
    assert_ok(tess_matrix_context(matrix),
              tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
}

static void update_follows_the_values(void **state)
{
    oracle_csr a = oracle_laplace2d(20), b = oracle_copy(&a), bad = oracle_copy(&a);
    const int64_t n = a.nrows;
    double *r = random_values(n, 5, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        b.val[k] *= a.val[k] > 0.0 ? 1.5 : 0.25;
    }
    bad.val[0] = (double)NAN;
    for (int c = 0; c < 8; c++) {
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, &a), *fresh = make_matrix(ctx, &b);
        tess_precond_options options = factor_options(kinds[c % 2]);
        tess_precond *m = NULL, *direct = NULL;

        options.incomplete.triangular = c / 2 == 0   ? TESS_TRIANGULAR_LEVELS
                                        : c / 2 == 3 ? TESS_TRIANGULAR_MERGED
                                                     : TESS_TRIANGULAR_BLOCKS;
        choose_leaf(&options, 64);
        options.incomplete.squares.precision = c / 2 == 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        assert_ok(ctx, tess_precond_create(fresh, &options, &direct));
        renew(matrix, &b);
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, n, r, z);
        apply_precond(direct, n, r, z + n);
        assert_true(same_bits(z, z + n, n));
        renew(matrix, &bad);
        assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
        tess_vector *vr = make_vector(ctx, n, r), *vz = make_zeros(ctx, n);
        assert_fails(ctx, TESS_SINGULAR, tess_precond_apply(m, vr, vz));
        tess_vector_destroy(vr);
        tess_vector_destroy(vz);
        renew(matrix, &b);
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, n, r, z);
        assert_true(same_bits(z, z + n, n));
        tess_precond_destroy(m);
        tess_precond_destroy(direct);
        tess_matrix_destroy(matrix);
        tess_matrix_destroy(fresh);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
    oracle_free(&b);
    oracle_free(&bad);
    free(r);
    free(z);
}

/* ---- requests ---- */

static void wrong_requests_are_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(4), wide_range = two_by_two(1e-6, 0.0, 1.0, 1.0);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a), *graded = make_matrix(ctx, &wide_range);
    tess_precond_factors facts = {.size = sizeof facts};
    tess_precond *m = NULL;

    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_precond_options good = factor_options(kinds[k]);
        tess_precond_options o = good;

        o.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        o.role = (tess_role_precision){1, TESS_PRECISION_E4M3, TESS_ARITHMETIC_FP64};
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        o = good;
        o.incomplete.leaf = 0;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        o = good;
        o.incomplete.triangular = (tess_triangular)9;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        o = good;
        o.incomplete.factorization = (tess_factorization)4;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        o = good;
        o.incomplete.squares.precision = TESS_PRECISION_FP32;
        for (int way = 0; way < 2; way++) {
            o.incomplete.triangular = way == 0 ? TESS_TRIANGULAR_LEVELS : TESS_TRIANGULAR_MERGED;
            assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        }
        o = good;
        o.incomplete.squares.split.row_order = TESS_ROW_ORDER_PERMUTED;
        assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_create(matrix, &o, &m));
        assert_null(m);
    }
    tess_precond_options o = factor_options(TESS_PRECOND_ILU0);
    o.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_precond_create(graded, &o, &m)); /* l = 1e6 */
    o.role.storage = TESS_PRECISION_BF16;
    assert_ok(ctx, tess_precond_create(graded, &o, &m));
    tess_precond_destroy(m);
    o = factor_options(TESS_PRECOND_JACOBI);
    assert_ok(ctx, tess_precond_create(matrix, &o, &m));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_get_factors(m, &facts));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_matrix_destroy(graded);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&wide_range);
}

static void names_are_known(void **state)
{
    tess_precond_options options;
    tess_triangular way = TESS_TRIANGULAR_AUTO;

    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(tess_precond_options_parse(tess_precond_kind_name(kinds[k]), &options), TESS_SUCCESS);
        assert_int_equal(options.kind, kinds[k]);
    }
    assert_int_equal(tess_precond_options_parse("ilu0:1", &options), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_parse("ilu", &options), TESS_INVALID_ARGUMENT);
    for (int w = TESS_TRIANGULAR_AUTO; w <= TESS_TRIANGULAR_COLORS; w++) {
        assert_int_equal(tess_triangular_parse(tess_triangular_name((tess_triangular)w), &way), TESS_SUCCESS);
        assert_int_equal(way, w);
    }
    assert_int_equal(tess_triangular_parse("rows", &way), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_triangular_name((tess_triangular)6), "?");
    for (int w = TESS_FACTORIZATION_AUTO; w <= TESS_FACTORIZATION_SWEEPS; w++) {
        tess_factorization where = TESS_FACTORIZATION_AUTO;

        assert_int_equal(tess_factorization_parse(tess_factorization_name((tess_factorization)w), &where),
                         TESS_SUCCESS);
        assert_int_equal(where, w);
    }
    assert_int_equal(tess_factorization_parse("gpu", NULL), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_factorization_name((tess_factorization)4), "?");
}

/* No rows, one row. */
static void small_systems(void **state)
{
    oracle_csr none = oracle_open(0, 0), one = oracle_open(1, 1);
    tess_context *ctx = open_device(1);
    const double r = 6.0;
    double z = 0.0;

    (void)state;
    oracle_push(&one, 0, 4.0);
    oracle_end_row(&one, 0);
    for (int k = 0; k < 2; k++) {
        const tess_precond_options options = factor_options(kinds[k]);
        tess_matrix *empty = make_matrix(ctx, &none), *single = make_matrix(ctx, &one);
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(empty, &options, &m));
        apply_precond(m, 0, &r, &z);
        tess_precond_destroy(m);
        assert_ok(ctx, tess_precond_create(single, &options, &m));
        apply_precond(m, 1, &r, &z);
        assert_true(z == 1.5);
        tess_precond_destroy(m);
        tess_matrix_destroy(empty);
        tess_matrix_destroy(single);
    }
    tess_context_destroy(ctx);
    oracle_free(&none);
    oracle_free(&one);
}

/* An elimination on the device reads diagonal and order there. One by the host reads a pattern that is in host memory,
   and counts where that is the device's. */
static void space_is_that_of_the_device(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    const int64_t n = a.nrows, by_device = n * (int64_t)(sizeof(int64_t) + sizeof(int32_t));
    const int64_t pattern = (2 * n + 1) * (int64_t)sizeof(int64_t) + a.nnz * (int64_t)sizeof(int32_t);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    int64_t bytes[2];

    (void)state;
    for (int by_host = 0; by_host < 2; by_host++) {
        tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
        tess_precond *m = NULL;

        options.incomplete.factorization = by_host ? TESS_FACTORIZATION_HOST : TESS_FACTORIZATION_DEVICE;
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        bytes[by_host] = tess_precond_bytes(m);
        tess_precond_destroy(m);
    }
    assert_int_equal(bytes[1] - bytes[0], (TEST_DEVICE == TESS_DEVICE_GPU ? 0 : pattern) - by_device);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

#define INCOMPLETE_TESTS                                                                           \
    cmocka_unit_test(factors_agree_on_the_pattern), cmocka_unit_test(exact_without_fill_in),       \
        cmocka_unit_test(fill_in_is_dropped), cmocka_unit_test(ic_is_symmetric),                   \
        cmocka_unit_test(update_follows_the_values), cmocka_unit_test(wrong_requests_are_refused), \
        cmocka_unit_test(names_are_known), cmocka_unit_test(small_systems),                        \
        cmocka_unit_test(space_is_that_of_the_device), BY_HOST(factors_agree_on_the_pattern),      \
        BY_HOST(exact_without_fill_in), BY_HOST(fill_in_is_dropped), BY_HOST(ic_is_symmetric),     \
        BY_HOST(update_follows_the_values), BY_HOST(wrong_requests_are_refused), BY_HOST(small_systems)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {INCOMPLETE_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
