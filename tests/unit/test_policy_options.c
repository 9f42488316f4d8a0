/* SPDX-License-Identifier: Apache-2.0 */
/* Options of policies: names, defaults, refusals. */
#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "policy/rules.h"
#include "support/test.h"

static void names_are_parsed(void **state)
{
    tess_policy_options o;
    tess_granularity granularity = TESS_GRANULARITY_MATRIX;

    (void)state;
    tess_policy_options_init(&o);
    assert_int_equal(tess_granularity_parse("ENTRY", &granularity), TESS_SUCCESS);
    assert_int_equal(granularity, TESS_GRANULARITY_ENTRY);
    assert_int_equal(tess_granularity_parse("ent", &granularity), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_granularity_name(TESS_GRANULARITY_ROW), "row");
    assert_string_equal(tess_policy_name(TESS_POLICY_MEAN_RANGE), "mean-range");
    assert_string_equal(tess_policy_name((tess_policy)99), "?");
    assert_int_equal(tess_policy_options_parse("fixed-range:1e-5", &o), TESS_SUCCESS);
    assert_int_equal(o.policy, TESS_POLICY_FIXED_RANGE);
    assert_true(o.parameter == 1e-5);
    assert_int_equal(tess_policy_options_parse("mean-range", &o), TESS_SUCCESS);
    assert_true(o.parameter == 0.0);
    assert_int_equal(tess_precision_levels_parse("fp64,fp16:scaled", &o), TESS_SUCCESS);
    assert_int_equal(o.nlevels, 2);
    assert_int_equal(o.level[1].precision, TESS_PRECISION_FP16);
    assert_true(o.level[1].scaled && !o.level[0].scaled);
}

static void wrong_words_leave_options_alone(void **state)
{
    static const char *const policies[] = {"",
                                           "mean",
                                           "none:1",
                                           "mean-range:",
                                           "mean-range:x",
                                           "mean-range:1x",
                                           "fixed-range:0",
                                           "fixed-range:-1",
                                           "fixed-range:inf",
                                           "fixed-range:nan"};
    static const char *const levels[] = {
        "", ",", "fp64,", "fp64,fp31", "fp64,fp32:scale", "fp64,fp32,fp16,bf16,e4m3", "fp64:"};
    tess_policy_options o, before;

    (void)state;
    tess_policy_options_init(&o);
    before = o;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        assert_int_equal(tess_policy_options_parse(policies[i], &o), TESS_INVALID_ARGUMENT);
    }
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        assert_int_equal(tess_precision_levels_parse(levels[i], &o), TESS_INVALID_ARGUMENT);
    }
    assert_memory_equal(&o, &before, sizeof o);
}

static void zeros_stand_for_defaults(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_policy_options zeros = {.granularity = TESS_GRANULARITY_ROW, .policy = TESS_POLICY_MEAN_RANGE}, o;

    (void)state;
    assert_ok(ctx, tess_policy_resolve(ctx, &zeros, &o));
    assert_true(o.parameter == 0.1 && o.share == 99.0 && o.nlevels == 2);
    assert_int_equal(o.level[0].precision, TESS_PRECISION_FP64);
    assert_int_equal(o.level[1].precision, TESS_PRECISION_FP32);
    assert_true(o.block_rows == 16 && o.block_cols == 16);
    zeros.policy = TESS_POLICY_FIXED_RANGE;
    assert_ok(ctx, tess_policy_resolve(ctx, &zeros, &o));
    assert_true(o.parameter == 1.0);
    zeros.policy = TESS_POLICY_MEAN_3STD;
    zeros.block_cols = 32;
    assert_ok(ctx, tess_policy_resolve(ctx, &zeros, &o));
    assert_true(o.parameter == 0.5);
    assert_true(o.block_rows == 16 && o.block_cols == 32);
    zeros.policy = TESS_POLICY_NONE;
    zeros.parameter = 5.0; /* not read */
    assert_ok(ctx, tess_policy_resolve(ctx, &zeros, &o));
    assert_true(o.parameter == 0.0);
    tess_context_destroy(ctx);
}

static void wrong_options_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_policy_options good, o, out;

    (void)state;
    tess_policy_options_init(&good);
    assert_int_equal(tess_policy_options_parse("mean-range:2", &good), TESS_SUCCESS);
    tess_policy_default_levels(&good);
#define REFUSED(status, change) \
    o = good;                   \
    change;                     \
    assert_fails(ctx, status, tess_policy_resolve(ctx, &o, &out))
    REFUSED(TESS_INVALID_ARGUMENT, o.share = 100.5);
    REFUSED(TESS_INVALID_ARGUMENT, o.share = -1.0);
    REFUSED(TESS_INVALID_ARGUMENT, o.share = NAN);
    REFUSED(TESS_INVALID_ARGUMENT, o.parameter = -1.0);
    REFUSED(TESS_INVALID_ARGUMENT, (o.policy = TESS_POLICY_MEAN_3STD, o.parameter = -1.0));
    REFUSED(TESS_INVALID_ARGUMENT, o.parameter = (double)INFINITY);
    REFUSED(TESS_INVALID_ARGUMENT, o.nlevels = 5);
    REFUSED(TESS_INVALID_ARGUMENT, o.nlevels = -1);
    REFUSED(TESS_INVALID_ARGUMENT, o.level[1].precision = TESS_PRECISION_FP64);
    REFUSED(TESS_INVALID_ARGUMENT, o.level[0].precision = TESS_PRECISION_FP16);
    REFUSED(TESS_INVALID_ARGUMENT, o.level[1].precision = (tess_precision)77);
    REFUSED(TESS_INVALID_ARGUMENT, o.granularity = TESS_GRANULARITY_MATRIX);
    REFUSED(TESS_INVALID_ARGUMENT, o.policy = (tess_policy)9);
    REFUSED(TESS_UNSUPPORTED, (o.granularity = TESS_GRANULARITY_ENTRY, o.level[1].scaled = 1));
    REFUSED(TESS_INVALID_ARGUMENT, o.granularity = (tess_granularity)4);
    REFUSED(TESS_INVALID_ARGUMENT, o.block_rows = 8);
    REFUSED(TESS_INVALID_ARGUMENT, o.block_rows = -16);
    REFUSED(TESS_INVALID_ARGUMENT, o.block_cols = 64);
    REFUSED(TESS_UNSUPPORTED, (o.granularity = TESS_GRANULARITY_BLOCK, o.without_diagonal = 1));
#undef REFUSED
    o = good;
    o.granularity = TESS_GRANULARITY_MATRIX;
    o.policy = TESS_POLICY_LOSSLESS;
    o.parameter = 0.0;
    assert_ok(ctx, tess_policy_resolve(ctx, &o, &out));
    o = good;
    o.granularity = TESS_GRANULARITY_BLOCK;
    assert_true(tess_policy_rules(&o).every_value);
    tess_context_destroy(ctx);
}

static void stored_matrices_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(4);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    const tess_storage_options sell = {.size = sizeof(tess_storage_options), .format = TESS_FORMAT_SELL};
    tess_assignment *assignment = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_convert(m, &sell, &stored));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_assignment_create(stored, NULL, &assignment));
    assert_null(assignment);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_parsed),
        cmocka_unit_test(wrong_words_leave_options_alone),
        cmocka_unit_test(zeros_stand_for_defaults),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(stored_matrices_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
