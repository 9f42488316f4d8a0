/* SPDX-License-Identifier: Apache-2.0 */
/* Traits of the storage precisions, and tess_precision_holds against a decoding of every 8- and 16-bit pattern. */
#include "support/formats.h"
#include "support/test.h"

static void every_pattern_is_held(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL_FORMATS; k++) {
        for (unsigned pattern = 0; pattern < format_codes(&small_formats[k]); pattern++) {
            assert_int_equal(tess_precision_holds(small_formats[k].precision, format_value(&small_formats[k], pattern)),
                             1);
        }
    }
}

/* Neighbours in FP64 and midpoints between two neighbours of the format are not values of the format. */
static void nothing_between_patterns_is_held(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL_FORMATS; k++) {
        const small_format *l = &small_formats[k];

        for (unsigned pattern = 0; pattern + 1 < format_codes(l) / 2; pattern++) {
            double value = format_value(l, pattern), next = format_value(l, pattern + 1);

            if (isnan(value) || isinf(value)) { continue; }
            assert_int_equal(tess_precision_holds(l->precision, nextafter(value, HUGE_VAL)), 0);
            assert_int_equal(tess_precision_holds(l->precision, -nextafter(value, HUGE_VAL)), 0);
            if (value > 0.0) { assert_int_equal(tess_precision_holds(l->precision, nextafter(value, 0.0)), 0); }
            if (!isnan(next) && !isinf(next)) {
                assert_int_equal(tess_precision_holds(l->precision, (value + next) / 2.0), 0);
            }
        }
    }
}

/* Sweeps values of few significant bits over all exponents: held exactly when some pattern decodes to them. */
static void holds_agrees_with_the_set_of_patterns(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) { /* the 8-bit formats: a search over all patterns is affordable */
        const small_format *l = &small_formats[k];

        for (int exponent = -30; exponent <= 20; exponent++) {
            for (int significand = 1; significand < 64; significand += 2) {
                double value = ldexp(significand, exponent);
                int found = 0;

                for (unsigned pattern = 0; pattern < format_codes(l); pattern++) {
                    found |= format_value(l, pattern) == value;
                }
                assert_int_equal(tess_precision_holds(l->precision, value), found);
            }
        }
    }
}

static void fp32_agrees_with_the_compiler(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int trial = 0; trial < 200000; trial++) {
        uint64_t bits = oracle_random_bits(&seed);
        double value;

        if (trial % 2) { bits &= ~((UINT64_C(1) << 28) - 1) << (oracle_random_bits(&seed) % 4); }
        memcpy(&value, &bits, sizeof value);
        if (isnan(value) || fabs(value) > 0x1.fffffep127) { continue; }
        assert_int_equal(tess_precision_holds(TESS_PRECISION_FP32, value), (double)(float)value == value);
    }
    assert_int_equal(tess_precision_holds(TESS_PRECISION_FP32, 0x1p-149), 1);
    assert_int_equal(tess_precision_holds(TESS_PRECISION_FP32, 0x1.8p-149), 0);
    assert_int_equal(tess_precision_holds(TESS_PRECISION_FP32, 0x1p-150), 0);
    assert_int_equal(tess_precision_holds(TESS_PRECISION_FP32, 0x1p128), 0);
}

static void fp64_holds_all(void **state)
{
    static const double values[] = {0.0, -0.0, 0x1p-1074, 0x1.fffffffffffffp1023, 1.0 / 3.0, -HUGE_VAL};

    (void)state;
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        assert_int_equal(tess_precision_holds(TESS_PRECISION_FP64, values[k]), 1);
    }
    assert_int_equal(tess_precision_holds(TESS_PRECISION_FP64, (double)NAN), 1);
    assert_int_equal(tess_precision_holds(TESS_PRECISION_E4M3, HUGE_VAL), 0);
    assert_int_equal(tess_precision_holds(TESS_PRECISION_E4M3, (double)NAN), 1);
    assert_int_equal(tess_precision_holds((tess_precision)99, 1.0), 0);
    assert_int_equal(tess_precision_holds((tess_precision)99, 0.0), 0);
    assert_int_equal(tess_precision_holds((tess_precision)99, (double)NAN), 0);
}

static void traits_match_the_formats(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL_FORMATS; k++) {
        const small_format *l = &small_formats[k];

        assert_int_equal(tess_precision_bytes(l->precision) * 8, 1 + l->exponent_bits + l->fraction_bits);
        assert_true(tess_precision_unit_roundoff(l->precision) == ldexp(1.0, -l->fraction_bits - 1));
    }
    assert_int_equal(tess_precision_bytes(TESS_PRECISION_FP64), 8);
    assert_int_equal(tess_precision_bytes(TESS_PRECISION_FP32), 4);
    assert_true(tess_precision_unit_roundoff(TESS_PRECISION_FP64) == 0x1p-53);
    assert_true(tess_precision_unit_roundoff(TESS_PRECISION_FP32) == 0x1p-24);
    assert_int_equal(tess_precision_bytes((tess_precision)99), 0);
    assert_true(isnan(tess_precision_unit_roundoff((tess_precision)99)));
    assert_true(tess_precision_smallest(TESS_PRECISION_FP64) == 0x1p-1074);
    assert_true(tess_precision_smallest(TESS_PRECISION_FP32) == 0x1p-149);
    assert_true(tess_precision_smallest(TESS_PRECISION_BF16) == 0x1p-133);
    assert_true(tess_precision_smallest(TESS_PRECISION_FP16) == 0x1p-24);
    assert_true(tess_precision_smallest(TESS_PRECISION_E4M3) == 0x1p-9);
    assert_true(tess_precision_smallest(TESS_PRECISION_E5M2) == 0x1p-16);
    assert_true(isnan(tess_precision_smallest((tess_precision)99)));
}

static void names_are_parsed(void **state)
{
    tess_precision p = TESS_PRECISION_E5M2;

    (void)state;
    for (int k = 0; k < TESS_PRECISION_COUNT; k++) {
        assert_int_equal(tess_precision_parse(tess_precision_name((tess_precision)k), &p), TESS_SUCCESS);
        assert_int_equal(p, k);
    }
    assert_int_equal(tess_precision_parse("fp65", &p), TESS_INVALID_ARGUMENT);
    assert_int_equal(p, TESS_PRECISION_COUNT - 1);
    assert_string_equal(tess_precision_name((tess_precision)99), "?");
}

static void roles_are_parsed(void **state)
{
    static const char *const wrong[] = {
        "",      "fp64/fp32", "fp32/",          "/fp32",      "/",       "fp32/fp16", "fp32/bf16", "fp8",       "fp33",
        " fp32", "fp32 ",     "fp32/fp32/fp32", "fp32//fp32", "fp32/fp", "adaptive",  "fp32fp32",  "fp64\\fp64"};
    const tess_role_precision untouched = {7, TESS_PRECISION_E5M2, TESS_ARITHMETIC_FP32};
    char text[32];

    (void)state;
    for (int k = 0; k < 3 * TESS_PRECISION_COUNT; k++) {
        static const char *const arithmetics[] = {"", "/fp64", "/fp32"};
        const tess_precision storage = (tess_precision)(k / 3);
        const bool fp64 = storage == TESS_PRECISION_FP64;
        tess_role_precision role = untouched;

        snprintf(text, sizeof text, "%s%s", tess_precision_name(storage), arithmetics[k % 3]);
        if (fp64 && k % 3 == 2) { continue; }
        assert_int_equal(tess_role_precision_parse(text, &role), TESS_SUCCESS);
        assert_int_equal(role.given, 1);
        assert_int_equal(role.storage, storage);
        assert_int_equal(role.arithmetic,
                         k % 3 == 1 || (fp64 && k % 3 == 0) ? TESS_ARITHMETIC_FP64 : TESS_ARITHMETIC_FP32);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        tess_role_precision role = untouched;

        assert_int_equal(tess_role_precision_parse(wrong[k], &role), TESS_INVALID_ARGUMENT);
        assert_int_equal(role.given, untouched.given);
        assert_int_equal(role.storage, untouched.storage);
        assert_int_equal(role.arithmetic, untouched.arithmetic);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_is_held),
        cmocka_unit_test(nothing_between_patterns_is_held),
        cmocka_unit_test(holds_agrees_with_the_set_of_patterns),
        cmocka_unit_test(fp32_agrees_with_the_compiler),
        cmocka_unit_test(fp64_holds_all),
        cmocka_unit_test(traits_match_the_formats),
        cmocka_unit_test(names_are_parsed),
        cmocka_unit_test(roles_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
