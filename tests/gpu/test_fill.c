/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors with fill on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_fill.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {FILL_TESTS};

    return run_gpu_tests(tests, NULL);
}
