/* SPDX-License-Identifier: Apache-2.0 */
/* Policy lossless on the CPU: which values a level holds, E, scales, the kind of fp8, and that no format changes a bit.
 */
#include <float.h>

#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "support/formats.h"
#include "support/papers.h"
#include "support/product.h"
#include "support/variants.h"

static tess_policy_options options_of(tess_granularity granularity, const char *policy, const char *levels)
{
    tess_policy_options o;

    tess_policy_options_init(&o);
    o.granularity = granularity;
    assert_int_equal(tess_policy_options_parse(policy, &o), TESS_SUCCESS);
    if (levels) { assert_int_equal(tess_precision_levels_parse(levels, &o), TESS_SUCCESS); }
    return o;
}

/* One row. */
static oracle_csr row_of(int64_t count, const double *values)
{
    oracle_csr a = oracle_open(1, count);

    for (int64_t k = 0; k < count; k++) {
        oracle_push(&a, k, values[k]);
    }
    oracle_end_row(&a, 0);
    return a;
}

/* Levels of items to `level`; the summary with the error. */
static tess_assignment_summary assign(const oracle_csr *a, const tess_policy_options *o, uint8_t *level,
                                      int16_t *exponent)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, a);
    tess_assignment *made = NULL;
    tess_assignment_summary s = {.size = sizeof s};

    assert_ok(ctx, tess_assignment_create(m, o, &made));
    assert_ok(ctx, tess_assignment_measure_error(made, m));
    if (level) { assert_ok(ctx, tess_assignment_get_levels(made, level)); }
    if (exponent) { *exponent = made->exponent ? made->exponent[0] : 0; }
    tess_assignment_get_summary(made, &s);
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    assert_int_equal(ctx->held_bytes, 0);
    tess_context_destroy(ctx);
    return s;
}

/* ---- values ---- */

/* Whether storage keeps the value, by the codec: every bit, or all but `loss` of it. */
static bool keeps(tess_precision precision, double value, double loss)
{
    double code = 0.0, stored;

    if (!isfinite(value)) { return false; } /* level 0, though most formats have them */
    tess_store(precision, &code, 0, value, TESS_OVERFLOW_INFINITY);
    stored = tess_load(precision, &code, 0);
    if (loss == 0.0 || !isfinite(stored)) { return tess_double_bits(stored) == tess_double_bits(value); }
    return wide_abs((wide)value - (wide)stored) <= (wide)loss * wide_abs((wide)value);
}

static void check_values(tess_precision precision, const double *values, int64_t count, double loss)
{
    oracle_csr a = row_of(count, values);
    uint8_t *level = test_allocate(count, 1);
    tess_policy_options o = options_of(TESS_GRANULARITY_ENTRY, "lossless", "fp64,fp32");
    tess_assignment_summary s = {.size = sizeof s};
    int64_t wrong = 0;

    o.parameter = loss;
    o.level[1].precision = precision;
    s = assign(&a, &o, level, NULL);
    for (int64_t k = 0; k < count; k++) {
        wrong += level[k] != (keeps(precision, values[k], loss) ? 1 : 0);
    }
    assert_int_equal(wrong, 0);
    assert_true(loss == 0.0 ? s.largest_relative_error == 0.0 : s.largest_relative_error <= loss);
    assert_true(s.items_at[1] > 0 && s.items_at[0] > 0);
    free(level);
    oracle_free(&a);
}

static void check_values_with_losses(tess_precision precision, const double *values, int64_t count)
{
    static const double losses[] = {0.0, 1e-15, 0x1p-30, 1e-3, 0.1, 0.999};

    for (size_t k = 0; k < sizeof losses / sizeof *losses; k++) {
        check_values(precision, values, count, losses[k]);
    }
}

/* Every code of 8 and 16 bits, every midpoint, and their neighbours. */
static void values_are_kept_as_the_codec_says(void **state)
{
    (void)state;
    for (int f = 0; f < SMALL_FORMATS; f++) {
        int64_t count = format_boundaries(&small_formats[f], NULL);
        double *values = test_allocate(count, sizeof *values);

        (void)format_boundaries(&small_formats[f], values);
        check_values_with_losses(small_formats[f].precision, values, count);
        free(values);
    }
}

static void values_are_kept_as_fp32_says(void **state)
{
    const int64_t count = fp32_boundaries(3000, NULL);
    double *values = test_allocate(count, sizeof *values);

    (void)state;
    (void)fp32_boundaries(3000, values);
    check_values_with_losses(TESS_PRECISION_FP32, values, count);
    free(values);
}

/* All sizes, subnormal doubles too; significands of all lengths, and values slightly off them. */
static void random_values_are_kept_as_the_codec_says(void **state)
{
    enum { COUNT = 60000 };
    const int64_t special = special_values(NULL);
    double *values = test_allocate(COUNT + special, sizeof *values);
    uint64_t seed = 11;

    (void)state;
    for (int64_t k = 0; k < COUNT; k++) {
        const uint64_t bits = tess_double_bits(random_bits_double(&seed));
        const int cut = (int)(oracle_random_bits(&seed) % 53);

        values[k] = tess_double_of_bits((bits >> cut << cut) + (k % 3 == 0 ? oracle_random_bits(&seed) % 12 : 0));
        if (k % 2 == 0) { values[k] = ldexp(frexp(values[k], &(int){0}), (int)(k / 2 % 60) - 30); }
    }
    (void)special_values(values + COUNT);
    for (int p = TESS_PRECISION_FP32; p < TESS_PRECISION_COUNT; p++) {
        check_values_with_losses((tess_precision)p, values, COUNT + special);
    }
    free(values);
}

/* The loss of a value, and the doubles beside it: a loss that is met exactly is allowed. */
static void a_loss_is_met_to_the_last_bit(void **state)
{
    static const double values[] = {1.0 + 0x1p-30, 3.0 - 0x1p-40, 1.1, 0x1.fffffffffffffp3, 0x1.0000000000001p-20};

    (void)state;
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        const double stored = (double)(float)values[k], met = fabs(values[k] - stored) / values[k];

        for (int step = -1; step <= 1; step++) {
            const double loss = step < 0 ? nextafter(met, 0.0) : step > 0 ? nextafter(met, 1.0) : met;
            const oracle_csr a = row_of(1, &values[k]);
            tess_policy_options o = options_of(TESS_GRANULARITY_ENTRY, "lossless", "fp64,fp32");
            uint8_t level = 9;

            o.parameter = loss;
            (void)assign(&a, &o, &level, NULL);
            assert_int_equal(level, keeps(TESS_PRECISION_FP32, values[k], loss));
            if (step != 0) { assert_int_equal(level, step > 0); }
            oracle_free((oracle_csr *)(uintptr_t)&a);
        }
    }
}

/* The lowest of the default levels; fp8 is e4m3 here. */
static void a_value_is_at_the_lowest_level(void **state)
{
    static const struct {
        double value;
        int level;
    } cases[] = {
        {448.0, 3},         {-448.0, 3},   {464.0, 2},     {0x1p-9, 3},     {0x1p-10, 2},    {0.0, 3},
        {-0.0, 3},          {1.75, 3},     {1.125, 3},     {1.0625, 2},     {65504.0, 2},    {-65504.0, 2},
        {65520.0, 1},       {0x1p-24, 2},  {0x1p-25, 1},   {0x1.8p-24, 1},  {2049.0, 1},     {FLT_MAX, 1},
        {-FLT_MAX, 1},      {0x1p128, 0},  {0x1p-149, 1},  {0x1p-150, 0},   {0x1.8p-149, 0}, {1.0 + 0x1p-23, 1},
        {1.0 + 0x1p-24, 0}, {DBL_MAX, 0},  {0x1p-1074, 0}, {-0x1p-1022, 0}, {1.0 / 3.0, 0},  {NAN, 0},
        {-NAN, 0},          {INFINITY, 0}, {-INFINITY, 0}, {0.125, 3},      {15.0, 3},       {17.0, 2}};
    enum { CASES = sizeof cases / sizeof *cases };
    const tess_policy_options o = options_of(TESS_GRANULARITY_ENTRY, "lossless", NULL);
    tess_assignment_summary s = {.size = sizeof s};
    double values[CASES];
    uint8_t level[CASES];
    oracle_csr a;

    (void)state;
    for (int k = 0; k < CASES; k++) {
        values[k] = cases[k].value;
    }
    a = row_of(CASES, values);
    s = assign(&a, &o, level, NULL);
    for (int k = 0; k < CASES; k++) {
        if (level[k] != cases[k].level) { print_message("value %a at level %d\n", values[k], level[k]); }
        assert_int_equal(level[k], cases[k].level);
    }
    assert_int_equal(s.options.nlevels, 4);
    assert_true(s.options.choose_fp8 && s.options.parameter == 0.0);
    assert_int_equal(s.options.level[3].precision, TESS_PRECISION_E4M3);
    assert_true(isinf(s.range[0]) && isinf(s.range[3]) && s.largest_relative_error == 0.0);
    oracle_free(&a);
}

/* Every magnitude is below the range of a level, none below that of a level that is not there. */
static void absent_levels_have_no_range(void **state)
{
    const tess_policy_options o = options_of(TESS_GRANULARITY_ENTRY, "lossless", "fp64,fp32");
    const double one[] = {1.0};
    oracle_csr a = row_of(1, one);
    uint8_t level = 9;
    const tess_assignment_summary s = assign(&a, &o, &level, NULL);

    (void)state;
    assert_true(isinf(s.range[0]) && isinf(s.range[1]));
    assert_true(s.range[2] == 0.0 && s.range[3] == 0.0);
    oracle_free(&a);
}

/* ---- items ---- */

static int level_of_row(int64_t count, const double *values, const tess_policy_options *o, int16_t *exponent)
{
    oracle_csr a = row_of(count, values);
    uint8_t level = 9;
    const tess_assignment_summary s = assign(&a, o, &level, exponent);

    assert_true(s.largest_relative_error <= o->parameter);
    oracle_free(&a);
    return level;
}

/* Shares and underflow are not read. */
static void one_value_keeps_a_row_high(void **state)
{
    tess_policy_options o = options_of(TESS_GRANULARITY_ROW, "lossless", NULL);
    double values[300];

    (void)state;
    o.share = 1.0;
    o.at_most_one = o.allow_underflow = 1;
    for (int k = 0; k < 300; k++) {
        values[k] = k % 15 - 7;
    }
    assert_int_equal(level_of_row(300, values, &o, NULL), 3);
    values[200] = 17.0;
    assert_int_equal(level_of_row(300, values, &o, NULL), 2);
    values[100] = 0x1p-40;
    assert_int_equal(level_of_row(300, values, &o, NULL), 1);
    values[299] = NAN;
    assert_int_equal(level_of_row(300, values, &o, NULL), 0);
}

/* A power of two brings short significands into fp8, except magnitudes that are too far apart or too small for FP64 to
   scale. */
static void scales_make_rows_exact(void **state)
{
    static const struct {
        double values[3];
        int level;
        int exponent;
    } cases[] = {{{1.0, -3.0, 15.0}, 2, 0},
                 {{0x1p100, -0x1.8p100, 0x1.ep103}, 2, 103 - 7},
                 {{0x1p-500, 0.0, -0x1p-513}, 2, -507},             /* 2^-6: the smallest normal of e4m3 */
                 {{0x1p-500, 0.0, -0x1p-516}, 2, -507},             /* 2^-9: its smallest */
                 {{0x1p-500, 0.0, -0x1p-517}, 1, -514},             /* one binade more: fp16 */
                 {{0x1p-500, 0x1p-500, 0x1.08p-500}, 1, -514},      /* six bits */
                 {{0x1p-500, 0x1.002p-500, 0x1p-510}, 0, -514},     /* twelve bits */
                 {{0x1p300, 0x1p-300, 1.0}, 0, 300 - 14},           /* too far apart */
                 {{0x1p-1050, 0x1p-1049, 0x1p-1050}, 0, -1022},     /* 2^-1022 is the least power */
                 {{0x1p-1030, 0x1.8p-1030, -0x1p-1030}, 2, -1022}}; /* subnormal doubles; 2^-8 over the least */
    const tess_policy_options o = options_of(TESS_GRANULARITY_ROW, "lossless", "fp64,fp16:scaled,e4m3:scaled");

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int16_t exponent = 0;

        assert_int_equal(level_of_row(3, cases[k].values, &o, &exponent), cases[k].level);
        if (cases[k].level > 0) { assert_int_equal(exponent, cases[k].exponent); }
    }
}

static tess_precision chosen_for(int64_t count, const double *values, tess_granularity granularity)
{
    const tess_policy_options o = options_of(granularity, "lossless", NULL);
    oracle_csr a = row_of(count, values);
    const tess_assignment_summary s = assign(&a, &o, NULL, NULL);

    oracle_free(&a);
    return s.options.level[3].precision;
}

static void fp8_is_what_holds_more(void **state)
{
    static const double wide_ones[] = {512.0, 0x1p15, 1.125}, fine[] = {1.125, 512.0, 1.875}, even[] = {1.125, 512.0};

    (void)state;
    assert_int_equal(chosen_for(3, wide_ones, TESS_GRANULARITY_ENTRY), TESS_PRECISION_E5M2);
    assert_int_equal(chosen_for(3, fine, TESS_GRANULARITY_ENTRY), TESS_PRECISION_E4M3);
    assert_int_equal(chosen_for(2, even, TESS_GRANULARITY_ENTRY), TESS_PRECISION_E4M3);
    assert_int_equal(chosen_for(2, wide_ones, TESS_GRANULARITY_BLOCK), TESS_PRECISION_E5M2); /* without the last */
    assert_int_equal(chosen_for(3, wide_ones, TESS_GRANULARITY_BLOCK), TESS_PRECISION_E4M3); /* neither */
    assert_int_equal(chosen_for(2, wide_ones, TESS_GRANULARITY_ROW), TESS_PRECISION_E5M2);
}

/* ---- formats ---- */

/* Integers of 1 to 24 bits and a few of 40, so that all sums with small integers are exact. */
static oracle_csr integer_matrix(int64_t n, uint64_t seed)
{
    oracle_csr a = oracle_random(n, n, 7, seed);
    uint64_t random = seed;

    for (int64_t i = 0; i < n; i++) {
        static const int widths[] = {3, 10, 22, 40};
        const int width = widths[(i / 19 + i / 64) % 4];

        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = (double)(int64_t)(oracle_random_bits(&random) % (UINT64_C(1) << width));
            if (k % 3 == 0) { a.val[k] = -a.val[k]; } /* zeros become -0 */
        }
    }
    return a;
}

static const tess_storage_options *all_formats(int *count)
{
    static tess_storage_options all[16];
    static const struct {
        tess_format format, base;
        tess_granularity granularity;
        tess_kernel kernel;
        int side;
        const char *levels;
        tess_layout layout;
    } kinds[] = {
        {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, TESS_KERNEL_DEFAULT, 0, NULL, TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW, TESS_KERNEL_DEFAULT, 0, "fp64,fp32,fp16,bf16",
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, TESS_KERNEL_DEFAULT, 0,
         "fp64,fp32:scaled,fp16:scaled,fp8:scaled", TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_ENTRY, TESS_KERNEL_DEFAULT, 0, NULL, TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_GRANULARITY_ENTRY, TESS_KERNEL_DEFAULT, 0, NULL,
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_BLOCK, TESS_KERNEL_DEFAULT, 16, NULL,
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_GRANULARITY_BLOCK, TESS_KERNEL_DEFAULT, 32, NULL,
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, TESS_KERNEL_DEFAULT, 0, NULL,
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_COMPOSITE, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW, TESS_KERNEL_DEFAULT, 0, NULL,
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_TILES, TESS_FORMAT_CSR, TESS_GRANULARITY_BLOCK, TESS_KERNEL_DEFAULT, 16, NULL,
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_TILES, TESS_FORMAT_CSR, TESS_GRANULARITY_BLOCK, TESS_KERNEL_DEFAULT, 32,
         "fp64,fp32:scaled,fp16:scaled,fp8:scaled", TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_TILES, TESS_FORMAT_CSR, TESS_GRANULARITY_BLOCK, TESS_KERNEL_PAPER, 16, NULL, TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_TILES, TESS_FORMAT_CSR, TESS_GRANULARITY_BLOCK, TESS_KERNEL_DEFAULT, 16, NULL,
         TESS_LAYOUT_RESIDENT},
        {TESS_FORMAT_PACKED, TESS_FORMAT_CSR, TESS_GRANULARITY_ENTRY, TESS_KERNEL_DEFAULT, 0, NULL,
         TESS_LAYOUT_GROUPED},
        {TESS_FORMAT_PACKED, TESS_FORMAT_CSR, TESS_GRANULARITY_ENTRY, TESS_KERNEL_DEFAULT, 0, "fp64,fp32,fp16,bf16",
         TESS_LAYOUT_GROUPED},
    };

    *count = (int)(sizeof kinds / sizeof *kinds);
    for (int k = 0; k < *count; k++) {
        tess_storage_options_init(&all[k]);
        all[k].format = kinds[k].format;
        all[k].split.base = kinds[k].base;
        all[k].papers = papers_tiles(kinds[k].kernel, kinds[k].layout);
        all[k].slices.max_padding = 100.0;
        all[k].policy = options_of(kinds[k].granularity, "lossless", kinds[k].levels);
        all[k].policy.block_rows = all[k].policy.block_cols = kinds[k].side;
    }
    return all;
}

/* A matrix of integers, a vector, and places for products with both. */
typedef struct products {
    oracle_csr a;
    tess_context *ctx;
    tess_matrix *m;
    double *x, *y, *y64;
} products;

static products open_products(int64_t n, uint64_t seed)
{
    products p = {.a = integer_matrix(n, seed), .ctx = open_cpu(2)};

    p.m = make_matrix(p.ctx, &p.a);
    p.x = random_values(n, seed, -100.0, 100.0);
    p.y = test_allocate(n, sizeof *p.y);
    p.y64 = test_allocate(n, sizeof *p.y64);
    return p;
}

static void close_products(products *p)
{
    free(p->x);
    free(p->y);
    free(p->y64);
    tess_matrix_destroy(p->m);
    oracle_free(&p->a);
    tess_context_destroy(p->ctx);
}

/* Stored bit by bit, at three levels at least. */
static void check_stored(const products *p, const tess_matrix *stored)
{
    tess_assignment_summary s = {.size = sizeof s};
    oracle_csr held = decode_matrix(stored);
    int levels = 0;

    assert_true(tess_matrix_is_exact(stored));
    assert_ok(p->ctx, tess_matrix_get_assignment(stored, &s));
    for (int l = 0; l < s.options.nlevels; l++) {
        levels += s.nonzeros_at[l] > 0;
    }
    assert_true(levels >= 3);
    assert_int_equal(held.nnz, p->a.nnz);
    assert_true(same_bits(held.val, p->a.val, held.nnz));
    oracle_free(&held);
}

/* The stored values are the matrix; exact sums are those of FP64 in any order. */
static void no_format_changes_a_bit(void **state)
{
    enum { N = 500 };
    products p = open_products(N, 5);
    int count = 0;
    const tess_storage_options *all = all_formats(&count);

    (void)state;
    for (int i = 0; i < N; i++) {
        p.x[i] = rint(p.x[i]);
    }
    multiply(p.m, TESS_OP_NONE, 1.0, p.x, 0.0, p.y64, p.y64);
    for (int k = 0; k < count; k++) {
        tess_matrix *stored = NULL;

        assert_ok(p.ctx, tess_matrix_convert(p.m, &all[k], &stored));
        check_stored(&p, stored);
        multiply(stored, TESS_OP_NONE, 1.0, p.x, 0.0, p.y64, p.y);
        for (int i = 0; i < N; i++) {
            assert_true(p.y[i] == p.y64[i]); /* the sign of a sum of zeros is the format's */
        }
        tess_matrix_destroy(stored);
    }
    close_products(&p);
}

/* Row by row, the order of a sum is that of FP64 for any levels of the rows: any x will do. */
static void products_by_rows_have_the_bits_of_fp64(void **state)
{
    enum { N = 800 };
    products p = open_products(N, 6);
    int count = 0;
    const tess_storage_options *all = all_formats(&count);

    (void)state;
    for (int k = 0; k < count; k++) {
        tess_storage_options plain = all[k];
        tess_matrix *stored = NULL, *fp64 = NULL;

        if (all[k].policy.granularity != TESS_GRANULARITY_ROW) { continue; }
        plain.policy = options_of(TESS_GRANULARITY_ROW, "none", "fp64");
        assert_ok(p.ctx, tess_matrix_convert(p.m, &all[k], &stored));
        assert_ok(p.ctx, tess_matrix_convert(p.m, &plain, &fp64));
        multiply(stored, TESS_OP_NONE, 1.0, p.x, 0.0, p.y, p.y);
        multiply(fp64, TESS_OP_NONE, 1.0, p.x, 0.0, p.y64, p.y64);
        assert_true(same_bits(p.y, p.y64, N));
        tess_matrix_destroy(stored);
        tess_matrix_destroy(fp64);
    }
    close_products(&p);
}

/* ---- options ---- */

static void words_and_defaults(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_policy_options o, out;

    (void)state;
    tess_policy_options_init(&o);
    assert_int_equal(tess_policy_options_parse("LOSSLESS:1e-15", &o), TESS_SUCCESS);
    assert_true(o.policy == TESS_POLICY_LOSSLESS && o.parameter == 1e-15);
    assert_int_equal(tess_policy_options_parse("lossless:0", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_policy_options_parse("lossless:auto", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_policy_options_parse("lossless", &o), TESS_SUCCESS);
    assert_true(o.parameter == 0.0);
    assert_ok(ctx, tess_policy_resolve(ctx, &o, &out));
    assert_true(out.nlevels == 4 && out.choose_fp8);
    assert_int_equal(tess_precision_levels_parse("fp64,fp8:scaled", &o), TESS_SUCCESS);
    assert_true(o.nlevels == 2 && o.choose_fp8 && o.level[1].scaled);
    assert_int_equal(tess_precision_levels_parse("fp64,fp8,e5m2", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precision_levels_parse("fp64,fp32,fp16,bf16,e4m3", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precision_levels_parse("fp64,fp32", &o), TESS_SUCCESS);
    assert_false(o.choose_fp8);
    tess_context_destroy(ctx);
}

static void wrong_options_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_policy_options good = options_of(TESS_GRANULARITY_BLOCK, "lossless", NULL), o, out;

    (void)state;
#define REFUSED(change) \
    o = good;           \
    change;             \
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_policy_resolve(ctx, &o, &out))
    REFUSED(o.parameter = -1e-15);
    REFUSED(o.parameter = NAN);
    REFUSED(o.parameter = 1.0);
    REFUSED((o.granularity = TESS_GRANULARITY_MATRIX, o.policy = TESS_POLICY_FIXED_RANGE, o.parameter = 1.0,
             o.choose_fp8 = 0));
    REFUSED(o.choose_parameter = 1);
    REFUSED((void)tess_precision_levels_parse("fp32,fp16", &o));
    REFUSED((void)tess_precision_levels_parse("fp8", &o));
    REFUSED((tess_precision_levels_parse("fp64,fp32", &o), o.choose_fp8 = 1));
    REFUSED((tess_precision_levels_parse("fp64,fp8", &o), o.policy = TESS_POLICY_FIXED_RANGE));
#undef REFUSED
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_levels_have_no_range),
        cmocka_unit_test(values_are_kept_as_the_codec_says),
        cmocka_unit_test(values_are_kept_as_fp32_says),
        cmocka_unit_test(random_values_are_kept_as_the_codec_says),
        cmocka_unit_test(a_loss_is_met_to_the_last_bit),
        cmocka_unit_test(a_value_is_at_the_lowest_level),
        cmocka_unit_test(one_value_keeps_a_row_high),
        cmocka_unit_test(scales_make_rows_exact),
        cmocka_unit_test(fp8_is_what_holds_more),
        cmocka_unit_test(no_format_changes_a_bit),
        cmocka_unit_test(products_by_rows_have_the_bits_of_fp64),
        cmocka_unit_test(words_and_defaults),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
