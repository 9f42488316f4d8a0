/* SPDX-License-Identifier: Apache-2.0 */
/* BSR as levels of multigrid have it, on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_bsr_nodes.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {BSR_NODES_TESTS};

    return run_gpu_tests(tests, NULL);
}
