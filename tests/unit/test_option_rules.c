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
    static const char *const taken[] = {"csr", "auto", "split", "composite", "tiles", "packed"};
    tess_solve_options options = start();
    char text[TESS_OPTION_TEXT];

    (void)state;
    set(&options, "precond", "ic0");
    set(&options, "precond-policy", "mean-range");
    for (int i = 0; i < 6; i++) {
        set(&options, "precond-format", taken[i]);
        assert_int_equal(tess_options_check(&options, text, sizeof text), TESS_SUCCESS);
    }
    set(&options, "precond-format", "sell");
    assert_int_equal(tess_options_check(&options, text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_string_equal(text,
                        "--precond-policy needs --precond-format auto, split, composite, tiles or packed, not sell");
}

/* Of a C program: the check and a solver say the same, and the same status. */
static void check_storage_rule(const tess_matrix *m, const char *const rule[9])
{
    tess_solve_options options = start();
    tess_solver *solver = NULL;
    char text[TESS_OPTION_TEXT];

    for (int k = 0; k < 8; k += 2) {
        if (rule[k]) { set(&options, rule[k], rule[k + 1]); }
    }
    assert_int_equal(tess_options_check(&options, text, sizeof text), TESS_INVALID_ARGUMENT);
    if (!strstr(text, rule[8])) { fail_msg("'%s' does not say '%s'", text, rule[8]); }
    assert_int_equal(tess_solver_create(m, &options, &solver), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_context_last_error(tess_matrix_context(m))->message, text);
}

static void storage_that_contradicts_itself_is_refused_beforehand(void **state)
{
    static const char *const rules[][9] = {
        {"solver", "cg", "max-padding", "5", NULL, NULL, NULL, NULL, "is for format ellr, sell, dia or bsr, not csr"},
        {"format", "csr", "sell-window", "64", NULL, NULL, NULL, NULL, "is for format sell, not csr"},
        {"solver", "cg", "format", "sell", "base", "ellr", NULL, NULL, "is for format split or composite, not sell"},
        {"solver", "cg", "format", "tiles", "policy", "mean-range", "granularity", "row",
         "format tiles has no granularity row; it takes block"},
        {"format", "split", "policy", "mean-range", "block", "32x32", NULL, NULL,
         "block_rows (--block) of format split is for granularity block, not row"},
        {"format", "split", "policy", "mean-range", "granularity", "entry", "share", "10",
         "share (--share) of format split is for granularity row, not entry"},
        {"format", "composite", "policy", "lossless", "share", "10", NULL, NULL, "or mean-3std, not lossless"},
        {"format", "tiles", "policy", "lossless", "allow-underflow", "1", "granularity", "block",
         "allow_underflow (--allow-underflow) is for policy fixed-range, mean-range or mean-3std, not lossless"},
        {"format", "auto", "policy", "lossless", "share", "10", NULL, NULL, "or mean-3std, not lossless"},
        {"format", "split", "levels", "fp64,fp16", NULL, NULL, NULL, NULL,
         "level (--levels) needs a policy (--policy)"},
        {"format", "split", "share", "10", NULL, NULL, NULL, NULL, "share (--share) needs a policy (--policy)"},
        {"format", "auto", "policy", "lossless", "granularity", "matrix", NULL, NULL, "no granularity matrix"},
        {"solver", "cg", "format", "dia", "policy", "mean-range", NULL, NULL, "choose --format auto, split"},
        {"solver", "cg", "format", "sell", "arithmetic", "fp32", NULL, NULL, "cannot compute in fp32 arithmetic"},
        {"solver", "jacobi", "format", "tiles", "policy", "mean-range", NULL, NULL,
         "a schedule of precisions is not available in format tiles"},
        {"solver", "jacobi", "format", "split", "steps", "mixed,fp32", NULL, NULL, "format composite has it"},
        {"solver", "jacobi", "steps", "mixed", "max-padding", "5", NULL, NULL, "of format composite is for --base"},
        {"solver", "jacobi", "steps", "mixed", "matrix-precision", "fp32", NULL, NULL, "is not used"}};
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(4, 1.0, 4.0, 1.0);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        check_storage_rule(m, rules[i]);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The error has the hint of the rule. */
static void hints_of_storage_reach_the_error(void **state)
{
    tess_solve_options options = start();
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(4, 1.0, 4.0, 1.0);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;

    (void)state;
    set(&options, "solver", "jacobi");
    set(&options, "format", "sell");
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "use csr"));
    set(&options, "precond", "ic0");
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "options.md"));
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void a_shorthand_by_blocks_refuses_another_granularity(void **state)
{
    tess_solve_options options = start();
    char text[TESS_OPTION_TEXT];

    (void)state;
    set(&options, "granularity", "row");
    assert_int_equal(tess_options_set(&options, "format", "pbp", text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_string_equal(text, "--granularity row does not fit --format pbp, which is split by blocks");
    set(&options, "granularity", "block");
    set(&options, "format", "pbp");
    assert_int_equal(options.storage.policy.granularity, TESS_GRANULARITY_BLOCK);
    assert_int_equal(tess_options_set(&options, "granularity", "rows", text, sizeof text), TESS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases_that_differ_may_each_be_combined),
        cmocka_unit_test(a_policy_of_squares_needs_a_format_in_parts),
        cmocka_unit_test(storage_that_contradicts_itself_is_refused_beforehand),
        cmocka_unit_test(hints_of_storage_reach_the_error),
        cmocka_unit_test(a_shorthand_by_blocks_refuses_another_granularity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
