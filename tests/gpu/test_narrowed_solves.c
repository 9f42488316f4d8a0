/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with partial convergence on the GPU: the tests of the host, and both engines. */
#define TESTS_ON_GPU
#include "../unit/test_narrowed_solves.c" /* the same tests, in another context */

/* Graph and plain: the same bits and counts, whether the guard has to step in or not. */
static void engines_agree(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *ctx = open_device(0);

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int mode = TESS_NARROWING_PAPER; mode <= TESS_NARROWING_SAFE; mode++) {
            for (int precond = TESS_PRECOND_NONE; precond <= TESS_PRECOND_BLOCK_JACOBI; precond++) {
                tess_solve_options options = narrowing_options(kinds[k], (tess_narrowing)mode);
                solved s[2];

                options.precond.kind = (tess_precond_kind)precond;
                for (int e = 0; e < 2; e++) {
                    options.engine = e == 0 ? TESS_ENGINE_PLAIN : TESS_ENGINE_GRAPH;
                    s[e] = solve_here(ctx, &a, &options, b);
                    assert_int_equal(s[e].result.engine, options.engine);
                    check_honest(&a, b, s[e].x, &options, &s[e].result);
                }
                assert_int_equal(s[0].result.iterations, s[1].result.iterations);
                assert_int_equal(s[0].result.narrowing_misled, s[1].result.narrowing_misled);
                assert_memory_equal(s[0].result.tile_products, s[1].result.tile_products,
                                    sizeof s[0].result.tile_products);
                assert_int_equal(s[0].result.tile_products_bypassed, s[1].result.tile_products_bypassed);
                assert_true(same_bits(s[0].x, s[1].x, a.nrows));
                discard(&s[0]);
                discard(&s[1]);
            }
        }
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* On the host and on the GPU the sums of an iteration are rounded otherwise, and levels at a bound may fall otherwise: about as many
   iterations, about as many products of each kind. */
static void host_and_gpu_narrow_alike(void **state)
{
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *contexts[2] = {open_cpu(2), open_device(0)};
    const tess_solve_options options = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_SAFE);
    solved s[2];

    (void)state;
    for (int d = 0; d < 2; d++) {
        s[d] = solve_here(contexts[d], &a, &options, b);
        assert_true(s[d].result.converged && !s[d].result.narrowing_misled);
        check_honest(&a, b, s[d].x, &options, &s[d].result);
    }
    assert_at_most(fabs((double)(s[0].result.iterations - s[1].result.iterations)), 3.0);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        assert_at_most(fabs((double)(s[0].result.tile_products[p] - s[1].result.tile_products[p])),
                       0.03 * (double)products_of(&s[0].result));
    }
    for (int d = 0; d < 2; d++) {
        discard(&s[d]);
        tess_context_destroy(contexts[d]);
    }
    free(b);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NARROWED_SOLVES,
        cmocka_unit_test(engines_agree),
        cmocka_unit_test(host_and_gpu_narrow_alike),
    };

    return run_gpu_tests(tests, NULL);
}
