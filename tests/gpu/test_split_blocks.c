/* SPDX-License-Identifier: Apache-2.0 */
/* Split storage in layers on the GPU: the tests of the host, and matrices of many chunks. */
#define TESTS_ON_GPU
#include "../unit/test_split_blocks.c" /* the same tests, in another context */

enum { SIDE = 1200, EMULATED_SIDE = 150, KINDS = 32 };

/* Small integers, these over 2^10, and times 2^12, in squares of 16 by 16. By rows as it is; by nonzeros with columns
   far apart. */
static oracle_csr make_large(bool scattered)
{
    static const double scale[3] = {1.0, 0x1p-10, 0x1p12};
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(SIDE, EMULATED_SIDE));

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (scattered) { a.col_ind[k] = (int32_t)((k - a.row_ptr[i]) * (a.ncols / 5) + i * 7919 % (a.ncols / 5)); }
            a.val[k] *= scale[(a.col_ind[k] / 16 + i / 16) % 3];
        }
    }
    return a;
}

static tess_storage_options kind_of(int kind)
{
    tess_storage_options o = layer_options(kind & 1 ? TESS_GRANULARITY_ENTRY : TESS_GRANULARITY_BLOCK,
                                           "fixed-range:0.5", kind & 2 ? "fp64,fp32,bf16" : "fp64,fp32");

    if (kind & 2) { o.policy.parameter = 2048.0; } /* the lowest level is below 2^-5, the highest from 2^12 on */
    o.split.base = layer_bases[kind / 4 % LAYER_BASES];
    o.arithmetic = kind & 16 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
    return o;
}

/* y = -0.5 A x + 2 y, and its dot product with itself: all exact, except for the additions of the dot product. */
static void check_large(tess_context *ctx, const oracle_csr *a, const tess_matrix *stored, const double *x)
{
    double *y = test_allocate(a->nrows, sizeof *y), *out = test_allocate(a->nrows, sizeof *out), sum = 0.0;
    tess_vector *vx = make_vector(ctx, a->ncols, x), *vy = NULL;
    tess_loop_state state;
    tess_spmv_args args = {.x = vx->data, .alpha = -0.5, .beta = 2.0};
    int64_t wrong = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = (double)(i % 100);
    }
    vy = make_vector(ctx, a->nrows, y);
    args.y = vy->data;
    args.reduction = (tess_reduction){.ndots = 1, .with = {vy->data}, .state = ctx->scratch_state};
    assert_ok(ctx, stored->ops->prepare(stored));
    assert_ok(ctx, stored->ops->spmv(stored, &args));
    read_vector(vy, out);
    assert_ok(ctx, ctx->backend->download(ctx, &state, ctx->scratch_state, sizeof state));
    for (int64_t i = 0; i < a->nrows; i++) {
        double product = 0.0;

        for (int64_t e = a->row_ptr[i]; e < a->row_ptr[i + 1]; e++) {
            product += a->val[e] * x[a->col_ind[e]];
        }
        wrong += out[i] != -0.5 * product + 2.0 * y[i];
        sum += out[i] * out[i];
    }
    assert_int_equal(wrong, 0);
    assert_at_most(fabs(state.dots[0] - sum), 2.0 * gamma_of((double)a->nrows) * sum);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    free(y);
    free(out);
}

/* So many chunks that blocks take several. */
static void large_matrices_are_multiplied_exactly(void **state)
{
    tess_context *ctx = open_device(0);

    (void)state;
    for (int scattered = 0; scattered < 2; scattered++) {
        oracle_csr a = make_large(scattered);
        tess_matrix *m = make_matrix(ctx, &a);
        double *x = test_allocate(a.ncols, sizeof *x);

        for (int64_t j = 0; j < a.ncols; j++) {
            x[j] = (double)(j % 1024 - 512);
        }
        for (int kind = 0; kind < KINDS; kind++) {
            const tess_storage_options o = kind_of(kind);

            if (scattered && o.split.base == TESS_FORMAT_DIA) { continue; } /* as many diagonals as there are rows */
            tess_matrix *stored = convert_layers(m, &o);
            double *y = layer_product(stored, x);
            int64_t wrong = 0;

            for (int64_t i = 0; i < a.nrows; i++) {
                double sum = 0.0;

                for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
                    sum += a.val[e] * x[a.col_ind[e]];
                }
                wrong += y[i] != sum;
            }
            assert_int_equal(wrong, 0);
            check_large(ctx, &a, stored, x);
            free(y);
            tess_matrix_destroy(stored);
        }
        free(x);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPLIT_BLOCK_TESTS,
        cmocka_unit_test(large_matrices_are_multiplied_exactly),
    };

    return run_gpu_tests(tests, NULL);
}
