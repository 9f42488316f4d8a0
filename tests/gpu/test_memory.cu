/* SPDX-License-Identifier: Apache-2.0 */
/* Released device memory: kept for the next request of the same size, and freed on request. */
#include <cuda_runtime.h>

extern "C" {
#include "support/test.h"
}

static tess_context *gpu = nullptr;

/* Whether the device has this memory allocated. */
static bool is_allocated(const void *pointer)
{
    cudaPointerAttributes attributes;

    assert_int_equal(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes.type == cudaMemoryTypeDevice;
}

/* Where a vector of n values was. */
static const void *use_and_release(int64_t n)
{
    tess_vector *v = make_zeros(gpu, n);
    const void *data = tess_vector_data_const(v);

    assert_true(is_allocated(data));
    tess_vector_destroy(v);
    return data;
}

static void released_memory_is_used_again(void **state)
{
    const void *first = use_and_release(1 << 20), *other;

    (void)state;
    assert_true(is_allocated(first));
    other = use_and_release(1 << 21);
    assert_ptr_not_equal(other, first);
    assert_ptr_equal(use_and_release(1 << 20), first);
    assert_ptr_equal(use_and_release((1 << 20) - 1), first); /* as much, in units of allocation */
    assert_ptr_equal(use_and_release(1 << 21), other);
}

/* Small arrays too: freeing one on the device would wait for queued work. */
static void small_memory_is_used_again(void **state)
{
    const void *first = use_and_release(1000), *other;

    (void)state;
    assert_true(is_allocated(first));
    other = use_and_release(3000);
    assert_ptr_not_equal(other, first);
    assert_ptr_equal(use_and_release(1000), first);
    assert_ptr_equal(use_and_release(520), first); /* as much, to a power of two */
    assert_ptr_equal(use_and_release(3000), other);
}

static void trim_gives_it_back(void **state)
{
    const void *kept = use_and_release(3 << 20);
    tess_vector *held = make_zeros(gpu, 1 << 20);

    (void)state;
    assert_true(is_allocated(kept));
    assert_ok(gpu, tess_context_trim(gpu));
    assert_false(is_allocated(kept));
    assert_true(is_allocated(tess_vector_data_const(held)));
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
