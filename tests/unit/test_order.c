/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse Cuthill-McKee and symmetric permutation. */
#include "order/order.h"
#include "support/product.h"
#include "support/test.h"

static tess_csr_view view_of(const oracle_csr *a)
{
    return (tess_csr_view){a->nrows, a->ncols, a->nnz, a->row_ptr, a->col_ind, a->val, 64};
}

static void assert_permutation(int64_t n, const int32_t *perm)
{
    bool *seen = test_allocate(n, sizeof *seen);

    memset(seen, 0, (size_t)n * sizeof *seen);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(perm[i], 0, n - 1);
        assert_false(seen[perm[i]]);
        seen[perm[i]] = true;
    }
    free(seen);
}

static int32_t *random_permutation(int64_t n, uint64_t seed)
{
    int32_t *perm = test_allocate(n, sizeof *perm);

    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)(oracle_random_bits(&seed) % (uint64_t)(i + 1));

        perm[i] = perm[j];
        perm[j] = (int32_t)i;
    }
    return perm;
}

/* P A P^T by the definition, entry by entry. */
static oracle_csr permuted(const oracle_csr *a, const int32_t *perm)
{
    oracle_csr b = oracle_open(a->nrows, a->ncols);

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t j = 0; j < a->ncols; j++) {
            for (int64_t k = a->row_ptr[perm[i]]; k < a->row_ptr[perm[i] + 1]; k++) {
                if (a->col_ind[k] == perm[j]) { oracle_push(&b, j, a->val[k]); }
            }
        }
        oracle_end_row(&b, i);
    }
    return b;
}

/* Largest |i - j| after renumbering. */
static int64_t bandwidth(const oracle_csr *a, const int32_t *perm)
{
    int64_t n = a->nrows, widest = 0;
    int64_t *place = test_allocate(n, sizeof *place);

    for (int64_t i = 0; i < n; i++) {
        place[perm[i]] = i;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            int64_t distance = llabs(place[i] - place[a->col_ind[k]]);

            widest = distance > widest ? distance : widest;
        }
    }
    free(place);
    return widest;
}

/* Orders `a`, checks the permutation, returns the bandwidth that it leaves. */
static int64_t bandwidth_by_rcm(const oracle_csr *a)
{
    tess_context *ctx = open_cpu(2);
    tess_csr_view view = view_of(a);
    int32_t *perm = test_allocate(a->nrows, sizeof *perm);
    int64_t width;

    assert_ok(ctx, tess_order_rcm(ctx, &view, perm));
    assert_permutation(a->nrows, perm);
    width = bandwidth(a, perm);
    free(perm);
    tess_context_destroy(ctx);
    return width;
}

static void renumbered_grid_gets_its_band_back(void **state)
{
    enum { K = 24 };
    oracle_csr grid = oracle_laplace2d(K);
    int32_t *shuffle = random_permutation(K * K, 5);
    oracle_csr shuffled = permuted(&grid, shuffle);

    (void)state;
    /* Level structures of a square grid from a corner are its diagonals, at most K long: two levels span under 2 K, and
       Cuthill-McKee keeps each node within K of its neighbours. */
    assert_true(bandwidth(&grid, shuffle) > 8 * K);
    assert_in_range(bandwidth_by_rcm(&shuffled), K, K + 2);
    oracle_free(&grid);
    oracle_free(&shuffled);
    free(shuffle);
}

static void shuffled_path_becomes_tridiagonal(void **state)
{
    oracle_csr path = oracle_tridiagonal(200, -1.0, 2.0, -1.0);
    int32_t *shuffle = random_permutation(200, 3);
    oracle_csr shuffled = permuted(&path, shuffle);

    (void)state;
    assert_int_equal(bandwidth_by_rcm(&shuffled), 1);
    oracle_free(&path);
    oracle_free(&shuffled);
    free(shuffle);
}

/* Three paths, single nodes with and without a diagonal entry, interleaved. */
static void components_are_ordered_one_by_one(void **state)
{
    enum { N = 99 };
    oracle_csr a = oracle_open(N, N);

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        bool alone = i % 3 == 0 && i > 30;

        if (!alone && i >= 3) { oracle_push(&a, i - 3, 1.0); }
        if (i % 2 == 0) { oracle_push(&a, i, 2.0); }
        if (!alone && i + 3 < N && !((i + 3) % 3 == 0 && i + 3 > 30)) { oracle_push(&a, i + 3, 1.0); }
        oracle_end_row(&a, i);
    }
    assert_int_equal(bandwidth_by_rcm(&a), 1);
    oracle_free(&a);
}

/* Only the upper bidiagonal part of a shuffled path: A + A^T is the path. */
static void unsymmetric_pattern_is_symmetrized(void **state)
{
    oracle_csr path = oracle_open(150, 150), shuffled;
    int32_t *shuffle = random_permutation(150, 8);

    (void)state;
    for (int64_t i = 0; i < 150; i++) {
        oracle_push(&path, i, 1.0);
        if (i + 1 < 150) { oracle_push(&path, i + 1, 1.0); }
        oracle_end_row(&path, i);
    }
    shuffled = permuted(&path, shuffle);
    assert_int_equal(bandwidth_by_rcm(&shuffled), 1);
    oracle_free(&path);
    oracle_free(&shuffled);
    free(shuffle);
}

static void long_rows_and_tiny_matrices_are_ordered(void **state)
{
    oracle_csr star = oracle_open(100, 100), nothing = oracle_open(0, 0), one = oracle_tridiagonal(1, 0.0, 1.0, 0.0);

    (void)state;
    for (int64_t i = 0; i < 100; i++) {
        for (int64_t j = 0; j < 100; j++) {
            if (i == 50 || j == 50) { oracle_push(&star, j, 1.0); }
        }
        oracle_end_row(&star, i);
    }
    assert_in_range(bandwidth_by_rcm(&star), 50, 99);
    bandwidth_by_rcm(&nothing);
    bandwidth_by_rcm(&one);
    oracle_free(&star);
    oracle_free(&nothing);
    oracle_free(&one);
}

static void permutation_moves_rows_and_columns(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_random(60, 60, 4, 11);
    int32_t *perm = random_permutation(60, 2);
    oracle_csr expected = permuted(&a, perm);
    tess_csr_view view = view_of(&a);
    tess_assembled b;
    tess_matrix *m = NULL;
    oracle_csr found;

    (void)state;
    assert_ok(ctx, tess_order_permute_symmetric(ctx, &view, perm, &b));
    assert_int_equal(b.nnz, a.nnz);
    assert_ok(ctx, tess_matrix_adopt_csr(ctx, 60, 60, b.nnz, b.row_ptr, b.row_ptr_bits, b.col_ind, b.val, &m));
    found = decode_matrix(m);
    assert_memory_equal(found.row_ptr, expected.row_ptr, 61 * sizeof(int64_t));
    assert_memory_equal(found.col_ind, expected.col_ind, (size_t)expected.nnz * sizeof(int32_t));
    assert_true(same_bits(found.val, expected.val, expected.nnz));
    oracle_free(&found);
    oracle_free(&expected);
    oracle_free(&a);
    free(perm);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void wrong_inputs_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr rectangle = oracle_random(4, 5, 1, 1), square = oracle_tridiagonal(3, -1.0, 2.0, -1.0);
    tess_csr_view wide_view = view_of(&rectangle), view = view_of(&square);
    int32_t perm[5];
    tess_assembled b;

    (void)state;
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_order_rcm(ctx, &wide_view, perm));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_order_permute_symmetric(ctx, &wide_view, perm, &b));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_order_permute_symmetric(ctx, &view, (const int32_t[]){0, 1, 1}, &b));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_order_permute_symmetric(ctx, &view, (const int32_t[]){0, 1, 3}, &b));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_order_permute_symmetric(ctx, &view, (const int32_t[]){0, -1, 2}, &b));
    oracle_free(&rectangle);
    oracle_free(&square);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renumbered_grid_gets_its_band_back),
        cmocka_unit_test(shuffled_path_becomes_tridiagonal),
        cmocka_unit_test(components_are_ordered_one_by_one),
        cmocka_unit_test(unsymmetric_pattern_is_symmetrized),
        cmocka_unit_test(long_rows_and_tiny_matrices_are_ordered),
        cmocka_unit_test(permutation_moves_rows_and_columns),
        cmocka_unit_test(wrong_inputs_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
