/* SPDX-License-Identifier: Apache-2.0 */
/* Pivots of ILU(0) and IC(0) that break down, on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_incomplete_pivots.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        INCOMPLETE_PIVOTS_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
