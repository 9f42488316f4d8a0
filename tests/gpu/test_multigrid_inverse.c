/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate inverses as smoothers of multigrid on the GPU, of levels that are there: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_multigrid_inverse.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        MULTIGRID_INVERSE_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
