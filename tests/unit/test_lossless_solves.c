/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with matrices that are stored without loss, or with next to none. */
#include "auto/auto.h"
#include "matrix/matrix.h"
#include "support/product.h"
#include "support/solve.h"

/* NULL: the iterations multiply with the matrix as it is, or with that of another system. */
static const tess_matrix *stored_in(const tess_solver *s)
{
    const method_solver *running = solver_running(s);

    return running ? method_look(running).stored : NULL;
}

static void store_without_loss(tess_storage_options *o)
{
    o->format = TESS_FORMAT_TILES;
    o->policy.granularity = TESS_GRANULARITY_BLOCK;
    assert_int_equal(tess_policy_options_parse("lossless", &o->policy), TESS_SUCCESS);
}

/* Storage without loss is no low precision: nothing is there to go back from. */
static void a_solve_has_the_precision_of_fp64(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;
    tess_solve_result result;
    double *b = random_values(a.nrows, 9, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_storage_options lossy;

    (void)state;
    store_without_loss(&options.storage);
    options.rtol = 1e-12;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, a.nrows, b, x);
    assert_true(result.converged);
    assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_E4M3], a.nnz);
    assert_int_equal(result.refinements, 0);
    tess_solver_destroy(solver);
    lossy = options.storage;
    lossy.policy.parameter = 1e-15;
    assert_ok(ctx, tess_matrix_convert(m, &lossy, &stored));
    assert_true(tess_matrix_bounded_loss(stored) == 1e-15);
    assert_false(tess_matrix_is_exact(stored));
    tess_matrix_destroy(stored);
    lossy = options.storage;
    lossy.format = TESS_FORMAT_SPLIT;
    lossy.arithmetic = TESS_ARITHMETIC_FP32;
    assert_ok(ctx, tess_matrix_convert(m, &lossy, &stored));
    assert_false(tess_matrix_is_exact(stored));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

/* A loss of 1e-15 is no more than FP64's own rounding: cycles are as long as those with FP64, although values are in 8
 * bits. */
static void a_negligible_loss_costs_no_cycles(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    double *b = random_values(a.nrows, 9, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int64_t iterations[2] = {0, 0};

        for (int lossy = 0; lossy < 2; lossy++) {
            tess_solve_options options = solve_options(kinds[k]);
            tess_solver *solver = NULL;
            tess_solve_result result;

            store_without_loss(&options.storage);
            options.storage.policy.parameter = lossy ? 1e-15 : 0.0;
            options.rtol = 1e-10;
            memset(x, 0, (size_t)a.nrows * sizeof *x);
            assert_ok(ctx, tess_solver_create(m, &options, &solver));
            result = solve_with(solver, ctx, a.nrows, b, x);
            assert_true(result.converged);
            assert_int_equal(result.refinements, 0);
            assert_false(result.escalated);
            iterations[lossy] = result.iterations;
            tess_solver_destroy(solver);
        }
        assert_int_equal(iterations[0], iterations[1]); /* these values lose nothing */
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

/* ---- rows in one precision ---- */

static void store_in_lossless_rows(tess_storage_options *o)
{
    tess_storage_options_init(o);
    storage_request_lower(TESS_PRECISION_FP32, o);
}

/* On a host: rows in FP32 if they are exact there, else in FP64. The product has the same bits. */
static void lossless_rows_change_no_bit(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 6; k++) {
        const bool large = k >= 3, exact = k % 3 != 2; /* large ones are measured */
        oracle_csr a = oracle_laplace2d(large ? 70 : 9);
        tess_storage_options o;
        tess_matrix *m = NULL, *stored = NULL;
        tess_vector *x_vector = NULL, *y_vector = NULL;
        double *x = random_values(a.ncols, 5, -1.0, 1.0), *y[2];

        for (int64_t e = 0; e < a.nnz && k % 3 == 1; e++) {
            a.val[e] *= 1.0 + 0x1p-20; /* more digits than fp16 has */
        }
        if (!exact) { a.val[a.nnz - 1] = 1.0 + 0x1p-40; }
        m = make_matrix(ctx, &a);
        store_in_lossless_rows(&o);
        o.format = TESS_FORMAT_AUTO;
        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        assert_int_equal(stored->format, TESS_FORMAT_CSR);
        if (!large) { assert_int_equal(stored->precision, exact ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64); }
        if (!exact) { assert_int_equal(stored->precision, TESS_PRECISION_FP64); }
        assert_true(tess_matrix_is_exact(stored));
        for (int side = 0; side < 2; side++) {
            y[side] = test_allocate(a.nrows, sizeof **y);
            x_vector = make_vector(ctx, a.ncols, x);
            y_vector = make_zeros(ctx, a.nrows);
            assert_ok(ctx, tess_matrix_spmv(side == 0 ? m : stored, TESS_OP_NONE, 1.0, x_vector, 0.0, y_vector));
            read_vector(y_vector, y[side]);
            tess_vector_destroy(x_vector);
            tess_vector_destroy(y_vector);
        }
        assert_true(same_bits(y[0], y[1], a.nrows));
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
        free(x);
        free(y[0]);
        free(y[1]);
    }
    tess_context_destroy(ctx);
}

/* Ten iterations are made in FP64, and the rest in FP32. */
static int change_at_10(void *user, const tess_progress *progress)
{
    tess_solver *const solver = *(tess_solver **)user;
    auto_solve *const state = solver->state;
    tess_storage_options o;
    tess_matrix *lower = NULL;

    if (progress->iteration != 10) { return 0; }
    store_in_lossless_rows(&o);
    assert_ok(solver->ctx, tess_matrix_convert(solver->original, &o, &lower));
    storage_take(state, lower);
    return 0;
}

/* An automatic solve: by itself, or with the matrix changed on the way. */
static tess_solve_result solve_automatically(tess_matrix *m, bool changes, double *x, tess_solve_options *chosen)
{
    tess_context *ctx = m->ctx;
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double *b = random_values(m->nrows, 9, -1.0, 1.0);
    tess_solver *solver = NULL;
    tess_solve_result result;

    options.precond.kind = TESS_PRECOND_JACOBI;
    options.rtol = 1e-10;
    if (changes) {
        options.monitor = change_at_10;
        options.monitor_user = &solver;
    }
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    memset(x, 0, (size_t)m->nrows * sizeof *x);
    result = solve_with(solver, ctx, m->nrows, b, x);
    assert_true(result.verified);
    if (changes) {
        const tess_attempt *attempts = NULL;

        assert_int_equal(tess_solver_attempts(solver, &attempts), 1);
        assert_int_equal(attempts[0].matrix, TESS_PRECISION_FP32);
        assert_int_equal(result.storage.precision, TESS_PRECISION_FP32);
        assert_true(result.storage.exact && result.storage.matrix_bytes < result.storage.fp64_csr_bytes);
        assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_FP32], m->nnz);
        assert_non_null(strstr(tess_solver_why(solver), "values are exact in fp32: the matrix takes"));
        tess_solve_options_init(chosen);
        assert_ok(ctx, tess_solver_chosen_options(solver, chosen));
        chosen->monitor = NULL;
    }
    tess_solver_destroy(solver);
    free(b);
    return result;
}

/* No bit differs: in an automatic solve that changes to FP32 on the way, nor in the solve by hand that it names. */
static void storage_changes_within_a_solve(void **state)
{
    oracle_csr a = oracle_laplace2d(24);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);
    double *b = random_values(a.nrows, 9, -1.0, 1.0), *x[3];
    tess_solve_options chosen;
    tess_solver *by_hand = NULL;
    tess_solve_result result[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        x[k] = test_allocate(a.nrows, sizeof **x);
        memset(x[k], 0, (size_t)a.nrows * sizeof **x);
    }
    result[0] = solve_automatically(m, false, x[0], NULL);
    result[1] = solve_automatically(m, true, x[1], &chosen);
    assert_int_equal(chosen.storage.policy.policy, TESS_POLICY_LOSSLESS);
    assert_ok(ctx, tess_solver_create(m, &chosen, &by_hand));
    result[2] = solve_with(by_hand, ctx, a.nrows, b, x[2]);
    assert_int_equal(result[2].storage.precision, TESS_PRECISION_FP32);
    for (int k = 1; k < 3; k++) {
        assert_int_equal(result[k].iterations, result[0].iterations);
        assert_true(same_bits(x[k], x[0], a.nrows));
    }
    tess_solver_destroy(by_hand);
    for (int k = 0; k < 3; k++) {
        free(x[k]);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    tess_context_destroy(ctx);
}

/* After a change to FP32, new values that are not exact there: the next solve has FP64 again. */
static void new_values_have_fp64_again(void **state)
{
    oracle_csr a = oracle_laplace2d(24);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double *b = random_values(a.nrows, 9, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solver *solver = NULL;

    (void)state;
    options.precond.kind = TESS_PRECOND_JACOBI;
    options.rtol = 1e-10;
    options.monitor = change_at_10;
    options.monitor_user = &solver;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int turn = 0; turn < 2; turn++) {
        tess_solve_result result;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_with(solver, ctx, a.nrows, b, x);
        assert_true(result.verified);
        assert_int_equal(result.storage.precision, turn == 0 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);
        assert_int_equal(result.refinements, 0);
        for (int64_t e = 0; e < a.nnz; e++) {
            a.val[e] *= 1.0 / 3.0;
        }
        assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        options.monitor = NULL;
        assert_ok(ctx, tess_solver_set_limits(solver, &options));
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

/* The trial waits for iterations that repay it, is made once, and not where the caller says how the matrix is stored or
   that all is FP64. */
static void the_trial_is_made_once_where_it_may(void **state)
{
    oracle_csr a = oracle_laplace2d(120); /* more than 65,536 nonzeros */
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 6; k++) {
        const bool open = k == 0 || k == 5;
        tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
        tess_solver *solver = NULL;
        const auto_solve *own = NULL;

        options.precond.kind = TESS_PRECOND_JACOBI;
        options.automatic.fp64_only = k == 1;
        if (k == 2) { options.storage.format = TESS_FORMAT_SELL; }
        if (k == 3) { options.storage.precision = TESS_PRECISION_FP32; }
        options.automatic.format_given = k == 4;
        if (k == 5) { options.storage.format = TESS_FORMAT_AUTO; }
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        own = solver->state;
        assert_true(!open || stored_in(own->solver) == NULL);
        assert_int_equal(own->stored, open ? STORAGE_OPEN : STORAGE_FP64);
        storage_try_lower(solver, 49, 1e6);
        storage_try_lower(solver, 1000, 299.0);
        assert_int_equal(own->stored, open ? STORAGE_OPEN : STORAGE_FP64);
        storage_try_lower(solver, 50, 300.0);
        assert_int_not_equal(own->stored, STORAGE_OPEN);
        assert_true((own->stored == STORAGE_LOWER) == (open && stored_in(own->solver) != NULL));
        assert_true(open || own->stored == STORAGE_FP64);
        assert_int_equal(own->exact, open); /* told, also where FP64 is as fast */
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_solve_has_the_precision_of_fp64), cmocka_unit_test(a_negligible_loss_costs_no_cycles),
        cmocka_unit_test(lossless_rows_change_no_bit),       cmocka_unit_test(storage_changes_within_a_solve),
        cmocka_unit_test(new_values_have_fp64_again),        cmocka_unit_test(the_trial_is_made_once_where_it_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
