/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solves by merged level sets on the GPU: the tests of the host, whose records are the same. */
#define TESTS_ON_GPU
#include "../unit/test_merged.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        MERGED_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
