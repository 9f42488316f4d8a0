/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors on the GPU: transfer, sums that are the same on every run, range of norms, random numbers. */
#include "support/test.h"

static tess_context *gpu = NULL;

static const int64_t sizes[] = {0, 1, 31, 256, 257, 65536, 1000003};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void transfers_convert(void **state)
{
    double *values = random_values(5000, 1, -1e3, 1e3), *back = test_allocate(5000, sizeof *back);
    float *narrow = test_allocate(5000, sizeof *narrow);
    tess_vector *v = make_vector(gpu, 5000, values), *w = NULL;

    (void)state;
    read_vector(v, back);
    assert_true(same_bits(values, back, 5000));
    assert_ok(gpu, tess_vector_get(v, narrow, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    assert_ok(gpu, tess_vector_create(gpu, 5000, TESS_PRECISION_FP32, &w));
    assert_ok(gpu, tess_vector_copy(v, w));
    read_vector(w, back);
    for (int i = 0; i < 5000; i++) {
        assert_true(narrow[i] == (float)values[i] && back[i] == (double)narrow[i]);
    }
    assert_ok(gpu, tess_vector_set(v, tess_vector_data_const(w), TESS_PRECISION_FP32, TESS_MEMORY_DEVICE));
    read_vector(v, back);
    for (int i = 0; i < 5000; i++) {
        assert_true(back[i] == (double)narrow[i]);
    }
    tess_vector_destroy(v);
    tess_vector_destroy(w);
    free(values);
    free(back);
    free(narrow);
}

static void shadows_follow(void **state)
{
    double *values = random_values(3000, 1, -1.0, 1.0), *data = test_allocate(3000, sizeof *data);
    float *shadow = test_allocate(3000, sizeof *shadow);
    tess_vector *x = make_vector(gpu, 3000, values), *y = make_zeros(gpu, 3000), *peek = NULL;

    (void)state;
    assert_ok(gpu, tess_vector_add_shadow(y, TESS_PRECISION_FP32));
    assert_ok(gpu, tess_vector_wrap(gpu, 3000, TESS_PRECISION_FP32, (void *)(uintptr_t)tess_vector_shadow(y), &peek));
    for (int step = 0; step < 4; step++) {
        switch (step) {
        case 0: assert_ok(gpu, tess_vector_copy(x, y)); break;
        case 1: assert_ok(gpu, tess_vector_axpby(1.0 / 3.0, x, 0.7, y, TESS_ARITHMETIC_FP64)); break;
        case 2: assert_ok(gpu, tess_vector_set_random(y, 9, -1.0, 1.0)); break;
        default: assert_ok(gpu, tess_vector_fill(y, 0.1)); break;
        }
        read_vector(y, data);
        assert_ok(gpu, tess_vector_get(peek, shadow, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
        for (int i = 0; i < 3000; i++) {
            assert_true(shadow[i] == (float)data[i]);
        }
    }
    tess_vector_destroy(peek);
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    free(values);
    free(data);
    free(shadow);
}

static void sums_repeat_and_meet_their_bound(void **state)
{
    (void)state;
    for (int k = 0; k < SIZES; k++) {
        int64_t n = sizes[k];
        double *x = random_values(n, 21, -1.0, 1.0), *y = random_values(n, 22, -1.0, 1.0), magnitude = 0.0;
        tess_vector *vx = make_vector(gpu, n, x), *vy = make_vector(gpu, n, y);
        double dot = 0.0, norm = 0.0;

        assert_ok(gpu, tess_vector_dot(vx, vy, TESS_ARITHMETIC_FP64, &dot));
        assert_ok(gpu, tess_vector_norm2(vx, TESS_ARITHMETIC_FP64, &norm));
        for (int trial = 0; trial < 50; trial++) {
            double again = 0.0;

            assert_ok(gpu, tess_vector_dot(vx, vy, TESS_ARITHMETIC_FP64, &again));
            assert_true(again == dot);
        }
        for (int64_t i = 0; i < n; i++) {
            magnitude += fabs(x[i] * y[i]);
        }
        assert_at_most(fabs((double)((wide)dot - oracle_dot(x, y, n))),
                       gamma_of(ceil((double)n / 4096.0) + 4096.0) * magnitude);
        assert_at_most(fabs((double)((wide)norm - oracle_norm2(x, n))),
                       gamma_of(ceil((double)n / 4096.0) + 4098.0) * (double)oracle_norm2(x, n));
        tess_vector_destroy(vx);
        tess_vector_destroy(vy);
        free(x);
        free(y);
    }
}

static void norm_keeps_its_range(void **state)
{
    static const double scales[] = {0x1p-1074, 1e-310, 0x1p-600, 1.0, 0x1p512, 0x1p1020};

    (void)state;
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        double x[3] = {3.0 * scales[k], -4.0 * scales[k], 0.0}, norm = 0.0;
        tess_vector *v = make_vector(gpu, 3, x);

        assert_ok(gpu, tess_vector_norm2(v, TESS_ARITHMETIC_FP64, &norm));
        assert_at_most(fabs(norm / scales[k] - 5.0), 5.0 * 8.0 * U64);
        tess_vector_destroy(v);
    }
}

static void random_numbers_are_the_hosts(void **state)
{
    enum { N = 100000 };
    double *here = test_allocate(N, sizeof *here), *there = test_allocate(N, sizeof *there);
    tess_context *cpu = open_cpu(2);
    tess_vector *v = make_zeros(gpu, N), *w = make_zeros(cpu, N);

    (void)state;
    assert_ok(gpu, tess_vector_set_random(v, 77, -2.0, 3.0));
    assert_ok(cpu, tess_vector_set_random(w, 77, -2.0, 3.0));
    read_vector(v, there);
    read_vector(w, here);
    assert_true(same_bits(here, there, N));
    tess_vector_destroy(v);
    tess_vector_destroy(w);
    tess_context_destroy(cpu);
    free(here);
    free(there);
}

static void axpby_with_beta_zero_does_not_read_y(void **state)
{
    double x[2] = {1.0, 2.0}, y[2] = {(double)NAN, HUGE_VAL};
    tess_vector *vx = make_vector(gpu, 2, x), *vy = make_vector(gpu, 2, y);

    (void)state;
    assert_ok(gpu, tess_vector_axpby(3.0, vx, 0.0, vy, TESS_ARITHMETIC_FP64));
    read_vector(vy, y);
    assert_true(y[0] == 3.0 && y[1] == 6.0);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_convert),
        cmocka_unit_test(shadows_follow),
        cmocka_unit_test(sums_repeat_and_meet_their_bound),
        cmocka_unit_test(norm_keeps_its_range),
        cmocka_unit_test(random_numbers_are_the_hosts),
        cmocka_unit_test(axpby_with_beta_zero_does_not_read_y),
    };

    return run_gpu_tests(tests, &gpu);
}
