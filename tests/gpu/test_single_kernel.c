/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole solves in one kernel: against the plain engine for many sizes, precisions and both exchanges; limits, breakdowns, NaN,
 * history, cancellation; what it refuses, and where auto goes then.
 */
#include "solver/single_kernel/single_kernel.h"
#include "solver/solver.h"
#include "support/solve.h"

static tess_context *gpu = NULL;

/* Symmetric, diagonally dominant, with entries all over: many columns for each block. */
static oracle_csr scattered(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        const int64_t step[4] = {1, 7, 101 % n, 977 % n};

        for (int64_t j = 0; j < n; j++) {
            const int64_t distance = j > i ? j - i : i - j;
            double value = j == i ? 9.0 + (double)(i % 5) : 0.0;

            for (int k = 0; k < 4; k++) {
                if (distance > 0 && distance == step[k]) { value = -1.0; }
            }
            if (value != 0.0) { oracle_push(&a, j, value); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* x and the iterations of an engine are the plain one's, but for the order of summation. */
static void check_against_plain(const oracle_csr *a, tess_solve_options options, const char *what)
{
    double *b = random_values(a->nrows, 3, -1.0, 1.0);
    solved single, plain;

    single = solve_here(gpu, a, &options, b);
    options.engine = TESS_ENGINE_PLAIN;
    plain = solve_here(gpu, a, &options, b);
    print_message("%s, n = %lld, precond %d, precision %d: %lld iterations, plain %lld\n", what, (long long)a->nrows,
                  (int)options.precond.kind, (int)options.storage.precision, (long long)single.result.iterations,
                  (long long)plain.result.iterations);
    assert_int_equal(single.result.engine, TESS_ENGINE_SINGLE_KERNEL);
    assert_int_equal(single.result.reason, plain.result.reason);
    assert_int_equal(single.result.history_length, single.result.iterations + 1);
    assert_true(llabs(single.result.iterations - plain.result.iterations) <=
                2 + plain.result.iterations / (options.solver == TESS_SOLVER_CG ? 20 : 5));
    check_honest(a, b, single.x, &options, &single.result);
    for (int64_t i = 0; i < single.result.history_length; i++) {
        assert_true(single.history[i] >= 0.0 && isfinite(single.history[i]));
    }
    discard(&single);
    discard(&plain);
    free(b);
}

static void all_sizes_agree_with_the_plain_engine(void **state)
{
    static const int64_t orders[] = {1, 15, 17, 513, 2395, 4099};
    static const tess_recurrence recurrences[] = {TESS_RECURRENCE_STANDARD, TESS_RECURRENCE_ONE_REDUCTION};

    (void)state;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        oracle_csr a = scattered(orders[o]);

        for (int jacobi = 0; jacobi < 2; jacobi++) {
            tess_solve_options options = single_options(TESS_SOLVER_BICGSTAB, TESS_RECURRENCE_AUTO);

            options.precond.kind = jacobi ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
            check_against_plain(&a, options, "bicgstab");
            for (int k = 0; k < 2; k++) {
                options = single_options(TESS_SOLVER_CG, recurrences[k]);
                options.precond.kind = jacobi ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
                check_against_plain(&a, options, k ? "cg, one reduction" : "cg");
            }
        }
        oracle_free(&a);
    }
}

static void larger_systems_use_the_whole_device(void **state)
{
    static const int64_t edges[] = {64, 65, 181, 256};

    (void)state;
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]), c = oracle_convection2d(edges[e], 0.5);

        check_against_plain(&a, single_options(TESS_SOLVER_CG, TESS_RECURRENCE_STANDARD), "cg");
        check_against_plain(&a, single_options(TESS_SOLVER_CG, TESS_RECURRENCE_ONE_REDUCTION), "cg, one reduction");
        check_against_plain(&c, single_options(TESS_SOLVER_BICGSTAB, TESS_RECURRENCE_AUTO), "bicgstab");
        oracle_free(&a);
        oracle_free(&c);
    }
}

/* Values in lower precision, and up again by the guard: FP64 rows take more room, and are streamed where they do not fit. */
static void low_precisions_are_read(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_FP16};
    static const int64_t edges[] = {40, 132};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);

        for (int k = 0; k < 3; k++) {
            for (int kind = TESS_SOLVER_CG; kind <= TESS_SOLVER_BICGSTAB; kind++) {
                tess_solve_options options = single_options((tess_solver_kind)kind, TESS_RECURRENCE_AUTO);

                options.storage.precision = precisions[k];
                check_against_plain(&a, options, "low precision");
            }
        }
        for (int64_t k = 0; k < a.nnz; k++) { /* no longer exact in 24 bits */
            a.val[k] *= 1.0 + 1e-9;
        }
        tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_AUTO);

        options.storage.precision = TESS_PRECISION_FP32;
        options.rtol = 1e-12;
        check_against_plain(&a, options, "repaired");
        oracle_free(&a);
    }
}

/* Rows that do not fit into shared memory are read from device memory, where that was asked for. */
static void large_matrices_are_streamed(void **state)
{
    oracle_csr a = oracle_laplace2d(420);
    single_limits limits = {0, 0, 0};

    (void)state;
    assert_ok(gpu, gpu->backend->single_limits(gpu, &limits));
    assert_true(limits.blocks > 0 && limits.shared_bytes >= 40000);
    tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_ONE_REDUCTION);

    options.rtol = 1e-6;
    check_against_plain(&a, options, "large");
    oracle_free(&a);
}

static void iteration_limits_are_exact(void **state)
{
    static const int64_t edges[] = {20, 132};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);
        double *b = random_values(a.nrows, 3, -1.0, 1.0);

        for (int k = 0; k < 3; k++) {
            check_limits_are_exact(gpu, &a, b,
                                   single_options(k < 2 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB,
                                                  k == 1 ? TESS_RECURRENCE_ONE_REDUCTION : TESS_RECURRENCE_STANDARD));
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
    for (int recurrence = TESS_RECURRENCE_STANDARD; recurrence <= TESS_RECURRENCE_ONE_REDUCTION; recurrence++) {
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

static int cancel_at_once(void *user, const tess_progress *progress)
{
    *(int64_t *)user += 1;
    return progress->iteration >= 20;
}

static void monitor_cancels(void **state)
{
    static const int64_t edges[] = {40, 150};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);
        double *b = random_values(a.nrows, 3, -1.0, 1.0);
        int64_t calls = 0;
        tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_STANDARD);
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

        options.precond = (tess_precond_options){.kind = kinds[k], .block_size = 5};
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        assert_int_equal(solver->engine, k == 0 ? TESS_ENGINE_SINGLE_KERNEL : TESS_ENGINE_GRAPH);
        tess_solver_destroy(solver);
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        if (k == 1) { assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver)); }
        options = solve_options(TESS_SOLVER_CG);
        options.storage.format = k == 0 ? TESS_FORMAT_ELLR : TESS_FORMAT_CSR;
        options.storage.precision = k == 0 ? TESS_PRECISION_FP64 : TESS_PRECISION_E4M3;
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    }
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    assert_ok(gpu, tess_solver_create(big, &options, &solver));
    assert_int_equal(solver->engine, TESS_ENGINE_GRAPH);
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
        cmocka_unit_test(all_sizes_agree_with_the_plain_engine),
        cmocka_unit_test(larger_systems_use_the_whole_device),
        cmocka_unit_test(low_precisions_are_read),
        cmocka_unit_test(large_matrices_are_streamed),
        cmocka_unit_test(iteration_limits_are_exact),
        cmocka_unit_test(nothing_to_do_is_done_at_once),
        cmocka_unit_test(breakdowns_have_the_same_reasons),
        cmocka_unit_test(monitor_cancels),
        cmocka_unit_test(auto_takes_it_where_all_is_resident),
    };

    return run_gpu_tests(tests, &gpu);
}
