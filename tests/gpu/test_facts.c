/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at a matrix finds on the GPU: the tests of the host, and the same bits on both. */
#define TESTS_ON_GPU
#include "../unit/test_facts.c" /* the same tests, in another context */

static void host_and_device_agree(void **state)
{
    tess_context *host = open_cpu(2);

    (void)state;
    for (int k = 0; k < MATRICES; k++) {
        oracle_csr a = make_case(k);
        const matrix_facts here = facts_of(host, &a), there = facts_of(ctx, &a);

        same_facts(&here, &there);
        assert_true(here.symmetric == there.symmetric && here.one_way == there.one_way);
        assert_true(hash_of(host, &a) == hash_of(ctx, &a));
        oracle_free(&a);
    }
    tess_context_destroy(host);
}

/* Arrays that the caller keeps on the device, with offsets of 64 bits. */
static void wide_offsets_give_the_same(void **state)
{
    oracle_csr a = make_case(6);
    const matrix_facts expected = facts_of(ctx, &a);
    tess_csr_arrays arrays = csr_arrays_of(&a);
    const void *const from[] = {a.row_ptr, a.col_ind, a.val};
    const int64_t bytes[] = {8 * (a.nrows + 1), 4 * a.nnz, 8 * a.nnz};
    void *to[3];
    tess_matrix *m = NULL;
    matrix_facts found;

    (void)state;
    for (int k = 0; k < 3; k++) {
        assert_ok(ctx, tess_device_allocate(ctx, bytes[k], 1, &to[k]));
        assert_ok(ctx, ctx->backend->upload(ctx, to[k], from[k], (size_t)bytes[k]));
    }
    arrays.row_ptr = to[0];
    arrays.col_ind = to[1];
    arrays.val = to[2];
    arrays.where = TESS_MEMORY_DEVICE;
    arrays.ownership = TESS_BORROW;
    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
    assert_int_equal(csr_of(m)->view.row_ptr_bits, 64);
    assert_ok(ctx, find_facts(m, &found));
    same_facts(&found, &expected);
    assert_true(found.one_way == expected.one_way);
    tess_matrix_destroy(m);
    for (int k = 0; k < 3; k++) {
        tess_device_release(ctx, to[k], bytes[k], 1);
    }
    oracle_free(&a);
}

/* Where the sweeps settle the bound is the number. Small matrices are counted. */
static void levels_are_bounded_below(void **state)
{
    tess_context *host = open_cpu(2);
    int exact = 0;

    (void)state;
    for (int k = 0; k < MATRICES; k++) {
        oracle_csr a = make_case(k);
        const int64_t here = levels_of(host, &a, false), there = a.nrows > 0 ? levels_of(ctx, &a, true) : 0;

        assert_at_most((double)there, (double)here);
        assert_true(there > 0 || a.nrows == 0);
        assert_int_equal(levels_of(ctx, &a, false), here);
        exact += here == there;
        oracle_free(&a);
    }
    assert_true(exact >= MATRICES - 1);
    tess_context_destroy(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT_TESTS,
        cmocka_unit_test(host_and_device_agree),
        cmocka_unit_test(wide_offsets_give_the_same),
        cmocka_unit_test(levels_are_bounded_below),
    };

    return run_gpu_tests(tests, &ctx);
}
