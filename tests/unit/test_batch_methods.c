/* SPDX-License-Identifier: Apache-2.0 */
/* Batches by ILU(0) and by GMRES: against the oracle, against solves alone, and where they fail. */
#include "support/batches.h"

enum { SIDE = 8, N = SIDE * SIDE, SYSTEMS = 6 };

static tess_context *ctx;

static int64_t few(void)
{
    return on_gpu_or_emulated(SYSTEMS, 2);
}

/* ---- ILU(0) ---- */

static void factors_and_gmres_solve_every_system(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES};
    static const tess_precond_kind preconds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_ILU0};

    (void)state;
    for (int s = 0; s < 3; s++) {
        int64_t before = INT64_MAX;

        for (int k = 0; k < 3; k++) {
            const tess_solve_options options = options_of(solvers[s], preconds[k]);
            batch_of q = make_batch(ctx, s == 0 ? oracle_laplace2d(SIDE) : oracle_convection2d(SIDE, 2.0), few());

            solve_systems(&q, &options);
            check_solved(&q, &options);
            assert_int_equal(q.results[1].solver, solvers[s]);
            if (k == 2) { assert_true(q.results[0].iterations < before); }
            before = q.results[0].iterations;
            discard_batch(&q);
        }
    }
}

/* Pairs of rows: the first level set is every other row. */
static oracle_csr pairs(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - i % 2; j < i - i % 2 + 2; j++) {
            oracle_push(&a, j, i == j ? 3.0 : 1.0);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Where the pattern has no fill, the factors are complete: one product solves the system. */
static void factors_without_fill_are_complete(void **state)
{
    const tess_solve_options options = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_ILU0);

    (void)state;
    for (int k = 0; k < 3; k++) {
        oracle_csr a = k == 0 ? oracle_tridiagonal(50, -1.0, 3.0, -0.5) : k == 1 ? oracle_hilbert(11) : pairs(60);
        batch_of q;

        for (int64_t i = 0; i < a.nrows; i++) {
            a.val[diagonal_at(&a, i)] += 2.0 + (double)(i % 3);
        }
        q = make_batch(ctx, a, 2);
        solve_systems(&q, &options);
        check_solved(&q, &options);
        assert_int_equal(q.results[0].iterations, 1);
        assert_int_equal(q.results[1].iterations, 1);
        discard_batch(&q);
    }
}

/* The same M as alone, with its shifts: a pivot of zero is no obstacle. Sums differ in their order. */
static void factors_are_those_of_a_solve_alone(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = options_of(k == 0 ? TESS_SOLVER_BICGSTAB : TESS_SOLVER_GMRES, TESS_PRECOND_ILU0);
        batch_of q = make_batch(ctx, oracle_convection2d(SIDE, 2.0), 2);
        double x[N] = {0.0};
        tess_solve_result alone;

        if (k == 1) { q.val[diagonal_at(&q.a, 0)] = 0.0; }
        memcpy(q.a.val, q.val, (size_t)q.a.nnz * sizeof *q.val);
        alone = solve_once(ctx, &q.a, &options, q.b, x);
        solve_systems(&q, &options);
        check_solved(&q, &options);
        assert_true(alone.converged);
        assert_true(labs(alone.iterations - q.results[0].iterations) <= 1);
        discard_batch(&q);
    }
}

/* A row of zeros, NaN, factors beyond FP64's range: each has its reason, and the others have the bits as without. */
static void systems_without_factors_leave_the_others_unharmed(void **state)
{
    const tess_solve_options options = options_of(TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILU0);
    batch_of good = make_batch(ctx, oracle_convection2d(5, 2.0), 4),
             q = make_batch(ctx, oracle_convection2d(5, 2.0), 4);
    const oracle_csr *a = &q.a;

    (void)state;
    for (int64_t k = a->row_ptr[7]; k < a->row_ptr[8]; k++) {
        q.val[a->nnz + k] = 0.0;
    }
    q.val[2 * a->nnz + 5] = (double)NAN;
    solve_systems(&good, &options);
    solve_systems(&q, &options);
    for (int64_t s = 0; s < 4; s += 3) {
        assert_true(same_bits(good.x + s * 25, q.x + s * 25, 25));
        assert_memory_equal(&good.results[s], &q.results[s], sizeof *q.results);
        assert_true(q.results[s].verified);
    }
    assert_int_equal(q.results[1].reason, TESS_REASON_PRECOND_SETUP);
    assert_int_equal(q.results[2].reason, TESS_REASON_NAN_OR_INF);
    assert_true(q.x[25] == 0.0 && !q.results[1].converged && !q.results[2].converged);
    discard_batch(&good);
    discard_batch(&q);
}

/* ILU(0) of this matrix has pivots of both signs: CG says so, and solver auto takes another method. */
static void indefinite_factors_are_told(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_ILU0);
    batch_of q = make_batch(ctx, oracle_tridiagonal(30, -1.0, 1.25, -1.0), 1);

    (void)state;
    solve_systems(&q, &options);
    assert_false(q.results[0].reason >= 0 && !q.results[0].verified);
    memset(q.x, 0, 30 * sizeof *q.x);
    options.solver = TESS_SOLVER_AUTO;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    discard_batch(&q);
}

static void a_pattern_without_a_diagonal_entry_is_refused(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILU0);
    oracle_csr a = oracle_open(3, 3);
    batch_of q;

    (void)state;
    for (int i = 0; i < 3; i++) {
        oracle_push(&a, i == 2 ? 1 : i, 2.0);
        oracle_end_row(&a, i);
    }
    q = make_batch(ctx, a, 2);
    refuse_batch(&q, arrays_of(&q), &options, TESS_SINGULAR, "row 2");
    options.precond.kind = TESS_PRECOND_NONE;
    solve_systems(&q, &options); /* singular, which is no error */
    assert_false(q.results[0].converged);
    discard_batch(&q);
}

/* ---- GMRES ---- */

/* A full basis is a restart, and no repair; a basis needs no more vectors than there are rows or iterations. */
static void gmres_restarts(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI);
    batch_of q = make_batch(ctx, oracle_convection2d(SIDE, 2.0), 2);
    int64_t iterations = 0;

    (void)state;
    options.gmres.restart = 6;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    iterations = q.results[0].iterations;
    assert_true(iterations > 6);
    assert_int_equal(q.results[0].refinements, 0);
    options.gmres.restart = 1 << 20;
    memset(q.x, 0, (size_t)(2 * N) * sizeof *q.x);
    solve_systems(&q, &options);
    check_solved(&q, &options);
    assert_true(q.results[0].iterations <= N && q.results[0].iterations < iterations);
    options.max_iterations = 7;
    options.gmres.restart = 5;
    memset(q.x, 0, (size_t)(2 * N) * sizeof *q.x);
    solve_systems(&q, &options);
    check_system(&q, &options, 1);
    assert_int_equal(q.results[1].reason, TESS_REASON_ITERATIONS);
    assert_int_equal(q.results[1].iterations, 7);
    discard_batch(&q);
}

/* Cyclic shifts: GMRES(m) with m < n does not leave x = 0. */
static void gmres_that_does_not_move_stagnates(void **state)
{
    enum { ROWS = 9 };
    tess_solve_options options = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_NONE);
    oracle_csr a = oracle_open(ROWS, ROWS);
    batch_of q;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        oracle_push(&a, (i + 1) % ROWS, 1.0);
        oracle_end_row(&a, i);
    }
    q = make_batch(ctx, a, 1);
    memset(q.b, 0, ROWS * sizeof *q.b);
    q.b[0] = 1.0;
    options.gmres.restart = 4;
    solve_systems(&q, &options);
    check_system(&q, &options, 0);
    assert_int_equal(q.results[0].reason, TESS_REASON_STAGNATION);
    options.gmres.restart = ROWS;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    assert_int_equal(q.results[0].iterations, ROWS);
    discard_batch(&q);
}

/* Estimates that go below what FP64 can give are found out; a wrong one is mended from the true residual. */
static void no_estimate_of_gmres_is_believed(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_NONE);
    batch_of q = make_batch(ctx, oracle_hilbert(12), 1);

    (void)state;
    options.rtol = 1e-16;
    options.max_iterations = 300;
    solve_systems(&q, &options);
    check_system(&q, &options, 0);
    assert_false(q.results[0].verified && q.results[0].residual_norm > 0.0);
    discard_batch(&q);
    q = make_batch(ctx, oracle_convection2d(SIDE, 2.0), 2);
    for (int64_t i = 0; i < 2 * N; i++) {
        q.x[i] = ((double)(i % 3) - 1.25) * 1e12;
    }
    options.rtol = 1e-10;
    options.gmres.restart = N;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    assert_true(q.results[0].refinements > 0 && q.results[1].refinements > 0);
    discard_batch(&q);
}

/* Near the ends of FP64's range; and where the basis is invariant after two vectors. */
static void gmres_solves_any_scale_and_ends_early(void **state)
{
    static const int exponents[][2] = {{-500, -1000}, {500, 1000}, {0, 800}};
    static const double diagonal[] = {2.0, 4.0, 2.0, 4.0, 2.0};
    tess_solve_options options = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_ILU0);
    batch_of q = make_batch(ctx, oracle_convection2d(5, 2.0), 3);

    (void)state;
    for (int64_t s = 0; s < 3; s++) {
        for (int64_t k = s * q.a.nnz; k < (s + 1) * q.a.nnz; k++) {
            q.val[k] = ldexp(q.val[k], exponents[s][0]);
        }
        for (int64_t i = s * 25; i < (s + 1) * 25; i++) {
            q.b[i] = ldexp(q.b[i], exponents[s][1]);
        }
    }
    solve_systems(&q, &options);
    check_solved(&q, &options);
    discard_batch(&q);
    q = make_batch(ctx, oracle_diagonal(5, diagonal), 1);
    options.precond.kind = TESS_PRECOND_NONE;
    options.rtol = 1e-14;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    assert_int_equal(q.results[0].iterations, 2);
    memset(q.val, 0, 5 * sizeof *q.val);
    memset(q.x, 0, 5 * sizeof *q.x);
    solve_systems(&q, &options);
    assert_int_equal(q.results[0].reason, TESS_REASON_BREAKDOWN);
    discard_batch(&q);
}

/* ---- solver auto ---- */

/* BiCGSTAB breaks down on skew-symmetric matrices, whose (A s, s) is 0. Others between them are solved by it. */
static void auto_goes_on_with_gmres(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_AUTO, TESS_PRECOND_AUTO);
    oracle_csr a = oracle_tridiagonal(20, -1.0, 0.0, 1.0);
    batch_of q = make_batch(ctx, a, 4);

    (void)state;
    for (int64_t i = 0; i < 20; i++) {
        q.val[2 * a.nnz + diagonal_at(&a, i)] = 4.0;
    }
    solve_systems(&q, &options);
    check_solved(&q, &options);
    for (int s = 0; s < 4; s++) {
        assert_int_equal(q.results[s].solver, s == 2 ? TESS_SOLVER_BICGSTAB : TESS_SOLVER_GMRES);
        assert_true(s == 2 || q.results[s].refinements > 0);
    }
    memset(q.x, 0, 80 * sizeof *q.x);
    options.max_iterations = 12;
    solve_systems(&q, &options);
    assert_int_equal(q.results[0].reason, TESS_REASON_ITERATIONS);
    assert_int_equal(q.results[0].iterations, 12);
    discard_batch(&q);
}

#define METHOD_TESTS                                                                                              \
    cmocka_unit_test(factors_and_gmres_solve_every_system), cmocka_unit_test(factors_without_fill_are_complete),  \
        cmocka_unit_test(factors_are_those_of_a_solve_alone),                                                     \
        cmocka_unit_test(systems_without_factors_leave_the_others_unharmed),                                      \
        cmocka_unit_test(indefinite_factors_are_told),                                                            \
        cmocka_unit_test(a_pattern_without_a_diagonal_entry_is_refused), cmocka_unit_test(gmres_restarts),        \
        cmocka_unit_test(gmres_that_does_not_move_stagnates), cmocka_unit_test(no_estimate_of_gmres_is_believed), \
        cmocka_unit_test(gmres_solves_any_scale_and_ends_early), cmocka_unit_test(auto_goes_on_with_gmres)

#ifndef TESTS_ON_GPU

/* Threads share the systems, and each has factors and a basis of its own. */
static void threads_change_no_bit_of_gmres(void **state)
{
    const tess_solve_options options = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_ILU0);
    batch_of q = make_batch(ctx, oracle_convection2d(SIDE, 2.0), 60);
    double *first = test_allocate(60 * N, sizeof *first);

    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        q.ctx = open_cpu(threads);
        memset(q.x, 0, (size_t)(60 * N) * sizeof *q.x);
        solve_systems(&q, &options);
        check_solved(&q, &options);
        if (threads == 1) { memcpy(first, q.x, (size_t)(60 * N) * sizeof *first); }
        assert_true(same_bits(first, q.x, 60 * N));
        tess_context_destroy(q.ctx);
    }
    free(first);
    discard_batch(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {METHOD_TESTS, cmocka_unit_test(threads_change_no_bit_of_gmres)};

    return run_with_context(open_cpu(2), tests, &ctx);
}

#endif
