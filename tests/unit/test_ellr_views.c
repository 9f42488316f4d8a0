/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of a subset of rows on the CPU: row maps, offsets above 0, scales, columns in no order, values of other
 * precisions. */
#include "format/ellr/ellr_rows.h"
#include "support/slice_parts.h"

static bool fits(const slice_part *part, int64_t i, int64_t k)
{
    int64_t distance = part->host.col_ind[k] - part_target(part, i);

    return distance >= -32768 && distance <= 32767;
}

/* The row at position p: its length, columns, values and padding. */
static void check_position(const slice_part *part, const ellr_view *v, int64_t p)
{
    ellr_slice s = v->slice[p / 64];
    int64_t i = ellr_row(v, s, p), length = 0, begin = 0;

    if (i < part->host.nrows) {
        begin = part_offset(part, i);
        length = part_offset(part, i + 1) - begin;
    }
    assert_int_equal(ellr_length(v, p), length);
    for (int64_t k = 0; k < s.width; k++) {
        int64_t column = ellr_column(v, s, p, i, k);

        if (k < length) {
            double stored = tess_load(v->precision, v->val, ellr_first_value(s) + k * 64 + p % 64);

            assert_int_equal(column, part->host.col_ind[begin + k]);
            assert_true(stored * part_row_scale(v->exponent, i) ==
                        part_value(part, v->precision, v->exponent != NULL, i, begin + k));
        } else {
            assert_true(column >= 0 && column < part->host.ncols);
        }
    }
}

/* Columns take 32 bits in the slices that hold one beyond 16 bits of its row of y, and only there. */
static void check_view(const slice_part *part, const ellr_view *v)
{
    bool *seen = test_allocate(part->host.nrows, sizeof *seen);
    int64_t nseen = 0;

    memset(seen, 0, (size_t)part->host.nrows * sizeof *seen);
    for (int64_t s = 0; s < v->nslices; s++) {
        bool narrow = true;

        for (int64_t p = 64 * s; p < 64 * s + 64; p++) {
            int64_t i = ellr_row(v, v->slice[s], p);

            check_position(part, v, p);
            if (i >= part->host.nrows) { continue; }
            nseen += !seen[i];
            seen[i] = true;
            for (int64_t k = part_offset(part, i); k < part_offset(part, i + 1); k++) {
                narrow = narrow && fits(part, i, k);
            }
        }
        assert_int_equal(ellr_has_wide_columns(v->slice[s]), !narrow);
    }
    assert_int_equal(nseen, part->host.nrows);
    free(seen);
}

static void check_part(tess_context *ctx, const oracle_csr *a, int variant)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16,
                                                TESS_PRECISION_E5M2};
    const part_rule rule = {.first = variant % 2 ? 7 : 2,
                            .step = variant % 2 ? 1 : 3,
                            .scaled = variant / 2 % 2 == 1,
                            .unsorted = variant / 4 % 2 == 1};
    const tess_storage_options options = {.size = sizeof(tess_storage_options),
                                          .format = variant / 8 % 2 ? TESS_FORMAT_SELL : TESS_FORMAT_ELLR,
                                          .precision = precisions[variant % 4],
                                          .slices.max_padding = 1000.0};
    slice_part part = make_part(ctx, a, rule);
    int64_t held = ctx->held_bytes;
    ellr_view v;

    assert_ok(ctx, ellr_build_view(ctx, &part.device, &options, &v));
    assert_ptr_equal(v.row_of, part.device.row_of);
    assert_int_equal(v.row_shift, rule.first);
    assert_ptr_equal(v.exponent, part.device.exponent);
    check_view(&part, &v);
    assert_int_equal(ctx->held_bytes - held, ellr_view_bytes(&v));
    ellr_release_view(ctx, &v);
    assert_int_equal(ctx->held_bytes, held);
    free_part(&part);
}

static void slices_hold_the_listed_rows(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr all[] = {make_index_boundaries(), make_uneven_rows(1000, true), make_uneven_rows(70, false)};

    (void)state;
    for (int k = 0; k < 3; k++) {
        for (int variant = 0; variant < 16; variant++) {
            check_part(ctx, &all[k], variant);
        }
        oracle_free(&all[k]);
    }
    tess_context_destroy(ctx);
}

/* A row whose ends are near it and whose middle is not: only a look at all columns finds this. */
static void unsorted_columns_are_all_looked_at(void **state)
{
    static const int32_t row_ptr[] = {0, 3}, columns[] = {5, 40000, 6};
    static const double values[] = {1.0, 2.0, 3.0};
    const csr_view rows = {.nrows = 1,
                           .ncols = 50000,
                           .nnz = 3,
                           .row_ptr = row_ptr,
                           .row_ptr_bits = 32,
                           .col_ind = columns,
                           .val = values,
                           .unsorted = true};
    const tess_storage_options options = {.size = sizeof(tess_storage_options), .format = TESS_FORMAT_ELLR};
    tess_context *ctx = open_cpu(1);
    ellr_view v;

    (void)state;
    assert_ok(ctx, ellr_build_view(ctx, &rows, &options, &v));
    assert_true(ellr_has_wide_columns(v.slice[0]));
    assert_int_equal(v.uniform_width, 0);
    assert_int_equal(ellr_column(&v, v.slice[0], 0, 0, 1), 40000);
    ellr_release_view(ctx, &v);
    tess_context_destroy(ctx);
}

/* Values for another precision over the same slices, and new ones through either. */
static void values_of_other_precisions_share_slices(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = make_uneven_rows(700, false);
    slice_part part = make_part(ctx, &a, (part_rule){.first = 1, .step = 2, .scaled = true});
    const tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_ELLR, .slices.max_padding = 10.0};
    csr_view plain = part.device;
    ellr_view v, low;
    void *values = NULL;

    (void)state;
    plain.exponent = NULL; /* FP64 needs no scale */
    assert_ok(ctx, ellr_build_view(ctx, &plain, &options, &v));
    check_view(&part, &v);
    assert_ok(ctx, ellr_make_values(ctx, &part.device, &v, TESS_PRECISION_E4M3, true, &values));
    low = v;
    low.precision = TESS_PRECISION_E4M3;
    low.exponent = part.device.exponent;
    low.val = values;
    check_view(&part, &low);
    for (int64_t k = 0; k < part.places; k++) { /* a CPU context's device is the host */
        ((double *)(uintptr_t)part.host.val)[k] *= -1.5;
        ((double *)(uintptr_t)part.device.val)[k] *= -1.5;
    }
    assert_ok(ctx, ellr_fill_values(ctx, &part.device, &v));
    assert_ok(ctx, ellr_fill_values(ctx, &part.device, &low));
    check_view(&part, &v);
    check_view(&part, &low);
    ellr_release_values(ctx, &v, TESS_PRECISION_E4M3, values);
    ellr_release_view(ctx, &v);
    free_part(&part);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Counted from the part's first entry, free of scales. */
static void views_decode_into_their_rows(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = make_uneven_rows(900, true);
    slice_part part = make_part(ctx, &a, (part_rule){.first = 0, .step = 2, .scaled = true, .unsorted = true});
    const tess_storage_options options = {.size = sizeof(tess_storage_options),
                                          .format = TESS_FORMAT_SELL,
                                          .precision = TESS_PRECISION_BF16,
                                          .slices.max_padding = 100.0};
    int32_t *columns = test_allocate(part.host.nnz, sizeof *columns);
    double *values = test_allocate(part.host.nnz, sizeof *values);
    int64_t first = part_offset(&part, 0);
    ellr_view v;

    (void)state;
    assert_ok(ctx, ellr_build_view(ctx, &part.device, &options, &v));
    assert_ok(ctx, ellr_ops_of(ctx)->decode(ctx, &part.device, &v, columns, values));
    for (int64_t i = 0; i < part.host.nrows; i++) {
        for (int64_t k = part_offset(&part, i); k < part_offset(&part, i + 1); k++) {
            assert_int_equal(columns[k - first], part.host.col_ind[k]);
            assert_true(values[k - first] == part_value(&part, TESS_PRECISION_BF16, true, i, k));
        }
    }
    ellr_release_view(ctx, &v);
    free(columns);
    free(values);
    free_part(&part);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void empty_rows_have_no_arrays(void **state)
{
    tess_context *ctx = open_cpu(1);
    const csr_view rows = {.nrows = 100, .ncols = 10, .row_shift = 5};
    const tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_ELLR, .precision = TESS_PRECISION_FP16};
    int64_t held = ctx->held_bytes;
    void *values = &held;
    ellr_view v;

    (void)state;
    assert_ok(ctx, ellr_build_view(ctx, &rows, &options, &v));
    assert_int_equal(v.nrows, 100);
    assert_int_equal(v.nslices, 0);
    assert_int_equal(ellr_view_bytes(&v), 0);
    assert_ok(ctx, ellr_make_values(ctx, &rows, &v, TESS_PRECISION_FP64, false, &values));
    assert_null(values);
    assert_ok(ctx, ellr_fill_values(ctx, &rows, &v));
    assert_int_equal(ctx->held_bytes, held);
    ellr_release_view(ctx, &v);
    tess_context_destroy(ctx);
}

static void refusals_leave_nothing_behind(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_power_law(2000, 4);
    slice_part part = make_part(ctx, &a, (part_rule){.first = 0, .step = 3});
    const tess_storage_options options = {.size = sizeof(tess_storage_options), .format = TESS_FORMAT_ELLR};
    int64_t held = ctx->held_bytes;
    ellr_view v = {.nrows = 77};

    (void)state;
    assert_fails(ctx, TESS_UNSUPPORTED, ellr_build_view(ctx, &part.device, &options, &v));
    assert_int_equal(v.nrows, 77);
    assert_int_equal(ctx->held_bytes, held);
    free_part(&part);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void parts_multiply_with_every_epilogue(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_slice_parts(ctx);
    tess_context_destroy(ctx);
}

/* Every pass over every part comes once, in order, and parts advance together. */
static void parts_take_turns(void **state)
{
    static const int passes[][ELLR_MAX_PARTS] = {{7},
                                                 {0, 5},
                                                 {1, 1, 1, 1},
                                                 {1000, 1},
                                                 {1, 1000, 0, 3},
                                                 {333, 334, 333, 17},
                                                 {0, 0, 0, 9},
                                                 {123457, 7919, 65537, 1}};

    (void)state;
    for (size_t c = 0; c < sizeof passes / sizeof *passes; c++) {
        const ellr_turns turns = ellr_make_turns(passes[c]);
        int seen[ELLR_MAX_PARTS] = {0}, all = 0;

        for (int p = 0; p < ELLR_MAX_PARTS; p++) {
            all += passes[c][p];
        }
        for (int pass = 0; pass < all; pass++) {
            const ellr_turn turn = ellr_turn_of(&turns, pass);

            assert_int_equal(turn.index, seen[turn.part]);
            seen[turn.part] += 1;
            for (int p = 0; p < ELLR_MAX_PARTS; p++) { /* each part before it rounds once */
                double share = (double)passes[c][p] * (pass + 1) / all;

                assert_true(fabs(seen[p] - share) <= ELLR_MAX_PARTS);
            }
        }
        for (int p = 0; p < ELLR_MAX_PARTS; p++) {
            assert_int_equal(seen[p], passes[c][p]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_hold_the_listed_rows),
        cmocka_unit_test(unsorted_columns_are_all_looked_at),
        cmocka_unit_test(values_of_other_precisions_share_slices),
        cmocka_unit_test(views_decode_into_their_rows),
        cmocka_unit_test(empty_rows_have_no_arrays),
        cmocka_unit_test(refusals_leave_nothing_behind),
        cmocka_unit_test(parts_multiply_with_every_epilogue),
        cmocka_unit_test(parts_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
