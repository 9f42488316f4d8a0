/* SPDX-License-Identifier: Apache-2.0 */
/* LSQR and LSMR on the GPU: the claims hold, and x is the host's within the tolerance times the condition number. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions_are_those_of_the_host)};

    return run_gpu_tests(tests, &gpu);
}
