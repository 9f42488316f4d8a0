/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignments of matrices with more entries than one thread takes alone (16,384): four threads count what one counts.
 * A count that two threads add to without a reduction loses some; ThreadSanitizer (preset tsan) sees the race as well.
 */
#include "support/test.h"

/* Twelve portions of 1024 rows, which the threads take in any order; about 49,000 entries in (-1, 1). */
enum { ROWS = 12 * 1024, PER_ROW = 4, SERIAL_WORK = 16384, REPEATS = 5 };

typedef struct outcome {
    tess_assignment_summary summary;
    int64_t items;
    uint8_t *level; /* one per item */
} outcome;

static int64_t items_of(const tess_assignment_summary *s, const tess_matrix *m)
{
    switch (s->options.granularity) {
    case TESS_GRANULARITY_ROW: return tess_matrix_nrows(m);
    case TESS_GRANULARITY_ENTRY: return tess_matrix_nnz(m);
    default: return s->items;
    }
}

static outcome assign(const oracle_csr *a, const tess_policy_options *options, int threads)
{
    outcome o;
    tess_context *ctx = open_cpu(threads);
    tess_matrix *m = make_matrix(ctx, a);
    tess_assignment *assignment = NULL;

    assert_ok(ctx, tess_assignment_create(m, options, &assignment));
    assert_ok(ctx, tess_assignment_measure_error(assignment, m));
    tess_assignment_summary_init(&o.summary);
    assert_ok(ctx, tess_assignment_get_summary(assignment, &o.summary));
    o.items = items_of(&o.summary, m);
    o.level = test_allocate(o.items, 1);
    assert_ok(ctx, tess_assignment_get_levels(assignment, o.level));
    tess_assignment_destroy(assignment);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    return o;
}

/* What the summary counts is what the levels of the items say. */
static void assert_counts_are_those_of_the_levels(const outcome *o, int64_t nnz)
{
    int64_t at[TESS_MAX_LEVELS + 1] = {0}, nonzeros = 0, used = 0;

    for (int64_t i = 0; i < o->items; i++) {
        at[o->level[i] < TESS_MAX_LEVELS ? o->level[i] : TESS_MAX_LEVELS] += 1;
    }
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        assert_int_equal(o->summary.items_at[l], at[l]);
        nonzeros += o->summary.nonzeros_at[l];
        used += at[l] > 0;
    }
    assert_int_equal(o->summary.empty, at[TESS_MAX_LEVELS]);
    assert_int_equal(nonzeros, nnz);
    assert_true(used >= 2); /* so that two counts can be wrong */
}

static void compare_threads(const char *policy, const char *levels, tess_granularity granularity)
{
    oracle_csr a = oracle_random(ROWS, ROWS, PER_ROW, 28);
    tess_policy_options options;
    outcome alone;

    assert_true(a.nnz > 2 * SERIAL_WORK);
    tess_policy_options_init(&options);
    assert_int_equal(tess_policy_options_parse(policy, &options), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &options), TESS_SUCCESS);
    options.granularity = granularity;
    options.share = granularity == TESS_GRANULARITY_ROW ? 60.0 : options.share;
    alone = assign(&a, &options, 1);
    assert_counts_are_those_of_the_levels(&alone, a.nnz);
    assert_true(alone.summary.largest_relative_error > 0.0);
    for (int i = 0; i < REPEATS; i++) {
        outcome together = assign(&a, &options, 4);

        assert_counts_are_those_of_the_levels(&together, a.nnz);
        assert_memory_equal(&together.summary, &alone.summary, sizeof alone.summary);
        assert_memory_equal(together.level, alone.level, (size_t)alone.items);
        free(together.level);
    }
    free(alone.level);
    oracle_free(&a);
}

static void entries_are_counted_by_all_threads(void **state)
{
    (void)state;
    compare_threads("fixed-range:0.5", "fp64,fp32", TESS_GRANULARITY_ENTRY);
}

static void rows_are_counted_by_all_threads(void **state)
{
    (void)state;
    compare_threads("fixed-range:0.5", "fp64,fp32", TESS_GRANULARITY_ROW);
}

static void rows_with_scales_are_counted_by_all_threads(void **state)
{
    (void)state;
    compare_threads("fixed-range:0.5", "fp64,fp16:scaled", TESS_GRANULARITY_ROW);
}

static void blocks_are_counted_by_all_threads(void **state)
{
    (void)state;
    compare_threads("fixed-range:0.95", "fp64,fp32", TESS_GRANULARITY_BLOCK);
}

static void a_chosen_factor_is_the_same_with_all_threads(void **state)
{
    (void)state;
    compare_threads("mean-3std:auto", "fp64,fp16", TESS_GRANULARITY_BLOCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_counted_by_all_threads),
        cmocka_unit_test(rows_are_counted_by_all_threads),
        cmocka_unit_test(rows_with_scales_are_counted_by_all_threads),
        cmocka_unit_test(blocks_are_counted_by_all_threads),
        cmocka_unit_test(a_chosen_factor_is_the_same_with_all_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
