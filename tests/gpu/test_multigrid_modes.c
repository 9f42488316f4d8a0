/* SPDX-License-Identifier: Apache-2.0 */
/* Near-null vectors that the set-up of multigrid finds on a GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_multigrid_modes.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {MODES_TESTS};

    return run_gpu_tests(tests, NULL);
}
