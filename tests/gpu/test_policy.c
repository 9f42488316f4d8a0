/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments on the GPU: the host's, level by level and bit by bit. */
#include <float.h>

#include "matrix/matrix.h"
#include "policy/choice.h"
#include "support/blocks.h"
#include "support/product.h"
#include "support/shapes.h"
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
    assert_true(same_bits(&h->std_magnitude, &d->std_magnitude, 1));
    assert_true(same_bits(h->range, d->range, TESS_MAX_LEVELS));
    assert_true(same_bits(&h->options.parameter, &d->options.parameter, 1));
    assert_true(same_bits(&h->largest_relative_error, &d->largest_relative_error, 1));
    assert_true(same_bits(&h->backward_error, &d->backward_error, 1));
    assert_int_equal(h->items, d->items);
    assert_int_equal(h->empty, d->empty);
    assert_int_equal(h->left_out, d->left_out);
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        assert_int_equal(h->items_at[l], d->items_at[l]);
        assert_int_equal(h->nonzeros_at[l], d->nonzeros_at[l]);
        assert_int_equal(h->scaled[l], d->scaled[l]);
    }
}

static void check_levels(const tess_assignment *h, const tess_assignment *d)
{
    int64_t count = h->summary.items;
    uint8_t *level = test_allocate(count, 1), *expected = test_allocate(count, 1);
    int16_t *exponent = NULL;

    assert_ok(h->ctx, tess_assignment_get_levels(h, expected));
    assert_ok(d->ctx, tess_assignment_get_levels(d, level));
    assert_memory_equal(expected, level, (size_t)count);
    assert_int_equal(h->exponent != NULL, d->exponent != NULL);
    if (h->exponent) {
        int64_t exponents = h->grid.rows > 0 ? count : h->nrows;

        exponent = fetch(d->exponent, exponents, sizeof *exponent);
        assert_memory_equal(h->exponent, exponent, (size_t)exponents * sizeof *exponent);
    }
    free(exponent);
    free(expected);
    free(level);
}

static void check_grids(const block_grid *h, const block_grid *d)
{
    const size_t nblocks = (size_t)h->nblocks, rows = (size_t)h->nblock_rows + 1;
    int64_t *first = NULL;
    int32_t *column = NULL;
    uint16_t *count = NULL;

    assert_int_equal(h->rows, d->rows);
    assert_int_equal(h->cols, d->cols);
    assert_int_equal(h->nblock_rows, d->nblock_rows);
    assert_int_equal(h->nblocks, d->nblocks);
    if (h->rows == 0) { return; }
    first = fetch(d->first, h->nblock_rows + 1, sizeof *first);
    column = fetch(d->column, h->nblocks, sizeof *column);
    count = fetch(d->count, h->nblocks, sizeof *count);
    assert_memory_equal(h->first, first, rows * sizeof *first);
    assert_memory_equal(h->column, column, nblocks * sizeof *column);
    assert_memory_equal(h->count, count, nblocks * sizeof *count);
    free(first);
    free(column);
    free(count);
}

static void check_same(const tess_matrix *host, const tess_matrix *device, const tess_policy_options *o)
{
    tess_assignment *h = NULL, *d = NULL;
    tess_assignment_summary hs = {.size = sizeof hs}, ds = {.size = sizeof ds};

    assert_ok(host->ctx, tess_assignment_create(host, o, &h));
    assert_ok(gpu, tess_assignment_create(device, o, &d));
    assert_ok(host->ctx, tess_assignment_measure_error(h, host));
    assert_ok(gpu, tess_assignment_measure_error(d, device));
    tess_assignment_get_summary(h, &hs);
    tess_assignment_get_summary(d, &ds);
    check_summary(&hs, &ds);
    check_levels(h, d);
    check_grids(&h->grid, &d->grid);
    tess_assignment_destroy(h);
    tess_assignment_destroy(d);
}

/* Values of all magnitudes, and NaN and Inf. */
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
    assert_int_equal(tess_policy_options_parse(policy, &o), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &o), TESS_SUCCESS);
    return o;
}

static void check_all_options(const oracle_csr *a)
{
    const tess_policy_options all[] = {options_of(TESS_GRANULARITY_ROW, "mean-range:0.9", "fp64,fp32"),
                                       options_of(TESS_GRANULARITY_ROW, "mean-range:2", "fp64,fp32,fp16"),
                                       options_of(TESS_GRANULARITY_ROW, "fixed-range:0.7", "fp64,fp16:scaled"),
                                       options_of(TESS_GRANULARITY_ROW, "fixed-range:1e300", "fp32:scaled,e4m3:scaled"),
                                       options_of(TESS_GRANULARITY_ROW, "none", "bf16:scaled"),
                                       options_of(TESS_GRANULARITY_ROW, "mean-3std", "fp64,fp32"),
                                       options_of(TESS_GRANULARITY_ENTRY, "mean-3std:0.2", "fp64,fp16"),
                                       options_of(TESS_GRANULARITY_ROW, "mean-3std:auto", "fp64,fp32,fp16"),
                                       options_of(TESS_GRANULARITY_ENTRY, "mean-3std:auto", "fp64,fp32"),
                                       options_of(TESS_GRANULARITY_ENTRY, "mean-range", "fp64,fp32,bf16"),
                                       options_of(TESS_GRANULARITY_ENTRY, "fixed-range", "fp64,e5m2"),
                                       options_of(TESS_GRANULARITY_MATRIX, "none", "fp16")};
    tess_context *cpu = open_cpu(2);
    tess_matrix *host = make_matrix(cpu, a), *device = make_matrix(gpu, a);

    for (size_t k = 0; k < 4 * (sizeof all / sizeof all[0]); k += (size_t)on_gpu_or_emulated(1, 7)) {
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

/* The host's blocks, and those of a search through the matrix: of all four shapes. */
static void check_block_options(const oracle_csr *a)
{
    const tess_policy_options all[] = {options_of(TESS_GRANULARITY_BLOCK, "mean-3std", "fp64,fp32"),
                                       options_of(TESS_GRANULARITY_BLOCK, "mean-3std:0.1", "fp64,fp32,fp16"),
                                       options_of(TESS_GRANULARITY_BLOCK, "mean-3std:auto", "fp64,fp32"),
                                       options_of(TESS_GRANULARITY_BLOCK, "mean-3std:auto", "fp64,bf16:scaled"),
                                       options_of(TESS_GRANULARITY_BLOCK, "fixed-range:0.7", "fp64,fp16:scaled"),
                                       options_of(TESS_GRANULARITY_BLOCK, "fixed-range:1e300", "fp32,bf16,e4m3:scaled"),
                                       options_of(TESS_GRANULARITY_BLOCK, "none", "bf16:scaled"),
                                       options_of(TESS_GRANULARITY_BLOCK, "none", "fp64")};
    tess_context *cpu = open_cpu(2);
    tess_matrix *host = make_matrix(cpu, a), *device = make_matrix(gpu, a);

    for (size_t k = 0; k < 8 * (sizeof all / sizeof all[0]); k += (size_t)on_gpu_or_emulated(1, 19)) {
        tess_policy_options o = all[k / 8];

        o.block_rows = k & 1 ? 32 : 16;
        o.block_cols = k & 2 ? 32 : 16;
        o.allow_underflow = (int)(k >> 2 & 1);
        check_same(host, device, &o);
        if (a->nnz < 20000) { (void)check_blocks(gpu, a, &o); }
    }
    tess_matrix_destroy(host);
    tess_matrix_destroy(device);
    tess_context_destroy(cpu);
}

/* Policy lossless at all granularities, for matrices whose values have few bits, and slightly more than few. */
static void check_lossless_options(oracle_csr *a, double noise)
{
    const tess_policy_options all[] = {options_of(TESS_GRANULARITY_ROW, "lossless", "fp64,fp32,fp16,fp8"),
                                       options_of(TESS_GRANULARITY_ROW, "lossless", "fp64,fp32:scaled,fp8:scaled"),
                                       options_of(TESS_GRANULARITY_ROW, "lossless:1e-15", "fp64,fp32"),
                                       options_of(TESS_GRANULARITY_ENTRY, "lossless", "fp64,fp32,bf16,fp8"),
                                       options_of(TESS_GRANULARITY_ENTRY, "lossless:1e-15", "fp64,fp32,fp16,fp8"),
                                       options_of(TESS_GRANULARITY_BLOCK, "lossless", "fp64,fp32,fp16,fp8"),
                                       options_of(TESS_GRANULARITY_BLOCK, "lossless:1e-15", "fp64,fp32,fp16,e5m2"),
                                       options_of(TESS_GRANULARITY_BLOCK, "lossless", "fp64,fp16:scaled,fp8:scaled")};
    tess_context *cpu = open_cpu(2);
    tess_matrix *host = NULL, *device = NULL;

    shorten_values(a);
    for (int64_t k = 0; k < a->nnz; k += 3) {
        a->val[k] *= 1.0 + noise;
    }
    host = make_matrix(cpu, a);
    device = make_matrix(gpu, a);
    for (size_t k = 0; k < 4 * (sizeof all / sizeof all[0]); k += (size_t)on_gpu_or_emulated(1, 7)) {
        tess_policy_options o = all[k / 4];
        const bool blocks = o.granularity == TESS_GRANULARITY_BLOCK;

        o.block_rows = k & 1 ? 32 : 16;
        o.block_cols = k & 2 ? 32 : 16;
        o.without_diagonal = !blocks && (k & 1);
        check_same(host, device, &o);
        if (blocks && a->nnz < 20000) { (void)check_blocks(gpu, a, &o); }
    }
    tess_matrix_destroy(host);
    tess_matrix_destroy(device);
    tess_context_destroy(cpu);
}

/* The values that the host stores are those that the GPU stores. */
static void check_same_values(const tess_matrix *host, const tess_matrix *device, const tess_policy_options *policy,
                              tess_format format)
{
    tess_storage_options o;
    tess_matrix *h = NULL, *d = NULL;
    oracle_csr expected, held;

    tess_storage_options_init(&o);
    o.format = format;
    o.policy = *policy;
    assert_ok(host->ctx, tess_matrix_convert(host, &o, &h));
    assert_ok(gpu, tess_matrix_convert(device, &o, &d));
    expected = decode_matrix(h);
    held = decode_matrix(d);
    assert_true(same_bits(expected.val, held.val, expected.nnz));
    oracle_free(&expected);
    oracle_free(&held);
    tess_matrix_destroy(h);
    tess_matrix_destroy(d);
}

/* Policy error-bound at all granularities. unit/test_error_bound.c checks the bound on the host. */
static void check_bounded_options(const oracle_csr *a)
{
    const tess_policy_options all[] = {
        options_of(TESS_GRANULARITY_ROW, "error-bound:1e-7", "fp64,fp32,fp16"),
        options_of(TESS_GRANULARITY_ROW, "error-bound:1e-4", "fp64,fp32:scaled,fp16:scaled,e4m3:scaled"),
        options_of(TESS_GRANULARITY_ENTRY, "error-bound:1e-4", "fp64,fp32,fp16,bf16"),
        options_of(TESS_GRANULARITY_ENTRY, "error-bound:1e-7:matrix", "fp64,fp32,fp16,fp8"),
        options_of(TESS_GRANULARITY_BLOCK, "error-bound:1e-2", "fp64,fp32,fp16,e4m3"),
        options_of(TESS_GRANULARITY_BLOCK, "error-bound:1e-4:matrix", "fp64,fp32,bf16"),
        options_of(TESS_GRANULARITY_ROW, "error-bound:1e-10:matrix", "fp64,fp32"),
        options_of(TESS_GRANULARITY_MATRIX, "error-bound:1e-2", "fp64,fp32,fp16,bf16"),
        options_of(TESS_GRANULARITY_ENTRY, "error-bound:1e-2:matrix", "fp64,fp32"),
        options_of(TESS_GRANULARITY_ENTRY, "error-bound:1e-2", "fp64,fp16,fp8"),
        options_of(TESS_GRANULARITY_ENTRY, "error-bound:1e-17", "fp64,fp32,fp16"),
        options_of(TESS_GRANULARITY_ENTRY, "error-bound:1e-4:componentwise", "fp64,fp32,fp16,e4m3"),
        options_of(TESS_GRANULARITY_ROW, "error-bound:1e-7:componentwise", "fp64,fp32:scaled,fp16:scaled"),
        options_of(TESS_GRANULARITY_BLOCK, "error-bound:1e-4:componentwise", "fp64,fp32,fp16:scaled")};
    tess_context *cpu = open_cpu(2);
    tess_matrix *host = make_matrix(cpu, a), *device = make_matrix(gpu, a);

    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        tess_policy_options o = all[k];

        o.without_diagonal = o.granularity != TESS_GRANULARITY_BLOCK && k % 2;
        check_same(host, device, &o);
    }
    check_same_values(host, device, &all[2], TESS_FORMAT_SPLIT);
    check_same_values(host, device, &all[8], TESS_FORMAT_SPLIT);
    check_same_values(host, device, &all[4], TESS_FORMAT_TILES);
    tess_matrix_destroy(host);
    tess_matrix_destroy(device);
    tess_context_destroy(cpu);
}

/* Rows for a wave and for a block of threads, and none at all. */
static void bounded_levels_are_those_of_the_host(void **state)
{
    oracle_csr all[] = {oracle_open(0, 0), shape_hard_rows(), oracle_random(100, 400, 9, 2),
                        oracle_random(20, 4000, 1100, 3)};

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        check_bounded_options(&all[k]);
        oracle_free(&all[k]);
    }
}

/* Magnitudes whose squares overflow or underflow, in one tile and in many: the unit of their sum changes. */
static void deviations_are_those_of_the_host(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        oracle_csr a = oracle_random(on_gpu_or_emulated(2000, 1000), 2000, 9, (uint64_t)k);

        for (int64_t i = 0; i < a.nnz; i++) {
            a.val[i] = k == 0   ? ldexp(a.val[i], -1000)
                       : k == 1 ? ldexp(a.val[i], 1000)
                       : k == 2 ? ldexp(a.val[i], (int)(i / 3000) * 300 - 900)
                                : 1.0 + ldexp(a.val[i], -25);
        }
        check_block_options(&a);
        oracle_free(&a);
    }
}

/* Blocks at all edges, full ones, block rows without any, more blocks than a wave's window has slots or columns for,
   and block rows for a whole block of threads. */
static void blocks_are_those_of_the_host(void **state)
{
    oracle_csr all[] = {oracle_open(0, 0),
                        oracle_random(17, 33, 3, 1),
                        oracle_random(33, 17, 9, 2),
                        oracle_laplace2d(on_gpu_or_emulated(70, 40)),
                        oracle_hilbert(80),
                        oracle_random(on_gpu_or_emulated(900, 300), 900, 33, 3),
                        oracle_random(on_gpu_or_emulated(300, 60), 3000, 200, 4),
                        oracle_random(on_gpu_or_emulated(100, 20), 60000, 500, 5),
                        oracle_random(70, 400000, 30, 7),
                        oracle_random(on_gpu_or_emulated(20, 3), 400000, 6000, 8),
                        oracle_power_law(on_gpu_or_emulated(9000, 3000), 6)};

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        check_block_options(&all[k]);
        make_wild(&all[k], k);
        check_block_options(&all[k]);
        oracle_free(&all[k]);
    }
}

/* Rows of each length that a group of threads takes, long ones, empty ones, no rows; tiles that are not full. */
static void levels_are_those_of_the_host(void **state)
{
    oracle_csr all[] = {oracle_open(0, 0),
                        oracle_laplace2d(on_gpu_or_emulated(70, 40)),
                        oracle_random(700, 900, 3, 1),
                        oracle_random(800, 500, 12, 2),
                        oracle_random(on_gpu_or_emulated(900, 300), 900, 33, 3),
                        oracle_random(on_gpu_or_emulated(300, 60), 3000, 200, 4),
                        oracle_power_law(on_gpu_or_emulated(9000, 3000), 5)};

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        check_all_options(&all[k]);
        make_wild(&all[k], k);
        check_all_options(&all[k]);
        check_lossless_options(&all[k], k % 2 ? 4e-16 : 0.0);
        oracle_free(&all[k]);
    }
}

#if TESS_HAVE_GPU
/* Rows that fall short, counted for every x of all rounds. */
static unsigned long long count_inaccurate(const assign_ops *backend, const tess_matrix *m,
                                           const tess_policy_options *o, unsigned long long *count)
{
    tess_assignment *made = NULL;
    unsigned long long sum = 0;
    assign_task task;

    assert_ok(m->ctx, tess_assignment_create(m, o, &made));
    task = (assign_task){.csr = csr_of(m)->view,
                         .rules = tess_policy_rules(&made->summary.options),
                         .arithmetic = o->arithmetic,
                         .level = made->level,
                         .exponent = made->exponent,
                         .grid = made->grid};
    assert_ok(m->ctx, backend->count_inaccurate(m->ctx, &task, CHOICE_MAX_ROUNDS, count));
    for (int i = 0; i < CHOICE_COUNTS; i++) {
        sum += count[i];
    }
    tess_assignment_destroy(made);
    return sum;
}

/* By rows and blocks, in both arithmetics; rows of all lengths, empty ones among them. */
static void inaccurate_rows_are_those_of_the_host(void **state)
{
    oracle_csr all[] = {oracle_random(700, 900, 3, 1), oracle_random(on_gpu_or_emulated(300, 60), 3000, 200, 2),
                        oracle_hilbert(90), oracle_power_law(on_gpu_or_emulated(9000, 3000), 3)};
    unsigned long long expected[CHOICE_COUNTS], count[CHOICE_COUNTS], sum = 0;
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (size_t k = 0; k < 4 * (sizeof all / sizeof all[0]); k++) {
        tess_matrix *host = make_matrix(cpu, &all[k / 4]), *device = make_matrix(gpu, &all[k / 4]);
        tess_policy_options o = options_of(k & 1 ? TESS_GRANULARITY_ROW : TESS_GRANULARITY_BLOCK, "mean-3std:0.9",
                                           k & 2 ? "fp64,fp32,fp16" : "fp64,fp32");

        o.arithmetic = k & 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
        sum += count_inaccurate(&assign_host_ops, host, &o, expected);
        (void)count_inaccurate(assign_gpu_ops(), device, &o, count);
        assert_memory_equal(expected, count, sizeof count);
        tess_matrix_destroy(host);
        tess_matrix_destroy(device);
    }
    assert_true(sum > 0);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        oracle_free(&all[k]);
    }
    tess_context_destroy(cpu);
}
#endif

/* Parts on a GPU have no fp8, which is a default level of policy lossless: said when they are made. Tiles have it. */
static void parts_in_fp8_are_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_matrix *m = make_matrix(gpu, &a), *stored = NULL;
    tess_storage_options o;

    (void)state;
    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_SPLIT;
    assert_int_equal(tess_policy_options_parse("lossless", &o.policy), TESS_SUCCESS);
    assert_fails(gpu, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    assert_int_equal(tess_precision_levels_parse("fp64,fp32,fp16,bf16", &o.policy), TESS_SUCCESS);
    assert_ok(gpu, tess_matrix_convert(m, &o, &stored));
    tess_matrix_destroy(stored);
    o.format = TESS_FORMAT_TILES;
    o.policy.granularity = TESS_GRANULARITY_BLOCK;
    o.policy.nlevels = 0;
    assert_ok(gpu, tess_matrix_convert(m, &o, &stored));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

static void nothing_is_left_behind(void **state)
{
    oracle_csr a = oracle_power_law(5000, 6);
    tess_matrix *m = make_matrix(gpu, &a);
    tess_policy_options o = options_of(TESS_GRANULARITY_ROW, "mean-range", "fp64,fp16:scaled");
    int64_t held = 0;

    (void)state;
    for (int k = 0; k < 4; k++) {
        tess_assignment *assignment = NULL;

        o.granularity = k % 2 ? TESS_GRANULARITY_ROW : TESS_GRANULARITY_BLOCK;
        o.without_diagonal = k % 2;
        assert_ok(gpu, tess_assignment_create(m, &o, &assignment));
        assert_ok(gpu, tess_assignment_measure_error(assignment, m));
        tess_assignment_destroy(assignment);
        if (k <= 1) { held = gpu->held_bytes; } /* with the workspace that the context keeps */
        assert_int_equal(gpu->held_bytes, held);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_those_of_the_host),
        cmocka_unit_test(blocks_are_those_of_the_host),
        cmocka_unit_test(deviations_are_those_of_the_host),
        cmocka_unit_test(bounded_levels_are_those_of_the_host),
#if TESS_HAVE_GPU
        cmocka_unit_test(inaccurate_rows_are_those_of_the_host),
#endif
        cmocka_unit_test(parts_in_fp8_are_refused),
        cmocka_unit_test(nothing_is_left_behind),
    };

    return run_gpu_tests(tests, &gpu);
}
