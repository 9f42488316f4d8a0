/* SPDX-License-Identifier: Apache-2.0 */
/* tess_matrix_multiply against a dense product: shapes, transposes, empty rows, what it refuses. */
#include "support/test.h"

/* op(A) as a dense row-major array. */
static double *dense_of(const oracle_csr *a, tess_operation operation)
{
    double *d = test_allocate(a->nrows * a->ncols + 1, sizeof *d);

    memset(d, 0, (size_t)(a->nrows * a->ncols) * sizeof *d);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int64_t j = a->col_ind[k];

            d[operation == TESS_OP_NONE ? i * a->ncols + j : j * a->nrows + i] = a->val[k];
        }
    }
    return d;
}

static int64_t rows_of(const oracle_csr *a, tess_operation operation)
{
    return operation == TESS_OP_NONE ? a->nrows : a->ncols;
}

/* Each entry of the product within the bound of its docstring, and an entry wherever two entries meet. */
static void check_entries(const oracle_csr *a, tess_operation op_a, const oracle_csr *b, tess_operation op_b,
                          const tess_matrix *product)
{
    const int64_t m = rows_of(a, op_a), inner = a->nrows + a->ncols - m, n = b->nrows + b->ncols - rows_of(b, op_b);
    double *x = dense_of(a, op_a), *y = dense_of(b, op_b);
    const tess_csr_view v = tess_matrix_csr_view(product);
    int64_t met = 0;

    assert_int_equal(v.nrows, m);
    assert_int_equal(v.ncols, n);
    for (int64_t i = 0; i < m; i++) {
        int64_t k = ((const int32_t *)v.row_ptr)[i];

        for (int64_t j = 0; j < n; j++) {
            wide sum = 0;
            double magnitude = 0.0;
            bool meets = false;

            for (int64_t q = 0; q < inner; q++) {
                sum += (wide)x[i * inner + q] * y[q * n + j];
                magnitude += fabs(x[i * inner + q] * y[q * n + j]);
                meets = meets || (x[i * inner + q] != 0.0 && y[q * n + j] != 0.0);
            }
            if (!meets) { continue; }
            assert_int_equal(v.col_ind[k], j); /* sorted, without holes */
            assert_at_most((double)wide_abs(v.val[k] - sum), gamma_of((double)inner) * magnitude);
            k += 1;
            met += 1;
        }
        assert_int_equal(k, ((const int32_t *)v.row_ptr)[i + 1]);
    }
    assert_int_equal(tess_matrix_nnz(product), met);
    free(x);
    free(y);
}

static void check_multiply(tess_context *ctx, const oracle_csr *a, tess_operation op_a, const oracle_csr *b,
                           tess_operation op_b)
{
    tess_matrix *left = make_matrix(ctx, a), *right = make_matrix(ctx, b), *product = NULL;

    assert_ok(ctx, tess_matrix_multiply(left, op_a, right, op_b, &product));
    check_entries(a, op_a, b, op_b, product);
    tess_matrix_destroy(product);
    tess_matrix_destroy(left);
    tess_matrix_destroy(right);
}

static void products_are_those_of_dense_matrices(void **state)
{
    tess_context *ctx = open_cpu(3);
    oracle_csr wide_one = oracle_random(23, 61, 4, 1), tall = oracle_random(61, 23, 4, 2);
    oracle_csr square = oracle_laplace2d(7), empty = oracle_with_empty_rows(130);

    (void)state;
    check_multiply(ctx, &wide_one, TESS_OP_NONE, &tall, TESS_OP_NONE);
    check_multiply(ctx, &tall, TESS_OP_NONE, &wide_one, TESS_OP_NONE);
    check_multiply(ctx, &wide_one, TESS_OP_TRANSPOSE, &tall, TESS_OP_TRANSPOSE);
    check_multiply(ctx, &wide_one, TESS_OP_NONE, &wide_one, TESS_OP_TRANSPOSE);
    check_multiply(ctx, &tall, TESS_OP_TRANSPOSE, &tall, TESS_OP_NONE);
    check_multiply(ctx, &square, TESS_OP_NONE, &square, TESS_OP_TRANSPOSE);
    check_multiply(ctx, &empty, TESS_OP_NONE, &empty, TESS_OP_NONE);
    check_multiply(ctx, &empty, TESS_OP_TRANSPOSE, &empty, TESS_OP_NONE);
    oracle_free(&wide_one);
    oracle_free(&tall);
    oracle_free(&square);
    oracle_free(&empty);
    tess_context_destroy(ctx);
}

/* Without rows, without columns, without an inner size. */
static void sizes_may_be_zero(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr none = oracle_open(0, 5), column = oracle_random(5, 3, 1, 3);

    (void)state;
    check_multiply(ctx, &none, TESS_OP_NONE, &column, TESS_OP_NONE);
    check_multiply(ctx, &column, TESS_OP_TRANSPOSE, &none, TESS_OP_TRANSPOSE);
    check_multiply(ctx, &none, TESS_OP_TRANSPOSE, &none, TESS_OP_NONE);
    oracle_free(&none);
    oracle_free(&column);
    tess_context_destroy(ctx);
}

/* What cancels stays as an explicit zero. */
static void cancelled_entries_stay(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr row = oracle_open(1, 2), column = oracle_open(2, 1);
    tess_matrix *left = NULL, *right = NULL, *product = NULL;

    (void)state;
    oracle_push(&row, 0, 1.0);
    oracle_push(&row, 1, -1.0);
    oracle_end_row(&row, 0);
    oracle_push(&column, 0, 3.0);
    oracle_end_row(&column, 0);
    oracle_push(&column, 0, 3.0);
    oracle_end_row(&column, 1);
    left = make_matrix(ctx, &row);
    right = make_matrix(ctx, &column);
    assert_ok(ctx, tess_matrix_multiply(left, TESS_OP_NONE, right, TESS_OP_NONE, &product));
    assert_int_equal(tess_matrix_nnz(product), 1);
    assert_true(tess_matrix_csr_view(product).val[0] == 0.0);
    tess_matrix_destroy(product);
    tess_matrix_destroy(left);
    tess_matrix_destroy(right);
    oracle_free(&row);
    oracle_free(&column);
    tess_context_destroy(ctx);
}

/* Large enough for several threads to work. */
static void bits_do_not_depend_on_threads(void **state)
{
    tess_context *one = open_cpu(1), *four = open_cpu(4);
    oracle_csr a = oracle_random(9000, 9000, 6, 11);
    tess_matrix *left = make_matrix(one, &a), *right = make_matrix(four, &a), *products[2] = {NULL, NULL};
    tess_csr_view v[2];

    (void)state;
    assert_ok(one, tess_matrix_multiply(left, TESS_OP_NONE, left, TESS_OP_TRANSPOSE, &products[0]));
    assert_ok(four, tess_matrix_multiply(right, TESS_OP_NONE, right, TESS_OP_TRANSPOSE, &products[1]));
    v[0] = tess_matrix_csr_view(products[0]);
    v[1] = tess_matrix_csr_view(products[1]);
    assert_int_equal(v[0].nnz, v[1].nnz);
    assert_memory_equal(v[0].col_ind, v[1].col_ind, (size_t)v[0].nnz * sizeof *v[0].col_ind);
    assert_true(same_bits(v[0].val, v[1].val, v[0].nnz));
    for (int i = 0; i < 2; i++) {
        tess_matrix_destroy(products[i]);
    }
    tess_matrix_destroy(left);
    tess_matrix_destroy(right);
    oracle_free(&a);
    tess_context_destroy(one);
    tess_context_destroy(four);
}

static void what_cannot_be_multiplied_is_refused(void **state)
{
    tess_context *ctx = open_cpu(1), *other = open_cpu(1);
    oracle_csr a = oracle_laplace2d(4), b = oracle_random(3, 16, 2, 1);
    tess_matrix *left = make_matrix(ctx, &a), *right = make_matrix(ctx, &b), *elsewhere = make_matrix(other, &a);
    tess_matrix *stored = NULL, *product = left;
    tess_storage_options options;

    (void)state;
    tess_storage_options_init(&options);
    options.precision = TESS_PRECISION_FP32;
    assert_ok(ctx, tess_matrix_convert(left, &options, &stored));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_matrix_multiply(left, TESS_OP_NONE, right, TESS_OP_NONE, &product));
    assert_null(product);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_multiply(stored, TESS_OP_NONE, left, TESS_OP_NONE, &product));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_multiply(left, TESS_OP_NONE, stored, TESS_OP_NONE, &product));
    assert_fails(ctx, TESS_INVALID_ARGUMENT,
                 tess_matrix_multiply(left, TESS_OP_NONE, elsewhere, TESS_OP_NONE, &product));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(left);
    tess_matrix_destroy(right);
    tess_matrix_destroy(elsewhere);
    oracle_free(&a);
    oracle_free(&b);
    tess_context_destroy(ctx);
    tess_context_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_dense_matrices),
        cmocka_unit_test(sizes_may_be_zero),
        cmocka_unit_test(cancelled_entries_stay),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(what_cannot_be_multiplied_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
