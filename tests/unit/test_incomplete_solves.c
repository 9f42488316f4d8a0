/* SPDX-License-Identifier: Apache-2.0 */
/* Solvers with ILU(0) and IC(0): fewer iterations than with Jacobi, every solver and storage, shifts and failures, real
 * matrices. */
#include "support/gallery.h"
#include "support/incomplete.h"
#include "support/solve.h"

/* A converged solve with b = A times ones or so. */
static tess_solve_result solve_problem(const oracle_csr *a, const tess_solve_options *options, int threads)
{
    double *b = random_values(a->nrows, 3, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x);
    tess_context *ctx = open_device(threads);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    result = solve_once(ctx, a, options, b, x);
    check_honest(a, b, x, options, &result);
    tess_context_destroy(ctx);
    free(b);
    free(x);
    return result;
}

static int64_t iterations_with(const oracle_csr *a, tess_solver_kind solver, tess_precond_kind kind)
{
    tess_solve_options options = solve_options(solver);
    tess_solve_result result;

    options.precond = factor_options(kind);
    result = solve_problem(a, &options, 2);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.precond.kind, kind);
    assert_true(result.precond.shift == 0.0);
    assert_true((result.precond.triangle_level_sets[0] > 0) == (kind != TESS_PRECOND_JACOBI));
    return result.iterations;
}

static void fewer_iterations_than_with_jacobi(void **state)
{
    static const struct {
        const char *request;
        tess_solver_kind solver;
        bool symmetric;
    } cases[] = {{"laplace2d 40", TESS_SOLVER_CG, true},      {"laplace2d 40", TESS_SOLVER_BICGSTAB, true},
                 {"laplace3d 12", TESS_SOLVER_GMRES, true},   {"laplace3d 12", TESS_SOLVER_CG, true},
                 {"stretched2d 30", TESS_SOLVER_CG, true},    {"bentpipe2d 30", TESS_SOLVER_BICGSTAB, false},
                 {"bentpipe2d 30", TESS_SOLVER_GMRES, false}, {"uniflow2d 40", TESS_SOLVER_BICGSTAB, false},
                 {"uniflow2d 40", TESS_SOLVER_GMRES, false}};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        oracle_csr a = generate_problem(cases[c].request, 1);
        const int64_t jacobi = iterations_with(&a, cases[c].solver, TESS_PRECOND_JACOBI);
        const int64_t ilu = iterations_with(&a, cases[c].solver, TESS_PRECOND_ILU0);

        assert_true(3 * ilu <= 2 * jacobi);
        if (cases[c].symmetric) {
            const int64_t ic = iterations_with(&a, cases[c].solver, TESS_PRECOND_IC0);

            assert_true(ic <= ilu + 2 && ilu <= ic + 2); /* the same M except for rounding */
        }
        oracle_free(&a);
    }
}

/* Solvers in every precision, triangles solved in every way: all converge, and report what they used. */
static void every_solver_takes_them(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD};
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(40, 20));

    (void)state;
    for (int c = 0; c < 5 * 5 * 2; c++) {
        tess_solve_options options = solve_options(solvers[c % 5]);
        tess_solve_result result;

        options.precond = factor_options(c < 25 ? TESS_PRECOND_ILU0 : TESS_PRECOND_IC0);
        switch (c / 5 % 5) {
        case 1: options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64}; break;
        case 2:
            options.precond.incomplete.triangular = TESS_TRIANGULAR_BLOCKS;
            options.precond.incomplete.leaf = 128;
            break;
        case 3: /* Yang et al. 2024: tiles, each in its own precision */
            options.precond.incomplete.triangular = TESS_TRIANGULAR_AUTO;
            options.precond.incomplete.leaf = 128;
            options.precond.incomplete.squares.policy.policy = TESS_POLICY_FIXED_RANGE;
            options.storage.precision = c % 5 < 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
            break;
        case 4: options.precond.incomplete.triangular = TESS_TRIANGULAR_MERGED; break;
        default: break;
        }
        result = solve_problem(&a, &options, 2);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.iterations < 120);
    }
    oracle_free(&a);
}

/* With the matrix reordered and scaled, the factors are those of the system that is iterated with. */
static void transformed_systems_are_factored(void **state)
{
    oracle_csr a = generate_problem("bentpipe2d 24", 1);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_solve_result result;

    (void)state;
    options.precond = factor_options(TESS_PRECOND_ILU0);
    options.scale = TESS_SCALING_MAX_PRODUCT;
    options.reorder = TESS_REORDERING_RCM;
    result = solve_problem(&a, &options, 1);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_true(result.precond.triangle_level_sets[0] > 0 && result.precond.triangle_level_sets[1] > 0);
    oracle_free(&a);
}

/* A symmetric matrix that is not positive definite: a shift for IC, an indefinite M for ILU. */
static void indefinite_matrices(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
    tess_solve_result result;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] -= 1.5; }
        }
    }
    options.gmres.restart = (int)a.nrows; /* no restart in the way */
    options.precond = factor_options(TESS_PRECOND_IC0);
    result = solve_problem(&a, &options, 1);
    assert_true(result.converged && result.precond.shift > 0.0);
    options.precond.kind = TESS_PRECOND_ILU0;
    assert_true(solve_problem(&a, &options, 1).converged);
    options = solve_options(TESS_SOLVER_CG);
    options.precond = factor_options(TESS_PRECOND_ILU0);
    options.guard = TESS_GUARD_REPORT;
    result = solve_problem(&a, &options, 1);
    assert_true(result.converged || result.reason == TESS_REASON_INDEFINITE_PRECOND ||
                result.reason == TESS_REASON_INDEFINITE_MATRIX);
    oracle_free(&a);
}

/* New values: factors are renewed, a failure is a reason, and values that have factors are solved with again. */
static void solves_follow_the_values(void **state)
{
    oracle_csr a = oracle_laplace2d(16), singular = oracle_copy(&a);
    const int64_t n = a.nrows;
    double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(n, sizeof *x);

    (void)state;
    for (int64_t i = 0; i < n; i++) { /* the first row and column are zero */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (i == 0 || a.col_ind[k] == 0) { singular.val[k] = 0.0; }
        }
    }
    for (int way = TESS_TRIANGULAR_LEVELS; way <= TESS_TRIANGULAR_COLORS; way++) {
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solver *solver = NULL;
        tess_solve_result result;

        options.precond = factor_options(TESS_PRECOND_IC0);
        options.precond.incomplete.triangular = (tess_triangular)way;
        if (way == TESS_TRIANGULAR_BLOCKS) { options.precond.incomplete.leaf = 64; }
        assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
        for (int turn = 0; turn < 5; turn++) {
            const oracle_csr *now = turn == 2 ? &singular : &a;

            assert_ok(ctx, tess_matrix_update_values(matrix, now->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            memset(x, 0, (size_t)n * sizeof *x);
            result = solve_with(solver, ctx, n, b, x);
            if (turn == 2) {
                assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
            } else {
                assert_int_equal(result.reason, TESS_REASON_RTOL);
                check_honest(&a, b, x, &options, &result);
            }
            for (int64_t k = 0; k < a.nnz; k++) {
                a.val[k] *= 1.25;
            }
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
    oracle_free(&singular);
    free(b);
    free(x);
}

/* Factors beyond the range of their precision end a solve like factors that there are none of, and new values too. */
static void factors_out_of_range_are_a_reason(void **state)
{
    oracle_csr good = oracle_tridiagonal(3, -1.0, 4.0, -1.0), bad = oracle_tridiagonal(3, -1.0, 4.0, -1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;
    double b[3] = {1.0, 1.0, 1.0};

    (void)state;
    bad.val[0] = 1e-80; /* so that 1e-40 next to it gives 1e40: the matrix is positive definite */
    bad.val[1] = bad.val[2] = 1e-40;
    options.precond = factor_options(TESS_PRECOND_IC0);
    options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
    matrix = make_matrix(ctx, &bad);
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    for (int turn = 0; turn < 3; turn++) {
        double x[3] = {0.0};
        const oracle_csr *next = turn % 2 == 0 ? &good : &bad;
        const tess_solve_result result = solve_with(solver, ctx, 3, b, x);

        assert_int_equal(result.reason, turn % 2 == 0 ? TESS_REASON_PRECOND_SETUP : TESS_REASON_RTOL);
        assert_ok(ctx, tess_matrix_update_values(matrix, next->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&good);
    oracle_free(&bad);
}

/* Values that have no factors are tried once; new ones are tried again. */
static void what_has_failed_is_not_tried_again(void **state)
{
    oracle_csr good = oracle_tridiagonal(3, -1.0, 4.0, -1.0), bad = oracle_tridiagonal(3, -1.0, 4.0, -1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;
    double b[3] = {1.0, 1.0, 1.0};
    uint64_t tried = 0;

    (void)state;
    bad.val[0] = 1e-80; /* as above: 1e40 is beyond FP32 */
    bad.val[1] = bad.val[2] = 1e-40;
    options.precond = factor_options(TESS_PRECOND_IC0);
    options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
    matrix = make_matrix(ctx, &bad);
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    tried = tess_precond_changes(tess_solver_precond(solver));
    for (int turn = 0; turn < 3; turn++) {
        double x[3] = {0.0};
        const tess_solve_result result = solve_with(solver, ctx, 3, b, x);

        assert_int_equal(result.reason, turn < 2 ? TESS_REASON_PRECOND_SETUP : TESS_REASON_RTOL);
        assert_int_equal(tess_precond_changes(tess_solver_precond(solver)), tried + (turn == 2));
        if (turn == 1) {
            assert_ok(ctx, tess_matrix_update_values(matrix, good.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&good);
    oracle_free(&bad);
}

static void missing_diagonals_are_a_reason(void **state)
{
    oracle_csr a = oracle_open(40, 40);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);

    (void)state;
    for (int64_t i = 0; i < 40; i++) {
        oracle_push(&a, (i + 1) % 40, 1.0);
        oracle_end_row(&a, i);
    }
    options.precond = factor_options(TESS_PRECOND_ILU0);
    assert_int_equal(solve_problem(&a, &options, 1).reason, TESS_REASON_PRECOND_SETUP);
    options.scale = TESS_SCALING_MAX_PRODUCT; /* which gives it one */
    assert_int_equal(solve_problem(&a, &options, 1).reason, TESS_REASON_RTOL);
    oracle_free(&a);
}

#define INCOMPLETE_SOLVE_TESTS                                                                        \
    cmocka_unit_test(fewer_iterations_than_with_jacobi), cmocka_unit_test(every_solver_takes_them),   \
        cmocka_unit_test(transformed_systems_are_factored), cmocka_unit_test(indefinite_matrices),    \
        cmocka_unit_test(solves_follow_the_values), cmocka_unit_test(missing_diagonals_are_a_reason), \
        cmocka_unit_test(factors_out_of_range_are_a_reason), cmocka_unit_test(what_has_failed_is_not_tried_again)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {INCOMPLETE_SOLVE_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
