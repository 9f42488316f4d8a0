/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the caller in any storage precision: a matrix of them is that of their FP64 images, bit for bit. */
#include <tessera/codec.h>

#include "base/context.h"
#include "support/product.h"

static tess_context *ctx;

/* ---- arrays, on the host or in the memory of the context's device ---- */

/* Where arrays may lie: on the host and, of a GPU, in its memory. */
static int places(void)
{
    return ctx->device == TESS_DEVICE_GPU ? 2 : 1;
}

static void *put(int where, const void *host, int64_t count, size_t size)
{
    void *there = NULL;

    if (where == TESS_MEMORY_HOST) {
        there = test_allocate(count + 1, size);
        memcpy(there, host, (size_t)count * size);
        return there;
    }
    assert_ok(ctx, tess_device_allocate(ctx, count, size, &there));
    assert_ok(ctx, ctx->backend->upload(ctx, there, host, (size_t)count * size));
    return there;
}

static void take_back(int where, void *memory, int64_t count, size_t size)
{
    if (where == TESS_MEMORY_HOST) {
        free(memory);
    } else {
        tess_device_release(ctx, memory, count, size);
    }
}

/* Values in a precision; the others are rounded to it. */
static void *narrow_values(tess_precision precision, double *val, int64_t count)
{
    void *low = test_allocate(count + 1, tess_precision_bytes(precision));

    for (int64_t k = 0; k < count; k++) {
        tess_store(precision, low, k, val[k], TESS_OVERFLOW_INFINITY);
        val[k] = tess_load(precision, low, k);
    }
    return low;
}

static void check_same(const tess_matrix *m, const tess_matrix *expected)
{
    oracle_csr got = decode_matrix(m), wanted = decode_matrix(expected);

    assert_int_equal(tess_matrix_precision(m), TESS_PRECISION_FP64);
    assert_int_equal(got.nnz, wanted.nnz);
    assert_memory_equal(got.row_ptr, wanted.row_ptr, (size_t)(got.nrows + 1) * sizeof *got.row_ptr);
    assert_memory_equal(got.col_ind, wanted.col_ind, (size_t)got.nnz * sizeof *got.col_ind);
    assert_true(same_bits(got.val, wanted.val, got.nnz));
    oracle_free(&got);
    oracle_free(&wanted);
}

/* ---- CSR ---- */

/* The columns of each row the other way round, where `unsorted`; values over some 20 binades. */
static oracle_csr make_system(tess_precision precision, bool unsorted)
{
    oracle_csr a = oracle_random(120, 90, 6, 17 + (uint64_t)precision);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = k % 5 == 0 ? ldexp(a.val[k], -(int)(k % 23)) : a.val[k];
    }
    for (int64_t i = 0; unsorted && i < a.nrows; i++) {
        for (int64_t l = a.row_ptr[i], h = a.row_ptr[i + 1] - 1; l < h; l++, h--) {
            const int32_t column = a.col_ind[l];

            a.col_ind[l] = a.col_ind[h];
            a.col_ind[h] = column;
        }
    }
    return a;
}

static void check_csr(tess_precision precision, int where, bool unsorted)
{
    const size_t size = tess_precision_bytes(precision);
    oracle_csr a = make_system(precision, unsorted);
    void *low = narrow_values(precision, a.val, a.nnz);
    void *row_ptr = put(where, a.row_ptr, a.nrows + 1, sizeof *a.row_ptr);
    void *col_ind = put(where, a.col_ind, a.nnz, sizeof *a.col_ind), *val = put(where, low, a.nnz, size);
    tess_csr_arrays wide = csr_arrays_of(&a), arrays = wide;
    tess_matrix *expected = NULL, *m = NULL;

    arrays.row_ptr = row_ptr;
    arrays.col_ind = col_ind;
    arrays.val = val;
    arrays.val_precision = precision;
    arrays.where = (tess_memory)where;
    assert_ok(ctx, tess_matrix_create_csr(ctx, &wide, &expected));
    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
    check_same(m, expected);
    tess_matrix_destroy(m);
    tess_matrix_destroy(expected);
    take_back(where, row_ptr, a.nrows + 1, sizeof *a.row_ptr);
    take_back(where, col_ind, a.nnz, sizeof *a.col_ind);
    take_back(where, val, a.nnz, size);
    free(low);
    oracle_free(&a);
}

static void csr_values_may_be_in_any_precision(void **state)
{
    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        for (int where = 0; where < places(); where++) {
            check_csr((tess_precision)p, where, false);
            check_csr((tess_precision)p, where, true);
        }
    }
}

/* ---- COO ---- */

/* Triplets in no order, some places twice: sums of duplicates are those of the images. */
static void check_coo(tess_precision precision, int where)
{
    enum { N = 400 };
    const size_t size = tess_precision_bytes(precision);
    int32_t row[N], col[N];
    double *wide = random_values(N, 40 + (uint64_t)precision, -2.0, 2.0);
    void *low = narrow_values(precision, wide, N), *rows = NULL, *cols = NULL, *val = put(where, low, N, size);
    tess_coo_arrays images = {.size = sizeof images,
                              .nrows = 30,
                              .ncols = 20,
                              .nnz = N,
                              .row_ind = row,
                              .col_ind = col,
                              .val = wide,
                              .index_bits = 32};
    tess_coo_arrays arrays = images;
    tess_matrix *expected = NULL, *m = NULL;

    for (int k = 0; k < N; k++) {
        row[k] = 7 * k % 30;
        col[k] = 11 * k % 12;
    }
    rows = put(where, row, N, sizeof *row);
    cols = put(where, col, N, sizeof *col);
    arrays.row_ind = rows;
    arrays.col_ind = cols;
    arrays.val = val;
    arrays.val_precision = precision;
    arrays.where = (tess_memory)where;
    assert_ok(ctx, tess_matrix_create_coo(ctx, &images, &expected));
    assert_ok(ctx, tess_matrix_create_coo(ctx, &arrays, &m));
    assert_true(tess_matrix_nnz(m) > 0 && tess_matrix_nnz(m) < N);
    check_same(m, expected);
    tess_matrix_destroy(m);
    tess_matrix_destroy(expected);
    take_back(where, rows, N, sizeof *row);
    take_back(where, cols, N, sizeof *col);
    take_back(where, val, N, size);
    free(low);
    free(wide);
}

static void coo_values_may_be_in_any_precision(void **state)
{
    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        for (int where = 0; where < places(); where++) {
            check_coo((tess_precision)p, where);
        }
    }
}

/* ---- new values ---- */

static void check_new_values(tess_precision precision, int where)
{
    const size_t size = tess_precision_bytes(precision);
    const tess_storage_options narrow = {
        .size = sizeof narrow, .format = TESS_FORMAT_SELL, .precision = TESS_PRECISION_FP32};
    oracle_csr a = make_system(TESS_PRECISION_FP64, false);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL, *expected = NULL;
    double *fresh = random_values(a.nnz, 5, -3.0, 3.0);
    void *low = narrow_values(precision, fresh, a.nnz), *val = put(where, low, a.nnz, size);

    assert_ok(ctx, tess_matrix_convert(m, &narrow, &stored));
    assert_ok(ctx, tess_matrix_update_values(m, val, precision, (tess_memory)where));
    memcpy(a.val, fresh, (size_t)a.nnz * sizeof *fresh);
    expected = make_matrix(ctx, &a);
    check_same(m, expected);
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = (double)(float)a.val[k];
    }
    check_product(stored, &a, TESS_OP_NONE, 1.0, 0.0);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_matrix_destroy(expected);
    take_back(where, val, a.nnz, size);
    free(low);
    free(fresh);
    oracle_free(&a);
}

static void new_values_may_be_too(void **state)
{
    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        for (int where = 0; where < places(); where++) {
            check_new_values((tess_precision)p, where);
        }
    }
}

/* ---- what is refused ---- */

static void borrowed_values_are_fp64(void **state)
{
    const int where = ctx->device == TESS_DEVICE_GPU ? TESS_MEMORY_DEVICE : TESS_MEMORY_HOST;
    oracle_csr a = make_system(TESS_PRECISION_FP32, false);
    void *low = narrow_values(TESS_PRECISION_FP32, a.val, a.nnz), *narrow = put(where, low, a.nnz, sizeof(float));
    void *row_ptr = put(where, a.row_ptr, a.nrows + 1, sizeof *a.row_ptr);
    void *col_ind = put(where, a.col_ind, a.nnz, sizeof *a.col_ind), *val = put(where, a.val, a.nnz, sizeof *a.val);
    tess_csr_arrays arrays = csr_arrays_of(&a);
    tess_matrix *m = NULL;

    (void)state;
    arrays.row_ptr = row_ptr;
    arrays.col_ind = col_ind;
    arrays.val = narrow;
    arrays.val_precision = TESS_PRECISION_FP32;
    arrays.where = (tess_memory)where;
    arrays.ownership = TESS_BORROW;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_create_csr(ctx, &arrays, &m));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "borrow values in fp32"));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "TESS_COPY"));
    assert_null(m);
    arrays.val = val;
    arrays.val_precision = TESS_PRECISION_FP64;
    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
    assert_fails(ctx, TESS_INVALID_ARGUMENT,
                 tess_matrix_update_values(m, narrow, TESS_PRECISION_FP32, (tess_memory)where));
    check_product(m, &a, TESS_OP_NONE, 1.0, 0.0); /* it has its values still */
    tess_matrix_destroy(m);
    take_back(where, narrow, a.nnz, sizeof(float));
    take_back(where, row_ptr, a.nrows + 1, sizeof *a.row_ptr);
    take_back(where, col_ind, a.nnz, sizeof *a.col_ind);
    take_back(where, val, a.nnz, sizeof *a.val);
    free(low);
    oracle_free(&a);
}

static void unknown_precisions_are_refused(void **state)
{
    oracle_csr a = make_system(TESS_PRECISION_FP64, false);
    tess_csr_arrays arrays = csr_arrays_of(&a);
    int32_t none[1] = {0};
    tess_coo_arrays coo = {.size = sizeof coo,
                           .nrows = 1,
                           .ncols = 1,
                           .nnz = 1,
                           .row_ind = none,
                           .col_ind = none,
                           .val = a.val,
                           .index_bits = 32};
    tess_matrix *m = NULL;

    (void)state;
    arrays.val_precision = coo.val_precision = (tess_precision)TESS_PRECISION_COUNT;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_csr(ctx, &arrays, &m));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_coo(ctx, &coo, &m));
    assert_null(m);
    m = make_matrix(ctx, &a);
    assert_fails(ctx, TESS_INVALID_ARGUMENT,
                 tess_matrix_update_values(m, a.val, (tess_precision)TESS_PRECISION_COUNT, TESS_MEMORY_HOST));
    tess_matrix_destroy(m);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csr_values_may_be_in_any_precision),
        cmocka_unit_test(coo_values_may_be_in_any_precision),
        cmocka_unit_test(new_values_may_be_too),
        cmocka_unit_test(borrowed_values_are_fp64),
        cmocka_unit_test(unknown_precisions_are_refused),
    };

    return run_with_context(open_device(2), tests, &ctx);
}
