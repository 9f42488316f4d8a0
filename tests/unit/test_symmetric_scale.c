/* SPDX-License-Identifier: Apache-2.0 */
/* D A D: the norms of rows, symmetry, extreme values, requests, and CG with it. */
#include "support/gallery.h"
#include "support/solve.h"

enum { K = 12, N = K * K };

/* Rows and columns times the same powers of two, of up to `range` either way. */
static oracle_csr badly_scaled(const oracle_csr *a, int range)
{
    oracle_csr b = oracle_copy(a);

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int64_t j = a->col_ind[k];

            b.val[k] = ldexp(a->val[k], (int)(i * 37 % (2 * range + 1) + j * 37 % (2 * range + 1)) - 2 * range);
        }
    }
    return b;
}

static void find_scale(const oracle_csr *a, double *scale)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, a);

    assert_ok(ctx, tess_order_symmetric_scale(matrix, scale));
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

/* Each factor a power of two; the largest magnitude of each row, or its column, from 1/4 to 4. */
static void check_scaled(const oracle_csr *a, const double *scale)
{
    double *norm = test_allocate(a->nrows, sizeof *norm);

    memset(norm, 0, (size_t)a->nrows * sizeof *norm);
    for (int64_t i = 0; i < a->nrows; i++) {
        int exponent = 0;

        assert_true(frexp(scale[i], &exponent) == 0.5);
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const double size = (double)wide_abs((wide)scale[i] * (wide)a->val[k] * (wide)scale[a->col_ind[k]]);

            norm[i] = fmax(norm[i], size);
            norm[a->col_ind[k]] = fmax(norm[a->col_ind[k]], size);
        }
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        if (norm[i] == 0.0) {
            assert_true(scale[i] == 1.0);
        } else {
            assert_true(norm[i] <= 4.0 && norm[i] >= 0.25);
        }
    }
    free(norm);
}

static void rows_have_norms_of_about_one(void **state)
{
    static const double extremes[] = {1e-300, 1.0, 1e300, 0x1p-1074, 0.0, 1.7e308};
    oracle_csr laplace = oracle_laplace2d(K), convection = oracle_convection2d(K, 3.0);
    oracle_csr matrices[] = {badly_scaled(&laplace, 200), badly_scaled(&convection, 100), oracle_random(80, 80, 4, 7),
                             oracle_with_empty_rows(300), oracle_diagonal(6, extremes)};
    double scale[300];

    (void)state;
    for (size_t c = 0; c < sizeof matrices / sizeof *matrices; c++) {
        if (matrices[c].nrows == matrices[c].ncols) {
            find_scale(&matrices[c], scale);
            check_scaled(&matrices[c], scale);
        }
        oracle_free(&matrices[c]);
    }
    oracle_free(&laplace);
    oracle_free(&convection);
}

/* Entries of 2^1000 and 2^-1000 in one row: the factor of the small one's column would be 2^1500. */
static void impossible_requests_are_refused(void **state)
{
    oracle_csr extreme = oracle_open(2, 2), bad = oracle_laplace2d(3), rectangle = oracle_random(3, 4, 2, 1);
    double scale[9];
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;

    (void)state;
    oracle_push(&extreme, 0, 0x1p1000);
    oracle_push(&extreme, 1, 0x1p-1000);
    oracle_end_row(&extreme, 0);
    oracle_push(&extreme, 0, 0x1p-1000);
    oracle_end_row(&extreme, 1);
    bad.val[bad.row_ptr[4]] = (double)NAN;
    const oracle_csr *const cases[] = {&extreme, &bad, &rectangle};
    static const tess_status expected[] = {TESS_OUT_OF_RANGE, TESS_OUT_OF_RANGE, TESS_DIMENSION_MISMATCH};
    for (int c = 0; c < 3; c++) {
        m = make_matrix(ctx, cases[c]);
        assert_fails(ctx, expected[c], tess_order_symmetric_scale(m, scale));
        if (c == 1) { assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 5")); }
        tess_matrix_destroy(m);
    }
    tess_context_destroy(ctx);
    oracle_free(&extreme);
    oracle_free(&bad);
    oracle_free(&rectangle);
}

/* CG takes the scaled system, and needs as many iterations as for the matrix before it was spoilt. */
static void cg_stays_applicable(void **state)
{
    oracle_csr a = oracle_laplace2d(K), spoilt = badly_scaled(&a, 8);
    double *x0 = random_values(N, 3, 0.5, 1.0), *b = test_allocate(N, sizeof *b), x[N];
    wide *product = test_allocate(N, sizeof *product);
    tess_context *ctx = open_cpu(1);
    int64_t iterations[2];

    (void)state;
    oracle_multiply(&spoilt, false, x0, product, NULL);
    for (int i = 0; i < N; i++) {
        b[i] = (double)product[i];
    }
    for (int c = 0; c < 4; c++) { /* c & 1: scaled; c & 2: reordered too */
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;

        options.scale = c & 1 ? TESS_SCALING_SYMMETRIC : TESS_SCALING_NONE;
        options.reorder = c & 2 ? TESS_REORDERING_RCM : TESS_REORDERING_NONE;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &spoilt, &options, b, x);
        assert_int_equal(result.solver, TESS_SOLVER_CG);
        assert_int_equal(result.scale, options.scale);
        check_honest(&spoilt, b, x, &options, &result);
        iterations[c & 1] = result.iterations;
        if (!(c & 1)) { continue; }
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(2 * iterations[1] < iterations[0]);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&spoilt);
    free(x0);
    free(b);
    free(product);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_norms_of_about_one),
        cmocka_unit_test(impossible_requests_are_refused),
        cmocka_unit_test(cg_stays_applicable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
