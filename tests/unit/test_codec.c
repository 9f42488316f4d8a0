/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding and decoding of each precision against slow oracles: every code, and every place where a rounding turns. */
#include <float.h>

#include "support/formats.h"
#include "support/test.h"

static const tess_overflow overflows[] = {TESS_OVERFLOW_INFINITY, TESS_OVERFLOW_SATURATE};

/* Memory for one value of any precision. */
typedef union cell {
    double fp64;
    float fp32;
    uint16_t bits16;
    uint8_t bits8;
} cell;

static unsigned code_in(tess_precision precision, const cell *c)
{
    return tess_storage_bytes(precision) == 1 ? c->bits8 : c->bits16;
}

static unsigned encode_double(tess_precision precision, double value, tess_overflow overflow)
{
    cell c = {0.0};

    tess_store(precision, &c, 0, value, overflow);
    return code_in(precision, &c);
}

static unsigned encode_float(tess_precision precision, float value, tess_overflow overflow)
{
    cell c = {0.0};

    tess_store_float(precision, &c, 0, value, overflow);
    return code_in(precision, &c);
}

static cell cell_of(tess_precision precision, unsigned code)
{
    cell c = {0.0};

    if (tess_storage_bytes(precision) == 1) {
        c.bits8 = (uint8_t)code;
    } else {
        c.bits16 = (uint16_t)code;
    }
    return c;
}

static double decode(tess_precision precision, unsigned code)
{
    cell c = cell_of(precision, code);

    return tess_load(precision, &c, 0);
}

static float decode_float(tess_precision precision, unsigned code)
{
    cell c = cell_of(precision, code);

    return tess_load_float(precision, &c, 0);
}

/* The same number with the same sign, or both NaN with the same sign. */
static bool same_value(double a, double b)
{
    return (isnan(a) ? isnan(b) : a == b) && !signbit(a) == !signbit(b);
}

static void every_code_is_decoded(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL_FORMATS; k++) {
        const small_format *f = &small_formats[k];

        for (unsigned code = 0; code < format_codes(f); code++) {
            double expected = format_value(f, code);

            assert_true(same_value(decode(f->precision, code), expected));
            assert_true(same_value((double)decode_float(f->precision, code), expected));
        }
    }
}

static void every_code_survives(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL_FORMATS; k++) {
        const small_format *f = &small_formats[k];

        for (unsigned code = 0; code < format_codes(f); code++) {
            double value = decode(f->precision, code);
            unsigned expected = isnan(value) ? (code & format_sign(f)) | f->nan : code;

            for (int o = 0; o < 2; o++) {
                assert_int_equal(encode_double(f->precision, value, overflows[o]), expected);
                assert_int_equal(encode_float(f->precision, (float)value, overflows[o]), expected);
            }
        }
    }
}

/* `value`, and where it is an FP32 number that too, encodes as the oracle says. */
static void check_encoding(const small_format *f, double value)
{
    for (int o = 0; o < 2; o++) {
        unsigned expected = format_encode(f, value, overflows[o]),
                 found = encode_double(f->precision, value, overflows[o]);

        if (found != expected) {
            print_error("%s of %a: 0x%x, not 0x%x\n", tess_precision_name(f->precision), value, found, expected);
        }
        assert_int_equal(found, expected);
        if ((double)(float)value == value || isnan(value)) {
            assert_int_equal(encode_float(f->precision, (float)value, overflows[o]), expected);
        }
    }
}

static void rounding_turns_at_midpoints(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL_FORMATS; k++) {
        int64_t count = format_boundaries(&small_formats[k], NULL);
        double *values = test_allocate(count, sizeof *values);

        format_boundaries(&small_formats[k], values);
        for (int64_t i = 0; i < count; i++) {
            check_encoding(&small_formats[k], values[i]);
        }
        free(values);
    }
}

static void special_values_are_encoded(void **state)
{
    int64_t count = special_values(NULL);
    double *values = test_allocate(count, sizeof *values);

    (void)state;
    special_values(values);
    for (int k = 0; k < SMALL_FORMATS; k++) {
        for (int64_t i = 0; i < count; i++) {
            check_encoding(&small_formats[k], values[i]);
        }
    }
    free(values);
}

static void random_bits_are_encoded(void **state)
{
    uint64_t seed = 11;

    (void)state;
    for (int trial = 0; trial < 500000; trial++) {
        double value = random_bits_double(&seed);

        for (int k = 0; k < SMALL_FORMATS; k++) {
            check_encoding(&small_formats[k], value);
        }
    }
}

/* The promises of the header. */
static void overflow_is_as_documented(void **state)
{
    const tess_overflow inf = TESS_OVERFLOW_INFINITY, sat = TESS_OVERFLOW_SATURATE;

    (void)state;
    assert_int_equal(tess_e4m3_from_double(464.0, inf), 0x7e); /* halfway between 448 and 480: the even code */
    assert_int_equal(tess_e4m3_from_double(nextafter(464.0, 500.0), inf), 0x7f);
    assert_int_equal(tess_e4m3_from_double(nextafter(464.0, 500.0), sat), 0x7e);
    assert_int_equal(tess_e4m3_from_double(-1e300, sat), 0xfe);
    assert_int_equal(tess_e4m3_from_double(-HUGE_VAL, sat), 0xff);
    assert_int_equal(tess_e5m2_from_double(61440.0, inf), 0x7c);
    assert_int_equal(tess_e5m2_from_double(61440.0, sat), 0x7b);
    assert_int_equal(tess_e5m2_from_double(HUGE_VAL, sat), 0x7c);
    assert_int_equal(tess_fp16_from_double(65520.0, inf), 0x7c00);
    assert_int_equal(tess_fp16_from_double(nextafter(65520.0, 0.0), inf), 0x7bff);
    assert_int_equal(tess_bf16_from_double(-DBL_MAX, inf), 0xff80);
    assert_int_equal(tess_bf16_from_double(-DBL_MAX, sat), 0xff7f);
    assert_true(tess_fp32_from_double(1e39, sat) == FLT_MAX);
    assert_true(tess_fp32_from_double(-1e39, inf) == -HUGE_VALF);
    assert_true(tess_fp32_from_double(-HUGE_VAL, sat) == -HUGE_VALF);
}

static void check_fp32(double value)
{
    for (int o = 0; o < 2; o++) {
        float found = tess_fp32_from_double(value, overflows[o]), expected = fp32_encode(value, overflows[o]);

        assert_true(same_value((double)found, (double)expected));
    }
}

/* Rounded to odd: `value` itself, or the one of its two neighbours whose significand is odd. */
static void check_round_to_odd(double value)
{
    float odd = tess_round_to_odd(value);

    assert_true(!signbit(odd) == !signbit(value));
    if (isnan(value)) {
        assert_true(isnan(odd));
    } else if (isinf(value) || (fabs(value) <= (double)FLT_MAX && (double)fp32_encode(value, overflows[0]) == value)) {
        assert_true((double)odd == value);
    } else {
        assert_true(tess_float_bits(odd) & 1U);
        assert_true((double)nextafterf(odd, -HUGE_VALF) < value && value < (double)nextafterf(odd, HUGE_VALF));
    }
}

static void fp32_rounds_once(void **state)
{
    enum { FLOATS = 100000 };
    int64_t count = fp32_boundaries(FLOATS, NULL), specials = special_values(NULL);
    double *values = test_allocate(count + specials, sizeof *values);
    uint64_t seed = 12;

    (void)state;
    fp32_boundaries(FLOATS, values);
    special_values(values + count);
    for (int64_t i = 0; i < count + specials; i++) {
        check_fp32(values[i]);
        check_round_to_odd(values[i]);
    }
    for (int trial = 0; trial < 2000000; trial++) {
        double value = random_bits_double(&seed);

        check_fp32(value);
        check_round_to_odd(value);
    }
    free(values);
}

/* The property that encoding needs: a later rounding to a small format equals one rounding. Covered above; here the
   sign. */
static void nan_keeps_its_sign(void **state)
{
    double plus = tess_double_of_bits(0x7ff8000000000000), minus = tess_double_of_bits(0xfff8000000000000);

    (void)state;
    assert_int_equal(tess_float_bits(tess_round_to_odd(plus)) >> 31, 0);
    assert_int_equal(tess_float_bits(tess_round_to_odd(minus)) >> 31, 1);
    assert_int_equal(tess_bf16_from_double(minus, TESS_OVERFLOW_INFINITY), 0xffc0);
    assert_int_equal(tess_e4m3_from_double(plus, TESS_OVERFLOW_SATURATE), 0x7f);
    assert_true(isnan(tess_fp32_from_double(minus, TESS_OVERFLOW_SATURATE)));
}

/* Element 2 of five, by each function; its neighbours do not change. */
static void elements_are_loaded_and_stored(void **state)
{
    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_precision precision = (tess_precision)p;
        size_t bytes = tess_storage_bytes(precision);
        unsigned char memory[5 * sizeof(double)], before[5 * sizeof(double)];

        assert_int_equal(bytes, tess_precision_bytes(precision));
        memset(memory, 0x3a, sizeof memory);
        memcpy(before, memory, sizeof memory);
        tess_store(precision, memory, 2, -1.75, TESS_OVERFLOW_INFINITY);
        assert_true(tess_load(precision, memory, 2) == -1.75);
        assert_true(tess_load_float(precision, memory, 2) == -1.75F);
        tess_store_float(precision, memory, 2, 0.625F, TESS_OVERFLOW_INFINITY);
        assert_true(tess_load(precision, memory, 2) == 0.625);
        assert_memory_equal(memory, before, 2 * bytes);
        assert_memory_equal(memory + 3 * bytes, before + 3 * bytes, 2 * bytes);
    }
    assert_int_equal(tess_storage_bytes((tess_precision)99), 0);
}

static void fp64_is_itself(void **state)
{
    double stored = 0.0, third = 1.0 / 3.0;

    (void)state;
    tess_store(TESS_PRECISION_FP64, &stored, 0, third, TESS_OVERFLOW_SATURATE);
    assert_true(tess_load(TESS_PRECISION_FP64, &stored, 0) == third);
    assert_true(tess_load_float(TESS_PRECISION_FP64, &stored, 0) == fp32_encode(third, TESS_OVERFLOW_INFINITY));
    tess_store_float(TESS_PRECISION_FP64, &stored, 0, 0.1F, TESS_OVERFLOW_INFINITY);
    assert_true(stored == (double)0.1F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_is_decoded),
        cmocka_unit_test(every_code_survives),
        cmocka_unit_test(rounding_turns_at_midpoints),
        cmocka_unit_test(special_values_are_encoded),
        cmocka_unit_test(random_bits_are_encoded),
        cmocka_unit_test(overflow_is_as_documented),
        cmocka_unit_test(fp32_rounds_once),
        cmocka_unit_test(nan_keeps_its_sign),
        cmocka_unit_test(elements_are_loaded_and_stored),
        cmocka_unit_test(fp64_is_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
