/* SPDX-License-Identifier: Apache-2.0 */
/* Negative definite systems on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_negative_definite.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {NEGATIVE_TESTS};

    return run_gpu_tests(tests, &ctx);
}
