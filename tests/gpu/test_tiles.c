/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_tiles.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
