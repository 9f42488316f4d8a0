/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on the GPU: the tests of the host; arrays of the device; vectors that shared memory does not hold. */
#define TESTS_ON_GPU
#include "../unit/test_batch.c" /* the same tests, in another context */

#include "base/context.h"

/* The same bits as from arrays of the host, and twice. */
static void arrays_of_the_device_are_read_in_place(void **state)
{
    const tess_solve_options options = options_of(TESS_SOLVER_AUTO, TESS_PRECOND_AUTO);
    batch_of q = make_batch(ctx, oracle_convection2d(SIDE, 2.0), 3);
    tess_batch batch = arrays_of(&q);
    const int64_t values = 3 * N;
    double *x = test_allocate(values, sizeof *x), *val = NULL, *b = NULL;
    int64_t *row_ptr = NULL;
    int32_t *col_ind = NULL;

    (void)state;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    assert_ok(ctx, tess_device_upload(ctx, q.val, 3 * q.a.nnz, sizeof *val, (void **)&val));
    assert_ok(ctx, tess_device_upload(ctx, q.b, values, sizeof *b, (void **)&b));
    assert_ok(ctx, tess_device_upload(ctx, q.a.row_ptr, N + 1, sizeof *row_ptr, (void **)&row_ptr));
    assert_ok(ctx, tess_device_upload(ctx, q.a.col_ind, q.a.nnz, sizeof *col_ind, (void **)&col_ind));
    batch.where = TESS_MEMORY_DEVICE;
    batch.val = val;
    batch.b = b;
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(ctx, tess_device_allocate(ctx, values, sizeof *x, (void **)&batch.x));
        assert_ok(ctx, ctx->backend->zero(ctx, batch.x, (size_t)values * sizeof *x));
        batch.pattern_where = turn == 0 ? TESS_MEMORY_HOST : TESS_MEMORY_DEVICE;
        batch.row_ptr = turn == 0 ? q.a.row_ptr : row_ptr;
        batch.col_ind = turn == 0 ? q.a.col_ind : col_ind;
        assert_ok(ctx, tess_batch_solve(ctx, &batch, &options, q.results));
        assert_ok(ctx, ctx->backend->download(ctx, x, batch.x, (size_t)values * sizeof *x));
        assert_true(same_bits(x, q.x, values));
        check_solved(&q, &options);
        tess_device_release(ctx, batch.x, values, sizeof *x);
    }
    tess_device_release(ctx, val, 3 * q.a.nnz, sizeof *val);
    tess_device_release(ctx, b, values, sizeof *b);
    tess_device_release(ctx, row_ptr, N + 1, sizeof *row_ptr);
    tess_device_release(ctx, col_ind, q.a.nnz, sizeof *col_ind);
    free(x);
    discard_batch(&q);
}

/* Vectors of 6 to 8 times 8 n bytes: 30,000 rows are beyond any block's shared memory. */
static void large_systems_keep_vectors_in_global_memory(void **state)
{
    const int64_t n = on_gpu_or_emulated(30000, 5000);
    const tess_solve_options options = options_of(TESS_SOLVER_AUTO, TESS_PRECOND_JACOBI);
    batch_of q = make_batch(ctx, oracle_tridiagonal(n, -1.0, 8.0, -1.0), 2);

    (void)state;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    discard_batch(&q);
}

/* More systems than a launch takes where a limit of time is set, each of one row. */
static void a_limit_of_time_makes_slices(void **state)
{
    static const double one[] = {2.0};
    tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_JACOBI);
    batch_of q = make_batch(ctx, oracle_diagonal(1, one), on_gpu_or_emulated(20000, 300));

    (void)state;
    options.time_limit = 1000.0;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    discard_batch(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {BATCH_TESTS, cmocka_unit_test(arrays_of_the_device_are_read_in_place),
                                       cmocka_unit_test(large_systems_keep_vectors_in_global_memory),
                                       cmocka_unit_test(a_limit_of_time_makes_slices)};

    return run_gpu_tests(tests, &ctx);
}
