/* SPDX-License-Identifier: Apache-2.0 */
/* Solves of a reordered and scaled system: the original system's residual decides, x comes back in the original's
 * order. */
#include <tessera/automatic.h>

#include "support/precond_of.h"
#include "support/product.h"
#include "support/solve.h"

enum { K = 14, N = K * K };

/* Row i of the result is row (i + shift) mod n of A times 2^exponent, with exponents uniform in (-spread, spread);
   columns likewise where `both`. A cyclic shift by half of a band leaves a diagonal of zeros. */
static oracle_csr disguised(const oracle_csr *a, int64_t shift, double spread, bool both)
{
    oracle_csr b = oracle_open(a->nrows, a->ncols);
    double *rows = random_values(a->nrows, 3, -spread, spread), *columns = random_values(a->ncols, 4, -spread, spread);

    for (int64_t i = 0; i < a->nrows; i++) {
        int64_t r = (i + shift) % a->nrows;

        for (int64_t k = a->row_ptr[r]; k < a->row_ptr[r + 1]; k++) {
            double scale = exp2(rows[i] + (both ? columns[a->col_ind[k]] : 0.0));

            oracle_push(&b, a->col_ind[k], a->val[k] * scale);
        }
        oracle_end_row(&b, i);
    }
    free(rows);
    free(columns);
    return b;
}

static tess_solve_options transformed_options(tess_scaling scale, tess_reordering reorder)
{
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);

    options.scale = scale;
    options.reorder = reorder;
    return options;
}

/* A diagonally dominant matrix whose rows are out of order: without the matching there is no diagonal to divide by. */
static void matching_finds_the_diagonal(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0), b = disguised(&a, N / 2, 0.0, false);
    tess_solve_options options = transformed_options(TESS_SCALING_NONE, TESS_REORDERING_NONE);
    double *rhs = random_values(N, 3, -1.0, 1.0), x[N] = {0.0};
    tess_solve_result result;
    tess_context *ctx = open_cpu(2);

    (void)state;
    options.precond = precond_of(TESS_PRECOND_BLOCK_JACOBI, 1);
    result = solve_once(ctx, &b, &options, rhs, x);
    assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
    assert_int_equal(result.scale, TESS_SCALING_NONE);
    options.scale = TESS_SCALING_MAX_PRODUCT;
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &b, &options, rhs, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.scale, TESS_SCALING_MAX_PRODUCT);
    assert_int_equal(result.reorder, TESS_REORDERING_NONE);
    check_honest(&b, rhs, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
    free(rhs);
}

/* Rows and columns scaled over 12 orders of magnitude: without a transform the solver does not converge. */
static void wide_range_is_scaled_away(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0), b = disguised(&a, 3, 10.0, true);
    tess_solve_options options = transformed_options(TESS_SCALING_NONE, TESS_REORDERING_NONE);
    double *rhs = random_values(N, 3, -1.0, 1.0), x[N] = {0.0};
    tess_solve_result plain, scaled;
    tess_context *ctx = open_cpu(1);

    (void)state;
    plain = solve_once(ctx, &b, &options, rhs, x);
    check_honest(&b, rhs, x, &options, &plain);
    assert_false(plain.converged);
    options.scale = TESS_SCALING_MAX_PRODUCT;
    memset(x, 0, sizeof x);
    scaled = solve_once(ctx, &b, &options, rhs, x);
    check_honest(&b, rhs, x, &options, &scaled);
    assert_true(scaled.converged && scaled.iterations < 300);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
    free(rhs);
}

static void every_combination_is_honest(void **state)
{
    oracle_csr a = oracle_convection2d(K, 0.5), b = disguised(&a, 0, 2.0, true);
    double *rhs = random_values(N, 5, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int c = 0; c < 2 * 2 * 3 * 3; c++) {
        tess_solve_options options = transformed_options(c & 1 ? TESS_SCALING_MAX_PRODUCT : TESS_SCALING_NONE,
                                                         c & 2 ? TESS_REORDERING_RCM : TESS_REORDERING_NONE);
        double x[N] = {0.0};
        tess_solve_result result;

        options.solver = TESS_SOLVER_AUTO;
        options.precond.kind = (tess_precond_kind)(c / 4 % 3);
        options.storage.precision = (tess_precision)(c / 12);
        result = solve_once(ctx, &b, &options, rhs, x);
        check_honest(&b, rhs, x, &options, &result);
        assert_true(result.converged);
        assert_int_equal(result.solver, TESS_SOLVER_BICGSTAB);
        assert_int_equal(result.precond.kind, options.precond.kind);
        assert_int_equal(result.scale, options.scale);
        assert_int_equal(result.reorder, options.reorder);
        assert_int_equal(result.storage.nonzeros_per_precision[options.storage.precision], b.nnz);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
    free(rhs);
}

/* Reordering keeps symmetry: AUTO takes CG, and as many iterations as without, to the rounding of sums. */
static void rcm_keeps_cg(void **state)
{
    oracle_csr a = oracle_laplace2d(K);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double *rhs = random_values(N, 6, -1.0, 1.0), x[N] = {0.0}, y[N] = {0.0};
    tess_solve_result plain, reordered;
    tess_context *ctx = open_cpu(1);

    (void)state;
    plain = solve_once(ctx, &a, &options, rhs, x);
    options.reorder = TESS_REORDERING_RCM;
    reordered = solve_once(ctx, &a, &options, rhs, y);
    check_honest(&a, rhs, y, &options, &reordered);
    assert_true(reordered.converged && reordered.solver == TESS_SOLVER_CG);
    assert_in_range(reordered.iterations, plain.iterations - 2, plain.iterations + 2);
    assert_int_equal(reordered.refinements, 0);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(rhs);
}

static void guesses_and_trivial_systems(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0), b = disguised(&a, N / 2, 4.0, true);
    tess_solve_options options = transformed_options(TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_RCM);
    double *rhs = random_values(N, 7, -1.0, 1.0), x[N] = {0.0}, zero[N] = {0.0};
    tess_solve_result result;
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = sin(i);
    }
    result = solve_once(ctx, &b, &options, rhs, x); /* from a guess that is no good */
    assert_true(result.converged && result.iterations > 0);
    check_honest(&b, rhs, x, &options, &result);
    result = solve_once(ctx, &b, &options, rhs, x); /* from the solution */
    assert_true(result.converged);
    assert_int_equal(result.iterations, 0);
    result = solve_once(ctx, &b, &options, zero, x);
    assert_true(same_bits(x, zero, N) && result.converged && result.residual_norm == 0.0);
    assert_int_equal(result.iterations, 0);
    x[2] = (double)NAN;
    result = solve_once(ctx, &b, &options, rhs, x);
    assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
    free(rhs);
}

/*
 * Half of the rows are 1e-8 of the others: the scaled system weighs them 1e8 times as much, and with rtol 1e-5 it is
 * solved before the other half's equations have begun to matter. Then the estimate is good and the residual is not.
 */
static void original_residual_has_the_last_word(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0);
    tess_solve_options options = transformed_options(TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_NONE);
    double rhs[N], x[N] = {0.0};
    tess_solve_result report, repair;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        rhs[i] = 1.0;
        for (int64_t k = a.row_ptr[i]; i < N / 2 && k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= 1e-8;
        }
    }
    options.rtol = 1e-5;
    options.guard = TESS_GUARD_REPORT;
    report = solve_once(ctx, &a, &options, rhs, x);
    assert_int_equal(report.reason, TESS_REASON_FALSE_CONVERGENCE);
    assert_at_most(report.estimated_relative_residual, options.rtol);
    assert_int_equal(report.refinements, 0);
    check_honest(&a, rhs, x, &options, &report);
    options.guard = TESS_GUARD_REPAIR;
    memset(x, 0, sizeof x);
    repair = solve_once(ctx, &a, &options, rhs, x);
    assert_int_equal(repair.reason, TESS_REASON_RTOL);
    assert_true(repair.refinements >= 1 && repair.iterations > report.iterations);
    check_honest(&a, rhs, x, &options, &repair);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- the options that repeat it ---- */

static tess_solve_result solve_keeping(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options,
                                       const double *rhs, double *x, tess_solve_options *chosen)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_solver *solver = NULL;
    tess_solve_result result;

    assert_ok(ctx, tess_solver_create(matrix, options, &solver));
    result = solve_with(solver, ctx, a->nrows, rhs, x);
    tess_solve_options_init(chosen);
    assert_ok(ctx, tess_solver_chosen_options(solver, chosen));
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    return result;
}

/* The same system in the same way: to the bit. */
static void chosen_options_repeat_the_solve(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0), b = disguised(&a, N / 2, 6.0, true);
    double *rhs = random_values(N, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int c = 0; c < 2 * 2 * 2; c++) {
        tess_solve_options options =
            transformed_options(TESS_SCALING_MAX_PRODUCT, c & 1 ? TESS_REORDERING_RCM : TESS_REORDERING_NONE);
        tess_solve_options chosen, again;
        double x[N] = {0.0}, y[N] = {0.0};
        tess_solve_result first, second;

        options.rtol = 1e-9; /* more than one round */
        options.precond = precond_of(TESS_PRECOND_JACOBI, 1);
        options.stop_norm = c & 2 ? TESS_STOP_NORM_BOTH : TESS_STOP_NORM_AUTO;
        options.return_last = 2;
        options.guard = c & 4 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
        first = solve_keeping(ctx, &b, &options, rhs, x, &chosen);
        assert_int_equal(chosen.scale, options.scale);
        assert_int_equal(chosen.reorder, options.reorder);
        assert_int_equal(chosen.stop_norm, options.stop_norm);
        assert_int_equal(chosen.return_last, 2);
        assert_int_equal(chosen.guard, options.guard);
        second = solve_keeping(ctx, &b, &chosen, rhs, y, &again);
        assert_true(same_bits(x, y, N) && first.iterations == second.iterations);
        assert_int_equal(first.reason, second.reason);
        assert_int_equal(first.stop_norm, second.stop_norm);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
    free(rhs);
}

/* What solver auto chose for the scaled system, with the norm that decides for it. */
static void choices_keep_the_callers_scaling(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0), b = disguised(&a, N / 2, 6.0, true);
    double *rhs = random_values(N, 3, -1.0, 1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO), chosen;
    const tess_scaling scales[] = {TESS_SCALING_ROWS, TESS_SCALING_SYMMETRIC, TESS_SCALING_MAX_PRODUCT};
    tess_context *ctx = open_cpu(1);

    (void)state;
    options.precond.kind = TESS_PRECOND_AUTO;
    for (int k = 0; k < 3; k++) {
        double x[N] = {0.0};
        tess_solve_result result;

        options.scale = scales[k];
        result = solve_keeping(ctx, &b, &options, rhs, x, &chosen);
        assert_true(result.converged);
        assert_int_equal(chosen.scale, scales[k]);
        if (chosen.solver != TESS_SOLVER_AUTO) { assert_int_equal(chosen.stop_norm, TESS_STOP_NORM_BOTH); }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
    free(rhs);
}

/* ---- limits, history, monitor ---- */

typedef struct record {
    int64_t calls, last_iteration, cancel_at;
    double smallest_tolerance;
    bool monotone;
} record;

static int watch(void *user, const tess_progress *progress)
{
    record *r = user;

    r->calls += 1;
    r->monotone = r->monotone && progress->iteration > r->last_iteration && progress->residual_norm >= 0.0;
    r->last_iteration = progress->iteration;
    r->smallest_tolerance = fmin(r->smallest_tolerance, progress->tolerance);
    return progress->iteration >= r->cancel_at;
}

static void history_and_monitor_run_through_all_rounds(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0);
    tess_solve_options options = transformed_options(TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_RCM);
    record all = {0, 0, INT64_MAX, INFINITY, true}, some = {0, 0, 3, INFINITY, true};
    double rhs[N], x[N] = {0.0};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        rhs[i] = 1.0;
        for (int64_t k = a.row_ptr[i]; i < N / 2 && k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= 1e-8;
        }
    }
    m = make_matrix(ctx, &a);
    options.rtol = 1e-5;
    options.monitor = watch;
    options.monitor_user = &all;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, N, rhs, x);
    assert_true(result.converged && result.refinements >= 1 && all.monotone);
    assert_int_equal(all.calls, result.iterations);
    assert_int_equal(result.history_length, result.iterations + 1);
    assert_at_most(fabs(result.history[0] - result.rhs_norm), 1e-12 * result.rhs_norm);
    assert_true(result.history[result.iterations] == result.estimated_residual_norm);
    for (int64_t i = 0; i < result.history_length; i++) {
        assert_true(isfinite(result.history[i]));
    }
    options.monitor_user = &some;
    assert_ok(ctx, tess_solver_set_limits(solver, &options));
    memset(x, 0, sizeof x);
    result = solve_with(solver, ctx, N, rhs, x);
    assert_int_equal(result.reason, TESS_REASON_CANCELLED);
    assert_in_range(result.iterations, 3, 4);
    check_honest(&a, rhs, x, &options, &result);
    options.monitor = NULL;
    for (int64_t limit = 0; limit < 12; limit++) {
        options.max_iterations = limit;
        options.rtol = 1e-14;
        assert_ok(ctx, tess_solver_set_limits(solver, &options));
        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, N, rhs, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_int_equal(result.iterations, limit);
        assert_int_equal(result.history_length, limit + 1);
        check_honest(&a, rhs, x, &options, &result);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* One iteration solves the scaled system, whose ILU(0) is exact, but not yet the original. What the history has of that
   iteration stays when the next round begins. */
static void history_of_one_iteration_is_kept(void **state)
{
    oracle_csr a = oracle_tridiagonal(N, -1.0, 3.0, -1.5);
    tess_solve_options options = transformed_options(TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_RCM);
    double rhs[N], x[N], first = 0.0;
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        rhs[i] = 1.0 + 1.0 / (double)(i + 3);
        for (int64_t k = a.row_ptr[i]; i < N / 2 && k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= 1e-8;
        }
    }
    m = make_matrix(ctx, &a);
    options.precond.kind = TESS_PRECOND_ILU0;
    options.rtol = 1e-12;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int k = 0; k < 2; k++) {
        options.max_iterations = k == 0 ? 1 : 100;
        assert_ok(ctx, tess_solver_set_limits(solver, &options));
        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, N, rhs, x);
        check_honest(&a, rhs, x, &options, &result);
        assert_int_equal(result.history_length, result.iterations + 1);
        if (k == 0) { first = result.history[1]; }
    }
    assert_true(result.refinements > 0 && result.history[1] == first);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- new values, refusals ---- */

/* The same pattern with values that match otherwise; then values that match nothing. */
static void new_values_are_matched_anew(void **state)
{
    oracle_csr a = oracle_open(3, 3), b;
    const double first[] = {4.0, 1.0, 1.0, 4.0, 1.0, 1.0, 4.0}, second[] = {1.0, 5.0, 5.0, 1.0, 1.0, 1.0, 5.0};
    const double singular[] = {1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0};
    const double rhs[] = {1.0, 2.0, 3.0};
    tess_solve_options options = transformed_options(TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_RCM);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_vector *vb = make_vector(ctx, 3, rhs), *vx = make_zeros(ctx, 3);
    tess_solve_result result;
    double x[3] = {0.0};

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = i > 0 ? i - 1 : 0; j < 3 && j <= i + 1; j++) {
            oracle_push(&a, j, first[a.nnz]);
        }
        oracle_end_row(&a, i);
    }
    b = oracle_copy(&a);
    memcpy(b.val, second, sizeof second);
    m = make_matrix(ctx, &a);
    options.precond.kind = TESS_PRECOND_JACOBI;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, 3, rhs, x);
    assert_true(result.converged);
    assert_ok(ctx, tess_matrix_update_values(m, second, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    memset(x, 0, sizeof x);
    result = solve_with(solver, ctx, 3, rhs, x);
    assert_true(result.converged);
    check_honest(&b, rhs, x, &options, &result);
    assert_ok(ctx, tess_matrix_update_values(m, singular, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_solve_result_init(&result);
    assert_fails(ctx, TESS_SINGULAR, tess_solver_solve(solver, vb, vx, &result));
    assert_ok(ctx, tess_matrix_update_values(m, first, TESS_PRECISION_FP64, TESS_MEMORY_HOST)); /* and recovers */
    memset(x, 0, sizeof x);
    result = solve_with(solver, ctx, 3, rhs, x);
    check_honest(&a, rhs, x, &options, &result);
    assert_true(result.converged);
    tess_solver_destroy(solver);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
}

static int apply_nothing(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    (void)x;
    y[0] = 0.0;
    return 0;
}

static void what_cannot_be_transformed_is_refused(void **state)
{
    const tess_shell_operator shell = {.apply = apply_nothing};
    tess_solve_options options = transformed_options(TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_NONE);
    oracle_csr a = oracle_tridiagonal(4, -1.0, 2.0, -1.0), zeros = oracle_tridiagonal(4, -1.0, 2.0, -1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *own = NULL, *singular = NULL;
    const tess_precond_options jacobi_options = precond_of(TESS_PRECOND_JACOBI, 0);
    tess_precond *jacobi = NULL;
    tess_solver *solver = NULL;

    (void)state;
    zeros.val[0] = zeros.val[1] = 0.0;
    singular = make_matrix(ctx, &zeros);
    assert_ok(ctx, tess_matrix_create_shell(ctx, 4, 4, &shell, &own));
    assert_ok(ctx, tess_precond_create(m, &jacobi_options, &jacobi));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create_with_precond(m, jacobi, &options, &solver));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(own, &options, &solver));
    assert_fails(ctx, TESS_SINGULAR, tess_solver_create(singular, &options, &solver));
    assert_null(solver);
    options.scale = (tess_scaling)7;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    tess_precond_destroy(jacobi);
    tess_matrix_destroy(m);
    tess_matrix_destroy(own);
    tess_matrix_destroy(singular);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matching_finds_the_diagonal),
        cmocka_unit_test(wide_range_is_scaled_away),
        cmocka_unit_test(every_combination_is_honest),
        cmocka_unit_test(rcm_keeps_cg),
        cmocka_unit_test(guesses_and_trivial_systems),
        cmocka_unit_test(original_residual_has_the_last_word),
        cmocka_unit_test(chosen_options_repeat_the_solve),
        cmocka_unit_test(choices_keep_the_callers_scaling),
        cmocka_unit_test(history_and_monitor_run_through_all_rounds),
        cmocka_unit_test(history_of_one_iteration_is_kept),
        cmocka_unit_test(new_values_are_matched_anew),
        cmocka_unit_test(what_cannot_be_transformed_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
