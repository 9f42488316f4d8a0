/* SPDX-License-Identifier: Apache-2.0 */
/* How solves in one kernel begin and end: limits, breakdowns, NaN, cancellation, any norm; what auto takes, and what is
   refused. */
#include "solver/method_solver.h"
#include "support/incomplete.h"
#include "support/papers.h"
#include "support/precond_of.h"
#include "support/single_kernel.h"

static tess_context *gpu = NULL;

static void iteration_limits_are_exact(void **state)
{
    const int64_t edges[] = {20, beyond_clusters()};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);
        double *b = random_values(a.nrows, 3, -1.0, 1.0);

        for (int k = 0; k < 2 * WAYS; k++) {
            /* each way once, each storage with half of them */
            if (gpu_is_emulated() && (k + k / 2 + e) % 2 == 1) { continue; }
            tess_solve_options options = single_options(solve_ways[k / 2].kind, solve_ways[k / 2].recurrence);

            options.storage = stored_as(k % 2);
            check_limits_are_exact(gpu, &a, b, options);
        }
        oracle_free(&a);
        free(b);
    }
}

static void nothing_to_do_is_done_at_once(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = test_allocate(a.nrows, sizeof *b), *x = random_values(a.nrows, 5, -1.0, 1.0);
    tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_AUTO);
    tess_solve_result result = solve_once(gpu, &a, &options, b, x);

    (void)state;
    assert_true(result.converged && result.iterations == 0);
    for (int64_t i = 0; i < a.nrows; i++) {
        assert_true(x[i] == 0.0);
        x[i] = 1.0;
    }
    for (int64_t i = 0; i < a.nrows; i++) { /* b = A 1, exactly */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            b[i] += a.val[k];
        }
    }
    result = solve_once(gpu, &a, &options, b, x);
    assert_true(result.converged && result.iterations == 0);
    oracle_free(&a);
    free(b);
    free(x);
}

static void breakdowns_have_the_same_reasons(void **state)
{
    static const double indefinite[] = {1.0, 2.0, -3.0, 4.0};
    oracle_csr d = oracle_diagonal(4, indefinite), a = oracle_laplace2d(30);
    double *b = random_values(900, 3, -1.0, 1.0), *x = test_allocate(900, sizeof *x);
    const double ones[4] = {1.0, 1.0, 1.0, 1.0};
    tess_matrix *m = make_matrix(gpu, &a);

    (void)state;
    for (int recurrence = TESS_RECURRENCE_STANDARD; recurrence <= TESS_RECURRENCE_PREDICT_AND_RECOMPUTE; recurrence++) {
        tess_solve_options options = single_options(TESS_SOLVER_CG, (tess_recurrence)recurrence);
        tess_solver *solver = NULL;
        tess_solve_result result;
        solved clean = solve_here(gpu, &a, &options, b), s;
        const double kept = b[450];

        options.guard = TESS_GUARD_REPORT;
        s = solve_here(gpu, &d, &options, ones);
        assert_int_equal(s.result.reason, TESS_REASON_INDEFINITE_MATRIX);
        discard(&s);
        options.guard = TESS_GUARD_REPAIR;
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        b[450] = (double)NAN;
        memset(x, 0, 900 * sizeof *x);
        result = solve_with(solver, gpu, 900, b, x);
        assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
        b[450] = kept;
        memset(x, 0, 900 * sizeof *x);
        result = solve_with(solver, gpu, 900, b, x);
        assert_true(result.converged && same_bits(x, clean.x, 900));
        tess_solver_destroy(solver);
        discard(&clean);
    }
    tess_matrix_destroy(m);
    a.val[100] = (double)NAN;
    for (int kind = TESS_SOLVER_CG; kind <= TESS_SOLVER_BICGSTAB; kind++) {
        tess_solve_options options = single_options((tess_solver_kind)kind, TESS_RECURRENCE_AUTO);
        tess_solve_result result;

        memset(x, 0, 900 * sizeof *x);
        result = solve_once(gpu, &a, &options, b, x);
        assert_false(result.converged);
        assert_true(result.iterations <= 32);
    }
    oracle_free(&a);
    oracle_free(&d);
    free(b);
    free(x);
}

/* The start ends a cycle, and the kernel has nothing to do: the correction is zero, not that of the last solve. */
static void what_does_not_begin_corrects_nothing(void **state)
{
    static const double above[] = {1.0, 2.0, 3.0, 4.0}, mixed[] = {1.0, -1.0, 2.0, -2.0};
    const double ones[4] = {1.0, 1.0, 1.0, 1.0};
    oracle_csr a = oracle_diagonal(4, above);

    (void)state;
    for (int recurrence = TESS_RECURRENCE_STANDARD; recurrence <= TESS_RECURRENCE_PREDICT_AND_RECOMPUTE; recurrence++) {
        tess_matrix *m = make_matrix(gpu, &a);
        tess_solve_options options = single_options(TESS_SOLVER_CG, (tess_recurrence)recurrence);
        tess_solver *solver = NULL;
        tess_solve_result result;
        double x[4] = {0.0};

        options.precond.kind = TESS_PRECOND_JACOBI;
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        result = solve_with(solver, gpu, 4, ones, x);
        assert_true(result.converged && x[1] == 0.5);
        assert_ok(gpu, tess_matrix_update_values(m, mixed, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        memset(x, 0, sizeof x);
        result = solve_with(solver, gpu, 4, ones, x); /* (r, z) = 0 */
        assert_int_equal(result.reason, TESS_REASON_INDEFINITE_PRECOND);
        for (int i = 0; i < 4; i++) {
            assert_true(x[i] == 0.0);
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
    }
    oracle_free(&a);
}

/* ||A|| from 2^-560 to 2^560: (A p, A p) is not in range by itself, and the iterations are those of A. */
static void any_norm_of_the_matrix_will_do(void **state)
{
    oracle_csr a = oracle_laplace2d(30);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *val = test_allocate(a.nnz, sizeof *val);

    (void)state;
    memcpy(val, a.val, (size_t)a.nnz * sizeof *val);
    for (int precond = TESS_PRECOND_NONE; precond <= TESS_PRECOND_JACOBI; precond++) {
        tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_AUTO);
        int64_t iterations = 0;

        options.precond.kind = (tess_precond_kind)precond;
        for (int k = 0; k < 3; k++) {
            for (int64_t i = 0; i < a.nnz; i++) {
                a.val[i] = ldexp(val[i], k == 0 ? 0 : k == 1 ? -560 : 560);
            }
            solved s = solve_here(gpu, &a, &options, b);

            assert_int_equal(s.result.cg.recurrence, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
            assert_true(s.result.converged);
            if (k == 0) { iterations = s.result.iterations; }
            /* the second direction may be lost */
            assert_true(llabs(s.result.iterations - iterations) <= 2);
            discard(&s);
        }
    }
    oracle_free(&a);
    free(b);
    free(val);
}

/* In passes it has one pass more; recorded in a graph, the bits of the plain engine. */
static void recomputing_runs_in_a_graph_too(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI,
                                              TESS_PRECOND_IC0};
    oracle_csr a = oracle_laplace2d(40);
    double *b = random_values(a.nrows, 3, -1.0, 1.0);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
        solved s[2];

        options.precond = kinds[k] == TESS_PRECOND_IC0 ? factor_options(kinds[k]) : precond_of(kinds[k], 5);
        for (int e = 0; e < 2; e++) {
            options.engine = e == 0 ? TESS_ENGINE_PLAIN : TESS_ENGINE_GRAPH;
            s[e] = solve_here(gpu, &a, &options, b);
            assert_int_equal(s[e].result.engine, options.engine);
            assert_int_equal(s[e].result.cg.recurrence, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
            assert_true(s[e].result.converged);
            check_honest(&a, b, s[e].x, &options, &s[e].result);
        }
        assert_int_equal(s[0].result.iterations, s[1].result.iterations);
        assert_true(same_bits(s[0].x, s[1].x, a.nrows));
        discard(&s[0]);
        discard(&s[1]);
    }
    oracle_free(&a);
    free(b);
}

static int cancel_at_once(void *user, const tess_progress *progress)
{
    *(int64_t *)user += 1;
    return progress->iteration >= 20;
}

static void monitor_cancels(void **state)
{
    const int64_t edges[] = {40, on_gpu_or_emulated(150, beyond_clusters())};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);
        double *b = random_values(a.nrows, 3, -1.0, 1.0);
        int64_t calls = 0;
        tess_solve_options options =
            single_options(TESS_SOLVER_CG, e == 0 ? TESS_RECURRENCE_STANDARD : TESS_RECURRENCE_AUTO);
        solved s;

        options.rtol = 0.0; /* would run for very long */
        options.max_iterations = 50000000;
        options.history_capacity = 100;
        options.monitor = cancel_at_once;
        options.monitor_user = &calls;
        s = solve_here(gpu, &a, &options, b);
        assert_int_equal(s.result.reason, TESS_REASON_CANCELLED);
        assert_true(s.result.history_length > 20 && s.result.history_length <= 100);
        assert_true(calls > 0);
        check_honest(&a, b, s.x, &options, &s.result);
        discard(&s);
        oracle_free(&a);
        free(b);
    }
}

static void auto_takes_it_where_all_is_resident(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI};
    oracle_csr small = oracle_laplace2d(60), large = oracle_laplace2d(900);
    tess_matrix *m = make_matrix(gpu, &small), *big = make_matrix(gpu, &large);
    tess_solver *solver = NULL;

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);

        options.precond = precond_of(kinds[k], 5);
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        assert_int_equal(method_of(solver)->engine, k == 0 ? TESS_ENGINE_SINGLE_KERNEL : TESS_ENGINE_GRAPH);
        tess_solver_destroy(solver);
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        if (k == 1) { assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver)); }
        options = solve_options(TESS_SOLVER_CG);
        options.storage = stored_as(1);
        options.papers = papers_narrowing(k == 0 ? TESS_NARROWING_OFF : TESS_NARROWING_SAFE);
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        assert_int_equal(method_of(solver)->engine, TESS_ENGINE_SINGLE_KERNEL);
        assert_int_equal(method_of(solver)->recurrence,
                         k == 0 ? TESS_RECURRENCE_PREDICT_AND_RECOMPUTE : TESS_RECURRENCE_STANDARD);
        tess_solver_destroy(solver);
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        options.storage.papers = NULL;
        options.papers = NULL;
        assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
        options = solve_options(TESS_SOLVER_CG);
        options.storage.format = k == 0 ? TESS_FORMAT_ELLR : TESS_FORMAT_CSR;
        options.storage.precision = k == 0 ? TESS_PRECISION_FP64 : TESS_PRECISION_E4M3;
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    }
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    assert_ok(gpu, tess_solver_create(big, &options, &solver));
    assert_int_equal(method_of(solver)->engine, TESS_ENGINE_GRAPH);
    tess_solver_destroy(solver);
    options = solve_options(TESS_SOLVER_GMRES);
    options.engine = TESS_ENGINE_SINGLE_KERNEL;
    assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    tess_matrix_destroy(m);
    tess_matrix_destroy(big);
    oracle_free(&small);
    oracle_free(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iteration_limits_are_exact),
        cmocka_unit_test(nothing_to_do_is_done_at_once),
        cmocka_unit_test(breakdowns_have_the_same_reasons),
        cmocka_unit_test(what_does_not_begin_corrects_nothing),
        cmocka_unit_test(any_norm_of_the_matrix_will_do),
        cmocka_unit_test(recomputing_runs_in_a_graph_too),
        cmocka_unit_test(monitor_cancels),
        cmocka_unit_test(auto_takes_it_where_all_is_resident),
    };

    return run_gpu_tests(tests, &gpu);
}
