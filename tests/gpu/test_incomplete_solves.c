/* SPDX-License-Identifier: Apache-2.0 */
/* Solvers with ILU(0) and IC(0) on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_incomplete_solves.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        INCOMPLETE_SOLVE_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
