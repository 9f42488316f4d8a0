/* SPDX-License-Identifier: Apache-2.0 */
/* Local approximate ideal restriction on a GPU: the host makes the levels, and cycles run there. */
#define TESTS_ON_GPU
#include "support/multigrid.h"

static tess_solve_options air(void)
{
    tess_solve_options options = amg_solve(TESS_SOLVER_BICGSTAB);

    options.precond.amg.restriction = TESS_AMG_RESTRICTION_AIR;
    options.precond.amg.precision = TESS_AMG_PRECISION_FP32;
    options.precond.amg.coarsest = 40;
    options.rtol = 1e-8;
    return options;
}

/* The levels are the host's; iterations differ by rounding alone. */
static void host_and_gpu_agree(void **state)
{
    static const tess_device devices[] = {TESS_DEVICE_CPU, TESS_DEVICE_GPU};
    oracle_csr a = generate_problem(sized("recirc2d 100 1 1e-5", "recirc2d 20 1 1e-5"), 2);
    double *b = random_values(a.nrows, 5, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    const tess_solve_options options = air();
    int64_t iterations[2] = {0, 0};

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_context *ctx = open_on(devices[k], 2);
        tess_solve_result result;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.converged && !result.escalated);
        assert_at_most((double)result.iterations, 6.0);
        iterations[k] = result.iterations;
        tess_context_destroy(ctx);
    }
    assert_in_range(iterations[1], iterations[0] - 1, iterations[0] + 1);
    oracle_free(&a);
    free(b);
    free(x);
}

/* On a GPU, auto keeps levels that the device makes: polynomials, independent sets, P^T. With air the host makes them.
 */
static void a_gpu_keeps_its_levels(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = generate_problem("recirc2d 20 1 1e-5", 1);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_precond_options options = amg_options(TESS_AMG_PRECISION_AUTO);
        tess_amg_levels levels;
        tess_precond *m = NULL;

        tess_amg_levels_init(&levels);
        options.amg.coarsest = 40;
        options.amg.restriction = k == 0 ? TESS_AMG_RESTRICTION_AUTO : TESS_AMG_RESTRICTION_AIR;
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        assert_ok(ctx, tess_precond_get_levels(m, &levels));
        assert_int_equal(levels.setup_device, k == 0 ? TESS_DEVICE_GPU : TESS_DEVICE_CPU);
        assert_int_equal(levels.smoother, k == 0 ? TESS_AMG_CHEBYSHEV : TESS_AMG_FC_JACOBI);
        assert_int_equal(levels.split, k == 0 ? TESS_AMG_SPLIT_PMIS : TESS_AMG_SPLIT_RUGE_STUEBEN);
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(host_and_gpu_agree), cmocka_unit_test(a_gpu_keeps_its_levels)};

    return run_gpu_tests(tests, NULL);
}
