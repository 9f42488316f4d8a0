/* SPDX-License-Identifier: Apache-2.0 */
/* Precision schedules as text. */
#include <tessera/schedule.h>

#include "support/test.h"

static void lists_are_parsed(void **state)
{
    tess_precision_schedule schedule;

    (void)state;
    assert_int_equal(tess_schedule_parse("fp32,mixed,fp64", &schedule), TESS_SUCCESS);
    assert_int_equal(schedule.count, 3);
    assert_int_equal(schedule.entry[0].what, TESS_PRECISION_FP32);
    assert_int_equal(schedule.entry[1].what, TESS_MIXED);
    assert_int_equal(schedule.entry[2].what, TESS_PRECISION_FP64);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(schedule.entry[i].iterations, 0);
    }
    assert_int_equal(tess_schedule_parse("BF16:12,Mixed:100000000000", &schedule), TESS_SUCCESS);
    assert_int_equal(schedule.count, 2);
    assert_int_equal(schedule.entry[0].what, TESS_PRECISION_BF16);
    assert_int_equal(schedule.entry[0].iterations, 12);
    assert_int_equal(schedule.entry[1].iterations, 100000000000);
    assert_int_equal(tess_schedule_parse("mixed,fp64,mixed,fp64,mixed,fp64", &schedule), TESS_SUCCESS);
    assert_int_equal(schedule.count, TESS_MAX_SCHEDULE);
}

static void other_text_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        ",",
                                        "fp64,",
                                        ",fp64",
                                        "fp65",
                                        "fp32:",
                                        "fp32:0",
                                        "fp32:-1",
                                        "fp32:1:2",
                                        "fp32:1x",
                                        "fp32 ,fp64",
                                        "mixed:1e3",
                                        "fp32;fp64",
                                        "fp64:9999999999999999999",
                                        "fp64,fp64,fp64,fp64,fp64,fp64,fp64"};
    tess_precision_schedule schedule = {.count = 77};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(tess_schedule_parse(wrong[i], &schedule), TESS_INVALID_ARGUMENT);
        assert_int_equal(schedule.count, 77);
    }
}

static void entries_have_names(void **state)
{
    (void)state;
    assert_string_equal(tess_schedule_entry_name(TESS_MIXED), "mixed");
    assert_string_equal(tess_schedule_entry_name(TESS_PRECISION_FP16), "fp16");
    assert_string_equal(tess_schedule_entry_name(99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_parsed), cmocka_unit_test(other_text_is_refused),
                                       cmocka_unit_test(entries_have_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
