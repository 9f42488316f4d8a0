/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of a context's device memory, on a device with memory pools and on one without: released memory is kept
 * within limits and given back on request, and queued work on it ends first. And the host cannot read it.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "emulator/failures.h"
#include "support/test.h"

enum { N = 1 << 16, BYTES = 8 * N };

static tess_context *open_with(bool pools)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_GPU;
    emulatedSetPools(pools);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    emulatedSetPools(true);
    return ctx;
}

static void memory_comes_from_a_pool_of_the_context(void **state)
{
    const int others = emulatedPoolCount();
    const long long before = emulatedPoolUsed();
    tess_context *ctx = open_with(true);
    const long long own = emulatedPoolUsed();
    tess_vector *v = make_zeros(ctx, N);

    (void)state;
    assert_int_equal(emulatedPoolCount(), others + 1);
    assert_int_equal(emulatedPoolUsed(), own + BYTES);
    tess_vector_destroy(v);
    assert_int_equal(emulatedPoolUsed(), own);
    tess_context_destroy(ctx);
    assert_int_equal(emulatedPoolCount(), others);
    assert_int_equal(emulatedPoolUsed(), before);
}

static void a_device_without_pools_needs_none(void **state)
{
    const int others = emulatedPoolCount();
    const long long before = emulatedPoolUsed();
    tess_context *ctx = open_with(false);
    tess_vector *v = make_zeros(ctx, N);
    const void *data = tess_vector_data_const(v);

    (void)state;
    assert_int_equal(emulatedPoolCount(), others);
    assert_int_equal(emulatedPoolUsed(), before);
    tess_vector_destroy(v);
    v = make_zeros(ctx, N - 1); /* nearly the same size: the same memory */
    assert_ptr_equal(tess_vector_data_const(v), data);
    tess_vector_destroy(v);
    assert_ok(ctx, tess_context_trim(ctx));
    tess_context_destroy(ctx);
}

static void released_memory_is_kept_until_a_trim(void **state)
{
    tess_context *ctx = open_with(true);
    tess_vector *held = make_zeros(ctx, 4 * N), *v = make_zeros(ctx, N);

    (void)state;
    tess_vector_destroy(v);
    assert_ok(ctx, tess_context_synchronize(ctx));
    assert_true(emulatedPoolKept() >= BYTES);
    v = make_zeros(ctx, N);
    tess_vector_destroy(v);
    assert_ok(ctx, tess_context_trim(ctx));
    assert_int_equal(emulatedPoolKept(), 0);
    tess_vector_destroy(held);
    tess_context_destroy(ctx);
}

/* Of the emulated device's 2 GB up to a quarter, however much is in use. */
static void a_quarter_of_the_device_is_kept_at_most(void **state)
{
    enum { LARGE = 200 << 20, SIX = 6 };
    const long long quarter = 512LL << 20;
    tess_context *ctx = open_with(true);
    void *held[SIX];

    (void)state;
    for (int k = 0; k < SIX; k++) {
        assert_ok(ctx, tess_device_allocate(ctx, LARGE, 1, &held[k]));
    }
    for (int k = 0; k < SIX; k++) {
        tess_device_release(ctx, held[k], LARGE, 1);
        assert_ok(ctx, tess_context_synchronize(ctx));
        assert_true(emulatedPoolKept() <= quarter + 1024);
        assert_true(emulatedPoolKept() >= LARGE);
    }
    tess_context_destroy(ctx);
}

/* As beside a device. Mapped memory is for both. */
static void the_host_cannot_read_it(void **state)
{
    tess_context *ctx = open_with(true);
    tess_vector *v = make_zeros(ctx, N);
    const volatile double *data = tess_vector_data_const(v);
    int status = 0;
    pid_t child;

    (void)state;
    assert_ok(ctx, tess_context_synchronize(ctx));
    child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* that of the tests goes on */
        _exit(data[0] == 0.0 ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    tess_vector_destroy(v);
    tess_context_destroy(ctx);
}

/* By their number, and by bytes: one array alone may be too large. */
static void listed_memory_has_limits(void **state)
{
    enum { MANY = 300, LARGE = 300 << 20, HALF = 140 << 20 };
    tess_context *ctx = open_with(false);
    void *held[MANY];

    (void)state;
    for (int k = 0; k < MANY; k++) {
        assert_ok(ctx, tess_device_allocate(ctx, k < 2 ? HALF : k + 1, 1, &held[k]));
    }
    for (int k = 0; k < MANY; k++) {
        tess_device_release(ctx, held[k], k < 2 ? HALF : k + 1, 1);
    }
    assert_ok(ctx, tess_device_allocate(ctx, LARGE, 1, &held[0]));
    tess_device_release(ctx, held[0], LARGE, 1);
    tess_context_destroy(ctx);
}

/* Work queued on released memory still runs, before the memory is another's. */
static void check_order(bool pools)
{
    enum { ROUNDS = 20 };
    tess_context *ctx = open_with(pools);
    double *back = test_allocate(N, sizeof *back);
    tess_vector *sum = make_zeros(ctx, N);

    for (int k = 0; k < ROUNDS; k++) {
        tess_vector *v = make_zeros(ctx, N);

        assert_ok(ctx, tess_vector_fill(v, k));
        assert_ok(ctx, tess_vector_axpby(1.0, v, 1.0, sum, TESS_ARITHMETIC_FP64));
        tess_vector_destroy(v);
    }
    read_vector(sum, back);
    for (int i = 0; i < N; i++) {
        assert_true(back[i] == ROUNDS * (ROUNDS - 1) / 2);
    }
    tess_vector_destroy(sum);
    tess_context_destroy(ctx);
    free(back);
}

static void work_on_released_memory_is_done_first(void **state)
{
    (void)state;
    check_order(true);
    check_order(false);
}

/* More than the device has, after what is kept was given back; a smaller request then has memory. */
static void check_exhaustion(bool pools)
{
    tess_context *ctx = open_with(pools);
    tess_vector *v = make_zeros(ctx, N), *large = NULL;

    tess_vector_destroy(v);
    assert_int_equal(tess_vector_create(ctx, (int64_t)1 << 44, TESS_PRECISION_FP64, &large), TESS_OUT_OF_DEVICE_MEMORY);
    assert_null(large);
    if (pools) { assert_int_equal(emulatedPoolKept(), 0); }
    v = make_zeros(ctx, N);
    tess_vector_destroy(v);
    tess_context_destroy(ctx);
}

static void exhausted_memory_is_an_error(void **state)
{
    (void)state;
    check_exhaustion(true);
    check_exhaustion(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_cannot_read_it),
        cmocka_unit_test(memory_comes_from_a_pool_of_the_context),
        cmocka_unit_test(a_device_without_pools_needs_none),
        cmocka_unit_test(released_memory_is_kept_until_a_trim),
        cmocka_unit_test(a_quarter_of_the_device_is_kept_at_most),
        cmocka_unit_test(listed_memory_has_limits),
        cmocka_unit_test(work_on_released_memory_is_done_first),
        cmocka_unit_test(exhausted_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
