/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual: within its own bound of the exact one, for cancelling, scaled and failed systems. */
#include <tessera/two_word.h>

#include "solver/verify.h"
#include "support/product.h"

typedef struct verified {
    double norm, bound;
} verified;

static verified verify_with(int threads, const oracle_csr *a, const double *b, const double *x)
{
    verified v = {0.0, 0.0};
    tess_context *ctx = open_cpu(threads);
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = make_vector(ctx, a->nrows, b), *vx = make_vector(ctx, a->ncols, x);

    assert_ok(ctx, tess_verify_residual(m, vb, vx, NULL, &v.norm, &v.bound));
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    return v;
}

/* The norm within its bound of the oracle's, and the bound no larger than two-word arithmetic promises. */
static verified check_residual(const oracle_csr *a, const double *b, const double *x)
{
    verified v = verify_with(2, a, b, x), again = verify_with(1, a, b, x);
    wide exact = oracle_residual_norm(a, b, x), *product = test_allocate(a->nrows, sizeof *product), rows = 0;
    double *magnitude = test_allocate(a->nrows, sizeof *magnitude);
    double g = gamma_of((double)oracle_longest_row(a, false) + 1.0);

    oracle_multiply(a, false, x, product, magnitude);
    for (int64_t i = 0; i < a->nrows; i++) {
        wide row = 4 * (wide)g * (wide)g * ((wide)magnitude[i] + wide_abs((wide)b[i]));

        rows += row * row;
    }
    assert_true(isfinite(v.norm) && isfinite(v.bound));
    assert_memory_equal(&v, &again, sizeof v);
    assert_at_most((double)wide_abs((wide)v.norm - exact), v.bound);
    assert_at_most(v.bound,
                   (double)(wide_sqrt(rows) + 16 * (wide)U64 * exact) * (1.0 + 0x1p-20) +
                       2.0 * ((double)oracle_longest_row(a, false) + 1.0) * sqrt((double)a->nrows) * 0x1p-1022);
    free(product);
    free(magnitude);
    return v;
}

static void random_systems(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int64_t n = 1 + (int64_t)(seed * 523 % 9001);
        oracle_csr a = oracle_random(n, n + 3, 6, seed);
        double *b = random_values(n, seed + 100, -1.0, 1.0), *x = random_values(n + 3, seed + 200, -1.0, 1.0);

        check_residual(&a, b, x);
        oracle_free(&a);
        free(b);
        free(x);
    }
}

/* What the words that a row's sum loses add up to, entry by entry: each of them is in the bound. */
static double words_of_row(const oracle_csr *a, const double *b, const double *x, int64_t i)
{
    double high = b[i], words = 0.0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        tess_two_word product = tess_two_product(-a->val[k], x[a->col_ind[k]]), sum = tess_two_sum(high, product.high);

        high = sum.high;
        words += fabs(product.low) + fabs(sum.low);
    }
    return words;
}

static void every_entry_is_in_the_bound(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const int64_t n = 3, per_row = 1 + (int64_t)(seed % 9);
        oracle_csr a = oracle_random(n, 40, per_row, seed);
        double b[3], *x = random_values(40, seed + 90, -1.0, 1.0), squares = 0.0;
        wide product[3];
        verified v;

        oracle_multiply(&a, false, x, product, NULL);
        for (int64_t i = 0; i < n; i++) { /* all that is left is rounding */
            b[i] = (double)product[i];
        }
        for (int64_t i = 0; i < n; i++) {
            const double length = (double)(a.row_ptr[i + 1] - a.row_ptr[i]);
            const double of_row = 4.0 * length * U64 * words_of_row(&a, b, x, i); /* 2 gamma of 2 words an entry */

            squares += of_row * of_row;
        }
        v = check_residual(&a, b, x);
        assert_at_most(sqrt(squares) + 4.0 * U64 * v.norm, v.bound * (1.0 + 0x1p-30));
        oracle_free(&a);
        free(x);
    }
}

/* What rounding x costs, u || |A| |x| + |b| ||, is of every entry of every row: to the rounding of its own sums. */
static void rounding_of_x_is_of_every_entry(void **state)
{
    const int64_t n = 300;

    (void)state;
    for (int exponent = -400; exponent <= 400; exponent += 400) {
        oracle_csr a = oracle_random(n, n, 6, 5);
        double *b = random_values(n, 1, -1.0, 1.0), *x = random_values(n, 2, -1.0, 1.0);
        double *magnitude = test_allocate(n, sizeof *magnitude), *r = test_allocate(n, sizeof *r);
        wide *product = test_allocate(n, sizeof *product), squares = 0;
        tess_context *ctx = open_cpu(2);
        true_residual found;
        double exact;

        for (int64_t i = 0; i < n; i++) {
            b[i] = ldexp(b[i], exponent);
            x[i] = ldexp(x[i], exponent);
        }
        oracle_multiply(&a, false, x, product, magnitude);
        for (int64_t i = 0; i < n; i++) {
            const wide row = (wide)magnitude[i] + wide_abs((wide)b[i]);

            squares += row * row;
        }
        exact = (double)((wide)U64 * wide_sqrt(squares));
        tess_matrix *m = make_matrix(ctx, &a);
        tess_vector *vb = make_vector(ctx, n, b), *vx = make_vector(ctx, n, x);
        assert_ok(ctx, verify_residual(m, tess_vector_data(vb), tess_vector_data(vx), r, &found));
        assert_at_most(fabs(found.rounding - exact), gamma_of((double)(oracle_longest_row(&a, false) + n + 4)) * exact);
        tess_vector_destroy(vb);
        tess_vector_destroy(vx);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        oracle_free(&a);
        free(b);
        free(x);
        free(magnitude);
        free(r);
        free(product);
    }
}

/* b is A x rounded: all of the residual is what plain FP64 arithmetic cannot see. */
static void cancelling_systems(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        int64_t n = 4100;
        oracle_csr a = oracle_random(n, n, 20, seed);
        double *b = test_allocate(n, sizeof *b), *x = random_values(n, seed, -1e8, 1e8);
        wide *product = test_allocate(n, sizeof *product);
        verified v;

        oracle_multiply(&a, false, x, product, NULL);
        for (int64_t i = 0; i < n; i++) {
            b[i] = (double)product[i];
        }
        v = check_residual(&a, b, x);
        assert_at_most(v.bound, 1e-6 * v.norm); /* still a sharp answer */
        oracle_free(&a);
        free(b);
        free(x);
        free(product);
    }
}

/* Row by row (1, 1e16, -1e16) times ones: only the 1 is left. */
static void massive_cancellation_within_rows(void **state)
{
    oracle_csr a = oracle_open(1000, 3);
    double *b = test_allocate(1000, sizeof *b), x[3] = {1.0, 0x1p70 / 3.0, 0x1p70 / 3.0};
    verified v;

    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        oracle_push(&a, 0, 1.0);
        oracle_push(&a, 1, 1e16);
        oracle_push(&a, 2, -1e16);
        oracle_end_row(&a, i);
    }
    v = check_residual(&a, b, x);
    assert_at_most(fabs(v.norm - sqrt(1000.0)), v.bound);
    oracle_free(&a);
    free(b);
}

static void hilbert_systems(void **state)
{
    (void)state;
    for (int64_t n = 2; n <= 48; n += 23) {
        oracle_csr a = oracle_hilbert(n);
        double *b = random_values(n, 3, 0.0, 1.0), *x = test_allocate(n, sizeof *x);

        assert_true(oracle_solve_dense(&a, b, x));
        check_residual(&a, b, x);
        oracle_free(&a);
        free(b);
        free(x);
    }
}

/* Values and right-hand sides by powers of two from 2^-1000 to 2^1000. */
static void scaled_systems(void **state)
{
    static const int exponents[] = {-1060, -1000, -520, -500, -450, 450, 500, 520, 1000};

    (void)state;
    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        oracle_csr a = oracle_random(500, 500, 5, 12);
        double *b = random_values(500, 1, -1.0, 1.0), *x = random_values(500, 2, -1.0, 1.0);

        for (int64_t i = 0; i < 500; i++) {
            b[i] = ldexp(b[i], exponents[k]);
        }
        for (int64_t i = 0; i < 500; i++) {
            x[i] = ldexp(x[i], exponents[k] / 2);
        }
        for (int64_t i = 0; i < a.nnz; i++) {
            a.val[i] = ldexp(a.val[i], exponents[k] - exponents[k] / 2);
        }
        check_residual(&a, b, x);
        oracle_free(&a);
        free(b);
        free(x);
    }
}

/* Zero residuals of large systems, of which nothing is rounded: norm and bound are 0, unless a product may have lost
   what is below FP64's range. */
static void exact_solutions_of_any_scale(void **state)
{
    (void)state;
    for (int exponent = -1000; exponent <= 1000; exponent += 100) {
        oracle_csr a = oracle_tridiagonal(64, -1.0, 2.0, -1.0);
        double b[64] = {0.0}, x[64];
        verified v;

        for (int i = 0; i < 64; i++) {
            x[i] = ldexp(1.0, exponent);
        }
        b[0] = b[63] = ldexp(1.0, exponent);
        v = check_residual(&a, b, x);
        assert_true(v.norm == 0.0);
        assert_int_equal(v.bound == 0.0, exponent > -960);
        assert_true(isfinite(v.bound));
        oracle_free(&a);
    }
}

/* A residual far below its own terms: the bound exceeds the norm and needs a scale of its own. */
static void tiny_residual_of_a_large_system(void **state)
{
    const double third = 1.0 / 3.0, large = ldexp(third, 200); /* c x - c x: both products are rounded */
    double b[2] = {0.0, 0x1p-500}, x[3] = {large, large, 0.0};
    oracle_csr a = oracle_open(2, 3);
    verified v;

    (void)state;
    oracle_push(&a, 0, large);
    oracle_push(&a, 1, -large);
    oracle_end_row(&a, 0);
    oracle_push(&a, 2, 1.0);
    oracle_end_row(&a, 1);
    v = check_residual(&a, b, x);
    assert_at_most(fabs(v.norm - 0x1p-500), 0x1p-550);
    assert_true(v.bound > 0x1p250);
    oracle_free(&a);
}

/* Nothing is left of the row but what its own sum may have lost: no less is promised of the norm. */
static void bound_of_the_norm_is_that_of_its_only_row(void **state)
{
    const double third = 1.0 / 3.0, b[1] = {0.0}, x[2] = {third, third};
    const double lost = 2.0 * fabs(tess_two_product(third, third).low); /* third x - third x: of both products */
    oracle_csr a = oracle_open(1, 2);
    verified v;

    (void)state;
    oracle_push(&a, 0, third);
    oracle_push(&a, 1, -third);
    oracle_end_row(&a, 0);
    v = check_residual(&a, b, x);
    assert_true(lost > 0.0 && v.norm == 0.0);
    assert_at_most(tess_two_word_bound(0.0, lost, 4.0), v.bound);
    oracle_free(&a);
}

/* Vectors of no entries overwrite nothing, though they are one. */
static void a_system_of_no_rows_is_verified(void **state)
{
    oracle_csr a = oracle_open(0, 0);
    double norm = 1.0, bound = 1.0;
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *v = make_zeros(ctx, 0);

    (void)state;
    assert_ok(ctx, tess_verify_residual(m, v, v, v, &norm, &bound));
    assert_true(norm == 0.0 && bound == 0.0);
    tess_vector_destroy(v);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void smallest_subnormal_is_not_nothing(void **state)
{
    double one[1] = {1.0}, b[1] = {0x1p-1074}, x[1] = {0.0};
    oracle_csr a = oracle_diagonal(1, one);
    verified v = check_residual(&a, b, x);

    (void)state;
    assert_true(v.norm == 0x1p-1074);
    oracle_free(&a);
}

static void not_finite_values_show(void **state)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};

    (void)state;
    for (int place = 0; place < 3; place++) {
        for (int k = 0; k < 3; k++) {
            oracle_csr a = oracle_tridiagonal(30, -1.0, 2.0, -1.0);
            double *b = random_values(30, 1, -1.0, 1.0), *x = random_values(30, 2, -1.0, 1.0);
            double *target = place == 0 ? a.val : place == 1 ? b : x;
            verified v;

            target[17] = bad[k];
            v = verify_with(2, &a, b, x);
            assert_true(isfinite(v.norm) == 0);
            oracle_free(&a);
            free(b);
            free(x);
        }
    }
}

static void residual_vector_is_written_with_its_shadow(void **state)
{
    oracle_csr a = oracle_random(50, 40, 4, 9);
    double *b = random_values(50, 1, -1.0, 1.0), *x = random_values(40, 2, -1.0, 1.0), r[50], norm = 0.0, bound = 0.0;
    wide product[50];
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *vb = make_vector(ctx, 50, b), *vx = make_vector(ctx, 40, x), *vr = make_zeros(ctx, 50);

    (void)state;
    assert_ok(ctx, tess_vector_add_shadow(vr, TESS_PRECISION_FP32));
    assert_ok(ctx, tess_verify_residual(m, vb, vx, vr, &norm, &bound));
    read_vector(vr, r);
    oracle_multiply(&a, false, x, product, NULL);
    for (int i = 0; i < 50; i++) {
        /* two words, rounded once */
        assert_at_most(fabs((double)((wide)r[i] - ((wide)b[i] - product[i]))), 2.0 * U64 * fabs(r[i]) + 0x1p-90);
        assert_true(((const float *)tess_vector_shadow(vr))[i] == (float)r[i]);
    }
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_verify_residual(m, vb, vx, vb, &norm, &bound));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_verify_residual(m, vx, vx, NULL, &norm, &bound));
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_vector_destroy(vr);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* A stored matrix is judged by the FP64 matrix that it came from. */
static void stored_matrix_is_judged_by_its_original(void **state)
{
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    oracle_csr a = oracle_random(200, 200, 4, 9);
    double *b = random_values(200, 1, -1.0, 1.0), *x = random_values(200, 2, -1.0, 1.0);
    double norm[2] = {0.0, 0.0}, bound[2] = {0.0, 0.0};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_vector *vb = make_vector(ctx, 200, b), *vx = make_vector(ctx, 200, x);

    (void)state;
    assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
    assert_ok(ctx, tess_verify_residual(m, vb, vx, NULL, &norm[0], &bound[0]));
    assert_ok(ctx, tess_verify_residual(stored, vb, vx, NULL, &norm[1], &bound[1]));
    assert_true(norm[0] == norm[1] && bound[0] == bound[1]);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* ||b|| comes with the residual, of any size, and with a lower bound on its exact value. */
static void norm_of_the_right_side_comes_along(void **state)
{
    static const int exponent[] = {0, -440, 490, -600, 600};
    oracle_csr a = oracle_laplace2d(30);
    double *b = random_values(a.nrows, 1, -1.0, 1.0), *x = random_values(a.ncols, 2, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *vb = make_vector(ctx, a.nrows, b), *vx = make_vector(ctx, a.ncols, x);
    double *data = tess_vector_data(vb), *r = test_allocate(a.nrows, sizeof *r);
    true_residual found;
    long double squares = 0.0L;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        squares += (long double)b[i] * (long double)b[i];
    }
    for (int k = 0; k < 5; k++) {
        const double norm = ldexp((double)sqrtl(squares), exponent[k]);

        for (int64_t i = 0; i < a.nrows; i++) {
            data[i] = ldexp(b[i], exponent[k]);
        }
        assert_ok(ctx, verify_residual(m, data, tess_vector_data(vx), r, &found));
        assert_at_most(fabs(found.rhs_norm - norm), 4.0 * U64 * norm);
        assert_at_most(found.rhs_least, (double)((long double)norm * (1.0L - 0x1p-60L)));
        assert_at_most(norm * (1.0 - 16.0 * U64), found.rhs_least);
    }
    memset(data, 0, (size_t)a.nrows * sizeof *data);
    assert_ok(ctx, verify_residual(m, data, tess_vector_data(vx), r, &found));
    assert_true(found.rhs_norm == 0.0 && found.rhs_least == 0.0);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_of_the_right_side_comes_along),
        cmocka_unit_test(random_systems),
        cmocka_unit_test(every_entry_is_in_the_bound),
        cmocka_unit_test(rounding_of_x_is_of_every_entry),
        cmocka_unit_test(cancelling_systems),
        cmocka_unit_test(massive_cancellation_within_rows),
        cmocka_unit_test(hilbert_systems),
        cmocka_unit_test(scaled_systems),
        cmocka_unit_test(exact_solutions_of_any_scale),
        cmocka_unit_test(bound_of_the_norm_is_that_of_its_only_row),
        cmocka_unit_test(a_system_of_no_rows_is_verified),
        cmocka_unit_test(tiny_residual_of_a_large_system),
        cmocka_unit_test(smallest_subnormal_is_not_nothing),
        cmocka_unit_test(not_finite_values_show),
        cmocka_unit_test(residual_vector_is_written_with_its_shadow),
        cmocka_unit_test(stored_matrix_is_judged_by_its_original),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
