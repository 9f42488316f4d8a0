/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed: the layout by hand, widths of offsets, long rows, several levels, the order of sums, epilogues, new values,
 * what is no entry. tests/gpu/test_packed.c runs the tests of PACKED_TESTS in a context of a GPU.
 */
#include <tessera/codec.h>

#include "format/packed/packed_slices.h"
#include "matrix/matrix.h"
#include "support/layout.h"
#include "support/slices.h"
#include "support/variants.h"

static const packed_view *view_of(const tess_matrix *m)
{
    return &((const packed_storage *)m->storage)->view;
}

static tess_matrix *to_packed(const tess_matrix *m, const char *policy, const char *levels)
{
    tess_storage_options o;
    tess_matrix *stored = NULL;

    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_PACKED;
    assert_int_equal(tess_policy_options_parse(policy, &o.policy), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &o.policy), TESS_SUCCESS);
    assert_ok(m->ctx, tess_matrix_convert(m, &o, &stored));
    return stored;
}

/* ---- what is tested ---- */

static void end_row_with(oracle_csr *a, int64_t row, int64_t first, int64_t count, int64_t step)
{
    for (int64_t k = 0; k < count; k++) {
        oracle_push(a, first + k * step, 1.0 / (double)(3 + (row * 7 + k * 11) % 101));
    }
    oracle_end_row(a, row);
}

/* 1000 rows of one entry or none, but for one of 64 (no long row), and long ones of 65, 1024, 1025 and 5000. */
static oracle_csr make_long_rows(void)
{
    oracle_csr a = oracle_open(1000, 6000);

    for (int64_t i = 0; i < a.nrows; i++) {
        const int64_t length = i == 0     ? 65
                               : i == 33  ? 64
                               : i == 34  ? 1024
                               : i == 500 ? 1025
                               : i == 999 ? 5000
                                          : i % 3 == 0;

        end_row_with(&a, i, i % 900, length, 1);
    }
    return a;
}

/* Rows of 100 entries, one of 255 and one of 256: long for their number alone. */
static oracle_csr make_full_rows(void)
{
    oracle_csr a = oracle_open(40, 1000);

    for (int64_t i = 0; i < a.nrows; i++) {
        end_row_with(&a, i, i % 7, i == 5 ? 255 : i == 6 ? 256 : 100, 1 + i % 3);
    }
    return a;
}

/* Places whose columns are 0 to `spread` apart, beside their row's number; a hole in row 9, if asked for. */
static oracle_csr make_spread(int places, const int64_t *spread, bool with_hole)
{
    oracle_csr a = oracle_open(32, 400000);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int k = 0; k < places && !(with_hole && i == 9); k++) {
            oracle_push(&a, 70000 * k + i + (i == 3 * k + 1 ? spread[k] : 0), 1.0 / (double)(2 + i + k));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static const int64_t every_width[] = {0, 1, 256, 65536, 65535};

static oracle_csr make_widths(void)
{
    return make_spread(5, every_width, false);
}

static oracle_csr make_widths_with_a_hole(void)
{
    return make_spread(5, every_width, true);
}

static oracle_csr make_wide(void)
{
    oracle_csr a = oracle_open(70, 300000);

    for (int64_t i = 0; i < a.nrows; i++) {
        end_row_with(&a, i, i * 1777 % 1000, i % 6, 1 + i * 4001 % 50000);
    }
    return a;
}

static oracle_csr make_grid(void)
{
    oracle_csr a = oracle_laplace2d(9);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= k % 3 == 0 ? 1.0 / 3.0 : k % 5 == 0 ? 1e-3 : 0.25;
    }
    return a;
}

/* Rows without entries, whole slices of them. */
static oracle_csr make_empty_rows(void)
{
    return oracle_with_empty_rows(250);
}

static oracle_csr make_tall(void)
{
    return oracle_random(100, 3, 1, 4);
}

static oracle_csr make_one_row(void)
{
    oracle_csr a = oracle_open(1, 90);

    end_row_with(&a, 0, 4, 40, 2);
    return a;
}

static oracle_csr (*const makers[])(void) = {make_grid,      make_empty_rows, make_long_rows,
                                             make_full_rows, make_widths,     make_widths_with_a_hole,
                                             make_wide,      make_tall,       make_one_row};

typedef struct level_case {
    const char *policy, *levels;
} level_case;

/* One precision, and several in a row. */
static const level_case cases[] = {
    {"none", "fp64"},
    {"none", "fp32"},
    {"none", "bf16"},
    {"none", "fp16"},
    {"none", "e4m3"},
    {"none", "e5m2"},
    {"fixed-range:0.02", "fp64,fp32"},
    {"mean-3std:0.5", "fp64,bf16"},
    {"lossless", "fp64,fp32,fp16,bf16"},
    {"error-bound:1e-4", "fp64,fp32,fp16"},
};
enum { MAKERS = sizeof makers / sizeof *makers, CASES = sizeof cases / sizeof *cases };

/* ---- the layout ---- */

/* A section's arrays, on the host. */
typedef struct section_arrays {
    uint32_t word;
    const char *at;
} section_arrays;

static section_arrays section_of(const packed_section *section, const char *record, int k)
{
    return (section_arrays){section[k].word, record + (int64_t)section[k].start * PACKED_UNIT};
}

static int32_t base_of(section_arrays s, int k)
{
    int32_t base;

    memcpy(&base, s.at + packed_bases_at(s.word) + 4 * (size_t)k, sizeof base);
    return base;
}

/*
 * A tridiagonal matrix of 96 rows: three slices. Columns are beside the row's number in its slice: -1, 0 and 1 in slice
 * 0, and in row 0, which has no entry on the left, 0 and 1.
 *
 *     slice 0   95 entries   lengths 2 3 3 ...   bases -1 0 1   offset bytes 1 1 0   offsets 1 0 0 ...  and  1 0 0 ...
 *     slice 1   96 entries   none: all 3         bases 31 32 33                none
 *     slice 2   95 entries   lengths 3 3 ... 2   bases 63 64 65                none
 */
static void check_tridiagonal(const tess_matrix *stored, tess_precision precision, const int64_t units[3])
{
    const packed_view *v = view_of(stored);
    const int64_t all = units[0] + units[1] + units[2];
    const int bytes = (int)tess_precision_bytes(precision);
    packed_section *section = fetch_bytes(stored, v->section, 3 * (int64_t)sizeof *section);
    char *record = fetch_bytes(stored, v->record, all * PACKED_UNIT);
    const section_arrays s[3] = {section_of(section, record, 0), section_of(section, record, 1),
                                 section_of(section, record, 2)};

    assert_int_equal(v->units, all);
    assert_int_equal(section[0].start, 0);
    assert_int_equal(section[1].start, units[0]);
    assert_int_equal(section[2].start, units[0] + units[1]);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(packed_places(s[k].word), 3);
        assert_int_equal(packed_count(s[k].word), k == 1 ? 96 : 95);
        assert_int_equal(packed_width(s[k].word), k == 0 ? PACKED_WIDTHS_DIFFER : 0);
        assert_int_equal(packed_precision(s[k].word), precision);
        assert_int_equal(s[k].word & PACKED_HAS_LONG, 0);
        for (int place = 0; place < 3; place++) {
            assert_int_equal(base_of(s[k], place), 32 * k + place - 1);
        }
    }
    for (int lane = 0; lane < 32; lane++) {
        assert_int_equal(s[0].at[lane], lane == 0 ? 2 : 3);
        assert_int_equal(s[2].at[lane], lane == 31 ? 2 : 3);
    }
    assert_memory_equal(s[0].at + 48, "\1\1\0\0", 4);
    for (int i = 0; i < 64; i++) { /* of the first two places, after the values */
        assert_int_equal(s[0].at[(64 + 95 * bytes + 3) / 4 * 4 + i], i % 32 == 0 ? 1 : 0);
    }
    for (int i = 0; i < 95; i++) {
        assert_true(tess_load(precision, s[0].at + 64, i) == (i == 0    ? 2.0
                                                              : i < 32  ? 0.5
                                                              : i == 32 ? -1.0
                                                              : i < 64  ? 2.0
                                                                        : -1.0));
        assert_true(tess_load(precision, s[1].at + 32, i) == (i < 32 ? 0.5 : i < 64 ? 2.0 : -1.0));
        assert_true(tess_load(precision, s[2].at + 64, i) == (i < 32 ? 0.5 : i < 64 ? 2.0 : -1.0));
    }
    assert_int_equal(tess_matrix_bytes(stored), all * 32 + 3 * 8);
    free(section);
    free(record);
}

static void layout_of_a_small_matrix(void **state)
{
    static const char *const levels[] = {"fp64", "fp32", "bf16", "fp16", "e4m3", "e5m2"};
    static const struct {
        int bytes;
        int64_t units[3];
    } expected[] = {{8, {28, 25, 26}}, {4, {16, 13, 14}}, {2, {10, 7, 8}}, {1, {7, 4, 5}}};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_tridiagonal(96, 0.5, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int p = 0; p < 6; p++) {
        tess_matrix *stored = to_packed(m, "none", levels[p]);
        const tess_precision precision = tess_matrix_precision(stored);

        assert_string_equal(tess_precision_name(precision), levels[p]);
        for (int e = 0; e < 4; e++) {
            if ((int)tess_precision_bytes(precision) == expected[e].bytes) {
                check_tridiagonal(stored, precision, expected[e].units);
            }
        }
        check_decoded(stored, &a);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* 32 rows of 1/3 (kept by fp64 alone), 2 and -1: a section of 31 entries, and one of 63, which do not know each other.
 */
static void levels_have_sections(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_tridiagonal(32, 1.0 / 3.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a), *stored = to_packed(m, "lossless", "fp64,fp32");
    const packed_view *v = view_of(stored);
    packed_section *section = fetch_bytes(stored, v->section, 2 * (int64_t)sizeof *section);
    char *record = fetch_bytes(stored, v->record, 20 * PACKED_UNIT);
    const section_arrays high = section_of(section, record, 0), low = section_of(section, record, 1);

    (void)state;
    assert_int_equal(v->only, -1);
    assert_int_equal(v->units, 20);
    assert_int_equal(section[0].start, 0);
    assert_int_equal(section[1].start, 10);
    assert_int_equal(packed_precision(high.word), TESS_PRECISION_FP64);
    assert_int_equal(packed_precision(low.word), TESS_PRECISION_FP32);
    assert_int_equal(packed_places(high.word), 1);
    assert_int_equal(packed_places(low.word), 2);
    assert_int_equal(packed_count(high.word), 31);
    assert_int_equal(packed_count(low.word), 63);
    assert_int_equal(base_of(high, 0), -1);
    assert_int_equal(base_of(low, 0), 0);
    assert_int_equal(base_of(low, 1), 1);
    for (int i = 0; i < 63; i++) {
        if (i < 31) { assert_true(tess_load(TESS_PRECISION_FP64, high.at + 64, i) == 1.0 / 3.0); }
        assert_true(tess_load(TESS_PRECISION_FP32, low.at + 64, i) == (i < 32 ? 2.0 : -1.0));
    }
    assert_int_equal(tess_matrix_bytes(stored), 20 * 32 + 2 * 8);
    check_decoded(stored, &a);
    free(section);
    free(record);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* As many bytes as the widest offset of a place needs: of each place, or of all. */
static void offsets_have_the_bytes_they_need(void **state)
{
    static const int64_t spread[] = {0, 1, 255, 256, 65535, 65536};
    static const char bytes[] = {0, 1, 1, 2, 2, 4}, of_every_width[] = {0, 1, 2, 4, 2};
    tess_context *ctx = open_device(1);

    (void)state;
    for (int k = 0; k <= 12; k++) { /* each alone, without and with a hole; then all widths together */
        const int places = k < 12 ? 1 : 5;
        oracle_csr a = make_spread(places, k < 12 ? spread + k / 2 : every_width, k % 2 == 1);
        tess_matrix *m = make_matrix(ctx, &a), *stored = to_packed(m, "none", "fp16");
        const packed_view *v = view_of(stored);
        packed_section *section = fetch_bytes(stored, v->section, (int64_t)sizeof *section);
        char *record = fetch_bytes(stored, v->record, v->units * PACKED_UNIT);

        assert_int_equal(packed_is_full(section->word), k % 2 == 0);
        if (k < 12) {
            assert_int_equal(packed_width(section->word), bytes[k / 2]);
        } else {
            assert_int_equal(packed_width(section->word), PACKED_WIDTHS_DIFFER);
            assert_memory_equal(record + packed_widths_at(section->word), of_every_width, 5);
        }
        free(section);
        free(record);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* From 65 entries and 4 times the mean on, and always from 256. Segments have 1024 entries, and 8 bytes each. */
static void long_rows_are_cut(void **state)
{
    static const int32_t row[] = {0, 34, 500, 999}, segment[] = {0, 1, 2, 4, 9};
    tess_context *ctx = open_device(2);
    oracle_csr a = make_long_rows(), b = make_full_rows();
    tess_matrix *m = make_matrix(ctx, &a), *n = make_matrix(ctx, &b);
    tess_matrix *stored = to_packed(m, "none", "fp64"), *full = to_packed(n, "none", "fp64");
    const packed_view *v = view_of(stored);
    int32_t *list = fetch_bytes(stored, v->long_row, (int64_t)sizeof row);
    int32_t *first = fetch_bytes(stored, v->long_segment, (int64_t)sizeof segment);
    packed_section *section = fetch_bytes(stored, v->section, (v->nslices + v->nsegments) * (int64_t)sizeof *section);

    (void)state;
    assert_int_equal(v->longest, 64);
    assert_int_equal(v->nlong, 4);
    assert_int_equal(v->nsegments, 9);
    assert_memory_equal(list, row, sizeof row);
    assert_memory_equal(first, segment, sizeof segment);
    for (int64_t s = 0; s < v->nslices; s++) {
        assert_int_equal((section[s].word & PACKED_HAS_LONG) != 0, s == 0 || s == 1 || s == 15 || s == 31);
    }
    assert_int_equal(packed_places(section[v->nslices].word), 3);       /* 65 entries in pieces of 3 */
    assert_int_equal(packed_count(section[v->nslices + 1].word), 1024); /* of 34 */
    assert_int_equal(packed_count(section[v->nslices + 3].word), 1);    /* the last of 500 */
    assert_int_equal(tess_matrix_bytes(stored), v->units * 32 + (v->nslices + 9) * 8 + (4 + 5) * 4 + 9 * 8);
    assert_int_equal(view_of(full)->longest, 255);
    assert_int_equal(view_of(full)->nlong, 1);
    free(list);
    free(first);
    free(section);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(full);
    tess_matrix_destroy(m);
    tess_matrix_destroy(n);
    oracle_free(&a);
    oracle_free(&b);
    tess_context_destroy(ctx);
}

/* ---- products ---- */

/* A function of every matrix in every case. */
typedef struct packed_trial {
    oracle_csr a, held; /* as given, and as stored */
    tess_matrix *m, *stored;
    const uint8_t *level; /* of entries */
    const level_case *levels;
} packed_trial;

static void for_every_matrix(int threads, void (*check)(const packed_trial *t))
{
    tess_context *ctx = open_device(threads);

    for (int k = 0; k < MAKERS * CASES; k++) {
        packed_trial t = {.a = makers[k % MAKERS](), .levels = &cases[k / MAKERS]};
        tess_storage_options o = {.size = sizeof o, .format = TESS_FORMAT_PACKED};
        uint8_t *level = NULL;

        t.m = make_matrix(ctx, &t.a);
        t.stored = to_packed(t.m, t.levels->policy, t.levels->levels);
        t.held = decode_matrix(t.stored);
        assert_int_equal(tess_policy_options_parse(t.levels->policy, &o.policy), TESS_SUCCESS);
        assert_int_equal(tess_precision_levels_parse(t.levels->levels, &o.policy), TESS_SUCCESS);
        o.policy.granularity = TESS_GRANULARITY_ENTRY;
        level = levels_of_entries(t.m, &t.a, &o.policy);
        t.level = level;
        check(&t);
        free(level);
        tess_matrix_destroy(t.stored);
        tess_matrix_destroy(t.m);
        oracle_free(&t.a);
        oracle_free(&t.held);
    }
    tess_context_destroy(ctx);
}

/* Each entry rounded to its level. */
static void check_rounded(const oracle_csr *a, const oracle_csr *held, const packed_view *v, const uint8_t *level)
{
    assert_int_equal(held->nnz, a->nnz);
    assert_memory_equal(held->row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    assert_memory_equal(held->col_ind, a->col_ind, (size_t)a->nnz * sizeof *a->col_ind);
    for (int64_t k = 0; k < a->nnz; k++) {
        const tess_precision precision = v->precision[level[k]];
        double place = 0.0;

        tess_store(precision, &place, 0, a->val[k], TESS_OVERFLOW_INFINITY);
        assert_true(held->val[k] == tess_load(precision, &place, 0));
    }
}

static void check_values(const packed_trial *t)
{
    static const double factors[3][2] = {{1.0, 0.0}, {0.3, -0.7}, {-2.5, 1.0}};

    check_rounded(&t->a, &t->held, view_of(t->stored), t->level);
    check_products(t->stored, &t->held, TESS_OP_NONE, 3, factors);
}

static void every_entry_is_stored_at_its_level(void **state)
{
    (void)state;
    for_every_matrix(2, check_values);
}

/* Rows that are not long: level after level, from the left to the right. */
static void check_order(const packed_trial *t)
{
    const packed_view *v = view_of(t->stored);
    double *x = random_values(t->a.ncols, 3, -1.0, 1.0), *y = test_allocate(t->a.nrows, sizeof *y);

    multiply(t->stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    for (int64_t i = 0; i < t->a.nrows; i++) {
        const int64_t begin = t->held.row_ptr[i], end = t->held.row_ptr[i + 1];
        double sum = 0.0;

        if (end - begin > v->longest) { continue; }
        for (int l = 0; l < v->nlevels; l++) {
            for (int64_t k = begin; k < end; k++) {
                if (t->level[k] == l) { sum = add_product(sum, t->held.val[k], x[t->held.col_ind[k]]); }
            }
        }
        assert_true(same_bits(&sum, y + i, 1));
    }
    free(x);
    free(y);
}

static void rows_are_summed_level_after_level(void **state)
{
    (void)state;
    for_every_matrix(1, check_order);
}

/* Enough entries for several threads, long rows among them. */
static void numbers_of_threads_give_the_same_bits(void **state)
{
    oracle_csr a = oracle_power_law(9000, 5);
    double *x = random_values(a.ncols, 3, -1.0, 1.0), *y = test_allocate(a.nrows, sizeof *y);
    double *expected = test_allocate(a.nrows, sizeof *expected);

    (void)state;
    assert_true(a.nnz > 40000);
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_device(threads);
        tess_matrix *m = make_matrix(ctx, &a), *stored = to_packed(m, "fixed-range:0.5", "fp64,fp32,fp16");

        assert_true(view_of(stored)->nsegments > 1);
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        if (threads == 1) { memcpy(expected, y, (size_t)a.nrows * sizeof *y); }
        assert_true(same_bits(expected, y, a.nrows));
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
    free(x);
    free(y);
    free(expected);
}

static void check_not_finite(const packed_trial *t)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    double *x = random_values(t->a.ncols, 3, 0.5, 1.0), *y = test_allocate(t->a.nrows, sizeof *y);

    for (int64_t j = 0; j < t->a.ncols; j += 11) {
        x[j] = bad[j % 3];
    }
    multiply(t->stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    for (int64_t i = 0; i < t->a.nrows; i++) {
        assert_int_equal(isfinite(y[i]) != 0, !meets_not_finite(&t->a, i, x));
    }
    free(x);
    free(y);
}

static void what_is_no_entry_is_not_multiplied(void **state)
{
    (void)state;
    for_every_matrix(2, check_not_finite);
}

static void check_fp32_vectors(const packed_trial *t)
{
    check_fp32_product(t->stored, &t->held, TESS_ARITHMETIC_FP64, 1.0, 0.0);
    check_fp32_product(t->stored, &t->held, TESS_ARITHMETIC_FP64, -0.5, 0.75);
}

static void vectors_may_be_fp32(void **state)
{
    (void)state;
    for_every_matrix(2, check_fp32_vectors);
}

/* y := r - A x with dot products of y with itself and with r, to their rounding. */
static void check_residual(const packed_trial *t)
{
    tess_context *ctx = t->m->ctx;
    const int64_t n = t->a.nrows;
    double *x = random_values(t->a.ncols, 8, -1.0, 1.0), *r = random_values(n, 9, -1.0, 1.0);
    double *ax = test_allocate(n, sizeof *ax), *out = test_allocate(n, sizeof *out);
    tess_vector *vx = make_vector(ctx, t->a.ncols, x), *vr = make_vector(ctx, n, r), *vy = make_zeros(ctx, n);
    tess_loop_state *device = NULL, local;

    multiply(t->stored, TESS_OP_NONE, 1.0, x, 0.0, ax, ax);
    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof *device, (void **)&device));
    for (int ndots = 0; ndots <= 2; ndots++) {
        tess_spmv_args args = {.x = vx->data, .y = vy->data, .alpha = 1.0, .residual = vr->data};
        wide dot[2] = {0, 0};
        double size[2] = {0.0, 0.0};

        memset(&local, 0, sizeof local);
        local.phase = TESS_LOOP_RUNNING;
        assert_ok(ctx, ctx->backend->upload(ctx, device, &local, sizeof local));
        args.reduction = (tess_reduction){
            .ndots = ndots, .with = {args.y, args.residual}, .scalar = TESS_SCALAR_NONE, .state = device};
        assert_ok(ctx, t->stored->ops->prepare(t->stored));
        assert_ok(ctx, t->stored->ops->spmv(t->stored, &args));
        assert_ok(ctx, ctx->backend->download(ctx, &local, device, sizeof local));
        read_vector(vy, out);
        for (int64_t i = 0; i < n; i++) {
            assert_true(out[i] == r[i] - ax[i]);
            dot[0] += (wide)out[i] * (wide)out[i];
            dot[1] += (wide)out[i] * (wide)r[i];
            size[0] += out[i] * out[i];
            size[1] += fabs(out[i] * r[i]);
        }
        for (int k = 0; k < ndots; k++) {
            assert_at_most(fabs(local.dots[k] - (double)dot[k]), gamma_of((double)n + 2.0) * size[k]);
        }
    }
    tess_device_release(ctx, device, 1, sizeof *device);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_vector_destroy(vr);
    free(x);
    free(r);
    free(ax);
    free(out);
}

static void residuals_come_with_their_dot_products(void **state)
{
    (void)state;
    for_every_matrix(2, check_residual);
}

/* y := 2 A x - r / 2, total := r + y / 4, to the rounding of each. */
static void check_step(const packed_trial *t)
{
    tess_context *ctx = t->m->ctx;
    const int64_t n = t->a.nrows;
    double *x = random_values(t->a.ncols, 8, -1.0, 1.0), *r = random_values(n, 9, -1.0, 1.0);
    double *ax = test_allocate(n, sizeof *ax), *y = test_allocate(n, sizeof *y), *sum = test_allocate(n, sizeof *sum);
    tess_vector *vx = make_vector(ctx, t->a.ncols, x), *vr = make_vector(ctx, n, r), *vy = make_zeros(ctx, n);
    tess_vector *total = make_vector(ctx, n, r);
    tess_spmv_args args = {.x = vx->data, .y = vy->data, .alpha = 2.0, .beta = -0.5};

    multiply(t->stored, TESS_OP_NONE, 1.0, x, 0.0, ax, ax);
    args.update = (tess_update){.kind = TESS_UPDATE_POLYNOMIAL, .base = vr->data, .total = total->data, .gamma = 0.25};
    assert_ok(ctx, t->stored->ops->spmv(t->stored, &args));
    read_vector(vy, y);
    read_vector(total, sum);
    for (int64_t i = 0; i < n; i++) {
        assert_at_most(fabs(y[i] - (2.0 * ax[i] - 0.5 * r[i])), 3.0 * U64 * (fabs(2.0 * ax[i]) + fabs(0.5 * r[i])));
        assert_at_most(fabs(sum[i] - (r[i] + 0.25 * y[i])), 3.0 * U64 * (fabs(r[i]) + fabs(0.25 * y[i])));
    }
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_vector_destroy(vr);
    tess_vector_destroy(total);
    free(x);
    free(r);
    free(ax);
    free(y);
    free(sum);
}

static void steps_of_a_polynomial(void **state)
{
    (void)state;
    for_every_matrix(2, check_step);
}

/* New values go to the same places, at the levels of the old ones. */
static void check_new_values(const packed_trial *t)
{
    const packed_view before = *view_of(t->stored), *v = view_of(t->stored);
    const int64_t bytes = (v->nslices + v->nsegments) * v->nlevels * (int64_t)sizeof *v->section;
    packed_section *section = fetch_bytes(t->stored, v->section, bytes), *after = NULL;
    oracle_csr a = oracle_copy(&t->a), held;

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = k % 5 == 0 ? 0.0 : 1.0 / (double)(k % 90 + 3);
    }
    assert_ok(t->m->ctx, tess_matrix_update_values(t->m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    held = decode_matrix(t->stored);
    check_rounded(&a, &held, v, t->level);
    check_product(t->stored, &held, TESS_OP_NONE, 0.5, 1.0);
    assert_memory_equal(&before, v, sizeof before);
    after = fetch_bytes(t->stored, v->section, bytes);
    assert_memory_equal(section, after, (size_t)bytes);
    free(section);
    free(after);
    oracle_free(&a);
    oracle_free(&held);
}

static void new_values_keep_the_places(void **state)
{
    (void)state;
    for_every_matrix(2, check_new_values);
}

/* ---- ends ---- */

static void matrices_without_entries(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {33, 31}, {0, 7}, {7, 0}};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 8; k++) {
        oracle_csr a = oracle_open(sizes[k / 2][0], sizes[k / 2][1]);
        tess_matrix *m = NULL, *stored = NULL;

        for (int64_t i = 0; i < a.nrows; i++) {
            oracle_end_row(&a, i);
        }
        m = make_matrix(ctx, &a);
        stored = to_packed(m, k % 2 ? "lossless" : "none", k % 2 ? "fp64,fp32" : "bf16");
        assert_int_equal(view_of(stored)->units, 0);
        assert_int_equal(tess_matrix_bytes(stored), (a.nrows + 31) / 32 * (1 + k % 2) * 8);
        check_decoded(stored, &a);
        check_product(stored, &a, TESS_OP_NONE, 2.0, 0.0);
        check_product(stored, &a, TESS_OP_NONE, 2.0, -1.5);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* By an assignment without the diagonal: the rest is stored, and the diagonal comes back as 0. */
static void what_is_left_out_is_zero(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_grid(), expected = oracle_copy(&a);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o;
    tess_assignment *assignment = NULL;

    (void)state;
    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_PACKED;
    o.policy.granularity = TESS_GRANULARITY_ENTRY;
    o.policy.policy = TESS_POLICY_LOSSLESS;
    o.policy.without_diagonal = 1;
    assert_ok(ctx, tess_assignment_create(m, &o.policy, &assignment));
    assert_ok(ctx, tess_matrix_convert_assigned(m, &o, assignment, &stored));
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { expected.val[k] = 0.0; }
        }
    }
    check_decoded(stored, &expected);
    check_product(stored, &expected, TESS_OP_NONE, 1.0, 0.5);
    tess_matrix_destroy(stored);
    tess_assignment_destroy(assignment);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&expected);
}

/* Transposed products are those of the FP64 matrix, whose values these are; below fp64 there is none. */
static void transposes_need_fp64_values(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_long_rows();
    tess_matrix *m = make_matrix(ctx, &a), *high = to_packed(m, "none", "fp64");
    tess_matrix *mixed = to_packed(m, "fixed-range:0.02", "fp64,fp32");
    tess_vector *x = make_zeros(ctx, a.nrows), *y = make_zeros(ctx, a.ncols), *narrow_x = NULL, *narrow_y = NULL;

    (void)state;
    check_product(high, &a, TESS_OP_TRANSPOSE, 1.5, -0.5);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(mixed, TESS_OP_TRANSPOSE, 1.0, x, 0.0, y));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "packed entries below fp64"));
    assert_ok(ctx, tess_vector_create(ctx, a.nrows, TESS_PRECISION_FP32, &narrow_x));
    assert_ok(ctx, tess_vector_create(ctx, a.ncols, TESS_PRECISION_FP32, &narrow_y));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(high, TESS_OP_TRANSPOSE, 1.0, narrow_x, 0.0, narrow_y));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "format packed, transposed,"));
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    tess_vector_destroy(narrow_x);
    tess_vector_destroy(narrow_y);
    tess_matrix_destroy(high);
    tess_matrix_destroy(mixed);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

#define PACKED_TESTS                                                                                                   \
    cmocka_unit_test(layout_of_a_small_matrix), cmocka_unit_test(levels_have_sections),                                \
        cmocka_unit_test(offsets_have_the_bytes_they_need), cmocka_unit_test(long_rows_are_cut),                       \
        cmocka_unit_test(every_entry_is_stored_at_its_level), cmocka_unit_test(rows_are_summed_level_after_level),     \
        cmocka_unit_test(numbers_of_threads_give_the_same_bits), cmocka_unit_test(what_is_no_entry_is_not_multiplied), \
        cmocka_unit_test(vectors_may_be_fp32), cmocka_unit_test(residuals_come_with_their_dot_products),               \
        cmocka_unit_test(steps_of_a_polynomial), cmocka_unit_test(new_values_keep_the_places),                         \
        cmocka_unit_test(matrices_without_entries), cmocka_unit_test(what_is_left_out_is_zero),                        \
        cmocka_unit_test(transposes_need_fp64_values)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        PACKED_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
