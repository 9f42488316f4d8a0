/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles solved by sweeps on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_swept.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWEPT_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
