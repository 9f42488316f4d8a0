/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of systems on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_sequence.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {SEQUENCE_TESTS};

    return run_gpu_tests(tests, &ctx);
}
