/* SPDX-License-Identifier: Apache-2.0 */
/* Products of several columns in every format that has them, against the oracle; and solves by them. */
#include <tessera/columns.h>
#include <tessera/many.h>

#include "matrix/matrix.h"
#include "support/columns.h"
#include "support/product.h"

static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_SELL, TESS_FORMAT_ELLR, TESS_FORMAT_DIA,
                                      TESS_FORMAT_BSR};
enum { FORMATS = (int)(sizeof formats / sizeof *formats) };

/* Rows of 0 to 70 entries, which sorting permutes, some of which reach far. */
static oracle_csr make_uneven(int64_t rows, int64_t columns)
{
    oracle_csr a = oracle_open(rows, columns);
    uint64_t seed = 5;

    for (int64_t i = 0; i < rows; i++) {
        const int64_t count = i % 29 == 4 ? 70 : i % 7;

        for (int64_t j = i < 9 ? 0 : i - 9; j < i - 9 + count && j < columns; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        if (i == 70 && columns > 40000) { oracle_push(&a, columns - 1, 0.5); }
        oracle_end_row(&a, i);
    }
    return a;
}

static void check_stored(const tess_matrix *assembled, tess_format format, tess_precision precision)
{
    static const int64_t counts[] = {1, 2, 3, 8, 9, 32, 33};
    enum { COUNTS = (int)(sizeof counts / sizeof *counts) };
    tess_matrix *m = store_in(assembled, format, precision, TESS_ARITHMETIC_FP64);
    oracle_csr stored = decode_matrix(m);

    for (int k = 0; k < COUNTS; k++) {
        if (k >= 5 && precision != TESS_PRECISION_FP64) { break; }
        check_spmm(m, &stored, counts[k], (k + (int)precision) % 2 == 0, k % 2 ? 1.0 : -0.5, k % 3 ? 0.0 : 2.0);
    }
    oracle_free(&stored);
    tess_matrix_destroy(m);
}

/* Diagonals that are full, that have holes, and that leave the matrix; blocks and slices of rows that are not full;
   slices whose rows are permuted, and with wide columns. */
static void products_of_every_format(void **state)
{
    oracle_csr matrices[] = {oracle_laplace2d(13),        oracle_tridiagonal(65, -1.0, 2.0, 0.5),
                             oracle_random(30, 70, 5, 2), oracle_with_empty_rows(40),
                             make_uneven(200, 190),       make_uneven(80, 40100)};

    (void)state;
    for (size_t k = 0; k < sizeof matrices / sizeof matrices[0]; k++) {
        tess_context *ctx = open_device(2);
        tess_matrix *m = make_matrix(ctx, &matrices[k]);

        for (int at = 0; at < FORMATS * (int)TESS_PRECISION_COUNT; at++) {
            if (matrices[k].ncols > 40000 && at / FORMATS != TESS_PRECISION_BF16) { continue; }
            check_stored(m, formats[at % FORMATS], (tess_precision)(at / FORMATS));
        }
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        oracle_free(&matrices[k]);
    }
}

/* Products in FP32, whose vectors are too, and steps of polynomials: of rows. */
static void steps_of_polynomials(void **state)
{
    oracle_csr a = make_uneven(200, 190);
    tess_context *ctx = open_device(2);
    tess_matrix *assembled = make_matrix(ctx, &a);

    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_matrix *m = store_in(assembled, TESS_FORMAT_CSR, (tess_precision)p, TESS_ARITHMETIC_FP64);
        oracle_csr stored = decode_matrix(m);

        for (int k = 0; k < 4; k++) {
            check_columns_step(m, &stored,
                               (columns_step){.vectors = k % 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64,
                                              .columns = 2 << (k + p) % 4,
                                              .keeps_y = k < 2,
                                              .wide_total = k == 1});
        }
        oracle_free(&stored);
        tess_matrix_destroy(m);
    }
    for (int f = 1; f < FORMATS; f++) {
        tess_matrix *m = store_in(assembled, formats[f], TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32);
        oracle_csr stored = decode_matrix(m);

        assert_false(m->ops->takes_columns(m, false));
        assert_int_equal(m->ops->takes_columns(m, true), formats[f] == TESS_FORMAT_BSR); /* or csr: levels of a host */
        for (int k = 0; k < 3 && formats[f] == TESS_FORMAT_BSR; k++) {
            check_columns_step(
                m, &stored,
                (columns_step){
                    .vectors = TESS_PRECISION_FP32, .columns = 2 << k, .keeps_y = k != 1, .wide_total = k == 2});
        }
        oracle_free(&stored);
        tess_matrix_destroy(m);
    }
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void products_of_mixed_precisions(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    check_mixed_columns(ctx);
    tess_context_destroy(ctx);
}

/* A method by diagonals, slices or parts runs its columns together, one of them zero, and verifies each. */
static void check_solves(tess_format format)
{
    enum { SIDE = 20, N = SIDE * SIDE, K = 6 };

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
        options.storage.format = format;
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
            assert_int_equal(results[c].storage.format, format);
        }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

static void solves_of_every_format(void **state)
{
    (void)state;
    for (int f = 1; f < FORMATS; f++) {
        check_solves(formats[f]);
    }
    check_solves(TESS_FORMAT_SPLIT);
    check_solves(TESS_FORMAT_COMPOSITE);
    check_solves(TESS_FORMAT_TILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_every_format), cmocka_unit_test(products_of_mixed_precisions),
        cmocka_unit_test(steps_of_polynomials), cmocka_unit_test(solves_of_every_format)};

    return cmocka_run_group_tests_name("unit.columns_formats", tests, NULL, NULL);
}
