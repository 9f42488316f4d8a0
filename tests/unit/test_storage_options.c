/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of formats, and whether options fit one: the conversion gives the same answer. */
#include "support/papers.h"
#include "support/test.h"
#include "support/variants.h"

#include "base/context.h"
#include "matrix/format.h"

/* ---- the tables ---- */

static int bits_of(unsigned set)
{
    return __builtin_popcount(set);
}

static void formats_are_named_and_numbered(void **state)
{
    (void)state;
    assert_true(tess_format_count() > 0);
    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format format = tess_format_at(i);
        tess_format parsed = TESS_FORMAT_AUTO;

        assert_true((int)format < (int)TESS_FORMAT_SHELL);
        assert_true(i == 0 || format > tess_format_at(i - 1));
        assert_int_equal(tess_format_parse(tess_format_name(format), &parsed), TESS_SUCCESS);
        assert_int_equal(parsed, format);
        assert_non_null(tess_find_format(format));
    }
}

static void capabilities_go_together(void **state)
{
    (void)state;
    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format_capabilities *can = tess_format_can(tess_format_at(i));
        const tess_format_ops *ops = tess_find_format(tess_format_at(i));

        assert_true(strlen(can->description) > 0);
        assert_true(can->precisions != 0 && (can->gpu_precisions & ~can->precisions) == 0);
        assert_true(tess_in_set(can->policies, TESS_POLICY_NONE));
        assert_true(tess_in_set(can->granularities, (int)can->granularity));
        assert_true((can->scales & ~can->granularities) == 0);
        assert_true(tess_in_set(can->arithmetics, TESS_ARITHMETIC_FP64));
        assert_true(tess_in_set(can->row_orders, TESS_ROW_ORDER_ORIGINAL));
        assert_true(can->takes_parts == !tess_in_set(can->granularities, TESS_GRANULARITY_MATRIX));
        assert_true(can->takes_parts == (ops->summary != NULL));
        assert_true(can->takes_parts || can->policies == TESS_WHOLE_POLICIES);
        assert_true(can->takes_parts || !(can->copies_levels || can->takes_bases || can->omits_diagonal));
        assert_true(can->shorthand == NULL || tess_in_set(can->granularities, TESS_GRANULARITY_BLOCK));
        assert_true(ops->build && ops->refresh && ops->destroy && ops->prepare && ops->spmv && ops->decode &&
                    ops->bytes);
    }
}

static void what_is_no_format_can_nothing(void **state)
{
    static const tess_format none[] = {TESS_FORMAT_AUTO, TESS_FORMAT_SHELL, (tess_format)77};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(bits_of(tess_format_can(none[i])->precisions), 0);
        assert_string_equal(tess_format_can(none[i])->description, "");
    }
}

static void roles_are_taken_by_one_each(void **state)
{
    (void)state;
    for (int role = TESS_ROLE_DIAGONALS; role <= TESS_ROLE_NODES; role++) {
        int taken = 0;

        for (int i = 0; i < tess_format_count(); i++) {
            taken += (int)tess_find_format(tess_format_at(i))->role == role;
        }
        assert_int_equal(taken, 1);
        assert_int_equal(tess_find_format(tess_format_in_role((tess_format_role)role))->role, role);
    }
    assert_true(tess_format_can(tess_format_in_role(TESS_ROLE_COPIES))->copies_levels);
    assert_int_equal(tess_format_can(tess_format_in_role(TESS_ROLE_BLOCKS))->granularity, TESS_GRANULARITY_BLOCK);
}

/* ---- what fits ---- */

static tess_storage_options options_of(tess_format format)
{
    tess_storage_options o;

    tess_storage_options_init(&o);
    o.format = format;
    return o;
}

static void defaults_fit_every_format(void **state)
{
    tess_context *ctx = open_device(1);
    tess_storage_options open = options_of(TESS_FORMAT_AUTO);

    (void)state;
    for (int i = 0; i < tess_format_count(); i++) {
        const tess_storage_options o = options_of(tess_format_at(i));

        assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
        assert_ok(ctx, tess_storage_options_check(ctx, 5, 7, &o));
    }
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &open));
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, NULL));
    open.policy.policy = TESS_POLICY_MEAN_3STD;
    open.policy.granularity = TESS_GRANULARITY_MATRIX;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &open));
    tess_context_destroy(ctx);
}

/* Every value of one field, over every format: options that are said to fit can be stored, or pad too much. */
enum { FIELDS = 12, VALUES = 6 };

static bool set_field(tess_storage_options *o, int field, int value)
{
    static const double shares[VALUES] = {0.0, 50.0, 99.0, 100.0, 101.0, -1.0};
    static const int sides[VALUES] = {0, 16, 32, 17, -1, 64};
    static const tess_format bases[VALUES] = {TESS_FORMAT_CSR,   TESS_FORMAT_ELLR, TESS_FORMAT_DIA,
                                              TESS_FORMAT_TILES, TESS_FORMAT_AUTO, TESS_FORMAT_SELL};
    static const char *const levels[VALUES] = {"fp64,fp32", "fp64,fp16:scaled", "fp32,bf16", "fp64,e4m3",
                                               "fp64",      "fp64,fp32,fp16"};

    switch (field) {
    case 0: o->precision = (tess_precision)value; return true;
    case 1: o->arithmetic = (tess_arithmetic)value; return value < 3;
    case 2: o->split.row_order = (tess_row_order)value; return value < 4;
    case 3: o->split.base = bases[value]; return true;
    case 4: o->split.low_base = bases[value]; return true;
    case 5: o->policy.share = shares[value]; return true;
    case 6: o->policy.block_rows = sides[value]; return true;
    case 7: o->slices.max_padding = value - 2.0; return true;
    case 8: o->slices.window = 1 << (4 * value); return true;
    case 9: return tess_precision_levels_parse(levels[value], &o->policy) == TESS_SUCCESS;
    case 10: o->papers = value % 2 ? &papers_kernel : &papers_resident; return value < 2;
    default: o->policy.allow_underflow = value; return value < 2;
    }
}

/* The two answers. */
static void compare_answers(const tess_matrix *m, const tess_storage_options *o, int *fits, int *refused)
{
    tess_context *ctx = tess_matrix_context(m);
    const tess_status said = tess_storage_options_check(ctx, tess_matrix_nrows(m), tess_matrix_ncols(m), o);
    tess_matrix *stored = NULL;
    tess_status status = TESS_SUCCESS;

    if (said != TESS_SUCCESS) {
        assert_true(said == TESS_UNSUPPORTED || said == TESS_INVALID_ARGUMENT);
        assert_true(strlen(tess_context_last_error(ctx)->message) > 0);
        *refused += 1;
        return;
    }
    status = tess_matrix_convert(m, o, &stored);
    tess_matrix_destroy(stored);
    *fits += 1;
    if (status == TESS_UNSUPPORTED) {
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "max_padding"));
    } else {
        assert_ok(ctx, status);
    }
}

static void what_fits_is_stored(void **state)
{
    static const char *const policies[] = {"none", "fixed-range:1", "lossless"};
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_random(60, 60, 5, 3);
    tess_matrix *m = make_matrix(ctx, &a);
    int fits = 0, refused = 0;

    (void)state;
    for (int i = 0; i < tess_format_count(); i++) {
        for (int k = 0; k < 3 * 4; k++) {
            for (int field = 0; field < FIELDS * VALUES; field++) {
                tess_storage_options o = options_of(tess_format_at(i));

                assert_int_equal(tess_policy_options_parse(policies[k % 3], &o.policy), TESS_SUCCESS);
                o.policy.granularity = (tess_granularity)(k / 3);
                if (set_field(&o, field / VALUES, field % VALUES)) { compare_answers(m, &o, &fits, &refused); }
            }
        }
    }
    assert_true(fits > 100 && refused > 100);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The variants that the conformance suite stores are all said to fit. */
static void variants_fit(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    for (int k = 0; k < POLICY_VARIANTS; k++) {
        tess_storage_options o = policy_variants[k].storage;

        const bool rows = tess_in_set(tess_format_can(o.format)->granularities, TESS_GRANULARITY_ROW);

        const bool lossless = o.policy.policy == TESS_POLICY_LOSSLESS;

        if (!rows || o.policy.granularity != TESS_GRANULARITY_ROW || lossless) { o.policy.share = 0.0; }
        if (lossless) { o.policy.allow_underflow = 0; } /* conversions do not read them */
        assert_ok(ctx, tess_storage_options_check(ctx, 8, 8, &o));
    }
    tess_context_destroy(ctx);
}

/* ---- what does not ---- */

static void check_said(tess_context *ctx, const tess_storage_options *o, tess_status expected, const char *said)
{
    const char *message = NULL;

    assert_fails(ctx, expected, tess_storage_options_check(ctx, -1, -1, o));
    message = tess_context_last_error(ctx)->message;
    if (!strstr(message, said)) { fail_msg("'%s' does not say '%s'", message, said); }
}

/* A conversion passes over them. */
static void what_is_not_read_is_refused(void **state)
{
    tess_context *ctx = open_device(1);
    tess_storage_options o = options_of(TESS_FORMAT_CSR);

    (void)state;
    o.policy.share = 50.0;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "share (--share) is for format split or composite, not csr");
    o = options_of(TESS_FORMAT_CSR);
    o.policy.policy = TESS_POLICY_MEAN_RANGE;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "choose --format auto, split, composite, tiles or packed");
    o = options_of(TESS_FORMAT_TILES);
    o.split.row_order = TESS_ROW_ORDER_PERMUTED;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "row_order (--row-order) is for format split or composite, not tiles");
    o = options_of(TESS_FORMAT_SPLIT);
    o.precision = TESS_PRECISION_FP32;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "has the precisions of --levels");
    o.papers = &papers_resident;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "layout resident (--layout) is for format tiles, not split");
    o = options_of(TESS_FORMAT_AUTO);
    o.policy.allow_underflow = 1;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "needs a policy (--policy) with format auto");
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    tess_context *ctx = open_device(1);
    tess_storage_options o = options_of((tess_format)77);

    (void)state;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "unknown value 77");
    o = options_of(TESS_FORMAT_COMPOSITE);
    o.policy.granularity = TESS_GRANULARITY_BLOCK;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "format composite has no granularity block; it takes row");
    o = options_of(TESS_FORMAT_TILES);
    o.arithmetic = TESS_ARITHMETIC_FP32;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "format tiles has no fp32 arithmetic");
    o = options_of(TESS_FORMAT_SPLIT);
    o.split.row_order = TESS_ROW_ORDER_SYMMETRIC;
    assert_ok(ctx, tess_storage_options_check(ctx, 5, 5, &o));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_storage_options_check(ctx, 5, 7, &o));
    o.size = 0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_storage_options_check(ctx, 5, 5, &o));
    tess_context_destroy(ctx);
}

/* Padding is read by formats that pad, and by parts in such a format; the window by rows in slices alone. */
static void padding_is_for_formats_that_pad(void **state)
{
    tess_context *ctx = open_device(1);
    tess_storage_options o = options_of(TESS_FORMAT_CSR);

    (void)state;
    o.slices.max_padding = 5.0;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT,
               "max_padding (--max-padding) is for format ellr, sell, dia or bsr, not csr");
    o.format = TESS_FORMAT_SELL;
    o.slices.window = 64;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    o.format = TESS_FORMAT_ELLR;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "window (--sell-window) is for format sell, not ellr");
    o.format = TESS_FORMAT_SPLIT;
    o.policy.policy = TESS_POLICY_MEAN_RANGE;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT,
               "max_padding (--max-padding) of format split is for --base ellr, sell, dia or auto, not csr");
    o.split.base = TESS_FORMAT_ELLR;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT,
               "window (--sell-window) of format split is for --base sell or auto, not ellr");
    o.split.low_base = TESS_FORMAT_SELL;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    o.policy.granularity = TESS_GRANULARITY_ENTRY;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT,
               "window (--sell-window) of format split is for granularity row, not entry");
    o.slices.window = 0; /* the default */
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    tess_context_destroy(ctx);
}

/* Auto tries slices and diagonals without a policy, and diagonals with policy lossless. */
static void auto_reads_padding_where_it_tries_formats_that_pad(void **state)
{
    tess_context *ctx = open_device(1);
    tess_storage_options o = options_of(TESS_FORMAT_AUTO);

    (void)state;
    o.slices.max_padding = 1.1;
    o.slices.window = 64;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    o.slices.max_padding = 0.5;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "max_padding (--max-padding) is 0.5, but it must be 1 or more");
    o.slices.max_padding = 1.1;
    o.policy.policy = TESS_POLICY_LOSSLESS;
    o.policy.granularity = TESS_GRANULARITY_MATRIX;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "window (--sell-window) of format split is for --base");
    o.slices.window = 0;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    o.policy.granularity = TESS_GRANULARITY_ROW;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "max_padding (--max-padding) of format split is for --base");
    tess_context_destroy(ctx);
}

/* A granularity that the caller gave is not replaced by the format's; a conversion says so, too. */
static void a_given_granularity_is_kept(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_random(20, 20, 3, 3);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o = options_of(TESS_FORMAT_TILES);

    (void)state;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    o.policy.granularity_given = 1; /* row */
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "format tiles has no granularity row; it takes block");
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
    o.format = TESS_FORMAT_CSR;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT,
               "granularity (--granularity) is for format split, composite, tiles or packed, not csr");
    o.format = TESS_FORMAT_SPLIT;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    o.policy.granularity = TESS_GRANULARITY_MATRIX;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "format split has no granularity matrix; it takes row, entry or block");
    o.format = TESS_FORMAT_AUTO;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT, "format auto has no granularity matrix; it takes row, entry or block");
    o.policy.granularity_given = 0; /* open */
    o.policy.policy = TESS_POLICY_MEAN_RANGE;
    assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &o));
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Only the device is read, so the context may claim to be a GPU's: what no device has stays a contradiction. */
static void a_gpu_refuses_contradictions_as_a_host_does(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_storage_options o = options_of(TESS_FORMAT_CSR);

    (void)state;
    ctx->device = TESS_DEVICE_GPU;
    o.slices.max_padding = 5.0;
    check_said(ctx, &o, TESS_INVALID_ARGUMENT,
               "max_padding (--max-padding) is for format ellr, sell, dia or bsr, not csr");
    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format_capabilities *can = tess_format_can(tess_format_at(i));
        const unsigned host_alone = can->precisions & ~can->gpu_precisions;

        o = options_of(tess_format_at(i));
        if (can->takes_parts || can->gpu_precisions == 0 || host_alone == 0) { continue; }
        o.precision = (tess_precision)__builtin_ctz(host_alone);
        check_said(ctx, &o, TESS_UNSUPPORTED, " cannot store ");
    }
    ctx->device = TESS_DEVICE_CPU;
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_named_and_numbered),
        cmocka_unit_test(capabilities_go_together),
        cmocka_unit_test(what_is_no_format_can_nothing),
        cmocka_unit_test(roles_are_taken_by_one_each),
        cmocka_unit_test(defaults_fit_every_format),
        cmocka_unit_test(what_fits_is_stored),
        cmocka_unit_test(variants_fit),
        cmocka_unit_test(what_is_not_read_is_refused),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(padding_is_for_formats_that_pad),
        cmocka_unit_test(auto_reads_padding_where_it_tries_formats_that_pad),
        cmocka_unit_test(a_given_granularity_is_kept),
        cmocka_unit_test(a_gpu_refuses_contradictions_as_a_host_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
