/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single kernels that run often, beside others, or badly: ten thousand solves with the same bits; half of the device
 * taken by another kernel; two contexts at once; cancelled and given up in the middle, with a clean solve after it.
 */
#include <thread>

#include "device/gpu/gpu.h"
#include "solver/method_solver.h"
#include "solver/single_kernel/single_kernel.h"

extern "C" {
#include "support/papers.h"
#include "support/solve.h"
#include "support/tiles.h"
}

static tess_context *gpu = nullptr;

/* ---- solves that are all the same ---- */

struct handle {
    tess_context *ctx;
    tess_matrix *matrix;
    tess_solver *solver;
    tess_vector *b, *x;
    int64_t n, iterations; /* of the first solve */
    double *expected, *found;
};

/* The first solve converges, as the oracle sees it too. */
static handle open_handle(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options)
{
    double *b = random_values(a->nrows, 3, -1.0, 1.0);
    handle h = {};
    tess_solve_result result;

    h.ctx = ctx;
    h.n = a->nrows;
    h.matrix = make_matrix(ctx, a);
    h.b = make_vector(ctx, h.n, b);
    h.x = make_zeros(ctx, h.n);
    h.expected = static_cast<double *>(test_allocate(h.n, sizeof *h.expected));
    h.found = static_cast<double *>(test_allocate(h.n, sizeof *h.found));
    assert_ok(ctx, tess_solver_create(h.matrix, options, &h.solver));
    assert_int_equal(method_of(h.solver)->engine, TESS_ENGINE_SINGLE_KERNEL);
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_solve(h.solver, h.b, h.x, &result));
    read_vector(h.x, h.expected);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(a, b, h.expected, options, &result);
    h.iterations = result.iterations;
    free(b);
    return h;
}

static void close_handle(handle *h)
{
    tess_solver_destroy(h->solver);
    tess_matrix_destroy(h->matrix);
    tess_vector_destroy(h->b);
    tess_vector_destroy(h->x);
    free(h->expected);
    free(h->found);
}

/* Another solve, which allocates nothing on the device: its status, and whether it has the first one's bits. */
static tess_status solve_again(const handle *h, bool *same)
{
    const size_t bytes = static_cast<size_t>(h->n) * sizeof *h->found;
    tess_solve_result result;
    tess_status status = tess_vector_fill(h->x, 0.0);

    *same = false;
    tess_solve_result_init(&result);
    if (status == TESS_SUCCESS) { status = tess_solver_solve(h->solver, h->b, h->x, &result); }
    if (status == TESS_SUCCESS) { status = tess_vector_get(h->x, h->found, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) {
        *same = result.converged && result.iterations == h->iterations && memcmp(h->found, h->expected, bytes) == 0;
    }
    return status;
}

/* An emulated device takes a thousand times as long. */
static int as_often_as_is_bearable(int times)
{
    return gpu_is_emulated() ? 1 + times / 5000 : times;
}

static void check_again(const handle *h, int times)
{
    for (int k = 0; k < as_often_as_is_bearable(times); k++) {
        bool same;

        assert_ok(h->ctx, solve_again(h, &same));
        assert_true(same);
    }
}

static void check_many_with(int64_t edge, const tess_solve_options &options, bool cluster, int times)
{
    oracle_csr a = oracle_laplace2d(edge);
    handle h = open_handle(gpu, &a, &options);

    assert_int_equal(method_of(h.solver)->krylov.single->plan.cluster, cluster);
    check_again(&h, times);
    close_handle(&h);
    oracle_free(&a);
}

static void check_many(int64_t edge, tess_solver_kind kind, tess_recurrence recurrence, bool cluster, int times)
{
    check_many_with(edge, single_options(kind, recurrence), cluster, times);
}

static void thousands_of_narrowed_solves(void **state)
{
    (void)state;
    for (int kind = TESS_SOLVER_CG; kind <= TESS_SOLVER_BICGSTAB; kind++) {
        tess_solve_options options = single_options(static_cast<tess_solver_kind>(kind), TESS_RECURRENCE_AUTO);

        options.storage = resident_lossless("fp64,fp32,fp16,e4m3");
        check_many_with(30, options, true, 2000);
        options.papers = papers_narrowing(TESS_NARROWING_SAFE);
        check_many_with(30, options, true, 2000);
        check_many_with(132, options, false, 1000);
    }
}

static void ten_thousand_solves_in_clusters(void **state)
{
    (void)state;
    check_many(15, TESS_SOLVER_CG, TESS_RECURRENCE_STANDARD, true, 10000);
    check_many(30, TESS_SOLVER_CG, TESS_RECURRENCE_ONE_REDUCTION, true, 10000);
    check_many(30, TESS_SOLVER_CG, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE, true, 10000);
    check_many(30, TESS_SOLVER_BICGSTAB, TESS_RECURRENCE_AUTO, true, 10000);
}

static void thousands_of_solves_on_the_whole_device(void **state)
{
    (void)state;
    check_many(132, TESS_SOLVER_CG, TESS_RECURRENCE_STANDARD, false, 2000);
    check_many(132, TESS_SOLVER_CG, TESS_RECURRENCE_ONE_REDUCTION, false, 2000);
    check_many(132, TESS_SOLVER_CG, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE, false, 2000);
    check_many(132, TESS_SOLVER_BICGSTAB, TESS_RECURRENCE_AUTO, false, 2000);
}

/* ---- beside another kernel ---- */

/* Holds a multiprocessor, by way of its shared memory, until it is told to stop or its time is over. word[0]: stop;
   word[1 + block]: it has begun. */
__global__ static void hold(int64_t nanoseconds, volatile int *word)
{
    const int64_t began = GPU_NANOSECONDS();

    word[1 + blockIdx.x] = 1;
    do {
        GPU_PAUSE(1000);
    } while (word[0] == 0 && GPU_NANOSECONDS() - began < nanoseconds);
}

struct holder {
    GPU(Stream_t) stream;
    volatile int *word; /* mapped */
    int blocks;
};

/* Half of the multiprocessors are held when it returns. */
static holder hold_half(int64_t nanoseconds)
{
    holder held = {};
    gpu_properties properties;
    void *host = nullptr, *device = nullptr;

    assert_int_equal(GPU(GetDeviceProperties)(&properties, 0), GPU(Success));
    held.blocks = properties.multiProcessorCount / 2;
    assert_int_equal(GPU_HOST_ALLOC_MAPPED(&host, sizeof(int) * static_cast<size_t>(held.blocks + 1)), GPU(Success));
    memset(host, 0, sizeof(int) * static_cast<size_t>(held.blocks + 1));
    held.word = static_cast<volatile int *>(host);
    assert_int_equal(GPU(HostGetDevicePointer)(&device, host, 0), GPU(Success));
    assert_int_equal(GPU(StreamCreateWithFlags)(&held.stream, GPU(StreamNonBlocking)), GPU(Success));
    assert_int_equal(GPU(FuncSetAttribute)((const void *)hold, GPU(FuncAttributeMaxDynamicSharedMemorySize),
                                           static_cast<int>(GPU_SHARED_PER_BLOCK(properties))),
                     GPU(Success));
    hold<<<static_cast<unsigned>(held.blocks), 1, GPU_SHARED_PER_BLOCK(properties), held.stream>>>(
        nanoseconds, static_cast<volatile int *>(device));
    assert_int_equal(GPU(GetLastError)(), GPU(Success));
    for (int b = 0; b < held.blocks; b++) {
        while (held.word[1 + b] == 0) {}
    }
    return held;
}

static void let_go(holder *held)
{
    held->word[0] = 1;
    assert_int_equal(GPU(StreamSynchronize)(held->stream), GPU(Success));
    assert_int_equal(GPU(StreamDestroy)(held->stream), GPU(Success));
    assert_int_equal(GPU_HOST_FREE(const_cast<int *>(held->word)), GPU(Success));
}

/* A grid needs every multiprocessor, a cluster enough of them in one group: they may wait for the other kernel, and
   lose nothing but time. */
static void check_beside_another_kernel(int64_t side, bool cluster)
{
    oracle_csr a = oracle_laplace2d(side);

    for (int kind = TESS_SOLVER_CG; kind <= TESS_SOLVER_BICGSTAB; kind++) {
        const tess_solve_options options = single_options(static_cast<tess_solver_kind>(kind), TESS_RECURRENCE_AUTO);
        handle h = open_handle(gpu, &a, &options);

        assert_int_equal(method_of(h.solver)->krylov.single->plan.cluster, cluster);
        for (int turn = 0; turn < on_gpu_or_emulated(5, 1); turn++) {
            holder held = hold_half(INT64_C(300000000));

            check_again(&h, 100);
            let_go(&held);
        }
        close_handle(&h);
    }
    oracle_free(&a);
}

static void solves_beside_another_kernel(void **state)
{
    (void)state;
    check_beside_another_kernel(30, true);
    check_beside_another_kernel(132, false);
}

/* Two contexts, each with a thread and a stream of its own. Threads count: the test's own asserts are not for them. */
static void two_contexts_take_turns(void **state)
{
    const int times = as_often_as_is_bearable(1000);
    static const int64_t edges[] = {30, 132};
    oracle_csr a[2] = {oracle_laplace2d(edges[0]), oracle_laplace2d(edges[1])};
    tess_context *other = open_gpu();

    (void)state;
    for (int pair = 0; pair < 3; pair++) { /* both small, one of each, both large */
        const tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_AUTO);
        handle h[2] = {open_handle(gpu, &a[pair == 2], &options), open_handle(other, &a[pair >= 1], &options)};
        int right[2] = {0, 0};
        std::thread second([&h, &right, times]() {
            for (int k = 0; k < times; k++) {
                bool same;

                right[1] += solve_again(&h[1], &same) == TESS_SUCCESS && same ? 1 : 0;
            }
        });

        for (int k = 0; k < times; k++) {
            bool same;

            right[0] += solve_again(&h[0], &same) == TESS_SUCCESS && same ? 1 : 0;
        }
        second.join();
        assert_int_equal(right[0], times);
        assert_int_equal(right[1], times);
        close_handle(&h[0]);
        close_handle(&h[1]);
    }
    tess_context_destroy(other);
    oracle_free(&a[0]);
    oracle_free(&a[1]);
}

/* ---- ended in the middle ---- */

static int cancel_where_told(void *user, const tess_progress *progress)
{
    return *static_cast<const bool *>(user) && progress->iteration >= 20;
}

/* A cancelled solve, or one at its limit, leaves nothing behind. */
static void a_cancelled_solve_leaves_nothing(void **state)
{
    static const int64_t edges[] = {40, 132};
    static const tess_recurrence recurrences[] = {TESS_RECURRENCE_STANDARD, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE};

    (void)state;
    for (int e = 0; e < 4; e++) {
        oracle_csr a = oracle_laplace2d(edges[e % 2]);
        tess_solve_options options = single_options(TESS_SOLVER_CG, recurrences[e / 2]), endless, limited;
        bool cancels = false;
        handle h;

        options.monitor = cancel_where_told;
        options.monitor_user = &cancels;
        options.history_capacity = 2000;
        h = open_handle(gpu, &a, &options);
        endless = limited = options;
        endless.rtol = 0.0;
        endless.max_iterations = 50000000;
        limited.max_iterations = 7;
        for (int turn = 0; turn < 3; turn++) {
            tess_solve_result result;

            cancels = true;
            assert_ok(gpu, tess_solver_set_limits(h.solver, &endless));
            assert_ok(gpu, tess_vector_fill(h.x, 0.0));
            tess_solve_result_init(&result);
            assert_ok(gpu, tess_solver_solve(h.solver, h.b, h.x, &result));
            assert_int_equal(result.reason, TESS_REASON_CANCELLED);
            cancels = false;
            assert_ok(gpu, tess_solver_set_limits(h.solver, &limited));
            assert_ok(gpu, tess_vector_fill(h.x, 0.0));
            assert_ok(gpu, tess_solver_solve(h.solver, h.b, h.x, &result));
            assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
            assert_int_equal(result.iterations, 7);
            assert_ok(gpu, tess_solver_set_limits(h.solver, &options));
            check_again(&h, 2);
        }
        close_handle(&h);
        oracle_free(&a);
    }
}

/* Numbers of arrivals, of which messages carry three bits, go on over launches that end at their first sum, however
 * many. */
static void launches_of_one_sum_leave_nothing(void **state)
{
    static const tess_recurrence recurrences[] = {TESS_RECURRENCE_STANDARD, TESS_RECURRENCE_ONE_REDUCTION,
                                                  TESS_RECURRENCE_PREDICT_AND_RECOMPUTE};
    oracle_csr a = oracle_laplace2d(132);
    double *zeros = static_cast<double *>(test_allocate(a.nnz, sizeof *zeros));

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        zeros[k] = 0.0; /* no direction has a curvature */
    }
    for (int k = 0; k < 6; k++) {
        const tess_solve_options options = single_options(TESS_SOLVER_CG, recurrences[k / 2]);
        tess_solve_options failing = options;
        handle h = open_handle(gpu, &a, &options);

        assert_false(method_of(h.solver)->krylov.single->plan.cluster);
        failing.guard = k % 2 == 0 ? TESS_GUARD_REPORT : options.guard; /* one launch a solve, or some */
        for (int times = 0; times < on_gpu_or_emulated(10, 3); times++) {
            assert_ok(gpu, tess_matrix_update_values(h.matrix, zeros, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            assert_ok(gpu, tess_solver_set_limits(h.solver, &failing));
            for (int turn = 0; turn < times; turn++) {
                tess_solve_result result;

                assert_ok(gpu, tess_vector_fill(h.x, 0.0));
                tess_solve_result_init(&result);
                assert_ok(gpu, tess_solver_solve(h.solver, h.b, h.x, &result));
                assert_false(result.converged);
                assert_int_equal(result.iterations, 0);
            }
            assert_ok(gpu, tess_matrix_update_values(h.matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            assert_ok(gpu, tess_solver_set_limits(h.solver, &options));
            check_again(&h, 1 + times % 2);
        }
        close_handle(&h);
    }
    oracle_free(&a);
    free(zeros);
}

static void wait_too_long(const oracle_csr *a, tess_recurrence recurrence)
{
    const tess_solve_options options = single_options(TESS_SOLVER_CG, recurrence);
    handle h = open_handle(gpu, a, &options);
    single_kernel *single = method_of(h.solver)->krylov.single;
    int32_t *end = single->plan.row_begin + single->plan.blocks;
    const int32_t all = single->plan.n, fewer = all - 1;

    assert_false(single->plan.cluster);
    for (int turn = 0; turn < on_gpu_or_emulated(10, 2); turn++) {
        const int64_t timeout = single->nanoseconds;
        bool same;

        single->nanoseconds = INT64_C(50000000);
        assert_ok(gpu, gpu->backend->upload(gpu, end, &fewer, sizeof fewer));
        assert_fails(gpu, TESS_DEVICE, solve_again(&h, &same));
        assert_ok(gpu, gpu->backend->upload(gpu, end, &all, sizeof all));
        single->nanoseconds = timeout;
        check_again(&h, 2);
    }
    close_handle(&h);
}

/* The last row belongs to no block: who needs its element waits until its timeout of 50 ms. */
static void a_wait_that_is_too_long_is_an_error(void **state)
{
    oracle_csr a = oracle_laplace2d(132);

    (void)state;
    for (int recurrence = TESS_RECURRENCE_STANDARD; recurrence <= TESS_RECURRENCE_PREDICT_AND_RECOMPUTE; recurrence++) {
        wait_too_long(&a, static_cast<tess_recurrence>(recurrence));
    }
    oracle_free(&a);
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_solves_in_clusters),   cmocka_unit_test(thousands_of_solves_on_the_whole_device),
        cmocka_unit_test(thousands_of_narrowed_solves),      cmocka_unit_test(solves_beside_another_kernel),
        cmocka_unit_test(two_contexts_take_turns),           cmocka_unit_test(a_cancelled_solve_leaves_nothing),
        cmocka_unit_test(launches_of_one_sum_leave_nothing), cmocka_unit_test(a_wait_that_is_too_long_is_an_error),
    };

    return run_gpu_tests(tests, &gpu);
}
