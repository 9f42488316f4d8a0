/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from the caller's arrays: index widths, order and duplicates, refusals, new values, conversion. */
#include "support/product.h"

/* 3 by 4:  1 . 2 .   in unsorted rows, with (2, 3) given twice
            . . . .
            5 4 . 3 */
static const int64_t small_ptr64[] = {0, 2, 2, 6};
static const int32_t small_ptr32[] = {0, 2, 2, 6};
static const int64_t small_col64[] = {2, 0, 3, 1, 3, 0};
static const int32_t small_col32[] = {2, 0, 3, 1, 3, 0};
static const double small_val[] = {2.0, 1.0, 1.25, 4.0, 1.75, 5.0};
static const int64_t sorted_ptr[] = {0, 2, 2, 5};
static const int32_t sorted_col[] = {0, 2, 0, 1, 3};
static const double sorted_val[] = {1.0, 2.0, 5.0, 4.0, 3.0};

static void assert_is_small(const tess_matrix *m)
{
    oracle_csr a = decode_matrix(m);

    assert_int_equal(a.nrows, 3);
    assert_int_equal(a.ncols, 4);
    assert_int_equal(a.nnz, 5);
    assert_memory_equal(a.row_ptr, sorted_ptr, sizeof sorted_ptr);
    assert_memory_equal(a.col_ind, sorted_col, sizeof sorted_col);
    assert_memory_equal(a.val, sorted_val, sizeof sorted_val);
    oracle_free(&a);
}

static tess_csr_arrays small_arrays(int ptr_bits, int col_bits)
{
    return (tess_csr_arrays){.size = sizeof(tess_csr_arrays),
                             .nrows = 3,
                             .ncols = 4,
                             .nnz = 6,
                             .row_ptr = ptr_bits == 64 ? (const void *)small_ptr64 : small_ptr32,
                             .col_ind = col_bits == 64 ? (const void *)small_col64 : small_col32,
                             .val = small_val,
                             .row_ptr_bits = ptr_bits,
                             .col_ind_bits = col_bits,
                             .where = TESS_MEMORY_HOST,
                             .ownership = TESS_COPY};
}

static void csr_of_all_widths_is_sorted_and_summed(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int widths = 0; widths < 4; widths++) {
        tess_csr_arrays arrays = small_arrays(widths & 1 ? 64 : 32, widths & 2 ? 64 : 32);
        tess_matrix *m = NULL;

        assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
        assert_is_small(m);
        assert_int_equal(tess_matrix_format(m), TESS_FORMAT_CSR);
        assert_int_equal(tess_matrix_precision(m), TESS_PRECISION_FP64);
        assert_ptr_equal(tess_matrix_context(m), ctx);
        /* 4 offsets of 32 bits, 5 columns, 5 values */
        assert_int_equal(tess_matrix_bytes(m), 4 * 4 + 5 * 4 + 5 * 8);
        tess_matrix_destroy(m);
    }
    tess_matrix_destroy(NULL);
    tess_context_destroy(ctx);
}

static void coo_of_both_widths_is_sorted_and_summed(void **state)
{
    static const int64_t row64[] = {2, 0, 2, 2, 0, 2}, col64[] = {3, 2, 1, 3, 0, 0};
    static const int32_t row32[] = {2, 0, 2, 2, 0, 2}, col32[] = {3, 2, 1, 3, 0, 0};
    static const double val[] = {1.25, 2.0, 4.0, 1.75, 1.0, 5.0};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int bits = 32; bits <= 64; bits += 32) {
        tess_coo_arrays arrays = {.size = sizeof arrays,
                                  .nrows = 3,
                                  .ncols = 4,
                                  .nnz = 6,
                                  .row_ind = bits == 64 ? (const void *)row64 : row32,
                                  .col_ind = bits == 64 ? (const void *)col64 : col32,
                                  .val = val,
                                  .index_bits = bits,
                                  .where = TESS_MEMORY_HOST};
        tess_matrix *m = NULL;

        assert_ok(ctx, tess_matrix_create_coo(ctx, &arrays, &m));
        assert_is_small(m);
        /* the order of the caller's triplets is gone */
        assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_update_values(m, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        tess_matrix_destroy(m);
    }
    tess_context_destroy(ctx);
}

/* Duplicates are summed in the order of the entries, for any number of threads. */
static void duplicates_are_summed_in_order(void **state)
{
    enum { N = 40000 };
    int32_t *row = test_allocate(N, sizeof *row), *col = test_allocate(N, sizeof *col);
    double *val = random_values(N, 9, -1.0, 1.0), sum[3] = {0.0, 0.0, 0.0};
    tess_coo_arrays arrays = {.size = sizeof(tess_coo_arrays),
                              .nrows = 3,
                              .ncols = 1,
                              .nnz = N,
                              .row_ind = row,
                              .col_ind = col,
                              .val = val,
                              .val_precision = TESS_PRECISION_FP64,
                              .index_bits = 32,
                              .where = TESS_MEMORY_HOST};

    (void)state;
    for (int i = 0; i < N; i++) {
        row[i] = i % 3;
        sum[i % 3] += val[i];
    }
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = NULL;
        double got[3];

        assert_ok(ctx, tess_matrix_create_coo(ctx, &arrays, &m));
        assert_int_equal(tess_matrix_nnz(m), 3);
        assert_ok(ctx, tess_matrix_get_csr(m, NULL, NULL, got));
        assert_true(same_bits(got, sum, 3));
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    free(row);
    free(col);
    free(val);
}

static void explicit_zeros_are_kept(void **state)
{
    static const double val[] = {0.0, -0.0, 0.0};
    static const int32_t ind[] = {0, 1, 2};
    tess_coo_arrays arrays = {.size = sizeof(tess_coo_arrays),
                              .nrows = 3,
                              .ncols = 3,
                              .nnz = 3,
                              .row_ind = ind,
                              .col_ind = ind,
                              .val = val,
                              .val_precision = TESS_PRECISION_FP64,
                              .index_bits = 32,
                              .where = TESS_MEMORY_HOST};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_coo(ctx, &arrays, &m));
    assert_int_equal(tess_matrix_nnz(m), 3);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void refuse_csr(tess_context *ctx, tess_status expected, tess_csr_arrays arrays)
{
    int here = 0;
    tess_matrix *m = (tess_matrix *)(void *)&here;

    assert_fails(ctx, expected, tess_matrix_create_csr(ctx, &arrays, &m));
    assert_null(m);
}

static void wrong_csr_arrays_are_refused(void **state)
{
    static const int64_t descends[] = {0, 4, 2, 6}, starts_late[] = {1, 2, 2, 6}, ends_early[] = {0, 2, 2, 5};
    static const int64_t negative[] = {0, -1, 2, 6}, beyond[] = {0, 2, 99, 6};
    static const int32_t column_beyond[] = {2, 0, 4, 1, 3, 0}, column_negative[] = {2, 0, 3, -1, 3, 0};
    static const int64_t column_wraps[] = {2, 0, 3, INT64_C(1) << 32, 3, 0};
    const int64_t *const offsets[] = {descends, starts_late, ends_early, negative, beyond};
    tess_context *ctx = open_cpu(1);
    tess_csr_arrays arrays;

    (void)state;
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
        arrays = small_arrays(64, 32);
        arrays.row_ptr = offsets[k];
        refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
        arrays.ownership = TESS_BORROW;
        refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    }
    arrays = small_arrays(64, 32);
    arrays.col_ind = column_beyond;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays.col_ind = column_negative;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays = small_arrays(64, 64);
    arrays.col_ind = column_wraps;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays = small_arrays(64, 32);
    arrays.nrows = -1;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays = small_arrays(64, 32);
    arrays.ncols = TESS_MAX_ROWS + 1;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays = small_arrays(64, 32);
    arrays.nnz = -3;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays = small_arrays(64, 32);
    arrays.row_ptr = NULL;
    refuse_csr(ctx, TESS_INVALID_ARGUMENT, arrays);
    arrays = small_arrays(64, 32);
    arrays.val = NULL;
    refuse_csr(ctx, TESS_INVALID_ARGUMENT, arrays);
    arrays = small_arrays(64, 32);
    arrays.row_ptr_bits = 16;
    refuse_csr(ctx, TESS_INVALID_ARGUMENT, arrays);
    arrays = small_arrays(64, 32);
    arrays.where = TESS_MEMORY_DEVICE;
    refuse_csr(ctx, TESS_INVALID_ARGUMENT, arrays);
    tess_context_destroy(ctx);
}

/* Offsets that begin above 0 and no rows: nothing to index, but not the arrays of a matrix either. */
static void offsets_of_no_rows_are_checked(void **state)
{
    static const int64_t one[] = {1};
    static const int32_t col[] = {0};
    tess_csr_arrays arrays = {.size = sizeof(tess_csr_arrays),
                              .nrows = 0,
                              .ncols = 3,
                              .nnz = 1,
                              .row_ptr = one,
                              .col_ind = col,
                              .val = small_val,
                              .val_precision = TESS_PRECISION_FP64,
                              .row_ptr_bits = 64,
                              .col_ind_bits = 32,
                              .where = TESS_MEMORY_HOST,
                              .ownership = TESS_BORROW};
    tess_context *ctx = open_cpu(1);

    (void)state;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays.ownership = TESS_COPY;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    tess_context_destroy(ctx);
}

static void wrong_coo_arrays_are_refused(void **state)
{
    static const int32_t row[] = {0, 2}, col[] = {1, 1}, beyond[] = {0, 3}, negative[] = {-1, 0};
    const tess_coo_arrays good = {.size = sizeof(tess_coo_arrays),
                                  .nrows = 3,
                                  .ncols = 2,
                                  .nnz = 2,
                                  .row_ind = row,
                                  .col_ind = col,
                                  .val = small_val,
                                  .val_precision = TESS_PRECISION_FP64,
                                  .index_bits = 32,
                                  .where = TESS_MEMORY_HOST};
    tess_context *ctx = open_cpu(1);
    tess_coo_arrays arrays = good;
    tess_matrix *m = NULL;

    (void)state;
    arrays.row_ind = beyond;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_coo(ctx, &arrays, &m));
    arrays.row_ind = negative;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_coo(ctx, &arrays, &m));
    arrays = good;
    arrays.col_ind = row; /* 2 is outside */
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_coo(ctx, &arrays, &m));
    arrays = good;
    arrays.index_bits = 0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_coo(ctx, &arrays, &m));
    arrays.nrows = -1; /* two things wrong at once */
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_coo(ctx, &arrays, &m));
    arrays = good;
    arrays.col_ind = NULL;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_coo(ctx, &arrays, &m));
    assert_null(m);
    tess_context_destroy(ctx);
}

static void copies_are_independent_and_borrowed_arrays_are_not(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.0, 2.0, -1.0), before = oracle_copy(&a);
    tess_csr_arrays arrays = csr_arrays_of(&a);
    tess_context *ctx = open_cpu(2);
    tess_matrix *copied = make_matrix(ctx, &a), *borrowed = NULL;

    (void)state;
    arrays.ownership = TESS_BORROW;
    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &borrowed));
    assert_ptr_equal(tess_matrix_csr_view(borrowed).val, a.val);
    assert_ptr_equal(tess_matrix_csr_view(borrowed).row_ptr, a.row_ptr);
    assert_int_equal(tess_matrix_csr_view(borrowed).row_ptr_bits, 64);
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 3.0;
    }
    check_product(copied, &before, TESS_OP_NONE, 1.0, 0.0);
    check_product(borrowed, &a, TESS_OP_NONE, 1.0, 0.0);
    tess_matrix_destroy(copied);
    tess_matrix_destroy(borrowed);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&before);
}

static void borrowing_needs_sorted_rows_and_narrow_columns(void **state)
{
    static const int32_t duplicate[] = {0, 0, 0, 1, 3};
    tess_context *ctx = open_cpu(1);
    tess_csr_arrays arrays = small_arrays(32, 32);

    (void)state;
    arrays.ownership = TESS_BORROW;
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    arrays = small_arrays(32, 64);
    arrays.ownership = TESS_BORROW;
    refuse_csr(ctx, TESS_INVALID_ARGUMENT, arrays);
    arrays = (tess_csr_arrays){.size = sizeof(tess_csr_arrays),
                               .nrows = 3,
                               .ncols = 4,
                               .nnz = 5,
                               .row_ptr = sorted_ptr,
                               .col_ind = duplicate,
                               .val = sorted_val,
                               .val_precision = TESS_PRECISION_FP64,
                               .row_ptr_bits = 64,
                               .col_ind_bits = 32,
                               .where = TESS_MEMORY_HOST,
                               .ownership = TESS_BORROW};
    refuse_csr(ctx, TESS_OUT_OF_RANGE, arrays);
    tess_context_destroy(ctx);
}

static void empty_matrices_work(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {5, 5}, {1, 1}};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (int ownership = TESS_COPY; ownership <= TESS_BORROW; ownership++) {
            oracle_csr a = oracle_open(sizes[k][0], sizes[k][1]);
            tess_csr_arrays arrays = csr_arrays_of(&a);
            tess_matrix *m = NULL;

            arrays.ownership = (tess_ownership)ownership;
            assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
            check_product(m, &a, TESS_OP_NONE, 2.0, 0.0);
            check_product(m, &a, TESS_OP_NONE, 2.0, 0.5);
            check_product(m, &a, TESS_OP_TRANSPOSE, 2.0, 0.5);
            tess_matrix_destroy(m);
            oracle_free(&a);
        }
    }
    tess_context_destroy(ctx);
}

static void new_values_reach_products_transposes_and_stored_matrices(void **state)
{
    const tess_storage_options narrow = {.size = sizeof(tess_storage_options),
                                         .format = TESS_FORMAT_CSR,
                                         .precision = TESS_PRECISION_FP32},
                               same = {.size = sizeof(tess_storage_options),
                                       .format = TESS_FORMAT_CSR,
                                       .precision = TESS_PRECISION_FP64};

    (void)state;
    for (int ownership = TESS_COPY; ownership <= TESS_BORROW; ownership++) {
        oracle_csr a = oracle_random(300, 200, 7, 31), low;
        double *first = a.val, *fresh = NULL;
        tess_csr_arrays arrays = csr_arrays_of(&a);
        tess_context *ctx = open_cpu(2);
        tess_matrix *m = NULL, *stored = NULL, *twin = NULL;

        arrays.ownership = (tess_ownership)ownership;
        assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
        assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
        assert_ok(ctx, tess_matrix_convert(m, &same, &twin));
        check_product(m, &a, TESS_OP_TRANSPOSE, 1.0, 0.0);
        a.val = fresh = random_values(a.nnz, 77, -5.0, 5.0);
        assert_ok(ctx, tess_matrix_update_values(m, fresh, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        if (ownership == TESS_BORROW) { free(first); }
        check_product(m, &a, TESS_OP_TRANSPOSE, 1.0, 0.0);
        check_product(m, &a, TESS_OP_NONE, 1.0, 0.0);
        low = decode_matrix(twin); /* the first use after the update: must not read the old array */
        assert_true(same_bits(low.val, fresh, a.nnz));
        oracle_free(&low);
        check_product(twin, &a, TESS_OP_NONE, 1.0, 0.0);
        check_product(twin, &a, TESS_OP_TRANSPOSE, 1.0, 0.0);
        low = decode_matrix(stored);
        for (int64_t k = 0; k < a.nnz; k++) {
            assert_true(low.val[k] == (double)(float)fresh[k]);
        }
        check_product(stored, &low, TESS_OP_NONE, 1.0, 0.0);
        assert_fails(ctx, TESS_UNSUPPORTED,
                     tess_matrix_update_values(stored, fresh, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_fails(ctx, TESS_INVALID_ARGUMENT,
                     tess_matrix_update_values(m, fresh, TESS_PRECISION_FP64, TESS_MEMORY_DEVICE));
        tess_matrix_destroy(stored);
        tess_matrix_destroy(twin);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        oracle_free(&low);
        if (ownership == TESS_COPY) { free(first); }
        oracle_free(&a); /* frees fresh */
    }
}

static void fp32_storage_rounds_to_nearest_and_says_its_size(void **state)
{
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    oracle_csr a = oracle_random(100, 100, 5, 8), held;
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_vector *diagonal = make_zeros(ctx, 100);

    (void)state;
    assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
    held = decode_matrix(stored);
    assert_memory_equal(held.row_ptr, a.row_ptr, 101 * sizeof *a.row_ptr);
    assert_memory_equal(held.col_ind, a.col_ind, (size_t)a.nnz * sizeof *a.col_ind);
    for (int64_t k = 0; k < a.nnz; k++) {
        assert_at_most(fabs(held.val[k] - a.val[k]), 0x1p-24 * fabs(a.val[k]));
    }
    assert_int_equal(tess_matrix_bytes(stored), 101 * 4 + a.nnz * 8);
    assert_int_equal(tess_matrix_precision(stored), TESS_PRECISION_FP32);
    assert_null(tess_matrix_csr_view(stored).val);
    tess_vector_destroy(diagonal);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&held);
}

static void wrong_conversions_are_refused(void **state)
{
    oracle_csr a = oracle_tridiagonal(5, -1.0, 2.0, -1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL, *again = NULL;
    tess_storage_options o = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_SHELL, .precision = TESS_PRECISION_FP64};

    (void)state;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    o = (tess_storage_options){
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = (tess_precision)99};
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
    assert_null(stored);
    tess_storage_options_init(&o);
    assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(stored, &o, &again));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void diagonal_of_rectangles_and_gaps(void **state)
{
    oracle_csr a = oracle_open(3, 4);
    double got[3];
    tess_context *ctx = open_cpu(2);

    (void)state;
    oracle_push(&a, 0, 7.0);
    oracle_push(&a, 3, 1.0);
    oracle_end_row(&a, 0);
    oracle_push(&a, 0, 1.0);
    oracle_end_row(&a, 1);
    oracle_push(&a, 2, -2.0);
    oracle_end_row(&a, 2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *d = make_zeros(ctx, 3), *wrong = make_zeros(ctx, 4);
    assert_ok(ctx, tess_matrix_diagonal(m, d));
    read_vector(d, got);
    assert_true(got[0] == 7.0 && got[1] == 0.0 && got[2] == -2.0);
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_matrix_diagonal(m, wrong));
    tess_vector_destroy(d);
    tess_vector_destroy(wrong);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void copy_to_another_context(void **state)
{
    oracle_csr a = oracle_random(60, 80, 4, 5);
    tess_context *one = open_cpu(1), *two = open_cpu(2);
    tess_matrix *m = make_matrix(one, &a), *copy = NULL;

    (void)state;
    assert_ok(two, tess_matrix_copy_to(m, two, &copy));
    tess_matrix_destroy(m);
    tess_context_destroy(one);
    assert_ptr_equal(tess_matrix_context(copy), two);
    check_product(copy, &a, TESS_OP_NONE, 1.0, 0.0);
    assert_ok(two, tess_matrix_update_values(copy, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_matrix_destroy(copy);
    tess_context_destroy(two);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csr_of_all_widths_is_sorted_and_summed),
        cmocka_unit_test(coo_of_both_widths_is_sorted_and_summed),
        cmocka_unit_test(duplicates_are_summed_in_order),
        cmocka_unit_test(explicit_zeros_are_kept),
        cmocka_unit_test(wrong_csr_arrays_are_refused),
        cmocka_unit_test(offsets_of_no_rows_are_checked),
        cmocka_unit_test(wrong_coo_arrays_are_refused),
        cmocka_unit_test(copies_are_independent_and_borrowed_arrays_are_not),
        cmocka_unit_test(borrowing_needs_sorted_rows_and_narrow_columns),
        cmocka_unit_test(empty_matrices_work),
        cmocka_unit_test(new_values_reach_products_transposes_and_stored_matrices),
        cmocka_unit_test(fp32_storage_rounds_to_nearest_and_says_its_size),
        cmocka_unit_test(wrong_conversions_are_refused),
        cmocka_unit_test(diagonal_of_rectangles_and_gaps),
        cmocka_unit_test(copy_to_another_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
