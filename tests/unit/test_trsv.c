/* SPDX-License-Identifier: Apache-2.0 */
/* Dense triangular solves on the host: residual bounds in every variant, exact cases, refused arguments. */
#include <tessera/dense.h>

#include "support/trsv.h"

static tess_context *cpu = NULL;

static void meets_its_bound(void **state)
{
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 100, 257, 1000};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        check_trsv_all(cpu, sizes[s]);
    }
}

static void takes_any_layout(void **state)
{
    (void)state;
    for (int s = 0; s < TESS_PRECISION_COUNT; s++) {
        check_trsv_layout(cpu, 130, (tess_precision)s, 14, 1);
    }
}

static void is_exact_on_integers(void **state)
{
    (void)state;
    check_trsv_exact(cpu, 1);
    check_trsv_exact(cpu, 200);
}

static void shows_a_zero_pivot(void **state)
{
    (void)state;
    check_trsv_zero_pivot(cpu, 100, 0);
    check_trsv_zero_pivot(cpu, 100, 70);
    check_trsv_zero_pivot(cpu, 200, 199);
}

static void does_not_depend_on_threads(void **state)
{
    tess_context *many = open_cpu(4), *one = open_cpu(1);
    double x[1500], y[1500];

    (void)state;
    check_trsv_repeats(cpu, 300);
    for (int k = 0; k < 8; k++) {
        tess_trsv_options options = {.triangle = k & 1 ? TESS_UPPER : TESS_LOWER,
                                     .operation = k & 2 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                                     .arithmetic = k & 4 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};

        trsv_sample(one, &options, 1500, TESS_PRECISION_FP32, x);
        trsv_sample(many, &options, 1500, TESS_PRECISION_FP32, y);
        assert_true(same_bits(x, y, 1500));
    }
    tess_context_destroy(many);
    tess_context_destroy(one);
}

static void narrow_inversion_is_less_accurate(void **state)
{
    double wide[256], narrow[256], largest = 0.0;

    (void)state;
    trsv_sample(cpu, &(tess_trsv_options){.inversion = TESS_ARITHMETIC_FP64}, 256, TESS_PRECISION_FP32, wide);
    trsv_sample(cpu, &(tess_trsv_options){.inversion = TESS_ARITHMETIC_FP32}, 256, TESS_PRECISION_FP32, narrow);
    for (int i = 0; i < 256; i++) {
        largest = fmax(largest, fabs(wide[i] - narrow[i]));
    }
    assert_true(largest > 1e-9); /* the option has an effect */
    assert_at_most(largest, 1e-4);
}

static void refuses_wrong_arguments(void **state)
{
    double values[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, vector[3] = {1.0, 2.0, 3.0}, scale[1] = {2.0};
    const tess_trsv_options options = {0};
    const tess_dense_view a = {3, 3, 3, TESS_PRECISION_FP64, values, NULL};
    const tess_dense_view x = {3, 1, 3, TESS_PRECISION_FP64, vector, NULL};
    tess_dense_view bad = a;
    tess_trsv_options unknown = options;

    (void)state;
    assert_ok(cpu, tess_trsv(cpu, &options, &a, &x));
    assert_true(vector[0] == 1.0 && vector[1] == 2.0 && vector[2] == 3.0);
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, NULL, &a, &x));
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, &options, NULL, &x));
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, &options, &a, NULL));
    bad.ncols = 2;
    assert_fails(cpu, TESS_DIMENSION_MISMATCH, tess_trsv(cpu, &options, &bad, &x));
    bad = a;
    bad.ld = 2;
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, &options, &bad, &x));
    bad = a;
    bad.data = NULL;
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, &options, &bad, &x));
    bad = a;
    bad.precision = (tess_precision)17;
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, &options, &bad, &x));
    bad = x;
    bad.nrows = 2;
    assert_fails(cpu, TESS_DIMENSION_MISMATCH, tess_trsv(cpu, &options, &a, &bad));
    bad = x;
    bad.column_scale = scale;
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, &options, &a, &bad));
    unknown.operation = (tess_operation)3;
    assert_fails(cpu, TESS_INVALID_ARGUMENT, tess_trsv(cpu, &unknown, &a, &x));
}

static void does_nothing_at_size_zero(void **state)
{
    const tess_trsv_options options = {0};
    const tess_dense_view a = {0, 0, 0, TESS_PRECISION_FP32, NULL, NULL},
                          x = {0, 1, 0, TESS_PRECISION_FP64, NULL, NULL};

    (void)state;
    assert_ok(cpu, tess_trsv(cpu, &options, &a, &x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meets_its_bound),
        cmocka_unit_test(takes_any_layout),
        cmocka_unit_test(is_exact_on_integers),
        cmocka_unit_test(shows_a_zero_pivot),
        cmocka_unit_test(does_not_depend_on_threads),
        cmocka_unit_test(narrow_inversion_is_less_accurate),
        cmocka_unit_test(refuses_wrong_arguments),
        cmocka_unit_test(does_nothing_at_size_zero),
    };
    int failed;

    cpu = open_cpu(2);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(cpu);
    return failed;
}
