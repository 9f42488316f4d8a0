/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse Cuthill-McKee, and matrices in another order and scale. */
#include <tessera/order.h>

#include "support/permutation.h"
#include "support/product.h"
#include "support/test.h"

/* D_r and D_c of the definition; either may be NULL. */
typedef struct factors {
    const double *row, *col;
} factors;

/* B[i][j] = row[r] A[r][c] col[c] with r = row_perm[i], c = col_perm[j], by the definition, entry by entry. */
static oracle_csr reordered(const oracle_csr *a, const int32_t *row_perm, const int32_t *col_perm, factors scale)
{
    oracle_csr b = oracle_open(a->nrows, a->ncols);

    for (int64_t i = 0; i < a->nrows; i++) {
        int64_t r = row_perm ? row_perm[i] : i;

        for (int64_t j = 0; j < a->ncols; j++) {
            int64_t c = col_perm ? col_perm[j] : j;

            for (int64_t k = a->row_ptr[r]; k < a->row_ptr[r + 1]; k++) {
                double value = a->val[k] * (scale.row ? scale.row[r] : 1.0) * (scale.col ? scale.col[c] : 1.0);

                if (a->col_ind[k] == c) { oracle_push(&b, j, value); }
            }
        }
        oracle_end_row(&b, i);
    }
    return b;
}

/* P A P^T */
static oracle_csr permuted(const oracle_csr *a, const int32_t *perm)
{
    return reordered(a, perm, perm, (factors){NULL, NULL});
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
    tess_matrix *m = make_matrix(ctx, a);
    int32_t *perm = test_allocate(a->nrows, sizeof *perm);
    int64_t width;

    assert_ok(ctx, tess_order_rcm(m, perm));
    assert_permutation(a->nrows, perm);
    width = bandwidth(a, perm);
    free(perm);
    tess_matrix_destroy(m);
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

/* The matrix has exactly the entries of `expected`; both are released. */
static void assert_matrix_is(tess_matrix *m, oracle_csr *expected)
{
    oracle_csr found = decode_matrix(m);

    assert_int_equal(found.nnz, expected->nnz);
    assert_memory_equal(found.row_ptr, expected->row_ptr, (size_t)(expected->nrows + 1) * sizeof(int64_t));
    assert_memory_equal(found.col_ind, expected->col_ind, (size_t)expected->nnz * sizeof(int32_t));
    assert_true(same_bits(found.val, expected->val, expected->nnz));
    oracle_free(&found);
    oracle_free(expected);
    tess_matrix_destroy(m);
}

static void permutation_moves_rows_and_columns(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_random(60, 60, 4, 11);
    int32_t *perm = random_permutation(60, 2);
    oracle_csr expected = permuted(&a, perm);
    tess_matrix *m = make_matrix(ctx, &a), *b = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_reorder_symmetric(m, perm, &b));
    assert_matrix_is(b, &expected);
    oracle_free(&a);
    free(perm);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

/* A rectangle, with each of the four arrays given or not. */
static void rows_and_columns_are_reordered_and_scaled_apart(void **state)
{
    enum { ROWS = 40, COLUMNS = 55 };
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_random(ROWS, COLUMNS, 4, 12);
    int32_t *rows = random_permutation(ROWS, 4), *columns = random_permutation(COLUMNS, 6);
    double *u = random_values(ROWS, 1, 0.5, 2.0), *v = random_values(COLUMNS, 2, 0.5, 2.0);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int given = 0; given < 16; given++) {
        const int32_t *p = given & 1 ? rows : NULL, *q = given & 2 ? columns : NULL;
        factors scale = {given & 4 ? u : NULL, given & 8 ? v : NULL};
        oracle_csr expected = reordered(&a, p, q, scale);
        tess_matrix *b = NULL;

        assert_ok(ctx, tess_matrix_reorder(m, p, q, scale.row, scale.col, &b));
        assert_matrix_is(b, &expected);
    }
    oracle_free(&a);
    free(rows);
    free(columns);
    free(u);
    free(v);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

/* 2^900 2^900 2^-1000 and 2^-900 2^-900 2^1000 are in the range of FP64; their first two factors' products are not. */
static void scaling_does_not_overflow_on_the_way(void **state)
{
    tess_context *ctx = open_cpu(1);
    const double values[] = {0x1.8p900, -0x1.8p-900, 0.0}, u[] = {0x1p900, 0x1p-900, 1.0};
    const double v[] = {0x1p-1000, 0x1p1000, 1.0}, expected[] = {0x1.8p800, -0x1.8p-800, 0.0};
    oracle_csr a = oracle_diagonal(3, values), scaled = oracle_diagonal(3, expected);
    tess_matrix *m = make_matrix(ctx, &a), *b = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_reorder(m, NULL, NULL, u, v, &b));
    assert_matrix_is(b, &scaled);
    oracle_free(&a);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void wrong_inputs_are_refused(void **state)
{
    static const int32_t wrong[][3] = {{0, 1, 1}, {0, 1, 3}, {0, -1, 2}};
    tess_context *ctx = open_cpu(1);
    oracle_csr rectangle = oracle_random(4, 5, 1, 1), square = oracle_tridiagonal(3, -1.0, 2.0, -1.0);
    tess_matrix *wide_matrix = make_matrix(ctx, &rectangle), *m = make_matrix(ctx, &square), *stored = NULL, *b = NULL;
    tess_storage_options options;
    int32_t perm[5] = {0, 1, 2, 3, 4};

    (void)state;
    tess_storage_options_init(&options);
    assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_order_rcm(wide_matrix, perm));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_matrix_reorder_symmetric(wide_matrix, perm, &b));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_order_rcm(stored, perm));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_reorder(stored, perm, NULL, NULL, NULL, &b));
    for (int i = 0; i < 3; i++) {
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_reorder(m, wrong[i], NULL, NULL, NULL, &b));
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_reorder(m, NULL, wrong[i], NULL, NULL, &b));
        assert_null(b);
    }
    oracle_free(&rectangle);
    oracle_free(&square);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_matrix_destroy(wide_matrix);
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
        cmocka_unit_test(rows_and_columns_are_reordered_and_scaled_apart),
        cmocka_unit_test(scaling_does_not_overflow_on_the_way),
        cmocka_unit_test(wrong_inputs_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
