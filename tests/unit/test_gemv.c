/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products on the host. */
#include <tessera/dense.h>

#include "support/gemv_cases.h"

static void products_meet_their_bound(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_gemv_everywhere(ctx);
    tess_context_destroy(ctx);
}

static void specials_come_out_where_they_belong(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_gemv_specials(ctx);
    tess_context_destroy(ctx);
}

static void wrong_arguments_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    check_gemv_refusals(ctx);
    tess_context_destroy(ctx);
}

static void bits_do_not_depend_on_threads(void **state)
{
    static const int threads[] = {2, 3, 7};
    static const int64_t shapes[][2] = {{5000, 40}, {300, 2000}, {140000, 3}, {2048, 64}};

    (void)state;
    for (int combination = 0; combination < 16; combination++) {
        gemv_case c = {.a = combination % 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_BF16,
                       .arithmetic = combination / 2 % 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64,
                       .operation = combination / 4 % 2 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                       .nvec = 1 + combination / 8,
                       .alpha = 1.5,
                       .beta = 1.0};

        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            tess_context *one = open_cpu(1);
            double *alone = NULL;
            int64_t n = c.nvec;

            c.nrows = shapes[s][0];
            c.ncols = shapes[s][1];
            n *= c.operation == TESS_OP_TRANSPOSE ? c.ncols : c.nrows;
            alone = gemv_result(one, &c);
            for (int t = 0; t < 3; t++) {
                tess_context *many = open_cpu(threads[t]);
                double *together = gemv_result(many, &c);

                assert_true(same_bits(alone, together, n));
                free(together);
                tess_context_destroy(many);
            }
            free(alone);
            tess_context_destroy(one);
        }
    }
}

static void long_and_wide_products(void **state)
{
    static const int64_t shapes[][2] = {{300000, 9}, {70001, 130}, {40, 30000}};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int combination = 0; combination < 12; combination++) {
        gemv_case c = {.a = TESS_PRECISION_FP32,
                       .operation = combination / 3 % 2 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                       .nvec = 1 + combination / 6,
                       .nrows = shapes[combination % 3][0],
                       .ncols = shapes[combination % 3][1],
                       .alpha = -1.0,
                       .beta = 1.0,
                       .scale_a = true};

        check_gemv(ctx, &c);
    }
    tess_context_destroy(ctx);
}

static void vectors_are_views(void **state)
{
    double values[3] = {1.0, 2.0, 3.0};
    tess_context *ctx = open_cpu(1);
    tess_vector *v = make_vector(ctx, 3, values), *w = make_zeros(ctx, 1);
    tess_dense_view a = tess_dense_view_of(v), y = tess_dense_view_of(w);

    (void)state;
    assert_true(a.nrows == 3 && a.ncols == 1 && a.ld == 3 && a.precision == TESS_PRECISION_FP64 && !a.column_scale);
    assert_ptr_equal(a.data, tess_vector_data(v));
    assert_ok(ctx, tess_gemv(ctx, TESS_OP_TRANSPOSE, 2.0, &a, &a, 0.0, &y, TESS_ARITHMETIC_FP64));
    read_vector(w, values);
    assert_true(values[0] == 28.0);
    tess_vector_destroy(v);
    tess_vector_destroy(w);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_meet_their_bound),   cmocka_unit_test(specials_come_out_where_they_belong),
        cmocka_unit_test(wrong_arguments_are_refused), cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(long_and_wide_products),      cmocka_unit_test(vectors_are_views),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
