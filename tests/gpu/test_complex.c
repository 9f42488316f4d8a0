/* SPDX-License-Identifier: Apache-2.0 */
/* Complex matrices on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_complex.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {COMPLEX_TESTS};

    return run_gpu_tests(tests, NULL);
}
