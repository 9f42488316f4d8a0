/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of single-kernel solves that need no GPU: the rule by size, plans, shared memory, and its recurrences of CG
   in passes. */
#include "papers/single_kernel/tile_rows.h"
#include "solver/cg/cg_scalars.h"
#include "solver/single_kernel/single_kernel.h"
#include "support/papers.h"
#include "support/precond_of.h"
#include "support/solve.h"
#include "support/tiles.h"

/* Those of an H200. */
static const single_limits h200 = {.blocks = 132, .cluster_blocks = 16, .shared_bytes = 230400};

static void size_chooses_the_blocks(void **state)
{
    const single_limits none = {0}, portable = {.blocks = 132, .cluster_blocks = 8, .shared_bytes = 230400};

    (void)state;
    for (int m = SINGLE_CG; m <= SINGLE_BICGSTAB; m++) {
        const single_method method = (single_method)m;

        assert_int_equal(single_cluster_blocks(&h200, 1, 1, method), 1);
        assert_int_equal(single_cluster_blocks(&h200, 256, 1250, method), 1);
        assert_int_equal(single_cluster_blocks(&h200, 257, 1250, method), 2);
        assert_int_equal(single_cluster_blocks(&h200, 1024, 5000, method), 4);
        assert_int_equal(single_cluster_blocks(&h200, 1024, 66000, method), 16);
        assert_int_equal(single_cluster_blocks(&h200, 4096, 20000, method), 16);
        assert_int_equal(single_cluster_blocks(&h200, 16384, 81920, method), 16);
        assert_int_equal(single_cluster_blocks(&h200, 16385, 81920, method), 0);
        assert_int_equal(single_cluster_blocks(&h200, 4096, 200000, method), method == SINGLE_BICGSTAB ? 16 : 0);
        assert_int_equal(single_cluster_blocks(&h200, 4096, 263000, method), 0);
        assert_int_equal(single_cluster_blocks(&portable, 8192, 40000, method), 8);
        assert_int_equal(single_cluster_blocks(&portable, 8193, 40000, method), 0);
        assert_int_equal(single_cluster_blocks(&portable, 4096, 132000, method), 0);
        assert_int_equal(single_cluster_blocks(&none, 10, 10, method), 0);
    }
    assert_int_equal(single_grid_blocks(&h200, 65536), 132);
    assert_int_equal(single_grid_blocks(&h200, 100), 7);
    assert_int_equal(single_grid_blocks(&none, 100), 0);
    assert_true(single_may_be_resident(&h200, 65536, 10 * 1200000, SINGLE_CG_ONE_REDUCTION));
    assert_false(single_may_be_resident(&h200, 65536, 10 * 3000000, SINGLE_CG_ONE_REDUCTION));
    assert_true(single_may_be_resident(&h200, 65536, 4 * 3000000, SINGLE_CG_ONE_REDUCTION));
    assert_false(single_may_be_resident(&none, 1, 1, SINGLE_CG));
    assert_false(single_plan_can_hold(0, 0));
    assert_true(single_plan_can_hold(65536, 1200000));
    assert_false(single_plan_can_hold(INT64_C(1) << 31, 1));
}

static void gains_have_bounds(void **state)
{
    (void)state;
    for (int method = SINGLE_CG; method <= SINGLE_BICGSTAB; method++) {
        for (int cluster = 0; cluster < 2; cluster++) {
            const int blocks = cluster ? 8 : 132;

            assert_true(single_may_gain(4096, 20000, blocks, cluster, (single_method)method));
            assert_false(single_may_gain(INT64_C(1) << 20, 20000, blocks, cluster, (single_method)method));
            assert_false(single_may_gain(4096, INT64_C(1) << 22, blocks, cluster, (single_method)method));
        }
    }
}

/* How a matrix is to be divided: in tiles as `stored` has them, or in CSR order. */
static single_shape shape_for(const tess_matrix *stored, int blocks)
{
    single_shape shape = {.tiles = NULL};

    if (stored) { shape = single_kernel_shape(stored); }
    shape.blocks = blocks;
    shape.cluster = blocks <= 8;
    return shape;
}

/* Of the rows from `first` on, which begins a run, to end - 1. */
static int64_t weight_of(const single_shape *shape, const single_plan *p, int32_t first, int32_t end)
{
    const int64_t tiles =
        shape->tiles ? shape->tiles[single_runs(end, p->run)] - shape->tiles[single_runs(first, p->run)] : 0;

    return single_weight(end - first, p->row_ptr[end] - p->row_ptr[first], tiles);
}

/* No block weighs more than its share and this: one run of rows. */
static int64_t heaviest(const single_shape *shape, const single_plan *p)
{
    int64_t most = 0;

    for (int32_t first = 0; first < p->n; first += p->run) {
        const int64_t weight = weight_of(shape, p, first, first + p->run < p->n ? first + p->run : p->n);

        most = weight > most ? weight : most;
    }
    return most;
}

/* Runs of rows and columns are complete, except the last of the matrix. */
static void check_runs(const single_plan *p, int b, const int32_t *column, int32_t count)
{
    assert_int_equal(p->row_begin[b] % p->run == 0 || p->row_begin[b] == p->n, true);
    for (int32_t l = 0; l < count; l++) {
        assert_int_equal(column[l] % p->run, l % p->run);
    }
    assert_true(count % p->run == 0 || column[count - 1] == p->n - 1);
}

/* A block's columns ascend, hold its own rows in one run, and are those of its entries. */
static void check_block(const oracle_csr *a, const single_shape *shape, const single_plan *p, int b)
{
    const int32_t first = p->row_begin[b], end = p->row_begin[b + 1];
    const int32_t *column = p->column + p->column_begin[b];
    const int32_t count = p->column_begin[b + 1] - p->column_begin[b];

    assert_true(first <= end && count >= end - first);
    assert_true(end - first <= p->most_rows && count <= p->most_columns);
    assert_true(p->row_ptr[end] - p->row_ptr[first] <= p->most_entries);
    assert_true(weight_of(shape, p, first, end) <= weight_of(shape, p, 0, p->n) / p->blocks + 1 + heaviest(shape, p));
    check_runs(p, b, column, count);
    for (int32_t l = 1; l < count; l++) {
        assert_true(column[l - 1] < column[l]);
    }
    for (int32_t i = first; i < end; i++) {
        assert_int_equal(column[p->own[b] + (i - first)], i);
    }
    for (int64_t k = a->row_ptr[first]; k < a->row_ptr[end]; k++) {
        assert_true(p->place[k] < count);
        assert_int_equal(column[p->place[k]], a->col_ind[k]);
    }
}

static void raise_to(int32_t *most, int32_t value)
{
    *most = value > *most ? value : *most;
}

/* stored: tiles; NULL: in CSR order */
static void check_plan(tess_context *ctx, const oracle_csr *a, const tess_matrix *stored, int blocks)
{
    const single_shape shape = shape_for(stored, blocks);
    int32_t rows = 0, columns = 0, entries = 0, units = 0;
    single_plan p;

    assert_ok(ctx, single_plan_make(ctx, a->nrows, a->row_ptr, a->col_ind, &shape, &p));
    assert_int_equal(p.blocks, blocks);
    assert_int_equal(p.run, stored ? SINGLE_TILE : 1);
    assert_int_equal(p.row_begin[0], 0);
    assert_int_equal(p.row_begin[blocks], a->nrows);
    for (int b = 0; b < blocks; b++) {
        const int32_t first = p.row_begin[b], end = p.row_begin[b + 1];

        check_block(a, &shape, &p, b);
        raise_to(&rows, end - first);
        raise_to(&columns, p.column_begin[b + 1] - p.column_begin[b]);
        raise_to(&entries, p.row_ptr[end] - p.row_ptr[first]);
        if (stored) {
            raise_to(&units, (int32_t)(shape.start[single_runs(end, p.run)] - shape.start[single_runs(first, p.run)]));
        }
    }
    assert_true(p.most_rows == rows && p.most_columns == columns && p.most_entries == entries);
    assert_int_equal(p.most_units, units);
    assert_true(p.lanes >= 1 && p.lanes <= (stored ? SINGLE_TILE : 32) && (p.lanes & (p.lanes - 1)) == 0);
    /* rows that several lanes share have threads all at once */
    assert_true(p.lanes == 1 || p.lanes * p.run * single_runs(rows, p.run) <= SINGLE_THREADS);
    single_plan_free(ctx, &p);
    assert_null(p.column);
}

static void plans_hold_every_entry_once(void **state)
{
    static const int blocks[] = {1, 2, 8, 16, 132};
    oracle_csr matrices[] = {oracle_laplace2d(1),
                             oracle_laplace2d(4),
                             oracle_laplace2d(49),
                             oracle_hilbert(17),
                             oracle_random(2395, 2395, 5, 3),
                             oracle_power_law(500, 5),
                             oracle_with_empty_rows(2000)};
    const tess_storage_options options = resident_lossless("fp64,fp32,fp16,e4m3");
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        tess_matrix *assembled = make_matrix(ctx, &matrices[m]), *stored = convert_tiles(assembled, &options);

        for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
            check_plan(ctx, &matrices[m], NULL, blocks[k]);
            check_plan(ctx, &matrices[m], stored, blocks[k]);
        }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        oracle_free(&matrices[m]);
    }
    tess_context_destroy(ctx);
}

static void too_many_columns_have_no_plan(void **state)
{
    oracle_csr a = oracle_open(70000, 70000);
    tess_context *ctx = open_cpu(1);
    const single_shape one = shape_for(NULL, 1);
    single_plan p;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        oracle_push(&a, i, 1.0);
        oracle_end_row(&a, i);
    }
    assert_ok(ctx, single_plan_make(ctx, a.nrows, a.row_ptr, a.col_ind, &one, &p));
    assert_int_equal(p.blocks, 0);
    assert_null(p.column);
    check_plan(ctx, &a, NULL, 2);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void shared_memory_is_laid_out_without_overlap(void **state)
{
    const single_plan p = {.cluster = true,
                           .blocks = 8,
                           .run = 1,
                           .lanes = 4,
                           .most_rows = 33,
                           .most_columns = 77,
                           .most_entries = 191,
                           .most_units = 41};

    (void)state;
    for (int method = SINGLE_CG; method <= SINGLE_BICGSTAB; method++) {
        static const int64_t copies[] = {1, 2, 2, 3, 3}, vectors[] = {4, 6, 2, 2, 6}, windows[] = {2, 4, 2, 2, 2};
        const single_contents all = {(single_method)method, 4, true, 0, 0},
                              vectors_alone = {all.method, 4, false, 0, 0};
        const single_contents tiles = {all.method, 0, true, (int)sizeof(narrowing_bounds), (int)sizeof(single_segment)};
        const single_layout in = single_shared_layout(&p, &all), out = single_shared_layout(&p, &vectors_alone);
        const single_layout t = single_shared_layout(&p, &tiles);

        assert_true(in.vectors - in.copies >= copies[method] * 77 * 8);
        assert_true(in.windows - in.vectors >= vectors[method] * 33 * 8);
        assert_true(in.sums - in.windows >= windows[method] * 33 * 8);
        assert_true(in.values - in.sums >= 2 * 8 * SINGLE_SLOT * 8);
        assert_true(in.columns - in.values >= 191 * 4);
        assert_true(in.offsets - in.columns >= 77 * 4);
        assert_true(in.places - in.offsets >= 34 * 4);
        assert_true(in.parts - in.places >= 191 * 2);
        assert_true(in.bytes - in.parts >= SINGLE_LONG_ROWS * (SINGLE_THREADS / 32) * 8); /* sums of each wave */
        assert_int_equal((in.vectors | in.windows | in.sums | in.values | in.columns | in.offsets | in.places) % 16, 0);
        assert_true(out.bytes <= in.bytes - 191 * 6);
        assert_int_equal(t.values, in.values);
        assert_true(t.columns - t.values >= 41 * 16);
        assert_true(t.offsets - t.columns >= 77 * 4);
        assert_true(t.parts - t.offsets >= 4 * 4);
        assert_true(t.own - t.parts >= SINGLE_THREADS / 2 * 8); /* 16 sums of each wave */
        assert_true(t.segments - t.own >= (int64_t)sizeof(narrowing_bounds));
        assert_true(t.bytes - t.segments >= 5 * (int64_t)sizeof(single_segment));
        assert_int_equal((t.parts | t.own | t.segments) % 16, 0);
    }
}

/* ---- all inner products at once, in passes ---- */

static tess_solve_options cg_by(tess_recurrence recurrence, tess_precond_kind precond)
{
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    ask_recurrence(&options, recurrence);
    options.precond = precond_of(precond, 5);
    return options;
}

/* The same method in exact arithmetic: as many iterations, up to the last few roundings, and the same verified answer.
 */
static void recurrences_are_conjugate_gradients(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI};
    static const tess_recurrence others[] = {TESS_RECURRENCE_ONE_REDUCTION, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE};
    oracle_csr a = oracle_laplace2d(60);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 6; k++) {
        tess_solve_options options = cg_by(TESS_RECURRENCE_STANDARD, kinds[k / 2]);
        tess_solve_result standard, result;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        standard = solve_once(ctx, &a, &options, b, x);
        ask_recurrence(&options, others[k % 2]);
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(standard.cg.recurrence, TESS_RECURRENCE_STANDARD);
        assert_int_equal(result.cg.recurrence, others[k % 2]);
        assert_int_equal(result.engine, TESS_ENGINE_PLAIN);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_int_equal(result.refinements, 0);
        assert_true(result.iterations > 100);
        assert_true(llabs(result.iterations - standard.iterations) <= 2 + standard.iterations / 50);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/*
 * With a condition of 1e4, where rounding counts, prediction takes few more iterations than the standard recurrence (at
 * most an eighth on 24 tested matrices; the test allows a quarter), and fewer than the recurrence for A p.
 */
static void prediction_costs_few_iterations(void **state)
{
    enum { N = 400 };
    double values[N], found[4][N], *b = random_values(N, 3, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(1);
    int64_t iterations[4] = {0};

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = pow(10.0, 4.0 * i / (N - 1));
    }
    oracle_csr a = oracle_diagonal(N, values);

    for (int recurrence = TESS_RECURRENCE_STANDARD; recurrence <= TESS_RECURRENCE_PREDICT_AND_RECOMPUTE; recurrence++) {
        tess_solve_options options = cg_by((tess_recurrence)recurrence, TESS_PRECOND_NONE);
        tess_solve_result result;

        options.rtol = 1e-10;
        memset(x, 0, N * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_true(result.converged);
        check_honest(&a, b, x, &options, &result);
        iterations[recurrence] = result.iterations;
        /* each rounds in its own way: none is another under its name */
        for (int k = TESS_RECURRENCE_STANDARD; k < recurrence; k++) {
            assert_false(same_bits(x, found[k], N));
        }
        memcpy(found[recurrence], x, sizeof found[recurrence]);
    }
    assert_at_most((double)iterations[TESS_RECURRENCE_PREDICT_AND_RECOMPUTE],
                   1.25 * (double)iterations[TESS_RECURRENCE_STANDARD]);
    assert_true(iterations[TESS_RECURRENCE_PREDICT_AND_RECOMPUTE] < iterations[TESS_RECURRENCE_ONE_REDUCTION]);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* All of these numbers and the results computed from them are exact. */
static void predicted_scalars_are_those_of_the_equations(void **state)
{
    const tess_loop_state before = {.rho = 2.0, .divergence_limit = 1e300, .max_iterations = 9};
    tess_loop_state s = before;

    (void)state;
    s.dots[0] = 4.0; /* (p, A p) */
    s.dots[1] = 3.0; /* (A p, w) */
    s.dots[2] = 1.5; /* (r, w) */
    s.dots[3] = 7.0; /* (r, r): is not read */
    s.dots[4] = 2.0; /* (r, z) */
    update_cg_predict_at_once(&s);
    assert_true(s.alpha == 0.5 && s.beta == (2.0 - 2.0 * 0.5 * 1.5 + 0.25 * 3.0) / 2.0);
    assert_true(s.phase == TESS_LOOP_RUNNING && s.iteration == 0 && s.residual_norm == 0.0);
    assert_true(cg_product_scale(&before).factor == 1.0 && cg_product_scale(&s).factor == 0.5);
    s.dots[0] = 8.0;
    s.dots[1] = 0.25; /* of A p and w by half */
    s.dots[2] = 0.5;
    s.dots[3] = 9.0;
    s.dots[4] = 4.0;
    tess_loop_state alone = s, closed = s;

    update_cg_close_at_once(&closed);
    assert_true(closed.residual_norm == 3.0 && closed.rho == 4.0 && closed.iteration == 1);
    assert_true(closed.alpha == s.alpha && closed.beta == s.beta); /* are the other update's */
    update_cg_predict_at_once(&s);
    assert_true(s.rho == 4.0 && s.alpha == 0.5 && s.iteration == 0);
    assert_true(s.beta == (4.0 - 2.0 * 0.5 * 1.0 + 0.25 * 1.0) / 4.0);
    alone.dots[4] = -1.0; /* is not read */
    alone.dots[0] = 18.0;
    closed = alone;
    update_cg_close_alone(&closed);
    assert_true(closed.residual_norm == 3.0 && closed.rho == 9.0 && closed.phase == TESS_LOOP_RUNNING);
    update_cg_predict_alone(&alone);
    assert_true(alone.rho == 9.0 && alone.alpha == 0.5);
    closed.dots[4] = -1.0;
    update_cg_close_at_once(&closed);
    assert_int_equal(closed.reason, TESS_REASON_INDEFINITE_PRECOND);
    /* rounding has left nothing: the next direction is z */
    s.dots[1] = 3.0;
    s.dots[2] = 100.0;
    update_cg_predict_at_once(&s);
    assert_true(s.beta == 0.0);
    s.dots[1] = HUGE_VAL;
    update_cg_predict_at_once(&s);
    assert_true(s.beta == 0.0);
    for (int e = -1074; e <= 1023; e++) { /* any step; a few at the ends are left out */
        const cg_scale scale = cg_product_scale(&(tess_loop_state){.alpha = ldexp(1.0, e)});
        const bool fits = e >= -1022 && e <= 1022;

        assert_true(scale.factor == (fits ? ldexp(1.0, e) : 1.0) && scale.factor * scale.inverse == 1.0);
        assert_true(!fits || cg_product_scale(&(tess_loop_state){.alpha = ldexp(1.75, e)}).factor == scale.factor);
    }
    /* in passes: the sums come one after another, and beta keeps its predicted value */
    s = before;
    s.dots[0] = 4.0;
    update_cg_alpha(&s);
    s.dots[0] = 3.0;
    s.dots[1] = 1.5;
    update_cg_predict(&s);
    assert_true(s.beta == 0.625);
    s.dots[0] = 9.0;
    s.dots[1] = 4.0;
    update_cg_recompute(&s);
    assert_true(s.beta == 0.625 && s.rho == 4.0 && s.residual_norm == 3.0);
    update_cg_recompute_split(&s);
    assert_true(s.beta == 0.625 && s.rho == 9.0 && s.residual_norm == 2.0);
    /* a direction of no curvature ends it before anything is predicted */
    s = before;
    s.dots[0] = 0.0;
    s.dots[3] = s.dots[4] = 1.0;
    update_cg_predict_at_once(&s);
    assert_int_not_equal(s.reason, 0);
    assert_true(s.beta == 0.0);
}

/*
 * Replacement keeps the recurrence's residual at the true one: they differ by the rounding errors of the iterations
 * since then. Each rounds x and r by a few u (|A| |x| + |b|), with ||A|| <= 8 here.
 */
static void replacement_keeps_the_estimate_true(void **state)
{
    oracle_csr a = oracle_laplace2d(100);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x), norm = 0.0, size = 0.0;
    tess_context *ctx = open_cpu(2);
    tess_solve_options options = cg_by(TESS_RECURRENCE_ONE_REDUCTION, TESS_PRECOND_NONE);
    tess_solve_result result;

    (void)state;
    options.rtol = 0.0;
    options.max_iterations = 520; /* long after the residual could fall no further by itself */
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.iterations, 520);
    for (int64_t i = 0; i < a.nrows; i++) {
        norm = hypot(norm, b[i]);
        size = hypot(size, x[i]);
    }
    assert_at_most(fabs(result.estimated_residual_norm - result.residual_norm), 4.0 * 50.0 * U64 * (8.0 * size + norm));
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

static void check_limits_and_breakdowns(tess_recurrence recurrence)
{
    static const double indefinite[] = {1.0, 2.0, -3.0, 4.0};
    oracle_csr a = oracle_laplace2d(20), d = oracle_diagonal(4, indefinite);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x), y[4] = {0.0};
    const double ones[4] = {1.0, 1.0, 1.0, 1.0};
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = cg_by(recurrence, TESS_PRECOND_NONE);
    tess_solve_result result;

    options.rtol = 0.0;
    for (int64_t limit = 0; limit <= 3; limit++) {
        options.max_iterations = limit;
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.iterations, limit);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        check_honest(&a, b, x, &options, &result);
    }
    options = cg_by(recurrence, TESS_PRECOND_NONE);
    options.guard = TESS_GUARD_REPORT;
    result = solve_once(ctx, &d, &options, ones, y);
    assert_int_equal(result.reason, TESS_REASON_INDEFINITE_MATRIX);
    b[7] = (double)NAN;
    memset(x, 0, (size_t)a.nrows * sizeof *x);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&d);
    free(b);
    free(x);
}

static void limits_and_breakdowns_are_those_of_cg(void **state)
{
    (void)state;
    check_limits_and_breakdowns(TESS_RECURRENCE_ONE_REDUCTION);
    check_limits_and_breakdowns(TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
}

static int multiply_shell(void *user, tess_operation operation, const double *x, double *y)
{
    const oracle_csr *a = user;

    (void)operation;
    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = 0.0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            y[i] += a->val[k] * x[a->col_ind[k]];
        }
    }
    return 0;
}

static void users_operators_have_it_too(void **state)
{
    oracle_csr a = oracle_laplace2d(40);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(1);
    tess_shell_operator shell = {.user = &a, .apply = multiply_shell};
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, a.nrows, a.ncols, &shell, &m));
    for (int recurrence = TESS_RECURRENCE_ONE_REDUCTION; recurrence <= TESS_RECURRENCE_PREDICT_AND_RECOMPUTE;
         recurrence++) {
        tess_solve_options options = cg_by((tess_recurrence)recurrence, TESS_PRECOND_NONE);

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        result = solve_with(solver, ctx, a.nrows, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.iterations > 50);
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

static void requests_that_cannot_be_met_are_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(5);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_solver *solver = NULL;

    (void)state;
    ask_recurrence(&options, TESS_RECURRENCE_ONE_REDUCTION);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    ask_recurrence(&options, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    options = solve_options(TESS_SOLVER_CG);
    options.engine = TESS_ENGINE_SINGLE_KERNEL;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    assert_null(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_chooses_the_blocks),
        cmocka_unit_test(gains_have_bounds),
        cmocka_unit_test(plans_hold_every_entry_once),
        cmocka_unit_test(too_many_columns_have_no_plan),
        cmocka_unit_test(shared_memory_is_laid_out_without_overlap),
        cmocka_unit_test(recurrences_are_conjugate_gradients),
        cmocka_unit_test(prediction_costs_few_iterations),
        cmocka_unit_test(predicted_scalars_are_those_of_the_equations),
        cmocka_unit_test(replacement_keeps_the_estimate_true),
        cmocka_unit_test(limits_and_breakdowns_are_those_of_cg),
        cmocka_unit_test(users_operators_have_it_too),
        cmocka_unit_test(requests_that_cannot_be_met_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
