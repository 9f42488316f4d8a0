/* SPDX-License-Identifier: Apache-2.0 */
/* Several right-hand sides of methods whose columns have bases of their own: they restart within one loop, and each is
   what a solve of its own gives. */
#include <tessera/estimate.h>

#include "support/columns_system.h"
#include "support/heap.h"

enum { SIDE = 18, N = SIDE * SIDE, RESTART = 5 };

/* Convection and diffusion of five points, with small entries beside them that make rows of up to 49. */
static oracle_csr long_rows(void)
{
    oracle_csr a = oracle_open(N, N);

    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            const int64_t dx = j % SIDE - i % SIDE, dy = j / SIDE - i / SIDE, far = llabs(dx) + llabs(dy);

            if (llabs(dx) > 3 || llabs(dy) > 3) { continue; }
            oracle_push(&a, j, far == 0 ? 5.0 : far > 1 ? 0x1p-12 : dx + dy > 0 ? -1.0 : -1.3);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* x -> x one place on: GMRES makes no progress before all of the space. Zeros are stored, so that rows are long. */
static oracle_csr circulant(void)
{
    oracle_csr a = oracle_open(N, N);

    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            const int64_t distance = (j - i + N) % N;

            if (distance < 30) { oracle_push(&a, j, distance == 1 ? 1.1 : 0.0); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static int count_calls(void *user, const tess_progress *progress)
{
    (void)progress;
    *(int64_t *)user += 1;
    return 0;
}

static int64_t most_iterations(const system_of *s)
{
    int64_t most = 0;

    for (int64_t c = 0; c < s->k; c++) {
        most = s->results[c].iterations > most ? s->results[c].iterations : most;
    }
    return most;
}

/* Each column is verified, honest, and took about as many iterations as alone: products have another order of sums. */
static void check_columns(system_of *s, const tess_solve_options *options)
{
    double *alone = test_allocate(s->a.nrows, sizeof *alone);

    for (int64_t c = 0; c < s->k; c++) {
        const tess_solve_result *r = &s->results[c];
        const tess_solve_result one = solve_once(s->ctx, &s->a, options, s->b + c * s->a.nrows, alone);

        assert_int_equal(r->verified, one.verified);
        assert_int_equal(r->reason, one.reason);
        assert_in_range(r->iterations, one.iterations * 3 / 4, one.iterations * 5 / 4 + 2);
        assert_int_equal(r->history_length, options->history_capacity > 0 ? r->iterations + 1 : 0);
        check_honest(&s->a, s->b + c * s->a.nrows, s->x + c * s->a.nrows, options, r);
    }
    free(alone);
}

/* One loop: a monitor sees an iteration of all columns once, but for those that the guard adds to a column. */
static void check_together(system_of *s, tess_solve_options options)
{
    int64_t calls = 0;
    tess_solver *solver = NULL;

    options.monitor = count_calls;
    options.monitor_user = &calls;
    assert_ok(s->ctx, tess_solver_create(s->m, &options, &solver));
    assert_int_equal(tess_solver_columns_together(solver, s->k), s->k);
    memset(s->x, 0, (size_t)(s->a.nrows * s->k) * sizeof *s->x);
    assert_ok(s->ctx, solve_all(s, solver));
    assert_in_range(calls, most_iterations(s), 3 * most_iterations(s) / 2);
    options.monitor = NULL;
    options.history_capacity = 0; /* those of the results end with the solver */
    for (int64_t c = 0; c < s->k; c++) {
        s->results[c].history_length = 0;
    }
    check_columns(s, &options);
    tess_solver_destroy(solver);
}

static tess_solve_options restarted(tess_solver_kind kind)
{
    tess_solve_options o = solve_options(kind);

    o.gmres.restart = RESTART;
    return o;
}

static void columns_restart_together(void **state)
{
    static const struct {
        tess_solver_kind solver;
        tess_precond_kind precond;
        tess_orthogonalization way;
        tess_precision basis;
        int k;
    } cases[] = {
        {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_ORTHOGONALIZATION_CGS2_DELAYED, TESS_PRECISION_FP64, 8},
        {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_ORTHOGONALIZATION_CGS2, TESS_PRECISION_FP32, 5},
        {TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI, TESS_ORTHOGONALIZATION_CGS2, TESS_PRECISION_FP64, 4},
        {TESS_SOLVER_GMRES, TESS_PRECOND_ILU0, TESS_ORTHOGONALIZATION_CGS2_DELAYED, TESS_PRECISION_FP64, 6},
        {TESS_SOLVER_GMRES, TESS_PRECOND_BLOCK_JACOBI, TESS_ORTHOGONALIZATION_CGS2_DELAYED, TESS_PRECISION_FP64, 8},
        {TESS_SOLVER_FGMRES, TESS_PRECOND_NONE, TESS_ORTHOGONALIZATION_CGS2, TESS_PRECISION_FP64, 4},
        {TESS_SOLVER_FGMRES, TESS_PRECOND_JACOBI_SWEEPS, TESS_ORTHOGONALIZATION_CGS2, TESS_PRECISION_FP64, 5},
        {TESS_SOLVER_FGMRES, TESS_PRECOND_BLOCK_JACOBI, TESS_ORTHOGONALIZATION_CGS2, TESS_PRECISION_FP64, 8},
        {TESS_SOLVER_GMRES_IR, TESS_PRECOND_NONE, TESS_ORTHOGONALIZATION_CGS2_DELAYED, TESS_PRECISION_FP64, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        system_of s = make_system(long_rows(), cases[i].k);
        tess_solve_options options = restarted(cases[i].solver);

        options.precond.kind = cases[i].precond;
        options.gmres.orthogonalization = cases[i].way;
        options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
        options.gmres.basis = (tess_role_precision){1, cases[i].basis, TESS_ARITHMETIC_FP64};
        check_together(&s, options);
        assert_true(most_iterations(&s) > RESTART);
        discard_system(&s);
    }
}

/* The bits of columns do not depend on threads or on the call; histories go through restarts. */
static void columns_repeat_and_have_histories(void **state)
{
    system_of s = make_system(long_rows(), 4);
    tess_solve_options options = restarted(TESS_SOLVER_GMRES);
    double *first = test_allocate(4 * N, sizeof *first);
    tess_solver *solver = NULL;

    (void)state;
    options.history_capacity = 1000;
    assert_ok(s.ctx, tess_solver_create(s.m, &options, &solver));
    for (int turn = 0; turn < 2; turn++) {
        memset(s.x, 0, (size_t)(4 * N) * sizeof *s.x);
        assert_ok(s.ctx, solve_all(&s, solver));
        if (turn == 0) { memcpy(first, s.x, 4 * N * sizeof *first); }
    }
    assert_true(same_bits(first, s.x, 4 * N));
    for (int c = 0; c < 4; c++) {
        const tess_solve_result *r = &s.results[c];

        assert_int_equal(r->history_length, r->iterations + 1);
        for (int64_t i = 1; i <= r->iterations; i++) { /* GMRES's residuals never grow, but for rounding */
            assert_true(r->history[i] <= r->history[i - 1] * (1.0 + 1e-6));
        }
        assert_true(r->history[r->iterations] <= r->tolerance);
    }
    tess_solver_destroy(solver);
    free(first);
    discard_system(&s);
}

/* A column of zeros, one that is no number, ones of extreme size, and ones that need few iterations: eigenvectors of a
   matrix with three eigenvalues. The last one goes on alone in the loop. */
static void columns_end_at_their_own_time(void **state)
{
    oracle_csr a = circulant();

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = a.col_ind[k] != i ? 0.0 : i == 0 ? 1.0 : i % 2 ? 2.0 : 3.0 + (double)i / N;
        }
    }
    system_of s = make_system(a, 8);
    tess_solve_options options = restarted(TESS_SOLVER_GMRES);

    memset(s.b, 0, (size_t)(7 * N) * sizeof *s.b);
    s.b[1 * N] = 1.0;
    for (int64_t i = 1; i < N; i += 2) {
        s.b[2 * N + i] = 0x1p+600;
        s.b[3 * N + i] = 0x1p-600;
        s.b[4 * N + i] = 1.0;
    }
    s.b[4 * N] = 1.0;
    s.b[5 * N + 7] = (double)NAN;
    s.b[6 * N + 2] = s.b[6 * N + 4] = 1.0;
    solve_by(&s, &options);
    for (int c = 0; c < 8; c++) {
        static const int iterations[] = {0, 1, 1, 1, 2, 0, 2};

        assert_int_equal(s.results[c].verified, c != 5);
        if (c < 7) { assert_int_equal(s.results[c].iterations, iterations[c]); }
        if (c != 5) { check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]); }
    }
    assert_int_equal(s.results[5].reason, TESS_REASON_NAN_OR_INF);
    assert_true(s.results[7].iterations > 5);
    discard_system(&s);
}

/* Column 0 has converged when all bases are full. Where there is no progress the guard goes on with each alone. */
static void check_full_bases(tess_precision storage)
{
    system_of s = make_system(circulant(), 4);
    tess_solve_options options = restarted(TESS_SOLVER_GMRES);

    options.storage.precision = storage;
    options.max_iterations = 40;
    memset(s.b, 0, N * sizeof *s.b);
    s.b[3] = 1.0; /* e_3 = A e_4, which no basis of fewer than n vectors has */
    solve_by(&s, &options);
    for (int last = 0; last < 3; last++) {
        options.return_last = last;
        memset(s.x, 0, 4 * N * sizeof *s.x);
        solve_by(&s, &options);
        for (int c = 0; c < 4; c++) {
            double x[N] = {0.0};
            const tess_solve_result one = solve_once(s.ctx, &s.a, &options, s.b + c * N, x);

            assert_int_equal(s.results[c].reason, one.reason);
            assert_int_equal(s.results[c].iterations, one.iterations);
            assert_int_equal(s.results[c].escalated, storage != TESS_PRECISION_FP64);
            assert_true(fabs(s.results[c].residual_norm - one.residual_norm) <= 1e-10 * one.residual_norm);
            for (int i = 0; i < N; i++) {
                assert_true(fabs(s.x[c * N + i] - x[i]) <= 1e-10 * (fabs(x[i]) + 1.0));
            }
        }
    }
    discard_system(&s);
}

static void a_full_basis_is_judged(void **state)
{
    (void)state;
    check_full_bases(TESS_PRECISION_FP64);
    check_full_bases(TESS_PRECISION_BF16);
}

/* A singular matrix: a breakdown, which has its reason for each column. */
static void breakdowns_end_alone(void **state)
{
    oracle_csr a = circulant();

    (void)state;
    for (int64_t k = a.row_ptr[0]; k < a.row_ptr[1]; k++) {
        a.val[k] = 0.0;
    }
    for (int kind = 0; kind < 2; kind++) {
        system_of s = make_system(oracle_copy(&a), 4);
        tess_solve_options options = restarted(kind ? TESS_SOLVER_FGMRES : TESS_SOLVER_GMRES);

        options.max_iterations = 4 * N;
        memset(s.b, 0, (size_t)(3 * N) * sizeof *s.b);
        s.b[0] = 1.0; /* A e_1 = 0, A e_0 = 0: nothing to build on */
        s.b[N + 1] = 1.0;
        s.b[2 * N + 5] = s.b[2 * N] = 1.0;
        solve_by(&s, &options);
        check_columns(&s, &options);
        discard_system(&s);
    }
    oracle_free(&a);
}

/* Limits hold within a cycle and between two; a request to end is for all columns. */
static int stop_at(void *user, const tess_progress *progress)
{
    return progress->iteration >= *(int64_t *)user;
}

static void limits_end_all_columns(void **state)
{
    static const int64_t limits[] = {1, RESTART - 1, RESTART, RESTART + 1, 2 * RESTART};
    system_of s = make_system(long_rows(), 4);

    (void)state;
    for (int i = 0; i < 10; i++) {
        const bool by_monitor = i >= 5;
        int64_t limit = limits[i % 5];
        tess_solve_options options = restarted(i % 2 ? TESS_SOLVER_FGMRES : TESS_SOLVER_GMRES);

        options.precond.kind = i % 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
        options.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
        if (by_monitor) {
            options.monitor = stop_at;
            options.monitor_user = &limit;
        } else {
            options.max_iterations = limit;
        }
        memset(s.x, 0, (size_t)(4 * N) * sizeof *s.x);
        solve_by(&s, &options);
        for (int c = 0; c < 4; c++) {
            assert_int_equal(s.results[c].reason, by_monitor ? TESS_REASON_CANCELLED : TESS_REASON_ITERATIONS);
            assert_in_range(s.results[c].iterations, limit, limit + by_monitor);
            assert_true(s.results[c].residual_norm < s.results[c].rhs_norm);
        }
    }
    discard_system(&s);
}

/* A rounded matrix: cycles of progress stay in the loop, what follows is each column's own. */
static void a_low_precision_is_repaired(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        system_of s = make_system(long_rows(), 5);
        tess_solve_options options = restarted(k % 2 ? TESS_SOLVER_FGMRES : TESS_SOLVER_GMRES);

        options.precond.kind = k < 2 ? TESS_PRECOND_NONE : TESS_PRECOND_BLOCK_JACOBI;
        options.storage.precision = TESS_PRECISION_BF16;
        solve_by(&s, &options);
        for (int c = 0; c < 5; c++) {
            assert_int_equal(s.results[c].verified, 1);
            check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]);
        }
        discard_system(&s);
    }
}

/* Vectors in FP32 and short rows on a host are for one column after another. */
static void other_requests_go_one_after_another(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        system_of s = make_system(k < 2 ? long_rows() : oracle_convection2d(SIDE, 0.3), 4);
        tess_solve_options options = restarted(k == 0 ? TESS_SOLVER_GMRES_IR : TESS_SOLVER_GMRES);
        tess_solve_estimate estimate;
        tess_solver *solver = NULL;

        if (k == 1) { options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}; }
        tess_solve_estimate_init(&estimate);
        assert_ok(s.ctx, tess_solve_estimate_columns(s.m, &options, 4, &estimate));
        assert_int_equal(estimate.together, 1);
        assert_ok(s.ctx, tess_solver_create(s.m, &options, &solver));
        assert_int_equal(tess_solver_columns_together(solver, 4), 1);
        assert_ok(s.ctx, solve_all(&s, solver));
        for (int c = 0; c < 4; c++) {
            assert_int_equal(s.results[c].verified, 1);
        }
        tess_solver_destroy(solver);
        discard_system(&s);
    }
}

/* The estimate has each column's basis; FGMRES has two. */
static void bases_are_told_before(void **state)
{
    system_of s = make_system(long_rows(), 8);
    int64_t loop[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_solve_options options = solve_options(k == 2 ? TESS_SOLVER_FGMRES : TESS_SOLVER_GMRES);
        tess_solve_estimate estimate;

        options.gmres.restart = k == 0 ? RESTART : 100;
        options.precond.kind = TESS_PRECOND_JACOBI;
        tess_solve_estimate_init(&estimate);
        assert_ok(s.ctx, tess_solve_estimate_columns(s.m, &options, 8, &estimate));
        assert_int_equal(estimate.together, 8);
        loop[k] = estimate.loop;
    }
    assert_true(loop[1] - loop[0] >= 8 * N * (100 - RESTART) * (int64_t)sizeof(double));
    assert_true(loop[2] - loop[1] >= 8 * N * (100 - 1) * (int64_t)sizeof(double));
    discard_system(&s);
}

/* Each allocation of a call fails once: nothing is lost, and the call after it works. */
static void allocations_may_fail(void **state)
{
    oracle_csr a = long_rows();

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        heap memory = {.fail_at = -1};
        tess_context_options device;
        tess_context *ctx = NULL;
        tess_solver *solver = NULL;
        tess_solve_options options = restarted(kind ? TESS_SOLVER_FGMRES : TESS_SOLVER_GMRES);
        double *values = random_values(N * 4, 5, -1.0, 1.0), *out = test_allocate(N * 4, sizeof *out);
        const tess_columns b = tess_columns_by_column(N, 4, values, TESS_MEMORY_HOST);
        const tess_columns x = tess_columns_by_column(N, 4, out, TESS_MEMORY_HOST);
        bool failed = true;

        tess_context_options_init(&device);
        device.device = TESS_DEVICE_CPU;
        device.threads = 1;
        device.host_allocator = heap_allocator(&memory);
        assert_ok(NULL, tess_context_create(&device, &ctx));
        options.precond.kind = kind ? TESS_PRECOND_BLOCK_JACOBI : TESS_PRECOND_NONE;
        tess_matrix *m = make_matrix(ctx, &a);
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int64_t k = 0; failed; k++) {
            tess_solve_result results[4];
            tess_status status = TESS_SUCCESS;

            for (int c = 0; c < 4; c++) {
                tess_solve_result_init(&results[c]);
            }
            memset(out, 0, (size_t)(N * 4) * sizeof *out);
            heap_fail_at(&memory, k);
            status = tess_solver_solve_many(solver, &b, &x, results);
            failed = memory.calls > k;
            memory.fail_at = -1;
            assert_int_equal(status, failed ? TESS_OUT_OF_MEMORY : TESS_SUCCESS);
            assert_int_equal(results[3].verified, !failed);
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        assert_int_equal(memory.live, 0);
        free(values);
        free(out);
    }
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_restart_together),      cmocka_unit_test(columns_repeat_and_have_histories),
        cmocka_unit_test(columns_end_at_their_own_time), cmocka_unit_test(a_full_basis_is_judged),
        cmocka_unit_test(breakdowns_end_alone),          cmocka_unit_test(limits_end_all_columns),
        cmocka_unit_test(a_low_precision_is_repaired),   cmocka_unit_test(other_requests_go_one_after_another),
        cmocka_unit_test(bases_are_told_before),         cmocka_unit_test(allocations_may_fail),
    };

    return cmocka_run_group_tests_name("unit.many_restarts", tests, NULL, NULL);
}
