/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy error-bound on the CPU. The bound is checked in wide arithmetic on every row of what each format stores, of
 * shapes that trouble formats and of rows made to break it. Levels are the lowest; what has none is nowhere, until it
 * gets new values. test_error_bound_matrices.c has the matrices.
 */
#include <tessera/codec.h>

#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "support/error_bound.h"
#include "support/product.h"
#include "support/shapes.h"

static const double bounds[] = {1e-17, 1e-12, 1e-10, 1e-7, 1e-4, 1e-2};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

/* ---- every row ---- */

/* All bounds for few entries, else one for each case. */
static void check_matrix(tess_context *ctx, const oracle_csr *a, int number)
{
    tess_matrix *m = make_matrix(ctx, a);

    for (int c = 0; c < BOUND_CASES; c++) {
        for (int b = 0; b < BOUNDS; b++) {
            if (a->nnz > 300 && (number + c) % BOUNDS != b) { continue; }
            check_bound_case(m, a, &bound_cases[c], bounds[b], (bound_kind)((number + c + b) % BOUND_KINDS));
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
    for (int k = 0; k < BOUND_CASES * BOUNDS * BOUND_KINDS; k++) {
        check_bound_case(m, &a, &bound_cases[k % BOUND_CASES], bounds[k / BOUND_CASES % BOUNDS],
                         (bound_kind)(k / BOUND_CASES / BOUNDS));
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

/* The bound as far as errors may use it: below the roundoff of FP64 none may. */
static wide usable(const tess_policy_options *o)
{
    return o->parameter < 0x1p-53 ? 0 : (wide)o->parameter;
}

/* No row is above a level that keeps its errors within the bound but for their rounding to units: n + 1 of 2^-32. */
static void check_lowest_rows(const tess_matrix *m, const oracle_csr *a, tess_policy_options o)
{
    tess_assignment_summary s = {.size = sizeof s};
    uint8_t *level = levels_of(m, &o, a->nrows, &s);

    for (int64_t i = 0; i < a->nrows; i++) {
        const double n = (double)(a->row_ptr[i + 1] - a->row_ptr[i]);
        const wide budget = usable(&o) * bound_norm_of(a, i) * (wide)(1.0 - (n + 1.0) * 0x1p-31);

        for (int l = level[i] + 1; l < s.options.nlevels && n > 0 && bound_is_finite(a, i); l++) {
            wide error = 0;

            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                error += (wide)error_at(s.options.level[l].precision, a->val[k]);
            }
            assert_true(error > budget);
        }
    }
    free(level);
}

/* Nor an entry above a level whose error is at most half of an equal share of the budget, or stored if it is that small
   itself. */
static void check_lowest_entries(const tess_matrix *m, const oracle_csr *a, tess_policy_options o)
{
    tess_assignment_summary s = {.size = sizeof s};
    uint8_t *level = levels_of(m, &o, a->nnz, &s);

    for (int64_t i = 0; i < a->nrows; i++) {
        const double n = (double)(a->row_ptr[i + 1] - a->row_ptr[i]);
        const wide equal = n > 0 ? usable(&o) * bound_norm_of(a, i) / (wide)(2.0 * n) : 0;
        const wide share = equal * (wide)(1.0 - 0x1p-12);

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && bound_is_finite(a, i); k++) {
            if (a->val[k] != 0.0 && wide_abs((wide)a->val[k]) <= share) { assert_int_equal(level[k], TESS_LEVEL_NONE); }
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
            check_lowest_rows(m, &all[k], bound_options(&bound_cases[0], bounds[b], BOUND_OF_ROWS).policy);
            check_lowest_entries(m, &all[k],
                                 bound_options(&bound_cases[BOUND_FP8_ENTRIES], bounds[b], BOUND_OF_ROWS).policy);
            check_lowest_entries(m, &all[k],
                                 bound_options(&bound_cases[BOUND_BF16_ENTRIES], bounds[b], BOUND_OF_ROWS).policy);
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
    const tess_policy_options o = bound_options(&bound_cases[BOUND_ENTRIES], 1e-4, BOUND_OF_ROWS).policy;
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
    static const char *const texts[] = {"error-bound:0",
                                        "error-bound:-1",
                                        "error-bound:nan",
                                        "error-bound:",
                                        "error-bound:x",
                                        "error-bound:1e-7:",
                                        "error-bound:1e-7:row",
                                        "error-bound::matrix",
                                        "lossless:1e-7:matrix",
                                        "lossless:1e-7:componentwise",
                                        "error-bound:componentwise",
                                        "error-bound:1e-7:matrix:componentwise"};
    oracle_csr a = shape_grid();
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_assignment *made = NULL;
    tess_policy_options o = bound_options(&bound_cases[0], 1e-7, BOUND_OF_ROWS).policy;

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
    assert_int_equal(tess_policy_options_parse("error-bound:1e-7:Componentwise", &o), TESS_SUCCESS);
    assert_true(o.policy == TESS_POLICY_ERROR_BOUND && o.parameter == 1e-7 && o.componentwise && !o.matrix_norm);
    o.matrix_norm = 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_assignment_create(m, &o, &made));
    assert_int_equal(tess_policy_options_parse("lossless:1e-7", &o), TESS_SUCCESS);
    assert_true(!o.componentwise && !o.matrix_norm);
    o.componentwise = 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_assignment_create(m, &o, &made));
    o.componentwise = 0;
    o.policy = TESS_POLICY_LOSSLESS;
    o.matrix_norm = 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_assignment_create(m, &o, &made));
    o = bound_options(&bound_cases[0], 1e-7, BOUND_OF_ROWS).policy;
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
        tess_policy_options o = bound_options(&bound_cases[entries ? BOUND_ENTRIES : 0], 1e-9, BOUND_OF_ROWS).policy;
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

/* 1e-3 / 3 beside 1/3 is left out, and so counted; the diagonal is not. 1/3 is off by 2^-12 / 3 in fp16. */
static void what_is_left_out_counts(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_tridiagonal(50, 1.0 / 3.0, 1e6, 1e-3 / 3.0);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_policy_options o = bound_options(&bound_cases[BOUND_ENTRIES], 1e-2, BOUND_OF_ROWS).policy;
    const double third = error_at(TESS_PRECISION_FP16, 1.0 / 3.0), large = 1.0 / 3.0, small = 1e-3 / 3.0;

    (void)state;
    for (int omits = 0; omits < 2; omits++) {
        const double expected = omits ? (third + small) / (large + small) : (large + small) / (1e6 + large + small);
        tess_assignment *made = NULL;
        tess_assignment_summary s = {.size = sizeof s};

        o.without_diagonal = omits;
        assert_ok(ctx, tess_assignment_create(m, &o, &made));
        assert_ok(ctx, tess_assignment_measure_error(made, m));
        tess_assignment_get_summary(made, &s);
        assert_int_equal(s.left_out, omits ? 48 : 98); /* those alone in their rows stay */
        assert_int_equal(s.nonzeros_at[0] + s.nonzeros_at[1] + s.nonzeros_at[2], 50);
        assert_at_most(fabs(s.backward_error - expected), 1e-15 * expected);
        assert_true(s.largest_relative_error == 1.0);
        tess_assignment_destroy(made);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The columns of the stored matrix are its products with the unit vectors. */
static void products_are_those_of_the_stored_values(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_random(40, 30, 7, 4);
    tess_matrix *m;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = ldexp(a.val[k], -(int)(k % 13));
    }
    m = make_matrix(ctx, &a);
    for (int c = 0; c < BOUND_CASES * BOUND_KINDS; c++) {
        const tess_storage_options o =
            bound_options(&bound_cases[c % BOUND_CASES], 1e-2, (bound_kind)(c / BOUND_CASES));
        double x[30] = {0.0}, y[40] = {0.0};
        tess_matrix *stored = NULL;
        oracle_csr held = oracle_copy(&a);

        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        memset(held.val, 0, (size_t)held.nnz * sizeof *held.val);
        for (int j = 0; j < 30; j++) {
            x[j] = 1.0;
            multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
            x[j] = 0.0;
            for (int64_t i = 0; i < 40; i++) {
                for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                    if (a.col_ind[k] == j) { held.val[k] = y[i]; }
                }
            }
        }
        (void)check_bound(&a, &held, &o.policy);
        oracle_free(&held);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* What was left out for old values may be large among new ones: they are stored anew. */
static void new_values_are_within_the_bound(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_tridiagonal(50, 1e-6, 4.0, -1e-6), changed = oracle_tridiagonal(50, -1.0, 4.0, 1.0 / 3.0);
    const tess_storage_options o = bound_options(&bound_cases[BOUND_ENTRIES], 1e-4, BOUND_OF_ROWS);

    (void)state;
    for (int given = 0; given < 2; given++) {
        tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
        tess_assignment *made = NULL;
        tess_assignment_summary s = {.size = sizeof s};
        oracle_csr held;

        if (given) { assert_ok(ctx, tess_assignment_create(m, &o.policy, &made)); }
        assert_ok(ctx,
                  given ? tess_matrix_convert_assigned(m, &o, made, &stored) : tess_matrix_convert(m, &o, &stored));
        tess_assignment_destroy(made);
        for (int turn = 0; turn < 3; turn++) {
            const oracle_csr *now = turn == 1 ? &changed : &a;

            assert_ok(ctx, tess_matrix_update_values(m, now->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            held = decode_matrix(stored);
            (void)check_bound(now, &held, &o.policy);
            assert_ok(ctx, tess_matrix_get_assignment(stored, &s));
            assert_int_equal(s.left_out, turn == 1 ? 0 : a.nnz - a.nrows);
            oracle_free(&held);
        }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
    }
    oracle_free(&a);
    oracle_free(&changed);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_made_to_break_it_are_within_the_bound),
        cmocka_unit_test(every_shape_is_within_the_bound),
        cmocka_unit_test(levels_are_the_lowest),
        cmocka_unit_test(other_entries_pay_for_an_error),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(rows_without_their_diagonal_have_a_bound_of_their_own),
        cmocka_unit_test(what_is_left_out_counts),
        cmocka_unit_test(products_are_those_of_the_stored_values),
        cmocka_unit_test(new_values_are_within_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
