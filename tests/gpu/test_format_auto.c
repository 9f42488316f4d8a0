/* SPDX-License-Identifier: Apache-2.0 */
/* Format auto on the GPU: the tests of the host, slices and tiles chosen, and precisions that split does not have
 * there. */
#define TESTS_ON_GPU
#include "../unit/test_format_auto.c" /* the same tests, in another context */

/* Split has no 8 bits on a GPU. */
static void precisions_of_tiles_alone_take_tiles(void **state)
{
    tess_context *ctx = open_device(0);
    oracle_csr sparse = make_blocks(64, 1);
    tess_storage_options o = options_of("fixed-range:40", TESS_GRANULARITY_MATRIX);

    (void)state;
    assert_int_equal(tess_precision_levels_parse("fp64,e5m2", &o.policy), TESS_SUCCESS);
    assert_int_equal(format_for(ctx, &sparse, &o), TESS_FORMAT_TILES);
    o = options_of("lossless", TESS_GRANULARITY_MATRIX); /* by default down to fp8 */
    assert_int_equal(format_for(ctx, &sparse, &o), TESS_FORMAT_TILES);
    oracle_free(&sparse);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FORMAT_AUTO_TESTS,
        cmocka_unit_test(precisions_of_tiles_alone_take_tiles),
    };

    return run_gpu_tests(tests, NULL);
}
