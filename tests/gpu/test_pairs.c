/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in pairs of FP32 numbers on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_pairs.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {PAIRS_TESTS};

    return run_gpu_tests(tests, NULL);
}
