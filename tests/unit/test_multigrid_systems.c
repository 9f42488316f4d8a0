/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with classical multigrid: symmetry, singular, unsymmetric and small systems, new values, options. */
#include "support/multigrid.h"

/* ---- symmetry ---- */

static double dot_of(const double *x, const double *y, int64_t n)
{
    return (double)oracle_dot(x, y, n);
}

/* (M^-1 x, y) = (x, M^-1 y), and (M^-1 x, x) > 0. */
static void applications_are_symmetric(void **state)
{
    oracle_csr a = generate_problem(sized("randomdiffusion2d 40 2", "randomdiffusion2d 16 2"), 2);
    const int64_t n = a.nrows;
    double *x = random_values(n, 3, -1.0, 1.0), *y = random_values(n, 4, -1.0, 1.0);
    double *mx = test_allocate(n, sizeof *mx), *my = test_allocate(n, sizeof *my);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int c = 0; c < 8; c++) {
        tess_precond_options options = amg_options(c % 2 ? TESS_AMG_PRECISION_FP64 : TESS_AMG_PRECISION_FP16);
        const double unit = c % 2 ? U64 : 0x1p-24;
        tess_precond *m = NULL;

        options.amg.cycle = c & 2 ? TESS_AMG_W : TESS_AMG_V;
        options.amg.degree = c & 4 ? 3 : 1;
        options.amg.coarsest = 40;
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        apply_precond(m, n, x, mx);
        apply_precond(m, n, y, my);
        /* some ten products and sums of rows of up to 50 entries */
        assert_at_most(fabs(dot_of(mx, y, n) - dot_of(x, my, n)),
                       1000.0 * unit * sqrt(dot_of(mx, mx, n) * dot_of(y, y, n)));
        assert_true(dot_of(mx, x, n) > 0.0);
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(y);
    free(mx);
    free(my);
}

static void threads_do_not_change_bits(void **state)
{
    oracle_csr a = generate_problem(sized("laplace3d 18", "laplace3d 9"), 2);
    double *r = random_values(a.nrows, 3, -1.0, 1.0), *z = test_allocate(2 * a.nrows, sizeof *z);

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_context *ctx = open_device(k == 0 ? 1 : 3);
        tess_matrix *matrix = make_matrix(ctx, &a);
        const tess_precond_options options = amg_options(TESS_AMG_PRECISION_AUTO);
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        apply_precond(m, a.nrows, r, z + k * a.nrows);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    assert_true(same_bits(z, z + a.nrows, a.nrows));
    oracle_free(&a);
    free(r);
    free(z);
}

/* ---- other systems ---- */

/* Rows sum to zero: the coarsest level is singular, and its constant is left out. */
static void neumann_problems_converge(void **state)
{
    oracle_csr a = generate_problem(sized("laplace3d 14", "laplace3d 8"), 1);
    tess_amg_levels levels;
    tess_solve_options options = amg_solve(TESS_SOLVER_CG);
    tess_solve_result result;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        double sum = 0.0;

        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            sum += a.col_ind[k] == i ? 0.0 : a.val[k];
        }
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] = -sum; }
        }
    }
    for (int aggressive = 0; aggressive <= 1; aggressive++) { /* both ways to interpolate reproduce constants */
        levels = levels_of_options(&a, aggressive);
        assert_true(levels.count > 1);
        assert_int_equal(levels.coarsest_rank, levels.level[levels.count - 1].rows - 1);
        options.precond.amg.aggressive = aggressive;
        result = solve_random(&a, &options, true);
        assert_true(result.converged);
        assert_true(result.iterations <= 25);
    }
    oracle_free(&a);
}

static void unsymmetric_systems_converge(void **state)
{
    static const tess_solver_kind methods[] = {TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES, TESS_SOLVER_FGMRES,
                                               TESS_SOLVER_IDR};
    const char *const problems[] = {sized("uniflow2d 60 1 0.01", "uniflow2d 16 1 0.05"),
                                    sized("recirc2d 60 1 0.01", "recirc2d 16 1 0.05")};

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int method = 0; method < 4; method++) {
            const tess_solve_options options = amg_solve(methods[method]);
            const tess_solve_result result = solve_problem(problems[k], &options);

            assert_true(result.converged);
            assert_at_most((double)result.iterations, 60.0);
        }
    }
}

/* A GMRES whose vectors are in FP32 applies the cycle to them. */
static void fp32_vectors_are_taken(void **state)
{
    tess_solve_options options = amg_solve(TESS_SOLVER_GMRES);
    tess_solve_result result;

    (void)state;
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    result = solve_problem(sized("laplace2d 40", "laplace2d 18"), &options);
    assert_true(result.converged);
    assert_at_most((double)result.iterations, 40.0);
}

/* A diagonal, no rows, one row, blocks without couplings between them. */
static void small_and_decoupled_systems_work(void **state)
{
    static const char *const problems[] = {"one-by-one", "laplace1d 3", "laplace1d 2000", "arrow 900"};
    const tess_solve_options options = amg_solve(TESS_SOLVER_CG);
    double diagonal[700];
    oracle_csr a;

    (void)state;
    for (int k = 0; k < 4; k++) {
        assert_true(solve_problem(problems[k], &options).converged);
    }
    for (int i = 0; i < 700; i++) {
        diagonal[i] = 1.0 + i;
    }
    a = oracle_diagonal(700, diagonal);
    assert_true(solve_random(&a, &options, false).converged);
    oracle_free(&a);
}

/* ---- new values ---- */

static void replace_values(tess_context *ctx, tess_matrix *matrix, const oracle_csr *a)
{
    assert_ok(ctx, tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
}

/* Four times the values, a quarter of z to the bit; other values, and the system is solved; NaN has no cycle, and
   values after it work. */
static void updates_follow_the_values(void **state)
{
    oracle_csr a = generate_problem(sized("laplace3d 16", "laplace3d 8"), 1), other = oracle_copy(&a),
               bad = oracle_copy(&a);
    const int64_t n = a.nrows;
    double *r = random_values(n, 3, -1.0, 1.0), *z = test_allocate(n, sizeof *z),
           *quarter = test_allocate(n, sizeof *z);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    const tess_precond_options options = amg_options(TESS_AMG_PRECISION_AUTO);
    tess_precond *m = NULL;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        other.val[k] = 4.0 * a.val[k];
    }
    bad.val[77] = (double)NAN;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int turn = 0; turn < 2; turn++) { /* the second after values without a cycle */
        apply_precond(m, n, r, z);
        replace_values(ctx, matrix, &other);
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, n, r, quarter);
        for (int64_t i = 0; i < n; i++) {
            assert_true(4.0 * quarter[i] == z[i]);
        }
        replace_values(ctx, matrix, &bad);
        assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "row"));
        replace_values(ctx, matrix, &a);
        assert_ok(ctx, tess_precond_update(m));
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&other);
    oracle_free(&bad);
    free(r);
    free(z);
    free(quarter);
}

/* A coarse level of an indefinite matrix has diagonal entries of both signs: its inverse is isai. */
static void inverses_of_indefinite_levels_exist(void **state)
{
    oracle_csr a = oracle_laplace2d(24);
    const int64_t n = a.nrows;
    double *r = random_values(n, 3, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    tess_context *ctx = open_device(2);
    tess_precond_options options = amg_options(TESS_AMG_PRECISION_FP64);
    tess_matrix *matrix = NULL;
    tess_precond *m = NULL;

    (void)state;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] -= 1.5; }
        }
    }
    matrix = make_matrix(ctx, &a);
    options.amg.smoother = TESS_AMG_FSAI;
    options.amg.coarsening = TESS_AMG_CLASSICAL;
    options.amg.coarsest = 10;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    apply_precond(m, n, r, z);
    for (int64_t i = 0; i < n; i++) {
        assert_true(isfinite(z[i]));
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(z);
}

/* Larger diagonals leave splits as they are: a cycle with new values is nearly that of levels which begin with them,
   whose patterns differ in few small entries. */
static void inverses_follow_the_values(void **state)
{
    oracle_csr a = generate_problem(sized("laplace3d 16", "laplace3d 8"), 1), other = oracle_copy(&a);
    const int64_t n = a.nrows;
    double *r = random_values(n, 3, -1.0, 1.0), *z = test_allocate(n, sizeof *z), *fresh = test_allocate(n, sizeof *z);
    tess_context *ctx = open_device(2);
    tess_precond_options options = amg_options(TESS_AMG_PRECISION_FP32);
    tess_matrix *matrix = make_matrix(ctx, &a), *begun = NULL;
    tess_precond *m = NULL, *expected = NULL;
    double size = 0.0;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        other.val[k] = a.val[k] * (a.val[k] > 0.0 ? 1.5 : 1.0);
    }
    begun = make_matrix(ctx, &other);
    options.amg.smoother = TESS_AMG_FSAI;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ok(ctx, tess_precond_create(begun, &options, &expected));
    replace_values(ctx, matrix, &other);
    assert_ok(ctx, tess_precond_update(m));
    apply_precond(m, n, r, z);
    apply_precond(expected, n, r, fresh);
    for (int64_t i = 0; i < n; i++) {
        size = fmax(size, fabs(fresh[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        assert_at_most(fabs(z[i] - fresh[i]), 1e-3 * size);
    }
    tess_precond_destroy(m);
    tess_precond_destroy(expected);
    tess_matrix_destroy(matrix);
    tess_matrix_destroy(begun);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&other);
    free(r);
    free(z);
    free(fresh);
}

/* A solver whose matrix gets coefficients of another problem on the same pattern still needs few iterations. */
static void solvers_renew_their_levels(void **state)
{
    oracle_csr a = generate_problem(sized("randomdiffusion2d 60 1 1", "randomdiffusion2d 18 1 1"), 1);
    oracle_csr b = generate_problem(sized("randomdiffusion2d 60 1 2", "randomdiffusion2d 18 1 2"), 1);
    const tess_solve_options options = amg_solve(TESS_SOLVER_CG);
    double *rhs = random_values(a.nrows, 5, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    for (int turn = 0; turn < 2; turn++) {
        tess_solve_result result;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        if (turn == 1) { replace_values(ctx, matrix, &b); }
        result = solve_with(solver, ctx, a.nrows, rhs, x);
        check_honest(turn == 1 ? &b : &a, rhs, x, &options, &result);
        assert_true(result.converged);
        assert_at_most((double)result.iterations, 20.0);
    }
    assert_non_null(tess_solver_precond(solver));
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&b);
    free(rhs);
    free(x);
}

/* ---- options ---- */

static void options_are_checked(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_laplace2d(5);
    tess_matrix *matrix = make_matrix(ctx, &a);
    const tess_precond_options defaults = amg_options(TESS_AMG_PRECISION_AUTO);
    tess_precond *m = NULL;
    tess_amg_levels levels = {.size = sizeof levels};
    double near[25 * TESS_MAX_NEAR_NULLSPACE] = {1.0};

    (void)state;
    for (int c = 0; c < 14; c++) {
        tess_precond_options o = amg_options(TESS_AMG_PRECISION_AUTO);

        switch (c) {
        case 0: o.amg.degree = 0; break;
        case 1: o.amg.degree = 5; break;
        case 2: o.amg.max_levels = 0; break;
        case 3: o.amg.max_levels = 33; break;
        case 4: o.amg.strength = 1.5; break;
        case 5: o.amg.max_row_sum = 0.0; break;
        case 6: o.amg.truncation = -1; break;
        case 7: o.amg.coarsest = 0; break;
        case 8: o.amg.block_size = 2; break; /* of 25 rows */
        case 9: o.amg.near_nullspace_columns = 1; break;
        case 12: /* vectors, and an option that they exclude */
            o.amg.near_nullspace = near;
            o.amg.near_nullspace_columns = 1;
            o.amg.aggressive = 1;
            break;
        case 13: /* no room for more */
            o.amg.near_nullspace = near;
            o.amg.near_nullspace_columns = TESS_MAX_NEAR_NULLSPACE;
            o.amg.modes = 1;
            break;
        case 10: o.amg.cycle = (tess_amg_cycle)7; break;
        default: o.amg.reserved[0] = 1; break;
        }
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        assert_null(m);
    }
    assert_ok(ctx, tess_precond_create(matrix, &defaults, &m));
    levels.size = sizeof levels + 8;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_get_levels(m, &levels));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static int64_t iterations_in_unit(const oracle_csr *given, tess_solve_options *options, int exponent)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_open(given->nrows, given->ncols);
    double *b = test_allocate(given->nrows, sizeof *b), *x = test_allocate(given->nrows, sizeof *x);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;
    tess_solve_result r;

    for (int64_t i = 0; i < given->nrows; i++) {
        for (int64_t k = given->row_ptr[i]; k < given->row_ptr[i + 1]; k++) {
            oracle_push(&a, given->col_ind[k], ldexp(given->val[k], exponent));
        }
        oracle_end_row(&a, i);
        b[i] = ldexp(1.0, exponent);
        x[i] = 0.0;
    }
    matrix = make_matrix(ctx, &a);
    assert_ok(ctx, tess_solver_create(matrix, options, &solver));
    r = solve_with(solver, ctx, a.nrows, b, x);
    assert_true(r.converged);
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    free(b);
    free(x);
    oracle_free(&a);
    tess_context_destroy(ctx);
    return r.iterations;
}

/* A matrix and b times a power of four, up to 1e200 and down to 1e-200: no product of a set-up or a cycle leaves the
   range, and all rounding stays as it is. */
static void units_do_not_matter(void **state)
{
    static const tess_amg_cycle cycles[] = {TESS_AMG_V, TESS_AMG_W, TESS_AMG_K};
    static const int exponents[] = {664, -664, 500, -900};

    (void)state;
    for (int k = 0; k < 9; k++) {
        const char *const problems[] = {sized("laplace2d 40", "laplace2d 20"),
                                        sized("recirc2d 40 1 0.01", "recirc2d 16"), "elasticity3d 4"};
        tess_solve_options options = amg_solve(TESS_SOLVER_FGMRES);
        oracle_csr a = generate_problem(problems[k / 3], 1);

        options.precond.amg.precision = TESS_AMG_PRECISION_FP64;
        options.precond.amg.cycle = cycles[k % 3];
        options.precond.amg.coarsest = 20;
        options.precond.amg.coarsening = k / 3 == 0 ? TESS_AMG_AGGREGATION : TESS_AMG_AUTO;
        const int64_t iterations = iterations_in_unit(&a, &options, 0);

        for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
            assert_int_equal(iterations_in_unit(&a, &options, exponents[e]), iterations);
        }
        oracle_free(&a);
    }
}

/* One that the caller made: methods that need a linear one refuse it, and no method named takes a flexible one. */
static void k_cycles_are_for_flexible_methods(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_laplace2d(30);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options o = amg_options(TESS_AMG_PRECISION_AUTO);
    double *b = test_allocate(a.nrows, sizeof *b), *x = test_allocate(a.nrows, sizeof *x);
    tess_precond *m = NULL;

    (void)state;
    o.amg.cycle = TESS_AMG_K;
    assert_ok(ctx, tess_precond_create(matrix, &o, &m));
    for (int k = 0; k < a.nrows; k++) {
        b[k] = 1.0;
        x[k] = 0.0;
    }
    for (tess_solver_kind kind = TESS_SOLVER_AUTO; kind <= TESS_SOLVER_NESTED; kind++) {
        const bool flexible = kind == TESS_SOLVER_AUTO || kind == TESS_SOLVER_FGMRES;
        tess_solve_options options = solve_options(kind);
        tess_solver *solver = NULL;
        const tess_status status = tess_solver_create_with_precond(matrix, m, &options, &solver);

        if (flexible) {
            assert_ok(ctx, status);
            const tess_solve_result r = solve_with(solver, ctx, a.nrows, b, x);

            assert_true(r.converged && r.solver == TESS_SOLVER_FGMRES);
        } else {
            assert_int_not_equal(status, TESS_SUCCESS);
        }
        tess_solver_destroy(solver);
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    free(b);
    free(x);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

#define MULTIGRID_SYSTEMS_TESTS                                                                              \
    cmocka_unit_test(applications_are_symmetric), cmocka_unit_test(threads_do_not_change_bits),              \
        cmocka_unit_test(neumann_problems_converge), cmocka_unit_test(unsymmetric_systems_converge),         \
        cmocka_unit_test(fp32_vectors_are_taken), cmocka_unit_test(small_and_decoupled_systems_work),        \
        cmocka_unit_test(updates_follow_the_values), cmocka_unit_test(inverses_follow_the_values),           \
        cmocka_unit_test(inverses_of_indefinite_levels_exist), cmocka_unit_test(solvers_renew_their_levels), \
        cmocka_unit_test(options_are_checked), cmocka_unit_test(k_cycles_are_for_flexible_methods),          \
        cmocka_unit_test(units_do_not_matter)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {MULTIGRID_SYSTEMS_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
