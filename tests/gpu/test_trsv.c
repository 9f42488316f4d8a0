/* SPDX-License-Identifier: Apache-2.0 */
/* Dense triangular solves on the GPU: residual bounds in every variant, unaligned arrays, exact cases, the same bits
 * again. */
#include <tessera/dense.h>

#include "support/trsv.h"

static tess_context *gpu = NULL;

static void meets_its_bound(void **state)
{
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 100, 257, 1000};
    const size_t count = sizeof sizes / sizeof *sizes - (gpu_is_emulated() ? 1 : 0);

    (void)state;
    for (size_t s = 0; s < count; s++) {
        check_trsv_all(gpu, sizes[s]);
    }
}

static void meets_its_bound_when_large(void **state)
{
    (void)state;
    for (int s = 0; s < TESS_PRECISION_COUNT; s++) {
        check_trsv_layout(gpu, on_gpu_or_emulated(5000, 1500), (tess_precision)s, 0, 0);
    }
}

static void takes_any_layout(void **state)
{
    (void)state;
    for (int s = 0; s < TESS_PRECISION_COUNT; s++) {
        check_trsv_layout(gpu, 448, (tess_precision)s, 16, 0); /* aligned, whole blocks */
        check_trsv_layout(gpu, 450, (tess_precision)s, 14, 0); /* aligned, and a short last block */
        check_trsv_layout(gpu, 450, (tess_precision)s, 14, 1); /* not aligned */
        check_trsv_layout(gpu, 333, (tess_precision)s, 0, 0);  /* aligned columns are rare */
    }
}

static void is_exact_on_integers(void **state)
{
    (void)state;
    check_trsv_exact(gpu, 1);
    check_trsv_exact(gpu, 200);
    check_trsv_exact(gpu, on_gpu_or_emulated(3000, 1000));
}

static void shows_a_zero_pivot(void **state)
{
    (void)state;
    check_trsv_zero_pivot(gpu, 100, 0);
    check_trsv_zero_pivot(gpu, 100, 70);
    check_trsv_zero_pivot(gpu, 400, 399);
}

static void repeats(void **state)
{
    (void)state;
    check_trsv_repeats(gpu, 300);
    check_trsv_repeats(gpu, on_gpu_or_emulated(4000, 1000));
}

static void does_nothing_at_size_zero(void **state)
{
    const tess_trsv_options options = {0};
    const tess_dense_view a = {0, 0, 0, TESS_PRECISION_FP32, NULL, NULL},
                          x = {0, 1, 0, TESS_PRECISION_FP64, NULL, NULL};

    (void)state;
    assert_ok(gpu, tess_trsv(gpu, &options, &a, &x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_nothing_at_size_zero),
        cmocka_unit_test(is_exact_on_integers),
        cmocka_unit_test(meets_its_bound),
        cmocka_unit_test(takes_any_layout),
        cmocka_unit_test(shows_a_zero_pivot),
        cmocka_unit_test(repeats),
        cmocka_unit_test(meets_its_bound_when_large),
    };

    return run_gpu_tests(tests, &gpu);
}
