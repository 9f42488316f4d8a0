/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of CG over its vectors on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_fused.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        FUSED_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
