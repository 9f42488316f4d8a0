/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIA: the layout itself, its limits, what is no entry, FP32 vectors. tests/gpu/test_dia.c runs the tests of DIA_TESTS
 * in a context of a GPU.
 */
#include <tessera/codec.h>

#include "format/dia/dia.h"
#include "matrix/matrix.h"
#include "support/bands.h"
#include "support/layout.h"
#include "support/slices.h"

static const dia_view *view_of(const tess_matrix *m)
{
    return &((const dia_storage *)m->storage)->view;
}

/*
 *     1  .  2  .
 *     .  3  .  4      offset -1: holes in rows 1 and 3
 *     .  5  6  .      offset 0: full
 *     .  .  .  8      offset 2: full within the matrix
 *     .  .  . 10
 */
static void layout_of_a_small_matrix(void **state)
{
    static const double value[5][4] = {{1, 0, 2, 0}, {0, 3, 0, 4}, {0, 5, 6, 0}, {0, 0, 0, 8}, {0, 0, 0, 10}};
    static const dia_diagonal expected[] = {{-1, 0}, {0, -1}, {2, -1}};
    static const double places[3][5] = {{0, 0, 5, 0, 10}, {1, 3, 6, 8, 0}, {2, 4, 0, 0, 0}};
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_open(5, 4);
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        for (int64_t j = 0; j < 4; j++) {
            if (value[i][j] != 0.0) { oracle_push(&a, j, value[i][j]); }
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_matrix *stored = to_diagonals(m, (tess_precision)p);
        const dia_view *v = view_of(stored);
        const int64_t bytes = (int64_t)tess_precision_bytes(v->precision), stride = 128 / bytes;
        dia_diagonal *diagonal = fetch_bytes(stored, v->diagonal, 3 * (int64_t)sizeof *diagonal);
        uint32_t *bitmap = fetch_bytes(stored, v->bitmap, (int64_t)sizeof *bitmap);
        char *val = fetch_bytes(stored, v->val, 3 * 128);

        assert_int_equal(v->ndiagonals, 3);
        assert_int_equal(v->nbitmaps, 1);
        assert_int_equal(v->stride, stride);
        assert_int_equal(v->words, 1);
        assert_memory_equal(diagonal, expected, sizeof expected);
        assert_int_equal(bitmap[0], 1U << 2 | 1U << 4);
        for (int64_t d = 0; d < 3; d++) {
            for (int64_t i = 0; i < stride; i++) {
                assert_true(tess_load(v->precision, val, d * stride + i) == (i < 5 ? places[d][i] : 0.0));
            }
        }
        assert_int_equal(tess_matrix_bytes(stored), 3 * 8 + 4 + 3 * 128);
        free(diagonal);
        free(bitmap);
        free(val);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Diagonals that the matrix fills have no bitmap, wherever they end. */
static void full_diagonals_have_no_bitmap(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < BANDS; k++) {
        oracle_csr a = make_band(&bands[k]);
        tess_matrix *m = make_matrix(ctx, &a), *stored = to_diagonals(m, TESS_PRECISION_FP16);
        const dia_view *v = view_of(stored);
        dia_diagonal *diagonal = fetch_bytes(stored, v->diagonal, v->ndiagonals * (int64_t)sizeof *diagonal);

        assert_int_equal(v->ndiagonals, bands[k].count);
        for (int64_t d = 0; d < v->ndiagonals; d++) {
            assert_int_equal(diagonal[d].offset, bands[k].offset[d]);
        }
        if (bands[k].is_entry == everywhere) { assert_int_equal(v->nbitmaps, 0); }
        if (bands[k].is_entry == with_one_hole) { assert_int_equal(v->nbitmaps, v->ndiagonals); }
        assert_int_equal(tess_matrix_bytes(stored), 8 * v->ndiagonals + 4 * v->nbitmaps * ((a.nrows + 31) / 32) +
                                                        2 * v->ndiagonals * ((a.nrows + 63) / 64 * 64));
        free(diagonal);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* Each row from the left to the right, one addition after the other. */
static void sum_rows(const oracle_csr *a, const double *x, double *y)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = 0.0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            y[i] = add_product(y[i], a->val[k], x[a->col_ind[k]]);
        }
    }
}

static void sums_have_the_bits_of_sequential_ones(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_device(threads);

        for (int k = 0; k < BANDS; k++) {
            oracle_csr a = make_band(&bands[k]);
            tess_matrix *m = make_matrix(ctx, &a);
            double *x = random_values(a.ncols, 3, -1.0, 1.0), *y = test_allocate(a.nrows, sizeof *y);
            double *expected = test_allocate(a.nrows, sizeof *expected);

            for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
                tess_matrix *stored = to_diagonals(m, (tess_precision)p);
                oracle_csr held = decode_matrix(stored);

                if (p == TESS_PRECISION_FP64) { check_decoded(stored, &a); }
                sum_rows(&held, x, expected);
                multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
                assert_true(same_bits(expected, y, a.nrows));
                oracle_free(&held);
                tess_matrix_destroy(stored);
            }
            tess_matrix_destroy(m);
            oracle_free(&a);
            free(x);
            free(y);
            free(expected);
        }
        tess_context_destroy(ctx);
    }
}

/* Inf and NaN in x where a diagonal has a hole, and beyond its ends: 0 times them would be NaN. */
static void what_is_no_entry_is_not_multiplied(void **state)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < BANDS; k++) {
        oracle_csr a = make_band(&bands[k]);
        tess_matrix *m = make_matrix(ctx, &a);
        double *x = random_values(a.ncols, 3, 0.5, 1.0), *y = test_allocate(a.nrows, sizeof *y);

        for (int64_t j = 0; j < a.ncols; j += 11) {
            x[j] = bad[j % 3];
        }
        for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
            tess_matrix *stored = to_diagonals(m, (tess_precision)p);

            multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
            for (int64_t i = 0; i < a.nrows; i++) {
                assert_int_equal(isfinite(y[i]) != 0, !meets_not_finite(&a, i, x));
            }
            tess_matrix_destroy(stored);
        }
        tess_matrix_destroy(m);
        oracle_free(&a);
        free(x);
        free(y);
    }
    tess_context_destroy(ctx);
}

/* Zeros of the matrix are entries: they come back, and 0 times Inf is NaN. */
static void explicit_zeros_are_entries(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_tridiagonal(100, 0.0, 1.0, -0.0);
    double *x = random_values(100, 4, 0.5, 1.0), y[100] = {0.0};
    tess_matrix *m = make_matrix(ctx, &a), *stored = to_diagonals(m, TESS_PRECISION_FP64);

    (void)state;
    assert_int_equal(view_of(stored)->nbitmaps, 0);
    check_decoded(stored, &a);
    x[50] = HUGE_VAL;
    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(isnan(y[i]) != 0, i == 49 || i == 51);
    }
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
}

/* 300 rows, a full row 8 and the main diagonal: 300 diagonals. */
static void too_much_padding_is_refused(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_open(300, 300);
    tess_storage_options options = {.size = sizeof(tess_storage_options), .format = TESS_FORMAT_DIA};
    tess_matrix *m = NULL, *stored = NULL;
    int64_t held = 0;

    (void)state;
    for (int64_t i = 0; i < 300; i++) {
        for (int64_t j = 0; j < 300; j++) {
            if (i == 8 || i == j) { oracle_push(&a, j, 1.0); }
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored)); /* a GPU keeps space for its work */
    held = ctx->held_bytes;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    assert_int_equal(ctx->held_bytes, held);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "300 diagonals, or 150.3 entries per nonzero"));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "(90000 for 599), but max_padding is 3"));
    assert_int_equal(tess_context_last_error(ctx)->circumstance, 1); /* another matrix would do */
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "--max-padding"));
    options.slices.max_padding = 150.0;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    options.slices.max_padding = 150.5;
    assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
    check_decoded(stored, &a);
    check_product(stored, &a, TESS_OP_NONE, 1.0, 0.0);
    tess_matrix_destroy(stored);
    options.slices.max_padding = 0.5;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &options, &stored));
    options.slices.max_padding = (double)NAN;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &options, &stored));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Exactly max_padding entries per nonzero are allowed. */
static void padding_up_to_the_limit_is_allowed(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_tridiagonal(20, -1.0, 2.0, -1.0); /* 58 nonzeros, 60 places */
    tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_DIA, .slices.max_padding = 60.0 / 58.0};
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
    tess_matrix_destroy(stored);
    options.slices.max_padding = nextafter(60.0 / 58.0, 1.0);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void matrices_without_entries(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {33, 31}, {0, 7}, {7, 0}};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 4; k++) {
        oracle_csr a = oracle_open(sizes[k][0], sizes[k][1]);
        tess_matrix *m = NULL, *stored = NULL;

        for (int64_t i = 0; i < a.nrows; i++) {
            oracle_end_row(&a, i);
        }
        m = make_matrix(ctx, &a);
        stored = to_diagonals(m, TESS_PRECISION_BF16);
        assert_int_equal(view_of(stored)->ndiagonals, 0);
        assert_int_equal(tess_matrix_bytes(stored), 0);
        check_decoded(stored, &a);
        check_product(stored, &a, TESS_OP_NONE, 2.0, 0.0);
        check_product(stored, &a, TESS_OP_NONE, 2.0, -1.5);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* New values come into the same arrays. */
static void new_values_keep_the_diagonals(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_band(&bands[0]);
    tess_matrix *m = make_matrix(ctx, &a), *stored = to_diagonals(m, TESS_PRECISION_FP64);
    const dia_view before = *view_of(stored);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = k % 5 == 0 ? 0.0 : 1.0 / (double)(k + 3);
    }
    assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    check_decoded(stored, &a);
    check_product(stored, &a, TESS_OP_NONE, 0.5, 1.0);
    assert_memory_equal(&before, view_of(stored), sizeof before);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void vectors_and_arithmetic_may_be_fp32(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < BANDS; k++) {
        oracle_csr a = make_band(&bands[k]);
        tess_matrix *m = make_matrix(ctx, &a);

        for (int variant = 0; variant < 2 * TESS_PRECISION_COUNT; variant++) {
            tess_storage_options options = {.size = sizeof(tess_storage_options),
                                            .format = TESS_FORMAT_DIA,
                                            .precision = (tess_precision)(variant / 2),
                                            .slices.max_padding = 1000.0,
                                            .arithmetic = variant & 1 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};
            tess_vector *x = make_zeros(ctx, a.ncols), *y = make_zeros(ctx, a.nrows);
            tess_matrix *stored = NULL;
            oracle_csr held;

            assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
            held = decode_matrix(stored);
            check_fp32_product(stored, &held, options.arithmetic, 1.0, 0.0);
            check_fp32_product(stored, &held, options.arithmetic, -0.5, 0.75);
            if (variant & 1) {
                assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, x, 0.0, y));
            }
            tess_vector_destroy(x);
            tess_vector_destroy(y);
            tess_matrix_destroy(stored);
            oracle_free(&held);
        }
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* [1, 2^-24] times ones is 1 in FP32 arithmetic and more in FP64. */
static void arithmetic_is_what_was_asked_for(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_open(1, 2);
    tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_DIA, .precision = TESS_PRECISION_FP32};
    tess_matrix *m = NULL;

    (void)state;
    oracle_push(&a, 0, 1.0);
    oracle_push(&a, 1, 0x1p-24);
    oracle_end_row(&a, 0);
    m = make_matrix(ctx, &a);
    for (int low = 0; low < 2; low++) {
        tess_matrix *stored = NULL;
        tess_vector *x = NULL, *y = NULL;
        double result = 0.0;

        options.arithmetic = low ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
        assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
        assert_ok(ctx, tess_vector_create(ctx, 2, TESS_PRECISION_FP32, &x));
        assert_ok(ctx, tess_vector_create(ctx, 1, TESS_PRECISION_FP32, &y));
        assert_ok(ctx, tess_vector_fill(x, 1.0));
        assert_ok(ctx, tess_vector_fill(y, 1.0));
        assert_ok(ctx, tess_matrix_spmv(stored, TESS_OP_NONE, 0x1p24, x, -0x1p24, y));
        assert_ok(ctx, tess_vector_get(y, &result, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_true(result == (low ? 0.0 : 1.0));
        tess_vector_destroy(x);
        tess_vector_destroy(y);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Transposed products are those of the FP64 matrix, whose values these are; of other precisions there is none. */
static void transposes_need_fp64_values(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_band(&bands[4]);
    tess_matrix *m = make_matrix(ctx, &a), *fp64 = to_diagonals(m, TESS_PRECISION_FP64);
    tess_matrix *fp32 = to_diagonals(m, TESS_PRECISION_FP32);
    tess_vector *x = make_zeros(ctx, a.nrows), *y = make_zeros(ctx, a.ncols);

    (void)state;
    check_product(fp64, &a, TESS_OP_TRANSPOSE, 1.5, -0.5);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(fp32, TESS_OP_TRANSPOSE, 1.0, x, 0.0, y));
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    tess_matrix_destroy(fp64);
    tess_matrix_destroy(fp32);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

#define DIA_TESTS                                                                                                      \
    cmocka_unit_test(layout_of_a_small_matrix), cmocka_unit_test(full_diagonals_have_no_bitmap),                       \
        cmocka_unit_test(sums_have_the_bits_of_sequential_ones), cmocka_unit_test(what_is_no_entry_is_not_multiplied), \
        cmocka_unit_test(explicit_zeros_are_entries), cmocka_unit_test(too_much_padding_is_refused),                   \
        cmocka_unit_test(padding_up_to_the_limit_is_allowed), cmocka_unit_test(matrices_without_entries),              \
        cmocka_unit_test(new_values_keep_the_diagonals), cmocka_unit_test(vectors_and_arithmetic_may_be_fp32),         \
        cmocka_unit_test(arithmetic_is_what_was_asked_for), cmocka_unit_test(transposes_need_fp64_values)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        DIA_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
