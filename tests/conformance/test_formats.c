/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One suite over every registered format, storage precision and device. A format enters it by being registered. Two
 * separate checks: storage (each value within the precision's rounding of the original) and arithmetic (products
 * against the oracle on the values that are stored).
 */
#include "core/internal.h"
#include "support/product.h"

typedef struct combination {
    tess_context *ctx;
    const tess_format_ops *format;
    tess_precision precision;
} combination;

typedef oracle_csr (*maker)(void);

/* ---- matrices ---- */

static oracle_csr make_empty_rows(void)
{
    oracle_csr a = oracle_random(501, 501, 4, 3), b = oracle_open(501, 501);

    for (int64_t i = 0; i < 501; i++) {
        for (int64_t k = a.row_ptr[i]; i % 4 == 1 && k < a.row_ptr[i + 1]; k++) {
            oracle_push(&b, a.col_ind[k], a.val[k]);
        }
        oracle_end_row(&b, i);
    }
    oracle_free(&a);
    return b;
}

static oracle_csr make_dense_row(void)
{
    oracle_csr a = oracle_open(21000, 21000);
    uint64_t seed = 4;

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = 0; i == 9000 && j < a.ncols; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        if (i != 9000) { oracle_push(&a, i, oracle_uniform(&seed, -1.0, 1.0)); }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr make_tall(void)
{
    return oracle_random(1003, 17, 3, 5);
}

static oracle_csr make_wide(void)
{
    return oracle_random(17, 1003, 60, 6);
}

static oracle_csr make_power_law(void)
{
    return oracle_power_law(12000, 7);
}

static oracle_csr make_no_nonzeros(void)
{
    oracle_csr a = oracle_open(33, 31);

    for (int64_t i = 0; i < 33; i++) {
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr make_one_by_one(void)
{
    return oracle_tridiagonal(1, 0.0, -7.25, 0.0);
}

static oracle_csr make_no_rows(void)
{
    return oracle_open(0, 0);
}

/* Not a multiple of 16: published tile code drops the last rows of add20, n = 2,395. */
static oracle_csr make_ragged(void)
{
    return oracle_tridiagonal(2395, -1.0, 2.0 / 3.0, 0.1);
}

static oracle_csr make_grid(void)
{
    return oracle_convection2d(61, 0.7);
}

static oracle_csr make_explicit_zeros(void)
{
    oracle_csr a = oracle_tridiagonal(100, 0.0, 1.0, -0.0);

    return a;
}

static oracle_csr make_wide_range(void)
{
    return oracle_random(400, 400, 6, 8);
}

/* Magnitudes over all of the precision's range (of FP64's as much as FP32 has), its subnormals included. */
static void spread_values(oracle_csr *a, tess_precision precision)
{
#define LARGEST(NAME, value, name, type, bits, emin, emax, max) [value] = (emax),
    static const int largest[] = {TESS_PRECISION_LIST(LARGEST)};
#undef LARGEST
    int low = ilogb(tess_precision_smallest(precision)) - 1, high = largest[precision];

    low = low < -145 ? -145 : low;
    high = high > 124 ? 124 : high;
    for (int64_t k = 0; k < a->nnz; k++) {
        a->val[k] = ldexp(a->val[k], (int)(k % (high - low + 1)) + low);
    }
}

/* FP64 subnormals: other precisions flush them to zero, FP64 must not. */
static oracle_csr make_subnormal(void)
{
    oracle_csr a = oracle_random(64, 64, 5, 9);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = ldexp(a.val[k], -1060 - (int)(k % 14));
    }
    return a;
}

static const maker makers[] = {make_empty_rows,     make_dense_row,  make_tall,     make_wide,   make_power_law,
                               make_no_nonzeros,    make_one_by_one, make_no_rows,  make_ragged, make_grid,
                               make_explicit_zeros, make_wide_range, make_subnormal};
enum { MAKERS = sizeof makers / sizeof *makers };

/* ---- the checks ---- */

static tess_matrix *convert(const combination *c, const tess_matrix *assembled)
{
    const tess_storage_options options = {c->format->format, c->precision};
    tess_matrix *stored = NULL;

    assert_ok(c->ctx, tess_matrix_convert(assembled, &options, &stored));
    assert_int_equal(tess_matrix_format(stored), c->format->format);
    assert_int_equal(tess_matrix_precision(stored), c->precision);
    return stored;
}

/* Half a unit in the last place, or half the smallest subnormal. */
static double storage_bound(tess_precision precision, double value)
{
    if (precision == TESS_PRECISION_FP64) { return 0.0; }
    return fmax(tess_precision_unit_roundoff(precision) * fabs(value), 0.5 * tess_precision_smallest(precision));
}

static void check_storage(const combination *c, const oracle_csr *a, const oracle_csr *held)
{
    assert_int_equal(held->nnz, a->nnz);
    assert_memory_equal(held->row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    if (a->nnz > 0) { assert_memory_equal(held->col_ind, a->col_ind, (size_t)a->nnz * sizeof *a->col_ind); }
    for (int64_t k = 0; k < a->nnz; k++) {
        assert_at_most(fabs(held->val[k] - a->val[k]), storage_bound(c->precision, a->val[k]));
        assert_true(tess_precision_holds(c->precision, held->val[k]));
    }
}

static void check_arithmetic(const combination *c, const tess_matrix *stored, const oracle_csr *held)
{
    check_product(stored, held, TESS_OP_NONE, 1.0, 0.0);
    check_product(stored, held, TESS_OP_NONE, -2.5, 0.0);
    check_product(stored, held, TESS_OP_NONE, 1.0, 1.0);
    check_product(stored, held, TESS_OP_NONE, 0.1, -0.7);
    if (c->precision == TESS_PRECISION_FP64) {
        check_product(stored, held, TESS_OP_TRANSPOSE, 1.0, 0.0);
        check_product(stored, held, TESS_OP_TRANSPOSE, 0.1, -0.7);
    }
}

/* The same product twice, and once more after a refresh with the same values: not a bit may differ. */
static void check_repeatable(const combination *c, tess_matrix *assembled, const tess_matrix *stored,
                             const oracle_csr *a)
{
    double *x = random_values(a->ncols, 44, -1.0, 1.0), *y = test_allocate(a->nrows, sizeof *y);
    double *first = test_allocate(a->nrows, sizeof *first);

    multiply(stored, TESS_OP_NONE, 1.1, x, 0.0, y, first);
    for (int trial = 0; trial < 3; trial++) {
        multiply(stored, TESS_OP_NONE, 1.1, x, 0.0, y, y);
        assert_true(same_bits(first, y, a->nrows));
        if (trial == 1) { assert_ok(c->ctx, tess_matrix_update_values(assembled, a->val, TESS_MEMORY_HOST)); }
    }
    free(x);
    free(y);
    free(first);
}

static void shapes(const combination *c)
{
    for (int k = 0; k < MAKERS; k++) {
        oracle_csr a = makers[k](), held;
        tess_matrix *assembled = NULL, *stored = NULL;

        if (makers[k] == make_wide_range) { spread_values(&a, c->precision); }
        assembled = make_matrix(c->ctx, &a);
        stored = convert(c, assembled);
        assert_true(tess_matrix_bytes(stored) >= a.nnz * (int64_t)tess_precision_bytes(c->precision));
        held = decode_matrix(stored);
        check_storage(c, &a, &held);
        check_arithmetic(c, stored, &held);
        check_repeatable(c, assembled, stored, &a);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        oracle_free(&a);
        oracle_free(&held);
    }
}

/* NaN and Inf reach exactly the rows that hold them or multiply them. */
static void not_finite_values_stay_in_their_rows(const combination *c)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};

    for (int k = 0; k < 3; k++) {
        oracle_csr a = oracle_tridiagonal(67, -1.0, 2.0, -1.0);
        double *x = random_values(67, 3, 0.5, 1.0), y[67] = {0.0};
        tess_matrix *assembled = NULL, *stored = NULL;

        x[20] = bad[k];
        assembled = make_matrix(c->ctx, &a);
        stored = convert(c, assembled);
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        for (int i = 0; i < 67; i++) {
            assert_true((isfinite(y[i]) != 0) == (i < 19 || i > 21));
        }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        x[20] = 1.0;
        a.val[a.row_ptr[40]] = bad[k];
        assembled = make_matrix(c->ctx, &a);
        stored = convert(c, assembled);
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        for (int i = 0; i < 67; i++) {
            assert_true((isfinite(y[i]) != 0) == (i != 40));
        }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        oracle_free(&a);
        free(x);
    }
}

static void nan_in_y_does_not_survive_beta_zero(const combination *c)
{
    oracle_csr a = make_grid();
    double *x = random_values(a.ncols, 3, 0.5, 1.0), *y = test_allocate(a.nrows, sizeof *y);
    tess_matrix *assembled = make_matrix(c->ctx, &a), *stored = convert(c, assembled);

    for (int64_t i = 0; i < a.nrows; i++) {
        y[i] = (double)NAN;
    }
    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    for (int64_t i = 0; i < a.nrows; i++) {
        assert_true(isfinite(y[i]) != 0);
    }
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    free(x);
    free(y);
}

/* Values too large for the precision become Inf or NaN, never some other number. */
static void overflow_shows(const combination *c)
{
    double diagonal[2] = {1e300, 1.0}, x[2] = {1.0, 1.0}, y[2] = {0.0, 0.0};
    oracle_csr a = oracle_diagonal(2, diagonal);
    tess_matrix *assembled = make_matrix(c->ctx, &a), *stored = convert(c, assembled);

    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    assert_true(c->precision == TESS_PRECISION_FP64 ? y[0] == 1e300 : isfinite(y[0]) == 0);
    assert_true(y[1] == 1.0);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
}

static void new_values_arrive(const combination *c)
{
    oracle_csr a = make_grid(), held;
    tess_matrix *assembled = make_matrix(c->ctx, &a), *stored = convert(c, assembled);

    check_product(stored, &a, TESS_OP_NONE, 0.0, 1.0);
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = 1.0 / (double)(k + 3);
    }
    assert_ok(c->ctx, tess_matrix_update_values(assembled, a.val, TESS_MEMORY_HOST));
    held = decode_matrix(stored);
    check_storage(c, &a, &held);
    check_arithmetic(c, stored, &held);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    oracle_free(&held);
}

/* Solvers read through the format: the verified answer of one solve per combination. */
static void solves_are_verified(const combination *c)
{
    for (int kind = TESS_SOLVER_CG; kind <= TESS_SOLVER_BICGSTAB; kind++) {
        oracle_csr a = kind == TESS_SOLVER_CG ? oracle_laplace2d(33) : oracle_convection2d(33, 0.4);
        double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
        tess_matrix *m = make_matrix(c->ctx, &a);
        tess_vector *vb = make_vector(c->ctx, a.nrows, b), *vx = make_zeros(c->ctx, a.nrows);
        tess_solve_options options;
        tess_solver *solver = NULL;
        tess_solve_result result;

        tess_solve_options_init(&options);
        options.solver = (tess_solver_kind)kind;
        options.storage = (tess_storage_options){c->format->format, c->precision};
        options.rtol = 1e-10;
        assert_ok(c->ctx, tess_solver_create(m, &options, &solver));
        assert_ok(c->ctx, tess_solver_solve(solver, vb, vx, &result));
        read_vector(vx, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_at_most((double)oracle_residual_norm(&a, b, x), result.tolerance);
        tess_solver_destroy(solver);
        tess_vector_destroy(vb);
        tess_vector_destroy(vx);
        tess_matrix_destroy(m);
        oracle_free(&a);
        free(b);
        free(x);
    }
}

static int run_combinations(tess_context *ctx)
{
    int count = 0;

    for (const tess_format_ops *const *format = ctx->backend->formats; *format; format++) {
        for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
            combination c = {ctx, *format, (tess_precision)p};

            if (!((*format)->precisions & (1U << p))) { continue; }
            print_message("             %s in %s on %s\n", tess_format_name((*format)->format),
                          tess_precision_name(c.precision), ctx->backend->name);
            shapes(&c);
            not_finite_values_stay_in_their_rows(&c);
            nan_in_y_does_not_survive_beta_zero(&c);
            overflow_shows(&c);
            new_values_arrive(&c);
            solves_are_verified(&c);
            count += 1;
        }
    }
    return count;
}

static void every_combination_on_the_cpu(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    assert_true(run_combinations(ctx) >= TESS_PRECISION_COUNT);
    tess_context_destroy(ctx);
}

static void every_combination_on_the_gpu(void **state)
{
    tess_context *ctx = open_gpu();

    (void)state;
    if (!ctx) {
        print_message("SKIPPED: no GPU in this build or machine\n");
        skip();
    }
    assert_true(run_combinations(ctx) >= TESS_PRECISION_COUNT);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_on_the_cpu),
        cmocka_unit_test(every_combination_on_the_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
