/* SPDX-License-Identifier: Apache-2.0 */
/* Multigrid by aggregation whose cycle runs on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_aggregation_solves.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {AGGREGATION_TESTS};

    return run_gpu_tests(tests, NULL);
}
