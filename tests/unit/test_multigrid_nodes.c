/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of multigrid stored by blocks of nodes: what they take, and that cycles are those of levels stored by entries.
 * tests/gpu/test_multigrid_nodes.c runs the tests of MULTIGRID_NODES_TESTS in a context of a GPU.
 */
#include "precond/precond.h"
#include "support/multigrid.h"

/* Nodes of a grid, and what amg is told of them. */
typedef struct grid {
    tess_context *ctx;
    int64_t side;
    int unknowns; /* of a node */
    oracle_csr a;
    double *near;
    tess_precond_options options;
} grid;

/* What is fixed on a grid: every 11th node, and a single unknown of every 7th, has 1 on its diagonal alone; the rows
   and columns of node `empty` have no entries. */
typedef struct supports {
    bool fixed;
    int64_t empty; /* -1: none */
} supports;

static bool is_fixed(const grid *g, supports s, int64_t i)
{
    const int64_t node = i / g->unknowns;

    return s.fixed && (node % 11 == 3 || (node % 7 == 2 && i % g->unknowns == node % g->unknowns));
}

/* The coupling of unknowns c and d of a node; those of neighbours have -1/4 of it, so that the matrix is positive
   definite. */
static double coupling(int c, int d)
{
    return c == d ? 2.0 + 0.25 * c : 1.0 / (double)(2 + c + d);
}

static void add_row(grid *g, supports s, int64_t i)
{
    const int64_t node = i / g->unknowns, row = node / g->side, place = node % g->side;

    for (int64_t other = 0; other < g->side * g->side && node != s.empty; other++) {
        const int64_t rows = other / g->side - row, places = other % g->side - place;
        const bool own = other == node, near = labs((long)rows) + labs((long)places) == 1;

        for (int d = 0; d < g->unknowns && (own || near) && other != s.empty; d++) {
            const int64_t j = other * g->unknowns + d;
            const bool fixed = is_fixed(g, s, i) || is_fixed(g, s, j);

            if (fixed && i != j) { continue; }
            oracle_push(&g->a, j, fixed ? 1.0 : coupling((int)(i % g->unknowns), d) * (own ? 1.0 : -0.25));
        }
    }
    oracle_end_row(&g->a, i);
}

/* Constants of the unknowns, then these times a coordinate, and times another. */
static void fill_near(grid *g, int vectors)
{
    const int64_t n = g->a.nrows;

    g->near = test_allocate(n * vectors, sizeof *g->near);
    for (int v = 0; v < vectors; v++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t node = i / g->unknowns;
            const double at[] = {1.0, (double)(node % g->side), (double)(node / g->side),
                                 (double)((node % g->side) * (node / g->side)) / (double)g->side};

            g->near[v * n + i] = i % g->unknowns == v % g->unknowns ? at[v / g->unknowns] : 0.0;
        }
    }
}

static grid open_grid(int64_t side, int unknowns, int vectors, supports s)
{
    grid g = {
        .ctx = open_device(2), .side = side, .unknowns = unknowns, .options = amg_options(TESS_AMG_PRECISION_FP64)};
    const int64_t n = side * side * unknowns;

    g.a = oracle_open(n, n);
    for (int64_t i = 0; i < n; i++) {
        add_row(&g, s, i);
    }
    fill_near(&g, vectors);
    g.options.amg.coarsening = TESS_AMG_AGGREGATION;
    g.options.amg.block_size = unknowns;
    g.options.amg.near_nullspace = g.near;
    g.options.amg.near_nullspace_columns = vectors;
    g.options.amg.coarsest = 20;
    return g;
}

static void close_grid(grid *g)
{
    free(g->near);
    oracle_free(&g->a);
    tess_context_destroy(g->ctx);
}

static tess_precond *make(const grid *g, const tess_matrix *matrix, tess_amg_format format)
{
    tess_precond_options options = g->options;
    tess_precond *m = NULL;

    options.amg.format = format;
    assert_ok(g->ctx, tess_precond_create(matrix, &options, &m));
    return m;
}

static tess_amg_levels levels_of(const tess_precond *m)
{
    tess_amg_levels levels;

    tess_amg_levels_init(&levels);
    assert_int_equal(tess_precond_get_levels(m, &levels), TESS_SUCCESS);
    return levels;
}

static tess_amg_levels levels_with(const grid *g, tess_amg_precision precision, tess_amg_format format)
{
    grid own = *g;
    tess_matrix *matrix = make_matrix(g->ctx, &g->a);
    tess_amg_levels levels;
    tess_precond *m = NULL;

    own.options.amg.precision = precision;
    m = make(&own, matrix, format);
    levels = levels_of(m);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    return levels;
}

/* ---- bytes ---- */

/* Of a matrix of full blocks. */
static int64_t block_bytes(int64_t nrows, int64_t nonzeros, int height, int width, tess_precision precision)
{
    const int64_t blocks = nonzeros / (height * width);

    return (nrows / height + 1) * 4 + blocks * 2 + nonzeros * (int64_t)tess_precision_bytes(precision);
}

static void levels_take_a_fifth_of_rows_in_fp64(void **state)
{
    grid g = open_grid(on_gpu_or_emulated(40, 14), 3, 6, (supports){false, -1});
    const tess_amg_levels rows = levels_with(&g, TESS_AMG_PRECISION_FP64, TESS_AMG_FORMAT_SCALAR);

    (void)state;
    for (int p = (int)on_gpu_or_emulated(TESS_AMG_PRECISION_FP64, TESS_AMG_PRECISION_FP16); p <= TESS_AMG_PRECISION_FP8;
         p++) {
        const tess_amg_levels blocks = levels_with(&g, (tess_amg_precision)p, TESS_AMG_FORMAT_AUTO);
        double csr = 0.0, own = 0.0;

        assert_int_equal(blocks.count, rows.count);
        assert_true(blocks.count >= 3);
        for (int l = 0; l + 1 < blocks.count; l++) {
            const tess_amg_level *level = &blocks.level[l];
            const int height = l == 0 ? 3 : 6;

            assert_int_equal(level->format, TESS_FORMAT_BSR);
            assert_int_equal(level->bytes,
                             block_bytes(level->rows, level->nonzeros, height, height, level->precision) +
                                 block_bytes(level->rows, level->transfer, height, 6, level->precision) +
                                 block_bytes(level[1].rows, level->transfer, 6, height, level->precision));
            csr += 12.0 * (double)(level->nonzeros + 2 * level->transfer);
            own += (double)level->bytes;
        }
        if (p == TESS_AMG_PRECISION_FP16) {
            assert_int_equal(blocks.level[0].precision, TESS_PRECISION_FP16);
            assert_at_most(own, 0.2 * csr);
        }
    }
    for (int l = 0; l < rows.count; l++) {
        assert_int_not_equal(rows.level[l].format, TESS_FORMAT_BSR);
    }
    close_grid(&g);
}

/* ---- cycles ---- */

static double distance(const double *a, const double *b, int64_t n)
{
    double gap = 0.0, size = 0.0;

    for (int64_t i = 0; i < n; i++) {
        assert_true(isfinite(a[i]));
        gap += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(gap / size);
}

/* Some ten products and sums of rows of up to 100 entries; levels hold the same numbers in both formats. */
#define ROUNDING 1e4

static double unit_of(const grid *g)
{
    return g->options.amg.precision == TESS_AMG_PRECISION_FP64 ? U64 : 0x1p-24;
}

/* One cycle by blocks and by entries. */
static void check_cycle(const grid *g)
{
    const int64_t n = g->a.nrows;
    tess_matrix *matrix = make_matrix(g->ctx, &g->a);
    tess_precond *blocks = make(g, matrix, TESS_AMG_FORMAT_AUTO), *rows = make(g, matrix, TESS_AMG_FORMAT_SCALAR);
    double *r = random_values(n, 3, -1.0, 1.0), *z = test_allocate(n, sizeof *z), *same = test_allocate(n, sizeof *z);

    assert_int_equal(levels_of(blocks).level[0].format, TESS_FORMAT_BSR);
    assert_int_not_equal(levels_of(rows).level[0].format, TESS_FORMAT_BSR);
    apply_precond(blocks, n, r, z);
    apply_precond(rows, n, r, same);
    assert_at_most(distance(z, same, n), ROUNDING * unit_of(g));
    tess_precond_destroy(blocks);
    tess_precond_destroy(rows);
    tess_matrix_destroy(matrix);
    free(r);
    free(z);
    free(same);
}

static void cycles_are_those_of_rows(void **state)
{
    static const tess_amg_smoother smoothers[] = {TESS_AMG_CHEBYSHEV, TESS_AMG_JACOBI, TESS_AMG_L1_JACOBI,
                                                  TESS_AMG_BLOCK_JACOBI, TESS_AMG_ILU0};
    static const tess_amg_precision precisions[] = {TESS_AMG_PRECISION_FP64, TESS_AMG_PRECISION_FP32,
                                                    TESS_AMG_PRECISION_FP16, TESS_AMG_PRECISION_BF16,
                                                    TESS_AMG_PRECISION_FP8};
    grid g = open_grid(on_gpu_or_emulated(16, 7), 3, 6, (supports){false, -1});

    (void)state;
    for (int s = 0; s < 5; s++) {
        for (int c = 0; c < 3; c++) {
            if (on_gpu_or_emulated(c, s % 3) != c) { continue; }
            g.options.amg.smoother = smoothers[s];
            g.options.amg.cycle = (tess_amg_cycle)c;
            g.options.amg.precision = precisions[(s + c) % 5];
            g.options.amg.degree = 1 + (s + c) % 3;
            check_cycle(&g);
        }
    }
    close_grid(&g);
}

static void rows_of_supports_stay_right(void **state)
{
    (void)state;
    for (int unknowns = 2; unknowns <= 6; unknowns++) {
        grid g = open_grid(on_gpu_or_emulated(12, 6), unknowns, unknowns == 2 ? 3 : unknowns,
                           (supports){true, unknowns % 2 ? 17 : -1});

        g.options.amg.precision = unknowns % 2 ? TESS_AMG_PRECISION_FP64 : TESS_AMG_PRECISION_FP32;
        check_cycle(&g);
        close_grid(&g);
    }
}

/* FP32 levels below FP64 ones have FP64 vectors. */
static void precisions_may_differ_by_level(void **state)
{
    grid g = open_grid(on_gpu_or_emulated(24, 12), 3, 6, (supports){false, -1});

    (void)state;
    g.options.amg.level_precision[0] = TESS_AMG_PRECISION_FP64;
    g.options.amg.precision = TESS_AMG_PRECISION_FP16;
    check_cycle(&g);
    close_grid(&g);
}

/* ---- sizes of nodes ---- */

/* Without three of six vectors on half of the nodes, coarse nodes there have fewer unknowns. */
static void nodes_of_several_sizes_are_stored_by_rows(void **state)
{
    grid g = open_grid(on_gpu_or_emulated(20, 10), 3, 6, (supports){false, -1});
    tess_amg_levels levels;

    (void)state;
    for (int64_t k = 3 * g.a.nrows; k < 6 * g.a.nrows; k++) {
        if (k % g.a.nrows < g.a.nrows / 2) { g.near[k] = 0.0; }
    }
    levels = levels_with(&g, TESS_AMG_PRECISION_FP32, TESS_AMG_FORMAT_AUTO);
    assert_true(levels.count >= 3);
    assert_int_equal(levels.level[0].format, TESS_FORMAT_BSR);
    assert_int_not_equal(levels.level[1].format, TESS_FORMAT_BSR);
    check_cycle(&g);
    close_grid(&g);
}

/* Nodes of 8 unknowns have blocks of 4, nodes of 7 none. */
static void large_nodes_have_several_blocks(void **state)
{
    (void)state;
    for (int vectors = 7; vectors <= 8; vectors++) {
        grid g = open_grid(on_gpu_or_emulated(24, 9), 3, 1, (supports){false, -1});
        tess_amg_levels levels;

        free(g.near);
        g.near = random_values(vectors * g.a.nrows, 8, 0.5, 1.0); /* independent on each aggregate */
        g.options.amg.near_nullspace = g.near;
        g.options.amg.near_nullspace_columns = vectors;
        levels = levels_with(&g, TESS_AMG_PRECISION_FP16, TESS_AMG_FORMAT_AUTO);
        assert_true(levels.count >= 3);
        assert_int_equal(levels.level[1].rows % vectors, 0);
        assert_int_equal(levels.level[1].format == TESS_FORMAT_BSR, vectors == 8);
        check_cycle(&g);
        close_grid(&g);
    }
}

/* Unknowns of a node no longer couple to each other. */
static void drop_couplings(grid *g)
{
    oracle_csr thin = oracle_open(g->a.nrows, g->a.ncols);

    for (int64_t i = 0; i < g->a.nrows; i++) {
        for (int64_t k = g->a.row_ptr[i]; k < g->a.row_ptr[i + 1]; k++) {
            if (g->a.col_ind[k] % g->unknowns == i % g->unknowns) { oracle_push(&thin, g->a.col_ind[k], g->a.val[k]); }
        }
        oracle_end_row(&thin, i);
    }
    oracle_free(&g->a);
    g->a = thin;
}

/* Blocks in which a third of the places have entries take more than rows. */
static void sparse_blocks_are_stored_by_rows(void **state)
{
    grid g = open_grid(on_gpu_or_emulated(20, 10), 3, 3, (supports){false, -1});

    (void)state;
    drop_couplings(&g);
    assert_int_not_equal(levels_with(&g, TESS_AMG_PRECISION_FP32, TESS_AMG_FORMAT_AUTO).level[0].format,
                         TESS_FORMAT_BSR);
    close_grid(&g);
}

/* ---- new values ---- */

/* The diagonal grows, in one row by `factor`. */
static void change_values(grid *g, double factor)
{
    for (int64_t i = 0; i < g->a.nrows; i++) {
        for (int64_t k = g->a.row_ptr[i]; k < g->a.row_ptr[i + 1]; k++) {
            if (g->a.col_ind[k] == i) { g->a.val[k] *= i == 20 ? factor : 1.0 + 0.05 * (double)(i % 9); }
        }
    }
}

/* A row larger than others is not for FP16: that level then is stored anew, in FP32. */
static void new_values_go_to_the_blocks(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        grid g = open_grid(on_gpu_or_emulated(16, 7), 3, 6, (supports){turn % 2 != 0, -1});
        const int64_t n = g.a.nrows;
        double *r = random_values(n, 9, -1.0, 1.0), *z[3];
        tess_matrix *matrix = make_matrix(g.ctx, &g.a);
        tess_precond *m[2];
        tess_amg_levels before, after;

        g.options.amg.smoother = turn % 2 ? TESS_AMG_BLOCK_JACOBI : TESS_AMG_CHEBYSHEV;
        g.options.amg.precision = turn < 2 ? TESS_AMG_PRECISION_FP64 : TESS_AMG_PRECISION_FP16;
        for (int k = 0; k < 3; k++) {
            z[k] = test_allocate(n, sizeof *z[k]);
        }
        m[0] = make(&g, matrix, TESS_AMG_FORMAT_AUTO);
        m[1] = make(&g, matrix, TESS_AMG_FORMAT_SCALAR);
        apply_precond(m[0], n, r, z[2]);
        before = levels_of(m[0]);
        assert_int_equal(before.level[turn % 2 == 0].format, TESS_FORMAT_BSR);
        change_values(&g, turn == 3 ? 100.0 : 1.3);
        assert_ok(g.ctx, tess_matrix_update_values(matrix, g.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        for (int k = 0; k < 2; k++) {
            assert_ok(g.ctx, tess_precond_update(m[k]));
            apply_precond(m[k], n, r, z[k]);
        }
        assert_at_most(distance(z[0], z[1], n), ROUNDING * unit_of(&g));
        assert_true(distance(z[0], z[2], n) > 1e-3);
        after = levels_of(m[0]);
        for (int l = 0; l < before.count; l++) {
            assert_int_equal(after.level[l].format, before.level[l].format);
            assert_int_equal(after.level[l].bytes > before.level[l].bytes, turn == 3 && l == 0);
        }
        for (int k = 0; k < 3; k++) {
            free(z[k]);
        }
        tess_precond_destroy(m[0]);
        tess_precond_destroy(m[1]);
        tess_matrix_destroy(matrix);
        free(r);
        close_grid(&g);
    }
}

/* ---- several columns ---- */

/* A column of several is the column alone, up to rounding. */
static void columns_go_through_the_blocks(void **state)
{
    enum { COLUMNS = 3 };
    grid g = open_grid(on_gpu_or_emulated(16, 7), 3, 6, (supports){true, -1});
    const int64_t n = g.a.nrows;
    double *r = random_values(COLUMNS * n, 5, -1.0, 1.0), *z = test_allocate(COLUMNS * n, sizeof *z),
           *one = test_allocate(n, sizeof *one);
    const tess_columns vr = tess_columns_by_column(n, COLUMNS, r, TESS_MEMORY_HOST);
    const tess_columns vz = tess_columns_by_column(n, COLUMNS, z, TESS_MEMORY_HOST);
    tess_matrix *matrix = make_matrix(g.ctx, &g.a);

    (void)state;
    for (int p = TESS_AMG_PRECISION_FP64; p <= TESS_AMG_PRECISION_FP8; p++) {
        tess_precond *m = NULL;

        g.options.amg.precision = (tess_amg_precision)p;
        g.options.amg.cycle = p % 2 ? TESS_AMG_V : TESS_AMG_W;
        m = make(&g, matrix, TESS_AMG_FORMAT_AUTO);
        assert_true(tess_precond_takes_columns(m));
        assert_ok(g.ctx, tess_precond_apply_columns(m, &vr, &vz));
        for (int c = 0; c < COLUMNS; c++) {
            apply_precond(m, n, r + c * n, one);
            assert_at_most(distance(z + c * n, one, n), ROUNDING * unit_of(&g));
        }
        tess_precond_destroy(m);
    }
    free(r);
    free(z);
    free(one);
    tess_matrix_destroy(matrix);
    close_grid(&g);
}

#define MULTIGRID_NODES_TESTS                                                                                  \
    cmocka_unit_test(levels_take_a_fifth_of_rows_in_fp64), cmocka_unit_test(cycles_are_those_of_rows),         \
        cmocka_unit_test(rows_of_supports_stay_right), cmocka_unit_test(precisions_may_differ_by_level),       \
        cmocka_unit_test(nodes_of_several_sizes_are_stored_by_rows),                                           \
        cmocka_unit_test(large_nodes_have_several_blocks), cmocka_unit_test(sparse_blocks_are_stored_by_rows), \
        cmocka_unit_test(new_values_go_to_the_blocks), cmocka_unit_test(columns_go_through_the_blocks)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {MULTIGRID_NODES_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
