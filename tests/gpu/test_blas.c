/* SPDX-License-Identifier: Apache-2.0 */
/* The vector operations on the GPU: every precision, pair of precisions and arithmetic, aligned and not, short and
 * long. */
#include "support/blas.h"

static tess_context *gpu;

static void every_combination(void **state)
{
    (void)state;
    check_blas_combinations(gpu);
}

/* Long enough for every thread of a large GPU to have all its loads in flight, with a rest that they do not divide. */
static void long_vectors(void **state)
{
    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        const int64_t packs = on_gpu_or_emulated(1200007, 60007),
                      count = 16 / (int64_t)tess_precision_bytes((tess_precision)p);
        blas_case c = {packs * count + count - 1, (tess_precision)p, (tess_precision)p,
                       p % 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64, 0};

        check_blas(gpu, &c);
    }
}

static void long_vectors_of_two_precisions_or_out_of_line(void **state)
{
    static const blas_case cases[] = {
        {1200003, TESS_PRECISION_FP32, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64, 0},
        {1200003, TESS_PRECISION_FP64, TESS_PRECISION_E5M2, TESS_ARITHMETIC_FP32, 0},
        {1200003, TESS_PRECISION_FP64, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64, 1},
        {1200003, TESS_PRECISION_FP16, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64, 3},
        {1200003, TESS_PRECISION_E4M3, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32, 2},
    };

    (void)state;
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        blas_case c = cases[k];

        c.n = on_gpu_or_emulated(c.n, c.n / 20);
        check_blas(gpu, &c);
    }
}

static void conversions(void **state)
{
    (void)state;
    check_conversions(gpu);
}

static void range(void **state)
{
    (void)state;
    check_blas_range(gpu);
}

static void shadows(void **state)
{
    (void)state;
    check_blas_shadows(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination),
        cmocka_unit_test(long_vectors),
        cmocka_unit_test(long_vectors_of_two_precisions_or_out_of_line),
        cmocka_unit_test(conversions),
        cmocka_unit_test(range),
        cmocka_unit_test(shadows),
    };

    return run_gpu_tests(tests, &gpu);
}
