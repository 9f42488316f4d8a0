/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners of several columns on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_precond_columns.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRECOND_COLUMNS_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
