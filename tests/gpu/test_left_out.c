/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that are stored nowhere, on the GPU: the tests of the host, and loops that were recorded. */
#define TESTS_ON_GPU
#include "../unit/test_left_out.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {LEFT_OUT_TESTS};

    return run_gpu_tests(tests, &ctx);
}
