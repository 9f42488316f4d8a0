/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products on the GPU: every kernel, its tails and plans. */
#include "support/gemv_cases.h"

static tess_context *gpu = NULL;

static void products_meet_their_bound(void **state)
{
    (void)state;
    check_gemv_everywhere(gpu);
}

static void specials_come_out_where_they_belong(void **state)
{
    (void)state;
    check_gemv_specials(gpu);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    check_gemv_refusals(gpu);
}

/* Shapes that reach every plan: many row tiles, several ranges of columns, more coefficients than fit at once, tails.
 */
static void plans_meet_their_bound(void **state)
{
    static const int64_t shapes[][2] = {{1000000, 9}, {1000003, 5}, {300000, 50}, {140000, 601},
                                        {2048, 2048}, {1025, 3001}, {300, 9000},  {40, 100000}};
    static const int64_t emulated[][2] = {{40000, 9}, {40003, 5},  {20000, 20}, {9000, 101},
                                          {512, 512}, {257, 1001}, {100, 3000}, {40, 10000}};
    static const tess_precision storages[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16,
                                              TESS_PRECISION_E5M2};

    (void)state;
    for (int combination = 0; combination < 32; combination++) {
        const int64_t *shape = gpu_is_emulated() ? emulated[combination % 8] : shapes[combination % 8];
        gemv_case c = {.a = storages[(combination + combination / 8) % 4],
                       .operation = combination / 8 % 2 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                       .nvec = 1 + combination / 16 % 2,
                       .arithmetic = (combination + combination / 8) % 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64,
                       .nrows = shape[0],
                       .ncols = shape[1],
                       .alpha = -1.0,
                       .beta = 1.0,
                       .scale_a = combination % 3 == 0};

        check_gemv(gpu, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_meet_their_bound),
        cmocka_unit_test(specials_come_out_where_they_belong),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(plans_meet_their_bound),
    };

    return run_gpu_tests(tests, &gpu);
}
