/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors with fill on the GPU: the tests of the host; rounds, and levels by products. */
#define TESTS_ON_GPU
#include "../unit/test_fill.c" /* the same tests, in another context */

static int by_device(void **state)
{
    (void)state;
    fill_way = TESS_FACTORIZATION_DEVICE;
    fill_rounds = 8;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILL_TESTS, TESTS_OF_THRESHOLDS(by_device), TESTS_OF_ROUNDS(by_device),
                                       TESTS_OF_LEVELS(by_device)};

    return run_gpu_tests(tests, NULL);
}
