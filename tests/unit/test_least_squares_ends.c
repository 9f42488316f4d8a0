/* SPDX-License-Identifier: Apache-2.0 */
/* LSQR and LSMR: limits, requests to cancel, NaN, new values, requests that cannot be met. */
#include <tessera/advise.h>
#include <tessera/estimate.h>

#include "support/least_squares.h"

static const tess_solver_kind kinds[] = {TESS_SOLVER_LSQR, TESS_SOLVER_LSMR};

static int stop_at_three(void *user, const tess_progress *progress)
{
    (void)user;
    return progress->iteration == 3;
}

/* Limits, requests to cancel, NaN, b = 0, and a start that is the solution. A failed solve returns nothing worse than
   the start. */
static void other_ends_have_their_reasons(void **state)
{
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    double *b = random_values(ROWS, 4, -1.0, 1.0), zero[ROWS] = {0.0}, exact[COLUMNS];
    tess_context *ctx = open_cpu(1);

    (void)state;
    solve_normal_equations(&a, b, exact);
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]), other = options;
        double x[COLUMNS] = {0.0};
        tess_solve_result result;

        other.max_iterations = 2;
        result = solve_rectangular(ctx, &a, &other, b, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_true(result.iterations == 2 && result.history_length == 3 && result.residual_norm < result.rhs_norm);
        other = options;
        other.monitor = stop_at_three;
        memset(x, 0, sizeof x);
        result = solve_rectangular(ctx, &a, &other, b, x);
        assert_int_equal(result.reason, TESS_REASON_CANCELLED);
        assert_int_equal(result.iterations, 3);
        result = solve_rectangular(ctx, &a, &options, zero, x);
        assert_true(result.converged && x[0] == 0.0 && result.iterations == 0);
        memcpy(x, exact, sizeof x);
        result = solve_rectangular(ctx, &a, &options, b, x);
        assert_true(result.reason == TESS_REASON_LEAST_SQUARES && result.iterations == 0);
        assert_true(same_bits(x, exact, COLUMNS));
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* One handle: new values are taken, NaN among them, and the solve after that is clean. The bits repeat. */
static void new_values_are_taken(void **state)
{
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    double *b = random_values(ROWS, 4, -1.0, 1.0), x[4][COLUMNS] = {{0.0}};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *vb = NULL, *vx = NULL;

    (void)state;
    assert_ok(ctx, tess_vector_create(ctx, ROWS, TESS_PRECISION_FP64, &vb));
    assert_ok(ctx, tess_vector_create(ctx, COLUMNS, TESS_PRECISION_FP64, &vx));
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]);
        tess_solver *solver = NULL;

        options.precond.kind = TESS_PRECOND_JACOBI;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int round = 0; round < 4; round++) {
            tess_solve_result result;

            for (int64_t i = 0; i < a.nnz; i++) {
                a.val[i] *= round == 1 ? 2.0 : round == 2 ? 0.5 : 1.0;
            }
            if (round == 1 || round == 2) {
                const double kept = a.val[5];

                if (round == 1) { a.val[5] = (double)NAN; }
                assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
                a.val[5] = kept;
            }
            assert_ok(ctx, tess_vector_fill(vx, 0.0));
            tess_solve_result_init(&result);
            assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
            assert_int_equal(result.reason, round == 1 ? TESS_REASON_NAN_OR_INF : TESS_REASON_LEAST_SQUARES);
            assert_ok(ctx, tess_vector_get(vx, x[round], TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
        assert_true(same_bits(x[0], x[2], COLUMNS) && same_bits(x[0], x[3], COLUMNS));
        tess_solver_destroy(solver);
    }
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* By the solve, and by the questions about one. */
static void refuse(tess_context *ctx, const tess_matrix *m, const tess_solve_options *options, tess_status status,
                   const char *words)
{
    tess_solver *solver = NULL;
    tess_solve_estimate estimate;
    tess_advice advice;
    char message[sizeof tess_context_last_error(ctx)->message];

    assert_int_equal(tess_solver_create(m, options, &solver), status);
    assert_null(solver);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, words));
    assert_true(tess_context_last_error(ctx)->hint[0] != '\0');
    memcpy(message, tess_context_last_error(ctx)->message, sizeof message);
    tess_advice_init(&advice);
    assert_int_equal(tess_advise(m, options, &advice), status);
    assert_string_equal(tess_context_last_error(ctx)->message, message);
    tess_solve_estimate_init(&estimate);
    assert_int_equal(tess_solve_estimate_memory(m, options, &estimate), status);
    assert_string_equal(tess_context_last_error(ctx)->message, message);
}

/* Of a matrix that is not square, an automatic solve is one of least squares. */
static void what_it_cannot_do_is_refused(void **state)
{
    static const tess_solver_kind asked[] = {TESS_SOLVER_LSQR, TESS_SOLVER_LSMR, TESS_SOLVER_AUTO};
    oracle_csr a = dense_random(ROWS, COLUMNS, 3, 1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_solve_options options = solve_options(asked[k]), other = options;

        other.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "no preconditioner but jacobi");
        other = options;
        other.precond.kind = TESS_PRECOND_AMG;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "no preconditioner but jacobi");
        other = options;
        other.precond.direct.memory_limit = 1024;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "--factor-memory");
        other = options;
        other.stop_norm = TESS_STOP_NORM_ROWS;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "--stop-norm");
        other = options;
        other.accuracy.forward = 1e-6;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "--accuracy");
        other = options;
        other.scale = TESS_SCALING_MAX_PRODUCT;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "--scale");
        other = options;
        other.engine = TESS_ENGINE_GRAPH;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "graph");
        other = options;
        other.cg.recurrence = TESS_RECURRENCE_PREDICT_AND_RECOMPUTE;
        refuse(ctx, m, &other, TESS_INVALID_ARGUMENT, "recurrence");
        other = options;
        other.solver = TESS_SOLVER_GMRES;
        refuse(ctx, m, &other, TESS_DIMENSION_MISMATCH, "60 by 20");
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_ends_have_their_reasons),
        cmocka_unit_test(new_values_are_taken),
        cmocka_unit_test(what_it_cannot_do_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
