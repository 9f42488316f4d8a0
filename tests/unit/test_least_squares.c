/* SPDX-License-Identifier: Apache-2.0 */
/* LSQR and LSMR: least-squares solutions against dense normal equations, proofs, shapes, storage. */
#include <float.h>

#include "support/heap.h"
#include "support/least_squares.h"

static const tess_solver_kind kinds[] = {TESS_SOLVER_LSQR, TESS_SOLVER_LSMR};

/* A random 60 by 20 matrix has a condition number of some 4: the solution of the dense normal equations comes out to
   about the tolerance, for both methods, with and without scaled columns, and from any start. */
static void solutions_are_those_of_the_normal_equations(void **state)
{
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    double *b = random_values(ROWS, 4, -1.0, 1.0), *guess = random_values(COLUMNS, 5, -1.0, 1.0), exact[COLUMNS];
    tess_context *ctx = open_cpu(1);

    (void)state;
    solve_normal_equations(&a, b, exact);
    for (int k = 0; k < 8; k++) {
        tess_solve_options options = solve_options(kinds[k % 2]);
        double x[COLUMNS] = {0.0};
        tess_solve_result result;

        options.rtol = 1e-12;
        options.precond.kind = k & 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
        if (k & 4) { memcpy(x, guess, sizeof x); }
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        assert_int_equal(result.solver, kinds[k % 2]);
        assert_true(result.iterations > 3 && result.iterations <= 3 * COLUMNS);
        assert_true(result.relative_residual > 0.1);
        assert_at_most(relative_distance(x, exact, COLUMNS), 1e-10);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(guess);
}

/* b in the range of A: rtol decides first, and the reason says so; also for wide matrices, whose solution is that of
   least norm: it is in the range of A^T. */
static void consistent_systems_meet_rtol(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 4; k++) {
        const int64_t m = k < 2 ? ROWS : COLUMNS, n = k < 2 ? COLUMNS : ROWS;
        oracle_csr a = dense_random(m, n, 7, 1.0);
        double *ones = random_values(n, 9, 0.5, 1.0), b[ROWS] = {0.0}, x[ROWS] = {0.0};
        tess_solve_options options = solve_options(kinds[k % 2]);
        tess_solve_result result;

        for (int64_t i = 0; i < m; i++) {
            for (int64_t l = a.row_ptr[i]; l < a.row_ptr[i + 1]; l++) {
                b[i] += a.val[l] * ones[a.col_ind[l]];
            }
        }
        options.rtol = 1e-10;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        if (m > n) { assert_at_most(relative_distance(x, ones, n), 1e-8); }
        oracle_free(&a);
        free(ones);
    }
    tess_context_destroy(ctx);
}

/* Columns 0 and 1 alike: of all solutions, from 0, the one with equal elements (least norm). And a column of zeros,
   whose element stays. */
static void rank_deficient_systems_have_solutions(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 4; k++) {
        oracle_csr a = dense_random(ROWS, COLUMNS, 11, 1.0);
        double *b = random_values(ROWS, 4, -1.0, 1.0), x[COLUMNS] = {0.0};
        tess_solve_options options = solve_options(kinds[k % 2]);
        tess_solve_result result;

        for (int64_t i = 0; i < ROWS; i++) {
            a.val[i * COLUMNS + 1] = a.val[i * COLUMNS];
            a.val[i * COLUMNS + 2] = 0.0;
        }
        options.rtol = 1e-11;
        options.precond.kind = k & 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        assert_at_most(fabs(x[0] - x[1]), 1e-9);
        assert_true(x[2] == 0.0 && x[0] != 0.0);
        oracle_free(&a);
        free(b);
    }
    tess_context_destroy(ctx);
}

/* Columns of norms over twelve decades: scaled, the matrix is as good as without, and takes about as many iterations.
 */
static void scaling_evens_columns_out(void **state)
{
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 0.25);
    double *b = random_values(ROWS, 4, -1.0, 1.0), exact[COLUMNS];
    tess_context *ctx = open_cpu(1);

    (void)state;
    solve_normal_equations(&a, b, exact);
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]);
        double x[COLUMNS] = {0.0}, y[COLUMNS] = {0.0};
        tess_solve_result scaled, plain;

        options.rtol = 1e-14;
        options.max_iterations = 400;
        plain = solve_rectangular(ctx, &a, &options, b, y);
        options.precond.kind = TESS_PRECOND_JACOBI;
        scaled = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(scaled.reason, TESS_REASON_LEAST_SQUARES);
        assert_int_equal(scaled.precond.kind, TESS_PRECOND_JACOBI);
        assert_true(scaled.iterations <= 3 * COLUMNS && 2 * scaled.iterations < plain.iterations);
        assert_at_most(relative_distance(x, exact, COLUMNS), relative_distance(y, exact, COLUMNS) + 1e-6);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* A = (1, 1)^T, b = (1, 0): x = 1/2, r = (1/2, -1/2), A^T r = 0, all exact. What remains is the bound of r's last
   rounding, u ||A||_F ||r||: a tolerance of 2 u is met, one of 0 is not, and the solve ends. */
static void exact_solutions_are_proved_to_two_roundings(void **state)
{
    oracle_csr a = dense_random(2, 1, 3, 1.0);
    const double b[2] = {1.0, 0.0};
    tess_context *ctx = open_cpu(1);

    (void)state;
    a.val[0] = a.val[1] = 1.0;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]);
        double x[1] = {0.5};
        tess_solve_result result;

        options.rtol = 0.0;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_true(result.reason == TESS_REASON_STAGNATION && result.iterations == 0);
        options.rtol = DBL_EPSILON;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        assert_at_most(result.normal_residual_bound, 0x1.01p-53 * sqrt(2.0) * sqrt(0.5));
        assert_int_equal(result.iterations, 0);
        assert_true(result.normal_residual_norm == 0.0 && x[0] == 0.5);
        x[0] = 0.5 + 0x1p-40; /* no solution: ||A^T r|| = 2^-39 */
        options.max_iterations = 0;
        options.rtol = 0.0;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_true(fabs(result.normal_residual_norm - 0x1p-39) <= result.normal_residual_bound);
        options.rtol = 1e-11; /* 2^-39 is 1.8e-12, ||A||_F ||r|| is 1 */
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        options.rtol = 1e-12;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Values in FP32 are enough for a tolerance of 1e-5. For 1e-12 the guard goes on in FP64; without it the claim fails.
 */
static void low_precision_is_repaired(void **state)
{
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    double *b = random_values(ROWS, 4, -1.0, 1.0), exact[COLUMNS];
    tess_context *ctx = open_cpu(1);

    (void)state;
    solve_normal_equations(&a, b, exact);
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]);
        double x[COLUMNS] = {0.0};
        tess_solve_result result;

        options.storage.precision = TESS_PRECISION_FP32;
        options.rtol = 1e-5;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_true(result.reason == TESS_REASON_LEAST_SQUARES && !result.escalated);
        assert_int_equal(result.storage.precision, TESS_PRECISION_FP32);
        memset(x, 0, sizeof x);
        options.rtol = 1e-12;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_true(result.reason == TESS_REASON_LEAST_SQUARES && result.escalated);
        assert_int_equal(result.storage.precision, TESS_PRECISION_FP64);
        assert_at_most(relative_distance(x, exact, COLUMNS), 1e-10);
        memset(x, 0, sizeof x);
        options.guard = TESS_GUARD_REPORT;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_true(result.reason == TESS_REASON_FALSE_CONVERGENCE && !result.converged);
        assert_at_most(relative_distance(x, exact, COLUMNS), 1e-5);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* One cycle: the estimate of ||b - A x|| is that of x, to the rounding of the recurrences, in each iteration. */
static void estimates_are_those_of_x(void **state)
{
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    double *b = random_values(ROWS, 4, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 30; k++) {
        tess_solve_options options = solve_options(kinds[k % 2]);
        double x[COLUMNS] = {0.0};
        tess_solve_result result;

        options.rtol = 1e-14;
        options.max_iterations = 1 + k / 2;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.iterations, options.max_iterations);
        assert_at_most(fabs(result.estimated_residual_norm / result.residual_norm - 1.0), 1e-12);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Two columns that differ by less than 8 bits hold: what solves the stored system is far from solving A x = b. The
   guard on `report` returns it, on `repair` nothing worse than the start. */
static void nothing_worse_than_the_start_comes_back(void **state)
{
    tess_context *ctx = open_cpu(1);
    int worse = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        oracle_csr a = dense_random(8, 2, seed, 1.0);
        double *b = random_values(8, 100 + seed, -1.0, 1.0);

        for (int64_t i = 0; i < 8; i++) {
            a.val[2 * i + 1] = a.val[2 * i] * (1.0 + 0.05 * b[i]);
        }
        for (int guard = TESS_GUARD_REPAIR; guard <= TESS_GUARD_REPORT; guard++) {
            tess_solve_options options = solve_options(kinds[seed % 2]);
            double x[2] = {0.0};
            tess_solve_result result;

            options.storage.precision = TESS_PRECISION_E5M2;
            options.guard = (tess_guard)guard;
            options.rtol = 1e-9;
            options.max_iterations = 2;
            result = solve_rectangular(ctx, &a, &options, b, x);
            worse += result.residual_norm > result.rhs_norm;
            if (guard == TESS_GUARD_REPAIR) { assert_true(result.residual_norm <= result.rhs_norm); }
        }
        oracle_free(&a);
        free(b);
    }
    assert_true(worse > 0);
    tess_context_destroy(ctx);
}

/* One column of values about half of the least number of e4m3, 2^-9: 0.51 and 0.49 of it are stored as 1 and 0 of it.
   With b = (1, -1.1, ...) the stored column points the other way, A^T b < 0 < stored(A)^T b, and its solution has a
   larger residual than 0 has. What comes back is the start. */
static void a_good_start_is_kept(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 2; k++) {
        oracle_csr a = oracle_open(8, 1);
        double b[8], x[1] = {0.0};
        tess_solve_options options = solve_options(kinds[k]);
        tess_solve_result result;

        for (int64_t i = 0; i < 8; i++) {
            oracle_push(&a, 0, ldexp(i % 2 == 0 ? 0.51 : 0.49, -9));
            oracle_end_row(&a, i);
            b[i] = i % 2 == 0 ? 1.0 : -1.1;
        }
        options.storage.precision = TESS_PRECISION_E4M3;
        options.rtol = 1e-12;
        options.max_iterations = 1;
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.iterations, 1);
        assert_true(x[0] == 0.0);
        assert_true(result.residual_norm <= result.rhs_norm);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* Formats and policies that store A store A^T as well. */
static void formats_serve(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_ELLR, TESS_FORMAT_SELL, TESS_FORMAT_SPLIT,
                                          TESS_FORMAT_AUTO};
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    double *b = random_values(ROWS, 4, -1.0, 1.0), exact[COLUMNS];
    tess_context *ctx = open_cpu(2);

    (void)state;
    solve_normal_equations(&a, b, exact);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        tess_solve_options options = solve_options(TESS_SOLVER_LSQR);
        double x[COLUMNS] = {0.0};
        tess_solve_result result;

        options.storage.format = formats[f];
        if (formats[f] == TESS_FORMAT_SPLIT) {
            options.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
            options.storage.policy.parameter = 0.1;
        }
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        assert_at_most(relative_distance(x, exact, COLUMNS), 1e-8);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_are_those_of_the_normal_equations),
        cmocka_unit_test(consistent_systems_meet_rtol),
        cmocka_unit_test(rank_deficient_systems_have_solutions),
        cmocka_unit_test(scaling_evens_columns_out),
        cmocka_unit_test(exact_solutions_are_proved_to_two_roundings),
        cmocka_unit_test(low_precision_is_repaired),
        cmocka_unit_test(estimates_are_those_of_x),
        cmocka_unit_test(nothing_worse_than_the_start_comes_back),
        cmocka_unit_test(a_good_start_is_kept),
        cmocka_unit_test(formats_serve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
