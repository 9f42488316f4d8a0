/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves on the GPU: the graph engine equals the plain one bit for bit and agrees with the host; new values, growth of
 * workspace, cancellation, the user's stream, several contexts; the caller's current device does not change.
 */
#include <cuda_runtime_api.h>

#include "solver/method_solver.h"
#include "support/precond_of.h"
#include "support/solve.h"

static tess_context *gpu = NULL;

static tess_precond_options preconds(int k)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI};

    return precond_of(kinds[k], kinds[k] == TESS_PRECOND_BLOCK_JACOBI ? 5 : 8);
}
enum { PRECONDS = 3 };

static oracle_csr system_for(int kind, int64_t k)
{
    oracle_csr a = kind != TESS_SOLVER_BICGSTAB ? oracle_laplace2d(k) : oracle_convection2d(k, 0.5);

    for (int64_t i = 0; i < a.nnz; i++) {
        a.val[i] *= 1.0 + 1e-9; /* which fp32 rounds */
    }
    return a;
}

/* A ring whose rows sum to 0, and b whose sum is a millionth of its magnitudes: x has the least residual, |1^T b| /
   sqrt(n), as on a host. */
static void least_residuals_of_systems_without_a_solution(void **state)
{
    enum { ROWS = 300 };
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    oracle_csr a = oracle_open(ROWS, ROWS);
    double b[ROWS], least = 0.0;
    solved found;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < ROWS; j++) {
            const int distance = abs(i - j);

            if (distance == 0) { oracle_push(&a, j, 2.0); }
            if (distance == 1 || distance == ROWS - 1) { oracle_push(&a, j, -1.0); }
        }
        oracle_end_row(&a, i);
        b[i] = (i % 2 == 0 ? 1.0 : -1.0) + 1e-6;
        least += b[i] / sqrt((double)ROWS);
    }
    options.rtol = 1e-9;
    found = solve_here(gpu, &a, &options, b);
    assert_false(found.result.converged);
    assert_int_equal(found.result.reason, TESS_REASON_STAGNATION);
    assert_at_most(found.result.residual_norm, 1.02 * least);
    discard(&found);
    oracle_free(&a);
}

static void engines_agree_bit_for_bit(void **state)
{
    (void)state;
    for (int at = 0; at < RECORDED_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        for (int k = 0; k < 2 * PRECONDS; k++) {
            oracle_csr a = system_for(kind, on_gpu_or_emulated(70, 24));
            double *b = random_values(a.nrows, 3, -1.0, 1.0);
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            solved graph, plain;

            options.precond = preconds(k % PRECONDS);
            options.storage.precision = k < PRECONDS ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;
            options.engine = TESS_ENGINE_GRAPH;
            graph = solve_here(gpu, &a, &options, b);
            options.engine = TESS_ENGINE_PLAIN;
            plain = solve_here(gpu, &a, &options, b);
            assert_int_equal(graph.result.engine, TESS_ENGINE_GRAPH);
            assert_int_equal(plain.result.engine, TESS_ENGINE_PLAIN);
            assert_int_equal(graph.result.reason, TESS_REASON_RTOL);
            assert_int_equal(graph.result.iterations, plain.result.iterations);
            assert_int_equal(graph.result.history_length, graph.result.iterations + 1);
            assert_true(same_bits(graph.x, plain.x, a.nrows));
            assert_true(same_bits(graph.history, plain.history, graph.result.history_length));
            check_honest(&a, b, graph.x, &options, &graph.result);
            discard(&graph);
            discard(&plain);
            oracle_free(&a);
            free(b);
        }
    }
}

/* A fixed number of iterations is exact, whatever the unrolling of the recorded loop. */
static void iteration_limits_are_exact(void **state)
{
    oracle_csr a = oracle_laplace2d(40);
    double *b = random_values(a.nrows, 3, -1.0, 1.0);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        check_limits_are_exact(gpu, &a, b, solve_options((tess_solver_kind)kind));
    }
    oracle_free(&a);
    free(b);
}

static void every_run_gives_the_same_bits(void **state)
{
    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        oracle_csr a = system_for(kind, on_gpu_or_emulated(150, 40));
        double *b = random_values(a.nrows, 3, -1.0, 1.0);
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        solved first = solve_here(gpu, &a, &options, b);

        for (int trial = 0; trial < 5; trial++) {
            solved again = solve_here(gpu, &a, &options, b);

            assert_true(same_bits(first.x, again.x, a.nrows));
            assert_int_equal(first.result.iterations, again.result.iterations);
            discard(&again);
        }
        discard(&first);
        oracle_free(&a);
        free(b);
    }
}

/* Another order of summation: other roundings, but the same verified answer in about as many iterations. */
static void host_and_device_agree_within_tolerance(void **state)
{
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        oracle_csr a = system_for(kind, 50);
        double *b = random_values(a.nrows, 3, -1.0, 1.0), smallest = 8.0 * pow(sin(acos(-1.0) / 102.0), 2.0);
        double difference = 0.0;
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        solved here = solve_here(cpu, &a, &options, b), there = solve_here(gpu, &a, &options, b);

        for (int64_t i = 0; i < a.nrows; i++) {
            difference = hypot(difference, here.x[i] - there.x[i]);
        }
        assert_at_most(difference, (here.result.residual_norm + there.result.residual_norm) / smallest * (1.0 + 1e-6));
        discard(&here);
        discard(&there);
        oracle_free(&a);
        free(b);
    }
    tess_context_destroy(cpu);
}

/* The recorded loop is played again for new values, other limits and other right-hand sides. */
static void recorded_loop_serves_later_solves(void **state)
{
    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        for (int precision = TESS_PRECISION_FP64; precision <= TESS_PRECISION_FP32; precision++) {
            oracle_csr a = system_for(kind, on_gpu_or_emulated(40, 20));
            tess_matrix *m = make_matrix(gpu, &a);
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_solver *solver = NULL;

            options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
            options.storage.precision = (tess_precision)precision;
            assert_ok(gpu, tess_solver_create(m, &options, &solver));
            for (uint64_t side = 0; side < 4; side++) {
                double *b = random_values(a.nrows, side, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
                tess_solve_result result;
                solved fresh;

                if (side == 2) {
                    for (int64_t i = 0; i < a.nrows; i++) {
                        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                            if (a.col_ind[k] == i) { a.val[k] *= 1.0 + (double)(i % 13); }
                        }
                    }
                    assert_ok(gpu, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
                }
                options.rtol = side % 2 ? 1e-6 : 1e-11;
                assert_ok(gpu, tess_solver_set_limits(solver, &options));
                result = solve_with(solver, gpu, a.nrows, b, x);
                assert_int_equal(result.reason, TESS_REASON_RTOL);
                check_honest(&a, b, x, &options, &result);
                fresh = solve_here(gpu, &a, &options, b);
                assert_true(same_bits(fresh.x, x, a.nrows));
                discard(&fresh);
                free(b);
                free(x);
            }
            tess_solver_destroy(solver);
            tess_matrix_destroy(m);
            oracle_free(&a);
        }
    }
}

/* A graph keeps the addresses it was recorded with: space for partial sums that grows later must not pull it away. */
static void scratch_may_grow_after_recording(void **state)
{
    oracle_csr small = oracle_laplace2d(20), large = oracle_laplace2d(on_gpu_or_emulated(600, 150));
    double *b = random_values(large.nrows, 3, -1.0, 1.0);
    double first[400] = {0.0}, again[400] = {0.0}, *x = test_allocate(large.nrows, sizeof *x);
    tess_context *ctx = open_gpu();
    tess_matrix *m = make_matrix(ctx, &small), *big = make_matrix(ctx, &large);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL, *other = NULL;
    tess_solve_result result;

    (void)state;
    options.engine = TESS_ENGINE_GRAPH;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, 400, b, first);
    assert_true(result.converged && method_of(solver)->graph);
    options.max_iterations = on_gpu_or_emulated(50, 20);
    assert_ok(ctx, tess_solver_create(big, &options, &other));
    result = solve_with(other, ctx, large.nrows, b, x);
    assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
    for (int trial = 0; trial < 3; trial++) {
        memset(again, 0, sizeof again);
        result = solve_with(solver, ctx, 400, b, again);
        assert_true(result.converged && same_bits(first, again, 400));
    }
    tess_solver_destroy(solver);
    tess_solver_destroy(other);
    tess_matrix_destroy(m);
    tess_matrix_destroy(big);
    tess_context_destroy(ctx);
    oracle_free(&small);
    oracle_free(&large);
    free(b);
    free(x);
}

typedef struct monitor_record {
    int64_t calls, last_iteration, cancel_at;
    bool monotone;
} monitor_record;

static int watch(void *user, const tess_progress *progress)
{
    monitor_record *r = user;

    r->calls += 1;
    r->monotone = r->monotone && progress->iteration >= r->last_iteration;
    r->last_iteration = progress->iteration;
    return progress->iteration >= r->cancel_at;
}

static void monitor_cancels_both_engines(void **state)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(300, 60));
    double *b = random_values(a.nrows, 3, -1.0, 1.0);

    (void)state;
    for (int engine = TESS_ENGINE_PLAIN; engine <= TESS_ENGINE_GRAPH; engine++) {
        monitor_record record = {0, 0, 20, true};
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        solved s;

        options.engine = (tess_engine)engine;
        options.rtol = 0.0; /* would run for very long */
        options.max_iterations = 50000000;
        options.history_capacity = 1000;
        options.monitor = watch;
        options.monitor_user = &record;
        s = solve_here(gpu, &a, &options, b);
        assert_int_equal(s.result.reason, TESS_REASON_CANCELLED);
        assert_true(record.calls > 0 && record.monotone && s.result.iterations >= 20);
        check_honest(&a, b, s.x, &options, &s.result);
        discard(&s);
    }
    oracle_free(&a);
    free(b);
}

/* A loop is not recorded for a solve of eight iterations; later ones may record it, with the same bits, and start with
 * no request of an earlier one. */
static void short_solves_record_nothing(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(400, 3, -1.0, 1.0), first[400] = {0.0}, x[400] = {0.0};
    tess_matrix *m = make_matrix(gpu, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    monitor_record record = {0, 0, INT64_MAX, true};
    tess_solver *solver = NULL;
    tess_solve_result result;
    solved plain;

    (void)state;
    options.engine = TESS_ENGINE_PLAIN;
    plain = solve_here(gpu, &a, &options, b);
    options.engine = TESS_ENGINE_GRAPH;
    options.monitor = watch;
    options.monitor_user = &record;
    options.max_iterations = 8;
    assert_ok(gpu, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, gpu, 400, b, first);
    assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
    assert_true(result.iterations == 8 && record.calls == 7 && record.last_iteration == 7 && !method_of(solver)->graph);
    options.max_iterations = 1000;
    assert_ok(gpu, tess_solver_set_limits(solver, &options));
    record.cancel_at = 1;
    result = solve_with(solver, gpu, 400, b, x);
    assert_int_equal(result.reason, TESS_REASON_CANCELLED);
    assert_true(result.iterations == 2 && !method_of(solver)->graph);
    record = (monitor_record){0, 0, INT64_MAX, true};
    memset(x, 0, sizeof x);
    result = solve_with(solver, gpu, 400, b, x);
    assert_true(result.converged && method_of(solver)->graph && same_bits(x, plain.x, 400));
    assert_true(record.monotone && record.last_iteration == result.iterations);
    options.max_iterations = 8;
    assert_ok(gpu, tess_solver_set_limits(solver, &options));
    memset(x, 0, sizeof x);
    result = solve_with(solver, gpu, 400, b, x);
    assert_true(result.iterations == 8 && same_bits(x, first, 400));
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    discard(&plain);
    oracle_free(&a);
    free(b);
}

/* Iterations with multigrid have many kernels: they are recorded once there have been 32 of them, over several solves.
   The bits stay. */
static void long_iterations_are_recorded_later(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(400, 3, -1.0, 1.0), first[400] = {0.0}, x[400];
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_gpu();
    tess_solver *solver = NULL;
    tess_matrix *m = make_matrix(ctx, &a);
    int64_t iterations = 0;

    (void)state;
    options.precond.kind = TESS_PRECOND_AMG;
    options.precond.amg.coarsest = 20;
    options.rtol = 1e-13; /* a few iterations more than go without a recording */
    options.engine = TESS_ENGINE_GRAPH;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    iterations = solve_with(solver, ctx, 400, b, first).iterations;
    assert_in_range(iterations, 9, 24);
    assert_null(method_of(solver)->graph);
    for (int64_t done = iterations; done < 32 + iterations; done += iterations) {
        memset(x, 0, sizeof x);
        assert_int_equal(solve_with(solver, ctx, 400, b, x).iterations, iterations);
        assert_true(same_bits(x, first, 400));
    }
    assert_non_null(method_of(solver)->graph);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void nan_ends_the_loop_and_leaves_no_trace(void **state)
{
    oracle_csr a = oracle_laplace2d(30);
    double *b = random_values(900, 3, -1.0, 1.0), *x = test_allocate(900, sizeof *x);
    tess_matrix *m = make_matrix(gpu, &a);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solver *solver = NULL;
        tess_solve_result result;
        solved clean = solve_here(gpu, &a, &options, b);
        double kept = b[450];

        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        b[450] = (double)NAN;
        memset(x, 0, 900 * sizeof *x);
        result = solve_with(solver, gpu, 900, b, x);
        assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
        assert_true(result.iterations <= 32);
        b[450] = kept;
        memset(x, 0, 900 * sizeof *x);
        result = solve_with(solver, gpu, 900, b, x);
        assert_true(result.converged && same_bits(x, clean.x, 900));
        tess_solver_destroy(solver);
        discard(&clean);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Vectors too large for FP64 squares fail inside the loop, where the host has not looked before. */
static void overflow_inside_the_loop_is_found(void **state)
{
    oracle_csr a = oracle_laplace2d(30);
    double *b = random_values(900, 3, -1e160, 1e160);

    (void)state;
    for (int engine = TESS_ENGINE_PLAIN; engine <= TESS_ENGINE_GRAPH; engine++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        solved s;

        options.engine = (tess_engine)engine;
        s = solve_here(gpu, &a, &options, b);
        check_honest(&a, b, s.x, &options, &s.result);
        assert_true(s.result.converged || s.result.iterations <= 32);
        discard(&s);
    }
    oracle_free(&a);
    free(b);
}

static void users_stream_is_used_and_kept(void **state)
{
    oracle_csr a = oracle_laplace2d(40);
    double *b = random_values(a.nrows, 3, -1.0, 1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    solved reference = solve_here(gpu, &a, &options, b);

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_context_options context_options;
        tess_context *ctx = NULL;
        cudaStream_t stream = NULL;
        solved s;

        if (k == 0) {
            assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
        } else {
            stream = cudaStreamPerThread;
        }
        tess_context_options_init(&context_options);
        context_options.device = TESS_DEVICE_GPU;
        context_options.stream = stream;
        assert_ok(NULL, tess_context_create(&context_options, &ctx));
        assert_ptr_equal(tess_context_stream(ctx), stream);
        s = solve_here(ctx, &a, &options, b);
        assert_true(same_bits(s.x, reference.x, a.nrows));
        tess_context_destroy(ctx);
        assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
        if (k == 0) { assert_int_equal(cudaStreamDestroy(stream), cudaSuccess); }
        discard(&s);
    }
    discard(&reference);
    oracle_free(&a);
    free(b);
}

/* Two contexts, their solves interleaved: neither may disturb the other's scratch. */
static void contexts_are_independent(void **state)
{
    oracle_csr a = oracle_laplace2d(40), c = oracle_laplace2d(55);
    double *b = random_values(c.nrows, 3, -1.0, 1.0);
    tess_context *other = open_gpu();
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    solved first = solve_here(gpu, &a, &options, b), second = solve_here(other, &c, &options, b);

    (void)state;
    for (int trial = 0; trial < 3; trial++) {
        solved one = solve_here(other, &a, &options, b), two = solve_here(gpu, &c, &options, b);

        assert_true(same_bits(one.x, first.x, a.nrows));
        assert_true(same_bits(two.x, second.x, c.nrows));
        discard(&one);
        discard(&two);
    }
    tess_context_destroy(other);
    discard(&first);
    discard(&second);
    oracle_free(&a);
    oracle_free(&c);
    free(b);
}

/* Work on one device while another (or none yet) is the caller's current one. */
static void current_device_is_left_alone(void **state)
{
    int count = 0, device = -1;
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(400, 3, -1.0, 1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);

    (void)state;
    assert_int_equal(cudaGetDeviceCount(&count), cudaSuccess);
    for (int other = 0; other < count && other < 2; other++) {
        tess_context_options context_options;
        tess_context *ctx = NULL;
        solved s;

        tess_context_options_init(&context_options);
        context_options.device = TESS_DEVICE_GPU;
        context_options.device_index = other;
        assert_int_equal(cudaSetDevice(0), cudaSuccess);
        assert_ok(NULL, tess_context_create(&context_options, &ctx));
        s = solve_here(ctx, &a, &options, b);
        assert_int_equal(s.result.reason, TESS_REASON_RTOL);
        tess_context_destroy(ctx);
        assert_int_equal(cudaGetDevice(&device), cudaSuccess);
        assert_int_equal(device, 0);
        discard(&s);
    }
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    oracle_free(&a);
    free(b);
}

/* A device without space for a vector reports it, and the context stays usable. */
static void failed_device_allocation_leaves_the_context_usable(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(400, 3, -1.0, 1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_vector *huge = NULL;
    solved s;

    (void)state;
    assert_fails(gpu, TESS_OUT_OF_DEVICE_MEMORY, tess_vector_create(gpu, INT64_C(1) << 44, TESS_PRECISION_FP64, &huge));
    assert_null(huge);
    s = solve_here(gpu, &a, &options, b);
    assert_int_equal(s.result.reason, TESS_REASON_RTOL);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    discard(&s);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_residuals_of_systems_without_a_solution),
        cmocka_unit_test(engines_agree_bit_for_bit),
        cmocka_unit_test(iteration_limits_are_exact),
        cmocka_unit_test(every_run_gives_the_same_bits),
        cmocka_unit_test(host_and_device_agree_within_tolerance),
        cmocka_unit_test(recorded_loop_serves_later_solves),
        cmocka_unit_test(scratch_may_grow_after_recording),
        cmocka_unit_test(monitor_cancels_both_engines),
        cmocka_unit_test(short_solves_record_nothing),
        cmocka_unit_test(long_iterations_are_recorded_later),
        cmocka_unit_test(nan_ends_the_loop_and_leaves_no_trace),
        cmocka_unit_test(overflow_inside_the_loop_is_found),
        cmocka_unit_test(users_stream_is_used_and_kept),
        cmocka_unit_test(contexts_are_independent),
        cmocka_unit_test(current_device_is_left_alone),
        cmocka_unit_test(failed_device_allocation_leaves_the_context_usable),
    };

    return run_gpu_tests(tests, &gpu);
}
