/* SPDX-License-Identifier: Apache-2.0 */
/* Products and solves of several columns in formats other than CSR: those of the columns one by one, to rounding. */
#include <tessera/columns.h>
#include <tessera/many.h>

#include "support/test.h"

static void check_column(const oracle_csr *a, const double *x, double alpha, double beta, const double *y,
                         const double *expected)
{
    const double bound = 4.0 * gamma_of((double)oracle_longest_row(a, false) + 3.0);
    double *magnitude = test_allocate(a->nrows, sizeof *magnitude);
    wide *product = test_allocate(a->nrows, sizeof *product);

    oracle_multiply(a, false, x, product, magnitude);
    for (int64_t i = 0; i < a->nrows; i++) {
        assert_true(fabs(y[i] - expected[i]) <= bound * (fabs(alpha) * magnitude[i] + fabs(beta)));
    }
    free(magnitude);
    free(product);
}

static void check_product(const oracle_csr *a, tess_precision precision, int64_t k, double alpha, double beta)
{
    tess_context *ctx = open_device(2);
    tess_matrix *assembled = make_matrix(ctx, a), *m = NULL;
    tess_storage_options storage;
    double *x = random_values(a->ncols * k, 7, -1.0, 1.0), *y = random_values(a->nrows * k, 8, -1.0, 1.0),
           *expected = random_values(a->nrows * k, 8, -1.0, 1.0);
    const tess_columns vx = tess_columns_by_column(a->ncols, k, x, TESS_MEMORY_HOST),
                       vy = tess_columns_by_column(a->nrows, k, y, TESS_MEMORY_HOST);

    tess_storage_options_init(&storage);
    storage.format = TESS_FORMAT_DIA;
    storage.precision = precision;
    storage.slices.max_padding = 1000.0;
    assert_ok(ctx, tess_matrix_convert(assembled, &storage, &m));
    assert_ok(ctx, tess_matrix_spmm(m, alpha, &vx, beta, &vy));
    for (int64_t c = 0; c < k; c++) {
        tess_vector *from = make_vector(ctx, a->ncols, x + c * a->ncols),
                    *to = make_vector(ctx, a->nrows, expected + c * a->nrows);

        assert_ok(ctx, tess_matrix_spmv(m, TESS_OP_NONE, alpha, from, beta, to));
        read_vector(to, expected + c * a->nrows);
        check_column(a, x + c * a->ncols, alpha, beta, y + c * a->nrows, expected + c * a->nrows);
        tess_vector_destroy(from);
        tess_vector_destroy(to);
    }
    tess_matrix_destroy(m);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
    free(x);
    free(y);
    free(expected);
}

/* Diagonals that are full, that have holes, and that leave the matrix; blocks of rows that are not full. */
static void products_by_diagonals(void **state)
{
    static const int64_t counts[] = {2, 8, 33};
    oracle_csr matrices[] = {oracle_laplace2d(37), oracle_tridiagonal(65, -1.0, 2.0, 0.5), oracle_random(30, 70, 5, 2),
                             oracle_with_empty_rows(40)};

    (void)state;
    for (size_t m = 0; m < sizeof matrices / sizeof matrices[0]; m++) {
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
                check_product(&matrices[m], (tess_precision)p, counts[k], k % 2 ? 1.0 : -0.5, k % 3 ? 0.0 : 2.0);
            }
        }
        oracle_free(&matrices[m]);
    }
}

/* CG by diagonals runs its columns together, one of them zero, and verifies each. */
static void solves_by_diagonals(void **state)
{
    enum { SIDE = 20, N = SIDE * SIDE, K = 6 };

    (void)state;
    const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_MINRES, TESS_SOLVER_BICGSTAB};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_matrix *m = make_matrix(ctx, &a);
    double *b = random_values(N * K, 7, -1.0, 1.0), *x = test_allocate(N * K, sizeof *x);

    memset(b + 2 * N, 0, N * sizeof *b);
    for (int s = 0; s < 3; s++) {
        const tess_columns vb = tess_columns_by_column(N, K, b, TESS_MEMORY_HOST),
                           vx = tess_columns_by_column(N, K, x, TESS_MEMORY_HOST);
        tess_solve_result results[K];
        tess_solve_options options;
        tess_solver *solver = NULL;

        tess_solve_options_init(&options);
        options.solver = kinds[s];
        options.storage.format = TESS_FORMAT_DIA;
        options.rtol = 1e-10;
        memset(x, 0, N * K * sizeof *x);
        for (int c = 0; c < K; c++) {
            tess_solve_result_init(&results[c]);
        }
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        assert_int_equal(tess_solver_columns_together(solver, K), K);
        assert_ok(ctx, tess_solver_solve_many(solver, &vb, &vx, results));
        for (int c = 0; c < K; c++) {
            assert_true(results[c].verified);
            assert_int_equal(results[c].storage.format, TESS_FORMAT_DIA);
        }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_by_diagonals), cmocka_unit_test(solves_by_diagonals)};

    return cmocka_run_group_tests_name("unit.columns_formats", tests, NULL, NULL);
}
