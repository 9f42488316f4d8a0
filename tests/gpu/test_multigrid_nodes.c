/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of multigrid stored by blocks of nodes, on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_multigrid_nodes.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {MULTIGRID_NODES_TESTS};

    return run_gpu_tests(tests, NULL);
}
