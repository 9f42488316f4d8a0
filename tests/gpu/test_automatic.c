/* SPDX-License-Identifier: Apache-2.0 */
/* The automatic solve on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_automatic.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {AUTOMATIC_TESTS, cmocka_unit_test(a_recorded_attempt_is_left_early)};

    return run_gpu_tests(tests, &ctx);
}
