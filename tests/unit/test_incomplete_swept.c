/* SPDX-License-Identifier: Apache-2.0 */
/* ILU(0) and IC(0) by fixed-point sweeps: against their definition, against the exact factors, shifts, solves. */
#include "support/incomplete.h"
#include "support/solve.h"

static const tess_precond_kind kinds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_IC0};

static test_factors swept_factors_on(tess_device device, const oracle_csr *a, tess_precond_kind kind, int sweeps)
{
    test_factorization = TESS_FACTORIZATION_SWEEPS;
    test_sweeps = sweeps;
    test_factors f = factors_on(device, a, kind);
    test_factorization = TESS_FACTORIZATION_DEVICE;
    return f;
}

static test_factors swept_factors(const oracle_csr *a, tess_precond_kind kind, int sweeps)
{
    return swept_factors_on(TEST_DEVICE, a, kind, sweeps);
}

static tess_precond_options swept_options(tess_precond_kind kind, int sweeps)
{
    tess_precond_options options = factor_options(kind);

    options.incomplete.factorization = TESS_FACTORIZATION_SWEEPS;
    options.incomplete.factorization_sweeps = sweeps;
    return options;
}

/* ---- the factors ---- */

/* One sweep from w = A: w_ij = a_ij - sum over k < min(i, j) of a_ik a_kj / a_kk, on the pattern of A; dense. */
static void one_sweep_is_its_definition(void **state)
{
    enum { N = 60 };
    oracle_csr symmetric = random_dominant(N, 5, true, 3), random = random_dominant(N, 5, false, 4);

    (void)state;
    for (int c = 0; c < 2; c++) {
        const oracle_csr *a = c == 0 ? &random : &symmetric;
        test_factors f = swept_factors(a, kinds[c], 1);
        static wide dense[N][N], w[N][N];
        static double size[N][N];

        memset(dense, 0, sizeof dense);
        for (int64_t i = 0; i < N; i++) {
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                dense[i][a->col_ind[k]] = (wide)a->val[k];
            }
        }
        for (int64_t i = 0; i < N; i++) {
            for (int64_t j = 0; j < N; j++) {
                w[i][j] = dense[i][j];
                size[i][j] = (double)wide_abs(w[i][j]);
                for (int64_t k = 0; k < i && k < j && dense[i][j] != 0; k++) {
                    w[i][j] -= dense[i][k] * dense[k][j] / dense[k][k];
                    size[i][j] += (double)wide_abs(dense[i][k] * dense[k][j] / dense[k][k]);
                }
            }
        }
        assert_int_equal(f.bad_row, -1);
        for (int64_t i = 0; i < N; i++) {
            const double unit = gamma_of((double)N + 6.0);

            assert_at_most((double)wide_abs(w[i][i] - 1 / (wide)f.inverse[i]), unit * size[i][i]);
            for (int64_t k = f.lower.row_ptr[i]; k < f.lower.row_ptr[i + 1]; k++) {
                const int32_t j = f.lower.col_ind[k];
                const double pivot = fabs((double)w[j][j]), value = fabs(f.lower.val[k]);

                assert_at_most((double)wide_abs((wide)f.lower.val[k] - w[i][j] / w[j][j]),
                               unit * (size[i][j] + 2.0 * value * size[j][j]) / pivot);
            }
            for (int64_t k = f.upper.row_ptr[i]; k < f.upper.row_ptr[i + 1]; k++) {
                const int32_t j = f.upper.col_ind[k];
                const double pivot = fabs((double)w[i][i]), value = fabs(f.upper.val[k]);

                assert_at_most((double)wide_abs((wide)f.upper.val[k] - w[i][j] / w[i][i]),
                               unit * (size[i][j] + 2.0 * value * size[i][i]) / pivot);
            }
        }
        free_factors(&f);
    }
    oracle_free(&symmetric);
    oracle_free(&random);
}

/* After as many sweeps as L has level sets, of a pattern that is symmetric, w is a fixed point: the factors are those
   of the definition, within the rounding of the elimination. Two less do not do. */
static void enough_sweeps_are_exact(void **state)
{
    oracle_csr grid = oracle_laplace2d(10), chain = oracle_tridiagonal(30, -1.0, 2.0, -1.0), coloured = red_black(11),
               convection = oracle_convection2d(9, 0.6);
    const struct {
        const oracle_csr *a;
        int level_sets;
    } cases[] = {{&grid, 19}, {&chain, 30}, {&coloured, 2}, {&convection, 17}};

    (void)state;
    for (int c = 0; c < 2 * 4; c++) {
        const oracle_csr *a = cases[c / 2].a;
        const int level_sets = cases[c / 2].level_sets;
        const bool cholesky = c % 2 == 1;

        if (cholesky && a == &convection) { continue; }
        test_factors f = swept_factors(a, kinds[c % 2], level_sets), exact = factors_of(a, kinds[c % 2]);
        test_factors more = swept_factors(a, kinds[c % 2], level_sets + 3);

        assert_int_equal(f.bad_row, -1);
        check_on_pattern(a, cholesky, &f);
        assert_true(same_bits(f.inverse, more.inverse, a->nrows));
        assert_true(same_bits(f.lower.val, more.lower.val, f.lower.nnz));
        assert_true(same_bits(f.upper.val, more.upper.val, f.upper.nnz));
        for (int64_t i = 0; i < a->nrows; i++) { /* dominant: errors of pivots do not grow */
            assert_at_most(fabs(f.inverse[i] - exact.inverse[i]), gamma_of(100.0 * level_sets) * exact.inverse[i]);
        }
        assert_at_most(fabs(f.largest - exact.largest), gamma_of(100.0 * level_sets) * exact.largest);
        if (level_sets > 2) {
            test_factors fewer = swept_factors(a, kinds[c % 2], level_sets - 2);

            assert_false(same_bits(f.inverse, fewer.inverse, a->nrows));
            free_factors(&fewer);
        }
        free_factors(&f);
        free_factors(&more);
        free_factors(&exact);
    }
    oracle_free(&grid);
    oracle_free(&chain);
    oracle_free(&coloured);
    oracle_free(&convection);
}

/* Also of long rows and a pattern that is not symmetric: as many sweeps as there are rows always do. */
static void any_pattern_converges(void **state)
{
    oracle_csr random = random_dominant(90, 8, false, 3), first = arrow(60, true), last = arrow(80, false);
    const oracle_csr *const problems[] = {&random, &first, &last};

    (void)state;
    for (int c = 0; c < 3; c++) {
        test_factors f = swept_factors(problems[c], TESS_PRECOND_ILU0, (int)problems[c]->nrows);

        assert_int_equal(f.bad_row, -1);
        check_on_pattern(problems[c], false, &f);
        free_factors(&f);
    }
    oracle_free(&random);
    oracle_free(&first);
    oracle_free(&last);
}

/* ---- shifts, and what has no factors ---- */

static void create_swept(const oracle_csr *a, const tess_precond_options *options, tess_status expected,
                         tess_precond_factors *facts)
{
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;

    tess_precond_factors_init(facts);
    if (expected == TESS_SUCCESS) {
        assert_ok(ctx, tess_precond_create(matrix, options, &m));
        assert_ok(ctx, tess_precond_get_factors(m, facts));
        assert_int_equal(facts->factorization, TESS_FACTORIZATION_SWEEPS);
    } else {
        assert_fails(ctx, expected, tess_precond_create(matrix, options, &m));
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

/* The same shift as of exact factors, where there are sweeps enough. */
static void pivots_that_break_down_are_shifted(void **state)
{
    oracle_csr indefinite = oracle_tridiagonal(30, -1.0, 1.0, -1.0), singular = oracle_tridiagonal(30, -1.0, 0.5, -1.0);
    const oracle_csr *const problems[] = {&indefinite, &singular};

    (void)state;
    for (int c = 0; c < 2; c++) {
        tess_precond_options swept = swept_options(TESS_PRECOND_IC0, 32), exact = factor_options(TESS_PRECOND_IC0);
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, problems[c]);
        tess_precond *m = NULL;
        tess_precond_factors of_swept, of_exact = {.size = sizeof of_exact};

        create_swept(problems[c], &swept, TESS_SUCCESS, &of_swept);
        assert_ok(ctx, tess_precond_create(matrix, &exact, &m));
        assert_ok(ctx, tess_precond_get_factors(m, &of_exact));
        assert_true(of_swept.shift > 0.0 && of_swept.shift == of_exact.shift);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    oracle_free(&indefinite);
    oracle_free(&singular);
}

/* IC(0) of -A where all of the diagonal is negative. */
static void negative_definite_matrices_have_factors(void **state)
{
    oracle_csr a = oracle_laplace2d(8);
    const int64_t n = a.nrows;
    double *r = random_values(n, 3, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    const tess_precond_options options = swept_options(TESS_PRECOND_IC0, 4);

    (void)state;
    for (int sign = 0; sign < 2; sign++) {
        tess_context *ctx = open_device(1);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        apply_precond(m, n, r, z + sign * n);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] = -a.val[k];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        assert_true(z[i] == -z[n + i]);
    }
    oracle_free(&a);
    free(r);
    free(z);
}

static void what_has_no_factors_is_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(5), zero = oracle_laplace2d(5);
    tess_precond_factors facts;

    (void)state;
    a.val[7] = (double)NAN;
    for (int64_t k = zero.row_ptr[6]; k < zero.row_ptr[7]; k++) {
        zero.val[k] = 0.0;
    }
    for (int k = 0; k < 2; k++) {
        tess_precond_options options = swept_options(kinds[k], 3);

        create_swept(&a, &options, TESS_SINGULAR, &facts);
        create_swept(&zero, &options, TESS_SINGULAR, &facts);
        options.incomplete.factorization_sweeps = 0;
        create_swept(&zero, &options, TESS_INVALID_ARGUMENT, &facts);
        options.incomplete.factorization_sweeps = TESS_MAX_TRIANGLE_SWEEPS + 1;
        create_swept(&zero, &options, TESS_INVALID_ARGUMENT, &facts);
        options = swept_options(k == 0 ? TESS_PRECOND_ILUT : TESS_PRECOND_ICT, 3);
        create_swept(&a, &options, TESS_SINGULAR, &facts);
        create_swept(&zero, &options, TESS_SINGULAR, &facts);
    }
    oracle_free(&a);
    oracle_free(&zero);
}

/* Factors and triangles by sweeps: a GPU finds the patterns itself. With so many sweeps that the triangles are exact,
   an application is a solve with the swept factors; new values take the same places. */
static void triangles_have_the_swept_factors(void **state)
{
    enum { N = 60, FEW = 4 };
    oracle_csr cases[] = {random_dominant(N, 5, false, 3), random_dominant(N, 5, true, 4), oracle_laplace2d(7),
                          oracle_tridiagonal(1, 0.0, 2.0, 0.0), oracle_tridiagonal(N, 0.0, 2.0, 0.0)};

    (void)state;
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; c++) {
        oracle_csr *a = &cases[c / 2];
        const int64_t n = a->nrows;
        tess_precond_options options = swept_options(kinds[c % 2], FEW);
        double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, a);
        tess_precond *m = NULL;
        test_factors f;

        if (c / 2 == 0 && kinds[c % 2] == TESS_PRECOND_IC0) { goto next; } /* not symmetric */
        options.incomplete.triangular = TESS_TRIANGULAR_SWEEPS;
        options.incomplete.sweeps = N;
        f = swept_factors(a, kinds[c % 2], FEW);
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        apply_precond(m, n, r, z);
        check_factor_solution(&f, r, z, 0.0);
        free_factors(&f);
        for (int64_t k = 0; k < a->nnz; k++) {
            a->val[k] *= a->val[k] > 0.0 ? 1.5 : 0.75;
        }
        assert_ok(ctx, tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        f = swept_factors(a, kinds[c % 2], FEW);
        apply_precond(m, n, r, z);
        check_factor_solution(&f, r, z, 0.0);
        free_factors(&f);
    next:
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        free(r);
        free(z);
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        oracle_free(&cases[c]);
    }
}

/* The first row without a diagonal entry is named, by whoever finds the patterns. */
static void missing_diagonals_are_named(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_open(5, 5);
    tess_precond_options options = swept_options(TESS_PRECOND_ILU0, 3);
    tess_matrix *matrix = NULL;
    tess_precond *m = NULL;

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        for (int64_t j = i == 2 || i == 3 ? i - 1 : i; j < 5; j += 2) {
            oracle_push(&a, j, 1.0);
        }
        oracle_end_row(&a, i);
    }
    options.incomplete.triangular = TESS_TRIANGULAR_SWEEPS;
    matrix = make_matrix(ctx, &a);
    assert_int_equal(tess_precond_create(matrix, &options, &m), TESS_SINGULAR);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 3 "));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* On a GPU many rows whose triangles are solved by sweeps are factored by them too, unless the caller chooses. */
static void many_rows_take_sweeps_for_both(void **state)
{
    const tess_factorization otherwise =
        TEST_DEVICE == TESS_DEVICE_GPU ? TESS_FACTORIZATION_HOST : TESS_FACTORIZATION_DEVICE;

    (void)state;
    for (int c = 0; c < 4; c++) {
        const int64_t n = c == 0 ? 65535 : 65536;
        oracle_csr a = oracle_tridiagonal(n, 0.0, 2.0, 0.0);
        tess_precond_options options = swept_options(TESS_PRECOND_IC0, 5);
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond *m = NULL;
        tess_precond_factors facts;

        options.incomplete.factorization = c == 2 ? TESS_FACTORIZATION_HOST : TESS_FACTORIZATION_AUTO;
        options.incomplete.triangular = c == 3 ? TESS_TRIANGULAR_LEVELS : TESS_TRIANGULAR_SWEEPS;
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        tess_precond_factors_init(&facts);
        assert_ok(ctx, tess_precond_get_factors(m, &facts));
        if (c == 1 && TEST_DEVICE == TESS_DEVICE_GPU) {
            assert_int_equal(facts.factorization, TESS_FACTORIZATION_SWEEPS);
        } else {
            assert_int_equal(facts.factorization, c == 2 ? TESS_FACTORIZATION_HOST : otherwise);
        }
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        oracle_free(&a);
    }
}

/* ---- use ---- */

static void threads_and_runs_do_not_change_a_bit(void **state)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(150, 24));
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);

    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_precond_options options = swept_options(kinds[k], 4);

        for (int threads = 1; threads <= 4; threads++) {
            tess_context *ctx = open_device(threads);
            tess_matrix *matrix = make_matrix(ctx, &a);
            tess_precond *m = NULL;

            assert_ok(ctx, tess_precond_create(matrix, &options, &m));
            apply_precond(m, n, r, threads == 1 ? z : z + n);
            if (threads > 1) { assert_true(same_bits(z, z + n, n)); }
            assert_ok(ctx, tess_precond_update(m));
            apply_precond(m, n, r, z + n);
            assert_true(same_bits(z, z + n, n));
            tess_precond_destroy(m);
            tess_matrix_destroy(matrix);
            tess_context_destroy(ctx);
        }
    }
    oracle_free(&a);
    free(r);
    free(z);
}

/* Nothing is solved exactly: factors and triangles by sweeps, in fp16. */
static void cg_and_bicgstab_converge(void **state)
{
    oracle_csr spd = oracle_laplace2d(on_gpu_or_emulated(50, 16)), convection = oracle_convection2d(16, 0.6);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 2; k++) {
        const oracle_csr *a = k == 0 ? &convection : &spd;
        const int64_t n = a->nrows;
        double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(n, sizeof *x);
        tess_solve_options options = solve_options(k == 0 ? TESS_SOLVER_BICGSTAB : TESS_SOLVER_CG);
        tess_solve_result plain, swept;

        memset(x, 0, (size_t)n * sizeof *x);
        plain = solve_once(ctx, a, &options, b, x);
        options.precond = swept_options(kinds[k], 3);
        options.precond.incomplete.triangular = TESS_TRIANGULAR_SWEEPS;
        options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
        memset(x, 0, (size_t)n * sizeof *x);
        swept = solve_once(ctx, a, &options, b, x);
        assert_int_equal(swept.reason, TESS_REASON_RTOL);
        check_honest(a, b, x, &options, &swept);
        assert_true(2 * swept.iterations < plain.iterations + 10);
        free(b);
        free(x);
    }
    tess_context_destroy(ctx);
    oracle_free(&spd);
    oracle_free(&convection);
}

#define INCOMPLETE_SWEPT_TESTS                                                                                       \
    cmocka_unit_test(one_sweep_is_its_definition), cmocka_unit_test(enough_sweeps_are_exact),                        \
        cmocka_unit_test(any_pattern_converges), cmocka_unit_test(pivots_that_break_down_are_shifted),               \
        cmocka_unit_test(negative_definite_matrices_have_factors), cmocka_unit_test(what_has_no_factors_is_refused), \
        cmocka_unit_test(triangles_have_the_swept_factors), cmocka_unit_test(missing_diagonals_are_named),           \
        cmocka_unit_test(many_rows_take_sweeps_for_both), cmocka_unit_test(threads_and_runs_do_not_change_a_bit),    \
        cmocka_unit_test(cg_and_bicgstab_converge)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {INCOMPLETE_SWEPT_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
