/* SPDX-License-Identifier: Apache-2.0 */
/* Where a GPU has incomplete factors computed: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_incomplete_choice.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {INCOMPLETE_CHOICE_TESTS};

    return run_gpu_tests(tests, NULL);
}
