/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles on the GPU: the tests of the host, and loops that have stopped. */
#define TESTS_ON_GPU
#include "../unit/test_tiles.c" /* the same tests, in another context */

/* A kernel of a loop that has stopped leaves all as it was, and may leave only when the block rows that it sent for
 * have arrived. */
static void stopped_loops_change_nothing(void **state)
{
    const tess_loop_state stopped = {.phase = TESS_LOOP_STOPPED, .dots = {5.0, 6.0}};
    tess_context *ctx = open_device(0);
    tess_loop_state *predicate = NULL, after;

    (void)state;
    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof *predicate, (void **)&predicate));
    assert_ok(ctx, ctx->backend->upload(ctx, predicate, &stopped, sizeof stopped));
    for (size_t c = 0; c < sizeof long_cases / sizeof *long_cases; c++) {
        long_fixture f = open_long(ctx, &long_cases[c]);
        double *y = test_allocate(f.nrows, sizeof *y);
        tess_vector *vx = make_vector(ctx, tess_matrix_ncols(f.stored), f.x);
        tess_vector *vy = make_vector(ctx, f.nrows, f.product);
        tess_spmv_args args = {.x = vx->data, .y = vy->data, .alpha = 3.0};

        for (int ndots = 0; ndots <= 2; ndots++) {
            args.reduction = (tess_reduction){.ndots = ndots, .with = {vy->data, vy->data}, .state = predicate};
            assert_ok(ctx, f.stored->ops->spmv(f.stored, &args));
            read_vector(vy, y);
            assert_true(same_bits(y, f.product, f.nrows));
        }
        assert_ok(ctx, ctx->backend->download(ctx, &after, predicate, sizeof after));
        assert_true(after.phase == TESS_LOOP_STOPPED && after.dots[0] == 5.0 && after.dots[1] == 6.0);
        long_product_is(&f);
        free(y);
        tess_vector_destroy(vx);
        tess_vector_destroy(vy);
        close_long(&f);
    }
    tess_device_release(ctx, predicate, 1, sizeof *predicate);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TESTS,
        cmocka_unit_test(stopped_loops_change_nothing),
    };

    return run_gpu_tests(tests, NULL);
}
