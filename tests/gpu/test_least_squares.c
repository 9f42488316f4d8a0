/* SPDX-License-Identifier: Apache-2.0 */
/* LSQR and LSMR on the GPU: the claims hold, and x is the host's within the tolerance times the condition number. */
#include "support/solve.h"

enum { ROWS = 600, COLUMNS = 200 };

static tess_context *gpu = NULL;

/* A diagonal of 4 above random rows of up to 4 entries below 1: the condition number is below 10. */
static oracle_csr tall_matrix(void)
{
    oracle_csr random = oracle_random(ROWS - COLUMNS, COLUMNS, 2, 3), a = oracle_open(ROWS, COLUMNS);

    for (int64_t i = 0; i < ROWS; i++) {
        if (i < COLUMNS) { oracle_push(&a, i, 4.0); }
        for (int64_t k = i < COLUMNS ? 0 : random.row_ptr[i - COLUMNS];
             i >= COLUMNS && k < random.row_ptr[i - COLUMNS + 1]; k++) {
            oracle_push(&a, random.col_ind[k], random.val[k]);
        }
        oracle_end_row(&a, i);
    }
    oracle_free(&random);
    return a;
}

static tess_solve_result solve_on(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options,
                                  const double *b, double *x)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = NULL, *vx = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    assert_ok(ctx, tess_vector_create(ctx, a->nrows, TESS_PRECISION_FP64, &vb));
    assert_ok(ctx, tess_vector_create(ctx, a->ncols, TESS_PRECISION_FP64, &vx));
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_vector_fill(vx, 0.0));
    assert_ok(ctx, tess_solver_create(m, options, &solver));
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    assert_ok(ctx, tess_vector_get(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    result.history = NULL;
    tess_solver_destroy(solver);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    return result;
}

static void solutions_are_those_of_the_host(void **state)
{
    oracle_csr a = tall_matrix();
    double *b = random_values(ROWS, 3, -1.0, 1.0), here[COLUMNS], there[COLUMNS];
    tess_context *cpu = open_cpu(1);

    (void)state;
    for (int k = 0; k < 8; k++) {
        tess_solve_options options = solve_options(k % 2 ? TESS_SOLVER_LSMR : TESS_SOLVER_LSQR);
        tess_solve_result result;

        options.rtol = 1e-10;
        options.precond.kind = k & 2 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
        options.storage.precision = k & 4 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
        result = solve_on(cpu, &a, &options, b, here);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        result = solve_on(gpu, &a, &options, b, there);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        assert_int_equal(result.engine, TESS_ENGINE_PLAIN);
        assert_true(result.normal_residual_norm + result.normal_residual_bound <=
                    1e-10 * result.matrix_norm * result.residual_norm * (1.0 + 1e-12));
        for (int64_t j = 0; j < COLUMNS; j++) {
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
