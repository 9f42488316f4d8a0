/* SPDX-License-Identifier: Apache-2.0 */
/* The Jacobi iteration to a tolerance: convergence, repair, handles that serve many solves, the monitor. */
#include "support/jacobi.h"
#include "support/solve.h"
#include "support/sweep.h"

static const request_case requests[] = {{TESS_FORMAT_CSR, NULL, TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_CSR, "fp32,fp64", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_ELLR, "fp32,mixed", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_COMPOSITE, NULL, TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_COMPOSITE, "bf16,fp32,fp64", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_COMPOSITE, "fp16,mixed,fp64", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_COMPOSITE, "mixed", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_COMPOSITE, "fp32", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_COMPOSITE, "fp16", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_COMPOSITE, "fp64,fp32,fp64", TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_SPLIT, NULL, TESS_GRANULARITY_ROW},
                                        {TESS_FORMAT_SPLIT, "mixed,mixed", TESS_GRANULARITY_ENTRY}};
enum { REQUESTS = sizeof requests / sizeof *requests };

static void check_convergence(tess_context *ctx, const oracle_csr *a, const request_case *c)
{
    tess_solve_options options = jacobi_options(c->format, c->schedule);
    double *b = random_values(a->nrows, 7, -1.0, 1.0), *x = random_values(a->nrows, 9, -1.0, 1.0);
    tess_solve_result result;
    int64_t sum = 0;

    options.storage.policy.granularity = c->granularity;
    if (c->format == TESS_FORMAT_ELLR) { options.storage.slices.max_padding = 100.0; }
    options.rtol = 1e-11; /* below the accuracy of FP32 at once */
    options.max_iterations = 10000;
    result = solve_once(ctx, a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_true(result.converged);
    check_honest(a, b, x, &options, &result);
    for (int i = 0; i < result.jacobi.schedule.count; i++) {
        sum += result.jacobi.schedule.entry[i].iterations;
    }
    assert_int_equal(sum, result.iterations);
    free(b);
    free(x);
}

static void dominant_systems_converge(void **state)
{
    oracle_csr matrices[] = {uneven_matrix(),
                             oracle_laplace2d(12),
                             oracle_convection2d(12, 4.0),
                             oracle_tridiagonal(100, -1.0, 2.5, -0.7),
                             dominant_matrix(300, 60, 1.1, 0, 4),
                             oracle_tridiagonal(1, 0.0, 3.0, 0.0)};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        for (int c = 0; c < REQUESTS; c++) {
            check_convergence(ctx, &matrices[m], &requests[c]);
        }
        oracle_free(&matrices[m]);
    }
    tess_context_destroy(ctx);
}

/* Its residual stays the same for n iterations and then is zero: this is not stagnation. */
static void a_triangular_system_is_given_its_time(void **state)
{
    oracle_csr a = oracle_tridiagonal(600, -1.0, 1.0, 0.0);
    tess_solve_options options = jacobi_options(TESS_FORMAT_CSR, "fp64");
    double *b = test_allocate(600, sizeof *b), *x = test_allocate(600, sizeof *x);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;

    (void)state;
    for (int i = 0; i < 600; i++) {
        b[i] = i == 0;
        x[i] = 0.0;
    }
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_true(result.iterations >= 600 && result.iterations <= 640);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

static void low_precisions_do_most_of_the_work(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, "fp32,fp64");
    double *b = random_values(400, 7, -1.0, 1.0), *x = test_allocate(400, sizeof *x);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;

    (void)state;
    memset(x, 0, 400 * sizeof *x);
    options.rtol = 1e-5;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_true(result.jacobi.schedule.entry[0].iterations > 9 * result.jacobi.schedule.entry[1].iterations);
    assert_int_equal(result.refinements, 0);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* A quarter of the rows have small values beside the diagonal: those are low, and what they round changes x little. So
   FP32 reaches 1e-7, mixed steps less, and each step goes on as long as the residual falls. */
static void each_step_does_its_part(void **state)
{
    static const char *const schedule[] = {"fp64", "fp32,fp64", "fp32,mixed,fp64"};
    oracle_csr a = oracle_laplace2d(20);
    double *b = test_allocate(400, sizeof *b), *x = test_allocate(400, sizeof *x);
    tess_solve_result result[3];
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t i = 0; i < 400; i++) {
        b[i] = 0.0; /* A times ones, so that the entries of x are of one size */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] != i && i < 100) { a.val[k] *= 1e-3 / 3.0; }
        }
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            b[i] += a.val[k];
        }
    }
    for (int c = 0; c < 3; c++) {
        tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, schedule[c]);

        options.rtol = 1e-13;
        options.max_iterations = 10000;
        options.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
        options.storage.policy.parameter = 0.1;
        memset(x, 0, 400 * sizeof *x);
        result[c] = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result[c].reason, TESS_REASON_RTOL);
        check_honest(&a, b, x, &options, &result[c]);
    }
    assert_true(result[2].storage.nonzeros_per_precision[TESS_PRECISION_FP32] > a.nnz / 8);
    assert_true(result[2].storage.nonzeros_per_precision[TESS_PRECISION_FP64] > a.nnz / 8);
    assert_true(result[2].jacobi.schedule.entry[1].iterations >= 16);
    assert_true(result[2].jacobi.schedule.entry[2].iterations + 16 <= result[1].jacobi.schedule.entry[1].iterations);
    assert_true(result[2].iterations <= result[0].iterations + 2 * 3 * 32);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* A schedule with only FP32 ends near 1e-7; the guard does the rest, again in FP32 as long as that helps. */
static void the_guard_mends_what_low_precisions_leave(void **state)
{
    oracle_csr a = uneven_matrix();
    static const char *const schedule[] = {"fp32", "mixed"};
    double *b = random_values(JACOBI_ROWS, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int c = 0; c < 2; c++) {
        tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, schedule[c]);
        double x[JACOBI_ROWS] = {0.0};
        tess_solve_result result;

        options.rtol = 1e-13;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.refinements >= 1);
        options.guard = TESS_GUARD_REPORT;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_false(result.converged);
        assert_int_equal(result.refinements, 0);
        assert_int_equal(result.escalated, 0);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* All values are Inf in FP32 and worse in FP16. */
static void values_beyond_fp32_are_left_to_fp64(void **state)
{
    static const request_case cases[] = {{TESS_FORMAT_COMPOSITE, "fp32,mixed,fp64", TESS_GRANULARITY_ROW},
                                         {TESS_FORMAT_COMPOSITE, "fp32", TESS_GRANULARITY_ROW},
                                         {TESS_FORMAT_COMPOSITE, "fp16,fp32", TESS_GRANULARITY_ROW},
                                         {TESS_FORMAT_SPLIT, NULL, TESS_GRANULARITY_ENTRY}};
    oracle_csr a = uneven_matrix();
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1e100;
    }
    for (int c = 0; c < 4; c++) {
        check_convergence(ctx, &a, &cases[c]);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Rows of a dominant matrix turned by one, and scaled: without the transformation nothing stands on the diagonal. */
static void transformed_systems_keep_count_of_iterations(void **state)
{
    oracle_csr dominant = dominant_matrix(JACOBI_ROWS, JACOBI_ROW, 3.0, 3, 11),
               a = oracle_open(JACOBI_ROWS, JACOBI_ROWS);
    double *b = random_values(JACOBI_ROWS, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t i = 0; i < JACOBI_ROWS; i++) {
        int64_t r = (i + 1) % JACOBI_ROWS;

        for (int64_t k = dominant.row_ptr[r]; k < dominant.row_ptr[r + 1]; k++) {
            oracle_push(&a, dominant.col_ind[k], dominant.val[k]);
        }
        oracle_end_row(&a, i);
    }
    for (int fixed = 0; fixed < 3; fixed++) {
        tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, fixed == 2 ? "fp32:5,fp64:6" : NULL);
        double x[JACOBI_ROWS] = {0.0};
        tess_solve_result result;
        int64_t sum = 0;

        options.scale = TESS_SCALING_MAX_PRODUCT;
        if (fixed == 1) { options.rtol = 0.0; }
        if (fixed > 0) { options.max_iterations = 50; }
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, fixed ? TESS_REASON_ITERATIONS : TESS_REASON_RTOL);
        if (fixed > 0) { assert_int_equal(result.iterations, fixed == 1 ? 50 : 11); }
        for (int i = 0; i < result.jacobi.schedule.count; i++) {
            sum += result.jacobi.schedule.entry[i].iterations;
        }
        assert_int_equal(sum, result.iterations);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&dominant);
    oracle_free(&a);
    free(b);
}

/* ---- one set-up for many ---- */

static void a_handle_serves_many_sides_and_values(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_COMPOSITE, TESS_FORMAT_SPLIT};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int f = 0; f < 3; f++) {
        oracle_csr a = uneven_matrix();
        tess_solve_options options = jacobi_options(formats[f], NULL);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_solver *solver = NULL;

        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int round = 0; round < 4; round++) {
            double *b = random_values(JACOBI_ROWS, 20 + (uint64_t)round, -1.0, 1.0), x[JACOBI_ROWS] = {0.0},
                   y[JACOBI_ROWS] = {0.0};
            tess_solve_result result, fresh;

            if (round == 2) {
                for (int64_t k = 0; k < a.nnz; k++) {
                    a.val[k] *= 0.37;
                }
                assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            }
            result = solve_with(solver, ctx, JACOBI_ROWS, b, x);
            fresh = solve_once(ctx, &a, &options, b, y);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_int_equal(result.iterations, fresh.iterations);
            assert_true(same_bits(x, y, JACOBI_ROWS));
            check_honest(&a, b, x, &options, &result);
            result = solve_with(solver, ctx, JACOBI_ROWS, b, x); /* from the solution */
            assert_int_equal(result.iterations, 0);
            for (int i = 0; i < result.jacobi.schedule.count; i++) {
                assert_int_equal(result.jacobi.schedule.entry[i].iterations, 0);
            }
            free(b);
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void trivial_systems_end_at_once(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(JACOBI_ROWS, 7, -1.0, 1.0), zero[JACOBI_ROWS] = {0.0}, x[JACOBI_ROWS];
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, NULL);
    tess_solve_result result;

    (void)state;
    memcpy(x, b, sizeof x);
    result = solve_once(ctx, &a, &options, zero, x);
    assert_true(result.converged);
    assert_int_equal(result.iterations, 0);
    assert_true(same_bits(x, zero, JACOBI_ROWS));
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    result = solve_once(ctx, &a, &options, b, x); /* from the solution */
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.iterations, 0);
    options.max_iterations = 0;
    result = solve_once(ctx, &a, &options, b, (memset(x, 0, sizeof x), x));
    assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
    assert_int_equal(result.iterations, 0);
    options.max_iterations = 1;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
    assert_int_equal(result.iterations, 1);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* ---- the monitor ---- */

typedef struct watcher {
    int calls, cancel_at;
    int64_t last;
} watcher;

static int watch(void *user, const tess_progress *progress)
{
    watcher *w = user;

    assert_true(progress->iteration > w->last);
    assert_true(progress->tolerance >= 0.0 && progress->residual_norm > 0.0);
    w->last = progress->iteration;
    w->calls += 1;
    return w->calls == w->cancel_at;
}

static void the_monitor_sees_progress_and_cancels(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(400, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        for (int cancel_at = 0; cancel_at <= 4; cancel_at += 2) {
            watcher w = {0, cancel_at, 0};
            tess_solve_options options = jacobi_options(TESS_FORMAT_COMPOSITE, NULL);
            double x[400] = {0.0};
            tess_solve_result result;

            options.monitor = watch;
            options.monitor_user = &w;
            if (fixed) { options.rtol = 0.0; }
            result = solve_once(ctx, &a, &options, b, x);
            assert_true(w.calls >= 4 || cancel_at > 0);
            if (cancel_at > 0) {
                assert_int_equal(result.reason, TESS_REASON_CANCELLED);
                assert_int_equal(w.calls, cancel_at);
                assert_int_equal(result.iterations, w.last);
                assert_true(result.relative_residual < 1.0);
            }
            check_honest(&a, b, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dominant_systems_converge),
        cmocka_unit_test(a_triangular_system_is_given_its_time),
        cmocka_unit_test(each_step_does_its_part),
        cmocka_unit_test(low_precisions_do_most_of_the_work),
        cmocka_unit_test(the_guard_mends_what_low_precisions_leave),
        cmocka_unit_test(values_beyond_fp32_are_left_to_fp64),
        cmocka_unit_test(transformed_systems_keep_count_of_iterations),
        cmocka_unit_test(a_handle_serves_many_sides_and_values),
        cmocka_unit_test(trivial_systems_end_at_once),
        cmocka_unit_test(the_monitor_sees_progress_and_cancels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
