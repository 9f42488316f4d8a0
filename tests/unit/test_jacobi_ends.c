/* SPDX-License-Identifier: Apache-2.0 */
/* The Jacobi iteration where it does not converge: divergence, stagnation, NaN, and requests that cannot be met. */
#include "support/jacobi.h"
#include "support/solve.h"
#include "support/sweep.h"

static void divergence_is_reported(void **state)
{
    static const request_case cases[] = {{TESS_FORMAT_CSR, "fp64", TESS_GRANULARITY_ROW},
                                         {TESS_FORMAT_COMPOSITE, NULL, TESS_GRANULARITY_ROW},
                                         {TESS_FORMAT_COMPOSITE, "fp32", TESS_GRANULARITY_ROW},
                                         {TESS_FORMAT_SPLIT, NULL, TESS_GRANULARITY_ROW}};
    oracle_csr a = oracle_tridiagonal(JACOBI_ROWS, 2.0, 1.0, 2.0);
    double *b = random_values(JACOBI_ROWS, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int c = 0; c < 4; c++) {
        for (int guard = 0; guard < 3; guard++) {
            tess_solve_options options = jacobi_options(cases[c].format, cases[c].schedule);
            double x[JACOBI_ROWS] = {0.0};
            tess_solve_result result;

            options.guard = guard == 0 ? TESS_GUARD_REPAIR : TESS_GUARD_REPORT;
            if (guard == 2) { options.rtol = 0.0; } /* a fixed run of 2,000 overflows or not */
            if (guard == 2) { options.max_iterations = 60; }
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_DIVERGENCE);
            assert_true(result.iterations < 1000);
            assert_at_most(result.relative_residual, 1.0);
            check_honest(&a, b, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void an_overflow_of_a_fixed_run_is_reported(void **state)
{
    oracle_csr a = oracle_tridiagonal(JACOBI_ROWS, 2.0, 1.0, 2.0);
    double *b = random_values(JACOBI_ROWS, 7, -1.0, 1.0), x[JACOBI_ROWS] = {0.0};
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = jacobi_options(TESS_FORMAT_CSR, "fp64");
    tess_solve_result result;

    (void)state;
    options.rtol = 0.0;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
    assert_at_most(result.relative_residual, 1.0); /* x0 is better */
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void nothing_better_than_rounding_is_found(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(JACOBI_ROWS, 7, -1.0, 1.0), x[JACOBI_ROWS] = {0.0};
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, NULL);
    tess_solve_result result;

    (void)state;
    options.rtol = 1e-20;
    options.max_iterations = 100000;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_STAGNATION);
    assert_true(result.iterations < 10000);
    assert_at_most(result.relative_residual, 1e-14);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void rows_without_a_diagonal_are_named(void **state)
{
    oracle_csr a = oracle_open(3, 3), full = oracle_tridiagonal(3, 1.0, 4.0, 1.0);
    double b[] = {1.0, 2.0, 3.0}, x[] = {0.0, 0.0, 0.0};
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, NULL);
    tess_solve_result result;
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        oracle_push(&a, (i + 1) % 3, 1.0);
        oracle_end_row(&a, i);
    }
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
    assert_int_equal(result.iterations, 0);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 1 "));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "max-product"));

    full.val[3] = 0.0; /* of row 2 */
    m = make_matrix(ctx, &full);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, 3, b, x);
    assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 2 "));
    full.val[3] = 4.0;
    assert_ok(ctx, tess_matrix_update_values(m, full.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    result = solve_with(solver, ctx, 3, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(&full, b, x, &options, &result);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&full);
}

static void nan_is_found_and_forgotten(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(JACOBI_ROWS, 7, -1.0, 1.0), x[JACOBI_ROWS] = {0.0}, value = a.val[5], keep = b[4];
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, NULL);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    b[4] = NAN;
    result = solve_with(solver, ctx, JACOBI_ROWS, b, x);
    assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
    b[4] = keep;
    a.val[5] = INFINITY;
    assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    memset(x, 0, sizeof x);
    x[1] = 1.0;
    result = solve_with(solver, ctx, JACOBI_ROWS, b, x);
    assert_false(result.converged);
    a.val[5] = value;
    assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    memset(x, 0, sizeof x);
    result = solve_with(solver, ctx, JACOBI_ROWS, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(&a, b, x, &options, &result);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* ---- requests that cannot be met ---- */

static int copy_vector(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    memcpy(y, x, 3 * sizeof *y);
    return 0;
}

static void wrong_requests_are_refused(void **state)
{
    oracle_csr a = oracle_tridiagonal(3, 1.0, 4.0, 1.0);
    const tess_shell_operator identity = {.apply = copy_vector};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *shell = NULL;
    tess_solve_options o = jacobi_options(TESS_FORMAT_SPLIT, "mixed,fp32");
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, 3, 3, &identity, &shell));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    o = jacobi_options(TESS_FORMAT_SELL, "fp64");
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    o = jacobi_options(TESS_FORMAT_COMPOSITE, "fp64,fp32,fp16,bf16,e4m3");
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    o = jacobi_options(TESS_FORMAT_CSR, "fp64");
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(shell, &o, &solver));
    o.precond.kind = TESS_PRECOND_JACOBI;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    o = jacobi_options(TESS_FORMAT_CSR, "fp64");
    for (int i = 0; i < 3; i++) {
        o.jacobi.omega = i == 0 ? 0.0 : i == 1 ? -1.0 : NAN;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    }
    o = jacobi_options(TESS_FORMAT_CSR, "fp64");
    o.jacobi.schedule.count = 7;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    o.jacobi.schedule.count = 2;
    o.jacobi.schedule.entry[1].what = 17;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    o.jacobi.schedule.entry[1] = (tess_schedule_entry){TESS_MIXED, -1};
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &o, &solver));
    tess_matrix_destroy(shell);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergence_is_reported),
        cmocka_unit_test(an_overflow_of_a_fixed_run_is_reported),
        cmocka_unit_test(nothing_better_than_rounding_is_found),
        cmocka_unit_test(rows_without_a_diagonal_are_named),
        cmocka_unit_test(nan_is_found_and_forgotten),
        cmocka_unit_test(wrong_requests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
