/* SPDX-License-Identifier: Apache-2.0 */
/* Solvers with complete factors: both precisions, and set-ups that fail. */
#include "precond/direct/direct.h"
#include "support/direct.h"
#include "support/solve.h"

enum { EDGE = 12, ROWS = EDGE * EDGE };
#ifndef BY_CUDSS
#define SOLVER_EDGE on_gpu_or_emulated(40, 12)
#endif

/* FP32 factors in every solver: few iterations to 1e-12, and the same bits again. */
static void every_solver_takes_them(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD};
    const int64_t edge = SOLVER_EDGE, n = edge * edge;
    oracle_csr symmetric = oracle_laplace2d(edge), convection = oracle_convection2d(edge, 5.0);
    double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(n, sizeof *x);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int c = 0; c < 15; c++) {
        const oracle_csr *a = c % 5 > 0 && c < 5 ? &convection : &symmetric;
        tess_solve_options options = solve_options(solvers[c % 5]);
        tess_solve_result result;

        options.rtol = 1e-12;
        options.precond.kind = c < 10 ? TESS_PRECOND_LU : TESS_PRECOND_CHOLESKY; /* fp32 without being asked */
        memset(x, 0, (size_t)n * sizeof *x);
        result = solve_once(ctx, a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.iterations <= 8);
        assert_true(result.precond.factor_nonzeros > a->nnz / 2);
        check_honest(a, b, x, &options, &result);
        check_repeats(ctx, a, &options, 2);
    }
    tess_context_destroy(ctx);
    oracle_free(&symmetric);
    oracle_free(&convection);
    free(b);
    free(x);
}

/* Two iterations to 1e-13, which FP32 factors do not reach. */
static void fp64_factors_are_fp64(void **state)
{
    double *b = random_values(ROWS, 3, 0.5, 1.0), x[ROWS] = {0.0};
    oracle_csr a = oracle_laplace2d(EDGE);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_device(1);
    tess_solve_result result;

    (void)state;
    options.rtol = 1e-13;
    options.precond = direct_options(TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP64);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_true(result.iterations <= 2);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* A failed set-up ends a solve with its reason; later values work. */
static void a_solve_reports_the_set_up(void **state)
{
    oracle_csr good = oracle_laplace2d(EDGE), bad = oracle_laplace2d(EDGE);
    double *b = random_values(ROWS, 3, -1.0, 1.0), x[ROWS];
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t k = 0; k < bad.nnz; k++) {
        if (bad.val[k] > 0.0) { bad.val[k] = 3.0; } /* eigenvalues from -1 */
    }
    matrix = make_matrix(ctx, &bad);
    options.precond.kind = TESS_PRECOND_CHOLESKY;
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    for (int turn = 0; turn < 4; turn++) {
        tess_solve_result result;

        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, ROWS, b, x);
        assert_int_equal(result.reason, turn % 2 == 0 ? TESS_REASON_PRECOND_SETUP : TESS_REASON_RTOL);
        replace_values(ctx, matrix, turn % 2 == 0 ? &good : &bad);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&good);
    oracle_free(&bad);
    free(b);
}

#define DIRECT_SOLVE_TESTS                                                              \
    cmocka_unit_test(every_solver_takes_them), cmocka_unit_test(fp64_factors_are_fp64), \
        cmocka_unit_test(a_solve_reports_the_set_up)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {DIRECT_SOLVE_TESTS};

    if (!mumps_is_here()) {
        puts("skipped: this build has no MUMPS");
        return TEST_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
