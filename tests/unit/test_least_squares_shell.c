/* SPDX-License-Identifier: Apache-2.0 */
/* LSQR and LSMR with a user's operator: beside the assembled matrix, bounds, and what the operator cannot do. */
#include <float.h>

#include "support/least_squares.h"

static const tess_solver_kind kinds[] = {TESS_SOLVER_LSQR, TESS_SOLVER_LSMR};

/* A matrix as a function. It has no transpose if `no_transpose`, and fails in the call with number `fail_at`. */
typedef struct operator_record {
    const oracle_csr *a;
    bool no_transpose;
    int forward, backward, fail_at;
} operator_record;

static int apply(void *user, tess_operation operation, const double *x, double *y)
{
    operator_record *r = user;
    const oracle_csr *a = r->a;
    const bool transpose = operation == TESS_OP_TRANSPOSE;

    *(transpose ? &r->backward : &r->forward) += 1;
    if (transpose && r->no_transpose) { return 9; }
    if (r->forward + r->backward == r->fail_at) { return 5; }
    memset(y, 0, (size_t)(transpose ? a->ncols : a->nrows) * sizeof *y);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int64_t j = a->col_ind[k];

            if (transpose) { y[j] += a->val[k] * x[i]; }
            if (!transpose) { y[i] += a->val[k] * x[j]; }
        }
    }
    return 0;
}

/* A row of n terms: n u times the sum of |a_ij| |x_j|, at most n u ||A||_F ||x||. */
static int bound(void *user, const double *x, double *out)
{
    const oracle_csr *a = ((const operator_record *)user)->a;
    double squares = 0.0, of_x = 0.0;

    for (int64_t k = 0; k < a->nnz; k++) {
        squares += a->val[k] * a->val[k];
    }
    for (int64_t j = 0; j < a->ncols; j++) {
        of_x += x[j] * x[j];
    }
    *out = (double)a->ncols * DBL_EPSILON * sqrt(squares) * sqrt(of_x);
    return 0;
}

static tess_matrix *make_shell(tess_context *ctx, operator_record *record, bool bounded)
{
    const tess_shell_operator shell = {.apply = apply, .user = record, .error_bound = bounded ? bound : NULL};
    tess_matrix *m = NULL;

    assert_ok(ctx, tess_matrix_create_shell(ctx, record->a->nrows, record->a->ncols, &shell, &m));
    return m;
}

/* From x = 0; *status is that of the solve. */
static tess_solve_result solve_from_zero(tess_context *ctx, tess_solver *solver, const oracle_csr *a, const double *b,
                                         double *x, tess_status *status)
{
    tess_vector *vb = NULL, *vx = NULL;
    tess_solve_result result;

    assert_ok(ctx, tess_vector_create(ctx, a->nrows, TESS_PRECISION_FP64, &vb));
    assert_ok(ctx, tess_vector_create(ctx, a->ncols, TESS_PRECISION_FP64, &vx));
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_vector_fill(vx, 0.0));
    tess_solve_result_init(&result);
    *status = tess_solver_solve(solver, vb, vx, &result);
    assert_ok(ctx, tess_vector_get(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    result.history = NULL;
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    return result;
}

static tess_solve_result solve_shell(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options,
                                     bool bounded, const double *b, double *x)
{
    operator_record record = {.a = a};
    tess_matrix *m = make_shell(ctx, &record, bounded);
    tess_solver *solver = NULL;
    tess_status status = TESS_SUCCESS;
    tess_solve_result result;

    assert_ok(ctx, tess_solver_create(m, options, &solver));
    result = solve_from_zero(ctx, solver, a, b, x, &status);
    assert_int_equal(status, TESS_SUCCESS);
    assert_true(record.forward > result.iterations && record.backward > result.iterations);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    return result;
}

/* m by n, the square one with a diagonal that makes it well conditioned; b = A x for x in [1/2, 1]. */
static oracle_csr make_system(int64_t m, int64_t n, double *b)
{
    oracle_csr a = dense_random(m, n, 7, 1.0);
    double *x = random_values(n, 9, 0.5, 1.0);

    memset(b, 0, (size_t)m * sizeof *b);
    for (int64_t i = 0; i < m; i++) {
        if (m == n) { a.val[i * n + i] += 3.0 * sqrt((double)n); }
        for (int64_t j = 0; j < n; j++) {
            b[i] += a.val[i * n + j] * x[j];
        }
    }
    free(x);
    return a;
}

/* Square, tall and wide: as many iterations as with the assembled matrix, and the same x to rounding. With the
   operator's bound the result is verified, without it it is converged. */
static void consistent_systems_are_as_assembled_ones(void **state)
{
    static const int64_t shapes[3][2] = {{ROWS, ROWS}, {ROWS, COLUMNS}, {COLUMNS, ROWS}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 12; k++) {
        const int64_t m = shapes[k / 4][0], n = shapes[k / 4][1];
        double b[ROWS], x[ROWS] = {0.0}, y[ROWS] = {0.0};
        oracle_csr a = make_system(m, n, b);
        tess_solve_options options = solve_options(kinds[k % 2]);
        tess_solve_result assembled, shell;

        options.rtol = 1e-10;
        assembled = solve_rectangular(ctx, &a, &options, b, x);
        shell = solve_shell(ctx, &a, &options, k & 2, b, y);
        assert_int_equal(assembled.reason, TESS_REASON_RTOL);
        assert_int_equal(shell.reason, TESS_REASON_RTOL);
        assert_int_equal(shell.iterations, assembled.iterations);
        assert_true(shell.iterations > 3);
        assert_true(shell.converged && shell.verified == ((k & 2) != 0));
        assert_true(isnan(shell.normal_residual_bound) && isnan(shell.residual_bound) == !(k & 2));
        /* rounding of some 20 iterations of some 60 terms, times a condition number of some 4 */
        assert_at_most(relative_distance(y, x, n), 4.0 * 60.0 * 20.0 * DBL_EPSILON);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* b not in the range of A: x solves the normal equations, which no bound of the operator's proves. ||A||_F is estimated
   from below, so that a few more iterations may be needed. */
static void least_squares_solutions_are_not_verified(void **state)
{
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    double *b = random_values(ROWS, 4, -1.0, 1.0), exact[COLUMNS], of_x[3];
    tess_context *ctx = open_cpu(1);

    (void)state;
    solve_normal_equations(&a, b, exact);
    for (int k = 0; k < 4; k++) {
        tess_solve_options options = solve_options(kinds[k % 2]);
        double x[COLUMNS] = {0.0}, y[COLUMNS] = {0.0};
        tess_solve_result assembled, shell;

        options.rtol = 1e-12;
        assembled = solve_rectangular(ctx, &a, &options, b, x);
        shell = solve_shell(ctx, &a, &options, k & 2, b, y);
        assert_int_equal(shell.reason, TESS_REASON_LEAST_SQUARES);
        assert_true(shell.converged && !shell.verified && assembled.verified);
        assert_true(shell.iterations >= assembled.iterations && shell.iterations <= assembled.iterations + 2);
        assert_at_most(relative_distance(y, exact, COLUMNS), 1e-10);
        normal_residual_of(&a, b, y, of_x);
        assert_at_most(of_x[0], 2.0 * options.rtol * of_x[1] * of_x[2]);
        assert_true(shell.matrix_norm > 0.5 * of_x[1] && shell.matrix_norm <= of_x[1] * (1.0 + 1e-8));
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* The automatic choice for a shape that is not square: LSMR, without the scaling that needs entries. */
static void the_automatic_choice_is_lsmr(void **state)
{
    double b[ROWS], x[COLUMNS] = {0.0};
    oracle_csr a = make_system(ROWS, COLUMNS, b);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;

    (void)state;
    options.precond.kind = TESS_PRECOND_AUTO;
    result = solve_shell(ctx, &a, &options, false, b, x);
    assert_int_equal(result.solver, TESS_SOLVER_LSMR);
    assert_int_equal(result.precond.kind, TESS_PRECOND_NONE);
    assert_true(result.converged);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void refuse(tess_context *ctx, const tess_matrix *m, const tess_solve_options *options, tess_status status,
                   const char *words)
{
    tess_solver *solver = NULL;

    assert_int_equal(tess_solver_create(m, options, &solver), status);
    assert_null(solver);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, words));
    assert_true(tess_context_last_error(ctx)->hint[0] != '\0');
}

/* Refused before the solve: an operator without transpose, scaled columns, and each other method for such a shape. */
static void what_the_operator_lacks_is_refused(void **state)
{
    static const tess_solver_kind square[] = {TESS_SOLVER_CG,       TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                              TESS_SOLVER_MINRES,   TESS_SOLVER_FGMRES,   TESS_SOLVER_IDR,
                                              TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD, TESS_SOLVER_JACOBI};
    double b[ROWS];
    oracle_csr a = make_system(ROWS, COLUMNS, b);
    operator_record record = {.a = &a};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_shell(ctx, &record, false);

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]);

        record.no_transpose = true;
        refuse(ctx, m, &options, TESS_UNSUPPORTED, "needs the transpose, for which the operator's apply function");
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "error 9"));
        record.no_transpose = false;
        options.precond.kind = TESS_PRECOND_JACOBI;
        refuse(ctx, m, &options, TESS_UNSUPPORTED, "norms of columns");
        options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
        refuse(ctx, m, &options, TESS_INVALID_ARGUMENT, "no preconditioner but jacobi");
    }
    assert_int_equal(record.forward, 0);
    for (size_t k = 0; k < sizeof square / sizeof *square; k++) {
        tess_solve_options options = solve_options(square[k]);

        refuse(ctx, m, &options, TESS_DIMENSION_MISMATCH, "60 by 20");
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Any product may fail: the call says so with the number, and the next solve with the handle is as if nothing was. */
static void failing_functions_end_the_solve(void **state)
{
    double b[ROWS];
    oracle_csr a = make_system(ROWS, COLUMNS, b);
    operator_record record = {.a = &a};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_shell(ctx, &record, false);

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]);
        double clean[COLUMNS], x[COLUMNS];
        const double zero[ROWS] = {0.0};
        tess_solver *solver = NULL;
        tess_status status = TESS_SUCCESS;
        tess_solve_result result = {.iterations = 0};
        int calls = 0;

        record.fail_at = 0;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        record.forward = record.backward = 0;
        solve_from_zero(ctx, solver, &a, b, clean, &status);
        assert_int_equal(status, TESS_SUCCESS);
        calls = record.forward + record.backward;
        assert_true(calls > 8);
        for (int at = 1; at <= calls; at++) {
            record = (operator_record){.a = &a, .fail_at = at};
            solve_from_zero(ctx, solver, &a, b, x, &status);
            assert_int_equal(status, TESS_CALLBACK);
            assert_non_null(strstr(tess_context_last_error(ctx)->message, "error 5"));
            record.fail_at = 0;
            result = solve_from_zero(ctx, solver, &a, b, x, &status);
            assert_true(status == TESS_SUCCESS && result.converged && same_bits(x, clean, COLUMNS));
        }
        assert_true(result.matrix_norm > 0.0);
        result = solve_from_zero(ctx, solver, &a, zero, x, &status); /* no iterations, so no estimate of ||A||_F */
        assert_true(result.converged && result.iterations == 0 && isnan(result.matrix_norm));
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consistent_systems_are_as_assembled_ones),
        cmocka_unit_test(least_squares_solutions_are_not_verified),
        cmocka_unit_test(the_automatic_choice_is_lsmr),
        cmocka_unit_test(what_the_operator_lacks_is_refused),
        cmocka_unit_test(failing_functions_end_the_solve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
