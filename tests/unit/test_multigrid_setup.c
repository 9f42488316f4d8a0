/* SPDX-License-Identifier: Apache-2.0 */
/* The set-up of multigrid: precisions of levels, the comparison of coarsenings, counted bytes, limits, copies. */
#include "precond/multigrid/choice.h"
#include "precond/multigrid/cycle/level_precision.h"
#include "precond/multigrid/cycle/store.h"
#include "support/heap.h"
#include "support/precond.h"
#include "support/solve.h"

static tess_precond_options amg_options(void)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    return options;
}

/* ---- precisions ---- */

/* Up to the largest entry, and from the smallest row on; beyond either the next precision. */
static void precisions_hold_the_entries(void **state)
{
    static const struct {
        tess_amg_precision wanted;
        double largest, smallest;
        tess_precision expected;
    } cases[] = {
        {TESS_AMG_PRECISION_FP64, 1e300, 1e-300, TESS_PRECISION_FP64},
        {TESS_AMG_PRECISION_FP32, 1.0, 1.0, TESS_PRECISION_FP32},
        {TESS_AMG_PRECISION_FP16, 32768.0, 1.0, TESS_PRECISION_FP16},
        {TESS_AMG_PRECISION_FP16, 32769.0, 1.0, TESS_PRECISION_FP32},
        {TESS_AMG_PRECISION_FP16, 1.0, 1.0 / 4096.0, TESS_PRECISION_FP16},
        {TESS_AMG_PRECISION_FP16, 1.0, 1.0 / 4097.0, TESS_PRECISION_FP32},
        {TESS_AMG_PRECISION_BF16, 0x1p120, 0x1p-100, TESS_PRECISION_BF16},
        {TESS_AMG_PRECISION_BF16, 0x1.01p120, 1.0, TESS_PRECISION_FP32},
        {TESS_AMG_PRECISION_BF16, 1.0, 0x1.ffp-101, TESS_PRECISION_FP32},
        {TESS_AMG_PRECISION_FP8, 256.0, 0.125, TESS_PRECISION_E4M3},
        {TESS_AMG_PRECISION_FP8, 257.0, 0.125, TESS_PRECISION_E5M2},
        {TESS_AMG_PRECISION_FP8, 256.0, 0.1249, TESS_PRECISION_E5M2},
        {TESS_AMG_PRECISION_FP8, 32768.0, 0x1p-10, TESS_PRECISION_E5M2},
        {TESS_AMG_PRECISION_FP8, 32769.0, 1.0, TESS_PRECISION_FP32},
        {TESS_AMG_PRECISION_FP8, 1.0, 0x1.ffp-11, TESS_PRECISION_FP32},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const amg_range range = {.largest = cases[k].largest, .smallest_row = cases[k].smallest};

        if (amg_choose_precision(cases[k].wanted, &range) != cases[k].expected) { fail_msg("case %zu", k); }
    }
    for (int swap = 0; swap < 2; swap++) {
        const amg_range a = {.largest = 8.0, .smallest_row = 0.5}, b = {.largest = 2.0, .smallest_row = 0.25};
        const amg_range both = swap ? amg_join_ranges(b, a) : amg_join_ranges(a, b);

        assert_true(both.largest == 8.0 && both.smallest_row == 0.25);
    }
    assert_true(amg_is_even(0.17, 1.0) && amg_is_even(3.0, 3.0) && !amg_is_even(0.166, 1.0)); /* 1 / 6 */
}

static void levels_may_have_their_own(void **state)
{
    tess_context *ctx = open_cpu(1);
    amg_cycle c = {.ctx = ctx};

    (void)state;
    assert_int_equal(amg_wanted_precision(&c, 0, TESS_AMG_PRECISION_AUTO), TESS_AMG_PRECISION_FP32);
    assert_int_equal(amg_wanted_precision(&c, 0, TESS_AMG_PRECISION_FP8), TESS_AMG_PRECISION_FP8);
    c.options.level_precision[2] = TESS_AMG_PRECISION_FP64;
    c.options.level_precision[TESS_AMG_LEVEL_PRECISIONS - 1] = TESS_AMG_PRECISION_BF16;
    assert_int_equal(amg_wanted_precision(&c, 2, TESS_AMG_PRECISION_FP16), TESS_AMG_PRECISION_FP64);
    assert_int_equal(amg_wanted_precision(&c, 1, TESS_AMG_PRECISION_FP16), TESS_AMG_PRECISION_FP16);
    assert_int_equal(amg_wanted_precision(&c, TESS_AMG_LEVEL_PRECISIONS - 1, TESS_AMG_PRECISION_AUTO),
                     TESS_AMG_PRECISION_BF16);
    assert_int_equal(amg_wanted_precision(&c, TESS_AMG_LEVEL_PRECISIONS, TESS_AMG_PRECISION_AUTO),
                     TESS_AMG_PRECISION_FP32);
    assert_int_equal(amg_vector_precision(&c, 2, TESS_AMG_PRECISION_AUTO), TESS_PRECISION_FP32);
    assert_int_equal(amg_vector_precision(&c, 3, TESS_AMG_PRECISION_AUTO), TESS_PRECISION_FP64);
    assert_int_equal(amg_vector_precision(&c, 1, TESS_AMG_PRECISION_FP64), TESS_PRECISION_FP64);
    tess_context_destroy(ctx);
}

/* ---- levels of a matrix ---- */

static tess_amg_levels levels_of(tess_context *ctx, const oracle_csr *a, const tess_precond_options *o, int64_t *bytes)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_amg_levels levels = {.size = sizeof levels};
    tess_precond *m = NULL;

    assert_ok(ctx, tess_precond_create(matrix, o, &m));
    assert_ok(ctx, tess_precond_get_levels(m, &levels));
    if (bytes) { *bytes = tess_precond_bytes(m); }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    return levels;
}

/* One row of another size, be it the first, one in the middle or the last, keeps the finest level in FP32. */
static void one_uneven_row_decides(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_precond_options o = amg_options();
    enum { SIDE = 24, N = SIDE * SIDE };
    static const int64_t rows[] = {-1, 0, N / 2, N - 1};

    (void)state;
    o.amg.precision = TESS_AMG_PRECISION_FP16;
    for (int k = 0; k < 4; k++) {
        for (int large = 0; large < 2; large++) {
            oracle_csr a = oracle_laplace2d(SIDE);
            tess_amg_levels levels;

            for (int64_t i = 0; i < N; i++) {
                for (int64_t p = a.row_ptr[i]; p < a.row_ptr[i + 1]; p++) {
                    if (i == rows[k] || a.col_ind[p] == rows[k]) { a.val[p] *= large ? 100.0 : 0.01; }
                }
            }
            levels = levels_of(ctx, &a, &o, NULL);
            assert_true(levels.count > 1);
            assert_int_equal(levels.level[0].precision, k == 0 ? TESS_PRECISION_FP16 : TESS_PRECISION_FP32);
            oracle_free(&a);
        }
    }
    tess_context_destroy(ctx);
}

/* Rows of zeros have a scale of 1: applications are numbers. */
static void rows_of_zeros_are_left_alone(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(20);
    static const tess_amg_smoother smoothers[] = {TESS_AMG_CHEBYSHEV, TESS_AMG_JACOBI};

    (void)state;
    for (int64_t i = 0; i < 400; i++) {
        for (int64_t p = a.row_ptr[i]; p < a.row_ptr[i + 1]; p++) {
            if (i == 7 || a.col_ind[p] == 7) { a.val[p] = 0.0; }
        }
    }
    for (int k = 0; k < 2; k++) {
        tess_precond_options o = amg_options();
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond *m = NULL;
        double *r = random_values(400, 3, -1.0, 1.0), z[400];

        o.amg.smoother = smoothers[k];
        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        apply_precond(m, 400, r, z);
        for (int i = 0; i < 400; i++) {
            assert_true(isfinite(z[i]));
        }
        free(r);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
    }
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void sums_are_those_of_the_levels(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(40);
    tess_precond_options o = amg_options();
    const tess_amg_levels l = levels_of(ctx, &a, &o, NULL);
    double rows = 0.0, nonzeros = 0.0;

    (void)state;
    assert_true(l.count >= 3 && l.level[0].rows == 1600 && l.level[0].nonzeros == a.nnz);
    for (int k = 0; k < l.count; k++) {
        rows += (double)l.level[k].rows / 1600.0;
        nonzeros += (double)l.level[k].nonzeros / (double)a.nnz;
        assert_true((l.level[k].transfer > 0) == (k + 1 < l.count));
        assert_true(l.level[k].bytes > 0);
        if (k > 0) { assert_true(l.level[k].rows < l.level[k - 1].rows); }
    }
    assert_true(fabs(l.grid_complexity - rows) < 1e-12 && fabs(l.operator_complexity - nonzeros) < 1e-12);
    assert_int_equal(l.coarsest_rank, l.level[l.count - 1].rows);
    assert_true(l.coarsening_seconds > 0.0 && l.product_seconds > 0.0 && l.storing_seconds > 0.0);
    assert_true(l.strength_seconds > 0.0 && l.split_seconds > 0.0 && l.interpolation_seconds > 0.0);
    assert_at_most(l.strength_seconds + l.split_seconds + l.interpolation_seconds, l.coarsening_seconds);
    assert_int_equal(l.given_up, TESS_AMG_AUTO);
    assert_true(l.given_up_complexity == 0.0 && l.given_up_factor == 0.0 && l.raised == 0);
    assert_int_equal(l.setup_device, TESS_DEVICE_CPU);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* As many levels as are allowed, and none below one that is small enough. */
static void limits_are_kept(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(20);
    tess_precond_options o = amg_options();
    int unlimited = 0;

    (void)state;
    o.amg.coarsest = 1;
    unlimited = levels_of(ctx, &a, &o, NULL).count;
    assert_true(unlimited >= 3);
    for (int most = 1; most <= unlimited; most++) {
        o.amg.max_levels = most;
        assert_int_equal(levels_of(ctx, &a, &o, NULL).count, most);
    }
    o.amg.max_levels = TESS_MAX_AMG_LEVELS;
    o.amg.coarsest = 400;
    assert_int_equal(levels_of(ctx, &a, &o, NULL).count, 1);
    o.amg.coarsest = 399;
    assert_int_equal(levels_of(ctx, &a, &o, NULL).count, 2);
    o.amg.max_row_sum = 0.5; /* the range ends with 1 */
    o.amg.strength = 1.0;
    assert_true(levels_of(ctx, &a, &o, NULL).count >= 1);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- memory ---- */

/* What a preconditioner holds, and what it counts of it; its levels' rows below the finest. */
typedef struct memory_use {
    int64_t held, counted, rows_below;
} memory_use;

/* At the set-up, or after new values. All memory goes back, in the sizes that were taken. */
static memory_use use_memory(const oracle_csr *a, const tess_precond_options *o, bool renews)
{
    heap h = {.fail_at = -1};
    tess_amg_levels levels = {.size = sizeof levels};
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_matrix *matrix = NULL;
    tess_precond *m = NULL;
    memory_use use = {0};
    int64_t before = 0;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.host_allocator = options.device_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    matrix = make_matrix(ctx, a);
    before = h.live_bytes;
    assert_ok(ctx, tess_precond_create(matrix, o, &m));
    if (renews) {
        assert_ok(ctx, tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
    }
    assert_ok(ctx, tess_precond_get_levels(m, &levels));
    assert_true(levels.coarsening_seconds > 0.0 && levels.product_seconds > 0.0);
    use.held = h.live_bytes - before;
    use.counted = tess_precond_bytes(m);
    for (int l = 1; l < levels.count; l++) {
        assert_int_equal(levels.level[l].format, TESS_FORMAT_CSR);
        use.rows_below += levels.level[l].rows;
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    assert_true(h.live == 0 && h.wrong_releases == 0);
    return use;
}

/* Bytes are counted but for a few small arrays, and with aggregates or new values some work space. A W cycle has two
   more vectors on each level below the finest than a V cycle, and a K cycle two more than that, of FP32. */
static void counted_bytes_are_held(void **state)
{
    static const tess_amg_cycle cycles[] = {TESS_AMG_V, TESS_AMG_W, TESS_AMG_K};
    oracle_csr a = oracle_laplace2d(40);

    (void)state;
    for (int k = 0; k < 8; k++) {
        const bool aggregates = k & 1, renews = k & 2, narrow = k & 4;
        tess_precond_options o = amg_options();
        const double least = aggregates ? 0.85 : renews ? 0.9 : 0.99; /* of it is counted */
        memory_use use[3];

        o.amg.coarsening = aggregates ? TESS_AMG_AGGREGATION : TESS_AMG_CLASSICAL;
        o.role.given = narrow;
        if (narrow) { o.role.arithmetic = TESS_ARITHMETIC_FP32; }
        for (int c = 0; c < 3; c++) {
            o.amg.cycle = cycles[c];
            use[c] = use_memory(&a, &o, renews);
            assert_at_most((double)use[c].counted, (double)use[c].held);
            assert_at_most(least * (double)use[c].held, (double)use[c].counted);
            assert_int_equal(use[c].held - use[c].counted, use[0].held - use[0].counted);
            assert_int_equal(use[c].counted - use[0].counted, c * 2 * 4 * use[0].rows_below);
        }
    }
    oracle_free(&a);
}

/* The prediction before a set-up covers what it takes, and is no more than twice that. */
static void the_prediction_covers_the_peak(void **state)
{
    (void)state;
    for (int64_t side = 60; side <= 120; side += 60) {
        tess_context *ctx = open_cpu(1);
        oracle_csr a = oracle_laplace2d(side);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options o = amg_options();
        tess_precond *m = NULL;
        const double predicted = (double)amg_predict_bytes(matrix);
        int64_t before = tess_context_peak_bytes(ctx);

        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        assert_at_most((double)(tess_context_peak_bytes(ctx) - before), predicted);
        assert_at_most(predicted, 2.0 * (double)(tess_context_peak_bytes(ctx) - before));
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        oracle_free(&a);
    }
}

/* Vectors near the null space are the caller's again after the set-up, also where levels are made anew because a set-up
   failed. */
static void near_nullspaces_are_copied(void **state)
{
    enum { SIDE = 20, N = SIDE * SIDE };
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_context *ctx = open_cpu(1);
    double *r = random_values(N, 3, -1.0, 1.0), *vectors = random_values(2 * N, 4, 0.5, 1.0), z[2][N];

    (void)state;
    for (int spoil = 0; spoil < 2; spoil++) {
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options o = amg_options();
        tess_precond *m = NULL;

        o.amg.coarsening = TESS_AMG_AGGREGATION;
        o.amg.near_nullspace = vectors;
        o.amg.near_nullspace_columns = 2;
        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        for (int i = 0; spoil && i < 2 * N; i++) {
            vectors[i] = NAN;
        }
        if (spoil) {
            double *bad = test_allocate(a.nnz, sizeof *bad);

            memcpy(bad, a.val, (size_t)a.nnz * sizeof *bad);
            bad[0] = INFINITY;
            assert_ok(ctx, tess_matrix_update_values(matrix, bad, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            assert_int_not_equal(tess_precond_update(m), TESS_SUCCESS);
            assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            free(bad);
        }
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, N, r, z[spoil]);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
    }
    assert_true(same_bits(z[0], z[1], N));
    assert_true(isfinite(z[0][0]) && z[0][0] != 0.0);
    free(r);
    free(vectors);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Where no nodes have several unknowns, the blocks are the diagonal: neither the l1 norms of chebyshev, nor the steps
   of jacobi. */
static void blocks_of_one_row_are_the_diagonal(void **state)
{
    enum { SIDE = 20, N = SIDE * SIDE };
    static const tess_amg_smoother smoothers[] = {TESS_AMG_JACOBI, TESS_AMG_BLOCK_JACOBI, TESS_AMG_CHEBYSHEV};
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_context *ctx = open_cpu(1);
    double *r = random_values(N, 3, -1.0, 1.0), z[3][N];

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options o = amg_options();
        tess_precond *m = NULL;

        o.amg.smoother = smoothers[k];
        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        apply_precond(m, N, r, z[k]);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
    }
    assert_true(!same_bits(z[0], z[1], N) && !same_bits(z[1], z[2], N) && !same_bits(z[0], z[2], N));
    free(r);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- the comparison ---- */

typedef struct made_cycle {
    amg_cycle c;
    amg_cycle_level level[2];
} made_cycle;

/* Two levels of so many entries, each stored as `matrix`. */
static void make_cycle(made_cycle *m, tess_matrix *matrix, int count, int64_t first, int64_t second)
{
    *m = (made_cycle){.c = {.count = count, .n = 1000}};
    m->level[0] = (amg_cycle_level){.n = 1000, .nnz = first, .a = matrix};
    m->level[1] = (amg_cycle_level){.n = 100, .nnz = second, .a = matrix};
    m->c.level = m->level;
}

static void complexities_decide_about_trials(void **state)
{
    static const amg_coarsening classical = {.kind = TESS_AMG_CLASSICAL};
    amg_candidate candidate = {.hierarchy = {.options = amg_options().amg, .coarsening = &classical}};
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(10);
    tess_matrix *matrix = make_matrix(ctx, &a);
    made_cycle m;

    (void)state;
    make_cycle(&m, matrix, 2, 1000, 2500);
    assert_true(amg_operator_complexity(&m.c) == 3.5);
    candidate.cycle = m.c;
    assert_false(amg_is_doubtful(&candidate));
    m.level[1].nnz = 2501;
    assert_true(amg_is_doubtful(&candidate));
    candidate.hierarchy.options.coarsening = TESS_AMG_CLASSICAL; /* which was asked for */
    assert_false(amg_is_doubtful(&candidate));
    candidate.hierarchy.options.coarsening = TESS_AMG_AUTO;
    make_cycle(&m, matrix, 1, 1000, 0);
    candidate.cycle = m.c;
    candidate.hierarchy.options.coarsest = 999;
    assert_true(amg_is_doubtful(&candidate)); /* one level, of too many rows */
    candidate.hierarchy.options.coarsest = 1000;
    assert_false(amg_is_doubtful(&candidate));
    candidate.hierarchy.options.coarsest = 999;
    candidate.hierarchy.options.max_levels = 1;
    assert_false(amg_is_doubtful(&candidate));
    m.level[0].nnz = 0;
    assert_true(amg_operator_complexity(&m.c) == 1.0);
    m.c.count = 0;
    assert_true(amg_operator_complexity(&m.c) == 1.0);
    assert_int_equal(amg_other_coarsening(TESS_AMG_CLASSICAL), TESS_AMG_AGGREGATION);
    assert_int_equal(amg_other_coarsening(TESS_AMG_AGGREGATION), TESS_AMG_CLASSICAL);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* CG with a cycle that reduces errors by q gains log((r + 1) / (r - 1)) digits an iteration, r = 1 / sqrt(1 - q): 1.763
   for q = 1/2 and 0.655 for q = 0.9, 2.69 times as many. */
static void bytes_for_a_digit_are_compared(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr small = oracle_laplace2d(30), large = oracle_laplace2d(48), larger = oracle_laplace2d(50);
    tess_matrix *one = make_matrix(ctx, &small), *more = make_matrix(ctx, &large), *most = make_matrix(ctx, &larger);
    made_cycle a, b, c, single;

    (void)state;
    make_cycle(&a, one, 2, 1000, 100);
    make_cycle(&b, more, 2, 1000, 100); /* 2.56 times the rows */
    make_cycle(&c, most, 2, 1000, 100); /* 2.78 times */
    make_cycle(&single, one, 1, 1000, 100);
    assert_true(amg_is_better(&a.c, 0.5, &a.c, 0.49) && !amg_is_better(&a.c, 0.5, &a.c, 0.5));
    assert_true(amg_is_better(&a.c, 0.9, &b.c, 0.5) && !amg_is_better(&a.c, 0.9, &c.c, 0.5));
    assert_true(!amg_is_better(&b.c, 0.5, &a.c, 0.9) && amg_is_better(&c.c, 0.5, &a.c, 0.9));
    /* one level is never better than two, and two always than one */
    assert_true(amg_is_better(&single.c, 0.1, &c.c, 5.0) && !amg_is_better(&a.c, 5.0, &single.c, 0.1));
    assert_false(amg_is_better(&single.c, 0.9, &single.c, 0.1));
    /* cycles that diverge alone count alike; a factor of 0 or below is one of 0 */
    assert_false(amg_is_better(&a.c, 7.0, &a.c, 2.0));
    assert_true(amg_is_better(&b.c, 0.9995, &a.c, 40.0));
    assert_true(amg_is_better(&a.c, 2.0, &a.c, 0.998));
    assert_false(amg_is_better(&a.c, 0.0, &a.c, -1.0));
    assert_true(amg_is_better(&a.c, 0.1, &a.c, 0.0));
    tess_matrix_destroy(one);
    tess_matrix_destroy(more);
    tess_matrix_destroy(most);
    oracle_free(&small);
    oracle_free(&large);
    oracle_free(&larger);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precisions_hold_the_entries),      cmocka_unit_test(levels_may_have_their_own),
        cmocka_unit_test(one_uneven_row_decides),           cmocka_unit_test(rows_of_zeros_are_left_alone),
        cmocka_unit_test(sums_are_those_of_the_levels),     cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(counted_bytes_are_held),           cmocka_unit_test(the_prediction_covers_the_peak),
        cmocka_unit_test(near_nullspaces_are_copied),       cmocka_unit_test(blocks_of_one_row_are_the_diagonal),
        cmocka_unit_test(complexities_decide_about_trials), cmocka_unit_test(bytes_for_a_digit_are_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
