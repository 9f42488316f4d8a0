/* SPDX-License-Identifier: Apache-2.0 */
/* Released device memory: kept for later requests, and freed on request. */
#include <cuda_runtime.h>

extern "C" {
#include "support/test.h"
}

enum { MEGABYTES_64 = 1 << 23 }; /* values */

static tess_context *gpu = nullptr;

/* Bytes that the device has left, once queued work has ended. */
static int64_t spare(void)
{
    size_t left = 0, total = 0;

    assert_ok(gpu, tess_context_synchronize(gpu));
    assert_int_equal(cudaMemGetInfo(&left, &total), cudaSuccess);
    return (int64_t)left;
}

static void use_and_release(int64_t n)
{
    tess_vector_destroy(make_zeros(gpu, n));
}

static void released_memory_is_used_again(void **state)
{
    int64_t left;

    (void)state;
    use_and_release(MEGABYTES_64);
    left = spare();
    for (int k = 0; k < 10; k++) {
        use_and_release(MEGABYTES_64 - k);
    }
    assert_true(spare() >= left);
}

/* Small arrays too: freeing one on the device would wait for queued work. */
static void small_memory_is_used_again(void **state)
{
    int64_t left;

    (void)state;
    use_and_release(1000);
    left = spare();
    for (int k = 0; k < 1000; k++) {
        use_and_release(1000 - k);
    }
    assert_true(spare() >= left);
}

static void trim_gives_it_back(void **state)
{
    tess_vector *held = make_zeros(gpu, 1000);
    int64_t kept;

    (void)state;
    use_and_release(2 * MEGABYTES_64);
    kept = spare();
    assert_ok(gpu, tess_context_trim(gpu));
    assert_true(spare() >= kept + 8 * MEGABYTES_64); /* less where other arrays share what is trimmed */
    assert_ok(gpu, tess_vector_fill(held, 1.0));
    assert_ok(gpu, tess_context_synchronize(gpu));
    tess_vector_destroy(held);
}

/* Work queued on released memory still runs, before the next owner's work. */
static void work_on_released_memory_is_done_first(void **state)
{
    enum { N = 1 << 22, ROUNDS = 20 };
    double *back = static_cast<double *>(test_allocate(N, sizeof *back));
    tess_vector *sum = make_zeros(gpu, N);

    (void)state;
    for (int k = 0; k < ROUNDS; k++) {
        tess_vector *v = make_zeros(gpu, N);

        assert_ok(gpu, tess_vector_fill(v, k));
        assert_ok(gpu, tess_vector_axpby(1.0, v, 1.0, sum, TESS_ARITHMETIC_FP64));
        tess_vector_destroy(v);
    }
    read_vector(sum, back);
    for (int i = 0; i < N; i++) {
        assert_true(back[i] == ROUNDS * (ROUNDS - 1) / 2);
    }
    tess_vector_destroy(sum);
    free(back);
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(released_memory_is_used_again),
        cmocka_unit_test(small_memory_is_used_again),
        cmocka_unit_test(trim_gives_it_back),
        cmocka_unit_test(work_on_released_memory_is_done_first),
    };

    return run_gpu_tests(tests, &gpu);
}
