/* SPDX-License-Identifier: Apache-2.0 */
/* Later solves by the default solver on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_automatic_again.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {AGAIN_TESTS};

    return run_gpu_tests(tests, &ctx);
}
