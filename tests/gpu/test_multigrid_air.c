/* SPDX-License-Identifier: Apache-2.0 */
/* Convection on a GPU. Local approximate ideal restriction: the host makes the levels, and cycles run there. */
#define TESTS_ON_GPU
#include "precond/multigrid/by_matrix.h"
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
        assert_int_equal(levels.degree, k == 0 ? 1 : 2);
        assert_int_equal(levels.split, k == 0 ? TESS_AMG_SPLIT_PMIS : TESS_AMG_SPLIT_RUGE_STUEBEN);
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Iterations on the device, and x. */
static int64_t iterations_with(const oracle_csr *a, tess_amg_smoother smoother, int degree, double *x)
{
    tess_context *ctx = open_device(2);
    tess_solve_options options = amg_solve(TESS_SOLVER_BICGSTAB);
    double *b = random_values(a->nrows, 5, -1.0, 1.0);
    tess_solve_result result;

    options.precond.amg.coarsest = 40;
    options.precond.amg.smoother = smoother;
    options.precond.amg.degree = degree;
    options.rtol = 1e-8;
    memset(x, 0, (size_t)a->nrows * sizeof *x);
    result = solve_once(ctx, a, &options, b, x);
    check_honest(a, b, x, &options, &result);
    assert_true(result.converged);
    free(b);
    tess_context_destroy(ctx);
    return result.iterations;
}

/* By default one step of damped Jacobi, with which the number of iterations does not depend on the strength of
   convection; two steps by Chebyshev take more. A symmetric matrix keeps two. */
static void convection_takes_one_step(void **state)
{
    const int defaults = 2; /* degree */
    oracle_csr flow = generate_problem(sized("recirc2d 200 1 1e-5", "recirc2d 40 1 1e-5"), 1);
    oracle_csr laplace = oracle_laplace2d(40);
    double *x = test_allocate(flow.nrows, sizeof *x), *y = test_allocate(flow.nrows, sizeof *y);
    int64_t its = iterations_with(&flow, TESS_AMG_SMOOTHER_AUTO, defaults, x);

    (void)state;
    assert_in_range(its, 1, 18);
    assert_int_equal(its, iterations_with(&flow, TESS_AMG_CHEBYSHEV, 1, y));
    assert_memory_equal(x, y, (size_t)flow.nrows * sizeof *x);
    assert_true(2 * iterations_with(&flow, TESS_AMG_CHEBYSHEV, defaults, y) > 3 * its);
    its = iterations_with(&laplace, TESS_AMG_SMOOTHER_AUTO, defaults, x);
    assert_int_equal(its, iterations_with(&laplace, TESS_AMG_CHEBYSHEV, defaults, y));
    assert_memory_equal(x, y, (size_t)laplace.nrows * sizeof *x);
    oracle_free(&flow);
    oracle_free(&laplace);
    free(x);
    free(y);
}

/* Sums of some 20,000 terms in the same order; products may be contracted. */
static void rows_tell_a_gpu_the_same(void **state)
{
    static const char *const problems[] = {"recirc2d 70 1 1e-3", "uniflow2d 30 1 1e-5 0.5", "laplace2d 20",
                                           "anisotropic2d 30 0.001 30"};

    (void)state;
    for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
        oracle_csr a = generate_problem(problems[p], 1);
        amg_matrix_facts facts[2];

        for (int k = 0; k < 2; k++) {
            tess_context *ctx = open_on(k == 0 ? TESS_DEVICE_CPU : TESS_DEVICE_GPU, 1);
            tess_matrix *matrix = make_matrix(ctx, &a);

            assert_ok(ctx, amg_find_matrix_facts(matrix, 1, &facts[k]));
            tess_matrix_destroy(matrix);
            tess_context_destroy(ctx);
        }
        assert_at_most(fabs(facts[1].unsymmetry - facts[0].unsymmetry), gamma_of(40000.0));
        assert_at_most(fabs(facts[1].other_sign - facts[0].other_sign), gamma_of(40000.0));
        assert_true(facts[1].mean_row == facts[0].mean_row);
        assert_int_equal(amg_kind_of(&facts[1]), amg_kind_of(&facts[0]));
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(host_and_gpu_agree), cmocka_unit_test(a_gpu_keeps_its_levels),
                                       cmocka_unit_test(convection_takes_one_step),
                                       cmocka_unit_test(rows_tell_a_gpu_the_same)};

    return run_gpu_tests(tests, NULL);
}
