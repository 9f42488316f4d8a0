/* SPDX-License-Identifier: Apache-2.0 */
/* The row-scaled residual and the row-wise backward error: within their bounds of the exact ones, for rows of any size;
   and the rows that carry a residual. */
#include <tessera/verify.h>

#include "support/test.h"

static tess_verification verify(const oracle_csr *a, const double *b, const double *x, int threads)
{
    tess_context *ctx = open_cpu(threads);
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = make_vector(ctx, a->nrows, b), *vx = make_vector(ctx, a->ncols, x);
    tess_verification found;

    tess_verification_init(&found);
    assert_ok(ctx, tess_verify(m, vb, vx, NULL, &found));
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    return found;
}

static int64_t find_rows(const oracle_csr *a, const double *b, const double *x, int64_t count, tess_verify_row *rows)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = make_vector(ctx, a->nrows, b), *vx = make_vector(ctx, a->ncols, x);
    int64_t found = -1;

    assert_ok(ctx, tess_verify_rows(m, vb, vx, count, rows, &found));
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    return found;
}

typedef struct exact_rows {
    double norm, rhs_norm, backward;
    int64_t row;
} exact_rows;

/* Row by row, in the oracle's arithmetic. */
static exact_rows judge(const oracle_csr *a, const double *b, const double *x)
{
    wide *product = test_allocate(a->nrows, sizeof *product), squares = 0, rhs = 0, most = 0;
    double *magnitude = test_allocate(a->nrows, sizeof *magnitude);
    int64_t row = -1;

    oracle_multiply(a, false, x, product, magnitude);
    for (int64_t i = 0; i < a->nrows; i++) {
        const wide r = (wide)b[i] - product[i], sum = (wide)magnitude[i] + wide_abs((wide)b[i]);
        double largest = 0.0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            largest = fmax(largest, fabs(a->val[k]));
        }
        if (largest == 0.0) { largest = 1.0; }
        squares += r / (wide)largest * (r / (wide)largest);
        rhs += (wide)b[i] / (wide)largest * ((wide)b[i] / (wide)largest);
        if (r != 0 && wide_abs(r) / sum > most) {
            most = wide_abs(r) / sum;
            row = i;
        }
    }
    free(product);
    free(magnitude);
    return (exact_rows){(double)wide_sqrt(squares), (double)wide_sqrt(rhs), (double)most, row};
}

/* The same bits for any number of threads; within the bounds. */
static tess_verification check(const oracle_csr *a, const double *b, const double *x)
{
    const tess_verification v = verify(a, b, x, 2), again = verify(a, b, x, 1);
    const exact_rows exact = judge(a, b, x);
    const double k = (double)oracle_longest_row(a, false) + 4.0;

    assert_memory_equal(&v, &again, sizeof v);
    assert_at_most(fabs(v.rows.norm - exact.norm), v.rows.bound + U64 * exact.norm);
    assert_at_most(fabs(v.rows.rhs_norm - exact.rhs_norm), 8.0 * U64 * exact.rhs_norm);
    assert_at_most(exact.backward, (v.rows.backward_error + v.rows.backward_bound) * (1.0 + 4.0 * U64));
    assert_at_most(v.rows.backward_error, (exact.backward + v.rows.backward_bound) * (1.0 + 2.0 * gamma_of(k)));
    assert_true(v.rows.backward_error <= 1.0 && v.rows.backward_error >= 0.0);
    return v;
}

/* A rod whose ends are held by a penalty: the norm as given does not see its interior. */
static oracle_csr penalty_rod(int64_t n, double penalty)
{
    oracle_csr a = oracle_tridiagonal(n, -1.0, 2.0, -1.0);

    a.val[0] = a.val[a.nnz - 1] = penalty;
    return a;
}

static void a_penalty_hides_nothing(void **state)
{
    const double penalty = 0x1p100, b[] = {penalty, 0.0, 0.0, 0.0, 3.0 * penalty}, hidden[] = {1.0, 0.0, 0.0, 0.0, 3.0},
                 x[] = {1.0, 1.5, 2.0, 2.5, 3.0};
    oracle_csr a = penalty_rod(5, penalty);
    tess_verification v = check(&a, b, hidden);
    tess_verify_row rows[5];

    (void)state;
    assert_true(v.given_met && !v.rows.met && !v.met && v.relative_residual < 1e-29);
    /* rows 2 and 4 over 2: 1 / 2 and 3 / 2; b over the penalty: 1 and 3 */
    assert_at_most(fabs(v.rows.norm - sqrt(2.5)), 4.0 * U64 * v.rows.norm);
    assert_at_most(fabs(v.rows.relative - 0.5), 8.0 * U64);
    assert_true(v.rows.backward_error == 1.0 && v.rows.backward_row == 1);
    assert_int_equal(find_rows(&a, b, hidden, 5, rows), 2);
    assert_true(rows[0].row == 1 && rows[0].residual == 1.0 && rows[0].backward_error == 1.0);
    assert_true(rows[1].row == 3 && rows[1].residual == 3.0 && rows[1].backward_error == 1.0);
    assert_at_most(fabs(rows[0].share - 0.1), 4.0 * U64);
    assert_at_most(fabs(rows[1].share - 0.9), 4.0 * U64);
    assert_int_equal(find_rows(&a, b, hidden, 1, rows), 1);
    assert_true(rows[0].row == 1);

    v = check(&a, b, x); /* the ends' own rows have residuals of 1.5 and 2.5 beside 2^100 */
    assert_true(v.met && v.rows.met && v.rows.backward_error < 1e-29);
    oracle_free(&a);
}

/* The size of a row does not matter: rows times powers of ten or of two give the same row-wise numbers. */
static void rows_of_any_size_weigh_alike(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const int64_t n = 40;
        oracle_csr a = oracle_random(n, n, 5, seed), scaled = oracle_copy(&a);
        double *b = random_values(n, seed + 10, -1.0, 1.0), *x = random_values(n, seed + 20, -1.0, 1.0), by[40];

        for (int64_t i = 0; i < n; i++) {
            const int exponent =
                (int)((i * 37 + (int64_t)seed) % 1600) - 800; /* 2^-800 to 2^800, some 1e-241 to 1e241 */

            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                scaled.val[k] = ldexp(a.val[k], exponent);
            }
            by[i] = a.row_ptr[i + 1] == a.row_ptr[i] ? b[i] : ldexp(b[i], exponent);
        }
        const tess_verification plain = check(&a, b, x), of_scaled = check(&scaled, by, x);

        assert_true(plain.rows.norm == of_scaled.rows.norm && plain.rows.rhs_norm == of_scaled.rows.rhs_norm);
        assert_true(plain.rows.backward_error == of_scaled.rows.backward_error);
        assert_true(plain.rows.backward_row == of_scaled.rows.backward_row);
        oracle_free(&a);
        oracle_free(&scaled);
        free(b);
        free(x);
    }
}

/* Diagonal entries from 1e-300 to 1e300; squares of rows and of quotients would overflow. */
static void graded_rows(void **state)
{
    static const double d[] = {1e-300, 1e-150, 1.0, 1e150, 1e300, 0x1p-1074, 0x1p-1030};
    enum { N = 7 };
    double b[N], x[N];
    oracle_csr a = oracle_diagonal(N, d);
    tess_verification v;

    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = 1.0;
        b[i] = d[i];
    }
    b[1] = 1.5e-150; /* the only row that is wrong, by a third; beside 1e300 nothing */
    v = check(&a, b, x);
    assert_true(v.given_met && !v.rows.met && v.rows.backward_row == 1);
    assert_at_most(fabs(v.rows.backward_error - 0.2), 8.0 * U64); /* 0.5 / (1 + 1.5) */
    assert_at_most(fabs(v.rows.norm - 0.5), v.rows.bound + 2.0 * U64);

    b[1] = 1e-150;
    b[5] = 0x1p-1073; /* subnormal: twice what it should be */
    v = check(&a, b, x);
    assert_true(!v.rows.met && v.rows.backward_row == 5);
    for (int i = 0; i < N; i++) {
        b[i] = 1e200; /* rows of 1e-300 have a residual of 1e500: more than FP64 holds, and so no claim */
    }
    v = verify(&a, b, x, 2);
    assert_false(v.rows.met || v.met);
    oracle_free(&a);
}

/* A residual that is far below its row: 2^-1074 over 2^1000. The quotient is 0 in FP64; its bound is not. */
static void quotients_that_vanish(void **state)
{
    const double d[] = {0x1p1000, 1.0}, x[] = {0.0, 0.0}, small[] = {0x1p-1074, 0.0}, none[] = {0.0, 0.0};
    oracle_csr a = oracle_diagonal(2, d);
    tess_verification v = verify(&a, small, x, 1);

    (void)state;
    assert_true(v.rows.norm == 0.0 && v.rows.bound == 0x1p-1074 && !v.rows.met);
    assert_true(v.rows.backward_error == 1.0 && v.rows.backward_row == 0);
    v = verify(&a, none, x, 1);
    assert_true(v.rows.norm == 0.0 && v.rows.bound == 0.0 && v.rows.met);
    oracle_free(&a);
}

static void rows_of_zeros_and_no_rows(void **state)
{
    oracle_csr a = oracle_with_empty_rows(300), none = oracle_open(0, 0);
    double *b = test_allocate(300, sizeof *b), *x = random_values(a.ncols, 3, -1.0, 1.0);
    tess_verification v;
    tess_verify_row row;

    (void)state;
    memset(b, 0, 300 * sizeof *b);
    b[3] = 2.0; /* a row of zeros counts as it is, and no x solves it */
    v = check(&a, b, x);
    assert_true(v.rows.backward_error == 1.0 && !v.met);
    v = verify(&none, NULL, NULL, 1);
    assert_true(v.met && v.residual_norm == 0.0 && v.rows.norm == 0.0 && v.rows.backward_row == -1);
    assert_int_equal(find_rows(&none, NULL, NULL, 1, &row), 0);
    oracle_free(&a);
    oracle_free(&none);
    free(b);
    free(x);
}

/* Rows that are NaN come first, in their order, then the larger backward errors; a residual of 0 is no row. */
static void rows_in_order(void **state)
{
    enum { N = 500 };
    static double d[N], b[N], x[N];
    static tess_verify_row rows[N], few[7];

    (void)state;
    for (int i = 0; i < N; i++) {
        d[i] = ldexp(1.0, i % 60 - 30);
        x[i] = 1.0;
        b[i] = d[i] * (1.0 + ldexp((double)(i % 97), -40));
    }
    x[100] = x[400] = NAN;
    oracle_csr a = oracle_diagonal(N, d);
    const int64_t count = find_rows(&a, b, x, N, rows), first = find_rows(&a, b, x, 7, few);

    assert_int_equal(count, N - 6 + (100 % 97 == 0) + (400 % 97 == 0)); /* i = 0, 97, 194, ... have a residual of 0 */
    assert_int_equal(first, 7);
    assert_true(rows[0].row == 100 && rows[1].row == 400 && isnan(rows[1].backward_error));
    for (int64_t k = 3; k < count; k++) {
        const bool less = rows[k].backward_error < rows[k - 1].backward_error;

        assert_true(less || (rows[k].backward_error == rows[k - 1].backward_error && rows[k].row > rows[k - 1].row));
    }
    for (int64_t k = 0; k < first; k++) {
        assert_int_equal(few[k].row, rows[k].row);
    }
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_penalty_hides_nothing),
        cmocka_unit_test(rows_of_any_size_weigh_alike),
        cmocka_unit_test(graded_rows),
        cmocka_unit_test(quotients_that_vanish),
        cmocka_unit_test(rows_of_zeros_and_no_rows),
        cmocka_unit_test(rows_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
