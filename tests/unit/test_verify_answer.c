/* SPDX-License-Identifier: Apache-2.0 */
/* tess_verify: what it says of right, wrong and impossible answers, and what it refuses. */
#include <tessera/verify.h>

#include "support/precond_of.h"
#include "support/solve.h"

enum { N = 100 };

static tess_verification verify_with(const tess_verify_options *options, const oracle_csr *a, const double *b,
                                     const double *x)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = make_vector(ctx, a->nrows, b), *vx = make_vector(ctx, a->ncols, x);
    tess_verification found;

    tess_verification_init(&found);
    assert_ok(ctx, tess_verify(m, vb, vx, options, &found));
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    return found;
}

/* b - A x is (1, 0, ..., 0) times `step`, and ||b|| is known: tolerances just above and below decide. */
static void tolerances_decide(void **state)
{
    oracle_csr a = oracle_tridiagonal(N, -1.0, 4.0, -1.0);
    double b[N], x[N];
    tess_verify_options o;
    tess_verification v;

    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = 1.0;
        b[i] = i == 0 || i == N - 1 ? 3.0 : 2.0;
    }
    b[0] += 0x1p-10;
    v = verify_with(NULL, &a, b, x);
    assert_true(v.residual_norm == 0x1p-10 && v.rows.norm == 0x1p-12 && !v.met && v.nonfinite_rhs == -1);
    assert_true(v.matrix_norm > 0.0 && v.solution_norm == 10.0 && isnan(v.forward_error));
    assert_at_most(fabs(v.backward_error - v.residual_norm / (v.matrix_norm * 10.0 + v.rhs_norm)), 4.0 * U64);
    tess_verify_options_init(&o);
    o.rtol = 0.0;
    o.atol = 0x1p-10 * (1.0 + 0x1p-40);
    v = verify_with(&o, &a, b, x);
    assert_true(v.given_met && v.rows.met && v.met);
    o.atol = 0x1p-11;
    assert_false(verify_with(&o, &a, b, x).given_met);
    o.rtol = 1.0 / 1024.0; /* of about 20 */
    assert_true(verify_with(&o, &a, b, x).met);
    oracle_free(&a);
}

/* A row of 1e8 beside rows of about 1: the norms differ, and each decides where it is asked for. */
static void the_norm_that_is_asked_for_decides(void **state)
{
    static const double d[] = {1e8, 1.0}, x[] = {1.0, 2.0}, b[] = {1e8, 1.0};
    oracle_csr a = oracle_diagonal(2, d);
    tess_verify_options o;
    tess_verification v;

    (void)state;
    tess_verify_options_init(&o);
    v = verify_with(&o, &a, b, x); /* auto: both */
    assert_true(v.given_met && !v.rows.met && !v.met);
    o.stop_norm = TESS_STOP_NORM_GIVEN;
    assert_true(verify_with(&o, &a, b, x).met);
    o.stop_norm = TESS_STOP_NORM_ROWS;
    assert_false(verify_with(&o, &a, b, x).met);
    oracle_free(&a);
}

/* NaN and Inf: never met, and told where; also in a column of zeros, where the residual does not see them. */
static void nothing_finite_nothing_met(void **state)
{
    oracle_csr a = oracle_open(2, 3);
    const double b[] = {1.0, 2.0}, bad_b[] = {1.0, INFINITY};
    double x[] = {1.0, 2.0, NAN};
    tess_verification v;

    (void)state;
    for (int i = 0; i < 2; i++) {
        oracle_push(&a, i, 1.0);
        oracle_end_row(&a, i);
    }
    v = verify_with(NULL, &a, b, x);
    assert_true(v.residual_norm == 0.0 && !v.met && !v.given_met && !v.rows.met && v.nonfinite_solution == 2);
    x[2] = 0.0;
    assert_true(verify_with(NULL, &a, b, x).met); /* rectangular */
    v = verify_with(NULL, &a, bad_b, x);
    assert_true(!v.met && v.nonfinite_rhs == 1 && v.nonfinite_solution == -1);
    x[1] = -INFINITY;
    v = verify_with(NULL, &a, b, x);
    assert_true(!v.met && v.nonfinite_solution == 1);
    oracle_free(&a);
}

/* A norm of b beyond FP64: a tolerance relative to it is no number, and x = b / 2 meets none, in either norm. */
static void a_norm_that_overflows_proves_nothing(void **state)
{
    static const double ones[] = {1.0, 1.0, 1.0, 1.0};
    const double b[] = {1.7e308, 1.7e308, 1.7e308, 1.7e308}, x[] = {0.85e308, 0.85e308, 0.85e308, 0.85e308};
    oracle_csr a = oracle_diagonal(4, ones);
    tess_verify_options o;
    tess_verification v;

    (void)state;
    tess_verify_options_init(&o);
    for (int norm = TESS_STOP_NORM_AUTO; norm <= (int)TESS_STOP_NORM_BOTH; norm++) {
        o.stop_norm = (tess_stop_norm)norm;
        v = verify_with(&o, &a, b, x);
        assert_true(isfinite(v.residual_norm) && isfinite(v.rows.norm) && isinf(v.rhs_norm) && isinf(v.rows.rhs_norm));
        assert_true(!v.met && !v.given_met && !v.rows.met);
    }
    oracle_free(&a);
}

static double forward_error(const oracle_csr *a, const double *b, const double *x)
{
    tess_verify_options o;

    tess_verify_options_init(&o);
    o.forward_error = 1;
    return verify_with(&o, a, b, x).forward_error;
}

static bool has_factors(void)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond_options o = precond_of(TESS_PRECOND_LU, 0);
    tess_precond *lu = NULL;
    const bool has = tess_precond_create(m, &o, &lu) == TESS_SUCCESS;

    tess_precond_destroy(lu);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    return has;
}

/* x differs from the solution by a known part: the estimate is that, also where rows are scaled by powers of ten; of a
   singular matrix, and of one that is singular up to rounding, nothing is known. */
static void forward_errors(void **state)
{
    double b[N], x[N], ones[N];
    oracle_csr a = oracle_convection2d(10, 3.0), neumann = oracle_tridiagonal(N, -1.0, 2.0, -1.0);
    wide product[N];

    (void)state;
    if (!has_factors()) { skip(); }
    for (int64_t i = 0; i < N; i++) {
        ones[i] = 1.0;
        x[i] = 1.0;
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= i % 3 == 0 ? 1e8 : i % 3 == 1 ? 1.0 : 1e-8;
        }
    }
    oracle_multiply(&a, false, ones, product, NULL);
    for (int i = 0; i < N; i++) {
        b[i] = (double)product[i];
    }
    x[50] += 1e-5; /* ||x - x*|| / ||x|| = 1e-6 */
    assert_at_most(fabs(forward_error(&a, b, x) - 1e-6), 0.15e-6);
    assert_at_most(forward_error(&a, b, ones), 1e-13);
    memset(x, 0, sizeof x);
    assert_true(isnan(forward_error(&a, b, x))); /* relative to 0 */

    neumann.val[0] = neumann.val[neumann.nnz - 1] = 1.0;
    for (int i = 0; i < N; i++) {
        b[i] = 0.0;
        x[i] = 1.0 + (double)i;
    }
    assert_true(isnan(forward_error(&neumann, b, x))); /* its rows add up to 0 */
    neumann.val[0] += 0x1p-52;
    assert_true(isnan(forward_error(&neumann, b, x)));
    oracle_free(&a);
    oracle_free(&neumann);
}

/* Where there are no factors, or they tell no number, the error is unknown; the rest of the verification stands. */
static void unknown_errors(void **state)
{
    const double tiny[] = {0x1p-1074, 0.0}, b[] = {1.0, 1.0}, one[] = {1.0, 1.0}, values[] = {1.0, 0.0};
    oracle_csr none = oracle_open(0, 0), regular = oracle_laplace2d(1), empty = oracle_open(2, 2),
               zero = oracle_diagonal(2, values), tall = oracle_open(2, 1);
    tess_verify_options o;

    (void)state;
    for (int i = 0; i < 2; i++) {
        if (i == 0) { oracle_push(&empty, 0, 1.0); }
        oracle_end_row(&empty, i);
        oracle_push(&tall, 0, 1.0);
        oracle_end_row(&tall, i);
    }
    assert_true(isnan(forward_error(&empty, values, values)));
    assert_true(isnan(forward_error(&zero, values, one)));
    assert_true(isnan(forward_error(&tall, b, one)));
    assert_true(isnan(forward_error(&none, NULL, NULL)));
    assert_true(isnan(forward_error(&regular, b, tiny))); /* 1/4 over 2^-1074 is more than FP64 holds */
    tess_verify_options_init(&o);
    o.forward_error = 1;
    assert_true(verify_with(&o, &empty, values, values).met && verify_with(&o, &tall, b, one).met);
    assert_true(verify_with(&o, &none, NULL, NULL).met);
    oracle_free(&none);
    oracle_free(&regular);
    oracle_free(&empty);
    oracle_free(&zero);
    oracle_free(&tall);
}

/* NaN and Inf in the matrix or in x: no norm of theirs is a number, whatever follows them. */
static void norms_of_what_is_not_finite(void **state)
{
    const double bad[] = {NAN, 2.0}, infinite[] = {INFINITY, 2.0}, ones[] = {1.0, 1.0}, x[] = {NAN, 1.0};
    oracle_csr of_nan = oracle_diagonal(2, bad), of_inf = oracle_diagonal(2, infinite), unit = oracle_diagonal(2, ones);
    tess_verify_options o;
    tess_verification v;

    (void)state;
    tess_verify_options_init(&o);
    o.forward_error = 1;
    v = verify_with(&o, &of_nan, ones, ones);
    assert_true(isnan(v.matrix_norm) && isnan(v.forward_error) && isnan(v.residual_norm) && !v.met);
    v = verify_with(&o, &of_inf, ones, ones);
    assert_true(isinf(v.matrix_norm) && isnan(v.forward_error) && !v.met);
    v = verify_with(&o, &unit, ones, x);
    assert_true(v.nonfinite_solution == 0 && isnan(v.solution_norm) && isnan(v.forward_error) && !v.met);
    oracle_free(&of_nan);
    oracle_free(&of_inf);
    oracle_free(&unit);
}

/* A copy in FP32 is verified as the matrix that it was made from; a row of zeros carries what b has there. */
static void the_original_is_verified(void **state)
{
    const double d[] = {1.0 + 0x1p-40, 0.0}, x[] = {1.0, 1.0}, b[] = {1.0 + 0x1p-40, 0.5};
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_diagonal(2, d);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_vector *vb = make_vector(ctx, 2, b), *vx = make_vector(ctx, 2, x);
    tess_verification v;
    tess_verify_row rows[2];
    int64_t found = 0;

    (void)state;
    assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
    tess_verification_init(&v);
    assert_ok(ctx, tess_verify(stored, vb, vx, NULL, &v));
    assert_true(v.residual_norm == 0.5 && v.rows.backward_error == 1.0 && v.rows.backward_row == 1);
    assert_ok(ctx, tess_verify_rows(stored, vb, vx, 2, rows, &found));
    assert_true(found == 1 && rows[0].row == 1 && rows[0].residual == 0.5 && rows[0].share == 1.0);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static int multiply_by_two(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    y[0] = 2.0 * x[0];
    return 0;
}

/* Of an operator without a bound nothing is proved, and nobody knows its rows. */
static void an_operator_has_no_rows(void **state)
{
    const double two = 2.0, one = 1.0;
    tess_context *ctx = open_cpu(1);
    const tess_shell_operator shell = {.apply = multiply_by_two};
    tess_matrix *m = NULL;
    tess_vector *b = make_vector(ctx, 1, &two), *x = make_vector(ctx, 1, &one);
    tess_verify_options o;
    tess_verify_row row;
    tess_verification v;
    int64_t found = 7;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, 1, 1, &shell, &m));
    tess_verification_init(&v);
    assert_ok(ctx, tess_verify(m, b, x, NULL, &v));
    assert_true(v.residual_norm == 0.0 && isnan(v.residual_bound) && isnan(v.rows.norm) && isnan(v.matrix_norm));
    assert_true(!v.met && !v.given_met && !v.rows.met);
    tess_verify_options_init(&o);
    o.forward_error = 1;
    assert_ok(ctx, tess_verify(m, b, x, &o, &v));
    assert_true(isnan(v.forward_error));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_verify_rows(m, b, x, 1, &row, &found));
    assert_int_equal(found, 0);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void wrong_requests_are_refused(void **state)
{
    const double one = 1.0;
    oracle_csr a = oracle_diagonal(1, &one);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *b = make_vector(ctx, 1, &one), *two = NULL;
    tess_verify_options o;
    tess_verification v;
    tess_verify_row row;
    int64_t found = 0;

    (void)state;
    assert_ok(ctx, tess_vector_create(ctx, 2, TESS_PRECISION_FP64, &two));
    tess_verification_init(&v);
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_verify(m, two, b, NULL, &v));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_verify(m, b, two, NULL, &v));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_verify_rows(m, b, two, 1, &row, &found));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify_rows(m, b, b, -1, &row, &found));
    assert_ok(ctx, tess_verify_rows(m, b, b, 0, &row, &found));
    tess_verify_options_init(&o);
    o.rtol = -1.0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    o.rtol = NAN;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    tess_verify_options_init(&o);
    o.atol = -1.0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    o.atol = NAN;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    tess_verify_options_init(&o);
    o.stop_norm = TESS_STOP_NORM_PRECONDITIONED;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    o.stop_norm = (tess_stop_norm)99;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    tess_verify_options_init(&o);
    o.reserved[0] = 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    tess_verify_options_init(&o);
    o.size = 0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, &o, &v));
    v.size = 0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify(m, b, b, NULL, &v));
    tess_vector_destroy(b);
    tess_vector_destroy(two);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tolerances_decide),
        cmocka_unit_test(the_norm_that_is_asked_for_decides),
        cmocka_unit_test(nothing_finite_nothing_met),
        cmocka_unit_test(forward_errors),
        cmocka_unit_test(an_operator_has_no_rows),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(a_norm_that_overflows_proves_nothing),
        cmocka_unit_test(unknown_errors),
        cmocka_unit_test(norms_of_what_is_not_finite),
        cmocka_unit_test(the_original_is_verified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
