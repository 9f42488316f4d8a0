/* SPDX-License-Identifier: Apache-2.0 */
/* The accessor for C against plain arrays: where elements lie, in which precision, with which scale. */
#undef NDEBUG /* the checks are tested too */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tessera/accessor.h>

#include "support/formats.h"
#include "support/test.h"

enum { MAX = 240 };

/* Element (i, j, k, l) of a range of any rank; indices beyond the rank are 0. */
static double get(tess_range r, const int64_t *at)
{
    switch (r.rank) {
    case 1: return tess_range_get1(r, at[0]);
    case 2: return tess_range_get2(r, at[0], at[1]);
    case 3: return tess_range_get3(r, at[0], at[1], at[2]);
    default: return tess_range_get4(r, at[0], at[1], at[2], at[3]);
    }
}

static void set(tess_range r, const int64_t *at, double value)
{
    switch (r.rank) {
    case 1: tess_range_set1(r, at[0], value); break;
    case 2: tess_range_set2(r, at[0], at[1], value); break;
    case 3: tess_range_set3(r, at[0], at[1], at[2], value); break;
    default: tess_range_set4(r, at[0], at[1], at[2], at[3], value); break;
    }
}

/* The indices after `at` in row-major order; false after the last. */
static bool advance(tess_range r, int64_t *at)
{
    for (int d = r.rank - 1; d >= 0; d--) {
        if (++at[d] < r.length[d]) { return true; }
        at[d] = 0;
    }
    return false;
}

/* Sets each element to its number, and looks for it where `stride` says. */
static void check_layout(tess_range r, const double *data, const int64_t *stride)
{
    int64_t at[4] = {0}, number = 0;

    do {
        set(r, at, (double)++number);
    } while (advance(r, at));
    number = 0;
    do {
        int64_t offset = 0;

        for (int d = 0; d < r.rank; d++) {
            offset += at[d] * stride[d];
        }
        assert_true(data[offset] == (double)++number);
        assert_true(get(r, at) == (double)number);
    } while (advance(r, at));
}

static void layouts_are_as_documented(void **state)
{
    static const int64_t length[4] = {2, 3, 4, 5};
    static const int64_t row_major[4][4] = {{1}, {3, 1}, {12, 4, 1}, {60, 20, 5, 1}};
    static const int64_t column_major[4][4] = {{0}, {1, 2}, {12, 1, 3}, {60, 20, 1, 4}};
    static const int64_t padded[4] = {100, 30, 7, 1}, padded_columns[4] = {100, 30, 1, 6};
    double data[MAX];

    (void)state;
    for (int rank = 1; rank <= 4; rank++) {
        check_layout(tess_range_row_major(data, TESS_PRECISION_FP64, rank, length, NULL), data, row_major[rank - 1]);
        if (rank == 1) { continue; }
        check_layout(tess_range_block_column_major(data, TESS_PRECISION_FP64, rank, length, NULL), data,
                     column_major[rank - 1]);
    }
    check_layout(tess_range_row_major(data, TESS_PRECISION_FP64, 4, length, padded), data, padded);
    check_layout(tess_range_block_column_major(data, TESS_PRECISION_FP64, 4, length, padded_columns), data,
                 padded_columns);
    check_layout(tess_range_vector(data, TESS_PRECISION_FP64, 50), data, row_major[0]);
    check_layout(tess_range_matrix(data, TESS_PRECISION_FP64, 3, 4, 9), data, (const int64_t[]){9, 1});
}

static void values_are_those_of_the_codec(void **state)
{
    union {
        double first;
        unsigned char bytes[8 * 16];
    } memory, expected;
    uint64_t seed = 21;

    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_range r = tess_range_matrix(&memory, (tess_precision)p, 2, 3, 5);

        memset(&memory, 0x11, sizeof memory);
        memset(&expected, 0x11, sizeof expected);
        for (int trial = 0; trial < 2000; trial++) {
            double value = random_bits_double(&seed);
            int i = trial % 2, j = trial % 3;

            r.overflow = trial % 5 ? TESS_OVERFLOW_INFINITY : TESS_OVERFLOW_SATURATE;
            tess_range_set2(r, i, j, value);
            tess_store((tess_precision)p, &expected, i * 5 + j, value, r.overflow);
            assert_memory_equal(&memory, &expected, sizeof memory);
            value = tess_load((tess_precision)p, &memory, i * 5 + j);
            if (isnan(value)) { continue; }
            assert_true(tess_range_get2(r, i, j) == value);
            assert_true(tess_range_getf2(r, i, j) == (float)value);
            tess_range_setf2(r, i, j, (float)trial);
            tess_store_float((tess_precision)p, &expected, i * 5 + j, (float)trial, r.overflow);
            assert_memory_equal(&memory, &expected, sizeof memory);
        }
    }
}

static void adding_reads_and_writes(void **state)
{
    uint16_t data[24] = {0};
    const int64_t length[4] = {2, 1, 3, 4};
    tess_range r = tess_range_row_major(data, TESS_PRECISION_BF16, 4, length, NULL);

    (void)state;
    tess_range_set4(r, 1, 0, 2, 3, 1.0);
    tess_range_add4(r, 1, 0, 2, 3, 0.5);
    tess_range_add4(r, 1, 0, 2, 3, 0x1p-20); /* less than half a place: 1.5 stays */
    assert_int_equal(data[23], 0x3fc0);
    r = tess_range_part(r, 0, 1, 2);
    tess_range_add4(r, 0, 0, 2, 3, 0.5);
    assert_int_equal(data[23], 0x4000);
}

/* scale[row], scale[column], scale[row][column], one scale: each multiplies the stored value. */
static void scales_vary_as_the_mask_says(void **state)
{
    static const double scale[12] = {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0};
    static const int64_t by_row[4] = {0, 1, 0, 1}, by_column[4] = {0, 0, 1, 4};
    uint8_t data[12];

    (void)state;
    for (unsigned mask = 0; mask < 4; mask++) {
        tess_range r = tess_range_scaled(tess_range_matrix(data, TESS_PRECISION_E4M3, 3, 4, 4), scale, mask);
        tess_range plain = tess_range_matrix(data, TESS_PRECISION_E4M3, 3, 4, 4);
        int64_t row = by_row[mask], column = by_column[mask] != 0;

        if (mask == 3) { row = 4; }
        for (int64_t i = 0; i < 3; i++) {
            for (int64_t j = 0; j < 4; j++) {
                double s = scale[i * row + j * column];
                tess_range part = tess_range_part(tess_range_part(r, 0, i, 3), 1, j, 4);

                tess_range_set2(r, i, j, 3.1 * s);
                assert_true(tess_range_get2(plain, i, j) == 3.0); /* the nearest of 2.75, 3, 3.25 */
                assert_true(tess_range_get2(r, i, j) == 3.0 * s);
                assert_true(tess_range_getf2(r, i, j) == (float)(3.0 * s));
                tess_range_setf2(r, i, j, (float)(5.0 * s));
                assert_true(tess_range_get2(part, 0, 0) == 5.0 * s);
                assert_int_equal(tess_range_length(part, 1), 4 - j);
            }
        }
    }
}

static void parts_are_views(void **state)
{
    double data[24] = {0.0};
    const int64_t length[3] = {2, 3, 4};
    tess_range r = tess_range_row_major(data, TESS_PRECISION_FP64, 3, length, NULL);
    tess_range part = tess_range_part(tess_range_part(tess_range_part(r, 0, 1, 2), 1, 1, 3), 2, 3, 4);

    (void)state;
    assert_int_equal(tess_range_length(part, 0), 1);
    assert_int_equal(tess_range_length(part, 1), 2);
    assert_int_equal(tess_range_length(part, 2), 1);
    tess_range_set3(part, 0, 1, 0, 7.0);
    assert_true(data[12 + 2 * 4 + 3] == 7.0);
    assert_int_equal(tess_range_length(tess_range_part(r, 2, 4, 4), 2), 0);
    part = tess_range_part(tess_range_block_column_major(data, TESS_PRECISION_FP64, 3, length, NULL), 2, 1, 3);
    tess_range_set3(part, 1, 2, 1, 9.0);
    assert_true(data[12 + 2 + 2 * 3] == 9.0);
    assert_true(tess_range_get3(tess_range_fixed(part, TESS_PRECISION_FP64), 1, 2, 1) == 9.0);
}

/* The largest finite value, by the definition of the precision. */
static double largest_finite(tess_precision precision)
{
    for (int k = 0; k < SMALL_FORMATS; k++) {
        const small_format *f = &small_formats[k];

        if (f->precision == precision) { return format_grid(f, format_special(f) - 1); }
    }
    return precision == TESS_PRECISION_FP32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
}

/* Half the largest of a precision is below largest / scale, which stays finite; any smaller scale would overflow. */
static void scale_fills_the_top_binade(void **state)
{
    uint64_t seed = 22;

    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        const double most = largest_finite((tess_precision)p);

        for (int trial = 0; trial < 20000; trial++) {
            double largest = random_bits_double(&seed), scale, stored;
            int exponent = 0;

            if (trial < 10) { largest = most * (trial % 2 ? 1.0 : 0.25); }
            scale = tess_scale_for((tess_precision)p, largest);
            if (isnan(largest) || isinf(largest) || largest == 0.0) {
                assert_true(scale == 1.0);
                continue;
            }
            assert_true(frexp(scale, &exponent) == 0.5 && scale >= 0x1p-1022);
            stored = fabs(largest) / scale;
            assert_true(stored <= most);
            if (scale > 0x1p-1022) { assert_true(stored * 2.0 > most); }
        }
        assert_true(tess_scale_for((tess_precision)p, -most) == 1.0);
    }
    assert_true(tess_scale_for(TESS_PRECISION_E4M3, 1.0) == 0x1p-8);
    assert_true(tess_scale_for(TESS_PRECISION_E4M3, 1.875) == 0x1p-7);
    assert_true(tess_scale_for(TESS_PRECISION_FP16, HUGE_VAL) == 1.0);
}

/* Whether reading element (i, j) ends the program by assert. */
static bool is_refused(tess_range r, int64_t i, int64_t j)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        volatile double value;

        fclose(stderr);
        signal(SIGABRT, SIG_DFL);
        value = tess_range_get2(r, i, j);
        _exit(value > 1e300);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void bounds_are_checked(void **state)
{
    float data[20] = {0.0F};
    tess_range r = tess_range_matrix(data, TESS_PRECISION_FP32, 3, 4, 5);

    (void)state;
    assert_false(is_refused(r, 2, 3));
    assert_true(is_refused(r, 3, 0));
    assert_true(is_refused(r, 0, 4)); /* in memory, between two rows */
    assert_true(is_refused(r, -1, 0));
    assert_true(is_refused(tess_range_part(r, 1, 0, 2), 0, 2));
    assert_true(is_refused(tess_range_vector(data, TESS_PRECISION_FP32, 20), 0, 0)); /* one dimension, not two */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_as_documented), cmocka_unit_test(values_are_those_of_the_codec),
        cmocka_unit_test(adding_reads_and_writes),   cmocka_unit_test(scales_vary_as_the_mask_says),
        cmocka_unit_test(parts_are_views),           cmocka_unit_test(scale_fills_the_top_binade),
        cmocka_unit_test(bounds_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
