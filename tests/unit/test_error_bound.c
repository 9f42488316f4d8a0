/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy error-bound on the CPU. The bound is checked in wide arithmetic on every row of what each format stores: of
 * the matrices of data/, of shapes that trouble formats, and of rows made to break it. And levels are the lowest.
 */
#include <float.h>

#include <tessera/codec.h>
#include <tessera/io.h>

#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "support/product.h"
#include "support/shapes.h"

static const double bounds[] = {1e-16, 1e-10, 1e-7, 1e-4, 1e-2};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

/* ---- rows ---- */

static bool is_finite(const oracle_csr *a, int64_t row)
{
    bool finite = true;

    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        finite = finite && isfinite(a->val[k]);
    }
    return finite;
}

static wide norm_of(const oracle_csr *a, int64_t row)
{
    wide norm = 0;

    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        norm += wide_abs((wide)a->val[k]);
    }
    return norm;
}

/* The largest norm of a row that is finite; the library's stays in FP64. */
static wide matrix_norm_of(const oracle_csr *a)
{
    wide largest = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        const wide norm = is_finite(a, i) ? norm_of(a, i) : 0;

        largest = norm > largest ? norm : largest;
    }
    return largest > (wide)DBL_MAX ? (wide)DBL_MAX : largest;
}

/* Every row of the values that are stored; those with NaN and Inf to the bit. Returns the largest backward error. */
static double check_rows(const oracle_csr *a, const oracle_csr *stored, const tess_policy_options *o)
{
    const wide whole = o->matrix_norm ? matrix_norm_of(a) : 0;
    double largest = 0.0;

    assert_int_equal(a->nnz, stored->nnz);
    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t begin = a->row_ptr[i], count = a->row_ptr[i + 1] - begin;
        const wide norm = o->matrix_norm ? whole : norm_of(a, i);
        wide error = 0;

        if (!is_finite(a, i)) {
            assert_true(same_bits(a->val + begin, stored->val + begin, count));
            continue;
        }
        for (int64_t k = begin; k < begin + count; k++) {
            error += wide_abs((wide)a->val[k] - (wide)stored->val[k]);
        }
        if (!(error <= (wide)o->parameter * norm)) {
            print_message("row %lld: error %g of %g\n", (long long)i, (double)error, (double)norm);
        }
        assert_true(error <= (wide)o->parameter * norm);
        if (norm > 0) { largest = fmax(largest, (double)(error / norm)); }
    }
    return largest;
}

/* ---- formats ---- */

typedef struct storage_case {
    tess_format format;
    tess_granularity granularity;
    const char *levels;
    int side;
} storage_case;

static const storage_case cases[] = {
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ROW, "", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ROW, "fp64,fp32:scaled,fp16:scaled,fp8:scaled", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ENTRY, "", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ENTRY, "fp64,fp32,fp16,fp8", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ENTRY, "fp64,fp16,bf16,e5m2", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_BLOCK, "fp64,fp32,fp16,bf16", 16},
    {TESS_FORMAT_COMPOSITE, TESS_GRANULARITY_ROW, "fp64,fp32,bf16:scaled", 16},
    {TESS_FORMAT_TILES, TESS_GRANULARITY_BLOCK, "fp64,fp32,fp16,fp8", 16},
    {TESS_FORMAT_TILES, TESS_GRANULARITY_BLOCK, "fp64,bf16", 32},
    {TESS_FORMAT_PACKED, TESS_GRANULARITY_ENTRY, "", 16},
    {TESS_FORMAT_PACKED, TESS_GRANULARITY_ENTRY, "fp64,fp32,fp16,fp8", 16},
    {TESS_FORMAT_CSR, TESS_GRANULARITY_MATRIX, "", 16},
    {TESS_FORMAT_SELL, TESS_GRANULARITY_MATRIX, "fp64,fp32,fp16,fp8", 16},
};
enum { CASES = sizeof cases / sizeof *cases };

static tess_storage_options options_of(const storage_case *c, double bound, bool of_matrix)
{
    tess_storage_options o;

    tess_storage_options_init(&o);
    o.format = c->format;
    o.slices.max_padding = c->format == TESS_FORMAT_SELL ? 1e5 : o.slices.max_padding;
    o.policy.granularity = c->granularity;
    o.policy.policy = TESS_POLICY_ERROR_BOUND;
    o.policy.parameter = bound;
    o.policy.matrix_norm = of_matrix;
    o.policy.block_rows = o.policy.block_cols = c->side;
    if (*c->levels) { assert_int_equal(tess_precision_levels_parse(c->levels, &o.policy), TESS_SUCCESS); }
    return o;
}

/* What is measured is what is stored. */
static void check_measured(const tess_matrix *m, const tess_policy_options *o, const oracle_csr *a, double expected)
{
    const double n = (double)oracle_longest_row(a, false);
    const double tolerance = 4.0 * gamma_of(n + 10.0) + (o->matrix_norm ? 4.0 * n * n * 0x1p-61 : 0.0);
    tess_assignment *made = NULL;
    tess_assignment_summary s = {.size = sizeof s};

    assert_ok(m->ctx, tess_assignment_create(m, o, &made));
    tess_assignment_get_summary(made, &s);
    assert_true(s.backward_error == -1.0);
    assert_ok(m->ctx, tess_assignment_measure_error(made, m));
    tess_assignment_get_summary(made, &s);
    assert_at_most(fabs(s.backward_error - expected), tolerance * expected);
    assert_at_most(s.backward_error, o->parameter);
    tess_assignment_destroy(made);
}

static void check_case(const tess_matrix *m, const oracle_csr *a, const storage_case *c, double bound, bool of_matrix)
{
    const tess_storage_options o = options_of(c, bound, of_matrix);
    tess_matrix *stored = NULL;
    oracle_csr held;
    double largest;

    assert_ok(m->ctx, tess_matrix_convert(m, &o, &stored));
    held = decode_matrix(stored);
    largest = check_rows(a, &held, &o.policy);
    check_measured(m, &o.policy, a, largest);
    oracle_free(&held);
    tess_matrix_destroy(stored);
}

/* All bounds for few entries, else one for each case. */
static void check_matrix(tess_context *ctx, const oracle_csr *a, int number)
{
    tess_matrix *m = make_matrix(ctx, a);

    for (int c = 0; c < CASES; c++) {
        for (int b = 0; b < BOUNDS; b++) {
            if (a->nnz > 300 && (number + c) % BOUNDS != b) { continue; }
            check_case(m, a, &cases[c], bounds[b], (number + c + b) % 3 == 0);
        }
    }
    tess_matrix_destroy(m);
}

static void rows_made_to_break_it_are_within_the_bound(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = shape_hard_rows();
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < CASES * BOUNDS; k++) {
        check_case(m, &a, &cases[k % CASES], bounds[k / CASES], k % 2);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void every_shape_is_within_the_bound(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; shape_makers[k]; k++) {
        oracle_csr a = shape_makers[k]();

        check_matrix(ctx, &a, k);
        if (a.nnz > 0 && a.nnz < 4000) {
            spread_values(&a, TESS_PRECISION_FP64);
            check_matrix(ctx, &a, k + 1);
        }
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void every_matrix_of_data_is_within_the_bound(void **state)
{
    static const char *const names[] = {"1138_bus", "CAG_mat72", "GD01_c",   "Trefethen_20", "bcsstk06",
                                        "fs_541_1", "nos3",      "plskz362", "sherman4",     "west0067"};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < (int)(sizeof names / sizeof *names); k++) {
        char path[512];
        tess_matrix *m = NULL;
        oracle_csr a;

        (void)snprintf(path, sizeof path, "%s/%s.mtx.gz", TESS_DATA_DIR, names[k]);
        assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
        a = decode_matrix(m);
        tess_matrix_destroy(m);
        check_matrix(ctx, &a, k);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- the lowest level ---- */

static double error_at(tess_precision precision, double value)
{
    double code = 0.0;

    tess_store(precision, &code, 0, value, TESS_OVERFLOW_INFINITY);
    code = tess_load(precision, &code, 0);
    return isfinite(code) ? fabs(code - value) : INFINITY;
}

static uint8_t *levels_of(const tess_matrix *m, const tess_policy_options *o, int64_t count, tess_assignment_summary *s)
{
    uint8_t *level = test_allocate(count, 1);
    tess_assignment *made = NULL;

    assert_ok(m->ctx, tess_assignment_create(m, o, &made));
    assert_ok(m->ctx, tess_assignment_get_levels(made, level));
    tess_assignment_get_summary(made, s);
    tess_assignment_destroy(made);
    return level;
}

/* No row is above a level that keeps its errors within the bound but for their rounding to units: n + 1 of 2^-32. */
static void check_lowest_rows(const tess_matrix *m, const oracle_csr *a, tess_policy_options o)
{
    tess_assignment_summary s = {.size = sizeof s};
    uint8_t *level = levels_of(m, &o, a->nrows, &s);

    for (int64_t i = 0; i < a->nrows; i++) {
        const double n = (double)(a->row_ptr[i + 1] - a->row_ptr[i]);
        const wide budget = (wide)o.parameter * norm_of(a, i) * (wide)(1.0 - (n + 1.0) * 0x1p-31);

        for (int l = level[i] + 1; l < s.options.nlevels && n > 0 && is_finite(a, i); l++) {
            wide error = 0;

            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                error += (wide)error_at(s.options.level[l].precision, a->val[k]);
            }
            assert_true(error > budget);
        }
    }
    free(level);
}

/* Nor an entry above a level whose error is at most half of an equal share of the budget. */
static void check_lowest_entries(const tess_matrix *m, const oracle_csr *a, tess_policy_options o)
{
    tess_assignment_summary s = {.size = sizeof s};
    uint8_t *level = levels_of(m, &o, a->nnz, &s);

    for (int64_t i = 0; i < a->nrows; i++) {
        const double n = (double)(a->row_ptr[i + 1] - a->row_ptr[i]);
        const wide share = n > 0 ? (wide)o.parameter * norm_of(a, i) / (wide)(2.0 * n) * (wide)(1.0 - 0x1p-12) : 0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && is_finite(a, i); k++) {
            for (int l = level[k] + 1; l < s.options.nlevels; l++) {
                const double error = error_at(s.options.level[l].precision, a->val[k]);

                assert_true(error > 0.0 && (wide)error > share);
            }
        }
    }
    free(level);
}

static void levels_are_the_lowest(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr all[] = {shape_hard_rows(), shape_grid(), oracle_random(900, 900, 9, 3), oracle_hilbert(60)};

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        tess_matrix *m = make_matrix(ctx, &all[k]);

        for (int b = 0; b < BOUNDS; b++) {
            check_lowest_rows(m, &all[k], options_of(&cases[0], bounds[b], false).policy);
            check_lowest_entries(m, &all[k], options_of(&cases[3], bounds[b], false).policy);
            check_lowest_entries(m, &all[k], options_of(&cases[4], bounds[b], false).policy);
        }
        tess_matrix_destroy(m);
        oracle_free(&all[k]);
    }
    tess_context_destroy(ctx);
}

/*
 * 1/3 in fp16 has an error of 2^-12 / 3 = 8.1e-5, more than 1e-4 of itself. An exact 1 beside it pays for that. So it
 * pays for 100 entries of 1e-4 / 3, subnormal in fp16, whose errors are up to 2^-25, a thousandth of each.
 */
static void other_entries_pay_for_an_error(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_open(3, 101);
    const tess_policy_options o = options_of(&cases[2], 1e-4, false).policy;
    tess_assignment_summary s = {.size = sizeof s};
    uint8_t *level;
    tess_matrix *m;

    (void)state;
    oracle_push(&a, 0, 1.0 / 3.0);
    oracle_end_row(&a, 0);
    oracle_push(&a, 0, 1.0 / 3.0);
    oracle_push(&a, 1, 1.0);
    oracle_end_row(&a, 1);
    oracle_push(&a, 0, 1.0);
    for (int64_t k = 1; k <= 100; k++) {
        oracle_push(&a, k, 1e-4 / 3.0);
    }
    oracle_end_row(&a, 2);
    m = make_matrix(ctx, &a);
    level = levels_of(m, &o, a.nnz, &s);
    assert_int_equal(level[0], 1);
    assert_true(level[1] == 2 && level[2] == 2);
    assert_true(error_at(TESS_PRECISION_FP16, 1e-4 / 3.0) > 1e-4 * (1e-4 / 3.0));
    for (int64_t k = 3; k < a.nnz; k++) {
        assert_int_equal(level[k], 2);
    }
    free(level);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- options ---- */

static void options_are_checked(void **state)
{
    static const double wrong[] = {0.0, -1e-7, 1.0, 2.0, NAN, INFINITY, -INFINITY};
    static const char *const texts[] = {
        "error-bound:0",     "error-bound:-1",       "error-bound:nan",     "error-bound:",        "error-bound:x",
        "error-bound:1e-7:", "error-bound:1e-7:row", "error-bound::matrix", "lossless:1e-7:matrix"};
    oracle_csr a = shape_grid();
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_assignment *made = NULL;
    tess_policy_options o = options_of(&cases[0], 1e-7, false).policy;

    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        o.parameter = wrong[k];
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_assignment_create(m, &o, &made));
    }
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        assert_int_equal(tess_policy_options_parse(texts[k], &o), TESS_INVALID_ARGUMENT);
    }
    assert_int_equal(tess_policy_options_parse("error-bound:1e-7:MATRIX", &o), TESS_SUCCESS);
    assert_true(o.policy == TESS_POLICY_ERROR_BOUND && o.parameter == 1e-7 && o.matrix_norm);
    assert_int_equal(tess_policy_options_parse("error-bound:1e-7", &o), TESS_SUCCESS);
    assert_true(o.parameter == 1e-7 && !o.matrix_norm);
    o.policy = TESS_POLICY_LOSSLESS;
    o.matrix_norm = 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_assignment_create(m, &o, &made));
    o = options_of(&cases[0], 1e-7, false).policy;
    assert_int_equal(tess_precision_levels_parse("fp32,fp16", &o), TESS_SUCCESS);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_assignment_create(m, &o, &made));
    assert_int_equal(tess_precision_levels_parse("fp64,fp16:scaled", &o), TESS_SUCCESS);
    o.granularity = TESS_GRANULARITY_BLOCK;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_assignment_create(m, &o, &made));
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Jacobi and time steps leave the diagonal out: the bound is then of the other entries. */
static void rows_without_their_diagonal_have_a_bound_of_their_own(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_tridiagonal(50, 1.0 / 3.0, 1e6, 1e-3 / 3.0);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int entries = 0; entries < 2; entries++) {
        tess_policy_options o = options_of(&cases[entries ? 2 : 0], 1e-9, false).policy;
        tess_assignment_summary s = {.size = sizeof s};
        uint8_t *level;

        o.without_diagonal = 1;
        level = levels_of(m, &o, entries ? a.nnz : a.nrows, &s);
        assert_int_equal(s.nonzeros_at[0] + s.nonzeros_at[1] + s.nonzeros_at[2], a.nnz - a.nrows);
        assert_int_equal(level[entries ? 2 : 1], 0); /* 1/3 in fp32: 1e-8 */
        if (entries) { assert_int_equal(level[0], 255); }
        free(level);
        o.without_diagonal = 0; /* a thousandth of the errors of the diagonal, which fp32 holds */
        level = levels_of(m, &o, entries ? a.nnz : a.nrows, &s);
        assert_true(level[entries ? 2 : 1] > 0);
        free(level);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_made_to_break_it_are_within_the_bound),
        cmocka_unit_test(every_shape_is_within_the_bound),
        cmocka_unit_test(every_matrix_of_data_is_within_the_bound),
        cmocka_unit_test(levels_are_the_lowest),
        cmocka_unit_test(other_entries_pay_for_an_error),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(rows_without_their_diagonal_have_a_bound_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
