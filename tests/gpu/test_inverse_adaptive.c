/* SPDX-License-Identifier: Apache-2.0 */
/* fsai:adaptive on the GPU: the tests of the host. Host and GPU side by side: test_inverse.c. */
#define TESTS_ON_GPU
#include "../unit/test_inverse_adaptive.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        INVERSE_ADAPTIVE_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
