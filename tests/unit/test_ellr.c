/* SPDX-License-Identifier: Apache-2.0 */
/* ELLPACK-R and SELL-C-sigma on the CPU: the layout itself, its limits, FP32 vectors and arithmetic. */
#include <tessera/solver.h>

#include "format/ellr/ellr_rows.h"
#include "matrix/matrix.h"
#include "support/slices.h"

static const ellr_view *view_of(const tess_matrix *m)
{
    return &((const ellr_storage *)m->storage)->view;
}

static tess_matrix *convert(const tess_matrix *a, tess_format format, int64_t window)
{
    const tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = format, .slices.max_padding = 1000.0, .slices.window = window};
    tess_matrix *stored = NULL;

    assert_ok(a->ctx, tess_matrix_convert(a, &options, &stored));
    return stored;
}

static int64_t length_of(const oracle_csr *a, int64_t i)
{
    return i < a->nrows ? a->row_ptr[i + 1] - a->row_ptr[i] : 0;
}

/* Each slice as wide as its longest row, one after another, each position's length that of its row. */
static void check_layout(const ellr_view *v, const oracle_csr *a, int64_t common_width)
{
    int64_t values = 0, columns = 0;

    for (int64_t s = 0; s < v->nslices; s++) {
        int64_t width = 0, capacity;
        bool narrow = true;

        for (int64_t p = 64 * s; p < 64 * s + 64; p++) {
            int64_t row = ellr_row(v, v->slice[s], p);

            assert_int_equal(ellr_length(v, p), length_of(a, row));
            width = length_of(a, row) > width ? length_of(a, row) : width;
            for (int64_t k = 0; k < length_of(a, row); k++) {
                int64_t distance = a->col_ind[a->row_ptr[row] + k] - row;

                narrow = narrow && distance >= -32768 && distance <= 32767;
            }
        }
        capacity = common_width >= 0 ? common_width : width;
        assert_int_equal(v->slice[s].width, width);
        assert_int_equal(v->slice[s].first_value, values);
        assert_int_equal(v->slice[s].first_column, columns);
        assert_int_equal(ellr_has_wide_columns(v->slice[s]), !narrow);
        values += capacity;
        columns += narrow ? capacity : 2 * capacity;
    }
    assert_int_equal(v->value_units, values);
    assert_int_equal(v->column_units, columns);
}

static void slices_are_as_wide_as_their_rows(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = make_uneven_rows(1000, false), b = make_index_boundaries(), *all[] = {&a, &b};

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_matrix *m = make_matrix(ctx, all[k]), *ellr = convert(m, TESS_FORMAT_ELLR, 0);
        tess_matrix *plain = convert(m, TESS_FORMAT_SELL, 1), *sorted = convert(m, TESS_FORMAT_SELL, 200);

        check_layout(view_of(ellr), all[k], oracle_longest_row(all[k], false));
        check_layout(view_of(plain), all[k], -1);
        check_layout(view_of(sorted), all[k], -1);
        assert_null(view_of(ellr)->order);
        assert_null(view_of(plain)->order);
        tess_matrix_destroy(ellr);
        tess_matrix_destroy(plain);
        tess_matrix_destroy(sorted);
        tess_matrix_destroy(m);
        oracle_free(all[k]);
    }
    tess_context_destroy(ctx);
}

/* Windows of 256 rows (200 rounded up): descending lengths, equal ones in their order, each row once. */
static void sorting_is_stable_within_windows(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = make_uneven_rows(1000, false);
    tess_matrix *m = make_matrix(ctx, &a), *sorted = convert(m, TESS_FORMAT_SELL, 200);
    const ellr_view *v = view_of(sorted);
    int64_t permuted = 0;
    bool seen[1024] = {false};

    (void)state;
    assert_non_null(v->order);
    for (int64_t p = 0; p < 1024; p++) { /* ranks: the two halves of a slice alternate */
        int64_t at = ellr_position_of(p), row = ellr_row(v, v->slice[p / 64], at), last = p > 0 ? p - 1 : 0;
        int64_t before = ellr_row(v, v->slice[last / 64], ellr_position_of(last));

        assert_int_equal(ellr_rank_at(at), p);
        assert_int_equal(at / 64, p / 64);

        assert_int_equal(row / 256, p / 256);
        assert_false(seen[row]);
        seen[row] = true;
        permuted += row != p;
        if (p % 256 > 0 && ellr_is_permuted(v->slice[p / 64])) {
            assert_true(length_of(&a, before) > length_of(&a, row) ||
                        (length_of(&a, before) == length_of(&a, row) && before < row));
        }
    }
    assert_true(permuted > 0);
    tess_matrix_destroy(sorted);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Rows of one length gain nothing by sorting, and keep their order and no array for it. */
static void windows_that_gain_nothing_stay(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(1000, -1.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a), *stored = convert(m, TESS_FORMAT_SELL, 0);

    (void)state;
    assert_null(view_of(stored)->order);
    for (int64_t s = 0; s < view_of(stored)->nslices; s++) {
        assert_int_equal(view_of(stored)->slice[s].flags, 0);
    }
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* One entry in row 0, at `column`: 16 bits up to 32,767; in the last row, at distance -32,768 and beyond. */
static bool is_wide(tess_context *ctx, int64_t row, int64_t column)
{
    enum { N = 40000 };
    oracle_csr a = oracle_open(N, N);
    tess_matrix *m = NULL, *stored = NULL;
    bool result = false;

    for (int64_t i = 0; i < N; i++) {
        if (i == row) { oracle_push(&a, column, 1.0); }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    stored = convert(m, TESS_FORMAT_SELL, 1);
    result = ellr_has_wide_columns(view_of(stored)->slice[row / 64]);
    check_product(stored, &a, TESS_OP_NONE, 1.0, 0.0);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    return result;
}

static void columns_take_16_bits_where_they_fit(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    assert_false(is_wide(ctx, 0, 32767));
    assert_true(is_wide(ctx, 0, 32768));
    assert_false(is_wide(ctx, 32768, 0));
    assert_true(is_wide(ctx, 32769, 0));
    tess_context_destroy(ctx);
}

/* 100 rows of 3 entries (2 at the ends): two slices of 3 columns. */
static void bytes_count_the_padding(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(100, -1.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        const tess_storage_options options = {
            .size = sizeof(tess_storage_options), .format = TESS_FORMAT_SELL, .precision = (tess_precision)p};
        int64_t each = (int64_t)tess_precision_bytes((tess_precision)p);
        tess_matrix *stored = NULL;

        assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
        assert_int_equal(tess_matrix_bytes(stored), 2 * 16 + 128 + 128 * 3 * (2 + each));
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* 300 rows of one entry and a row of 300: 300 * 300 over 599 entries for ellr. */
/* The last slice's rows are shorter: slices of one width would pad by 0.3 %, which is taken only where it may be. */
static void uniform_slices_keep_to_the_padding_allowed(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_open(6400, 6400);
    tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_SELL, .slices.max_padding = 1.0};
    tess_matrix *m = NULL, *tight = NULL, *uniform = NULL;

    (void)state;
    for (int64_t i = 0; i < 6400; i++) {
        for (int64_t j = 0; j < (i < 6336 ? 5 : 4); j++) {
            oracle_push(&a, j, 1.0);
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_matrix_convert(m, &options, &tight));
    options.slices.max_padding = 0.0;
    assert_ok(ctx, tess_matrix_convert(m, &options, &uniform));
    assert_int_equal(view_of(tight)->uniform_width, 0);
    assert_int_equal(view_of(tight)->value_units * 64, a.nnz);
    assert_int_equal(view_of(uniform)->uniform_width, 5);
    assert_int_equal(view_of(uniform)->value_units * 64, 6400 * 5);
    tess_matrix_destroy(tight);
    tess_matrix_destroy(uniform);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void too_much_padding_is_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_open(300, 300);
    tess_storage_options options = {.size = sizeof(tess_storage_options), .format = TESS_FORMAT_ELLR};
    tess_matrix *m = NULL, *stored = NULL;

    (void)state;
    for (int64_t i = 0; i < 300; i++) {
        for (int64_t j = 0; j < 300; j++) {
            if (i == 8 || i == j) { oracle_push(&a, j, 1.0); }
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "150.3 entries per nonzero (90000 for 599)"));
    assert_int_equal(tess_context_last_error(ctx)->circumstance, 1); /* another matrix would do */
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "sell"));
    options.slices.max_padding = 150.0;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    options.slices.max_padding = 150.5;
    assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
    tess_matrix_destroy(stored);
    options.format = TESS_FORMAT_SELL;
    options.slices.max_padding = 0.0;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "--max-padding"));
    options.slices.max_padding = 0.5;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &options, &stored));
    options.slices.max_padding = (double)NAN;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &options, &stored));
    options =
        (tess_storage_options){.size = sizeof(tess_storage_options), .format = TESS_FORMAT_SELL, .slices.window = 4097};
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &options, &stored));
    options.slices.window = -1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &options, &stored));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void every_variant_multiplies(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_slices(ctx);
    tess_context_destroy(ctx);
}

/* Rows that are far from any column of a tall matrix: their padding must still be a column. */
static void padding_of_tall_matrices_is_a_column(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_open(40000, 3);
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t i = 0; i < 40000; i++) {
        if (i % 64 == 7) { oracle_push(&a, 2, 1.0); }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    for (int64_t window = 1; window <= 256; window += 255) {
        tess_matrix *stored = convert(m, TESS_FORMAT_SELL, window);
        const ellr_view *v = view_of(stored);

        check_product(stored, &a, TESS_OP_NONE, 1.0, 0.0);
        for (int64_t p = 0; p < v->nslices * 64; p++) {
            ellr_slice s = v->slice[p / 64];

            for (int64_t k = 0; k < s.width; k++) {
                int64_t column = ellr_column(v, s, p, ellr_row(v, s, p), k);

                assert_true(column >= 0 && column < 3);
            }
        }
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* [1, 2^-24] times ones is 1 in FP32 and more in FP64, whatever the storage of the vectors. */
static void arithmetic_is_what_was_asked_for(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_open(1, 2);
    tess_matrix *m = NULL, *fp64 = NULL, *fp32 = NULL;
    tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_ELLR, .precision = TESS_PRECISION_FP32};
    double ones[2] = {1.0, 1.0}, zero = 0.0, result = 0.0;
    tess_vector *x32 = NULL, *y32 = NULL, *x = make_vector(ctx, 2, ones), *y = make_vector(ctx, 1, &zero);

    (void)state;
    oracle_push(&a, 0, 1.0);
    oracle_push(&a, 1, 0x1p-24);
    oracle_end_row(&a, 0);
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_matrix_convert(m, &options, &fp64));
    options.arithmetic = TESS_ARITHMETIC_FP32;
    assert_ok(ctx, tess_matrix_convert(m, &options, &fp32));
    assert_ok(ctx, tess_vector_create(ctx, 2, TESS_PRECISION_FP32, &x32));
    assert_ok(ctx, tess_vector_create(ctx, 1, TESS_PRECISION_FP32, &y32));
    assert_ok(ctx, tess_vector_fill(x32, 1.0));
    assert_ok(ctx, tess_matrix_spmv(fp64, TESS_OP_NONE, 1.0, x, 0.0, y));
    read_vector(y, &result);
    assert_true(result == 1.0 + 0x1p-24);
    /* y is rounded once, and 2^24 (1 + 2^-24) - 2^24 is taken before that */
    assert_ok(ctx, tess_vector_fill(y32, 1.0));
    assert_ok(ctx, tess_matrix_spmv(fp64, TESS_OP_NONE, 0x1p24, x32, -0x1p24, y32));
    assert_ok(ctx, tess_vector_get(y32, &result, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_true(result == 1.0);
    assert_ok(ctx, tess_vector_fill(y32, 1.0));
    assert_ok(ctx, tess_matrix_spmv(fp32, TESS_OP_NONE, 0x1p24, x32, -0x1p24, y32));
    assert_ok(ctx, tess_vector_get(y32, &result, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_true(result == 0.0);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(fp32, TESS_OP_NONE, 1.0, x, 0.0, y));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(fp64, TESS_OP_NONE, 1.0, x32, 0.0, y));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(fp64, TESS_OP_TRANSPOSE, 1.0, y32, 0.0, x32));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(m, TESS_OP_TRANSPOSE, 1.0, y32, 0.0, x32));
    tess_matrix_destroy(fp64);
    tess_matrix_destroy(fp32);
    tess_matrix_destroy(m);
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    tess_vector_destroy(x32);
    tess_vector_destroy(y32);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void csr_and_solvers_refuse_fp32_arithmetic(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(10, -1.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options options = {.size = sizeof(tess_storage_options), .arithmetic = TESS_ARITHMETIC_FP32};
    tess_solve_options solve;
    tess_solver *solver = NULL;

    (void)state;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    tess_solve_options_init(&solve);
    solve.storage.format = TESS_FORMAT_SELL;
    solve.storage.arithmetic = TESS_ARITHMETIC_FP32;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &solve, &solver));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void same_bits_for_any_number_of_threads(void **state)
{
    oracle_csr a = make_uneven_rows(20000, true);
    double *x = random_values(a.ncols, 3, -1.0, 1.0), *first = test_allocate(a.nrows, sizeof *first);
    double *again = test_allocate(a.nrows, sizeof *again);

    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = make_matrix(ctx, &a), *stored = convert(m, TESS_FORMAT_SELL, 0);

        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, again, threads == 1 ? first : again);
        if (threads > 1) { assert_true(same_bits(first, again, a.nrows)); }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
    free(x);
    free(first);
    free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_as_wide_as_their_rows),
        cmocka_unit_test(sorting_is_stable_within_windows),
        cmocka_unit_test(windows_that_gain_nothing_stay),
        cmocka_unit_test(columns_take_16_bits_where_they_fit),
        cmocka_unit_test(bytes_count_the_padding),
        cmocka_unit_test(uniform_slices_keep_to_the_padding_allowed),
        cmocka_unit_test(too_much_padding_is_refused),
        cmocka_unit_test(every_variant_multiplies),
        cmocka_unit_test(padding_of_tall_matrices_is_a_column),
        cmocka_unit_test(arithmetic_is_what_was_asked_for),
        cmocka_unit_test(csr_and_solvers_refuse_fp32_arithmetic),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
