/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with the default solver and preconditioner: what is tried, in which order, and what is told. */
#include "precond/precond.h"
#include "support/automatic.h"

static tess_context *ctx;

/* ---- families ---- */

static void positive_definite(void **state)
{
    automatic_run t = open_automatic(ctx, oracle_laplace2d(GRID), automatic_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_true(t.count >= 1);
    assert_int_equal(t.attempts[t.count - 1].reason, TESS_REASON_RTOL);
    assert_int_equal(t.result.solver, TESS_SOLVER_CG);
    assert_why(&t, "dominated by its diagonal");
    close_automatic(&t);
}

/* The diagonal is positive and every minor of two rows too, but eigenvalues go from -0.8 to 2.8. */
static void hidden_indefinite(void **state)
{
    automatic_run t =
        open_automatic(ctx, oracle_tridiagonal(on_gpu_or_emulated(4000, 400), 0.9, 1.0, 0.9), automatic_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.attempts[0].solver, TESS_SOLVER_CG);
    assert_int_equal(t.attempts[0].reason, TESS_REASON_INDEFINITE_MATRIX);
    assert_int_not_equal(t.result.solver, TESS_SOLVER_CG);
    assert_why(&t, "nothing speaks against");
    close_automatic(&t);
}

static void plainly_indefinite(void **state)
{
    const double values[] = {3.0, -2.0, 5.0, -1.0};
    automatic_run t = open_automatic(ctx, oracle_diagonal(4, values), automatic_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_why(&t, "2 of 4 diagonal entries are 0 or negative");
    for (int i = 0; i < t.count; i++) {
        assert_int_not_equal(t.attempts[i].solver, TESS_SOLVER_CG);
    }
    close_automatic(&t);
}

/* An entry of 3 between diagonal entries of 2 proves it. */
static void a_minor_is_negative(void **state)
{
    automatic_run t = open_automatic(ctx, oracle_tridiagonal(50, 3.0, 2.0, 3.0), automatic_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_why(&t, "49 entries are too large beside the diagonal");
    close_automatic(&t);
}

static void unsymmetric(void **state)
{
    automatic_run t = open_automatic(ctx, oracle_convection2d(GRID, 20.0), automatic_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_why(&t, "not symmetric");
    close_automatic(&t);
}

/* ---- budgets ---- */

static void a_slow_attempt_is_left(void **state)
{
    tess_solve_options options = slow_options();
    automatic_run t;

    (void)state;
    t = open_automatic(ctx, slow_system(SLOW_ROWS), options);
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_true(t.count >= 2);
    assert_true(t.attempts[0].left);
    assert_int_equal(t.attempts[0].reason, TESS_REASON_CANCELLED);
    assert_true(t.attempts[0].iterations < SLOW_LEFT);
    assert_why(&t, "cg with jacobi: left");
    assert_int_equal(t.attempts[1].precond == TESS_PRECOND_FSAI, TEST_DEVICE == TESS_DEVICE_GPU);
    close_automatic(&t);
}

static void iterations_are_limited_in_sum(void **state)
{
    tess_solve_options options = automatic_options();
    int64_t sum = 0;
    automatic_run t;

    (void)state;
    options.max_iterations = 7;
    options.precond.kind = TESS_PRECOND_NONE;
    t = open_automatic(ctx, oracle_laplace2d(GRID), options);
    run_automatic(&t);
    assert_false(t.result.converged);
    for (int i = 0; i < t.count; i++) {
        sum += t.attempts[i].iterations;
    }
    assert_int_equal(t.result.iterations, 7);
    assert_int_equal(sum, 7);
    assert_int_equal(t.result.history_length, 8);
    close_automatic(&t);
}

static int cancel_at_5(void *user, const tess_progress *progress)
{
    int *calls = user;

    *calls += 1;
    return progress->iteration >= 5;
}

static void the_callers_monitor_ends_all(void **state)
{
    tess_solve_options options = automatic_options();
    int calls = 0;
    automatic_run t;

    (void)state;
    options.monitor = cancel_at_5;
    options.monitor_user = &calls;
    options.precond.kind = TESS_PRECOND_JACOBI;
    t = open_automatic(ctx, oracle_laplace2d(GRID), options);
    run_automatic(&t);
    assert_int_equal(t.count, 1);
    assert_true(calls >= 1); /* a GPU calls at intervals, perhaps only at the end */
    if (TEST_DEVICE == TESS_DEVICE_CPU) { assert_int_equal(t.result.reason, TESS_REASON_CANCELLED); }
    assert_false(t.attempts[0].left);
    close_automatic(&t);
}

/* ---- what the caller says ---- */

static void a_named_preconditioner_is_kept(void **state)
{
    tess_solve_options options = automatic_options();
    automatic_run t;

    (void)state;
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    t = open_automatic(ctx, oracle_laplace2d(GRID), options);
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.result.precond.kind, TESS_PRECOND_BLOCK_JACOBI);
    close_automatic(&t);
}

static void a_named_solver_has_no_attempts(void **state)
{
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    automatic_run t = open_automatic(ctx, oracle_laplace2d(GRID), options);

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.result.precond.kind, TESS_PRECOND_NONE);
    assert_int_equal(t.count, 0);
    assert_string_equal(tess_solver_why(t.solver), "");
    close_automatic(&t);
}

static void fp64_forbids_the_rest(void **state)
{
    for (int fp64_only = 0; fp64_only < 2; fp64_only++) {
        tess_solve_options options = slow_options();
        int low = 0;
        automatic_run t;

        (void)state;
        options.automatic.fp64_only = fp64_only;
        t = open_automatic(ctx, slow_system(SLOW_ROWS), options);
        run_automatic(&t);
        assert_true(t.result.verified);
        for (int i = 0; i < t.count; i++) {
            low += t.attempts[i].factors != TESS_PRECISION_FP64;
        }
        assert_true(fp64_only ? low == 0 : low > 0);
        close_automatic(&t);
    }
}

/* A preconditioner of which only the kind is named keeps nothing in a lower precision. */
static void fp64_forbids_the_rest_of_a_named_kind(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_LU, TESS_PRECOND_CHOLESKY, TESS_PRECOND_AMG,
                                              TESS_PRECOND_JACOBI_SWEEPS};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solve_options options = automatic_options(), chosen;
        const bool direct = kinds[k] == TESS_PRECOND_LU || kinds[k] == TESS_PRECOND_CHOLESKY;
        automatic_run t;

        if (direct && !tess_find_precond(kinds[k])) { continue; } /* a build without MUMPS */
        options.precond.kind = kinds[k];
        options.automatic.fp64_only = 1;
        t = open_automatic(ctx, oracle_laplace2d(12), options);
        run_automatic(&t);
        assert_true(t.result.verified);
        tess_solve_options_init(&chosen);
        assert_ok(ctx, tess_solver_chosen_options(t.solver, &chosen));
        if (direct) { assert_true(chosen.precond.role.given && chosen.precond.role.storage == TESS_PRECISION_FP64); }
        if (kinds[k] == TESS_PRECOND_AMG) { assert_int_equal(chosen.precond.amg.precision, TESS_AMG_PRECISION_FP64); }
        if (kinds[k] == TESS_PRECOND_JACOBI_SWEEPS) {
            assert_int_equal(chosen.precond.jacobi_sweeps.schedule.count, 1);
            assert_int_equal(chosen.precond.jacobi_sweeps.schedule.entry[0].what, TESS_PRECISION_FP64);
        }
        close_automatic(&t);
    }
}

static void the_choice_by_hand_does_the_same(void **state)
{
    automatic_run t = open_automatic(ctx, oracle_convection2d(GRID, 20.0), automatic_options()), by_hand;
    tess_solve_options chosen;

    (void)state;
    run_automatic(&t);
    assert_int_equal(t.count, 1); /* else x differs at the start */
    tess_solve_options_init(&chosen);
    assert_ok(ctx, tess_solver_chosen_options(t.solver, &chosen));
    assert_int_equal(chosen.solver, t.result.solver);
    assert_int_equal(chosen.precond.kind, t.result.precond.kind);
    by_hand = open_automatic(ctx, oracle_convection2d(GRID, 20.0), chosen);
    run_automatic(&by_hand);
    assert_true(same_bits(t.x, by_hand.x, t.a.nrows));
    close_automatic(&by_hand);
    close_automatic(&t);
}

/* ---- systems without a solution ---- */

static void singular_systems_end_with_a_reason(void **state)
{
    (void)state;
    for (int64_t n = 40; n <= 150; n += 110) { /* of the first, all rows are empty */
        automatic_run t = open_automatic(ctx, oracle_with_empty_rows(n), automatic_options());

        run_automatic(&t);
        assert_false(t.result.converged);
        assert_true(t.result.reason < 0);
        assert_why(&t, "empty rows");
        close_automatic(&t);
    }
}

/* The rows of the path's Laplacian sum to 0. With b = A x* there are solutions; where b has another sum there is none,
   and the solve ends soon, near the least residual: |1^T b| / sqrt(n). */
static void a_constant_null_vector(void **state)
{
    (void)state;
    for (int consistent = 0; consistent < 2; consistent++) {
        oracle_csr a = oracle_tridiagonal(60, -1.0, 2.0, -1.0);
        automatic_run t;

        a.val[0] = a.val[a.nnz - 1] = 1.0;
        t = open_automatic(ctx, a, automatic_options());
        for (int turn = 0; turn < 2; turn++) {
            for (int64_t i = 0; i < 60; i++) {
                t.b[i] = i < 30 ? 1.0 : consistent || turn == 1 ? -1.0 : -0.5;
            }
            run_automatic(&t);
            assert_int_equal(t.result.verified, consistent || turn == 1);
            if (t.result.verified) { continue; }
            assert_int_equal(t.count, 1);
            assert_int_equal(t.result.reason, TESS_REASON_STAGNATION);
            if (TEST_DEVICE == TESS_DEVICE_CPU) { assert_at_most(t.result.residual_norm, 1.011 * 15.0 / sqrt(60.0)); }
            assert_why(&t, "the columns of A sum to 0, and b does not: no x has a relative residual below 3.2e-01");
        }
        close_automatic(&t);
    }
}

static void numbers_that_are_none_end_at_once(void **state)
{
    oracle_csr a = oracle_laplace2d(GRID);
    automatic_run t;

    (void)state;
    a.val[5] = NAN;
    t = open_automatic(ctx, a, automatic_options());
    memset(t.x, 0, (size_t)t.a.nrows * sizeof *t.x);
    t.result = solve_with(t.solver, ctx, t.a.nrows, t.b, t.x);
    assert_int_equal(t.result.reason, TESS_REASON_NAN_OR_INF);
    assert_int_equal(tess_solver_attempts(t.solver, &t.attempts), 0);
    assert_why(&t, "NaN or Inf in the matrix");
    close_automatic(&t);
}

#define AUTOMATIC_TESTS                                                                                             \
    cmocka_unit_test(positive_definite), cmocka_unit_test(hidden_indefinite), cmocka_unit_test(plainly_indefinite), \
        cmocka_unit_test(a_minor_is_negative), cmocka_unit_test(unsymmetric),                                       \
        cmocka_unit_test(a_slow_attempt_is_left), cmocka_unit_test(iterations_are_limited_in_sum),                  \
        cmocka_unit_test(the_callers_monitor_ends_all), cmocka_unit_test(a_named_preconditioner_is_kept),           \
        cmocka_unit_test(a_named_solver_has_no_attempts), cmocka_unit_test(fp64_forbids_the_rest),                  \
        cmocka_unit_test(the_choice_by_hand_does_the_same), cmocka_unit_test(singular_systems_end_with_a_reason),   \
        cmocka_unit_test(a_constant_null_vector), cmocka_unit_test(fp64_forbids_the_rest_of_a_named_kind),          \
        cmocka_unit_test(numbers_that_are_none_end_at_once)

#ifdef TESTS_ON_GPU
/* A recorded loop pauses for looks, and is left long before it has taken as long as complete factors; a second
   solve does the same to the bit, and so does one that keeps no history for the caller. */
static void a_recorded_attempt_is_left_early(void **state)
{
    tess_solve_options options = slow_options();
    double first[SLOW_ROWS];
    automatic_run t;

    (void)state;
    options.engine = TESS_ENGINE_GRAPH;
    for (int again = 0; again < 3; again++) {
        if (again == 2) { options.history_capacity = 0; }
        t = open_automatic(ctx, slow_system(SLOW_ROWS), options);
        run_automatic(&t);
        assert_true(t.result.verified);
        assert_true((t.result.history_length == 0) == (again == 2));
        assert_true(t.count >= 2);
        assert_true(t.attempts[0].left);
        assert_true(t.attempts[0].iterations >= 32 && t.attempts[0].iterations < 300);
        assert_why(&t, "left");
        if (again) { assert_memory_equal(first, t.x, sizeof first); }
        memcpy(first, t.x, sizeof first);
        close_automatic(&t);
    }
}
#else
/* Entries of next to nothing couple the first row to the last. */
static oracle_csr with_hidden_ends(oracle_csr a)
{
    const int64_t n = a.nrows;
    oracle_csr out = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        if (i == n - 1) { oracle_push(&out, 0, -1e-300); }
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            oracle_push(&out, a.col_ind[k], a.val[k]);
        }
        if (i == 0) { oracle_push(&out, n - 1, -1e-300); }
        oracle_end_row(&out, i);
    }
    oracle_free(&a);
    return out;
}

/* The first and the last row are 330 couplings apart, which CG with a diagonal passes one by one: multigrid takes less
   time than the least that it can take, and comes first. On a GPU a diagonal is faster here. */
static void multigrid_comes_first_where_rows_are_far_apart(void **state)
{
    tess_solve_options options = slow_options();
    automatic_run t;

    (void)state;
    t = open_automatic(ctx, oracle_laplace2d(330),
                       options); /* more nonzeros than a trial of incomplete factors takes */
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.attempts[0].precond, TESS_PRECOND_AMG);
    assert_true(t.attempts[0].iterations < 50);
    assert_why(&t, "cg with amg: solved");
    assert_why(&t, "low precision");
    close_automatic(&t);
    options.automatic.fp64_only = 1;
    t = open_automatic(ctx, oracle_laplace2d(330), options);
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.attempts[0].factors, TESS_PRECISION_FP64);
    close_automatic(&t);
}

/* The same with a numbering that hides the distance: CG with a diagonal is tried, and left. */
static void multigrid_takes_over_from_a_diagonal(void **state)
{
    automatic_run t = open_automatic(ctx, with_hidden_ends(oracle_laplace2d(330)), slow_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 2);
    assert_true(t.attempts[0].left);
    assert_true(t.attempts[0].iterations < 400);
    assert_int_equal(t.attempts[1].precond, TESS_PRECOND_AMG);
    close_automatic(&t);
}

/* Diffusion with convection: unsymmetric, with a positive diagonal. */
static void multigrid_takes_over_with_convection(void **state)
{
    automatic_run t = open_automatic(ctx, oracle_convection2d(330, 0.5), slow_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.attempts[0].precond, TESS_PRECOND_AMG);
    assert_int_equal(t.attempts[0].solver, TESS_SOLVER_BICGSTAB);
    assert_true(t.attempts[0].iterations < 50);
    close_automatic(&t);
}

/* A smaller matrix has its trial of incomplete factors first: those of a tridiagonal matrix are complete. */
static void incomplete_factors_come_before_multigrid(void **state)
{
    automatic_run t = open_automatic(ctx, oracle_tridiagonal(20000, -1.0, 2.0, -1.0), slow_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1); /* nor is a diagonal tried, which would take an iteration a row */
    assert_int_equal(t.attempts[0].precond, TESS_PRECOND_IC0);
    close_automatic(&t);
}

/* Factors that take little more than a trial of incomplete ones come at once: a beam with 10 unknowns a node. */
static void cheap_factors_come_before_a_trial(void **state)
{
    static const double beam[3] = {6.0, -4.0, 1.0};
    enum { NODES = 120, BLOCK = 10 };
    oracle_csr a = oracle_open(NODES * BLOCK, NODES * BLOCK);
    automatic_run t;

    (void)state;
    for (int64_t i = 0; i < NODES * BLOCK; i++) {
        const int64_t node = i / BLOCK, first = node > 2 ? node - 2 : 0, last = node + 2 < NODES ? node + 2 : NODES - 1;

        for (int64_t j = first * BLOCK; j < (last + 1) * BLOCK; j++) {
            oracle_push(&a, j, beam[llabs(j / BLOCK - node)] * (j % BLOCK == i % BLOCK ? 2.0 : 1.0));
        }
        oracle_end_row(&a, i);
    }
    t = open_automatic(ctx, a, slow_options());
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.attempts[1].precond, TESS_PRECOND_CHOLESKY);
    close_automatic(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {AUTOMATIC_TESTS,
                                       cmocka_unit_test(multigrid_comes_first_where_rows_are_far_apart),
                                       cmocka_unit_test(multigrid_takes_over_from_a_diagonal),
                                       cmocka_unit_test(multigrid_takes_over_with_convection),
                                       cmocka_unit_test(incomplete_factors_come_before_multigrid),
                                       cmocka_unit_test(cheap_factors_come_before_a_trial)};

    return run_with_context(open_device(1), tests, &ctx);
}
#endif
