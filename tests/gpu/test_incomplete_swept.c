/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors by sweeps on the GPU: the tests of the host, and host and GPU side by side. */
#define TESTS_ON_GPU
#include "../unit/test_incomplete_swept.c" /* the same tests, in another context */

/* Every entry takes the same operations in the same order. */
static void host_and_gpu_have_the_same_bits(void **state)
{
    oracle_csr matrices[] = {random_dominant(300, 9, true, 5), random_dominant(300, 25, false, 6), arrow(400, true),
                             oracle_laplace2d(20), oracle_convection2d(17, 0.6)};

    (void)state;
    for (int c = 0; c < 5 * 4; c++) {
        const oracle_csr *a = &matrices[c / 4];
        const tess_precond_kind kind = kinds[c / 4 == 1 || c / 4 == 4 ? 0 : c % 2];
        test_factors host = swept_factors_on(TESS_DEVICE_CPU, a, kind, 1 + c % 4),
                     gpu = swept_factors_on(TESS_DEVICE_GPU, a, kind, 1 + c % 4);

        assert_true(same_bits(host.lower.val, gpu.lower.val, host.lower.nnz));
        assert_true(same_bits(host.upper.val, gpu.upper.val, host.upper.nnz));
        assert_true(same_bits(host.inverse, gpu.inverse, a->nrows));
        assert_true(host.largest == gpu.largest && host.bad_row == gpu.bad_row);
        free_factors(&host);
        free_factors(&gpu);
    }
    for (int k = 0; k < 5; k++) {
        oracle_free(&matrices[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INCOMPLETE_SWEPT_TESTS,
        cmocka_unit_test(host_and_gpu_have_the_same_bits),
    };

    return run_gpu_tests(tests, NULL);
}
