/* SPDX-License-Identifier: Apache-2.0 */
/* Block Jacobi as the smoother of multigrid, on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_multigrid_blocks.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {MULTIGRID_BLOCKS_TESTS};

    return run_gpu_tests(tests, NULL);
}
