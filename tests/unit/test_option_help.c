/* SPDX-License-Identifier: Apache-2.0 */
/* The help of options (tess_option_help): its lists are filled, and it is cut to the buffer. */
#include "support/test.h"

#include <tessera/names.h>
#include <tessera/options.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_filled), cmocka_unit_test(a_short_buffer_cuts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
