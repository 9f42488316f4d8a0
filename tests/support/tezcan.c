/* SPDX-License-Identifier: Apache-2.0 */
#include "support/tezcan.h"

#include <stdlib.h>

#include "support/solve.h"
#include "support/sweep.h"

tess_matrix *tezcan_scale(tess_context *ctx, tess_matrix *a)
{
    const int64_t n = tess_matrix_nrows(a);
    int32_t *rows = test_allocate(n, sizeof *rows);
    double *row_scale = test_allocate(n, sizeof *row_scale), *col_scale = test_allocate(n, sizeof *col_scale);
    tess_matrix *scaled = NULL;

    assert_ok(ctx, tess_order_max_product(a, rows, row_scale, col_scale));
    assert_ok(ctx, tess_matrix_reorder(a, rows, NULL, row_scale, col_scale, &scaled));
    tess_matrix_destroy(a);
    free(rows);
    free(row_scale);
    free(col_scale);
    return scaled;
}

tess_solve_options tezcan_options(const char *steps)
{
    tess_solve_options o = solve_options(TESS_SOLVER_JACOBI);

    o.rtol = 0.0;
    o.max_iterations = 2000;
    o.guard = TESS_GUARD_REPORT;
    o.history_capacity = 0;
    o.storage.format = TESS_FORMAT_COMPOSITE;
    o.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
    o.storage.policy.parameter = 0.1;
    o.storage.policy.at_most_one = 1;
    o.jacobi.schedule = schedule_of(steps);
    return o;
}

tess_solve_options tezcan_baseline(void)
{
    tess_solve_options o = tezcan_options("mixed");

    o.storage.format = TESS_FORMAT_SPLIT;
    o.storage.policy.granularity = TESS_GRANULARITY_ENTRY;
    o.storage.policy.policy = TESS_POLICY_FIXED_RANGE;
    o.storage.policy.parameter = 0.01;
    o.storage.policy.at_most_one = 0;
    return o;
}

double tezcan_run(tess_context *ctx, const tess_matrix *a, const tess_solve_options *o, int64_t *low)
{
    const int64_t n = tess_matrix_nrows(a);
    double *ramp = test_allocate(n, sizeof *ramp);
    tess_vector *b = make_zeros(ctx, n), *x = make_zeros(ctx, n), *exact = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    for (int64_t i = 0; i < n; i++) {
        ramp[i] = (double)(i + 1) / (double)n;
    }
    exact = make_vector(ctx, n, ramp);
    assert_ok(ctx, tess_matrix_spmv(a, TESS_OP_NONE, 1.0, exact, 0.0, b));
    assert_ok(ctx, tess_solver_create(a, o, &solver));
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_solve(solver, b, x, &result));
    assert_int_equal(result.iterations, 2000);
    *low = result.storage.nonzeros_per_precision[TESS_PRECISION_FP32];
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_vector_destroy(exact);
    free(ramp);
    return result.relative_residual;
}

double tezcan_run_steps(tess_context *ctx, const tess_matrix *a, const char *steps)
{
    const tess_solve_options o = tezcan_options(steps);
    int64_t low = 0;
    const double residual = tezcan_run(ctx, a, &o, &low);

    assert_true(low > 0 || strcmp(steps, "fp64") == 0);
    return residual;
}

void tezcan_check_last_steps(tess_context *ctx, const tess_matrix *a, double fp64)
{
    assert_at_most(fp64, 1e-15);
    assert_at_most(tezcan_run_steps(ctx, a, "mixed,fp64"), 2.0 * fp64 + U64);
    assert_at_most(tezcan_run_steps(ctx, a, "fp32,mixed,fp64"), 2.0 * fp64 + U64);
}
