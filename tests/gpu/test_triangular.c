/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse triangular solves on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_triangular.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRIANGULAR_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
