/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors in an order by colors on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_incomplete_colors.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        INCOMPLETE_COLORS_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
