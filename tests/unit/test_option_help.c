/* SPDX-License-Identifier: Apache-2.0 */
/* The help of options (tess_option_help): its lists are filled, and it is cut to the buffer. */
#include "support/test.h"

#include <float.h>
#include <stdbool.h>
#include <stdio.h>

#include <tessera/names.h>
#include <tessera/options.h>
#include <tessera/papers.h>

static const char *help_of(const char *name, char *buffer)
{
    assert_true(tess_option_help(tess_option_find(name), buffer, TESS_OPTION_TEXT) == buffer);
    return buffer;
}

static void lists_are_filled(void **state)
{
    (void)state;
    char text[TESS_OPTION_TEXT];
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        help_of(option->name, text);
        assert_true(strchr(text, '{') == NULL && strchr(text, '}') == NULL && strstr(text, "  ") == NULL);
        assert_true(strncmp(text, ": ", 2) != 0 && strlen(text) + 1 < TESS_OPTION_TEXT);
    }
    assert_non_null(strstr(help_of("amg-cycle", text), "amg: v, w or k (default v)\nk: coarser levels"));
    assert_non_null(strstr(help_of("guard", text), "repair or report (default repair)"));
    assert_true(strstr(help_of("precond", text), "shell") == NULL);
    assert_non_null(strstr(help_of("format", text), "\ncsr: "));
    assert_non_null(strstr(text, "\npbp: split by blocks, "));
    assert_true(strncmp(help_of("sell-window", text), "sell: ", 6) == 0);
    assert_non_null(strstr(help_of("base", text), " or "));
}

static void a_short_buffer_cuts(void **state)
{
    (void)state;
    char whole[TESS_OPTION_TEXT], part[TESS_OPTION_TEXT];
    const tess_option *option = tess_option_find("format");
    help_of("format", whole);
    for (size_t size = 1; size < strlen(whole) + 1; size++) {
        assert_true(tess_option_help(option, part, size) == part);
        assert_true(strlen(part) == size - 1 && strncmp(part, whole, size - 1) == 0);
    }
    assert_true(tess_option_help(option, part, 0) == NULL && tess_option_help(option, NULL, 8) == NULL);
    assert_true(tess_option_help(NULL, part, 8) == NULL);
}

static void ranges_are_words(void **state)
{
    static const struct {
        double low, high;
        const char *text;
    } cases[] = {{0.0, 1.0, "0 to 1"},
                 {0.0, 0x1.fffffffffffffp-1, "0 to below 1"},
                 {1.0, 2147483647.0, "1 to 2147483647"},
                 {0.0, DBL_MAX, "from 0"},
                 {1.0, 0x1p61, "from 1"},
                 {DBL_MIN, DBL_MAX, "above 0"},
                 {DBL_MIN, 1e9, "above 0, up to 1000000000"}};
    char text[96];

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_string_equal(tess_range_text(cases[k].low, cases[k].high, text, sizeof text), cases[k].text);
        assert_true(tess_range_text(cases[k].low, cases[k].high, text, 4) == text && strlen(text) == 3);
    }
    assert_null(tess_range_text(0.0, 1.0, NULL, 4));
    assert_null(tess_range_text(0.0, 1.0, text, 0));
}

/* What a message calls below 1 or above 0 has that number as its first that is refused. */
static void messages_tell_what_is_excluded(void **state)
{
    const tess_option *option = NULL;
    tess_solve_options options;
    tess_papers_solve papers;
    char text[TESS_OPTION_TEXT], number[32];
    int excluded = 0;

    (void)state;
    tess_solve_options_init(&options);
    tess_papers_solve_init(&papers);
    options.papers = &papers;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        if (strcmp(option->type, "real") != 0) { continue; }
        const bool below = option->high == 0x1.fffffffffffffp-1, above = option->low == DBL_MIN;

        if (!below && !above) { continue; }
        assert_int_equal(tess_options_set(&options, option->name, below ? "1" : "0", text, sizeof text),
                         TESS_INVALID_ARGUMENT);
        assert_non_null(strstr(text, below ? "is out of range (0 to below 1)" : "is out of range (above 0"));
        snprintf(number, sizeof number, "%.17g", below ? option->high : option->low);
        assert_int_equal(tess_options_set(&options, option->name, number, text, sizeof text), TESS_SUCCESS);
        excluded++;
    }
    assert_true(excluded >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_filled), cmocka_unit_test(a_short_buffer_cuts),
                                       cmocka_unit_test(ranges_are_words),
                                       cmocka_unit_test(messages_tell_what_is_excluded)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
