/* SPDX-License-Identifier: Apache-2.0 */
/* Solves to a wanted error of x: the true error, which is known for integers, is at most that, or the result says that
   it is not; condition numbers that are known, and errors, are met by the estimates. */
#include <tessera/automatic.h>

#include "precond/direct/mumps.h"
#include "precond/precond.h"
#include "support/solve.h"

static tess_context *ctx;

/* One way to solve, and what its estimates may miss by. */
typedef struct method {
    tess_solver_kind solver;
    tess_precond_kind precond;
    tess_condition_source source;
    double least, most; /* of the estimate over the true error */
} method;

/* By factors the error is A^-1 r itself; Lanczos gives a bound, which holds once the least Ritz value has converged. */
static const method methods[] = {{TESS_SOLVER_CG, TESS_PRECOND_NONE, TESS_CONDITION_LANCZOS, 0.8, 1e4},
                                 {TESS_SOLVER_CG, TESS_PRECOND_JACOBI, TESS_CONDITION_LANCZOS, 0.8, 1e4},
                                 {TESS_SOLVER_CG, TESS_PRECOND_CHOLESKY, TESS_CONDITION_FACTORS, 0.5, 2.0},
                                 {TESS_SOLVER_GMRES, TESS_PRECOND_LU, TESS_CONDITION_FACTORS, 0.5, 2.0},
                                 {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_CONDITION_FACTORS, 0.5, 2.0}};
enum { METHODS = (int)(sizeof methods / sizeof methods[0]) };

static bool is_here(const method *m)
{
    return m->source != TESS_CONDITION_FACTORS || mumps_is_here();
}

static tess_solve_options options_of(const method *m, double forward)
{
    tess_solve_options o = solve_options(m->solver);

    o.precond.kind = m->precond;
    o.rtol = 1e-5; /* the default: it is not read */
    o.accuracy.forward = forward;
    if (m->source != TESS_CONDITION_FACTORS && m->precond != TESS_PRECOND_LU) {
        o.precond.direct.memory_limit = 1; /* no factors beside */
    }
    return o;
}

/* Solves with b = A x*, which must be exact; *error: of x. */
static tess_solve_result solve_known(const oracle_csr *a, const double *exact, const tess_solve_options *o,
                                     double *error)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    double *b = test_allocate(a->nrows, sizeof *b), *x = test_allocate(a->nrows, sizeof *x);
    wide *product = test_allocate(a->nrows, sizeof *product), gap = 0, size = 0;
    double *magnitude = test_allocate(a->nrows, sizeof *magnitude);
    tess_solver *solver = NULL;
    tess_solve_result result;

    oracle_multiply(a, false, exact, product, magnitude);
    for (int64_t i = 0; i < a->nrows; i++) {
        b[i] = (double)product[i];
        assert_true((wide)b[i] == product[i]);
        x[i] = 0.0;
    }
    assert_ok(ctx, tess_solver_create(matrix, o, &solver));
    result = solve_with(solver, ctx, a->nrows, b, x);
    for (int64_t i = 0; i < a->nrows; i++) {
        const wide difference = (wide)x[i] - (wide)exact[i];

        gap += difference * difference;
        size += (wide)exact[i] * (wide)exact[i];
    }
    *error = (double)(wide_sqrt(gap) / wide_sqrt(size));
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    free(b);
    free(x);
    free(product);
    free(magnitude);
    return result;
}

static double *integers(int64_t n)
{
    double *x = test_allocate(n, sizeof *x);

    for (int64_t i = 0; i < n; i++) {
        x[i] = (double)((i * 37) % 101 - 30);
    }
    return x;
}

static void the_wanted_error_is_reached(void **state)
{
    static const double wanted[] = {1e-3, 1e-7, 1e-11};
    oracle_csr a = oracle_laplace2d(24);
    double *exact = integers(a.nrows);

    (void)state;
    for (int k = 0; k < METHODS; k++) {
        for (int w = 0; w < 3 && is_here(&methods[k]); w++) {
            const tess_solve_options o = options_of(&methods[k], wanted[w]);
            double error = 0.0;
            const tess_solve_result r = solve_known(&a, exact, &o, &error);

            assert_true(r.verified && r.accuracy.reached);
            assert_true(r.accuracy.wanted == wanted[w]);
            assert_int_equal(r.accuracy.source, methods[k].source);
            assert_at_most(error, wanted[w]);
            assert_at_most(r.accuracy.forward_error, wanted[w]);
            if (error < 1e-15) { continue; } /* x is the rounded solution */
            assert_at_most(methods[k].least * error, r.accuracy.forward_error);
            assert_at_most(r.accuracy.forward_error, methods[k].most * error);
        }
    }
    free(exact);
    oracle_free(&a);
}

/* Eigenvalues 1 to 2^20, each of its own: the condition number is 2^20 in every norm, and 1 when the diagonal is
   scaled. dlacn2 is exact for a diagonal matrix up to its roundoff; Ritz values lie within the spectrum. */
static void known_condition_numbers(void **state)
{
    double diagonal[41], *exact = integers(41);
    oracle_csr a;

    (void)state;
    for (int i = 0; i < 41; i++) {
        diagonal[i] = i % 2 == 0 ? ldexp(1.0, i / 2) : ldexp(3.0, (i - 1) / 2 - 1);
    }
    a = oracle_diagonal(41, diagonal);
    for (int k = 0; k < METHODS; k++) {
        if (!is_here(&methods[k])) { continue; }
        {
            const bool scaled = methods[k].precond == TESS_PRECOND_JACOBI;
            const tess_solve_options o = options_of(&methods[k], 1e-9);
            const double known = scaled ? 1.0 : ldexp(1.0, 20);
            double error = 0.0;
            const tess_solve_result r = solve_known(&a, exact, &o, &error);

            assert_true(r.accuracy.reached);
            assert_at_most(error, 1e-9);
            assert_at_most(0.5 * known, r.accuracy.condition);
            assert_at_most(r.accuracy.condition, 1.001 * known);
        }
    }
    free(exact);
    oracle_free(&a);
}

/* A = (I - N) D with the superdiagonal N and d_0 = ... = 1, but d_(n-2) = 1/64. Column j of A^-1 has j + 1 entries of
   1 / d_i, so that the last two have the largest sums; the rows of A^-1, which the transpose would take, have another
   order. */
static void an_unsymmetric_condition_number(void **state)
{
    enum { N = 40 };
    const method lu = {.solver = TESS_SOLVER_GMRES, .precond = TESS_PRECOND_LU};
    const tess_solve_options o = options_of(&lu, 1e-10);
    double *exact = integers(N), error = 0.0, norm = 0.0, inverse = 0.0;
    oracle_csr a = oracle_open(N, N);
    tess_solve_result r;

    (void)state;
    if (!mumps_is_here()) { skip(); }
    for (int64_t i = 0; i < N; i++) {
        const double d = i == N - 2 ? 0x1p-6 : 1.0, next = i + 1 == N - 2 ? 0x1p-6 : 1.0;

        oracle_push(&a, i, d);
        if (i + 1 < N) { oracle_push(&a, i + 1, -next); }
        oracle_end_row(&a, i);
        norm = 2.0;                                                               /* of a column: 1 + 1 */
        inverse = fmax(inverse, i >= N - 2 ? (double)i + 64.0 : (double)i + 1.0); /* sum over the rows of 1 / d_i */
    }
    r = solve_known(&a, exact, &o, &error);
    assert_true(r.accuracy.reached);
    assert_at_most(error, 1e-10);
    assert_at_most(0.9 * norm * inverse, r.accuracy.condition);
    assert_at_most(r.accuracy.condition, 1.001 * norm * inverse);
    free(exact);
    oracle_free(&a);
}

/* A^T z = r by the factors of an unsymmetric matrix whose rows and columns have scales of their own. */
static void transposed_factors(void **state)
{
    oracle_csr a = oracle_convection2d(8, 3.0);
    double *r = random_values(a.nrows, 3, 0.5, 1.0), *z = test_allocate(a.nrows, sizeof *z);
    double *magnitude = test_allocate(a.nrows, sizeof *magnitude);
    wide *product = test_allocate(a.nrows, sizeof *product);
    tess_precond_options options;
    tess_precond *m = NULL;
    tess_matrix *matrix = NULL;

    (void)state;
    if (!mumps_is_here()) { skip(); }
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = ldexp(a.val[k], (int)(i % 7) - (int)(a.col_ind[k] % 5));
        }
    }
    matrix = make_matrix(ctx, &a);
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_LU;
    options.role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int transposed = 0; transposed < 2; transposed++) {
        assert_ok(ctx, m->ops->solve_on_host(m, transposed, r, z));
        oracle_multiply(&a, transposed, z, product, magnitude);
        for (int64_t i = 0; i < a.nrows; i++) {
            const double size = magnitude[i] + fabs(r[i]);

            assert_at_most(fabs((double)(product[i] - (wide)r[i])), 4.0 * (double)a.nrows * 0x1p-53 * size);
        }
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    free(r);
    free(z);
    free(product);
    free(magnitude);
}

/* Hilbert's matrix times the least common multiple of its denominators: integers. */
static oracle_csr hilbert(int64_t n, double multiple)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            oracle_push(&a, j, multiple / (double)(i + j + 1));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Order 8: the condition number in the 1-norm is 3.387e10 (Higham, Accuracy and Stability of Numerical Algorithms,
   section 28.1). That is too much for factors in FP32, so that the solve goes on with FP64. */
static void the_condition_raises_the_precision(void **state)
{
    oracle_csr a = hilbert(8, 360360.0);
    double *exact = integers(8), error = 0.0;
    const method lu = {.solver = TESS_SOLVER_GMRES, .precond = TESS_PRECOND_LU};

    (void)state;
    if (!mumps_is_here()) { skip(); }
    for (int automatic = 0; automatic < 2; automatic++) {
        tess_solve_options o = options_of(&lu, 1e-9);
        tess_solve_result r;

        if (automatic) {
            o.solver = TESS_SOLVER_AUTO;
            o.precond.kind = TESS_PRECOND_LU;
        }
        r = solve_known(&a, exact, &o, &error);
        assert_true(r.accuracy.reached && r.verified);
        assert_at_most(error, 1e-9);
        assert_at_most(3.387e10 / 3.0, r.accuracy.condition);
        assert_at_most(r.accuracy.condition, 1.01 * 3.387e10);
    }
    { /* the caller's own choice stays: as BLAS rounds, the error is not known, or as small as is said */
        tess_solve_options o = options_of(&lu, 1e-9);
        tess_solve_result r;

        o.precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
        r = solve_known(&a, exact, &o, &error);
        if (r.accuracy.reached) {
            assert_at_most(error, 1e-9);
            assert_at_most(3.387e10 / 3.0, r.accuracy.condition);
        } else {
            assert_int_equal(r.accuracy.source, TESS_CONDITION_UNKNOWN);
            assert_true(isnan(r.accuracy.forward_error) && isnan(r.accuracy.condition));
        }
    }
    free(exact);
    oracle_free(&a);
}

/* Order 13: the condition number is above 1e18, and FP64 gives no digit. */
static void what_cannot_be_is_told(void **state)
{
    oracle_csr a = hilbert(13, 26771144400.0);
    double *exact = integers(13), error = 0.0;
    const method lu = {.solver = TESS_SOLVER_AUTO, .precond = TESS_PRECOND_LU};
    const method none = {.solver = TESS_SOLVER_CG, .precond = TESS_PRECOND_NONE};

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options o = options_of(k == 0 ? &none : &lu, 1e-10);
        tess_solve_result r;

        if (k == 1 && !mumps_is_here()) { continue; }
        r = solve_known(&a, exact, &o, &error);
        assert_true(error > 1e-10);
        assert_false(r.accuracy.reached || r.converged || r.verified);
        assert_true(r.reason < 0);
    }
    free(exact);
    oracle_free(&a);
}

/* Of methods that tell nothing of the inverse the residual is small, but the error is unknown, and so not reached. */
static void an_unknown_error_is_no_success(void **state)
{
    const method bicgstab = {.solver = TESS_SOLVER_BICGSTAB, .precond = TESS_PRECOND_JACOBI};
    oracle_csr a = oracle_laplace2d(12);
    double *exact = integers(a.nrows), error = 0.0;
    const tess_solve_options o = options_of(&bicgstab, 1e-6);
    const tess_solve_result r = solve_known(&a, exact, &o, &error);

    (void)state;
    assert_false(r.verified || r.converged || r.accuracy.reached);
    assert_int_equal(r.accuracy.source, TESS_CONDITION_UNKNOWN);
    assert_true(isnan(r.accuracy.forward_error));
    assert_at_most(r.relative_residual, 1e-6);
    free(exact);
    oracle_free(&a);
}

/* [1 1; 1 1 + gap] with x* = (0, 1). b has nearly no part of the least eigenvector, about (1, -1), so that CG's own
   values miss it; FP32 has the gap of 2^-27 no more, and its factors set a pivot aside. */
static void a_blind_estimate_is_no_success(void **state)
{
    static const double gaps[] = {0x1p-20, 0x1p-27, 0x1p-40, 0x1p-50};
    static const double exact[] = {0.0, 1.0};

    (void)state;
    for (int g = 0; g < 4; g++) {
        oracle_csr a = oracle_open(2, 2);

        for (int i = 0; i < 2; i++) {
            oracle_push(&a, 0, 1.0);
            oracle_push(&a, 1, i == 0 ? 1.0 : 1.0 + gaps[g]);
            oracle_end_row(&a, i);
        }
        for (int k = 0; k < METHODS; k++) {
            for (int beside = 0; beside < 2 && is_here(&methods[k]); beside++) {
                tess_solve_options o = options_of(&methods[k], 1e-3);
                double error = 0.0;
                tess_solve_result r;

                if (beside) { o.precond.direct.memory_limit = 0; }
                r = solve_known(&a, exact, &o, &error);
                assert_true(!r.accuracy.reached || error <= 1e-3);
                assert_true(r.converged == r.accuracy.reached);
            }
        }
        oracle_free(&a);
    }
}

/* Rows of a convection times powers of two: the same x, and the same backward error by rows. */
static void row_scales_change_nothing(void **state)
{
    const method lu = {.solver = TESS_SOLVER_GMRES, .precond = TESS_PRECOND_LU, .source = TESS_CONDITION_FACTORS};
    oracle_csr a = oracle_convection2d(10, 3.0);
    double *exact = integers(a.nrows);

    (void)state;
    if (!mumps_is_here()) { skip(); }
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = ldexp(rint(16.0 * a.val[k]), oracle_power(i, 40));
        }
    }
    for (int backward = 0; backward < 2; backward++) {
        tess_solve_options o = options_of(&lu, backward ? 0.0 : 1e-9);
        double error = 0.0;
        tess_solve_result r;

        o.accuracy.backward = backward ? 1e-12 : 0.0;
        r = solve_known(&a, exact, &o, &error);
        assert_true(r.accuracy.reached);
        assert_at_most(error, 1e-9);
    }
    free(exact);
    oracle_free(&a);
}

/* The backward error is that of the worst row; a residual of ||b|| times 1e-15 cannot be
   had here, but a backward error of 1e-15 can. */
static void backward_errors(void **state)
{
    static const double wanted[] = {1e-4, 1e-10, 1e-15};
    oracle_csr a = oracle_laplace2d(24);
    double *exact = integers(a.nrows), error = 0.0;

    (void)state;
    for (int w = 0; w < 3; w++) {
        tess_solve_options o = options_of(&methods[1], 0.0);
        tess_solve_result r;

        o.accuracy.backward = wanted[w];
        r = solve_known(&a, exact, &o, &error);
        assert_true(r.accuracy.reached && r.verified);
        assert_at_most(r.accuracy.backward_error, wanted[w]);
        assert_true(r.accuracy.wanted == wanted[w]);
    }
    free(exact);
    oracle_free(&a);
}

/* Rows of very different size and b = 1: no x in FP64 has a small norm of b - A x, and each row is solved. */
static void rows_far_apart(void **state)
{
    const method automatic = {
        .solver = TESS_SOLVER_AUTO, .precond = TESS_PRECOND_AUTO, .source = TESS_CONDITION_FACTORS};
    oracle_csr a = oracle_tridiagonal(200, -1.0, 2.01, -1.0);
    double *b = test_allocate(a.nrows, sizeof *b), *x = test_allocate(a.nrows, sizeof *x);
    tess_solve_options o = options_of(&automatic, 0.0);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;
    tess_solve_result r;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        b[i] = 1.0;
        x[i] = 0.0;
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = ldexp(a.val[k], oracle_power(i, 50));
        }
    }
    o.accuracy.backward = 1e-12;
    matrix = make_matrix(ctx, &a);
    assert_ok(ctx, tess_solver_create(matrix, &o, &solver));
    r = solve_with(solver, ctx, a.nrows, b, x);
    assert_true(r.accuracy.reached);
    assert_at_most(r.accuracy.backward_error, 1e-12);
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    free(b);
    free(x);
    oracle_free(&a);
}

/* I + penalty D^T D for second differences D (Hodrick, Prescott): a condition of about 16 penalty. */
static oracle_csr smoothing(int64_t n, double penalty)
{
    static const double second[3] = {1.0, -2.0, 1.0};
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i > 2 ? i - 2 : 0; j <= i + 2 && j < n; j++) {
            double sum = 0.0;

            for (int64_t row = 0; row < n - 2; row++) { /* rows of D that have columns i and j */
                if (row < i - 2 || row > i || row < j - 2 || row > j) { continue; }
                sum += second[i - row] * second[j - row];
            }
            oracle_push(&a, (int32_t)j, penalty * sum + (i == j ? 1.0 : 0.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* No x in FP64 has the residual, and x of an early attempt solves a system whose entries differ by roundings: no other
   attempt follows. */
static void attempts_end_where_rounding_does(void **state)
{
    enum { N = 500, MOST = 3 };
    oracle_csr a = smoothing(N, 1e8);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double b[N], x[N], walk = 0.0;

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        tess_solve_options o = solve_options(TESS_SOLVER_AUTO);
        const tess_attempt *attempts = NULL;
        tess_solver *solver = NULL;
        tess_solve_result r;

        for (int i = 0; i < N; i++) {
            b[i] = walk += (i * 37 % 101 - 50) / 64.0;
            x[i] = 0.0;
        }
        o.accuracy.backward = turn == 1 ? 1e-12 : 0.0;
        o.rtol = turn == 1 ? 1e-5 : 1e-10; /* the default beside an accuracy */
        assert_ok(ctx, tess_solver_create(matrix, &o, &solver));
        r = solve_with(solver, ctx, N, b, x);
        assert_in_range(tess_solver_attempts(solver, &attempts), 1, MOST);
        assert_true(r.converged == turn && r.verified == turn && r.accuracy.reached == turn);
        assert_at_most(r.rows.backward_error + r.rows.backward_bound, turn == 1 ? 1e-12 : 0x1p-52);
        assert_true(r.relative_residual > 1e-9);
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(matrix);
    oracle_free(&a);
}

/* x is exact but for one element, which may be any, the first and the last too: that row alone has an error. */
static void every_row_counts(void **state)
{
    enum { N = 5 };
    double d[N] = {2.0, 2.0, 2.0, 2.0, 2.0}, b[N] = {2.0, 2.0, 2.0, 2.0, 2.0}, x[N];
    oracle_csr a = oracle_diagonal(N, d);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_solve_options o = options_of(&methods[1], 0.0);

    (void)state;
    o.accuracy.backward = 1e-6;
    for (int row = 0; row < N; row++) {
        tess_solver *solver = NULL;
        tess_solve_result r;

        for (int i = 0; i < N; i++) {
            x[i] = i == row ? 1.0 + 0x1p-40 : 1.0;
        }
        assert_ok(ctx, tess_solver_create(matrix, &o, &solver));
        r = solve_with(solver, ctx, N, b, x);
        assert_int_equal(r.iterations, 0);
        assert_true(r.accuracy.reached);
        assert_at_most(fabs(r.accuracy.backward_error - 0x1p-41), 0x1p-80); /* 2^-39 / (4 + 2^-39) */
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(matrix);
    oracle_free(&a);
}

/* b = 0 has the exact solution 0. Two solves of one solver do the same. */
static void zero_and_again(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    const tess_solve_options o = options_of(&methods[1], 1e-8);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double *b = test_allocate(a.nrows, sizeof *b), *x = test_allocate(a.nrows, sizeof *x);
    tess_solver *solver = NULL;
    tess_solve_result r[3];

    (void)state;
    assert_ok(ctx, tess_solver_create(matrix, &o, &solver));
    for (int turn = 0; turn < 3; turn++) {
        for (int64_t i = 0; i < a.nrows; i++) {
            b[i] = turn == 0 ? 0.0 : 1.0;
            x[i] = 0.0;
        }
        r[turn] = solve_with(solver, ctx, a.nrows, b, x);
        assert_true(r[turn].accuracy.reached && r[turn].verified);
    }
    assert_true(r[0].accuracy.forward_error == 0.0);
    assert_int_equal(r[1].iterations, r[2].iterations);
    assert_true(r[1].accuracy.condition == r[2].accuracy.condition);
    assert_int_equal(r[1].history_length, r[1].iterations + 1);
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    free(b);
    free(x);
}

static void wrong_requests(void **state)
{
    oracle_csr a = oracle_laplace2d(4), wide_one = oracle_open(1, 2);
    tess_solve_options o = options_of(&methods[0], 1e-8);
    tess_matrix *matrix = make_matrix(ctx, &a), *other = NULL;
    tess_solver *solver = NULL;
    tess_precond *m = NULL;
    static const double wrong[][2] = {{1e-8, 1e-8}, {-1.0, 0.0}, {1.0, 0.0}, {0.0, 2.0}, {NAN, 0.0}};

    (void)state;
    oracle_push(&wide_one, 0, 1.0);
    oracle_end_row(&wide_one, 0);
    other = make_matrix(ctx, &wide_one);
    assert_ok(ctx, tess_precond_create(matrix, NULL, &m));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create_with_precond(matrix, m, &o, &solver));
    o.solver = TESS_SOLVER_LSQR;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(other, &o, &solver));
    for (int k = 0; k < 5; k++) {
        o = options_of(&methods[0], wrong[k][0]);
        o.accuracy.backward = wrong[k][1];
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(matrix, &o, &solver));
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_matrix_destroy(other);
    oracle_free(&a);
    oracle_free(&wide_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wanted_error_is_reached),
        cmocka_unit_test(known_condition_numbers),
        cmocka_unit_test(an_unsymmetric_condition_number),
        cmocka_unit_test(transposed_factors),
        cmocka_unit_test(the_condition_raises_the_precision),
        cmocka_unit_test(what_cannot_be_is_told),
        cmocka_unit_test(an_unknown_error_is_no_success),
        cmocka_unit_test(a_blind_estimate_is_no_success),
        cmocka_unit_test(row_scales_change_nothing),
        cmocka_unit_test(backward_errors),
        cmocka_unit_test(rows_far_apart),
        cmocka_unit_test(attempts_end_where_rounding_does),
        cmocka_unit_test(every_row_counts),
        cmocka_unit_test(zero_and_again),
        cmocka_unit_test(wrong_requests),
    };

    return run_with_context(open_cpu(1), tests, &ctx);
}
