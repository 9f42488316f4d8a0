/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with classical multigrid: iterations, levels, precisions. */
#include "support/multigrid.h"

/* ---- iterations ---- */

#ifdef TESS_INSTRUMENTED
#define LARGE "laplace3d 32"
#else
#define LARGE "laplace3d 48"
#endif

static void iterations_hardly_grow(void **state)
{
    const char *const problems[] = {sized("laplace3d 16", "laplace3d 8"), sized("laplace3d 24", "laplace3d 10"),
                                    sized(LARGE, "laplace3d 12")};

    (void)state;
    for (int aggressive = 0; aggressive <= 1; aggressive++) {
        int64_t least = INT64_MAX, most = 0;

        for (int k = 0; k < 3; k++) {
            tess_solve_options options = amg_solve(TESS_SOLVER_CG);
            tess_solve_result result;

            options.precond.amg.aggressive = aggressive;
            result = solve_problem(problems[k], &options);
            assert_true(result.converged);
            assert_int_equal(result.precond.kind, TESS_PRECOND_AMG);
            least = result.iterations < least ? result.iterations : least;
            most = result.iterations > most ? result.iterations : most;
        }
        assert_true(most <= least + 3);
        assert_at_most((double)most, aggressive ? 20.0 : 14.0);
    }
}

/* Coefficients that differ by some 1e4, and anisotropy: far fewer iterations than IC(0), which takes over a hundred. */
static void hard_coefficients_take_few_iterations(void **state)
{
    const char *const problems[] = {sized("randomdiffusion2d 120 2.5", "randomdiffusion2d 20 2.5"),
                                    sized("randomdiffusion3d 20 2.5", "randomdiffusion3d 9 2.5"),
                                    sized("anisotropic2d 100 1e-3", "anisotropic2d 20 1e-3"),
                                    sized("unstructured2d 8000", "unstructured2d 500")};

    (void)state;
    for (int k = 0; k < 4; k++) {
        const tess_solve_options options = amg_solve(TESS_SOLVER_CG);
        const tess_solve_result result = solve_problem(problems[k], &options);

        assert_true(result.converged);
        assert_at_most((double)result.iterations, 30.0);
    }
}

static void cycle_and_smooth(tess_amg_smoother first, tess_amg_smoother last)
{
    for (int cycle = 0; cycle < 3; cycle++) {
        for (int smoother = (int)first; smoother <= (int)last; smoother++) {
            for (int degree = 1; degree <= 4; degree++) {
                tess_solve_options options = amg_solve(cycle == TESS_AMG_K ? TESS_SOLVER_FGMRES : TESS_SOLVER_CG);
                tess_solve_result result;

                options.precond.amg.cycle = (tess_amg_cycle)cycle;
                options.precond.amg.smoother = (tess_amg_smoother)smoother;
                options.precond.amg.degree = degree;
                options.precond.amg.coarsest = 20; /* so that there are levels to cycle over */
                result = solve_problem(sized("laplace2d 60", "laplace2d 14"), &options);
                assert_true(result.converged);
                assert_at_most((double)result.iterations, 30.0);
                assert_int_equal(result.escalated, 0);
            }
        }
    }
}

static void each_way_to_cycle_and_smooth_converges(void **state)
{
    (void)state;
    cycle_and_smooth(TESS_AMG_CHEBYSHEV, TESS_AMG_JACOBI);
}

static void factors_smooth_in_each_cycle(void **state)
{
    (void)state;
    cycle_and_smooth(TESS_AMG_ILU0, TESS_AMG_ILU0);
}

static void inverses_smooth_in_each_cycle(void **state)
{
    (void)state;
    cycle_and_smooth(TESS_AMG_FSAI, TESS_AMG_FSAI);
}

/* Incomplete factors smooth what polynomials leave: jumps of 1e3 in an elastic body, where ILU(0) has negative pivots
   and a step must be damped, anisotropy at an angle to the grid, and a vortex, whose matrix is unsymmetric. */
static void factors_take_fewer_iterations(void **state)
{
    const char *const problems[] = {"elasticity3d 4", sized("anisotropic2d 60 1e-3 30", "anisotropic2d 20 1e-3 30"),
                                    sized("recirc2d 60 1 0.01", "recirc2d 20 1 0.01")};

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_solve_options options = amg_solve(k == 2 ? TESS_SOLVER_BICGSTAB : TESS_SOLVER_CG);
        tess_solve_result polynomial, factors;

        options.precond.amg.coarsening = TESS_AMG_AUTO;
        options.precond.amg.coarsest = 40;
        options.precond.amg.smoother = TESS_AMG_CHEBYSHEV;
        polynomial = solve_problem(problems[k], &options);
        options.precond.amg.smoother = TESS_AMG_ILU0;
        factors = solve_problem(problems[k], &options);
        assert_true(factors.converged && !factors.escalated);
        assert_true(factors.iterations < polynomial.iterations);
        options.precond.amg.smoother = TESS_AMG_FSAI; /* of the vortex isai, which saves none */
        factors = solve_problem(problems[k], &options);
        assert_true(factors.converged && !factors.escalated);
        assert_true(k == 2 || factors.iterations < polynomial.iterations);
    }
}

static void aggressive_levels_have_fewer_entries(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = generate_problem(sized("laplace3d 24", "laplace3d 12"), 2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double complexity[2] = {0.0, 0.0};

    (void)state;
    for (int aggressive = 0; aggressive <= 1; aggressive++) {
        tess_precond_options options = amg_options(TESS_AMG_PRECISION_AUTO);
        tess_solve_options solve = amg_solve(TESS_SOLVER_CG);
        tess_amg_levels levels = {.size = sizeof levels};
        tess_precond *m = NULL;

        options.amg.aggressive = aggressive;
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        assert_ok(ctx, tess_precond_get_levels(m, &levels));
        complexity[aggressive] = levels.operator_complexity;
        assert_true(levels.level[1].rows < (aggressive ? a.nrows / 8 : a.nrows / 2));
        tess_precond_destroy(m);
        solve.precond = options;
        assert_at_most((double)solve_random(&a, &solve, false).iterations, 24.0);
    }
    assert_true(complexity[1] < 0.7 * complexity[0]);
    /* auto: as with one for 7 points, as without for jumps */
    for (int jumps = 0; jumps <= 1; jumps++) {
        oracle_csr b = jumps ? generate_problem(sized("randomdiffusion3d 24 2.5", "randomdiffusion3d 12 2.5"), 2)
                             : oracle_copy(&a);
        tess_amg_levels levels = levels_of_options(&b, -1), expected = levels_of_options(&b, jumps ? 0 : 1);

        assert_int_equal(levels.level[1].rows, expected.level[1].rows);
        assert_int_equal(levels.level[1].nonzeros, expected.level[1].nonzeros);
        oracle_free(&b);
    }
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- precisions ---- */

static tess_amg_levels levels_of(const oracle_csr *a, tess_amg_precision precision)
{
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);
    const tess_precond_options options = amg_options(precision);
    tess_amg_levels levels = {.size = sizeof levels};
    tess_precond *m = NULL;

    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ok(ctx, tess_precond_get_levels(m, &levels));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return levels;
}

/* At most one iteration more than with levels in FP64, and each level in the precision that was asked for; the finest
   of uneven coefficients stays in FP32. */
static void low_levels_cost_at_most_one_iteration(void **state)
{
    const char *const problems[] = {sized("laplace3d 30", "laplace3d 10"),
                                    sized("randomdiffusion3d 20 2.5", "randomdiffusion3d 9 2.5"),
                                    sized("anisotropic2d 80 1e-2", "anisotropic2d 24 1e-2")};
    static const tess_precision stored[] = {[TESS_AMG_PRECISION_FP64] = TESS_PRECISION_FP64,
                                            [TESS_AMG_PRECISION_FP32] = TESS_PRECISION_FP32,
                                            [TESS_AMG_PRECISION_FP16] = TESS_PRECISION_FP16};
    (void)state;
    for (int k = 0; k < 3; k++) {
        oracle_csr a = generate_problem(problems[k], 2);
        int64_t wide = 0, bytes = INT64_MAX;

        for (int p = TESS_AMG_PRECISION_FP64; p <= TESS_AMG_PRECISION_FP16; p++) {
            tess_solve_options options = amg_solve(TESS_SOLVER_CG);
            const tess_amg_levels levels = levels_of(&a, (tess_amg_precision)p);
            tess_solve_result result;
            int64_t own = 0;

            options.precond.amg.precision = (tess_amg_precision)p;
            result = solve_random(&a, &options, false);
            assert_true(result.converged && !result.escalated);
            if (p == TESS_AMG_PRECISION_FP64) { wide = result.iterations; }
            assert_true(result.iterations <= wide + 1);
            assert_true(levels.count >= 2);
            for (int l = 0; l < levels.count; l++) {
                const bool uneven = p == TESS_AMG_PRECISION_FP16 && k == 1 && l == 0;

                assert_int_equal(levels.level[l].precision, uneven ? TESS_PRECISION_FP32 : stored[p]);
                own += levels.level[l].bytes;
            }
            assert_int_equal(levels.vectors, p == TESS_AMG_PRECISION_FP64 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32);
            assert_true(own < bytes);
            bytes = own;
        }
        oracle_free(&a);
    }
}

/* fp16, then fp32, then fp64; each a preconditioner of the same matrix. */
static void precisions_can_be_raised(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = generate_problem(sized("laplace2d 50", "laplace2d 18"), 2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    const tess_precond_options options = amg_options(TESS_AMG_PRECISION_FP16);
    static const tess_precision expected[] = {TESS_PRECISION_FP16, TESS_PRECISION_FP32, TESS_PRECISION_FP64};
    double *r = random_values(a.nrows, 3, -1.0, 1.0), *z = test_allocate(3 * a.nrows, sizeof *z);
    tess_precond *m = NULL;
    bool widened = true;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int k = 0; k < 3; k++) {
        tess_amg_levels levels = {.size = sizeof levels};
        const uint64_t revision = tess_precond_revision(m);

        assert_ok(ctx, tess_precond_get_levels(m, &levels));
        assert_int_equal(levels.level[0].precision, expected[k]);
        assert_int_equal(levels.raised, k);
        apply_precond(m, a.nrows, r, z + k * a.nrows);
        assert_ok(ctx, tess_precond_widen(m, &widened));
        assert_int_equal(widened, k < 2);
        assert_int_equal(tess_precond_revision(m) != revision, k < 2);
    }
    for (int64_t i = 0; i < a.nrows; i++) { /* z is of the size of r's largest entries times some tens */
        assert_true(fabs(z[i] - z[2 * a.nrows + i]) <= 0.05 * (fabs(z[2 * a.nrows + i]) + 1.0));
    }
    tess_precond_destroy(m);
    free(r);
    free(z);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Entries of about 1e-84 make vectors of the cycle that FP32 does not hold: the guard goes up to levels in FP64. */
static void the_guard_raises_the_precision(void **state)
{
    oracle_csr a = generate_problem(sized("laplace2d 40", "laplace2d 18"), 2);
    const tess_solve_options options = amg_solve(TESS_SOLVER_CG);
    double *b = random_values(a.nrows, 5, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_device(2);
    tess_amg_levels levels = {.size = sizeof levels};
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 0x1p-280;
    }
    for (int64_t i = 0; i < a.nrows; i++) {
        x[i] = 0.0;
    }
    matrix = make_matrix(ctx, &a);
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    result = solve_with(solver, ctx, a.nrows, b, x);
    check_honest(&a, b, x, &options, &result);
    assert_true(result.converged && result.escalated);
    assert_ok(ctx, tess_precond_get_levels(tess_solver_precond(solver), &levels));
    assert_true(levels.raised > 0);
    assert_int_equal(levels.vectors, TESS_PRECISION_FP64);
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* A list is for the first levels, and its last precision goes on; a failure raises the lowest levels alone. */
static void levels_have_precisions_of_their_own(void **state)
{
    static const tess_precision expected[3][3] = {
        {TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_E4M3},
        {TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_FP16},
        {TESS_PRECISION_FP32, TESS_PRECISION_FP32, TESS_PRECISION_FP32},
    };
    oracle_csr a = generate_problem(sized("laplace2d 40", "laplace2d 18"), 2);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options = amg_options(TESS_AMG_PRECISION_FP8);
    tess_precond *m = NULL;
    bool widened = false;

    (void)state;
    options.amg.coarsest = 10;
    options.amg.level_precision[0] = TESS_AMG_PRECISION_FP32;
    options.amg.level_precision[1] = TESS_AMG_PRECISION_BF16;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int turn = 0; turn < 3; turn++) {
        tess_amg_levels levels = {.size = sizeof levels};

        assert_ok(ctx, tess_precond_get_levels(m, &levels));
        assert_true(levels.count >= 3);
        assert_int_equal(levels.vectors, TESS_PRECISION_FP32);
        for (int l = 0; l < levels.count; l++) {
            const bool fp8 = turn == 0 && l >= 2; /* E4M3, or E5M2 where that does not hold the entries */

            assert_true(levels.level[l].precision == expected[turn][l < 2 ? l : 2] ||
                        (fp8 && levels.level[l].precision == TESS_PRECISION_E5M2));
        }
        assert_true(tess_precond_can_widen(m));
        assert_ok(ctx, tess_precond_widen(m, &widened));
        assert_true(widened);
    }
    assert_false(tess_precond_can_widen(m)); /* all in FP64 */
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

#define MULTIGRID_TESTS                                                                                            \
    cmocka_unit_test(iterations_hardly_grow), cmocka_unit_test(hard_coefficients_take_few_iterations),             \
        cmocka_unit_test(each_way_to_cycle_and_smooth_converges), cmocka_unit_test(factors_take_fewer_iterations), \
        cmocka_unit_test(factors_smooth_in_each_cycle), cmocka_unit_test(inverses_smooth_in_each_cycle),           \
        cmocka_unit_test(aggressive_levels_have_fewer_entries),                                                    \
        cmocka_unit_test(low_levels_cost_at_most_one_iteration), cmocka_unit_test(precisions_can_be_raised),       \
        cmocka_unit_test(the_guard_raises_the_precision), cmocka_unit_test(levels_have_precisions_of_their_own)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {MULTIGRID_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
