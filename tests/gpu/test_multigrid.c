/* SPDX-License-Identifier: Apache-2.0 */
/* Classical multigrid whose cycle runs on the GPU: the tests of the host, and the same levels and iterations. */
#define TESTS_ON_GPU
#include "../unit/test_multigrid_solves.c" /* the same tests, in another context */

/* Levels are made by the host in either case; iterations differ by rounding alone. */
static void host_and_gpu_agree(void **state)
{
    static const tess_device devices[] = {TESS_DEVICE_CPU, TESS_DEVICE_GPU};
    oracle_csr a = generate_problem(sized("randomdiffusion3d 24 1", "randomdiffusion3d 9 1"), 2);
    double *b = random_values(a.nrows, 5, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solve_options options = amg_solve(TESS_SOLVER_CG);
    int64_t iterations[2] = {0, 0};

    (void)state;
    options.precond.amg.precision = TESS_AMG_PRECISION_FP16;
    for (int k = 0; k < 2; k++) {
        tess_context *ctx = open_on(devices[k], 2);
        tess_solve_result result;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.converged);
        iterations[k] = result.iterations;
        tess_context_destroy(ctx);
    }
    assert_in_range(iterations[1], iterations[0] - 1, iterations[0] + 1);
    oracle_free(&a);
    free(b);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(host_and_gpu_agree), MULTIGRID_TESTS};

    return run_gpu_tests(tests, NULL);
}
