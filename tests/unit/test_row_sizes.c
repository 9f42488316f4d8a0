/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of very different size: the test of symmetry sees the small ones, the method fits, and --accuracy knows the
   error that x has. */
#include "precond/direct/mumps.h"
#include "solver/symmetry.h"
#include "support/solve.h"

enum { K = 8, N = K * K };

static tess_context *ctx;

/* A grid with or without convection, whose first line is held by a penalty on the diagonal. */
static oracle_csr held_grid(bool symmetric, double penalty)
{
    oracle_csr a = symmetric ? oracle_laplace2d(K) : oracle_convection2d(K, 3.0);

    for (int64_t i = 0; i < K; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] += penalty; }
        }
    }
    return a;
}

static bool is_symmetric(const oracle_csr *a)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    bool first = false, again = false;

    assert_ok(ctx, probe_symmetry(matrix, &first));
    assert_ok(ctx, probe_symmetry(matrix, &again));
    assert_int_equal(first, again);
    tess_matrix_destroy(matrix);
    return first;
}

static const double penalties[] = {0.0, 1e6, 1e12, 1e30, 1e150};
enum { PENALTIES = (int)(sizeof penalties / sizeof *penalties) };

static void a_penalty_hides_no_asymmetry(void **state)
{
    (void)state;
    for (int p = 0; p < PENALTIES; p++) {
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            oracle_csr a = held_grid(symmetric, penalties[p]);

            assert_int_equal(is_symmetric(&a), symmetric);
            oracle_free(&a);
        }
    }
}

/* D A D for the grid and D from 2^-60 to 2^60 is symmetric; one entry off by a thousandth is seen in any row. */
static void scaled_matrices(void **state)
{
    (void)state;
    for (int64_t off = -1; off < N; off += 13) {
        oracle_csr a = oracle_laplace2d(K);

        for (int64_t i = 0; i < N; i++) {
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                const int64_t j = a.col_ind[k];

                if (i == off && j != i) { a.val[k] *= 1.001; }
                a.val[k] = ldexp(a.val[k], oracle_power(i, 60) + oracle_power(j, 60));
            }
        }
        assert_int_equal(is_symmetric(&a), off < 0);
        oracle_free(&a);
    }
}

/* NaN and Inf, of which the solve tells; rows without an entry; no rows. */
static void what_has_no_size(void **state)
{
    static const double values[] = {NAN, INFINITY, 0.0};

    (void)state;
    for (int v = 0; v < 3; v++) {
        oracle_csr a = held_grid(true, 1e30);

        for (int64_t k = a.row_ptr[N / 2]; k < a.row_ptr[N / 2 + 1]; k++) {
            if (v < 2 || a.col_ind[k] == N / 2) { a.val[k] = values[v]; }
        }
        assert_true(is_symmetric(&a));
        oracle_free(&a);
    }
    {
        oracle_csr empty = oracle_with_empty_rows(0), zeros = oracle_diagonal(3, (const double[]){0.0, 1e30, 0.0});

        assert_true(is_symmetric(&empty) && is_symmetric(&zeros));
        oracle_free(&empty);
        oracle_free(&zeros);
    }
}

/* ---- solves ---- */

/* The right-hand side holds the first line at 1 to 2; *error: of x, by dense LU. */
static tess_solve_result solve_held(const oracle_csr *a, double penalty, const tess_solve_options *o, double *error)
{
    double b[N] = {0.0}, x[N] = {0.0}, exact[N], gap[N];
    tess_solve_result r;

    for (int i = 0; i < K; i++) {
        b[i] = fmax(penalty, 1.0) * (1.0 + (double)i / K);
    }
    assert_true(oracle_solve_dense(a, b, exact));
    r = solve_once(ctx, a, o, b, x);
    for (int i = 0; i < N; i++) {
        gap[i] = x[i] - exact[i];
    }
    *error = (double)(oracle_norm2(gap, N) / oracle_norm2(x, N));
    return r;
}

static void a_method_that_fits(void **state)
{
    (void)state;
    for (int p = 0; p < PENALTIES; p++) {
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            oracle_csr a = held_grid(symmetric, penalties[p]);
            tess_solve_options o = solve_options(TESS_SOLVER_AUTO);
            tess_solve_result r;
            double error = 0.0;

            o.rtol = 1e-6;
            r = solve_held(&a, penalties[p], &o, &error);
            assert_true(r.verified);
            assert_at_most(error, 1e-4); /* rtol times the condition of some 50 */
            assert_int_equal(r.solver == TESS_SOLVER_BICGSTAB, !symmetric);
            o = solve_options(TESS_SOLVER_MINRES);
            r = solve_held(&a, penalties[p], &o, &error);
            assert_int_equal(r.reason == TESS_REASON_NONSYMMETRIC, !symmetric);
            oracle_free(&a);
        }
    }
}

/* Of well-conditioned equations the error is known, whatever the penalty. */
static void the_error_is_known(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_AUTO, TESS_SOLVER_GMRES, TESS_SOLVER_IDR};

    (void)state;
    if (!mumps_is_here()) { skip(); }
    for (int p = 0; p < PENALTIES; p++) {
        for (int way = 0; way < 6; way++) {
            oracle_csr a = held_grid(way < 3, penalties[p]);
            tess_solve_options o = solve_options(solvers[way % 3]);
            tess_solve_result r;
            double error = 0.0;

            if (way % 3 > 0) { o.precond.kind = TESS_PRECOND_LU; }
            o.rtol = 1e-5; /* not read */
            o.accuracy.forward = 1e-9;
            r = solve_held(&a, penalties[p], &o, &error);
            assert_true(r.accuracy.reached && r.converged && r.verified);
            assert_int_equal(r.accuracy.source, TESS_CONDITION_FACTORS);
            assert_at_most(r.accuracy.row_condition, 1e3);
            assert_at_most(penalties[p], r.accuracy.condition);
            assert_at_most(error, 1e-9);
            assert_at_most(0.5 * error, r.accuracy.forward_error);
            oracle_free(&a);
        }
    }
}

/* A named method stops by the norm as given, which a penalty fills. An error that is reached is verified all the same;
   one that is not is told, also of an x that is wrong in most rows. */
static void a_named_method(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_MINRES, TESS_SOLVER_BICGSTAB};
    int far = 0, wrong = 0;

    (void)state;
    for (int p = 1; p < PENALTIES; p++) {
        for (int way = 0; way < 6; way++) {
            oracle_csr a = held_grid(true, penalties[p]);
            tess_solve_options o = solve_options(solvers[way % 3]);
            tess_solve_result r;
            double error = 0.0;

            if (way % 3 != 1) { o.precond.kind = TESS_PRECOND_JACOBI; }
            o.rtol = 1e-5; /* not read */
            o.accuracy.backward = way < 3 ? 0.01 : 0.0;
            o.accuracy.forward = way < 3 ? 0.0 : 0.01;
            r = solve_held(&a, penalties[p], &o, &error);
            assert_true(r.converged == r.accuracy.reached && r.verified == r.converged);
            if (r.verified) {
                assert_true(r.rows.met && r.residual_norm + r.residual_bound <= r.tolerance);
                assert_true(r.rows.norm + r.rows.bound <= r.rows.tolerance);
                far += r.rows.relative > 100.0 * r.tolerance / r.rhs_norm;
            }
            if (way >= 3 && r.accuracy.source == TESS_CONDITION_FACTORS) {
                assert_at_most(0.5 * error, r.accuracy.forward_error);
                assert_true(isfinite(r.accuracy.forward_error));
                wrong += error > 0.5;
            }
            oracle_free(&a);
        }
    }
    assert_true(far > 0 && (wrong > 0 || !mumps_is_here()));
}

/* Upwind convection with tiny couplings: IDR by factors in FP32, by the diagonal and by itself. */
static void the_error_that_idr_has(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_LU, TESS_PRECOND_JACOBI, TESS_PRECOND_NONE};
    static const double couplings[] = {1e-3, 1e-9, 1e-15};

    (void)state;
    if (!mumps_is_here()) { skip(); }
    for (int way = 0; way < 9; way++) {
        oracle_csr a = oracle_tridiagonal(N, -50.0, 60.0, -couplings[way / 3]);
        tess_solve_options o = solve_options(TESS_SOLVER_IDR);
        tess_solve_result r;
        double error = 0.0;

        o.precond.kind = kinds[way % 3];
        o.rtol = 1e-5; /* not read */
        o.accuracy.forward = 1e-4;
        r = solve_held(&a, 1.0, &o, &error);
        assert_true(r.accuracy.reached && r.verified);
        assert_at_most(error, 1e-4);
        assert_at_most(0.5 * error, r.accuracy.forward_error);
        assert_at_most(r.accuracy.forward_error, 2.0 * error + 1e-13); /* the roundoff times a condition of 10 */
        oracle_free(&a);
    }
}

/* Rows that have units of their own, from 2^-60 to 2^60, and an x with one element. */
static void units_of_rows(void **state)
{
    double b[N] = {0.0}, x[N] = {0.0};
    oracle_csr a = oracle_convection2d(K, 3.0);
    tess_solve_options o = solve_options(TESS_SOLVER_AUTO);
    tess_solve_result r;

    (void)state;
    if (!mumps_is_here()) { skip(); }
    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = ldexp(a.val[k], oracle_power(i, 60));
            if (a.col_ind[k] == N - 1) { b[i] = a.val[k]; }
        }
    }
    o.rtol = 1e-5; /* not read */
    o.accuracy.forward = 1e-4;
    r = solve_once(ctx, &a, &o, b, x);
    assert_true(r.accuracy.reached && r.verified);
    x[N - 1] -= 1.0;
    assert_at_most((double)oracle_norm2(x, N), 1e-4);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_penalty_hides_no_asymmetry),
        cmocka_unit_test(scaled_matrices),
        cmocka_unit_test(what_has_no_size),
        cmocka_unit_test(a_method_that_fits),
        cmocka_unit_test(the_error_is_known),
        cmocka_unit_test(a_named_method),
        cmocka_unit_test(the_error_that_idr_has),
        cmocka_unit_test(units_of_rows),
    };
    return run_with_context(open_cpu(2), tests, &ctx);
}
