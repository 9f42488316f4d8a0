/* SPDX-License-Identifier: Apache-2.0 */
/* Flexible GMRES on the CPU: GMRES where the preconditioner is one matrix, right where it is another in each iteration
 * or a solver, in every precision. */
#include "support/precond_of.h"
#include "support/solve.h"

enum { EDGE = 24, N = EDGE * EDGE };

static tess_solve_options flexible(int restart)
{
    tess_solve_options options = solve_options(TESS_SOLVER_FGMRES);

    options.gmres.restart = restart;
    return options;
}

/* With one linear preconditioner, fgmres is gmres: the same residuals up to rounding, restarts included. */
static void linear_preconditioners_give_gmres(void **state)
{
    static const char *const names[] = {"none", "jacobi", "block-jacobi:4", "polynomial:3", "ilu0"};
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t p = 0; p < sizeof names / sizeof *names; p++) {
        tess_solve_options options = flexible(12), other = solve_options(TESS_SOLVER_GMRES);
        solved one, two;

        assert_int_equal(tess_precond_options_parse(names[p], &options.precond), TESS_SUCCESS);
        other.precond = options.precond;
        other.gmres.restart = 12;
        other.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
        one = solve_here(ctx, &a, &options, b);
        two = solve_here(ctx, &a, &other, b);
        assert_int_equal(one.result.reason, TESS_REASON_RTOL);
        assert_int_equal(one.result.solver, TESS_SOLVER_FGMRES);
        check_honest(&a, b, one.x, &options, &one.result);
        for (int64_t i = 0; i < one.result.history_length && i < two.result.history_length; i++) {
            assert_at_most(fabs(one.history[i] - two.history[i]), 1e-8 * two.history[0]);
        }
        assert_true(llabs(one.result.iterations - two.result.iterations) <= 1);
        discard(&one);
        discard(&two);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* A preconditioner that is another diagonal in each call; not even homogeneous. */
typedef struct changing {
    int n, calls;
} changing;

static int change(void *user, const double *r, double *z)
{
    changing *c = user;

    c->calls += 1;
    for (int i = 0; i < c->n; i++) {
        z[i] = r[i] * (0.2 + 0.1 * (double)((i + 3 * c->calls) % 5)) + 0.01 * fabs(r[i]);
    }
    return 0;
}

/* In the middle of the way and at its end the estimate is the true residual. GMRES with the same one is misled. */
static void changing_preconditioners_are_followed(void **state)
{
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        changing c = {N, 0};
        const tess_shell_precond shell = {.apply = change, .user = &c};
        tess_solve_options options = flexible(20);
        tess_precond *made = NULL;
        tess_solver *solver = NULL;
        tess_solve_result result;

        if (kind == 1) { options.solver = TESS_SOLVER_GMRES; }
        options.max_iterations = 35; /* the second cycle is not complete */
        options.rtol = 0.0;
        assert_ok(ctx, tess_precond_create_shell(ctx, N, &shell, &made));
        assert_ok(ctx, tess_solver_create_with_precond(m, made, &options, &solver));
        memset(x, 0, N * sizeof *x);
        result = solve_with(solver, ctx, N, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_int_equal(result.iterations, 35);
        if (kind == 0) {
            assert_int_equal(c.calls, 35);
            assert_at_most(fabs(result.estimated_residual_norm - result.residual_norm), 1e-12 * result.rhs_norm);
        } else {
            assert_true(fabs(result.estimated_residual_norm - result.residual_norm) > 0.1 * result.residual_norm);
        }
        tess_solver_destroy(solver);
        options.max_iterations = 2000;
        options.rtol = 1e-10;
        if (kind == 0) {
            assert_ok(ctx, tess_solver_create_with_precond(m, made, &options, &solver));
            memset(x, 0, N * sizeof *x);
            result = solve_with(solver, ctx, N, b, x);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_int_equal(result.refinements, 0);
            check_honest(&a, b, x, &options, &result);
            tess_solver_destroy(solver);
        }
        tess_precond_destroy(made);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Precisions of the basis, the vectors and the preconditioner; the guard raises what is too low. */
static void low_precisions_are_repaired(void **state)
{
    static const struct {
        tess_role_precision inner, precond;
        tess_precision basis;
    } cases[] = {{{1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64},
                  {1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32},
                  TESS_PRECISION_FP64},
                 {{1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64},
                  {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64},
                  TESS_PRECISION_FP16},
                 {{1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32},
                  {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32},
                  TESS_PRECISION_FP32},
                 {{1, TESS_PRECISION_BF16, TESS_ARITHMETIC_FP32},
                  {1, TESS_PRECISION_BF16, TESS_ARITHMETIC_FP32},
                  TESS_PRECISION_BF16}};
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1.0 / 3.0;
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tess_solve_options options = flexible(c == 0 ? 200 : 25);
        tess_solve_result result;

        options.gmres.inner = cases[c].inner;
        options.gmres.basis = (tess_role_precision){.given = 1, .storage = cases[c].basis};
        options.precond = precond_of(TESS_PRECOND_BLOCK_JACOBI, 4);
        options.precond.role = cases[c].precond;
        options.max_iterations = 20000;
        memset(x, 0, N * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.gmres.inner.given);
        /* a preconditioner in low precision misleads nobody: it is not what A is multiplied with */
        if (c == 0) { assert_int_equal(result.refinements, 0); }
        assert_int_equal(result.escalated, 0); /* a basis in FP16 has its scales */
        if (c == 3) { assert_true(result.refinements > 0); }
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Values that overflow in FP16: everything goes up to FP64, the preconditioned vectors too, and down for the next
 * solve.
 */
static void escalations_take_the_vectors_along(void **state)
{
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0), *first = test_allocate(N, sizeof *first),
           *x = test_allocate(N, sizeof *x);
    tess_solve_options options = flexible(20);
    tess_context *ctx = open_cpu(1);
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1e6;
    }
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32};
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    tess_matrix *m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int turn = 0; turn < 2; turn++) {
        tess_solve_result result;

        memset(x, 0, N * sizeof *x);
        result = solve_with(solver, ctx, N, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_int_equal(result.escalated, 1);
        check_honest(&a, b, x, &options, &result);
        if (turn == 0) { memcpy(first, x, N * sizeof *x); }
        assert_true(same_bits(first, x, N));
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(first);
    free(x);
}

/* The preconditioned vectors are counted: n rounded up to 256, by the restart length. */
static void memory_is_counted(void **state)
{
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = flexible(10), other = solve_options(TESS_SOLVER_GMRES);
    tess_solve_result one, two;

    (void)state;
    options.precond.kind = other.precond.kind = TESS_PRECOND_JACOBI;
    other.gmres.restart = 10;
    memset(x, 0, N * sizeof *x);
    one = solve_once(ctx, &a, &options, b, x);
    memset(x, 0, N * sizeof *x);
    two = solve_once(ctx, &a, &other, b, x);
    /* one vector less, ten columns more */
    assert_int_equal(one.resident_bytes - two.resident_bytes, (10 * 768 - N) * 8);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

static void limits_are_exact(void **state)
{
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0);
    tess_solve_options options = flexible(7);
    tess_context *ctx = open_cpu(1);

    (void)state;
    options.precond.kind = TESS_PRECOND_JACOBI;
    check_limits_are_exact(ctx, &a, b, options);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* (0 1; 1 0) and b = e1: the first product is orthogonal to b. Two vectors solve it. */
static void ends_are_those_of_gmres(void **state)
{
    oracle_csr a = oracle_open(2, 2), singular = oracle_open(2, 2);
    double b[2] = {1.0, 0.0}, x[2] = {0.0};
    tess_solve_options options = flexible(50);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    oracle_push(&a, 1, 1.0);
    oracle_end_row(&a, 0);
    oracle_push(&a, 0, 1.0);
    oracle_end_row(&a, 1);
    oracle_push(&singular, 1, 1.0);
    oracle_end_row(&singular, 0);
    oracle_end_row(&singular, 1);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.iterations, 2);
    b[0] = 0.0;
    b[1] = 1.0;
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &singular, &options, b, x); /* A b = e1, A e1 = 0 */
    assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
    check_honest(&singular, b, x, &options, &result);
    options.engine = TESS_ENGINE_GRAPH;
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&singular);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_preconditioners_give_gmres),
        cmocka_unit_test(changing_preconditioners_are_followed),
        cmocka_unit_test(low_precisions_are_repaired),
        cmocka_unit_test(escalations_take_the_vectors_along),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(ends_are_those_of_gmres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
