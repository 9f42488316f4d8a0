/* SPDX-License-Identifier: Apache-2.0 */
/* What tess_find_problems finds in systems with a known fault, and does not find in sound ones. */
#include <float.h>

#include <tessera/findings.h>

#include "support/test.h"

static tess_findings look(const oracle_csr *a, const double *b, const double *x)
{
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = NULL, *vx = NULL;
    tess_findings f;

    tess_findings_init(&f);
    if (b) {
        assert_ok(ctx, tess_vector_create(ctx, a->nrows, TESS_PRECISION_FP64, &vb));
        assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    }
    if (x) {
        assert_ok(ctx, tess_vector_create(ctx, a->ncols, TESS_PRECISION_FP64, &vx));
        assert_ok(ctx, tess_vector_set(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    }
    assert_ok(ctx, tess_find_problems(m, vb, vx, &f));
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    return f;
}

static void sound_systems_have_no_findings(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_findings f = look(&a, NULL, NULL);

    (void)state;
    assert_true(f.nrows == 400 && f.ncols == 400);
    assert_int_equal(f.structural_rank, 400);
    assert_int_equal(f.unmatched_rows.count + f.unmatched_columns.count + f.empty_rows.count + f.empty_columns.count,
                     0);
    assert_int_equal(f.zero_diagonal.count + f.duplicate_rows.count + f.nonfinite.count, 0);
    assert_int_equal(f.constant_null_vector, 0);
    assert_true(f.empty_rows.row == -1 && isnan(f.attainable_residual));
    oracle_free(&a);
}

/* 5 x 5: row 2 empty but for a zero, columns 1 and 4 empty, row 3 = row 0, NaN in row 4. */
static void faults_are_named_with_their_places(void **state)
{
    oracle_csr a = oracle_open(5, 5);
    const double b[5] = {1.0, 1.0, (double)INFINITY, 1.0, (double)NAN};
    tess_findings f;

    (void)state;
    oracle_push(&a, 0, 2.0);
    oracle_push(&a, 2, 1.0);
    oracle_end_row(&a, 0);
    oracle_push(&a, 3, 1.0);
    oracle_end_row(&a, 1);
    oracle_push(&a, 1, 0.0);
    oracle_end_row(&a, 2);
    oracle_push(&a, 0, 2.0);
    oracle_push(&a, 2, 1.0);
    oracle_end_row(&a, 3);
    oracle_push(&a, 3, (double)NAN);
    oracle_end_row(&a, 4);
    f = look(&a, b, b);
    assert_int_equal(f.structural_rank, 3);
    assert_true(f.unmatched_rows.count == 2 && f.unmatched_rows.row == 2);
    assert_true(f.unmatched_columns.count == 2 && f.unmatched_columns.column == 1 && f.unmatched_columns.row == -1);
    assert_true(f.empty_rows.count == 1 && f.empty_rows.row == 2);
    assert_true(f.empty_columns.count == 2 && f.empty_columns.column == 1 && f.empty_columns.row == -1);
    assert_true(f.zero_diagonal.count == 4 && f.zero_diagonal.row == 1);
    assert_true(f.duplicate_rows.count == 1 && f.duplicate_rows.row == 3 && f.duplicate_rows.column == 0);
    assert_true(f.nonfinite.count == 1 && f.nonfinite.row == 4 && f.nonfinite.column == 3);
    assert_true(f.nonfinite_rhs.count == 2 && f.nonfinite_rhs.row == 2);
    assert_true(isnan(f.attainable_residual));
    oracle_free(&a);
}

/* The rank of random sparse patterns, against augmenting paths by plain recursion. */
static bool augment(const oracle_csr *a, int64_t row, int64_t *row_of, bool *seen)
{
    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        const int32_t j = a->col_ind[k];

        if (a->val[k] == 0.0 || seen[j]) { continue; }
        seen[j] = true;
        if (row_of[j] < 0 || augment(a, row_of[j], row_of, seen)) {
            row_of[j] = row;
            return true;
        }
    }
    return false;
}

static void the_rank_is_that_of_a_naive_search(void **state)
{
    int deficient = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const int64_t m = 30 + (int64_t)(seed % 3) * 20, n = 50;
        oracle_csr a = oracle_random(m, n, 1 + (int64_t)(seed % 3), seed);
        int64_t row_of[50], rank = 0;
        tess_findings f = look(&a, NULL, NULL);

        for (int j = 0; j < 50; j++) {
            row_of[j] = -1;
        }
        for (int64_t i = 0; i < m; i++) {
            bool seen[50] = {false};

            rank += augment(&a, i, row_of, seen);
        }
        assert_int_equal(f.structural_rank, rank);
        assert_int_equal(f.unmatched_rows.count, m - rank);
        assert_int_equal(f.unmatched_columns.count, n - rank);
        deficient += rank < m && rank < n;
        oracle_free(&a);
    }
    assert_true(deficient > 5);
}

/* Row sums of 0: the graph Laplacian, with values that round. */
static void a_constant_null_vector_is_seen(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -0.1, 0.2, -0.1);

    (void)state;
    assert_int_equal(look(&a, NULL, NULL).constant_null_vector, 0);
    for (int64_t k = 0; k < a.nnz; k++) {
        if (a.val[k] == 0.2 && (k == 0 || k == a.nnz - 1)) { a.val[k] = 0.1; }
    }
    assert_int_equal(look(&a, NULL, NULL).constant_null_vector, 1);
    oracle_free(&a);
}

/* 1^T A = 0, so that 1^T b stays in any residual: of b = (1, ..., 1, 11) over 50 rows, 60 / sqrt(50) / sqrt(170). */
static void what_no_x_reaches(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.0, 2.0, -1.0);
    double b[50];

    (void)state;
    for (int i = 0; i < 50; i++) {
        b[i] = i < 49 ? 1.0 : 11.0;
    }
    assert_true(look(&a, b, NULL).inconsistency == 0.0);
    a.val[0] = a.val[a.nnz - 1] = 1.0;
    assert_at_most(fabs(look(&a, b, NULL).inconsistency - 60.0 / sqrt(50.0) / sqrt(170.0)), 1e-14);
    b[49] = -49.0;
    assert_true(look(&a, b, NULL).inconsistency == 0.0);
    oracle_free(&a);
}

/* u (||A||_F ||x|| + ||b||) / ||b||, by hand: A = diag(3, 4), x = (0, 2), b = (6, 8): u (5 * 2 + 10) / 10 = 2 u. */
static void the_attainable_residual_is_as_stated(void **state)
{
    const double diagonal[2] = {3.0, 4.0}, b[2] = {6.0, 8.0}, x[2] = {0.0, 2.0};
    oracle_csr a = oracle_diagonal(2, diagonal);
    tess_findings f = look(&a, b, x);

    (void)state;
    assert_true(fabs(f.attainable_residual - 0x1p-52) <= 8.0 * DBL_EPSILON * 0x1p-52);
    assert_true(isnan(look(&a, b, NULL).attainable_residual));
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound_systems_have_no_findings),
                                       cmocka_unit_test(faults_are_named_with_their_places),
                                       cmocka_unit_test(the_rank_is_that_of_a_naive_search),
                                       cmocka_unit_test(a_constant_null_vector_is_seen),
                                       cmocka_unit_test(what_no_x_reaches),
                                       cmocka_unit_test(the_attainable_residual_is_as_stated)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
