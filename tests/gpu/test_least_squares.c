/* SPDX-License-Identifier: Apache-2.0 */
/* LSQR and LSMR on the GPU: the claims hold, and x is the host's within the tolerance times the condition number. */
#include <tessera/many.h>

#include "support/least_squares.h"

enum { TALL_ROWS = 600, TALL_COLUMNS = 200 };

static tess_context *gpu = NULL;

/* A diagonal of 4 above random rows of up to 4 entries below 1: the condition number is below 10. */
static oracle_csr tall_matrix(void)
{
    oracle_csr random = oracle_random(TALL_ROWS - TALL_COLUMNS, TALL_COLUMNS, 2, 3),
               a = oracle_open(TALL_ROWS, TALL_COLUMNS);

    for (int64_t i = 0; i < TALL_ROWS; i++) {
        if (i < TALL_COLUMNS) { oracle_push(&a, i, 4.0); }
        for (int64_t k = i < TALL_COLUMNS ? 0 : random.row_ptr[i - TALL_COLUMNS];
             i >= TALL_COLUMNS && k < random.row_ptr[i - TALL_COLUMNS + 1]; k++) {
            oracle_push(&a, random.col_ind[k], random.val[k]);
        }
        oracle_end_row(&a, i);
    }
    oracle_free(&random);
    return a;
}

static void solutions_are_those_of_the_host(void **state)
{
    oracle_csr a = tall_matrix();
    double *b = random_values(TALL_ROWS, 3, -1.0, 1.0), here[TALL_COLUMNS], there[TALL_COLUMNS];
    tess_context *cpu = open_cpu(1);

    (void)state;
    for (int k = 0; k < 8; k++) {
        tess_solve_options options = solve_options(k % 2 ? TESS_SOLVER_LSMR : TESS_SOLVER_LSQR);
        tess_solve_result result;

        options.rtol = 1e-10;
        options.precond.kind = k & 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
        options.storage.precision = k & 4 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
        memset(here, 0, sizeof here);
        memset(there, 0, sizeof there);
        result = solve_rectangular(cpu, &a, &options, b, here);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        result = solve_rectangular(gpu, &a, &options, b, there);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        assert_int_equal(result.engine, TESS_ENGINE_PLAIN);
        assert_true(result.normal_residual_norm + result.normal_residual_bound <=
                    1e-10 * result.matrix_norm * result.residual_norm * (1.0 + 1e-12));
        for (int64_t j = 0; j < TALL_COLUMNS; j++) {
            assert_at_most(fabs(here[j] - there[j]), 1e-7);
        }
    }
    tess_context_destroy(cpu);
    oracle_free(&a);
    free(b);
}

/* Columns in one loop: one of zeros, one that one iteration solves, others: as alone, and the same bits each time. */
static void columns_end_as_alone(void **state)
{
    enum { COLUMNS_OF_B = 5 };
    oracle_csr a = tall_matrix();
    double *b = random_values(TALL_ROWS * COLUMNS_OF_B, 3, -1.0, 1.0);
    double *x = test_allocate(TALL_COLUMNS * COLUMNS_OF_B, sizeof *x), *again = test_allocate(TALL_COLUMNS, sizeof *x);
    tess_matrix *m = make_matrix(gpu, &a);
    const tess_columns vb = tess_columns_by_column(TALL_ROWS, COLUMNS_OF_B, b, TESS_MEMORY_HOST),
                       vx = tess_columns_by_column(TALL_COLUMNS, COLUMNS_OF_B, x, TESS_MEMORY_HOST);

    (void)state;
    memset(b + TALL_ROWS, 0, TALL_ROWS * sizeof *b);
    memset(b + 3 * TALL_ROWS, 0, TALL_ROWS * sizeof *b);
    b[3 * TALL_ROWS + TALL_ROWS - 1] = 1.0;
    for (int k = 0; k < 4; k++) {
        tess_solve_options options = solve_options(k % 2 ? TESS_SOLVER_LSMR : TESS_SOLVER_LSQR);
        tess_solve_result results[COLUMNS_OF_B];
        tess_solver *solver = NULL;
        double first[TALL_COLUMNS];

        options.rtol = 1e-10;
        options.precond.kind = k & 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        assert_int_equal(tess_solver_columns_together(solver, COLUMNS_OF_B), COLUMNS_OF_B);
        for (int turn = 0; turn < 2; turn++) {
            for (int c = 0; c < COLUMNS_OF_B; c++) {
                tess_solve_result_init(&results[c]);
            }
            memset(x, 0, (size_t)(TALL_COLUMNS * COLUMNS_OF_B) * sizeof *x);
            assert_ok(gpu, tess_solver_solve_many(solver, &vb, &vx, results));
            if (turn == 0) { memcpy(first, x + 4 * TALL_COLUMNS, sizeof first); }
        }
        assert_true(same_bits(first, x + 4 * TALL_COLUMNS, TALL_COLUMNS));
        for (int c = 0; c < COLUMNS_OF_B; c++) {
            memset(again, 0, TALL_COLUMNS * sizeof *again);
            const tess_solve_result one = solve_rectangular(gpu, &a, &options, b + c * TALL_ROWS, again);

            assert_int_equal(results[c].reason, one.reason);
            assert_int_equal(results[c].verified, 1);
            assert_in_range(results[c].iterations + 2, one.iterations, one.iterations + 4);
            for (int64_t j = 0; j < TALL_COLUMNS; j++) {
                assert_at_most(fabs(x[c * TALL_COLUMNS + j] - again[j]), 1e-7);
            }
        }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
    free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions_are_those_of_the_host),
                                       cmocka_unit_test(columns_end_as_alone)};

    return run_gpu_tests(tests, &gpu);
}
