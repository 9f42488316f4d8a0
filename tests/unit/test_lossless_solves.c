/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with matrices that are stored without loss, or with next to none. */
#include "matrix/matrix.h"
#include "support/product.h"
#include "support/solve.h"

static void store_without_loss(tess_storage_options *o)
{
    o->format = TESS_FORMAT_TILES;
    o->policy.granularity = TESS_GRANULARITY_BLOCK;
    assert_int_equal(tess_policy_options_parse("lossless", &o->policy), TESS_SUCCESS);
}

/* Storage without loss is no low precision: nothing is there to go back from. */
static void a_solve_has_the_precision_of_fp64(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;
    tess_solve_result result;
    double *b = random_values(a.nrows, 9, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_storage_options lossy;

    (void)state;
    store_without_loss(&options.storage);
    options.rtol = 1e-12;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, a.nrows, b, x);
    assert_true(result.converged);
    assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_E4M3], a.nnz);
    assert_int_equal(result.refinements, 0);
    tess_solver_destroy(solver);
    lossy = options.storage;
    lossy.policy.parameter = 1e-15;
    assert_ok(ctx, tess_matrix_convert(m, &lossy, &stored));
    assert_true(tess_matrix_bounded_loss(stored) == 1e-15);
    assert_false(tess_matrix_is_exact(stored));
    tess_matrix_destroy(stored);
    lossy = options.storage;
    lossy.format = TESS_FORMAT_SPLIT;
    lossy.arithmetic = TESS_ARITHMETIC_FP32;
    assert_ok(ctx, tess_matrix_convert(m, &lossy, &stored));
    assert_false(tess_matrix_is_exact(stored));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

/* A loss of 1e-15 is no more than FP64's own rounding: cycles are as long as those with FP64, although values are in 8
 * bits. */
static void a_negligible_loss_costs_no_cycles(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    double *b = random_values(a.nrows, 9, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int64_t iterations[2] = {0, 0};

        for (int lossy = 0; lossy < 2; lossy++) {
            tess_solve_options options = solve_options(kinds[k]);
            tess_solver *solver = NULL;
            tess_solve_result result;

            store_without_loss(&options.storage);
            options.storage.policy.parameter = lossy ? 1e-15 : 0.0;
            options.rtol = 1e-10;
            memset(x, 0, (size_t)a.nrows * sizeof *x);
            assert_ok(ctx, tess_solver_create(m, &options, &solver));
            result = solve_with(solver, ctx, a.nrows, b, x);
            assert_true(result.converged);
            assert_int_equal(result.refinements, 0);
            assert_false(result.escalated);
            iterations[lossy] = result.iterations;
            tess_solver_destroy(solver);
        }
        assert_int_equal(iterations[0], iterations[1]); /* these values lose nothing */
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_solve_has_the_precision_of_fp64),
        cmocka_unit_test(a_negligible_loss_costs_no_cycles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
