/* SPDX-License-Identifier: Apache-2.0 */
/* What a solve of several columns gives for each, where one column alone has it: its history, its last iterate; and
   limits of time and monitors where solver auto has chosen the method. */
#include <tessera/automatic.h>
#include <tessera/many.h>

#include "precond/polynomial/polynomial.h"
#include "solver/solver.h"
#include "support/heap.h"
#include "support/solve.h"

enum { SIDE = 16, N = SIDE * SIDE, K = 5 };

typedef struct system_of {
    tess_context *ctx;
    oracle_csr a;
    tess_matrix *m;
    tess_solver *solver;
    double *b, *x;
    tess_solve_result results[K];
} system_of;

static system_of make_system(oracle_csr a, const tess_solve_options *options)
{
    system_of s = {.ctx = open_device(2), .a = a};

    s.m = make_matrix(s.ctx, &s.a);
    s.b = random_values(N * K, 5, -1.0, 1.0);
    s.x = test_allocate(N * K, sizeof *s.x);
    memset(s.x, 0, N * K * sizeof *s.x);
    assert_ok(s.ctx, tess_solver_create(s.m, options, &s.solver));
    return s;
}

static void discard_system(system_of *s)
{
    tess_solver_destroy(s->solver);
    tess_matrix_destroy(s->m);
    tess_context_destroy(s->ctx);
    oracle_free(&s->a);
    free(s->b);
    free(s->x);
}

static void solve_columns(system_of *s)
{
    const tess_columns b = tess_columns_by_column(N, K, s->b, TESS_MEMORY_HOST);
    const tess_columns x = tess_columns_by_column(N, K, s->x, TESS_MEMORY_HOST);

    for (int c = 0; c < K; c++) {
        tess_solve_result_init(&s->results[c]);
    }
    assert_ok(s->ctx, tess_solver_solve_many(s->solver, &b, &x, s->results));
}

/* Column c alone, from zero, with a solver of the same options. */
static void solve_one(const system_of *s, const tess_solve_options *options, int c, double *x, tess_solve_result *r,
                      tess_solver **solver)
{
    tess_vector *b = make_vector(s->ctx, N, s->b + c * N), *out = NULL;

    assert_ok(s->ctx, tess_vector_create(s->ctx, N, TESS_PRECISION_FP64, &out));
    tess_solve_result_init(r);
    assert_ok(s->ctx, tess_solver_create(s->m, options, solver));
    assert_ok(s->ctx, tess_solver_solve(*solver, b, out, r));
    assert_ok(s->ctx, tess_vector_get(out, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_vector_destroy(b);
    tess_vector_destroy(out);
}

static tess_solve_options options_of(tess_solver_kind kind)
{
    tess_solve_options o;

    tess_solve_options_init(&o);
    o.solver = kind;
    o.rtol = 1e-8;
    return o;
}

/* Estimates agree but for the order of sums: 1e-6 is far above n u, and far below the steps of an iteration. */
static void each_column_has_its_history(void **state)
{
    (void)state;
    tess_solve_options options = options_of(TESS_SOLVER_CG);
    system_of s = make_system(oracle_laplace2d(SIDE), &options);

    solve_columns(&s);
    solve_columns(&s); /* which frees those of the first */
    memset(s.x, 0, N * K * sizeof *s.x);
    solve_columns(&s);
    for (int c = 0; c < K; c++) {
        const tess_solve_result *r = &s.results[c];
        tess_solve_result alone;
        tess_solver *solver = NULL;
        double x[N];

        solve_one(&s, &options, c, x, &alone, &solver);
        assert_int_equal(r->history_length, r->iterations + 1);
        for (int64_t i = 0; i < 10; i++) {
            assert_true(fabs(r->history[i] - alone.history[i]) <= 1e-6 * alone.history[i]);
        }
        assert_true(r->history[r->iterations] <= r->tolerance);
        tess_solver_destroy(solver);
    }
    discard_system(&s);
}

/* A diagonal from 1 to 1e4: the first iteration of CG makes the residual of most b larger, so that the best x is 0. */
static oracle_csr graded(void)
{
    double diagonal[N];

    for (int i = 0; i < N; i++) {
        diagonal[i] = pow(10.0, 4.0 * i / (N - 1));
    }
    return oracle_diagonal(N, diagonal);
}

static void check_last_iterates(int asked, int64_t limit)
{
    tess_solve_options options = options_of(TESS_SOLVER_CG);

    options.return_last = asked;
    options.max_iterations = limit;
    system_of s = make_system(graded(), &options);
    assert_int_equal(tess_solver_columns_together(s.solver, K), K);
    solve_columns(&s);
    for (int c = 0; c < K; c++) {
        tess_solve_result alone;
        tess_solver *solver = NULL;
        double x[N];

        solve_one(&s, &options, c, x, &alone, &solver);
        assert_int_equal(s.results[c].reason, TESS_REASON_ITERATIONS);
        assert_int_equal(alone.iterations, limit);
        assert_true((alone.residual_norm > alone.rhs_norm) == (asked != 0));
        assert_true(fabs(s.results[c].residual_norm - alone.residual_norm) <= 1e-6 * alone.residual_norm);
        for (int i = 0; i < N; i++) {
            assert_true(fabs(s.x[c * N + i] - x[i]) <= 1e-6 * (fabs(x[i]) + 1.0));
        }
        tess_solver_destroy(solver);
    }
    discard_system(&s);
}

static void the_last_iterate_is_each_columns_own(void **state)
{
    (void)state;
    for (int asked = 0; asked <= 2; asked++) {
        check_last_iterates(asked, 1);
    }
}

static int count_calls(void *user, const tess_progress *progress)
{
    (void)progress;
    *(int *)user += 1;
    return 0;
}

static int stop_after(void *user, const tess_progress *progress)
{
    int *left = user;

    (void)progress;
    return --*left <= 0 ? (int)TESS_REASON_INTERRUPTED : 0;
}

/* The method's own limits are those of its attempt, whose monitor ended with it. */
static void limits_hold_where_auto_has_chosen(void **state)
{
    (void)state;
    tess_solve_options options = options_of(TESS_SOLVER_AUTO);
    int calls = 0, left = 1000000;

    options.monitor = count_calls;
    options.monitor_user = &calls;
    system_of s = make_system(oracle_laplace2d(SIDE), &options);
    assert_int_equal(tess_solver_columns_together(s.solver, K), 1);
    solve_columns(&s);
    assert_int_equal(tess_solver_columns_together(s.solver, K), K);
    for (int c = 0; c < K; c++) {
        assert_true(s.results[c].verified);
    }
    const int64_t first = s.results[0].iterations;
    assert_true(calls > first); /* the first column alone, then all others at once */
    memset(s.x, 0, N * K * sizeof *s.x);
    left = (int)first + 5;
    options.monitor = stop_after;
    options.monitor_user = &left;
    assert_ok(s.ctx, tess_solver_set_limits(s.solver, &options));
    solve_columns(&s);
    assert_true(s.results[0].verified);
    for (int c = 1; c < K; c++) { /* stopped once, not gone on alone */
        assert_int_equal(s.results[c].reason, TESS_REASON_INTERRUPTED);
        assert_true(s.results[c].iterations < first);
    }
    options.return_last = 1; /* the last of several attempts */
    assert_ok(s.ctx, tess_solver_set_limits(s.solver, &options));
    assert_int_equal(tess_solver_columns_together(s.solver, K), 1);
    discard_system(&s);
}

/* A limit of time that is over lets each column begin. */
static void a_limit_of_time_is_that_of_all_columns(void **state)
{
    (void)state;
    const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_IDR};

    for (int k = 0; k < 2; k++) {
        tess_solve_options options = options_of(kinds[k]);
        system_of s = make_system(oracle_laplace2d(SIDE), &options);

        options.time_limit = 1e-12;
        assert_ok(s.ctx, tess_solver_set_limits(s.solver, &options));
        assert_int_equal(tess_solver_columns_together(s.solver, K), k == 0 ? K : 1);
        solve_columns(&s);
        for (int c = 0; c < K; c++) {
            assert_int_equal(s.results[c].reason, TESS_REASON_TIME_LIMIT);
        }
        options.time_limit = 1e6;
        assert_ok(s.ctx, tess_solver_set_limits(s.solver, &options));
        solve_columns(&s);
        assert_true(s.results[0].verified && s.results[K - 1].verified);
        discard_system(&s);
    }
    assert_int_equal(tess_solver_columns_together(NULL, K), 1);
}

static void no_iteration_is_none(void **state)
{
    (void)state;
    tess_solve_options options = options_of(TESS_SOLVER_CG);

    options.max_iterations = 0;
    system_of s = make_system(oracle_laplace2d(SIDE), &options);
    solve_columns(&s);
    for (int c = 0; c < K; c++) {
        assert_int_equal(s.results[c].iterations, 0);
        assert_int_equal(s.results[c].reason, TESS_REASON_ITERATIONS);
    }
    discard_system(&s);
}

/* ---- histories, and what a call leaves ---- */

static void scale_diagonal(oracle_csr *a, double shift)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            if (a->col_ind[k] == i) { a->val[k] += shift; }
        }
    }
}

/* b = 0, and a guess that is right: the history of such a column is the norm of its own first residual. */
static void a_column_without_iterations_has_a_history(void **state)
{
    (void)state;
    tess_solve_options options = options_of(TESS_SOLVER_CG);
    system_of s = make_system(oracle_laplace2d(SIDE), &options);

    solve_columns(&s);
    memset(s.x + N, 0, N * sizeof *s.x);
    memset(s.b + 2 * N, 0, N * sizeof *s.b);
    solve_columns(&s);
    for (int c = 0; c < K; c++) {
        assert_int_equal(s.results[c].history_length, s.results[c].iterations + 1);
    }
    assert_int_equal(s.results[0].iterations, 0);
    assert_true(same_bits(&s.results[0].history[0], &s.results[0].residual_norm, 1));
    assert_true(s.results[1].iterations > 0);
    assert_true(s.results[2].history[0] == s.results[2].residual_norm && s.results[2].residual_norm == 0.0);
    discard_system(&s);
}

/* The guard goes on in FP64 after the first column; the others begin in low precision. An indefinite matrix makes
   MINRES pause. Iterations differ by the order of sums alone. */
static void columns_of_minres_pause_and_go_on(void **state)
{
    (void)state;
    tess_solve_options options = options_of(TESS_SOLVER_MINRES);

    for (int low = 0; low < 2; low++) {
        oracle_csr a = oracle_laplace2d(SIDE);

        scale_diagonal(&a, -1.37);
        options.storage.precision = low ? TESS_PRECISION_E4M3 : TESS_PRECISION_FP64;
        options.max_iterations = 3000;
        system_of s = make_system(a, &options);
        assert_int_equal(tess_solver_columns_together(s.solver, K), K);
        solve_columns(&s);
        for (int c = 0; c < K; c++) {
            tess_solve_result alone;
            tess_solver *solver = NULL;
            double x[N];

            solve_one(&s, &options, c, x, &alone, &solver);
            assert_true(alone.verified && s.results[c].verified);
            assert_in_range(s.results[c].iterations, alone.iterations * 3 / 4, alone.iterations * 5 / 4);
            tess_solver_destroy(solver);
        }
        discard_system(&s);
    }
}

/* Values of x^T A x of both signs, which CG finds out, but not for the first column: an eigenvector. The other attempt
   goes on from where the column is, with what is left of the limits. */
static void another_attempt_goes_on_from_the_common_loop(void **state)
{
    (void)state;
    tess_solve_options options = options_of(TESS_SOLVER_AUTO);
    oracle_csr a = oracle_laplace2d(SIDE);
    const double least = 4.0 - 4.0 * cos(M_PI / (SIDE + 1));

    scale_diagonal(&a, -1.5 * least);
    system_of s = make_system(a, &options);
    for (int64_t i = 0; i < N; i++) {
        s.b[i] = (i / SIDE + i % SIDE) % 2 ? 1.0 : -1.0;
        s.b[i] *= sin(M_PI * (double)(i / SIDE + 1) / (SIDE + 1)) * sin(M_PI * (double)(i % SIDE + 1) / (SIDE + 1));
    }
    solve_columns(&s);
    for (int c = 0; c < K; c++) {
        const tess_solve_result *r = &s.results[c];

        assert_true(r->verified);
        assert_int_equal(r->history_length, r->iterations + 1);
        assert_true(fabs(r->history[0] - r->rhs_norm) <= 1e-12 * r->rhs_norm);
        assert_true(r->solve_seconds >= 0.0);
    }
    options.max_iterations = 1;
    memset(s.x, 0, N * K * sizeof *s.x);
    assert_ok(s.ctx, tess_solver_set_limits(s.solver, &options));
    solve_columns(&s);
    for (int c = 1; c < K; c++) {
        assert_true(s.results[c].iterations <= 1);
        assert_true(fabs(s.results[c].history[0] - s.results[c].rhs_norm) <= 1e-12 * s.results[c].rhs_norm);
    }
    discard_system(&s);
}

/* The form of CG and the engine that the caller names are those of the loop: it has the standard form. */
static void a_named_recurrence_is_used(void **state)
{
    (void)state;
    tess_solve_options options = options_of(TESS_SOLVER_CG);
    const tess_recurrence asked[] = {TESS_RECURRENCE_AUTO, TESS_RECURRENCE_STANDARD,
                                     TESS_RECURRENCE_PREDICT_AND_RECOMPUTE};

    for (int i = 0; i < 3; i++) {
        options.cg.recurrence = asked[i];
        system_of s = make_system(oracle_laplace2d(SIDE), &options);

        assert_int_equal(tess_solver_columns_together(s.solver, K), i < 2 ? K : 1);
        solve_columns(&s);
        assert_int_equal(s.results[1].cg.recurrence, i < 2 ? TESS_RECURRENCE_STANDARD : asked[i]);
        assert_true(s.results[1].verified && s.results[1].engine != TESS_ENGINE_AUTO);
        discard_system(&s);
    }
}

/* With memory that fails at call k: no result of the call before, and the next call works, also where the levels of
   multigrid were about to be raised (p = 1). *failed: the call did. */
static void fail_once(tess_solver *solver, heap *memory, const tess_columns *b, const tess_columns *x, int64_t k,
                      bool *failed)
{
    tess_solve_result results[K];
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < K; c++) {
        tess_solve_result_init(&results[c]);
        results[c].converged = results[c].verified = 1;
        results[c].reason = TESS_REASON_ATOL;
    }
    heap_fail_at(memory, k);
    status = tess_solver_solve_many(solver, b, x, results);
    *failed = memory->calls > k;
    memory->fail_at = -1;
    assert_true(status == TESS_SUCCESS || status == TESS_OUT_OF_MEMORY);
    for (int c = 0; c < K && status != TESS_SUCCESS; c++) {
        assert_true(results[c].reason != TESS_REASON_ATOL);
        assert_true(!results[c].verified || results[c].residual_norm <= results[c].tolerance);
    }
    memset(x->data, 0, N * K * sizeof *x->data);
    assert_int_equal(tess_solver_solve_many(solver, b, x, results), TESS_SUCCESS);
    for (int c = 0; c < K; c++) {
        assert_true(results[c].verified);
    }
}

static void a_call_that_fails_leaves_nothing(void **state)
{
    (void)state;
    const tess_amg_precision precisions[] = {TESS_AMG_PRECISION_FP64, TESS_AMG_PRECISION_FP32};
    oracle_csr matrices[] = {oracle_laplace2d(SIDE), oracle_laplace2d(SIDE)};
    double *const values = random_values(N * K, 5, -1.0, 1.0), *const out = test_allocate(N * K, sizeof *out);
    const tess_columns b = tess_columns_by_column(N, K, values, TESS_MEMORY_HOST);
    const tess_columns x = tess_columns_by_column(N, K, out, TESS_MEMORY_HOST);

    for (int64_t i = 0; i < matrices[1].row_ptr[N]; i++) { /* the vectors of a cycle leave the range of FP32 */
        matrices[1].val[i] *= 0x1p-280;
    }
    for (int64_t k = 0, failed = 1; k < 4000 && failed; k += k < 60 ? 1 : 7) {
        failed = 0;
        for (int p = 0; p < 2; p++) {
            heap memory = {.fail_at = -1};
            tess_context_options device;
            tess_context *ctx = NULL;
            tess_solve_options options = options_of(TESS_SOLVER_CG);
            tess_solver *solver = NULL;
            bool now = false;

            tess_context_options_init(&device);
            device.device = TESS_DEVICE_CPU;
            device.threads = 1;
            device.host_allocator = heap_allocator(&memory);
            assert_ok(NULL, tess_context_create(&device, &ctx));
            options.precond.kind = TESS_PRECOND_AMG;
            options.precond.amg.precision = precisions[p];
            options.precond.amg.coarsest = 10;
            tess_matrix *m = make_matrix(ctx, &matrices[p]);
            assert_ok(ctx, tess_solver_create(m, &options, &solver));
            memset(out, 0, N * K * sizeof *out);
            fail_once(solver, &memory, &b, &x, k, &now);
            failed += now;
            tess_solver_destroy(solver);
            tess_matrix_destroy(m);
            tess_context_destroy(ctx);
            assert_int_equal(memory.live, 0);
        }
    }
    oracle_free(&matrices[0]);
    oracle_free(&matrices[1]);
    free(values);
    free(out);
}

/* Columns of no rows need no array. */
static void no_rows_need_no_array(void **state)
{
    (void)state;
    tess_context *ctx = open_device(1);
    const oracle_csr a = oracle_open(0, 0);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    tess_solve_result results[3];
    const tess_columns none = {0, 3, 1, 5, NULL, TESS_MEMORY_HOST};

    assert_ok(ctx, tess_solver_create(m, NULL, &solver));
    for (int c = 0; c < 3; c++) {
        tess_solve_result_init(&results[c]);
    }
    assert_ok(ctx, tess_solver_solve_many(solver, &none, &none, results));
    assert_true(results[0].verified && results[2].verified);
    assert_ok(ctx, tess_matrix_spmm(m, 1.0, &none, 1.0, &none));
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

/* The roots of the polynomial after a solve of all columns, or of one after another by the same solver. */
static int roots_after(oracle_csr a, const tess_solve_options *options, bool together)
{
    system_of s = make_system(a, options);
    double x[N];
    int roots = 0;

    if (together) {
        assert_int_equal(tess_solver_columns_together(s.solver, K), K);
        solve_columns(&s);
    }
    for (int c = 0; c < K; c++) {
        if (!together) {
            memset(x, 0, sizeof x);
            s.results[c] = solve_with(s.solver, s.ctx, N, s.b + c * N, x);
        }
    }
    roots = polynomial_count_roots(&((const tess_polynomial *)tess_solver_precond(s.solver)->own)->roots);
    discard_system(&s);
    return roots;
}

/* Eigenvalues of about 1.06^i: entries beside the diagonal are small, and make rows long enough for a common loop. */
static oracle_csr steep(void)
{
    oracle_csr a = oracle_laplace2d(SIDE);

    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            const double size = pow(1.03, (double)(i + a.col_ind[k]));

            a.val[k] = a.col_ind[k] == i ? size : 0x1p-20 * size;
        }
    }
    return a;
}

/* Several columns find M^-1 indefinite in one loop. The first one mends it, which lowers the degree. The others go on
   with what it is now, and mend it no further. */
static void one_repair_of_a_preconditioner_serves_all_columns(void **state)
{
    static const struct {
        int degree;
        uint64_t seed;
    } cases[] = {{3, 2}, {5, 2}, {7, 5}};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tess_solve_options options = options_of(TESS_SOLVER_CG);
        int alone = 0;

        options.max_iterations = 100;
        options.precond.kind = TESS_PRECOND_POLYNOMIAL;
        options.precond.polynomial.degree = cases[c].degree;
        options.precond.polynomial.seed = cases[c].seed;
        alone = roots_after(steep(), &options, false);
        assert_true(alone <= cases[c].degree); /* it has degree + 1 before */
        assert_int_equal(roots_after(steep(), &options, true), alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_column_has_its_history),
        cmocka_unit_test(the_last_iterate_is_each_columns_own),
        cmocka_unit_test(limits_hold_where_auto_has_chosen),
        cmocka_unit_test(a_limit_of_time_is_that_of_all_columns),
        cmocka_unit_test(no_iteration_is_none),
        cmocka_unit_test(a_column_without_iterations_has_a_history),
        cmocka_unit_test(columns_of_minres_pause_and_go_on),
        cmocka_unit_test(one_repair_of_a_preconditioner_serves_all_columns),
        cmocka_unit_test(another_attempt_goes_on_from_the_common_loop),
        cmocka_unit_test(a_named_recurrence_is_used),
        cmocka_unit_test(a_call_that_fails_leaves_nothing),
        cmocka_unit_test(no_rows_need_no_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
