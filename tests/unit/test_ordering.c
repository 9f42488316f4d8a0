/* SPDX-License-Identifier: Apache-2.0 */
/* The order of rows by nested dissection, and that the analysis takes it where it saves work. */
#include <limits.h>

#include "precond/direct/ordering.h"
#include "support/precond.h"

/* 7 points on k^3; `skew` makes it unsymmetric, `corner` is added to the first diagonal entry. */
static oracle_csr laplace3d(int64_t k, double skew, double corner)
{
    const int64_t n = k * k * k, step[3] = {k * k, k, 1};
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            if (i / step[d] % k > 0) { oracle_push(&a, i - step[d], -1.0 - skew); }
        }
        oracle_push(&a, i, 6.0 + (i == 0 ? corner : 0.0));
        for (int d = 2; d >= 0; d--) {
            if (i / step[d] % k < k - 1) { oracle_push(&a, i + step[d], -1.0 + skew); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void read_system(tess_context *ctx, const oracle_csr *a, bool cholesky, direct_system *s)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    int32_t *exponents = test_allocate(2 * a->nrows, sizeof *exponents);

    assert_ok(ctx, direct_read(matrix, cholesky, s));
    assert_ok(ctx, direct_scale(s, TESS_PRECISION_FP32, INT_MAX, exponents, exponents + a->nrows));
    free(exponents);
    tess_matrix_destroy(matrix);
}

static bool metis_is_here(tess_context *ctx)
{
    oracle_csr a = laplace3d(2, 0.0, 0.0);
    direct_system s;
    int32_t position[8];
    bool found = false;

    read_system(ctx, &a, true, &s);
    assert_ok(ctx, direct_nested_dissection(&s, position, &found));
    direct_release(&s);
    oracle_free(&a);
    return found;
}

/* Every place once; the same on every run. A row without neighbours, and both sides of an unsymmetric pattern. */
static void an_order_has_every_place_once(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr grid = laplace3d(8, 0.0, 0.0), diagonal = oracle_tridiagonal(5, 0.0, 2.0, 0.0),
               upper = oracle_tridiagonal(40, 0.0, 2.0, 1.0);
    const oracle_csr *const matrices[] = {&grid, &diagonal, &upper};

    (void)state;
    if (!metis_is_here(ctx)) { skip(); }
    for (int c = 0; c < 3; c++) {
        const int64_t n = matrices[c]->nrows;
        int32_t *position = test_allocate(n, sizeof *position), *again = test_allocate(n, sizeof *again);
        char *taken = test_allocate(n, 1);
        direct_system s;
        bool found = false;

        memset(taken, 0, (size_t)n);
        read_system(ctx, matrices[c], c < 2, &s);
        assert_ok(ctx, direct_nested_dissection(&s, position, &found));
        assert_true(found);
        assert_ok(ctx, direct_nested_dissection(&s, again, &found));
        assert_memory_equal(position, again, (size_t)n * sizeof *position);
        for (int64_t i = 0; i < n; i++) {
            assert_true(position[i] >= 1 && position[i] <= n);
            assert_false(taken[position[i] - 1]);
            taken[position[i] - 1] = 1;
        }
        direct_release(&s);
        free(position);
        free(again);
        free(taken);
    }
    oracle_free(&grid);
    oracle_free(&diagonal);
    oracle_free(&upper);
    tess_context_destroy(ctx);
}

/* Operations that the analysis of a system predicts, and those of MUMPS' own order alone. */
static void predict(tess_context *ctx, const oracle_csr *a, bool cholesky, double *chosen, double *local)
{
    direct_system s;
    direct_analysis analysis;
    mumps_instance *mumps = NULL;

    read_system(ctx, a, cholesky, &s);
    assert_ok(ctx, direct_analyse(&s, DIRECT_RELAXATION, &analysis));
    *chosen = analysis.reply.flops;
    mumps_close(ctx, analysis.mumps);
    assert_ok(ctx, mumps_open(ctx, s.precision, false, s.symmetry, &mumps));
    *local = mumps_run(mumps, MUMPS_ANALYSE,
                       &(mumps_arguments){.n = s.n,
                                          .nnz = s.count,
                                          .row = s.row,
                                          .column = s.column,
                                          .val = s.rounded,
                                          .relaxation = DIRECT_RELAXATION})
                 .flops;
    mumps_close(ctx, mumps);
    direct_release(&s);
}

/* On a grid in three dimensions dissection saves a tenth of the operations at least, and more on larger ones. With one
   zero on the diagonal MUMPS is left to match rows and columns; a small grid is not worth it. */
static void dissection_is_taken_where_it_saves_work(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr symmetric = laplace3d(26, 0.0, 0.0), unsymmetric = laplace3d(26, 0.1, 0.0),
               zero = laplace3d(26, 0.1, -6.0), small = laplace3d(8, 0.0, 0.0);
    double chosen = 0.0, local = 0.0;

    (void)state;
    if (!mumps_is_here() || !metis_is_here(ctx)) { skip(); }
    predict(ctx, &symmetric, true, &chosen, &local);
    assert_true(chosen < 0.9 * local);
    predict(ctx, &unsymmetric, false, &chosen, &local);
    assert_true(chosen < 0.9 * local);
    predict(ctx, &zero, false, &chosen, &local);
    assert_true(chosen == local);
    predict(ctx, &small, true, &chosen, &local);
    assert_true(chosen == local);
    oracle_free(&symmetric);
    oracle_free(&unsymmetric);
    oracle_free(&zero);
    oracle_free(&small);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_has_every_place_once),
        cmocka_unit_test(dissection_is_taken_where_it_saves_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
