/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments on the GPU: the host's, level by level and bit by bit. */
#include <float.h>

#include "core/internal.h"
#include "granule/assignment.h"
#include "support/test.h"

static tess_context *gpu = NULL;

static void *fetch(const void *device, int64_t count, size_t size)
{
    void *host = test_allocate(count, size);

    assert_ok(gpu, gpu->backend->download(gpu, host, device, (size_t)count * size));
    return host;
}

static void check_summary(const tess_assignment_summary *h, const tess_assignment_summary *d)
{
    assert_true(same_bits(&h->mean_magnitude, &d->mean_magnitude, 1));
    assert_true(same_bits(h->range, d->range, TESS_MOST_LEVELS));
    assert_true(same_bits(&h->largest_relative_error, &d->largest_relative_error, 1));
    assert_int_equal(h->granules, d->granules);
    assert_int_equal(h->empty, d->empty);
    for (int l = 0; l < TESS_MOST_LEVELS; l++) {
        assert_int_equal(h->granules_at[l], d->granules_at[l]);
        assert_int_equal(h->nonzeros_at[l], d->nonzeros_at[l]);
        assert_int_equal(h->scaled[l], d->scaled[l]);
    }
}

static void check_levels(const tess_assignment *h, const tess_assignment *d)
{
    int64_t count = h->summary.granules;
    uint8_t *level = test_allocate(count, 1), *expected = test_allocate(count, 1);
    int16_t *exponent = NULL;

    assert_ok(h->ctx, tess_assignment_get_levels(h, expected));
    assert_ok(d->ctx, tess_assignment_get_levels(d, level));
    assert_memory_equal(expected, level, (size_t)count);
    assert_int_equal(h->exponent != NULL, d->exponent != NULL);
    if (h->exponent) {
        exponent = fetch(d->exponent, h->nrows, sizeof *exponent);
        assert_memory_equal(h->exponent, exponent, (size_t)h->nrows * sizeof *exponent);
    }
    free(exponent);
    free(expected);
    free(level);
}

static void check_same(const tess_matrix *host, const tess_matrix *device, const tess_policy_options *o)
{
    tess_assignment *h = NULL, *d = NULL;
    tess_assignment_summary hs, ds;

    assert_ok(host->ctx, tess_assignment_create(host, o, &h));
    assert_ok(gpu, tess_assignment_create(device, o, &d));
    assert_ok(host->ctx, tess_assignment_measure_error(h, host));
    assert_ok(gpu, tess_assignment_measure_error(d, device));
    tess_assignment_get_summary(h, &hs);
    tess_assignment_get_summary(d, &ds);
    check_summary(&hs, &ds);
    check_levels(h, d);
    tess_assignment_destroy(h);
    tess_assignment_destroy(d);
}

/* Values of all magnitudes, and what is none. */
static void make_wild(oracle_csr *a, uint64_t seed)
{
    double *exponent = random_values(a->nnz, seed, -40.0, 40.0);

    for (int64_t k = 0; k < a->nnz; k++) {
        a->val[k] = ldexp(a->val[k], (int)exponent[k]);
    }
    if (a->nnz > 100) {
        a->val[10] = NAN;
        a->val[20] = -(double)INFINITY;
        a->val[30] = 0.0;
        a->val[40] = 0x1p-1070;
        a->val[50] = DBL_MAX / 4.0;
    }
    free(exponent);
}

static tess_policy_options options_of(tess_granularity granularity, const char *policy, const char *levels)
{
    tess_policy_options o;

    tess_policy_options_init(&o);
    o.granularity = granularity;
    assert_int_equal(tess_policy_parse(policy, &o), TESS_SUCCESS);
    assert_int_equal(tess_levels_parse(levels, &o), TESS_SUCCESS);
    return o;
}

static void check_all_options(const oracle_csr *a)
{
    const tess_policy_options all[] = {options_of(TESS_GRANULARITY_ROW, "mean-range:0.9", "fp64,fp32"),
                                       options_of(TESS_GRANULARITY_ROW, "mean-range:2", "fp64,fp32,fp16"),
                                       options_of(TESS_GRANULARITY_ROW, "fixed-range:0.7", "fp64,fp16:scaled"),
                                       options_of(TESS_GRANULARITY_ROW, "fixed-range:1e300", "fp32:scaled,e4m3:scaled"),
                                       options_of(TESS_GRANULARITY_ROW, "none", "bf16:scaled"),
                                       options_of(TESS_GRANULARITY_ENTRY, "mean-range", "fp64,fp32,bf16"),
                                       options_of(TESS_GRANULARITY_ENTRY, "fixed-range", "fp64,e5m2"),
                                       options_of(TESS_GRANULARITY_MATRIX, "none", "fp16")};
    tess_context *cpu = open_cpu(2);
    tess_matrix *host = make_matrix(cpu, a), *device = make_matrix(gpu, a);

    for (size_t k = 0; k < 4 * (sizeof all / sizeof all[0]); k++) {
        tess_policy_options o = all[k / 4];

        o.without_diagonal = (int)(k & 1);
        o.allow_underflow = (int)(k >> 1 & 1);
        o.share = 60.0;
        o.at_most_one = k % 4 == 3;
        check_same(host, device, &o);
    }
    tess_matrix_destroy(host);
    tess_matrix_destroy(device);
    tess_context_destroy(cpu);
}

/* Rows of each length that a group of threads takes, long ones, empty ones, no rows; tiles that are not full. */
static void levels_are_those_of_the_host(void **state)
{
    oracle_csr all[] = {oracle_open(0, 0),
                        oracle_laplace2d(70),
                        oracle_random(700, 900, 3, 1),
                        oracle_random(800, 500, 12, 2),
                        oracle_random(900, 900, 33, 3),
                        oracle_random(300, 3000, 200, 4),
                        oracle_power_law(9000, 5)};

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        check_all_options(&all[k]);
        make_wild(&all[k], k);
        check_all_options(&all[k]);
        oracle_free(&all[k]);
    }
}

static void nothing_is_left_behind(void **state)
{
    oracle_csr a = oracle_power_law(5000, 6);
    tess_matrix *m = make_matrix(gpu, &a);
    tess_policy_options o = options_of(TESS_GRANULARITY_ROW, "mean-range", "fp64,fp16:scaled");
    int64_t held = 0;

    (void)state;
    o.without_diagonal = 1;
    for (int k = 0; k < 3; k++) {
        tess_assignment *assignment = NULL;

        assert_ok(gpu, tess_assignment_create(m, &o, &assignment));
        assert_ok(gpu, tess_assignment_measure_error(assignment, m));
        tess_assignment_destroy(assignment);
        if (k == 0) { held = gpu->held_bytes; } /* with the room that the context keeps */
        assert_int_equal(gpu->held_bytes, held);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
}

static int close_gpu(void **state)
{
    (void)state;
    tess_context_destroy(gpu);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_those_of_the_host),
        cmocka_unit_test(nothing_is_left_behind),
    };

    gpu = open_gpu();
    if (!gpu) {
        printf("SKIPPED: no GPU in this build or machine\n");
        return TEST_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, close_gpu);
}
