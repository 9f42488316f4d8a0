/* SPDX-License-Identifier: Apache-2.0 */
/* ILU(0) and GMRES in batches on the GPU: the tests of the host, and vectors that shared memory does not hold. */
#define TESTS_ON_GPU
#include "../unit/test_batch_methods.c" /* the same tests, in another context */

/* Some dozens of level sets, of up to 72 rows; the diagonal dominates. */
static void large_systems_have_factors_and_a_basis(void **state)
{
    const int64_t side = on_gpu_or_emulated(150, 72);
    tess_solve_options options = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_ILU0);
    oracle_csr a = oracle_convection2d(side, 2.0);
    batch_of q;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        a.val[diagonal_at(&a, i)] *= 8.0;
    }
    q = make_batch(ctx, a, 1);
    options.gmres.restart = 5;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    discard_batch(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {METHOD_TESTS, cmocka_unit_test(large_systems_have_factors_and_a_basis)};

    return run_gpu_tests(tests, &ctx);
}
