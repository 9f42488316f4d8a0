/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES: the options that its set-up refuses and fills in, and the data that a handle keeps from one solve to the next.
 */
#include "base/device.h"
#include "matrix/matrix.h"
#include "solver/gmres/arnoldi.h"
#include "support/solve.h"

/* ---- a device with little space ---- */

enum { MAX_VECTORS = 20 };
static bool has_little_room = false;

/* The linker puts the second in place of the first (tests/CMakeLists.txt). */
const arnoldi_ops *__real_arnoldi_ops_of(const tess_context *ctx);
const arnoldi_ops *__wrap_arnoldi_ops_of(const tess_context *ctx);

static tess_status refuse_long_bases(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage)
{
    if (stage == TESS_ARNOLDI_CHECK && a->small.most > MAX_VECTORS) {
        return tess_fail(ctx, TESS_UNSUPPORTED, NULL, "a basis of %d vectors", a->small.most);
    }
    return __real_arnoldi_ops_of(ctx)->run(ctx, a, stage);
}

const arnoldi_ops *__wrap_arnoldi_ops_of(const tess_context *ctx)
{
    static const arnoldi_ops small = {refuse_long_bases};

    return has_little_room ? &small : __real_arnoldi_ops_of(ctx);
}

/* Before its memory is taken; a restart that the matrix cuts is not long. */
static void lengths_are_judged_at_creation(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD};
    oracle_csr a = oracle_laplace2d(6), tiny = oracle_laplace2d(4);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *cut = make_matrix(ctx, &tiny);

    (void)state;
    has_little_room = true;
    for (int k = 0; k < 3 * GMRES_WAYS * 2; k++) {
        tess_solve_options options = solve_options(solvers[k % 3]);
        tess_solver *solver = NULL;

        options.gmres.orthogonalization = (tess_orthogonalization)(k / 3 % GMRES_WAYS);
        options.reorder = k / (3 * GMRES_WAYS) ? TESS_REORDERING_RCM : TESS_REORDERING_NONE;
        options.gmres.restart = MAX_VECTORS + 1;
        assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
        assert_null(solver);
        assert_ok(ctx, tess_solver_create(cut, &options, &solver));
        tess_solver_destroy(solver);
        options.gmres.restart = MAX_VECTORS;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        tess_solver_destroy(solver);
    }
    has_little_room = false;
    tess_matrix_destroy(m);
    tess_matrix_destroy(cut);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&tiny);
}

/* ---- operators ---- */

static int multiply_oracle(void *user, tess_operation operation, const double *x, double *y)
{
    const oracle_csr *a = user;
    wide *product = test_allocate(a->nrows, sizeof *product);

    oracle_multiply(a, operation == TESS_OP_TRANSPOSE, x, product, NULL);
    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = (double)product[i];
    }
    free(product);
    return 0;
}

/* They multiply only FP64 vectors, and so do preconditioners, unless the options say otherwise. */
static void operators_have_preconditioners_in_fp64(void **state)
{
    enum { N = 81 };
    static const tess_solver_kind solvers[] = {TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD};
    oracle_csr a = oracle_convection2d(9, 4.0);
    const tess_shell_operator shell = {.apply = multiply_oracle, .user = &a};
    double *b = random_values(N, 3, -1.0, 1.0), x[N];
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &m));
    for (int k = 0; k < 3; k++) {
        tess_solve_options options = solve_options(solvers[k]);
        tess_solve_result result;

        options.precond.kind = TESS_PRECOND_POLYNOMIAL;
        options.precond.polynomial.degree = 3;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, N, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_int_equal(result.gmres.inner.storage, k == 0 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32);
        assert_true(isnan(result.residual_bound)); /* the rounding of an operator is not known */
        result.residual_bound = 1e-14 * result.rhs_norm;
        check_honest(&a, b, x, &options, &result);
        tess_solver_destroy(solver);
        options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
        assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* ---- escalation ---- */

static oracle_csr cyclic_shift(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        oracle_push(&a, (i + 1) % n, 1.0);
        oracle_end_row(&a, i);
    }
    return a;
}

/* A low basis goes up where cycles make no progress; the next solve begins with it again. The same of a user's
 * operator. */
static void handles_begin_again_after_escalation(void **state)
{
    enum { N = 12, RESTART = 7 };
    oracle_csr a = cyclic_shift(N);
    const tess_shell_operator shell = {.apply = multiply_oracle, .user = &a};
    const double b[N] = {1.0};
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrices[2] = {make_matrix(ctx, &a), NULL};

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &matrices[1]));
    for (int k = 0; k < 2 * GMRES_WAYS; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
        tess_solver *solver = NULL;

        options.gmres.restart = RESTART;
        options.gmres.orthogonalization = (tess_orthogonalization)(k / 2);
        options.gmres.basis = (tess_role_precision){.given = 1, .storage = TESS_PRECISION_FP16};
        assert_ok(ctx, tess_solver_create(matrices[k % 2], &options, &solver));
        for (int again = 0; again < 2; again++) {
            double x[N] = {0.0};
            const tess_solve_result result = solve_with(solver, ctx, N, b, x);

            assert_int_equal(result.reason, TESS_REASON_STAGNATION);
            assert_int_equal(result.escalated, 1);
            assert_int_equal(result.iterations, 4 * RESTART); /* one cycle in fp16, three in FP64 */
            assert_true(result.relative_residual == 1.0);
        }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(matrices[0]);
    tess_matrix_destroy(matrices[1]);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Q S Q^T with the cyclic shift S and the reflection Q that takes e1 to u: no power below n of it has a part along u.
 */
static oracle_csr shift_seen_from(const double *u, int64_t n)
{
    oracle_csr a = oracle_open(n, n);
    double *v = test_allocate(n, sizeof *v), *q = test_allocate(n * n, sizeof *q), square = 0.0;

    for (int64_t i = 0; i < n; i++) {
        v[i] = u[i] - (i == 0 ? 1.0 : 0.0);
        square += v[i] * v[i];
    }
    for (int64_t e = 0; e < n * n; e++) {
        q[e] = (e / n == e % n ? 1.0 : 0.0) - 2.0 * v[e / n] * v[e % n] / square;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0.0;

            for (int64_t k = 0; k < n; k++) {
                sum += q[i * n + k] * q[j * n + (k + 1) % n];
            }
            oracle_push(&a, j, sum);
        }
        oracle_end_row(&a, i);
    }
    free(v);
    free(q);
    return a;
}

/* GMRES stagnates from the vector that polynomials are made from, so that there is none; of the matrix in fp16 there is
   one. Cycles without progress ask for that in FP64. */
static void preconditioners_that_fp64_has_not_end_the_solve(void **state)
{
    enum { N = 16, RESTART = 5 };
    tess_context *ctx = open_cpu(1);
    tess_vector *random = make_zeros(ctx, N);
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES_IR);
    double u[N], norm = 0.0;
    tess_solver *solver = NULL;
    tess_matrix *m = NULL;
    oracle_csr a;

    (void)state;
    options.precond.kind = TESS_PRECOND_POLYNOMIAL;
    options.precond.polynomial.degree = 1;
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
    options.gmres.restart = RESTART;
    assert_ok(ctx, tess_vector_set_random(random, options.precond.polynomial.seed, -1.0, 1.0));
    read_vector(random, u);
    for (int i = 0; i < N; i++) {
        norm = hypot(norm, u[i]);
    }
    for (int i = 0; i < N; i++) {
        u[i] /= norm;
    }
    a = shift_seen_from(u, N);
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int again = 0; again < 2; again++) {
        double x[N] = {0.0};
        const tess_solve_result result = solve_with(solver, ctx, N, u, x);

        assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
        assert_int_equal(result.escalated, 1);
        assert_true(result.iterations > 0);
        assert_int_equal(result.refinements, 0); /* no cycle follows */
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "polynomial"));
        check_honest(&a, u, x, &options, &result);
    }
    tess_solver_destroy(solver);
    options.solver = TESS_SOLVER_GMRES_FD; /* which changes to FP64 as a method, without a repair */
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    {
        double x[N] = {0.0};

        assert_int_equal(solve_with(solver, ctx, N, u, x).reason, TESS_REASON_PRECOND_SETUP);
    }
    tess_solver_destroy(solver);
    options.solver = TESS_SOLVER_GMRES_IR;
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    memset(u, 0, sizeof u);
    u[0] = 1.0;
    {
        double x[N] = {0.0};
        const tess_solve_result result = solve_with(solver, ctx, N, u, x);

        assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
        assert_int_equal(result.iterations, 0);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_vector_destroy(random);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- gmres-fd ---- */

/* A residual in FP32 is that of x as rounded to FP32: where products are exact, a second cycle corrects all of the
 * rounding. */
static void fp32_residuals_are_those_of_the_rounded_x(void **state)
{
    enum { N = 40 };
    double values[N], *b = random_values(N, 7, -1.0, 1.0), *x = random_values(N, 8, -1.0, 1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES_FD);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;
    oracle_csr a;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = 2.0;
    }
    a = oracle_diagonal(N, values);
    options.rtol = 1e-12;
    options.gmres.switch_at = 1000; /* never */
    options.max_iterations = 10;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.storage.precision, TESS_PRECISION_FP32);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_judged_at_creation),
        cmocka_unit_test(operators_have_preconditioners_in_fp64),
        cmocka_unit_test(handles_begin_again_after_escalation),
        cmocka_unit_test(preconditioners_that_fp64_has_not_end_the_solve),
        cmocka_unit_test(fp32_residuals_are_those_of_the_rounded_x),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
