/* SPDX-License-Identifier: Apache-2.0 */
#include "support/slices.h"

oracle_csr make_index_boundaries(void)
{
    enum { N = 70000 };
    static const int64_t distance[] = {-32769, -32768, -32767, 32766, 32767, 32768};
    oracle_csr a = oracle_open(N, N);

    for (int64_t i = 0; i < N; i++) {
        int64_t slice = i / 64, d = distance[slice % 6];

        if (d < 0 && i + d >= 0 && i % 3 == 0) { oracle_push(&a, i + d, 0.25); }
        if (i % 5 != 4) { oracle_push(&a, i, 1.0 + (double)(i % 7)); }
        if (d > 0 && i + d < N && i % 3 == 0) { oracle_push(&a, i + d, -0.5); }
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr make_uneven_rows(int64_t nrows, bool with_long_rows)
{
    oracle_csr a = oracle_open(nrows, nrows + 13);
    uint64_t seed = 21;

    for (int64_t i = 0; i < nrows; i++) {
        int64_t length = (int64_t)(oracle_random_bits(&seed) % 21);

        if (with_long_rows && i % 97 == 50) { length = 300; }
        length = length < a.ncols ? length : a.ncols;
        for (int64_t k = 0; k < length; k++) {
            oracle_push(&a, k * (a.ncols / length), oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static tess_vector *make_fp32(tess_context *ctx, int64_t n, const double *values)
{
    tess_vector *v = NULL;

    assert_ok(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP32, &v));
    assert_ok(ctx, tess_vector_set(v, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    return v;
}

static double *random_floats(int64_t n, uint64_t seed)
{
    double *values = random_values(n, seed, -1.0, 1.0);

    for (int64_t i = 0; i < n; i++) {
        values[i] = (double)(float)values[i];
    }
    return values;
}

void check_fp32_product(const tess_matrix *m, const oracle_csr *stored, tess_arithmetic arithmetic, double alpha,
                        double beta)
{
    tess_context *ctx = tess_matrix_context(m);
    double *x = random_floats(stored->ncols, 5), *y = random_floats(stored->nrows, 6);
    double *magnitude = test_allocate(stored->nrows, sizeof *magnitude),
           *out = test_allocate(stored->nrows, sizeof *out);
    wide *product = test_allocate(stored->nrows, sizeof *product);
    tess_vector *vx = make_fp32(ctx, stored->ncols, x), *vy = make_fp32(ctx, stored->nrows, y);
    /* of the arithmetic, and of storing y; alpha and beta are floats here */
    double u = arithmetic == TESS_ARITHMETIC_FP64 ? U64 : 0x1p-24, n = (double)oracle_longest_row(stored, false) + 3.0;
    double gamma = n * u / (1.0 - n * u), underflow = (n + 3.0) * 0x1p-149;

    oracle_multiply(stored, false, x, product, magnitude);
    assert_ok(ctx, tess_matrix_spmv(m, TESS_OP_NONE, alpha, vx, beta, vy));
    assert_ok(ctx, tess_vector_get(vy, out, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int64_t i = 0; i < stored->nrows; i++) {
        wide exact = (wide)alpha * product[i] + (wide)beta * (wide)y[i];
        double size = fabs(alpha) * magnitude[i] + fabs(beta * y[i]);

        assert_at_most((double)wide_abs((wide)out[i] - exact), gamma * size +
                                                                   0x1p-24 * (double)wide_abs(exact) * (1.0 + 0x1p-20) +
                                                                   0x1p-24 * gamma * size + underflow);
    }
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    free(x);
    free(y);
    free(magnitude);
    free(out);
    free(product);
}

static void check_storage_of(tess_context *ctx, const tess_matrix *assembled, const tess_storage_options *options)
{
    tess_matrix *stored = NULL;
    oracle_csr held;

    assert_ok(ctx, tess_matrix_convert(assembled, options, &stored));
    held = decode_matrix(stored);
    if (options->arithmetic == TESS_ARITHMETIC_FP64) {
        check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
        check_product(stored, &held, TESS_OP_NONE, -0.5, 0.75);
    }
    check_fp32_product(stored, &held, options->arithmetic, 1.0, 0.0);
    check_fp32_product(stored, &held, options->arithmetic, -0.5, 0.75);
    tess_matrix_destroy(stored);
    oracle_free(&held);
}

static void check_columns(tess_context *ctx, const tess_matrix *assembled, const oracle_csr *a, int64_t window)
{
    const tess_storage_options options = {.size = sizeof(tess_storage_options),
                                          .format = TESS_FORMAT_SELL,
                                          .slices.max_padding = 100.0,
                                          .slices.window = window};
    tess_matrix *stored = NULL;
    oracle_csr held;

    assert_ok(ctx, tess_matrix_convert(assembled, &options, &stored));
    held = decode_matrix(stored);
    assert_memory_equal(held.row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    assert_memory_equal(held.col_ind, a->col_ind, (size_t)a->nnz * sizeof *a->col_ind);
    assert_memory_equal(held.val, a->val, (size_t)a->nnz * sizeof *a->val);
    tess_matrix_destroy(stored);
    oracle_free(&held);
}

void check_slices(tess_context *ctx)
{
    static const int64_t windows[] = {1, 64, 100, 256, 4096};
    oracle_csr all[] = {make_index_boundaries(), make_uneven_rows(5003, false), make_uneven_rows(1000, true),
                        make_uneven_rows(63, false), make_uneven_rows(65, false)};

    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        tess_matrix *assembled = make_matrix(ctx, &all[k]);

        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
            check_columns(ctx, assembled, &all[k], windows[w]);
        }
        for (int variant = 0; variant < 4 * TESS_PRECISION_COUNT; variant++) {
            tess_storage_options options = {.size = sizeof(tess_storage_options),
                                            .format = variant & 1 ? TESS_FORMAT_SELL : TESS_FORMAT_ELLR,
                                            .precision = (tess_precision)(variant / 4),
                                            .slices.max_padding = 100.0,
                                            .arithmetic = variant & 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};

            check_storage_of(ctx, assembled, &options);
        }
        tess_matrix_destroy(assembled);
        oracle_free(&all[k]);
    }
}
