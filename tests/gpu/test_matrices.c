/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices on the GPU: device arrays copied and borrowed, all kinds of rows, the same bits on every run. */
#include <tessera/verify.h>

#include "matrix/matrix.h"
#include "support/product.h"

static tess_context *gpu = NULL;

/* A device copy of host bytes, through the library's own memory. */
typedef struct device_array {
    void *data;
    int64_t bytes;
} device_array;

static device_array upload(const void *host, int64_t count, size_t size)
{
    device_array d = {NULL, count * (int64_t)size};

    assert_ok(gpu, tess_device_allocate(gpu, d.bytes, 1, &d.data));
    assert_ok(gpu, gpu->backend->upload(gpu, d.data, host, (size_t)d.bytes));
    return d;
}

static void discard(device_array *d)
{
    tess_device_release(gpu, d->data, d->bytes, 1);
}

/* Rows of 0 to 60,000 entries, around the lengths at which kernels change: waves, chunks, segments. */
static oracle_csr make_mixed_rows(void)
{
    static const int64_t lengths[] = {0,   1,   2, 15, 16,   17,   31,   32,   33,   255,  256,  257,  511,   512,
                                      513, 700, 0, 0,  1023, 1024, 1025, 2047, 2048, 2049, 3000, 8191, 8192,  8193,
                                      5,   5,   5, 0,  9000, 1,    1,    2048, 2048, 2048, 2049, 1,    60000, 60000};
    enum { ROWS = sizeof lengths / sizeof *lengths };
    oracle_csr a = oracle_open(4 * ROWS, 60000);
    uint64_t seed = 5;

    for (int64_t i = 0; i < a.nrows; i++) {
        int64_t length = i % 4 == 0 ? lengths[i / 4] : i % 4 == 1 ? lengths[ROWS - 1 - i / 4] % 40 : i % 3;
        int64_t first = length < 60000 ? (int64_t)(oracle_random_bits(&seed) % (uint64_t)(60000 - length)) : 0;

        for (int64_t j = first; j < first + length; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void every_length_of_row(void **state)
{
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    oracle_csr a = make_mixed_rows(), tall = oracle_random(200000, 300, 2, 9), power = oracle_power_law(50000, 3);
    oracle_csr *const all[] = {&a, &tall, &power};

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_matrix *m = make_matrix(gpu, all[k]), *stored = NULL;

        check_product(m, all[k], TESS_OP_NONE, 1.0, 0.0);
        check_product(m, all[k], TESS_OP_NONE, -0.7, 1.3);
        check_product(m, all[k], TESS_OP_TRANSPOSE, 1.0, 0.0);
        assert_ok(gpu, tess_matrix_convert(m, &narrow, &stored));
        oracle_round_to_fp32(all[k]);
        check_product(stored, all[k], TESS_OP_NONE, 1.0, 0.0);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(all[k]);
    }
}

static void same_bits_on_every_run(void **state)
{
    oracle_csr a = make_mixed_rows();
    double *x = random_values(a.ncols, 4, -1.0, 1.0), *first = test_allocate(a.nrows, sizeof *first);
    double *again = test_allocate(a.nrows, sizeof *again);

    (void)state;
    for (int context = 0; context < 3; context++) { /* plans of different contexts must agree too */
        tess_context *ctx = open_gpu();
        tess_matrix *m = make_matrix(ctx, &a);

        for (int trial = 0; trial < 30; trial++) {
            multiply(m, TESS_OP_NONE, 1.0, x, 0.0, again, context + trial ? again : first);
            if (context + trial) { assert_true(same_bits(first, again, a.nrows)); }
        }
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
    free(x);
    free(first);
    free(again);
}

static void device_arrays_are_copied_or_borrowed(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        bool wide_offsets = variant & 1, borrow = variant & 2;
        oracle_csr a = oracle_random(700, 650, 8, 11);
        int32_t *narrow = test_allocate(a.nrows + 1, sizeof *narrow);
        device_array ptr, col, val, fresh;
        tess_csr_arrays arrays = csr_arrays_of(&a);
        tess_matrix *m = NULL;

        for (int64_t i = 0; i <= a.nrows; i++) {
            narrow[i] = (int32_t)a.row_ptr[i];
        }
        ptr = wide_offsets ? upload(a.row_ptr, a.nrows + 1, sizeof *a.row_ptr)
                           : upload(narrow, a.nrows + 1, sizeof *narrow);
        col = upload(a.col_ind, a.nnz, sizeof *a.col_ind);
        val = upload(a.val, a.nnz, sizeof *a.val);
        arrays.row_ptr = ptr.data;
        arrays.col_ind = col.data;
        arrays.val = val.data;
        arrays.row_ptr_bits = wide_offsets ? 64 : 32;
        arrays.where = TESS_MEMORY_DEVICE;
        arrays.ownership = borrow ? TESS_BORROW : TESS_COPY;
        assert_ok(gpu, tess_matrix_create_csr(gpu, &arrays, &m));
        check_product(m, &a, TESS_OP_NONE, 1.0, 0.0);
        check_product(m, &a, TESS_OP_TRANSPOSE, 1.0, 0.5);
        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] = sqrt((double)k);
        }
        fresh = upload(a.val, a.nnz, sizeof *a.val);
        assert_ok(gpu, tess_matrix_update_values(m, fresh.data, TESS_PRECISION_FP64, TESS_MEMORY_DEVICE));
        check_product(m, &a, TESS_OP_NONE, 1.0, 0.0);
        check_product(m, &a, TESS_OP_TRANSPOSE, 1.0, 0.5);
        if (borrow) {
            assert_fails(gpu, TESS_INVALID_ARGUMENT,
                         tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        } else {
            assert_ok(gpu, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
        tess_matrix_destroy(m);
        discard(&ptr);
        discard(&col);
        discard(&val);
        discard(&fresh);
        oracle_free(&a);
        free(narrow);
    }
}

static void wrong_borrowed_arrays_are_refused(void **state)
{
    static const int64_t offsets[] = {0, 2, 4}, descending[] = {0, 3, 2}, beyond[] = {0, 2, 5};
    static const int32_t columns[] = {0, 1, 0, 2}, unsorted[] = {1, 0, 0, 2}, outside[] = {0, 1, 0, 3};
    static const int32_t negative[] = {0, 1, -1, 2};
    static const double values[] = {1.0, 2.0, 3.0, 4.0};
    const int64_t *const all_offsets[] = {offsets, descending, beyond, offsets, offsets, offsets};
    const int32_t *const all_columns[] = {columns, columns, columns, unsorted, outside, negative};
    device_array val = upload(values, 4, sizeof *values);

    (void)state;
    for (int k = 0; k < 6; k++) {
        device_array ptr = upload(all_offsets[k], 3, sizeof *offsets), col = upload(all_columns[k], 4, sizeof *columns);
        tess_csr_arrays arrays = {.size = sizeof(tess_csr_arrays),
                                  .nrows = 2,
                                  .ncols = 3,
                                  .nnz = 4,
                                  .row_ptr = ptr.data,
                                  .col_ind = col.data,
                                  .val = val.data,
                                  .val_precision = TESS_PRECISION_FP64,
                                  .row_ptr_bits = 64,
                                  .col_ind_bits = 32,
                                  .where = TESS_MEMORY_DEVICE,
                                  .ownership = TESS_BORROW};
        tess_matrix *m = NULL;

        if (k == 0) {
            assert_ok(gpu, tess_matrix_create_csr(gpu, &arrays, &m));
        } else {
            assert_fails(gpu, TESS_OUT_OF_RANGE, tess_matrix_create_csr(gpu, &arrays, &m));
        }
        tess_matrix_destroy(m);
        discard(&ptr);
        discard(&col);
    }
    discard(&val);
}

/* One wrong column among the many of a row, wherever a wave looks at it: the same as before, less, negative, too large.
 */
static void wrong_columns_of_long_rows_are_found(void **state)
{
    enum { COLUMNS = 1300 }; /* more than a thread looks at by itself */
    static const int places[] = {1, 31, 32, 33, 63, 64, 65, 255, 256, 1024, COLUMNS - 1};
    const int64_t offsets[] = {0, COLUMNS, COLUMNS + 1};
    double values[COLUMNS + 1];
    int32_t columns[COLUMNS + 1];
    device_array ptr = upload(offsets, 3, sizeof *offsets), val;

    (void)state;
    for (int k = 0; k <= COLUMNS; k++) {
        columns[k] = k % COLUMNS;
        values[k] = 1.0;
    }
    val = upload(values, COLUMNS + 1, sizeof *values);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        const int32_t here = columns[places[p]], wrong[] = {here, here - 1, here - 2, -1, COLUMNS};

        for (int w = 0; w < 5; w++) {
            device_array col;
            tess_csr_arrays arrays = {.size = sizeof arrays,
                                      .nrows = 2,
                                      .ncols = COLUMNS,
                                      .nnz = COLUMNS + 1,
                                      .row_ptr = ptr.data,
                                      .val = val.data,
                                      .row_ptr_bits = 64,
                                      .col_ind_bits = 32,
                                      .where = TESS_MEMORY_DEVICE,
                                      .ownership = TESS_BORROW};
            tess_matrix *m = NULL;

            columns[places[p]] = wrong[w];
            col = upload(columns, COLUMNS + 1, sizeof *columns);
            arrays.col_ind = col.data;
            if (w == 0) {
                assert_ok(gpu, tess_matrix_create_csr(gpu, &arrays, &m));
            } else {
                assert_fails(gpu, TESS_OUT_OF_RANGE, tess_matrix_create_csr(gpu, &arrays, &m));
            }
            tess_matrix_destroy(m);
            discard(&col);
        }
        columns[places[p]] = here;
    }
    discard(&val);
    discard(&ptr);
}

static void coo_from_the_device(void **state)
{
    static const int64_t row[] = {1, 0, 1, 1}, col[] = {2, 1, 0, 2};
    static const double val[] = {1.0, 2.0, 3.0, 4.0};
    device_array drow = upload(row, 4, sizeof *row), dcol = upload(col, 4, sizeof *col),
                 dval = upload(val, 4, sizeof *val);
    tess_coo_arrays arrays = {.size = sizeof(tess_coo_arrays),
                              .nrows = 2,
                              .ncols = 3,
                              .nnz = 4,
                              .row_ind = drow.data,
                              .col_ind = dcol.data,
                              .val = dval.data,
                              .val_precision = TESS_PRECISION_FP64,
                              .index_bits = 64,
                              .where = TESS_MEMORY_DEVICE};
    tess_matrix *m = NULL;
    oracle_csr got;

    (void)state;
    assert_ok(gpu, tess_matrix_create_coo(gpu, &arrays, &m));
    got = decode_matrix(m);
    assert_int_equal(got.nnz, 3);
    assert_true(got.val[0] == 2.0 && got.val[1] == 3.0 && got.val[2] == 5.0);
    tess_matrix_destroy(m);
    oracle_free(&got);
    discard(&drow);
    discard(&dcol);
    discard(&dval);
}

static void copies_between_host_and_device(void **state)
{
    oracle_csr a = oracle_random(900, 800, 5, 12);
    tess_context *cpu = open_cpu(2);
    tess_matrix *here = make_matrix(cpu, &a), *there = NULL, *back = NULL;

    (void)state;
    assert_ok(gpu, tess_matrix_copy_to(here, gpu, &there));
    assert_ok(cpu, tess_matrix_copy_to(there, cpu, &back));
    check_product(there, &a, TESS_OP_NONE, 1.0, 0.0);
    check_product(back, &a, TESS_OP_NONE, 1.0, 0.0);
    assert_null(tess_matrix_csr_view(there).val);
    tess_matrix_destroy(here);
    tess_matrix_destroy(there);
    tess_matrix_destroy(back);
    tess_context_destroy(cpu);
    oracle_free(&a);
}

static void diagonal_and_residual_match_the_host(void **state)
{
    oracle_csr a = oracle_random(3000, 3000, 7, 13);
    double *b = random_values(3000, 1, -1.0, 1.0), *x = random_values(3000, 2, -1.0, 1.0);
    double *here = test_allocate(3000, sizeof *here), *there = test_allocate(3000, sizeof *there), norm[3], bound[3];
    tess_context *cpu = open_cpu(2), *contexts[2] = {cpu, gpu};

    (void)state;
    for (int c = 0; c < 2; c++) {
        tess_matrix *m = make_matrix(contexts[c], &a);
        tess_vector *d = make_zeros(contexts[c], 3000), *vb = make_vector(contexts[c], 3000, b);
        tess_vector *vx = make_vector(contexts[c], 3000, x);

        assert_ok(contexts[c], tess_matrix_diagonal(m, d));
        read_vector(d, c ? there : here);
        assert_ok(contexts[c], tess_verify_residual(m, vb, vx, NULL, &norm[c], &bound[c]));
        assert_ok(contexts[c], tess_verify_residual(m, vb, vx, NULL, &norm[2], &bound[2]));
        assert_true(norm[c] == norm[2] && bound[c] == bound[2]);
        assert_at_most((double)wide_abs((wide)norm[c] - oracle_residual_norm(&a, b, x)), bound[c]);
        tess_vector_destroy(d);
        tess_vector_destroy(vb);
        tess_vector_destroy(vx);
        tess_matrix_destroy(m);
    }
    assert_true(same_bits(here, there, 3000));
    tess_context_destroy(cpu);
    oracle_free(&a);
    free(b);
    free(x);
    free(here);
    free(there);
}

/* The row-scaled norms and the row-wise backward error of both devices differ by their bounds at most: for rows of any
   length, whose sizes range over 2^800, and for one row that is wrong. */
static void row_norms_match_the_host(void **state)
{
    oracle_csr a = make_mixed_rows();
    double *b = test_allocate(a.nrows, sizeof *b), *x = random_values(a.ncols, 2, -1.0, 1.0);
    wide *product = test_allocate(a.nrows, sizeof *product);
    tess_context *cpu = open_cpu(2), *contexts[2] = {cpu, gpu};
    tess_verification v[2];
    tess_verify_row row;
    int64_t found = 0, wrong = a.nrows / 2;

    (void)state;
    for (int64_t k = 0, i = 0; i < a.nrows; i++) {
        for (; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = ldexp(a.val[k], (int)(i * 37 % 800) - 400);
        }
    }
    oracle_multiply(&a, false, x, product, NULL);
    for (int64_t i = 0; i < a.nrows; i++) {
        b[i] = (double)product[i];
    }
    b[wrong] = b[wrong] == 0.0 ? 1.0 : 2.0 * b[wrong];
    for (int c = 0; c < 2; c++) {
        tess_matrix *m = make_matrix(contexts[c], &a);
        tess_vector *vb = make_vector(contexts[c], a.nrows, b), *vx = make_vector(contexts[c], a.ncols, x);

        tess_verification_init(&v[c]);
        assert_ok(contexts[c], tess_verify(m, vb, vx, NULL, &v[c]));
        assert_ok(contexts[c], tess_verify_rows(m, vb, vx, 1, &row, &found));
        assert_true(found == 1 && row.row == wrong && v[c].rows.backward_row == wrong);
        tess_vector_destroy(vb);
        tess_vector_destroy(vx);
        tess_matrix_destroy(m);
    }
    assert_at_most(fabs(v[0].rows.norm - v[1].rows.norm), v[0].rows.bound + v[1].rows.bound);
    assert_at_most(fabs(v[0].rows.rhs_norm - v[1].rows.rhs_norm), 8.0 * U64 * v[0].rows.rhs_norm);
    assert_at_most(fabs(v[0].rows.backward_error - v[1].rows.backward_error),
                   v[0].rows.backward_bound + v[1].rows.backward_bound);
    assert_true(v[0].rows.backward_error > 1e-9 && !v[0].rows.met && !v[1].rows.met);
    tess_context_destroy(cpu);
    oracle_free(&a);
    free(b);
    free(x);
    free(product);
}

static void empty_matrices_work(void **state)
{
    static const int64_t shapes[][2] = {{0, 0}, {0, 5}, {5, 0}, {5, 5}};

    (void)state;
    for (int k = 0; k < 4; k++) {
        oracle_csr a = oracle_open(shapes[k][0], shapes[k][1]);
        tess_matrix *m = make_matrix(gpu, &a);

        check_product(m, &a, TESS_OP_NONE, 2.0, 0.5);
        check_product(m, &a, TESS_OP_TRANSPOSE, 2.0, 0.5);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_of_row),
        cmocka_unit_test(same_bits_on_every_run),
        cmocka_unit_test(device_arrays_are_copied_or_borrowed),
        cmocka_unit_test(wrong_borrowed_arrays_are_refused),
        cmocka_unit_test(wrong_columns_of_long_rows_are_found),
        cmocka_unit_test(coo_from_the_device),
        cmocka_unit_test(copies_between_host_and_device),
        cmocka_unit_test(diagonal_and_residual_match_the_host),
        cmocka_unit_test(row_norms_match_the_host),
        cmocka_unit_test(empty_matrices_work),
    };

    return run_gpu_tests(tests, &gpu);
}
