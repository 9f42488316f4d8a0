/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to text and back, bit for bit against the C library (in the C locale, which tests run in). */
#include <locale.h>

#include "base/decimal.h"
#include "support/test.h"

enum { RANDOM_CASES = 300000, TEXT_BYTES = 1600 };

static double double_of(uint64_t bits)
{
    double value = 0.0;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The text must be read to its end and give the same bits as strtod. */
static void check_parse(const char *text)
{
    char padded[TEXT_BYTES + TESS_DECIMAL_PADDING + 1] = {0};
    size_t length = strlen(text);
    double expected = strtod(text, NULL), value = -1.0;
    const char *end = NULL;

    assert_true(length < TEXT_BYTES);
    memcpy(padded, text, length);
    padded[length] = '\n';
    end = tess_decimal_parse(padded, &value);
    if (end != padded + length || !same_bits(&value, &expected, 1)) {
        fail_msg("'%s' was read as %.17g (%a); strtod gives %a", text, value, value, expected);
    }
}

static void check_format(double value)
{
    char text[TESS_DECIMAL_LENGTH + TESS_DECIMAL_PADDING + 1] = {0}, expected[64];
    size_t length = tess_decimal_format(value, text);
    double again = 0.0;

    snprintf(expected, sizeof expected, "%.17g", value);
    assert_true(length <= TESS_DECIMAL_LENGTH);
    text[length] = '\0';
    if (strcmp(text, expected) != 0) { fail_msg("%a was written as '%s'; printf gives '%s'", value, text, expected); }
    text[length] = '\n';
    assert_ptr_equal(tess_decimal_parse(text, &again), text + length);
    assert_true(same_bits(&value, &again, 1));
}

/* Every character that may follow up to eight digits, and what lies behind it, which must not matter. */
static void test_eight_digits(void **state)
{
    (void)state;
    for (int count = 0; count <= 9; count++) {
        for (int next = 0; next < 256; next++) {
            char text[24];
            uint64_t value = 77, expected = 0;

            memset(text, '9', sizeof text);
            for (int i = 0; i < count; i++) {
                text[i] = (char)('1' + (i + next) % 9);
                expected = i < 8 ? 10 * expected + (uint64_t)(text[i] - '0') : expected;
            }
            if (count < 9 && next >= '0' && next <= '9') { continue; }
            text[count] = (char)next;
            assert_int_equal(tess_decimal_eight(text, &value), count < 8 ? count : 8);
            assert_int_equal(value, count ? expected : 77);
        }
    }
}

/* All exponents; short and full significands; whole numbers and their neighbours. */
static void test_round_trip(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < RANDOM_CASES; i++) {
        uint64_t bits = oracle_random_bits(&seed);

        if (i % 3 == 1) { bits = (bits & 0x800fffffffffffffU) | ((980 + (bits >> 32) % 90) << 52); }
        if (i % 5 == 1) { bits &= ~UINT64_C(0xfffffffff); }
        if (!isfinite(double_of(bits))) { continue; }
        check_format(double_of(bits));
    }
}

static void test_formats_special_values(void **state)
{
    const double values[] = {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.1,
                             1e-4,
                             1e-5,
                             9.9999999999999995e-05,
                             1e16,
                             1e17,
                             1e21,
                             1e22,
                             1e23,
                             123456789012345678.0,
                             0.5,
                             0x1p-1074,
                             0x1p-1022,
                             0x1.fffffffffffffp1023,
                             0x1.fffffffffffffp-1023,
                             9007199254740992.0,
                             9007199254740994.0,
                             4503599627370497.5,
                             HUGE_VAL,
                             -HUGE_VAL};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        check_format(values[i]);
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        double power = 0.0;

        snprintf(text, sizeof text, "1e%d", e);
        power = strtod(text, NULL);
        check_format(power);
        check_format(nextafter(power, 0.0));
        check_format(nextafter(power, HUGE_VAL));
    }
}

/* 1 to 30 digits with a point anywhere and any exponent. */
static void test_random_texts(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int i = 0; i < RANDOM_CASES; i++) {
        char text[64];
        int digits = 1 + (int)(oracle_random_bits(&seed) % 30), point = (int)(oracle_random_bits(&seed) % 32);
        int length = 0;

        for (int k = 0; k < digits; k++) {
            if (k == point) { text[length++] = '.'; }
            text[length++] = (char)('0' + oracle_random_bits(&seed) % 10);
        }
        snprintf(text + length, sizeof text - (size_t)length, "e%d", (int)(oracle_random_bits(&seed) % 700) - 350);
        check_parse(text);
    }
}

/* Exactly half way between two numbers, and one unit in the last digit to either side. */
static void test_half_way_cases(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < RANDOM_CASES / 30; i++) {
        uint64_t bits = oracle_random_bits(&seed) & 0x7fffffffffffffffU;
        char text[TEXT_BYTES];
        long double middle = 0.0L;
        int length = 0;

        bits = i % 7 == 0 ? bits & 0x000fffffffffffffU : (bits & 0x000fffffffffffffU) | ((900 + bits % 250) << 52);
        middle = ((long double)double_of(bits) + (long double)double_of(bits + 1)) / 2;
        length = snprintf(text, sizeof text, "%.1200Le", middle);
        assert_true(length > 0 && length < TEXT_BYTES);
        check_parse(text);
        text[1200] = '1'; /* far behind the last digit that is not zero, or in its midst: strtod is the judge */
        check_parse(text);
        snprintf(text, sizeof text, "%.20Lg", middle);
        check_parse(text);
        snprintf(text, sizeof text, "%.19Lg", middle);
        check_parse(text);
    }
}

static void test_known_hard_cases(void **state)
{
    const char *texts[] = {"0",
                           "-0",
                           "+0.0",
                           "+1.5",
                           ".5",
                           "5.",
                           "-.25",
                           "00000000000000000000000000000000001",
                           "0.00000000000000000000000000000000000000000000001",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "1e99999999999999999999",
                           "1e-99999999999999999999",
                           "0e99999999999999999999",
                           "2.2250738585072011e-308",
                           "2.2250738585072012e-308",
                           "2.2250738585072014e-308",
                           "4.9406564584124654e-324",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "1.7976931348623157e308",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "9007199254740993",
                           "9007199254740992.999999999999999999999999",
                           "9007199254740993.000000000000000000000001",
                           "7.2057594037927933e16",
                           "8.98846567431158e307",
                           "6.8985865317742005e-264",
                           "1090544144181609348671888949248",
                           "18446744073709551615",
                           "18446744073709551616",
                           "9999999999999999999",
                           "99999999999999999999",
                           "inf",
                           "-INF",
                           "Infinity"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_parse(texts[i]);
    }
}

static double parse_padded(const char *text, ptrdiff_t *read)
{
    char padded[64] = {0};
    double value = -1.0;
    const char *end = NULL;

    snprintf(padded, sizeof padded - TESS_DECIMAL_PADDING, "%s\n", text);
    end = tess_decimal_parse(padded, &value);
    *read = end ? end - padded : -1;
    return value;
}

static void test_fortran_exponents(void **state)
{
    ptrdiff_t read = 0;

    (void)state;
    assert_true(parse_padded("1d5", &read) == 1e5 && read == 3);
    assert_true(parse_padded("-2.5D-03", &read) == -2.5e-3 && read == 8);
    assert_true(isnan(parse_padded("NaN", &read)) && read == 3);
}

/* Where a number ends, and texts that are not numbers. */
static void test_ends_and_refusals(void **state)
{
    ptrdiff_t read = 0;
    const char *refused[] = {"", "-", "+", ".", "-.", "e5", "x", "--1", "+-1", "in", "na"};

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        parse_padded(refused[i], &read);
        assert_int_equal(read, -1);
    }
    assert_true(parse_padded("1e", &read) == 1.0 && read == 1);
    assert_true(parse_padded("1e+", &read) == 1.0 && read == 1);
    assert_true(parse_padded("1.5.2", &read) == 1.5 && read == 3);
    assert_true(parse_padded("0x10", &read) == 0.0 && read == 1);
    assert_true(parse_padded("12,5", &read) == 12.0 && read == 2);
}

/* Neither direction may depend on the locale's decimal point. */
static void test_locale_is_of_no_account(void **state)
{
    const char *hard = "9007199254740993.0000000000000000000000000000001";
    char text[64] = {0};
    ptrdiff_t read = 0;
    double expected = strtod(hard, NULL);

    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) { skip(); }
    assert_true(parse_padded(hard, &read) == expected);
    text[tess_decimal_format(0x1p-1074, text)] = '\0';
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "4.9406564584124654e-324");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eight_digits),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_formats_special_values),
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_half_way_cases),
        cmocka_unit_test(test_known_hard_cases),
        cmocka_unit_test(test_fortran_exponents),
        cmocka_unit_test(test_ends_and_refusals),
        cmocka_unit_test(test_locale_is_of_no_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
