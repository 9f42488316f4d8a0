/* SPDX-License-Identifier: Apache-2.0 */
/* The F of mean-3std that the library chooses: against every candidate judged in wide arithmetic, and where it is told.
 */
#include <float.h>

#include "base/random.h"
#include "matrix/matrix.h"
#include "policy/choice.h"
#include "support/test.h"

static tess_policy_options options_of(tess_granularity granularity, const char *levels)
{
    tess_policy_options o;

    tess_policy_options_init(&o);
    o.granularity = granularity;
    assert_int_equal(tess_policy_options_parse("mean-3std:auto", &o), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &o), TESS_SUCCESS);
    return o;
}

/* ---- what is chosen ---- */

/* An assignment as plain arrays. */
typedef struct plain_levels {
    uint8_t *level;
    int64_t *first;
    int32_t *column;
} plain_levels;

static int level_of(const tess_policy_options *o, const plain_levels *p, int64_t row, int32_t column, int64_t k)
{
    int64_t b;

    if (o->granularity == TESS_GRANULARITY_ROW) { return p->level[row]; }
    if (o->granularity == TESS_GRANULARITY_ENTRY) { return p->level[k]; }
    for (b = p->first[row / o->block_rows]; p->column[b] != column / o->block_cols; b++) {}
    return p->level[b];
}

/* Vector v of a round: two in (0, 1), and as many that are those spread over (-1, 1). */
static double element_of(int round, int v, int32_t column)
{
    const uint64_t bits = tess_random_bits((uint64_t)round, (uint64_t)column);
    const double u = (double)(2 * (v < 2 ? bits >> 32 : bits & 0xffffffffU) + 1) / 0x1p33;

    return v % 2 == 0 ? u : u - (1.0 - u);
}

static double stored_in(tess_precision precision, double value)
{
    double code = 0.0;

    tess_store(precision, &code, 0, value, TESS_OVERFLOW_INFINITY);
    return tess_load(precision, &code, 0);
}

/* Rows that fall short of 7 digits with one x. Nothing here is scaled. */
static int64_t count_short(const oracle_csr *a, const tess_policy_options *o, const plain_levels *p, int round, int v)
{
    int64_t count = 0;

    for (int64_t row = 0; row < a->nrows; row++) {
        wide value = 0, error = 0;

        for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
            const double x = element_of(round, v, a->col_ind[k]);
            int level;

            if (o->without_diagonal && a->col_ind[k] == row) { continue; }
            level = level_of(o, p, row, a->col_ind[k], k);
            value += (wide)a->val[k] * x;
            if (o->level[level].precision == TESS_PRECISION_FP64) { continue; }
            if (o->arithmetic == TESS_ARITHMETIC_FP32) {
                error += (wide)((float)stored_in(o->level[level].precision, a->val[k]) * (float)x);
            } else {
                error += (wide)stored_in(o->level[level].precision, a->val[k]) * x;
            }
            error -= (wide)a->val[k] * x;
        }
        count += error != 0 && !(2000000 * wide_abs(error) < wide_abs(value));
    }
    return count;
}

/* Whether the assignment with a parameter that is given leaves more than 95 % of the rows 7 digits, with every x. */
static bool is_accurate(const oracle_csr *a, const tess_matrix *m, const tess_policy_options *options, double parameter)
{
    tess_policy_options o = *options;
    tess_assignment *made = NULL;
    const int64_t rounds = a->nrows > 32768 ? 1 : a->nrows < 2048 ? 16 : 32768 / a->nrows;
    plain_levels p;
    bool accurate = true;

    o.choose_parameter = 0;
    o.parameter = parameter;
    assert_ok(m->ctx, tess_assignment_create(m, &o, &made));
    p.level = test_allocate(made->summary.items, 1);
    p.first = test_allocate(a->nrows + 2, sizeof *p.first);
    p.column = test_allocate(a->nnz, sizeof *p.column);
    assert_ok(m->ctx, tess_assignment_get_levels(made, p.level));
    if (o.granularity == TESS_GRANULARITY_BLOCK) {
        assert_ok(m->ctx, tess_assignment_get_blocks(made, p.first, p.column, NULL));
    }
    for (int i = 0; i < rounds * 4 && accurate; i++) {
        int64_t count = count_short(a, &o, &p, i / 4, i % 4);

        accurate = (double)count < 0.05 * (double)a->nrows || a->nrows == 0;
    }
    free(p.level);
    free(p.first);
    free(p.column);
    tess_assignment_destroy(made);
    return accurate;
}

/* The parameter that an assignment must have chosen: the first candidate that is accurate. */
static double expected_parameter(const oracle_csr *a, const tess_matrix *m, const tess_policy_options *o)
{
    for (int k = 1; k <= 24; k++) {
        if (is_accurate(a, m, o, 1.0 / (double)(1 << k))) { return 1.0 / (double)(1 << k); }
    }
    return DBL_MIN;
}

/* Checks it, for several numbers of threads, and returns the parameter. */
static double check_choice(const oracle_csr *a, const tess_policy_options *o)
{
    double chosen = 0.0;

    for (int threads = 1; threads <= 4; threads += 3) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = make_matrix(ctx, a);
        tess_assignment *made = NULL, *again = NULL;
        tess_assignment_summary s = {.size = sizeof s};

        assert_ok(ctx, tess_assignment_create(m, o, &made));
        tess_assignment_get_summary(made, &s);
        if (threads == 1) { chosen = expected_parameter(a, m, o); }
        assert_true(s.options.parameter == chosen);
        assert_true(s.options.choose_parameter != 0);
        /* the chosen parameter is then given */
        s.options.choose_parameter = 0;
        assert_ok(ctx, tess_assignment_create(m, &s.options, &again));
        assert_memory_equal(again->summary.nonzeros_at, made->summary.nonzeros_at, sizeof s.nonzeros_at);
        assert_true(same_bits(again->summary.range, made->summary.range, TESS_MAX_LEVELS));
        tess_assignment_destroy(again);
        tess_assignment_destroy(made);
        tess_matrix_destroy(m);
        assert_int_equal(ctx->held_bytes, 0);
        tess_context_destroy(ctx);
    }
    return chosen;
}

/*
 * One row in `period` has random values of alternating sign, which lose digits; the others have ones. All of a row are
 * times a power of two that falls to 2^-span over the rows, so that F tells them apart.
 */
static oracle_csr cancelling_rows(int64_t n, int period, int span, uint64_t seed)
{
    oracle_csr a = oracle_open(n, n);
    uint64_t state = seed;

    for (int64_t i = 0; i < n; i++) {
        const double scale = ldexp(1.0, -(int)(i * span / n));

        for (int64_t j = i < 3 ? 0 : i - 3; j < i + 4 && j < n; j++) {
            const double value = i % period == 0 ? oracle_uniform(&state, 0.5, 1.0) * (j % 2 == 0 ? 1.0 : -1.0) : 1.0;

            oracle_push(&a, j, value * scale);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

#ifdef TESS_INSTRUMENTED
enum { EVERY = 3, LEAST = 1 }; /* each matrix at one granularity: other numbers take no other branch */
#else
enum { EVERY = 1, LEAST = 6 };
#endif

static void is_the_first_that_is_accurate(void **state)
{
    static const tess_granularity granularities[] = {TESS_GRANULARITY_ROW, TESS_GRANULARITY_ENTRY,
                                                     TESS_GRANULARITY_BLOCK};
    static const char *const levels[] = {"fp64,fp32", "fp64,fp32,fp16", "fp64,bf16"};
    oracle_csr all[] = {oracle_random(90, 90, 6, 1),     oracle_random(700, 600, 4, 2),
                        cancelling_rows(400, 2, 24, 3),  cancelling_rows(2500, 3, 24, 4),
                        oracle_random(17, 900, 200, 5),  oracle_hilbert(40),
                        cancelling_rows(300, 1, 120, 6), oracle_open(0, 0)};
    int kinds[3] = {0, 0, 0}; /* 0.5, something below, nothing low */

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        for (int i = (int)k % EVERY; i < 9; i += EVERY) {
            tess_policy_options o = options_of(granularities[i % 3], levels[i / 3]);
            double chosen;

            o.allow_underflow = i % 2;
            o.arithmetic = (k + (size_t)i) % 4 == 0 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
            o.without_diagonal = i % 3 != 2 && k % 2 == 0;
            o.block_rows = k % 2 ? 32 : 16;
            o.share = 80.0;
            chosen = check_choice(&all[k], &o);
            kinds[chosen == 0.5 ? 0 : chosen > DBL_MIN ? 1 : 2]++;
        }
        oracle_free(&all[k]);
    }
    assert_true(kinds[0] >= LEAST && kinds[1] >= LEAST && kinds[2] >= (LEAST + 1) / 2);
}

/* If every level holds all values, no other F than the paper's is needed. */
static void exact_values_keep_the_largest(void **state)
{
    oracle_csr a = oracle_laplace2d(30);
    const tess_policy_options o = options_of(TESS_GRANULARITY_BLOCK, "fp64,fp32,fp16");

    (void)state;
    assert_true(check_choice(&a, &o) == 0.5);
    oracle_free(&a);
}

/* With scales and entries that are no numbers it ends, and the last candidate leaves no value that counts low. */
static void ends_whatever_the_values_are(void **state)
{
    oracle_csr a = oracle_random(300, 300, 9, 8);
    tess_policy_options o = options_of(TESS_GRANULARITY_BLOCK, "fp64,fp16:scaled,e4m3:scaled");
    tess_context *ctx = open_cpu(2);
    tess_assignment *made = NULL;
    tess_matrix *m;

    (void)state;
    for (int64_t i = 0; i < a.nnz; i++) {
        a.val[i] = ldexp(a.val[i], (int)(i % 2000) - 1000);
    }
    a.val[10] = NAN;
    a.val[500] = (double)INFINITY;
    a.val[501] = 0.0;
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_assignment_create(m, &o, &made));
    assert_true(made->summary.options.parameter <= 0.5 && made->summary.options.parameter >= DBL_MIN);
    tess_assignment_destroy(made);
    /* nothing can be done where the highest level is low itself */
    o = options_of(TESS_GRANULARITY_BLOCK, "fp16,e4m3");
    assert_ok(ctx, tess_assignment_create(m, &o, &made));
    assert_true(made->summary.options.parameter == DBL_MIN);
    assert_int_equal(made->summary.nonzeros_at[0], a.nnz);
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- the rule ---- */

static void a_row_by_hand(void **state)
{
    static const struct {
        double value, error;
        bool falls_short;
    } rows[] = {{1.0, 0.0, false},
                {0.0, 0.0, false},
                {0.0, 1e-300, true},
                {-1.0, 4.9999e-7, false},
                {1.0, -5.0001e-7, true},
                {2e6, 1.0, true}, /* equality does not do */
                {2e6, -0x1.fffffffffffffp-1, false},
                {NAN, 0.0, false},
                {NAN, 1.0, false},
                {(double)INFINITY, 1.0, false},
                {1.0, NAN, true},
                {1.0, (double)INFINITY, true}};

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        choice_sums s = choice_start();

        s.value[2] = rows[k].value;
        s.error[2] = rows[k].error;
        assert_int_equal(choice_falls_short(&s, 2), rows[k].falls_short);
        assert_false(choice_falls_short(&s, 1));
    }
}

static void shares_and_rounds(void **state)
{
    unsigned long long inaccurate[CHOICE_COUNTS] = {0};

    (void)state;
    assert_int_equal(choice_rounds(0), 1);
    assert_int_equal(choice_rounds(1), 16);
    assert_int_equal(choice_rounds(2048), 16);
    assert_int_equal(choice_rounds(2185), 14);
    assert_int_equal(choice_rounds(32768), 1);
    assert_int_equal(choice_rounds(INT64_C(3000000000)), 1);
    inaccurate[7] = 4;
    assert_true(choice_suffices(100, 2, inaccurate));
    inaccurate[7] = 5; /* 95 % is not above it */
    assert_false(choice_suffices(100, 2, inaccurate));
    assert_true(choice_suffices(100, 1, inaccurate)); /* not looked at */
    assert_true(choice_suffices(0, 1, inaccurate));
    assert_true(choice_parameter(0) == 0.5 && choice_parameter(23) == 0x1p-24 && choice_parameter(24) == DBL_MIN);
}

/* ---- options, and where the choice is told ---- */

static void names_and_refusals(void **state)
{
    tess_policy_options o;
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(4);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_assignment *made = NULL;

    (void)state;
    tess_policy_options_init(&o);
    assert_int_equal(tess_policy_options_parse("mean-3std:AUTO", &o), TESS_SUCCESS);
    assert_true(o.policy == TESS_POLICY_MEAN_3STD && o.choose_parameter && o.parameter == 0.0);
    assert_int_equal(tess_policy_options_parse("mean-range:auto", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_policy_options_parse("none:auto", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_policy_options_parse("mean-3std:auto2", &o), TESS_INVALID_ARGUMENT);
    assert_true(o.choose_parameter); /* a text that is refused changes nothing */
    assert_int_equal(tess_policy_options_parse("mean-3std:0.25", &o), TESS_SUCCESS);
    assert_true(!o.choose_parameter && o.parameter == 0.25);
    o.policy = TESS_POLICY_MEAN_RANGE;
    o.choose_parameter = 1;
    assert_int_equal(tess_assignment_create(m, &o, &made), TESS_INVALID_ARGUMENT);
    o.policy = TESS_POLICY_MEAN_3STD;
    o.arithmetic = (tess_arithmetic)2;
    assert_int_equal(tess_assignment_create(m, &o, &made), TESS_INVALID_ARGUMENT);
    /* a parameter is not read */
    o.arithmetic = TESS_ARITHMETIC_FP64;
    o.parameter = -3.0;
    assert_ok(ctx, tess_assignment_create(m, &o, &made));
    assert_true(made->summary.options.parameter == 0.5);
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static double parameter_in(const tess_matrix *m, tess_format format, tess_arithmetic arithmetic)
{
    tess_storage_options storage;
    tess_assignment_summary s = {.size = sizeof s};
    tess_matrix *stored = NULL;

    tess_storage_options_init(&storage);
    storage.format = format;
    storage.arithmetic = arithmetic;
    storage.policy = options_of(TESS_GRANULARITY_BLOCK, "fp64,fp32");
    assert_ok(m->ctx, tess_matrix_convert(m, &storage, &stored));
    assert_ok(m->ctx, tess_matrix_get_assignment(stored, &s));
    assert_int_equal(s.options.arithmetic, arithmetic);
    tess_matrix_destroy(stored);
    return s.options.parameter;
}

/* Products in FP32 need a smaller F here, and split asks for one. */
static void stored_matrices_tell(void **state)
{
    oracle_csr a = cancelling_rows(2000, 1, 24, 8);
    tess_policy_options o = options_of(TESS_GRANULARITY_BLOCK, "fp64,fp32");
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *csr = NULL;
    tess_storage_options storage;
    tess_assignment_summary s = {.size = sizeof s};
    double chosen = check_choice(&a, &o), with_fp32;

    (void)state;
    o.arithmetic = TESS_ARITHMETIC_FP32;
    with_fp32 = check_choice(&a, &o);
    assert_true(with_fp32 < chosen);
    assert_true(parameter_in(m, TESS_FORMAT_TILES, TESS_ARITHMETIC_FP64) == chosen);
    assert_true(parameter_in(m, TESS_FORMAT_SPLIT, TESS_ARITHMETIC_FP64) == chosen);
    assert_true(parameter_in(m, TESS_FORMAT_SPLIT, TESS_ARITHMETIC_FP32) == with_fp32);
    tess_storage_options_init(&storage);
    assert_ok(ctx, tess_matrix_convert(m, &storage, &csr));
    assert_int_equal(tess_matrix_get_assignment(csr, &s), TESS_UNSUPPORTED);
    assert_int_equal(tess_matrix_get_assignment(m, &s), TESS_UNSUPPORTED);
    tess_matrix_destroy(csr);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_first_that_is_accurate),
                                              cmocka_unit_test(exact_values_keep_the_largest),
                                              cmocka_unit_test(ends_whatever_the_values_are),
                                              cmocka_unit_test(a_row_by_hand),
                                              cmocka_unit_test(shares_and_rounds),
                                              cmocka_unit_test(names_and_refusals),
                                              cmocka_unit_test(stored_matrices_tell)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
