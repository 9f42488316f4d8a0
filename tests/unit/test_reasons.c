/* SPDX-License-Identifier: Apache-2.0 */
/* Each reason a solve may end for, and that the handle is as good as new afterwards. */
#include "support/precond_of.h"
#include "support/solve.h"

static double ones[512];

static int fill_ones(void **state)
{
    (void)state;
    for (int i = 0; i < 512; i++) {
        ones[i] = 1.0;
    }
    return 0;
}

static void rtol_and_atol(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    double x[144] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    result = solve_once(ctx, &a, &options, ones, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_at_most(result.tolerance, 1e-10 * result.rhs_norm);
    assert_at_most(1e-10 * result.rhs_norm * (1.0 - 8.0 * U64), result.tolerance);
    options.atol = 1.0;
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &a, &options, ones, x);
    assert_int_equal(result.reason, TESS_REASON_ATOL);
    assert_true(result.tolerance == 1.0 && result.residual_norm > 1e-10 * result.rhs_norm);
    check_honest(&a, ones, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void iteration_limit(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        for (int64_t run = 0; run < 8; run++) {
            const int64_t limit = run / 2;
            double x[400] = {0.0};
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_solve_result result;

            options.max_iterations = limit;
            options.guard = run % 2 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
            result = solve_once(ctx, &a, &options, ones, x);
            assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
            assert_int_equal(result.iterations, limit);
            assert_int_equal(result.converged, 0);
            check_honest(&a, ones, x, &options, &result);
            assert_true(limit == 0 ? result.residual_norm == 20.0
                        : run % 2  ? x[0] != 0.0
                                   : result.residual_norm <= 20.0);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A fixed run (rtol 0 and a limit) does exactly its iterations and escalates nothing, also in FP32 under the guard. */
static void fixed_run_does_its_iterations(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        double x[400] = {0.0};
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solve_result result;

        options.rtol = 0.0;
        options.max_iterations = 12;
        options.storage.precision = TESS_PRECISION_FP32;
        result = solve_once(ctx, &a, &options, ones, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_int_equal(result.iterations, 12);
        assert_int_equal(result.escalated, 0);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void divergence(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double x[400] = {0.0}, *b = random_values(400, 4, -1.0, 1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    /* CG's residual norm is not monotone: with a limit this low its first rise counts as divergence */
    options.divergence_tolerance = 1e-3;
    options.guard = TESS_GUARD_REPORT;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_DIVERGENCE);
    assert_int_equal(result.iterations, 1);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* For a skew-symmetric matrix (r, A r) = 0: the first division of BiCGSTAB is by zero. */
static void breakdown(void **state)
{
    oracle_csr a = oracle_open(2, 2);
    double b[2] = {1.0, 0.0}, x[2] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    oracle_push(&a, 1, 1.0);
    oracle_end_row(&a, 0);
    oracle_push(&a, 0, -1.0);
    oracle_end_row(&a, 1);
    options.guard = TESS_GUARD_REPORT;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
    assert_int_equal(result.iterations, 0);
    check_honest(&a, b, x, &options, &result);
    options.guard = TESS_GUARD_REPAIR; /* another shadow residual may help; the answer must be honest either way */
    result = solve_once(ctx, &a, &options, b, x);
    assert_true(result.converged || result.reason == TESS_REASON_BREAKDOWN);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A singular matrix and a right-hand side outside its range. */
static void singular_systems_never_converge(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.0, 2.0, -1.0), zero = oracle_open(50, 50);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t i = 0; i < 50; i++) {
        oracle_end_row(&zero, i);
    }
    a.val[0] = a.val[a.nnz - 1] = 1.0; /* Neumann at both ends: constants are the null space */
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        const oracle_csr *const systems[] = {&a, &zero};

        for (int k = 0; k < 2; k++) {
            double x[50] = {0.0};
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_solve_result result = solve_once(ctx, systems[k], &options, ones, x);

            assert_int_equal(result.converged, 0);
            assert_true(result.reason < 0);
            check_honest(systems[k], ones, x, &options, &result);
            assert_at_most(result.residual_norm, sqrt(50.0) * (1.0 + 1e-12)); /* x is no worse than 0 was */
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&zero);
}

static void nonsymmetric(void **state)
{
    oracle_csr a = oracle_convection2d(10, 1.0), almost = oracle_laplace2d(10);
    double x[100] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    result = solve_once(ctx, &a, &options, ones, x);
    assert_int_equal(result.reason, TESS_REASON_NONSYMMETRIC);
    assert_int_equal(result.iterations, 0);
    assert_true(strlen(tess_context_last_error(ctx)->message) > 0);
    almost.val[1] *= 1.0 + 1e-5; /* one entry off the diagonal */
    result = solve_once(ctx, &almost, &options, ones, x);
    assert_int_equal(result.reason, TESS_REASON_NONSYMMETRIC);
    for (int k = 0; k < 2; k++) { /* the squares over- or underflow: norms are found at another scale */
        oracle_csr far = oracle_convection2d(10, 1.0);

        for (int64_t i = 0; i < far.nnz; i++) {
            far.val[i] = ldexp(far.val[i], k == 0 ? 600 : -600);
        }
        result = solve_once(ctx, &far, &options, ones, x);
        assert_int_equal(result.reason, TESS_REASON_NONSYMMETRIC);
        oracle_free(&far);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&almost);
}

static int negate(void *user, const double *r, double *z)
{
    const int n = *(const int *)user;

    for (int i = 0; i < n; i++) {
        z[i] = -r[i];
    }
    return 0;
}

static int refuse(void *user, const double *r, double *z)
{
    (void)r;
    (void)z;
    return *(const int *)user;
}

/* Entries that FP32 added up in another order: (i, j) and (j, i) differ in the last bit. So do the values in FP64, of
   which that is no rounding. */
static void symmetry_of_the_type_that_was_given(void **state)
{
    oracle_csr a = oracle_laplace2d(10);
    float val[460];
    double x[100] = {0.0};
    const tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);

    (void)state;
    assert_int_equal(a.nnz, 460);
    for (int large = 0; large < 2; large++) { /* 2^-23: as in FP32; 2^-10: no rounding */
        tess_matrix *m = NULL;
        tess_solver *solver = NULL;
        tess_solve_result result;

        for (int64_t k = 0; k < a.nnz; k++) {
            if (a.val[k] < 0.0) { a.val[k] = k % 3 == 0 ? -1.0 - (large ? 0x1p-10 : 0x1p-23) : -1.0; }
            val[k] = (float)a.val[k];
        }
        const tess_csr_arrays arrays = {.size = sizeof arrays,
                                        .nrows = 100,
                                        .ncols = 100,
                                        .nnz = a.nnz,
                                        .row_ptr = a.row_ptr,
                                        .col_ind = a.col_ind,
                                        .val = val,
                                        .row_ptr_bits = 64,
                                        .col_ind_bits = 32,
                                        .val_precision = TESS_PRECISION_FP32,
                                        .where = TESS_MEMORY_HOST,
                                        .ownership = TESS_COPY};

        assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, 100, ones, x);
        assert_int_equal(result.reason == TESS_REASON_NONSYMMETRIC, large);
        assert_int_equal(result.verified, !large);
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
        memset(x, 0, sizeof x); /* or it would be solved already */
        result = solve_once(ctx, &a, &options, ones, x);
        assert_int_equal(result.reason, TESS_REASON_NONSYMMETRIC);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void indefinite_preconditioner(void **state)
{
    int n = 100, code = 42;
    const tess_shell_precond negative = {.apply = negate, .user = &n}, failing = {.apply = refuse, .user = &code};
    oracle_csr a = oracle_laplace2d(10);
    double x[100] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *precond = NULL;
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create_shell(ctx, n, &negative, &precond));
    assert_ok(ctx, tess_solver_create_with_precond(m, precond, &options, &solver));
    result = solve_with(solver, ctx, n, ones, x);
    assert_int_equal(result.reason, TESS_REASON_INDEFINITE_PRECOND);
    check_honest(&a, ones, x, &options, &result);
    tess_solver_destroy(solver);
    tess_precond_destroy(precond);
    /* a function that fails is an error of the call, not a reason */
    assert_ok(ctx, tess_precond_create_shell(ctx, n, &failing, &precond));
    assert_ok(ctx, tess_solver_create_with_precond(m, precond, &options, &solver));
    tess_vector *vb = make_vector(ctx, n, ones), *vx = make_zeros(ctx, n);
    tess_solve_result_init(&result);
    assert_fails(ctx, TESS_CALLBACK, tess_solver_solve(solver, vb, vx, &result));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "42"));
    code = 0;
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result)); /* z has its old contents: anything except a crash */
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_solver_destroy(solver);
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void indefinite_matrix(void **state)
{
    oracle_csr a = oracle_tridiagonal(60, 1.0, 0.1, 1.0), negative = oracle_tridiagonal(60, 1.0, -2.5, 1.0);
    double x[60] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    result = solve_once(ctx, &negative, &options, ones, x); /* as -A x = -b */
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(&negative, ones, x, &options, &result);
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &a, &options, ones, x);
    assert_true(result.converged || result.reason == TESS_REASON_INDEFINITE_MATRIX);
    check_honest(&a, ones, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&negative);
}

/* NaN and Inf in b and x0, one handle; then a clean solve with the same handle equals one that saw nothing of it. */
static void nan_in_vectors_leaves_no_trace(void **state)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    oracle_csr a = oracle_laplace2d(12);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        double clean[144] = {0.0};
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solver *solver = NULL;
        tess_solve_result result = solve_once(ctx, &a, &options, ones, clean);

        assert_true(result.converged);
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int k = 0; k < 6; k++) {
            double b[144], x[144] = {0.0};

            memcpy(b, ones, sizeof b);
            if (k < 3) {
                b[77] = bad[k];
            } else {
                x[77] = bad[k - 3];
            }
            result = solve_with(solver, ctx, 144, b, x);
            assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
            assert_int_equal(result.converged, 0);
            assert_true(result.iterations <= 32);
            memset(x, 0, sizeof x);
            result = solve_with(solver, ctx, 144, ones, x);
            assert_true(result.converged && same_bits(x, clean, 144));
        }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void nan_in_the_matrix_leaves_no_trace(void **state)
{
    static const double bad[] = {(double)NAN, HUGE_VAL};
    oracle_csr a = oracle_laplace2d(12), spoilt = oracle_laplace2d(12);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        for (int k = 0; k < 2; k++) {
            double clean[144] = {0.0}, x[144] = {0.0};
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_matrix *m = NULL;
            tess_solver *solver = NULL;
            tess_solve_result result;

            solve_once(ctx, &a, &options, ones, clean);
            memcpy(spoilt.val, a.val, (size_t)a.nnz * sizeof *a.val);
            spoilt.val[200] = bad[k];
            m = make_matrix(ctx, &spoilt);
            assert_ok(ctx, tess_solver_create(m, &options, &solver));
            result = solve_with(solver, ctx, 144, ones, x);
            assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
            assert_true(result.iterations <= 32);
            assert_int_equal(result.converged, 0);
            assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            memset(x, 0, sizeof x);
            result = solve_with(solver, ctx, 144, ones, x);
            assert_true(result.converged && same_bits(x, clean, 144));
            tess_solver_destroy(solver);
            tess_matrix_destroy(m);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&spoilt);
}

/* ||b|| overflows although no entry does: Inf <= rtol * Inf must not count as convergence. */
static void overflowing_norms_are_no_convergence(void **state)
{
    oracle_csr a = oracle_tridiagonal(4, 0.0, 1.0, 0.0);
    double b[4] = {1.7e308, 1.7e308, 1.7e308, 1.7e308};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        double x[4] = {0.0};
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solve_result result = solve_once(ctx, &a, &options, b, x);

        assert_int_equal(result.converged, 0);
        assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Nor must a residual of 2e306, which is finite, count as less than that tolerance of Inf. */
static void finite_residuals_beside_infinite_norms_prove_nothing(void **state)
{
    oracle_csr a = oracle_tridiagonal(4, 0.0, 1.0, 0.0);
    double b[4] = {1.7e308, 1.7e308, 1.7e308, 1.7e308};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 4; k++) {
        double x[4] = {1.69e308, 1.69e308, 1.69e308, 1.69e308};
        tess_solve_options options = solve_options(k % 2 == 0 ? TESS_SOLVER_GMRES : TESS_SOLVER_BICGSTAB);
        tess_solve_result result;

        options.scale = k < 2 ? TESS_SCALING_NONE : TESS_SCALING_MAX_PRODUCT;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.converged, 0);
        assert_int_equal(result.verified, 0);
        assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
        assert_int_equal(result.iterations, 0);
        assert_at_most(fabs(result.residual_norm - 2e306), 1e300);
        assert_true(x[0] == 1.69e308 && x[3] == 1.69e308);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A right-hand side of 1e-200, for which (r, r) underflows: whatever the reason, no false claim. */
static void extreme_scales_are_answered_honestly(void **state)
{
    static const double scales[] = {1e-310, 1e-200, 1e-160, 1e-100, 1e100, 1e150, 1e160, 1e300};
    oracle_csr a = oracle_tridiagonal(40, -1.0, 2.5, -1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
            double b[40], x[40] = {0.0};
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_solve_result result;

            for (int i = 0; i < 40; i++) {
                b[i] = scales[k] * (1.0 + i);
            }
            result = solve_once(ctx, &a, &options, b, x);
            check_honest(&a, b, x, &options, &result);
            if (scales[k] >= 1e-100 && scales[k] <= 1e100) { assert_true(result.converged); }
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void precond_setup_fails_at_the_solve(void **state)
{
    static const double bad[] = {0.0, (double)NAN, HUGE_VAL, 0x1p-1074};
    oracle_csr a = oracle_laplace2d(6), spoilt = oracle_laplace2d(6);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        double x[36] = {0.0};
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        tess_solve_result result;

        options.precond = precond_of(TESS_PRECOND_BLOCK_JACOBI, 1);
        for (int64_t e = spoilt.row_ptr[20]; e < spoilt.row_ptr[21]; e++) {
            if (spoilt.col_ind[e] == 20) { spoilt.val[e] = bad[k]; }
        }
        result = solve_once(ctx, &spoilt, &options, ones, x);
        if (isfinite(bad[k]) != 0) {
            assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
            assert_non_null(strstr(tess_context_last_error(ctx)->message, "21"));
        } else {
            assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
        }
        assert_int_equal(result.iterations, 0);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&spoilt);
}

/* ||M^-1 r|| is unknown then. */
static void a_preconditioner_without_setup_has_no_norm(void **state)
{
    oracle_csr a = oracle_with_empty_rows(14);
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    double x[14] = {0.0};

    (void)state;
    options.precond = precond_of(TESS_PRECOND_ILU0, 1);
    options.stop_norm = TESS_STOP_NORM_PRECONDITIONED;
    assert_int_equal(solve_once(ctx, &a, &options, ones, x).reason, TESS_REASON_PRECOND_SETUP);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Values that make a preconditioner singular and then regular again. */
static void precond_recovers_with_the_values(void **state)
{
    oracle_csr a = oracle_tridiagonal(30, -1.0, 2.5, -1.0), spoilt = oracle_tridiagonal(30, -1.0, 2.5, -1.0);
    double x[30] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    spoilt.val[0] = 0.0; /* the first diagonal entry */
    options.precond = precond_of(TESS_PRECOND_BLOCK_JACOBI, 1);
    for (int first = 0; first < 2; first++) { /* singular at the set-up, or only later */
        const oracle_csr *const order[] = {&spoilt, &a, &spoilt, &a};
        tess_matrix *m = make_matrix(ctx, order[first]);
        tess_solver *solver = NULL;

        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int k = first; k < 4; k++) {
            if (k > first) {
                assert_ok(ctx, tess_matrix_update_values(m, order[k]->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            }
            memset(x, 0, sizeof x);
            result = solve_with(solver, ctx, 30, ones, x);
            assert_int_equal(result.reason, order[k] == &a ? TESS_REASON_RTOL : TESS_REASON_PRECOND_SETUP);
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&spoilt);
}

/* Diagonal from 1 to 1e-6 with FP32 storage: the estimate of the rounded system meets 1e-10, the truth does not. */
static oracle_csr graded_matrix(int64_t n)
{
    oracle_csr a = oracle_tridiagonal(n, -1.0, 2.0, -1.0);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            double si = pow(10.0, -3.0 * (double)i / (double)n),
                   sj = pow(10.0, -3.0 * (double)a.col_ind[k] / (double)n);

            a.val[k] *= si * sj;
        }
    }
    return a;
}

static void false_convergence_is_caught_and_repaired(void **state)
{
    oracle_csr graded = graded_matrix(100), hilbert = oracle_hilbert(48);
    const oracle_csr *const systems[] = {&graded, &hilbert};
    int caught = 0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 2; k++) {
        double x[100] = {0.0}, y[100] = {0.0}, *exact = random_values(100, 6, 0.5, 1.0), b[100];
        wide product[100];
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;

        oracle_multiply(systems[k], false, exact, product, NULL);
        for (int64_t i = 0; i < systems[k]->nrows; i++) {
            b[i] = (double)product[i];
        }
        options.storage.precision = TESS_PRECISION_FP32;
        options.guard = TESS_GUARD_REPORT;
        result = solve_once(ctx, systems[k], &options, b, x);
        check_honest(systems[k], b, x, &options, &result);
        if (result.reason == TESS_REASON_FALSE_CONVERGENCE) {
            caught += 1;
            assert_true(result.estimated_residual_norm <= result.tolerance);
            assert_true(result.residual_norm > result.tolerance);
        }
        assert_int_equal(result.escalated, 0);
        assert_int_equal(result.refinements, 0);
        assert_int_equal(result.converged, 0);
        options.guard = TESS_GUARD_REPAIR;
        result = solve_once(ctx, systems[k], &options, b, y);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        check_honest(systems[k], b, y, &options, &result);
        free(exact);
    }
    assert_true(caught > 0);
    tess_context_destroy(ctx);
    oracle_free(&graded);
    oracle_free(&hilbert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rtol_and_atol),
        cmocka_unit_test(iteration_limit),
        cmocka_unit_test(fixed_run_does_its_iterations),
        cmocka_unit_test(divergence),
        cmocka_unit_test(breakdown),
        cmocka_unit_test(singular_systems_never_converge),
        cmocka_unit_test(nonsymmetric),
        cmocka_unit_test(symmetry_of_the_type_that_was_given),
        cmocka_unit_test(indefinite_preconditioner),
        cmocka_unit_test(indefinite_matrix),
        cmocka_unit_test(nan_in_vectors_leaves_no_trace),
        cmocka_unit_test(nan_in_the_matrix_leaves_no_trace),
        cmocka_unit_test(overflowing_norms_are_no_convergence),
        cmocka_unit_test(finite_residuals_beside_infinite_norms_prove_nothing),
        cmocka_unit_test(extreme_scales_are_answered_honestly),
        cmocka_unit_test(precond_setup_fails_at_the_solve),
        cmocka_unit_test(a_preconditioner_without_setup_has_no_norm),
        cmocka_unit_test(precond_recovers_with_the_values),
        cmocka_unit_test(false_convergence_is_caught_and_repaired),
    };

    return cmocka_run_group_tests(tests, fill_ones, NULL);
}
