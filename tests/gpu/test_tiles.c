/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles on the GPU: the tests of the host. */
#include "support/test.h"

#define TILES_ON_GPU
static tess_context *open_device(int threads)
{
    tess_context *ctx = open_gpu();

    (void)threads; /* of the host: they do not matter here */
    assert_non_null(ctx);
    return ctx;
}
#include "../unit/test_tiles.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
