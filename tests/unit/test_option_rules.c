/* SPDX-License-Identifier: Apache-2.0 */
/* Values and rules of the list of options (tessera/options.h) that depend on what formats can do. */
#include "support/test.h"

#include <tessera/options.h>

static tess_solve_options start(void)
{
    tess_solve_options options;

    tess_solve_options_init(&options);
    return options;
}

static void set(tess_solve_options *options, const char *name, const char *value)
{
    char text[TESS_OPTION_TEXT];

    assert_int_equal(tess_options_set(options, name, value, text, sizeof text), TESS_SUCCESS);
}

static void bases_that_differ_may_each_be_combined(void **state)
{
    static const char *const refused[] = {"csr,dia", "auto,sell", "dia,auto", "ellr,csr"};
    tess_solve_options options = start();
    char text[TESS_OPTION_TEXT];

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tess_options_set(&options, "base", refused[i], text, sizeof text), TESS_INVALID_ARGUMENT);
        assert_non_null(strstr(text, " with another format, but only ellr, sell and dia can be combined"));
    }
    set(&options, "base", "ellr,sell");
    assert_int_equal(options.storage.split.base, TESS_FORMAT_ELLR);
    assert_int_equal(options.storage.split.low_base, TESS_FORMAT_SELL);
    set(&options, "base", "auto");
    assert_int_equal(options.storage.split.base, TESS_FORMAT_AUTO);
}

static void a_policy_of_squares_needs_a_format_in_parts(void **state)
{
    static const char *const taken[] = {"csr", "auto", "split", "composite", "tiles"};
    tess_solve_options options = start();
    char text[TESS_OPTION_TEXT];

    (void)state;
    set(&options, "precond", "ic0");
    set(&options, "precond-policy", "mean-range");
    for (int i = 0; i < 5; i++) {
        set(&options, "precond-format", taken[i]);
        assert_int_equal(tess_options_check(&options, text, sizeof text), TESS_SUCCESS);
    }
    set(&options, "precond-format", "sell");
    assert_int_equal(tess_options_check(&options, text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_string_equal(text, "--precond-policy needs --precond-format auto, split, composite or tiles, not sell");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases_that_differ_may_each_be_combined),
        cmocka_unit_test(a_policy_of_squares_needs_a_format_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
