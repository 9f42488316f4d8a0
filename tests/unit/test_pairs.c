/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic in pairs of FP32 numbers: the operations, products of CSR and DIA, and solves. tests/gpu/test_pairs.c runs
 * the tests of PAIRS_TESTS in a context of a GPU.
 */
#include <float.h>

#include "base/float_pair.h"
#include "support/bands.h"
#include "support/product.h"
#include "support/solve.h"

/* ---- products ---- */

static tess_matrix *store(const tess_matrix *m, tess_format format, tess_precision precision)
{
    tess_storage_options o;
    tess_matrix *stored = NULL;

    tess_storage_options_init(&o);
    o.format = format;
    o.precision = precision;
    o.arithmetic = TESS_ARITHMETIC_FP32X2;
    o.slices.max_padding = 1e6;
    assert_ok(tess_matrix_context(m), tess_matrix_convert(m, &o, &stored));
    assert_int_equal(tess_matrix_format(stored), format);
    return stored;
}

/* alpha A x + beta y of FP64 vectors, row by row within the bound and a rounding of what follows the sum. */
static void check_pairs(const tess_matrix *stored, const oracle_csr *held, double alpha, double beta)
{
    double *x = random_values(held->ncols, 5, -1.0, 1.0), *y = random_values(held->nrows, 6, -1.0, 1.0);
    double *out = test_allocate(held->nrows, sizeof *out), *magnitude = test_allocate(held->nrows, sizeof *magnitude);
    wide *exact = test_allocate(held->nrows, sizeof *exact);

    oracle_multiply(held, false, x, exact, magnitude);
    multiply(stored, TESS_OP_NONE, alpha, x, beta, y, out);
    for (int64_t i = 0; i < held->nrows; i++) {
        const double n = (double)(held->row_ptr[i + 1] - held->row_ptr[i]);
        const double size = fabs(alpha) * magnitude[i], other = fabs(beta * y[i]);
        const wide expected = (wide)alpha * exact[i] + (wide)beta * (wide)y[i];

        assert_at_most((double)wide_abs((wide)out[i] - expected),
                       FLOAT_PAIR_BOUND(n) * size + 4.0 * U64 * (size + other));
    }
    free(x);
    free(y);
    free(out);
    free(magnitude);
    free(exact);
}

static void check_precisions(tess_context *ctx, const oracle_csr *a, tess_format format)
{
    tess_matrix *m = make_matrix(ctx, a);

    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_matrix *stored = store(m, format, (tess_precision)p);
        oracle_csr held = decode_matrix(stored);

        check_pairs(stored, &held, 1.0, 0.0);
        check_pairs(stored, &held, -0.75, 0.3);
        oracle_free(&held);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
}

static void products_keep_their_bound(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr matrices[] = {oracle_laplace2d(17),           oracle_random(300, 211, 9, 3),
                             oracle_random(40, 700, 300, 4), oracle_power_law(on_gpu_or_emulated(20000, 2000), 5),
                             oracle_with_empty_rows(500),    oracle_tridiagonal(1, 1.0, 2.0, 1.0)};

    (void)state;
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
        check_precisions(ctx, &matrices[k], TESS_FORMAT_CSR);
        oracle_free(&matrices[k]);
    }
    for (int k = 0; k < BANDS; k++) {
        oracle_csr a = make_band(&bands[k]);

        check_precisions(ctx, &a, TESS_FORMAT_DIA);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* A sum of these values in FP32 would be 0. */
static void sums_are_wider_than_fp32(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_DIA};
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_open(1, 3);
    const double x[3] = {0x1p30, 1.0, -0x1p30};
    tess_matrix *m = NULL;

    (void)state;
    for (int j = 0; j < 3; j++) {
        oracle_push(&a, j, 1.0);
    }
    oracle_end_row(&a, 0);
    m = make_matrix(ctx, &a);
    for (int f = 0; f < 2; f++) {
        tess_matrix *stored = store(m, formats[f], TESS_PRECISION_FP64);
        const double none = 0.0;
        double y = 0.0;

        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, &none, &y);
        assert_true(y == 1.0);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Host and GPU add in one order. */
static void bits_are_those_of_the_host(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_DIA};
    tess_context *ctx = open_device(3), *cpu = open_cpu(1);

    (void)state;
    for (int k = 0; k < 2 * TESS_PRECISION_COUNT; k++) {
        oracle_csr a = oracle_convection2d(23, 3.0);
        tess_matrix *here = make_matrix(ctx, &a), *there = make_matrix(cpu, &a);
        tess_matrix *mine = store(here, formats[k % 2], (tess_precision)(k / 2));
        tess_matrix *theirs = store(there, formats[k % 2], (tess_precision)(k / 2));
        double *x = random_values(a.ncols, 8, -1.0, 1.0), *y = test_allocate(a.nrows, sizeof *y);
        double *z = test_allocate(a.nrows, sizeof *z);

        multiply(mine, TESS_OP_NONE, 1.0, x, 0.0, x, y);
        multiply(theirs, TESS_OP_NONE, 1.0, x, 0.0, x, z);
        assert_true(same_bits(y, z, a.nrows));
        free(x);
        free(y);
        free(z);
        tess_matrix_destroy(mine);
        tess_matrix_destroy(theirs);
        tess_matrix_destroy(here);
        tess_matrix_destroy(there);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
    tess_context_destroy(cpu);
}

static void vectors_may_be_fp32(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_DIA};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_convection2d(9, 2.0);
    tess_matrix *m = make_matrix(ctx, &a);
    double *values = random_values(a.ncols, 9, -1.0, 1.0), *magnitude = test_allocate(a.nrows, sizeof *magnitude);
    double *out = test_allocate(a.nrows, sizeof *out);
    wide *exact = test_allocate(a.nrows, sizeof *exact);

    (void)state;
    for (int64_t i = 0; i < a.ncols; i++) {
        values[i] = (double)(float)values[i];
    }
    oracle_multiply(&a, false, values, exact, magnitude);
    for (int f = 0; f < 2; f++) {
        tess_matrix *stored = store(m, formats[f], TESS_PRECISION_FP64);
        tess_vector *x = NULL, *y = NULL;

        assert_ok(ctx, tess_vector_create(ctx, a.ncols, TESS_PRECISION_FP32, &x));
        assert_ok(ctx, tess_vector_create(ctx, a.nrows, TESS_PRECISION_FP32, &y));
        assert_ok(ctx, tess_vector_set(x, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, x, 0.0, y));
        assert_ok(ctx, tess_vector_get(y, out, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        for (int64_t i = 0; i < a.nrows; i++) {
            assert_at_most((double)wide_abs((wide)out[i] - exact[i]),
                           0x1p-24 * fabs((double)exact[i]) + FLOAT_PAIR_BOUND(5) * magnitude[i]);
        }
        tess_vector_destroy(x);
        tess_vector_destroy(y);
        tess_matrix_destroy(stored);
    }
    free(values);
    free(magnitude);
    free(out);
    free(exact);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void other_formats_refuse(void **state)
{
    static const tess_format others[] = {TESS_FORMAT_SELL,  TESS_FORMAT_ELLR, TESS_FORMAT_SPLIT,
                                         TESS_FORMAT_TILES, TESS_FORMAT_BSR,  TESS_FORMAT_PACKED};
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_laplace2d(4);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o;

    (void)state;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        tess_storage_options_init(&o);
        o.format = others[k];
        o.arithmetic = TESS_ARITHMETIC_FP32X2;
        assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "has no fp32x2 arithmetic"));
        assert_non_null(strstr(tess_context_last_error(ctx)->hint, "choose csr or dia"));
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- solves ---- */

static tess_solve_options options_of(tess_solver_kind solver, tess_format format)
{
    tess_solve_options o = solve_options(solver);

    o.storage.format = format;
    o.storage.arithmetic = TESS_ARITHMETIC_FP32X2;
    return o;
}

static void solves_are_verified(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_MINRES, TESS_SOLVER_LSQR};
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_DIA, TESS_FORMAT_AUTO};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(9);
    double *b = random_values(a.nrows, 11, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);

    (void)state;
    for (int k = 0; k < 15; k++) {
        const tess_solve_options o = options_of(solvers[k % 5], formats[k / 5]);
        tess_solve_result r;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        r = solve_once(ctx, &a, &o, b, x);
        assert_true(r.converged);
        assert_false(r.storage.exact);
        assert_false(r.escalated);
        check_honest(&a, b, x, &o, &r);
    }
    free(b);
    free(x);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* What FP32 cannot hold is solved in FP64. */
static void numbers_beyond_fp32_are_solved_in_fp64(void **state)
{
    static const double scales[] = {0x1p200, 0x1p-200};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 4; k++) {
        oracle_csr a = oracle_laplace2d(9);
        const tess_solve_options o = options_of(TESS_SOLVER_CG, k < 2 ? TESS_FORMAT_CSR : TESS_FORMAT_DIA);
        double *b = random_values(a.nrows, 12, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
        tess_solve_result r;

        for (int64_t i = 0; i < a.nnz; i++) {
            a.val[i] *= scales[k % 2];
        }
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        r = solve_once(ctx, &a, &o, b, x);
        assert_true(r.converged);
        assert_true(r.escalated);
        check_honest(&a, b, x, &o, &r);
        free(b);
        free(x);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

#define PAIRS_TESTS                                                                          \
    cmocka_unit_test(products_keep_their_bound), cmocka_unit_test(sums_are_wider_than_fp32), \
        cmocka_unit_test(bits_are_those_of_the_host), cmocka_unit_test(vectors_may_be_fp32), \
        cmocka_unit_test(other_formats_refuse), cmocka_unit_test(solves_are_verified),       \
        cmocka_unit_test(numbers_beyond_fp32_are_solved_in_fp64)

#ifndef TESTS_ON_GPU

/* ---- operations ---- */

#define U48 0x1p-48

static double any_number(uint64_t *seed, int exponents)
{
    return ldexp(oracle_uniform(seed, -2.0, 2.0),
                 (int)(oracle_random_bits(seed) % (uint64_t)(2 * exponents + 1)) - exponents);
}

static double error_of(float_pair p, wide exact)
{
    return (double)wide_abs((wide)p.high + (wide)p.low - exact);
}

static void numbers_keep_48_bits(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int trial = 0; trial < 100000; trial++) {
        const double x = any_number(&seed, 70);
        const float_pair p = float_pair_of(x);

        assert_at_most(error_of(p, x), fabs(x) * (fabs(x) < 0x1p-74 ? 0x1p-24 : FLOAT_PAIR_LOSS));
        assert_true(fabsf(p.low) <= fabsf(p.high) * 0x1p-24F);
        assert_true(float_pair_value(p) == (double)((wide)p.high + (wide)p.low));
    }
}

static void ends_of_the_range(void **state)
{
    static const double exact[] = {0.0, -0.0, 1.0, -1.0, 0x1.fffffep127, 0x1p-126, 0x1.ffffffp0, 0x1.fffffffffffp-1};
    static const double small[] = {DBL_MIN, -0x1p-1074, 0x1p-127, -0x1.fffffffffffffp-127};

    (void)state;
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
        assert_true(float_pair_value(float_pair_of(exact[k])) == exact[k]);
    }
    for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
        assert_true(float_pair_value(float_pair_of(small[k])) == 0.0);
    }
    /* 2^-100 keeps 24 bits, 2^-74 all */
    assert_true(float_pair_value(float_pair_of(0x1.0000000001p-100)) == 0x1p-100);
    assert_true(float_pair_value(float_pair_of(0x1.0000000001p-74)) == 0x1.0000000001p-74);
    assert_true(float_pair_value(float_pair_of(DBL_MAX)) == HUGE_VAL);
    assert_true(float_pair_value(float_pair_of(-0x1.ffffffffp127)) == -HUGE_VAL); /* by rounding */
    assert_true(float_pair_value(float_pair_of(-HUGE_VAL)) == -HUGE_VAL);
    assert_true(isnan(float_pair_value(float_pair_of((double)NAN))));
}

static void operations_keep_their_bounds(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int trial = 0; trial < 100000; trial++) {
        const double a = any_number(&seed, 10), b = any_number(&seed, 10);
        const double c = trial % 3 == 0 ? -a * (1.0 + any_number(&seed, 1) * 0x1p-30) : b;
        const float_pair product = float_pair_times(float_pair_of(a), float_pair_of(b));
        const float_pair sum = float_pair_plus(float_pair_of(a), float_pair_of(c));

        assert_at_most(error_of(product, (wide)a * (wide)b), 7.0 * U48 * fabs(a * b));
        assert_at_most(error_of(sum, (wide)a + (wide)c), 10.0 * U48 * (fabs(a) + fabs(c)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_keep_48_bits), cmocka_unit_test(ends_of_the_range),
                                       cmocka_unit_test(operations_keep_their_bounds), PAIRS_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
