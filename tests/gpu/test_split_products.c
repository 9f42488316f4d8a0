/* SPDX-License-Identifier: Apache-2.0 */
/* Products with split and composite storage on the GPU: the tests of the host, and matrices of many chunks. */
#define TESTS_ON_GPU
#include "../unit/test_split_products.c" /* the same tests, in another context */

/* A k by k Laplacian; every third row is small enough for the low level. */
static oracle_csr make_large(int64_t k)
{
    oracle_csr a = oracle_laplace2d(k);

    for (int64_t i = 0; i < a.nrows; i += 3) {
        for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
            a.val[e] *= 0x1p-10;
        }
    }
    return a;
}

/* So many chunks that blocks take several, of both parts in turn; values and vectors are exact in FP32, and so are the
 * sums. */
static void large_matrices_are_multiplied_exactly(void **state)
{
    tess_context *ctx = open_device(0);
    oracle_csr a = make_large(on_gpu_or_emulated(2000, 200));
    tess_matrix *m = make_matrix(ctx, &a);
    double *x = test_allocate(a.ncols, sizeof *x), *y = test_allocate(a.nrows, sizeof *y);

    (void)state;
    for (int64_t j = 0; j < a.ncols; j++) {
        x[j] = (double)(j % 1024 - 512);
    }
    for (int kind = 0; kind < STORAGE_KINDS; kind++) {
        const tess_storage_options o = storage_kind(kind, 0.5);
        tess_matrix *stored = NULL;
        int64_t wrong = 0;

        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        for (int64_t i = 0; i < a.nrows; i++) {
            double sum = 0.0;

            for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
                sum += a.val[e] * x[a.col_ind[e]];
            }
            wrong += y[i] != sum;
        }
        assert_int_equal(wrong, 0);
        tess_matrix_destroy(stored);
    }
    free(x);
    free(y);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPLIT_PRODUCT_TESTS,
        cmocka_unit_test(large_matrices_are_multiplied_exactly),
    };

    return run_gpu_tests(tests, NULL);
}
