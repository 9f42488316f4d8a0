/* SPDX-License-Identifier: Apache-2.0 */
/* Times of stages: the work that each counts, and stages that are left out. */
#include "base/stages.h"

#include "matrix/matrix.h"
#include "support/test.h"

static void stages_are_counted_by_name(void **state)
{
    static const char *const names[] = {"one", "two", "one", "one"};
    tess_context *ctx = open_cpu(1);
    const double start = tess_wall_seconds();
    tess_stages stages;
    double sum = 0.0;

    (void)state;
    assert_ok(ctx, tess_stage_end(ctx, "no record"));
    assert_ok(ctx, tess_stages_begin(ctx, &stages));
    assert_int_equal(stages.count, 0);
    for (int k = 0; k < 4; k++) {
        assert_ok(ctx, tess_stage_end(ctx, names[k]));
    }
    tess_stages_end(ctx);
    assert_ok(ctx, tess_stage_end(ctx, "no record"));
    assert_int_equal(stages.count, 2);
    assert_string_equal(stages.of[0].name, "one");
    assert_int_equal(stages.of[0].count, 3);
    assert_string_equal(stages.of[1].name, "two");
    assert_int_equal(stages.of[1].count, 1);
    for (int i = 0; i < stages.count; i++) {
        assert_true(stages.of[i].seconds >= 0.0);
        sum += stages.of[i].seconds;
    }
    assert_at_most(sum, tess_wall_seconds() - start);
    tess_context_destroy(ctx);
}

static void stages_beyond_the_last_are_left_out(void **state)
{
    char names[TESS_MAX_STAGES + 2][12];
    tess_context *ctx = open_cpu(1);
    tess_stages stages;

    (void)state;
    assert_ok(ctx, tess_stages_begin(ctx, &stages));
    for (int k = 0; k < TESS_MAX_STAGES + 2; k++) {
        snprintf(names[k], sizeof names[k], "%d", k);
        assert_ok(ctx, tess_stage_end(ctx, names[k]));
    }
    assert_ok(ctx, tess_stage_end(ctx, names[0]));
    tess_stages_end(ctx);
    assert_int_equal(stages.count, TESS_MAX_STAGES);
    assert_int_equal(stages.of[0].count, 2);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_are_counted_by_name),
        cmocka_unit_test(stages_beyond_the_last_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
