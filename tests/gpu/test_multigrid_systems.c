/* SPDX-License-Identifier: Apache-2.0 */
/* Other systems for multigrid, on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_multigrid_systems.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {MULTIGRID_SYSTEMS_TESTS};

    return run_gpu_tests(tests, NULL);
}
