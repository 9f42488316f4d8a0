/* SPDX-License-Identifier: Apache-2.0 */
/* Several right-hand sides in one call: each column is verified, and is what a solve of its own gives, whatever the
   others do. */
#include "precond/precond.h"
#include "support/columns_system.h"
#include "support/precond_of.h"

enum { SIDE = 16, N = SIDE * SIDE };

/* Each column converged, honestly, in about as many iterations as alone: sums have another order. */
static void check_columns(system_of *s, const tess_solve_options *options)
{
    double *alone = test_allocate(s->a.nrows, sizeof *alone);

    for (int64_t c = 0; c < s->k; c++) {
        const tess_solve_result *r = &s->results[c];
        const tess_solve_result one = solve_once(s->ctx, &s->a, options, s->b + c * s->a.nrows, alone);

        assert_int_equal(r->converged, 1);
        assert_int_equal(r->verified, one.verified);
        assert_int_equal(r->solver, one.solver);
        assert_in_range(r->iterations, one.iterations * 3 / 4, one.iterations * 5 / 4 + 2);
        check_honest(&s->a, s->b + c * s->a.nrows, s->x + c * s->a.nrows, options, r);
    }
    free(alone);
}

static void check_method(oracle_csr a, tess_solver_kind kind, tess_precond_kind precond, int64_t k)
{
    system_of s = make_system(a, k);
    tess_solve_options options = solve_options(kind);

    options.precond.kind = precond;
    solve_by(&s, &options);
    check_columns(&s, &options);
    discard_system(&s);
}

static void methods_of_the_common_loop(void **state)
{
    static const int64_t counts[] = {1, 2, 3, 4, 5, 8, 9};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int64_t k = counts[i];

        check_method(oracle_laplace2d(SIDE), TESS_SOLVER_CG, k % 2 ? TESS_PRECOND_NONE : TESS_PRECOND_JACOBI, k);
        check_method(oracle_laplace2d(SIDE), TESS_SOLVER_MINRES, k % 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE, k);
        check_method(oracle_convection2d(SIDE, 0.3), TESS_SOLVER_BICGSTAB,
                     k % 2 ? TESS_PRECOND_NONE : TESS_PRECOND_JACOBI, k);
    }
    check_method(oracle_laplace2d(SIDE), TESS_SOLVER_CG, TESS_PRECOND_JACOBI, 41); /* more than one loop takes */
}

static int count_calls(void *user, const tess_progress *progress)
{
    (void)progress;
    *(int64_t *)user += 1;
    return 0;
}

/* Iterations that a monitor saw: one for all columns, which are solved together. */
static void check_calls(const system_of *s, int64_t calls)
{
    int64_t most = 0;

    for (int64_t c = 0; c < s->k; c++) {
        most = s->results[c].iterations > most ? s->results[c].iterations : most;
    }
    assert_in_range(calls, most, most + 2);
}

/* Cycles for several columns: V and W, products alone or factors as smoothers, levels in every precision. K cycles take
   one column after another. */
static void multigrid_of_columns(void **state)
{
    static const tess_amg_cycle cycles[] = {TESS_AMG_V, TESS_AMG_W, TESS_AMG_K};
    static const tess_amg_smoother smoothers[] = {TESS_AMG_CHEBYSHEV, TESS_AMG_ILU0};

    (void)state;
    for (int k = 0; k < 3 * 2 * 3; k++) {
        system_of s = make_system(oracle_laplace2d(SIDE / 2), 4);
        const tess_amg_cycle cycle = cycles[k % 3];
        tess_solve_options options = solve_options(cycle == TESS_AMG_K ? TESS_SOLVER_FGMRES
                                                   : k % 2             ? TESS_SOLVER_CG
                                                                       : TESS_SOLVER_BICGSTAB);
        int64_t calls = 0;

        options.precond.kind = TESS_PRECOND_AMG;
        options.precond.amg.cycle = cycle;
        options.precond.amg.smoother = smoothers[k / 3 % 2];
        options.precond.amg.precision = (tess_amg_precision)(k / 6 + TESS_AMG_PRECISION_FP64);
        options.precond.amg.coarsest = 10;
        options.monitor = count_calls;
        options.monitor_user = &calls;
        solve_by(&s, &options);
        if (cycle != TESS_AMG_K) { check_calls(&s, calls); }
        options.monitor = NULL;
        check_columns(&s, &options);
        discard_system(&s);
    }
}

/* Relaxation of fine and of coarse unknowns in turn, and a restriction of its own; two steps with factors or inverses.
 */
static void multigrid_for_convection_of_columns(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        static const tess_amg_smoother smoothers[] = {TESS_AMG_FC_JACOBI, TESS_AMG_ILU0, TESS_AMG_FSAI};
        system_of s = make_system(oracle_convection2d(SIDE / 2, 0.3), 4);
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        int64_t calls = 0;

        options.precond.kind = TESS_PRECOND_AMG;
        options.precond.amg.coarsening = TESS_AMG_CLASSICAL;
        options.precond.amg.split = TESS_AMG_SPLIT_RUGE_STUEBEN;
        options.precond.amg.restriction = k % 3 ? TESS_AMG_RESTRICTION_TRANSPOSE : TESS_AMG_RESTRICTION_AIR;
        options.precond.amg.smoother = smoothers[k % 3];
        options.precond.amg.degree = 4;
        options.precond.amg.precision = k / 3 ? TESS_AMG_PRECISION_FP32 : TESS_AMG_PRECISION_FP64;
        options.precond.amg.coarsest = 10;
        options.monitor = count_calls;
        options.monitor_user = &calls;
        solve_by(&s, &options);
        check_calls(&s, calls);
        options.monitor = NULL;
        check_columns(&s, &options);
        discard_system(&s);
    }
}

/* Blocks in every storage, in FP64 arithmetic; others take one column after another. 7 leaves a smaller block. */
static void block_jacobi_of_columns(void **state)
{
    static const struct {
        int rows;
        tess_role_precision role;
        bool adaptive;
    } cases[] = {{4, {1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}, false},
                 {7, {1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64}, false},
                 {8, {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64}, false},
                 {3, {1, TESS_PRECISION_BF16, TESS_ARITHMETIC_FP64}, true},
                 {1, {1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64}, false},
                 {9, {1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}, false},
                 {4, {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bool symmetric = i % 2 == 0;
        system_of s =
            make_system(symmetric ? oracle_laplace2d(SIDE) : oracle_convection2d(SIDE, 0.3), symmetric ? 8 : 5);
        tess_solve_options options = solve_options(symmetric ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);
        int64_t calls = 0;

        options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
        options.precond.block_jacobi.block_size = cases[i].rows;
        options.precond.block_jacobi.adaptive = cases[i].adaptive;
        options.precond.role = cases[i].role;
        options.monitor = count_calls;
        options.monitor_user = &calls;
        solve_by(&s, &options);
        check_calls(&s, calls);
        options.monitor = NULL;
        check_columns(&s, &options);
        discard_system(&s);
    }
}

/* Factors take all columns; sweeps take one, and the loop of all applies them to one after another. Either way M^-1 and
   the estimates of each column have the bits that they have alone, but for the order of sums. */
static void other_preconditioners(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_IC0,  TESS_PRECOND_POLYNOMIAL, TESS_PRECOND_JACOBI_SWEEPS,
                                              TESS_PRECOND_FSAI, TESS_PRECOND_ILU0,       TESS_PRECOND_ILUT,
                                              TESS_PRECOND_ISAI};

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const bool symmetric = i < 4;
        system_of s =
            make_system(symmetric ? oracle_laplace2d(SIDE) : oracle_convection2d(SIDE, 0.3), symmetric ? 8 : 5);
        tess_solve_options options = solve_options(i == 0      ? TESS_SOLVER_MINRES
                                                   : symmetric ? TESS_SOLVER_CG
                                                               : TESS_SOLVER_BICGSTAB);
        int64_t calls = 0;

        options.precond.kind = kinds[i];
        options.monitor = count_calls;
        options.monitor_user = &calls;
        solve_by(&s, &options);
        check_calls(&s, calls);
        options.monitor = NULL;
        check_columns(&s, &options);
        discard_system(&s);
    }
}

/* A polynomial is applied to all columns at once, in each column as it is to one. */
static void polynomials_of_columns(void **state)
{
    enum { K = 4 };

    (void)state;
    for (int form = 0; form < 2; form++) {
        system_of s = make_system(oracle_convection2d(SIDE, 0.3), K);
        tess_precond_options options = precond_of(TESS_PRECOND_POLYNOMIAL, 0);
        double by_row[N * K], z[N * K], *one = s.x;
        tess_precond *m = NULL;

        options.polynomial.form = form ? TESS_POLYNOMIAL_POWERS : TESS_POLYNOMIAL_ROOTS;
        options.polynomial.degree = 5 + form;
        assert_ok(s.ctx, tess_precond_create(s.m, &options, &m));
        assert_true(tess_precond_takes_columns(m));
        for (int64_t at = 0; at < N * K; at++) {
            by_row[at % N * K + at / N] = s.b[at];
        }
        assert_ok(s.ctx, m->ops->apply_columns(m, K, by_row, z));
        for (int c = 0; c < K; c++) {
            tess_vector *r = make_vector(s.ctx, N, s.b + c * N), *v = make_vector(s.ctx, N, one);

            assert_ok(s.ctx, tess_precond_apply(m, r, v));
            assert_ok(s.ctx, tess_vector_get(v, one, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            for (int i = 0; i < N; i++) {
                assert_true(fabs(z[i * K + c] - one[i]) <= 0x1p-44 * (fabs(one[i]) + 1.0));
            }
            tess_vector_destroy(r);
            tess_vector_destroy(v);
        }
        tess_precond_destroy(m);
        discard_system(&s);
    }
}

/* The product must save more than the vectors of such a preconditioner move. */
static void short_rows_do_not_pay_for_one_column_after_another(void **state)
{
    double diagonal[N];
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    for (int i = 0; i < N; i++) {
        diagonal[i] = 1.0 + i;
    }
    for (int k = 0; k < 4; k++) {
        system_of s = make_system(k < 2 ? oracle_diagonal(N, diagonal) : oracle_laplace2d(SIDE), 4);
        tess_solver *solver = NULL;

        options.precond.kind = k % 2 ? TESS_PRECOND_JACOBI_SWEEPS : TESS_PRECOND_IC0;
        assert_ok(s.ctx, tess_solver_create(s.m, &options, &solver));
        assert_int_equal(tess_solver_columns_together(solver, 4), k == 1 ? 1 : 4);
        tess_solver_destroy(solver);
        discard_system(&s);
    }
}

static void any_other_request_solves_too(void **state)
{
    (void)state;
    check_method(oracle_laplace2d(SIDE), TESS_SOLVER_AUTO, TESS_PRECOND_AUTO, 5);
    check_method(oracle_laplace2d(SIDE), TESS_SOLVER_CG, TESS_PRECOND_IC0, 3);
    check_method(oracle_convection2d(SIDE, 0.3), TESS_SOLVER_GMRES, TESS_PRECOND_NONE, 3);
    check_method(oracle_convection2d(SIDE, 0.3), TESS_SOLVER_IDR, TESS_PRECOND_NONE, 3);
}

/* Columns that need few iterations leave; the last one goes on in a narrower loop, and is as right. */
static void columns_end_at_their_own_time(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 8);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    int64_t fewest = INT64_MAX, most = 0;

    (void)state;
    options.history_capacity = 1000;
    for (int64_t c = 0; c < 7; c++) { /* eigenvectors of the Laplacian, sums of c of them: c iterations */
        for (int64_t i = 0; i < N; i++) {
            double value = 0.0;

            for (int64_t e = 1; e <= c; e++) {
                value += sin(M_PI * (double)e * (double)(i / SIDE + 1) / (SIDE + 1)) *
                         sin(M_PI * (double)e * (double)(i % SIDE + 1) / (SIDE + 1));
            }
            s.b[c * N + i] = value;
        }
    }
    solve_by(&s, &options);
    for (int64_t c = 0; c < 8; c++) {
        fewest = s.results[c].iterations < fewest ? s.results[c].iterations : fewest;
        most = s.results[c].iterations > most ? s.results[c].iterations : most;
        assert_int_equal(s.results[c].verified, 1);
        check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]);
    }
    assert_int_equal(fewest, 0); /* b = 0 */
    assert_int_equal(s.results[1].iterations, 1);
    assert_in_range(s.results[4].iterations, 3, 6);
    assert_true(most > 20);
    assert_int_equal(s.results[7].history_length, s.results[7].iterations + 1);
    discard_system(&s);
}

/* What one column suffers is its own affair. */
static void a_bad_column_harms_no_other(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 6);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    s.b[2 * N + 5] = (double)NAN;
    for (int64_t i = 0; i < N; i++) {
        s.b[3 * N + i] *= 0x1p+600;
        s.b[4 * N + i] *= 0x1p-600;
    }
    solve_by(&s, &options);
    for (int64_t c = 0; c < 6; c++) {
        assert_int_equal(s.results[c].verified, c != 2);
        if (c != 2) { check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]); }
    }
    assert_int_equal(s.results[2].reason, TESS_REASON_NAN_OR_INF);
    discard_system(&s);
}

/* A breakdown is repaired in cycles of the column's own; an indefinite matrix is told for each. */
static void breakdowns_end_alone(void **state)
{
    system_of s = make_system(oracle_tridiagonal(N, -1.0, 0.5, -1.0), 4);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    solve_by(&s, &options);
    for (int64_t c = 0; c < 4; c++) {
        double *alone = test_allocate(N, sizeof *alone);
        const tess_solve_result one = solve_once(s.ctx, &s.a, &options, s.b + c * N, alone);

        assert_int_equal(s.results[c].converged, one.converged);
        assert_int_equal(s.results[c].reason, one.reason);
        free(alone);
    }
    options = solve_options(TESS_SOLVER_MINRES);
    options.max_iterations = 4 * N;
    memset(s.x, 0, (size_t)(4 * N) * sizeof *s.x);
    solve_by(&s, &options);
    for (int64_t c = 0; c < 4; c++) {
        assert_int_equal(s.results[c].verified, 1);
        check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]);
    }
    discard_system(&s);
}

/* The same bits on every call, for any number of threads, and whether values lie by columns or by rows. */
static void bits_depend_on_the_values_alone(void **state)
{
    const oracle_csr a = oracle_laplace2d(SIDE);
    system_of s = make_system(a, 5);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    double *by_row = test_allocate(5 * N, sizeof *by_row), *rhs = test_allocate(5 * N, sizeof *rhs);
    tess_context *ctx = open_device(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    const tess_columns b = tess_columns_by_row(N, 5, rhs, TESS_MEMORY_HOST),
                       x = tess_columns_by_row(N, 5, by_row, TESS_MEMORY_HOST);

    (void)state;
    solve_by(&s, &options);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t c = 0; c < 5; c++) {
            rhs[i * 5 + c] = s.b[c * N + i];
            by_row[i * 5 + c] = 0.0;
        }
    }
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    assert_ok(ctx, tess_solver_solve_many(solver, &b, &x, s.results));
    for (int64_t i = 0; i < N; i++) {
        for (int64_t c = 0; c < 5; c++) {
            assert_true(same_bits(&by_row[i * 5 + c], &s.x[c * N + i], 1));
        }
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    free(by_row);
    free(rhs);
    discard_system(&s);
}

/* An initial guess that is right needs nothing; a limit of iterations holds for each column. */
static void guesses_and_limits_are_of_a_column(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 4);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    double *first = test_allocate(N, sizeof *first);

    (void)state;
    solve_by(&s, &options);
    memcpy(first, s.x, N * sizeof *first);
    memset(s.x + N, 0, (size_t)(3 * N) * sizeof *s.x);
    options.max_iterations = 7;
    solve_by(&s, &options);
    assert_int_equal(s.results[0].iterations, 0);
    assert_int_equal(s.results[0].verified, 1);
    assert_true(same_bits(s.x, first, N));
    for (int64_t c = 1; c < 4; c++) {
        assert_int_equal(s.results[c].iterations, 7);
        assert_int_equal(s.results[c].reason, TESS_REASON_ITERATIONS);
    }
    free(first);
    discard_system(&s);
}

static int stop_at_five(void *user, const tess_progress *progress)
{
    *(int *)user += 1;
    return progress->iteration >= 5;
}

static void the_monitor_stops_all_columns(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 4);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    int calls = 0;

    (void)state;
    options.monitor = stop_at_five;
    options.monitor_user = &calls;
    solve_by(&s, &options);
    assert_in_range(calls, 5, 6);
    for (int64_t c = 0; c < 4; c++) {
        assert_int_equal(s.results[c].reason, TESS_REASON_CANCELLED);
        assert_in_range(s.results[c].iterations, 5, 6);
    }
    discard_system(&s);
}

/* The matrix of the iterations may be a rounded one: the guard raises it, for each column. */
static void a_low_precision_is_repaired(void **state)
{
    system_of s = make_system(oracle_tridiagonal(N, -1.0, 2.1, -1.0), 4);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    options.storage.precision = TESS_PRECISION_BF16;
    solve_by(&s, &options);
    for (int64_t c = 0; c < 4; c++) {
        assert_int_equal(s.results[c].verified, 1);
        check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]);
    }
    discard_system(&s);
}

static void wrong_arrays_are_refused(void **state)
{
    system_of s = make_system(oracle_laplace2d(4), 2);
    tess_solver *solver = NULL;
    tess_columns b = tess_columns_by_column(16, 2, s.b, TESS_MEMORY_HOST),
                 x = tess_columns_by_column(16, 2, s.x, TESS_MEMORY_HOST);

    (void)state;
    assert_ok(s.ctx, tess_solver_create(s.m, NULL, &solver));
    for (int c = 0; c < 2; c++) {
        tess_solve_result_init(&s.results[c]);
    }
    b.rows = 15;
    assert_int_equal(tess_solver_solve_many(solver, &b, &x, s.results), TESS_DIMENSION_MISMATCH);
    b.rows = 16;
    x.columns = 1;
    assert_int_equal(tess_solver_solve_many(solver, &b, &x, s.results), TESS_DIMENSION_MISMATCH);
    x.columns = 2;
    x.data = b.data;
    assert_int_equal(tess_solver_solve_many(solver, &b, &x, s.results), TESS_INVALID_ARGUMENT);
    x.data = NULL;
    assert_int_equal(tess_solver_solve_many(solver, &b, &x, s.results), TESS_INVALID_ARGUMENT);
    x.data = s.x;
    x.where = TESS_MEMORY_DEVICE;
    assert_int_equal(tess_solver_solve_many(solver, &b, &x, s.results), TESS_INVALID_ARGUMENT);
    x.where = TESS_MEMORY_HOST;
    s.results[1].size = 0;
    assert_int_equal(tess_solver_solve_many(solver, &b, &x, s.results), TESS_INVALID_ARGUMENT);
    b.columns = x.columns = 0;
    assert_ok(s.ctx, tess_solver_solve_many(solver, &b, &x, s.results));
    tess_solver_destroy(solver);
    discard_system(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(methods_of_the_common_loop),
                                       cmocka_unit_test(multigrid_of_columns),
                                       cmocka_unit_test(multigrid_for_convection_of_columns),
                                       cmocka_unit_test(block_jacobi_of_columns),
                                       cmocka_unit_test(other_preconditioners),
                                       cmocka_unit_test(polynomials_of_columns),
                                       cmocka_unit_test(short_rows_do_not_pay_for_one_column_after_another),
                                       cmocka_unit_test(any_other_request_solves_too),
                                       cmocka_unit_test(columns_end_at_their_own_time),
                                       cmocka_unit_test(a_bad_column_harms_no_other),
                                       cmocka_unit_test(breakdowns_end_alone),
                                       cmocka_unit_test(bits_depend_on_the_values_alone),
                                       cmocka_unit_test(guesses_and_limits_are_of_a_column),
                                       cmocka_unit_test(the_monitor_stops_all_columns),
                                       cmocka_unit_test(a_low_precision_is_repaired),
                                       cmocka_unit_test(wrong_arrays_are_refused)};

    return cmocka_run_group_tests_name("unit.solve_many", tests, NULL, NULL);
}
