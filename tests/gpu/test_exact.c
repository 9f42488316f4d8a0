/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices that one precision stores exactly, on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_exact.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        EXACT_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
