/* SPDX-License-Identifier: Apache-2.0 */
/* Several right-hand sides of least squares: one loop, in which each is what a solve of its own gives. */
#include <tessera/estimate.h>
#include <tessera/many.h>

#include "support/heap.h"
#include "support/least_squares.h"
#include "support/solve.h"

enum { M = 90, N = 60, K = 8 };

typedef struct sides {
    tess_context *ctx;
    oracle_csr a;
    tess_matrix *m;
    int64_t rows, columns;
    int k;
    double *b, *x;
    tess_solve_result results[K];
} sides;

static sides open_sides(tess_context *ctx, oracle_csr a, int k)
{
    sides s = {.ctx = ctx, .a = a, .rows = a.nrows, .columns = a.ncols, .k = k};

    s.m = make_matrix(ctx, &s.a);
    s.b = random_values(s.rows * k, 11, -1.0, 1.0);
    s.x = test_allocate(s.columns * k, sizeof *s.x);
    memset(s.x, 0, (size_t)(s.columns * k) * sizeof *s.x);
    return s;
}

static void close_sides(sides *s)
{
    tess_matrix_destroy(s->m);
    oracle_free(&s->a);
    free(s->b);
    free(s->x);
}

static tess_status solve_all(sides *s, tess_solver *solver)
{
    const tess_columns b = tess_columns_by_column(s->rows, s->k, s->b, TESS_MEMORY_HOST);
    const tess_columns x = tess_columns_by_column(s->columns, s->k, s->x, TESS_MEMORY_HOST);

    for (int c = 0; c < s->k; c++) {
        tess_solve_result_init(&s->results[c]);
    }
    return tess_solver_solve_many(solver, &b, &x, s->results);
}

/* Column c alone, from zero. */
static tess_solve_result solve_one(const sides *s, const tess_solve_options *options, int c, double *x)
{
    tess_vector *b = make_vector(s->ctx, s->rows, s->b + c * s->rows), *out = NULL;
    tess_solver *solver = NULL;
    tess_solve_result r;

    tess_solve_result_init(&r);
    assert_ok(s->ctx, tess_vector_create(s->ctx, s->columns, TESS_PRECISION_FP64, &out));
    assert_ok(s->ctx, tess_solver_create(s->m, options, &solver));
    assert_ok(s->ctx, tess_solver_solve(solver, b, out, &r));
    assert_ok(s->ctx, tess_vector_get(out, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(out);
    return r;
}

static tess_solve_options options_of(tess_solver_kind kind)
{
    tess_solve_options o = solve_options(kind);

    o.rtol = 1e-9;
    o.history_capacity = 3000;
    return o;
}

/* As alone: the reason, and about as many iterations, as the products have another order of sums. */
static void check_columns(const sides *s, const tess_solve_options *options)
{
    double *alone = test_allocate(s->columns, sizeof *alone);

    for (int c = 0; c < s->k; c++) {
        const tess_solve_result *r = &s->results[c];
        const tess_solve_result one = solve_one(s, options, c, alone);

        assert_int_equal(r->reason, one.reason);
        assert_int_equal(r->verified, one.verified);
        assert_int_equal(r->converged, one.converged);
        assert_in_range(r->iterations + 1, one.iterations * 9 / 10, one.iterations * 11 / 10 + 4);
        assert_int_equal(r->history_length, r->iterations + 1);
        if (!isfinite(one.residual_norm)) { continue; }
        assert_true(fabs(r->residual_norm - one.residual_norm) <= 1e-6 * r->rhs_norm);
        assert_true(r->history[0] == r->rhs_norm || r->rhs_norm == 0.0);
        assert_true(wide_abs(oracle_residual_norm(&s->a, s->b + c * s->rows, s->x + c * s->columns) -
                             (wide)r->residual_norm) <= (wide)(r->residual_bound + 1e-300));
    }
    free(alone);
}

static int count_calls(void *user, const tess_progress *progress)
{
    (void)progress;
    *(int64_t *)user += 1;
    return 0;
}

/* In one loop: a monitor sees fewer iterations than two columns have. */
static void check_together(sides *s, tess_solve_options options)
{
    int64_t calls = 0, most = 0, sum = 0;
    tess_solver *solver = NULL;

    options.monitor = count_calls;
    options.monitor_user = &calls;
    assert_ok(s->ctx, tess_solver_create(s->m, &options, &solver));
    assert_int_equal(tess_solver_columns_together(solver, s->k), s->k);
    assert_ok(s->ctx, solve_all(s, solver));
    for (int c = 0; c < s->k; c++) {
        most = s->results[c].iterations > most ? s->results[c].iterations : most;
        sum += s->results[c].iterations;
    }
    assert_true(calls >= most && 2 * calls <= sum + most);
    options.monitor = NULL;
    check_columns(s, &options);
    tess_solver_destroy(solver);
}

static void columns_share_a_loop(void **state)
{
    static const int64_t shapes[][2] = {{M, N}, {N, M}, {N, N}};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 12; k++) {
        sides s = open_sides(ctx, dense_random(shapes[k % 3][0], shapes[k % 3][1], 3, 1.0), k % 2 ? 8 : 5);
        tess_solve_options options = options_of(k % 2 ? TESS_SOLVER_LSMR : TESS_SOLVER_LSQR);

        options.precond.kind = k / 3 % 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
        if (k >= 6) { options.storage.precision = TESS_PRECISION_FP32; }
        check_together(&s, options);
        close_sides(&s);
    }
    tess_context_destroy(ctx);
}

/* No iteration, a few, many: zero, a column of A^T's range, one that is no number, sizes whose squares no FP64 number
   has, b at right angles to the range of A. */
static void columns_end_at_their_own_time(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        oracle_csr a = oracle_open(M, N);
        tess_solve_options options = options_of(kind ? TESS_SOLVER_LSMR : TESS_SOLVER_LSQR);
        tess_solver *solver = NULL;

        for (int i = 0; i < M; i++) { /* a diagonal above rows of zeros */
            if (i < N) { oracle_push(&a, i, 1.0 + (double)(i % 20) / 20.0); }
            oracle_end_row(&a, i);
        }
        sides s = open_sides(ctx, a, K);
        memset(s.b, 0, (size_t)(6 * M) * sizeof *s.b);
        s.b[1 * M + 3] = 5.0;
        s.b[2 * M + 5] = (double)NAN;
        s.b[3 * M + 7] = 0x1p+600;
        s.b[4 * M + 7] = 0x1p-600;
        s.b[5 * M + N + 2] = 1.0;
        memcpy(s.x, s.b + 6 * M, N * sizeof *s.x); /* a guess for b = 0 is of no use */
        assert_ok(ctx, tess_solver_create(s.m, &options, &solver));
        assert_ok(ctx, solve_all(&s, solver));
        memset(s.x + 2 * N, 0, N * sizeof *s.x);
        check_columns(&s, &options);
        assert_int_equal(s.results[1].iterations, 1);
        assert_int_equal(s.results[2].reason, TESS_REASON_NAN_OR_INF);
        assert_true(s.results[3].verified && s.results[4].verified && s.results[7].iterations > 10);
        tess_solver_destroy(solver);
        close_sides(&s);
    }
    tess_context_destroy(ctx);
}

static int stop_at_seven(void *user, const tess_progress *progress)
{
    (void)user;
    return progress->iteration >= 7;
}

/* Limits of iterations, of time and by a monitor are of all columns. */
static void limits_end_all_columns(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 6; k++) {
        static const tess_reason reasons[] = {TESS_REASON_ITERATIONS, TESS_REASON_CANCELLED, TESS_REASON_TIME_LIMIT};
        sides s = open_sides(ctx, dense_random(M, N, 3, 1.0), 4);
        tess_solve_options options = options_of(k % 2 ? TESS_SOLVER_LSMR : TESS_SOLVER_LSQR);
        tess_solver *solver = NULL;

        options.history_capacity = 5;
        if (k / 2 == 0) { options.max_iterations = 7; }
        if (k / 2 == 1) { options.monitor = stop_at_seven; }
        if (k / 2 == 2) { options.time_limit = 1e-12; }
        assert_ok(ctx, tess_solver_create(s.m, &options, &solver));
        assert_ok(ctx, solve_all(&s, solver));
        for (int c = 0; c < 4; c++) {
            assert_int_equal(s.results[c].reason, reasons[k / 2]);
            assert_int_equal(s.results[c].iterations, k / 2 == 2 ? 1 : 7);
            assert_int_equal(s.results[c].history_length, k / 2 == 2 ? 2 : 5);
            assert_true(s.results[c].residual_norm < s.results[c].rhs_norm);
        }
        tess_solver_destroy(solver);
        close_sides(&s);
    }
    tess_context_destroy(ctx);
}

/* More than one loop takes; the same bits by any number of threads. Memory is told before. */
static void slices_and_bits(void **state)
{
    enum { COUNT = 11 };
    double *first = test_allocate(N * COUNT, sizeof *first), *values = random_values(M * COUNT, 2, -1.0, 1.0);
    double *x = test_allocate(N * COUNT, sizeof *x);

    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        tess_context *ctx = open_device(threads);
        sides s = open_sides(ctx, dense_random(M, N, 3, 1.0), 1);
        tess_solve_options options = options_of(TESS_SOLVER_LSQR);
        const tess_columns vb = tess_columns_by_column(M, COUNT, values, TESS_MEMORY_HOST),
                           vx = tess_columns_by_column(N, COUNT, x, TESS_MEMORY_HOST);
        tess_solve_result results[COUNT];
        tess_solve_estimate told;
        tess_solver *solver = NULL;

        for (int c = 0; c < COUNT; c++) {
            tess_solve_result_init(&results[c]);
        }
        memset(x, 0, (size_t)(N * COUNT) * sizeof *x);
        tess_solve_estimate_init(&told);
        assert_ok(ctx, tess_solve_estimate_columns(s.m, &options, COUNT, &told));
        assert_ok(ctx, tess_solver_create(s.m, &options, &solver));
        assert_int_equal(tess_solver_columns_together(solver, COUNT), told.together);
        assert_true(told.together == 8 && told.loop >= 8 * (3 + 6) * M * (int64_t)sizeof(double));
        assert_int_equal(tess_solver_columns_together(solver, 3), 1); /* of a small matrix */
        assert_ok(ctx, tess_solver_solve_many(solver, &vb, &vx, results));
        for (int c = 0; c < COUNT; c++) {
            assert_true(results[c].verified);
        }
        if (threads == 1) { memcpy(first, x, (size_t)(N * COUNT) * sizeof *x); }
        assert_true(same_bits(first, x, N * COUNT));
        tess_solver_destroy(solver);
        close_sides(&s);
        tess_context_destroy(ctx);
    }
    free(first);
    free(values);
    free(x);
}

/* Operators, the guard on `report` and a wish for the last iterate are for one column after another. */
static void other_requests_go_one_after_another(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    for (int k = 0; k < 3; k++) {
        sides s = open_sides(ctx, dense_random(M, N, 3, 1.0), 4);
        tess_solve_options options = options_of(TESS_SOLVER_LSQR);
        tess_solver *solver = NULL;

        if (k == 0) { options.guard = TESS_GUARD_REPORT; }
        if (k == 1) { options.return_last = 1; }
        if (k == 2) { options.max_iterations = 0; }
        assert_ok(ctx, tess_solver_create(s.m, &options, &solver));
        assert_int_equal(tess_solver_columns_together(solver, 4), 1);
        assert_ok(ctx, solve_all(&s, solver));
        assert_int_equal(s.results[3].iterations > 0, k < 2);
        tess_solver_destroy(solver);
        close_sides(&s);
    }
    tess_context_destroy(ctx);
}

/* Each allocation of a call fails once: nothing is lost, no result is left, and the call after it works. */
static void allocations_may_fail(void **state)
{
    heap memory = {.fail_at = -1};
    tess_context_options device;
    tess_context *ctx = NULL;
    tess_solve_options options = options_of(TESS_SOLVER_LSMR);
    tess_solver *solver = NULL;
    bool failed = true;

    (void)state;
    tess_context_options_init(&device);
    device.device = TESS_DEVICE_CPU;
    device.threads = 1;
    device.host_allocator = heap_allocator(&memory);
    assert_ok(NULL, tess_context_create(&device, &ctx));
    options.precond.kind = TESS_PRECOND_JACOBI;
    sides s = open_sides(ctx, dense_random(20, 12, 3, 1.0), 4);
    assert_ok(ctx, tess_solver_create(s.m, &options, &solver));
    for (int64_t k = 0; failed; k++) {
        tess_status status = TESS_SUCCESS;

        memset(s.x, 0, (size_t)(12 * 4) * sizeof *s.x);
        heap_fail_at(&memory, k);
        status = solve_all(&s, solver);
        failed = memory.calls > k;
        memory.fail_at = -1;
        assert_int_equal(status, failed ? TESS_OUT_OF_MEMORY : TESS_SUCCESS);
        assert_int_equal(s.results[3].verified, !failed);
    }
    tess_solver_destroy(solver);
    close_sides(&s);
    tess_context_destroy(ctx);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_share_a_loop),   cmocka_unit_test(columns_end_at_their_own_time),
        cmocka_unit_test(limits_end_all_columns), cmocka_unit_test(slices_and_bits),
        cmocka_unit_test(allocations_may_fail),   cmocka_unit_test(other_requests_go_one_after_another),
    };

    return cmocka_run_group_tests_name("unit.many_least_squares", tests, NULL, NULL);
}
