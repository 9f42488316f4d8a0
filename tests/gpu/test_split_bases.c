/* SPDX-License-Identifier: Apache-2.0 */
/* Split storage in layers over slices and diagonals on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_split_bases.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPLIT_BASE_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
