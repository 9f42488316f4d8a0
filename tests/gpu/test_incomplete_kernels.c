/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triangular solves by both kernels of the GPU, with problems that reach into all their corners: level sets of few and
 * of many rows, rows of few and of many entries, inputs that are no longer in shared memory; and solves by both
 * engines.
 */
#include "solver/method_solver.h"
#include "support/gallery.h"
#include "support/incomplete.h"
#include "support/solve.h"

static tess_context *gpu = NULL;

/* The factors and two applications, which have the same bits. */
static void check_problem(const oracle_csr *a, tess_precond_kind kind, tess_triangular way, int64_t leaf)
{
    const int64_t n = a->nrows;
    tess_precond_options options = factor_options(kind);
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    tess_matrix *matrix = make_matrix(gpu, a);
    test_factors f = factor_matrix(matrix, kind == TESS_PRECOND_IC0, 0.0),
                 again = factor_matrix(matrix, kind == TESS_PRECOND_IC0, 0.0);
    tess_precond *m = NULL;

    assert_int_equal(f.bad_row, -1);
    assert_true(same_bits(f.lower.val, again.lower.val, f.lower.nnz));
    assert_true(same_bits(f.upper.val, again.upper.val, f.upper.nnz));
    assert_true(same_bits(f.inverse, again.inverse, n));
    options.incomplete.triangular = way;
    choose_leaf(&options, leaf);
    assert_ok(gpu, tess_precond_create(matrix, &options, &m));
    apply_precond(m, n, r, z);
    check_factor_solution(&f, r, z, 0.0);
    for (int turn = 0; turn < on_gpu_or_emulated(20, 2); turn++) {
        apply_precond(m, n, r, z + n);
        assert_true(same_bits(z, z + n, n));
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    free_factors(&f);
    free_factors(&again);
    free(r);
    free(z);
}

/* One block of threads takes 6,144 rows and entries of a level set on average; one value of x is in shared memory up to
 * 16,384. */
static void both_kernels_solve(void **state)
{
    static const char *const requests[] = {
        "laplace1d 3000",    /* narrow: a row a level set */
        "laplace2d 64",      /* narrow */
        "laplace2d 200",     /* narrow, x longer than shared memory */
        "laplace3d27 20",    /* narrow, groups of several threads */
        "laplace3d 100",     /* wide */
        "laplace3d27 60",    /* wide, groups of several threads */
        "unstructured2d 60", /* rows of many lengths */
    };
    static const char *const emulated[] = {
        "laplace1d 300", "laplace2d 24",   "laplace2d 130",     "laplace3d27 8",
        "laplace3d 32",  "laplace3d27 22", "unstructured2d 16",
    };

    (void)state;
    for (size_t k = 0; k < sizeof requests / sizeof *requests; k++) {
        oracle_csr a = generate_problem(gpu_is_emulated() ? emulated[k] : requests[k], 2);

        check_problem(&a, TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, 4096);
        check_problem(&a, TESS_PRECOND_IC0, TESS_TRIANGULAR_BLOCKS, 1000);
        oracle_free(&a);
    }
}

/* Row i needs row i - 100, and one of the first 100, which shared memory has long forgotten by the end. */
static oracle_csr far_inputs(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        if (i >= 200) { oracle_push(&a, i % 97, -0.5); }
        if (i >= 100) { oracle_push(&a, i - 100, -1.0); }
        oracle_push(&a, i, 4.0);
        if (i + 100 < n) { oracle_push(&a, i + 100, -1.0); }
        oracle_end_row(&a, i);
    }
    return a;
}

static void far_inputs_are_found(void **state)
{
    oracle_csr a = far_inputs(on_gpu_or_emulated(60000, 20000)), dense = arrow(700, false),
               random = random_dominant(1500, 60, false, 8);

    (void)state;
    check_problem(&a, TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, 4096);
    check_problem(&a, TESS_PRECOND_ILU0, TESS_TRIANGULAR_BLOCKS, 4096);
    check_problem(&dense, TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, 4096);
    check_problem(&random, TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, 4096);
    check_problem(&random, TESS_PRECOND_ILU0, TESS_TRIANGULAR_BLOCKS, 300);
    oracle_free(&a);
    oracle_free(&dense);
    oracle_free(&random);
}

/* More rows in a level set than shared memory has values, and level sets of few after it. */
static void level_sets_of_all_sizes(void **state)
{
    const int64_t wide_one = 20000, n = wide_one + 5000;
    oracle_csr a = oracle_open(n, n);

    (void)state;
    for (int64_t i = 0; i < n; i++) {
        if (i >= wide_one) {
            oracle_push(&a, (i * 7919) % wide_one, -0.5); /* anywhere in the first level set */
            if (i > wide_one) { oracle_push(&a, i - 1, -1.0); }
        }
        oracle_push(&a, i, 3.0);
        oracle_end_row(&a, i);
    }
    check_problem(&a, TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, 4096);
    oracle_free(&a);
}

/* Each way with all solvers and both problems; recursive blocks of the second are 16 leaves, each of some kernels. */
static void engines_agree_bit_for_bit(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                             TESS_SOLVER_GMRES_IR};
    static const tess_triangular ways[] = {TESS_TRIANGULAR_LEVELS, TESS_TRIANGULAR_BLOCKS, TESS_TRIANGULAR_AUTO,
                                           TESS_TRIANGULAR_MERGED, TESS_TRIANGULAR_SWEEPS, TESS_TRIANGULAR_COLORS};
    oracle_csr problems[] = {oracle_laplace2d(on_gpu_or_emulated(50, 16)),
                             generate_problem(gpu_is_emulated() ? "laplace3d 8" : "laplace3d 24", 2),
                             red_black(on_gpu_or_emulated(201, 41))};

    (void)state;
    for (int c = 0; c < 4 * 6; c++) {
        tess_solve_options options = solve_options(kinds[c % 4]);

        options.precond = factor_options(c % 2 == 0 ? TESS_PRECOND_IC0 : TESS_PRECOND_ILU0);
        options.precond.incomplete.triangular = ways[c / 4];
        if (ways[c / 4] == TESS_TRIANGULAR_AUTO) {
            options.precond.incomplete.squares.policy.policy = TESS_POLICY_FIXED_RANGE;
        }
        choose_leaf(&options.precond, on_gpu_or_emulated(1000, 50));
        check_engines_agree(gpu, &problems[(c + c / 2) % 2], options);
        /* level sets wide enough for rows that wait for one another */
        if (c == 0) { check_engines_agree(gpu, &problems[2], options); }
    }
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        oracle_free(&problems[k]);
    }
}

/* Iterations of many kernels wait for a recording. At least one solve: new factors undo a recording only when they are
   made. x: n values. */
static void solve_until_recorded(tess_solver *solver, int64_t n, const double *b, double *x)
{
    int turn = 0;

    do {
        memset(x, 0, (size_t)n * sizeof *x);
        (void)solve_with(solver, gpu, n, b, x);
    } while (++turn < 8 && !method_of(solver)->graph);
}

static void recorded_loops_follow_the_values(void **state)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(40, 16));
    const int64_t n = a.nrows;
    double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(2 * n, sizeof *x);

    (void)state;
    for (int way = TESS_TRIANGULAR_LEVELS; way <= TESS_TRIANGULAR_COLORS; way++) {
        tess_matrix *matrix = make_matrix(gpu, &a);
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;
        tess_solver *solver = NULL;

        options.precond = factor_options(TESS_PRECOND_IC0);
        options.precond.incomplete.triangular = (tess_triangular)way;
        choose_leaf(&options.precond, on_gpu_or_emulated(200, 40));
        options.engine = TESS_ENGINE_GRAPH;
        assert_ok(gpu, tess_solver_create(matrix, &options, &solver));
        for (int turn = 0; turn < 3; turn++) {
            solve_until_recorded(solver, n, b, x);
            memset(x, 0, 2 * (size_t)n * sizeof *x);
            result = solve_with(solver, gpu, n, b, x);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_non_null(method_of(solver)->graph);
            check_honest(&a, b, x, &options, &result);
            result = solve_once(gpu, &a, &options, b, x + n);
            assert_true(same_bits(x, x + n, n));
            for (int64_t k = 0; k < a.nnz; k++) {
                a.val[k] *= a.val[k] > 0.0 ? 1.002 : 0.998; /* still more iterations than go without a recording */
            }
            assert_ok(gpu, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(matrix);
    }
    oracle_free(&a);
    free(b);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kernels_solve),
        cmocka_unit_test(far_inputs_are_found),
        cmocka_unit_test(level_sets_of_all_sizes),
        cmocka_unit_test(engines_agree_bit_for_bit),
        cmocka_unit_test(recorded_loops_follow_the_values),
    };

    return run_gpu_tests(tests, &gpu);
}
