/* SPDX-License-Identifier: Apache-2.0 */
/* Smoothed aggregation's parts: nodes, aggregates, prolongators, products. Solves: test_aggregation_solves.c. */
#include "precond/multigrid/aggregation/aggregation.h"
#include "support/elastic.h"
#include "support/gallery.h"
#include "support/test.h"

/* A level with the near-nullspace of constants, or of rigid-body modes. */
typedef struct built {
    tess_matrix *matrix;
    host_csr a, p;
    aggregation_level level;
    double *coarse_near;
} built;

static void set_near(tess_context *ctx, const double *columns, int vectors, aggregation_level *level)
{
    const int64_t n = level->rows.nrows;
    const int block = (int)level->rows.first[1];

    level->most_height = block;
    level->vectors = columns ? vectors : block;
    assert_ok(ctx, tess_host_allocate(ctx, n * level->vectors, sizeof *level->near, (void **)&level->near));
    for (int64_t i = 0; i < n * level->vectors; i++) {
        const int64_t row = i / level->vectors, c = i % level->vectors;

        level->near[i] = columns ? columns[c * n + row] : (double)(row % block == c);
    }
}

/* columns NULL: constants */
static built build(tess_context *ctx, const char *problem, int block, const double *columns, int vectors)
{
    built b = {0};
    node_graph graph = {0};

    assert_ok(ctx, create_problem(ctx, problem, &b.matrix));
    assert_ok(ctx, host_csr_from_matrix(b.matrix, &b.a));
    assert_ok(ctx, node_rows_of_block(ctx, b.a.nrows, block, &b.level.rows));
    set_near(ctx, columns, vectors, &b.level);
    assert_ok(ctx, node_graph_of_matrix(ctx, &b.a, &b.level.rows, 0.0, &graph));
    assert_ok(ctx, aggregate_nodes(ctx, &graph, &b.level.aggregates));
    assert_ok(ctx, make_tentative(ctx, &b.level, &b.coarse_near));
    assert_ok(ctx, smoothed_pattern(ctx, &b.a, &b.level, &b.p));
    assert_ok(ctx, smoothed_values(ctx, &b.a, &b.level, &b.p));
    node_graph_release(ctx, &graph);
    return b;
}

static int64_t coarse_rows(const built *b)
{
    return b->level.coarse_first[b->level.aggregates.count];
}

static void discard_built(tess_context *ctx, built *b)
{
    aggregation_level *l = &b->level;

    tess_host_release(ctx, b->coarse_near, coarse_rows(b) * l->vectors, sizeof *b->coarse_near);
    tess_host_release(ctx, l->near, l->rows.nrows * l->vectors, sizeof *l->near);
    tess_host_release(ctx, l->tentative, l->rows.nrows * l->vectors, sizeof *l->tentative);
    tess_host_release(ctx, l->coarse_first, l->aggregates.count + 1, sizeof *l->coarse_first);
    aggregates_release(ctx, &l->aggregates);
    node_rows_release(ctx, &l->rows);
    host_csr_release(ctx, &b->p);
    host_csr_release(ctx, &b->a);
    tess_matrix_destroy(b->matrix);
}

/* ---- block sizes ---- */

static void check_block_size(tess_context *ctx, const char *problem, int expected)
{
    tess_matrix *matrix = NULL;
    host_csr a = {0};

    assert_ok(ctx, create_problem(ctx, problem, &matrix));
    assert_ok(ctx, host_csr_from_matrix(matrix, &a));
    assert_int_equal(find_block_size(&a), expected);
    host_csr_release(ctx, &a);
    tess_matrix_destroy(matrix);
}

static void block_sizes_follow_from_the_pattern(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_block_size(ctx, "elasticity3d 4", 3);
    check_block_size(ctx, "laplace3d 6", 1);
    check_block_size(ctx, "laplace3d27 6", 1);
    check_block_size(ctx, "laplace2d 7", 1);
    tess_context_destroy(ctx);
}

/* One row of a boundary condition in sixty does not hide the blocks; one in three does. */
static void some_groups_may_be_broken(void **state)
{
    oracle_csr a = generate_problem("elasticity3d 4", 1);

    (void)state;
    for (int every = 60; every >= 3; every -= 57) {
        oracle_csr b = oracle_open(a.nrows, a.ncols);
        host_csr view = {.nrows = a.nrows, .ncols = a.ncols};

        for (int64_t i = 0; i < a.nrows; i++) {
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                if (i % every != 0 || a.col_ind[k] == i) { oracle_push(&b, a.col_ind[k], a.val[k]); }
            }
            oracle_end_row(&b, i);
        }
        view.row_ptr = b.row_ptr;
        view.col_ind = b.col_ind;
        view.val = b.val;
        assert_int_equal(find_block_size(&view), every == 60 ? 3 : 1);
        oracle_free(&b);
    }
    oracle_free(&a);
}

/* Nodes that are held fixed, with their columns or without, do not hide those of the others, however many they are; a
   diagonal matrix has none. */
static void fixed_nodes_do_not_count(void **state)
{
    oracle_csr a = generate_problem("elasticity3d 4", 1);

    (void)state;
    for (int k = 0; k < 6; k++) {
        const int every = k / 2 == 0 ? 5 : k / 2 == 1 ? 2 : 1;
        const bool keeps_columns = k % 2;
        oracle_csr b = oracle_open(a.nrows, a.ncols);

        for (int64_t i = 0; i < a.nrows; i++) {
            for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
                const int32_t j = a.col_ind[e];
                const bool fixed = i / 3 % every == 0, to_fixed = j / 3 % every == 0;

                if (j == i || !(fixed || (to_fixed && !keeps_columns))) { oracle_push(&b, j, a.val[e]); }
            }
            oracle_end_row(&b, i);
        }
        const host_csr view = {
            .nrows = b.nrows, .ncols = b.ncols, .row_ptr = b.row_ptr, .col_ind = b.col_ind, .val = b.val};

        assert_int_equal(find_block_size(&view), every == 1 ? 1 : 3);
        oracle_free(&b);
    }
    oracle_free(&a);
}

/* ---- distant nodes and aggregates ---- */

/* Marks nodes up to `distance` edges from a node. */
static void mark_around(const node_graph *g, int64_t i, int distance, bool *mark)
{
    mark[i] = true;
    for (int64_t k = g->row_ptr[i]; distance > 0 && k < g->row_ptr[i + 1]; k++) {
        mark_around(g, g->col_ind[k], distance - 1, mark);
    }
}

static void check_distant_nodes(tess_context *ctx, const node_graph *g)
{
    bool *chosen = test_allocate(g->n, sizeof *chosen), *reached = test_allocate(g->n, sizeof *reached);

    assert_ok(ctx, choose_distant_nodes(ctx, g, chosen));
    memset(reached, 0, (size_t)g->n * sizeof *reached);
    for (int64_t i = 0; i < g->n; i++) {
        bool *mark = reached;

        if (!chosen[i]) { continue; }
        mark = test_allocate(g->n, sizeof *mark);
        memset(mark, 0, (size_t)g->n * sizeof *mark);
        mark_around(g, i, 2, mark);
        for (int64_t j = 0; j < g->n; j++) {
            assert_false(mark[j] && j != i && chosen[j]); /* far apart */
            reached[j] = reached[j] || mark[j];
        }
        free(mark);
    }
    for (int64_t i = 0; i < g->n; i++) { /* no other node could be added */
        assert_int_equal(reached[i], g->row_ptr[i] < g->row_ptr[i + 1]);
    }
    free(chosen);
    free(reached);
}

/* Each node with a neighbour has an aggregate that one of its neighbours is in too; each aggregate has such nodes. */
static void check_aggregates(tess_context *ctx, const node_graph *g)
{
    aggregates a = {0};
    int64_t *members = NULL;

    assert_ok(ctx, aggregate_nodes(ctx, g, &a));
    assert_int_equal(a.nodes, g->n);
    members = test_allocate(a.count + 1, sizeof *members);
    memset(members, 0, (size_t)(a.count + 1) * sizeof *members);
    for (int64_t i = 0; i < g->n; i++) {
        bool beside = false;

        assert_int_equal(a.of[i] < 0, g->row_ptr[i] == g->row_ptr[i + 1]);
        if (a.of[i] < 0) { continue; }
        assert_true(a.of[i] < a.count);
        members[a.of[i]] += 1;
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            beside = beside || a.of[g->col_ind[k]] == a.of[i];
        }
        assert_true(beside);
    }
    for (int64_t c = 0; c < a.count; c++) {
        assert_true(members[c] >= 2);
    }
    free(members);
    aggregates_release(ctx, &a);
}

static node_graph graph_of(tess_context *ctx, const oracle_csr *a, int block, double theta)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    host_csr host = {0};
    node_rows rows = {0};
    node_graph g = {0};

    assert_ok(ctx, host_csr_from_matrix(matrix, &host));
    assert_ok(ctx, node_rows_of_block(ctx, host.nrows, block, &rows));
    assert_ok(ctx, node_graph_of_matrix(ctx, &host, &rows, theta, &g));
    node_rows_release(ctx, &rows);
    host_csr_release(ctx, &host);
    tess_matrix_destroy(matrix);
    return g;
}

/* Stencils, blocks, a random pattern that is not symmetric, and a pattern with nodes that have no neighbour. */
static void aggregates_cover_all_nodes(void **state)
{
    oracle_csr problems[] = {generate_problem("laplace3d 9", 1), generate_problem("elasticity3d 5", 1),
                             oracle_random(400, 400, 3, 5), oracle_with_empty_rows(300)};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int p = 0; p < 4; p++) {
        node_graph g = graph_of(ctx, &problems[p], p == 1 ? 3 : 1, p == 0 ? 0.5 : 0.0);

        check_distant_nodes(ctx, &g);
        check_aggregates(ctx, &g);
        node_graph_release(ctx, &g);
        oracle_free(&problems[p]);
    }
    tess_context_destroy(ctx);
}

/*
 * Edges from 0.6 times the strongest of either row. -0.1 is weak: 0.1 < 0.6 * 0.2. -0.3 counts for row 3, whose
 * strongest is -0.2, and goes both ways, though its opposite is an explicit zero.
 */
static void strength_is_relative_to_the_strongest(void **state)
{
    static const double rows[4][4] = {{4, -1, -0.1, 0}, {-1, 4, 0, -0.3}, {0, 0, 4, -0.2}, {0, 0, -0.2, 4}};
    static const int64_t row_ptr[] = {0, 1, 3, 4, 6};
    static const int32_t columns[] = {1, 0, 3, 3, 1, 2};
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_open(4, 4);
    node_graph g = {0};

    (void)state;
    for (int64_t i = 0; i < 4; i++) {
        for (int64_t j = 0; j < 4; j++) {
            if (rows[i][j] != 0.0 || (i == 3 && j == 1)) { oracle_push(&a, j, rows[i][j]); }
        }
        oracle_end_row(&a, i);
    }
    g = graph_of(ctx, &a, 1, 0.6);
    assert_memory_equal(g.row_ptr, row_ptr, sizeof row_ptr);
    assert_memory_equal(g.col_ind, columns, sizeof columns);
    assert_true(g.weight[2] == g.weight[4]);
    node_graph_release(ctx, &g);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Large enough for all threads to work. */
static void nothing_depends_on_the_threads(void **state)
{
    tess_context *one = open_cpu(1), *four = open_cpu(4);
    built left = build(one, "elasticity3d 12", 3, NULL, 0), right = build(four, "elasticity3d 12", 3, NULL, 0);
    host_csr products[2] = {{0}, {0}};

    (void)state;
    assert_int_equal(left.level.aggregates.count, right.level.aggregates.count);
    assert_memory_equal(left.level.aggregates.of, right.level.aggregates.of,
                        (size_t)left.level.rows.count * sizeof(int32_t));
    assert_memory_equal(left.p.row_ptr, right.p.row_ptr, (size_t)(left.p.nrows + 1) * sizeof(int64_t));
    assert_memory_equal(left.p.col_ind, right.p.col_ind, (size_t)host_csr_nnz(&left.p) * sizeof(int32_t));
    assert_true(same_bits(left.p.val, right.p.val, host_csr_nnz(&left.p)));
    assert_ok(one, aggregation_product(one, &left.level, &left.a, &left.p, &products[0]));
    assert_ok(four, aggregation_product(four, &right.level, &right.a, &right.p, &products[1]));
    assert_true(same_bits(products[0].val, products[1].val, host_csr_nnz(&products[0])));
    host_csr_release(one, &products[0]);
    host_csr_release(four, &products[1]);
    discard_built(one, &left);
    discard_built(four, &right);
    tess_context_destroy(one);
    tess_context_destroy(four);
}

/* ---- the tentative prolongator ---- */

/* The aggregate of a row; -1: its node has none. */
static int32_t aggregate_of(const built *b, int64_t row)
{
    return b->level.aggregates.of[b->level.rows.node_of[row]];
}

/* (T R)_row,c */
static double reproduced(const built *b, int64_t row, int c)
{
    const int k = b->level.vectors;
    const int64_t first = b->level.coarse_first[aggregate_of(b, row)];
    const int64_t rank = b->level.coarse_first[aggregate_of(b, row) + 1] - first;
    double sum = 0.0;

    for (int64_t q = 0; q < rank; q++) {
        sum += b->level.tentative[row * k + q] * b->coarse_near[(first + q) * k + c];
    }
    return sum;
}

/* B = T R within the rounding of two passes of Gram-Schmidt over the longest aggregate. */
static void check_reproduction(const built *b)
{
    const int k = b->level.vectors;

    for (int64_t row = 0; row < b->level.rows.nrows; row++) {
        for (int c = 0; c < k && aggregate_of(b, row) >= 0; c++) {
            double norm = 0.0;

            for (int64_t i = 0; i < b->level.rows.nrows; i++) {
                if (aggregate_of(b, i) == aggregate_of(b, row)) { norm = fmax(norm, fabs(b->level.near[i * k + c])); }
            }
            assert_at_most(fabs(reproduced(b, row, c) - b->level.near[row * k + c]), 4096 * U64 * norm);
        }
    }
}

/* T^T T = I: columns of different aggregates share no row. */
static void check_orthonormal(const built *b)
{
    const int k = b->level.vectors;

    for (int64_t g = 0; g < b->level.aggregates.count; g++) {
        const int64_t rank = b->level.coarse_first[g + 1] - b->level.coarse_first[g];

        for (int64_t p = 0; p < rank; p++) {
            for (int64_t q = 0; q <= p; q++) {
                double sum = p == q ? -1.0 : 0.0;

                for (int64_t i = 0; i < b->level.rows.nrows; i++) {
                    const double *t = b->level.tentative + i * k;

                    if (aggregate_of(b, i) == g) { sum += t[p] * t[q]; }
                }
                assert_at_most(fabs(sum), 1024 * U64);
            }
        }
    }
}

static void tentative_prolongator_reproduces_vectors(void **state)
{
    tess_context *ctx = open_cpu(2);
    double *modes = elastic_modes(ctx, 5), *random = random_values(729 * 4, 3, -1.0, 1.0);
    built b[] = {build(ctx, "laplace3d 9", 1, NULL, 0), build(ctx, "elasticity3d 5", 3, NULL, 0),
                 build(ctx, "elasticity3d 5", 3, modes, 6), build(ctx, "laplace3d 9", 1, random, 4)};

    (void)state;
    for (int i = 0; i < 4; i++) {
        check_reproduction(&b[i]);
        check_orthonormal(&b[i]);
        assert_int_equal(coarse_rows(&b[i]), b[i].level.aggregates.count * b[i].level.vectors);
        discard_built(ctx, &b[i]);
    }
    free(modes);
    free(random);
    tess_context_destroy(ctx);
}

/* Columns that depend on others give no coarse unknowns, and are reproduced all the same. */
static void dependent_vectors_are_dropped(void **state)
{
    enum { N = 81 };
    tess_context *ctx = open_cpu(1);
    double *columns = test_allocate(N * 4, sizeof *columns);
    built b = {0};

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        columns[i] = 1.0;
        columns[N + i] = (double)i;
        columns[2 * N + i] = 3.0 - 2.0 * (double)i;
        columns[3 * N + i] = 0.0;
    }
    b = build(ctx, "laplace2d 9", 1, columns, 4);
    check_reproduction(&b);
    check_orthonormal(&b);
    assert_int_equal(coarse_rows(&b), 2 * b.level.aggregates.count);
    discard_built(ctx, &b);
    free(columns);
    tess_context_destroy(ctx);
}

/* ---- rigid-body modes ---- */

static void modes_are_orthonormal_and_free_of_energy(void **state)
{
    enum { K = 6, MODES = 6 };
    tess_context *ctx = open_cpu(2);
    oracle_csr a = generate_problem("elasticity3d 6", 1);
    double *modes = elastic_modes(ctx, K), *product = test_allocate(a.nrows, sizeof *product);
    const int64_t plane = 3 * (K + 1) * (K + 1); /* the first layer is coupled to the clamped face */

    (void)state;
    for (int p = 0; p < MODES; p++) {
        for (int q = 0; q <= p; q++) {
            double sum = p == q ? -1.0 : 0.0;

            for (int64_t i = 0; i < a.nrows; i++) {
                sum += modes[p * a.nrows + i] * modes[q * a.nrows + i];
            }
            assert_at_most(fabs(sum), 1024 * U64);
        }
        for (int64_t i = plane; i < a.nrows; i++) {
            double sum = 0.0, magnitude = 0.0;

            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                sum += a.val[k] * modes[p * a.nrows + a.col_ind[k]];
                magnitude += fabs(a.val[k] * modes[p * a.nrows + a.col_ind[k]]);
            }
            assert_at_most(fabs(sum), 4096 * U64 * magnitude + 4096 * U64 * fabs(a.val[a.row_ptr[i]]));
        }
    }
    free(product);
    free(modes);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Two dimensions; nodes in a line, one of whose rotations depends on nothing it moves; bad input. */
static void modes_of_special_bodies(void **state)
{
    static const double square[] = {0, 1, 0, 1, 0, 0, 1, 1};
    double line[9] = {0, 1, 2, 5, 5, 5, 7, 7, 7}, modes[9 * 6];
    tess_context *ctx = open_cpu(1);

    (void)state;
    assert_ok(ctx, tess_rigid_body_modes(ctx, 4, 2, square, modes));
    for (int i = 0; i < 8; i++) {
        /* the rotation about the centre: (-(y - 1/2), x - 1/2) over sqrt(2) */
        const double expected = (i % 2 == 0 ? 0.5 - square[4 + i / 2] : square[i / 2] - 0.5) / sqrt(2.0);

        assert_at_most(fabs(modes[i] - (i % 2 == 0 ? 0.5 : 0.0)), 8 * U64);
        assert_at_most(fabs(modes[16 + i] - expected), 8 * U64);
    }
    assert_ok(ctx, tess_rigid_body_modes(ctx, 3, 3, line, modes));
    for (int i = 0; i < 9; i++) {
        assert_true(modes[4 * 9 + i] == 0.0); /* about the line's own axis */
    }
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_rigid_body_modes(ctx, 3, 4, line, modes));
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_rigid_body_modes(ctx, 3, 2, line + 3, modes)); /* all at (5, 7) */
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "one point"));
    line[4] = NAN;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_rigid_body_modes(ctx, 3, 3, line, modes));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "node 2"));
    tess_context_destroy(ctx);
}

/* ---- smoothing and products ---- */

/* P R = B - omega D^-1 A B: where A B is zero, P represents B exactly. */
static void smoothing_keeps_what_costs_no_energy(void **state)
{
    enum { K = 6 };
    tess_context *ctx = open_cpu(2);
    double *modes = elastic_modes(ctx, K);
    built b = build(ctx, "elasticity3d 6", 3, modes, 6);

    (void)state;
    for (int64_t i = 3 * (K + 1) * (K + 1); i < b.a.nrows; i++) {
        for (int c = 0; c < 6; c++) {
            double sum = 0.0;

            for (int64_t k = b.p.row_ptr[i]; k < b.p.row_ptr[i + 1]; k++) {
                sum += b.p.val[k] * b.coarse_near[b.p.col_ind[k] * 6 + c];
            }
            assert_at_most(fabs(sum - modes[c * b.a.nrows + i]), 1e-12); /* the blocks' contrast is 1e3 */
        }
    }
    discard_built(ctx, &b);
    free(modes);
    tess_context_destroy(ctx);
}

/* The pattern of P^T A P, and its values within rounding; again on the same pattern with the same bits. */
static void check_product(tess_context *ctx, const built *b)
{
    host_csr r = {0}, ap = {0}, expected = {0}, c = {0};
    double *first = NULL, largest = 0.0;

    assert_ok(ctx, host_csr_transpose(ctx, &b->p, &r));
    assert_ok(ctx, host_csr_multiply(ctx, &b->a, &b->p, true, &ap));
    assert_ok(ctx, host_csr_multiply(ctx, &r, &ap, true, &expected));
    assert_ok(ctx, aggregation_product(ctx, &b->level, &b->a, &b->p, &c));
    assert_memory_equal(c.row_ptr, expected.row_ptr, (size_t)(c.nrows + 1) * sizeof *c.row_ptr);
    assert_memory_equal(c.col_ind, expected.col_ind, (size_t)host_csr_nnz(&c) * sizeof *c.col_ind);
    for (int64_t k = 0; k < host_csr_nnz(&c); k++) {
        largest = fmax(largest, fabs(expected.val[k]));
    }
    for (int64_t k = 0; k < host_csr_nnz(&c); k++) {
        assert_at_most(fabs(c.val[k] - expected.val[k]), 4096 * U64 * largest);
    }
    first = test_allocate(host_csr_nnz(&c), sizeof *first);
    memcpy(first, c.val, (size_t)host_csr_nnz(&c) * sizeof *first);
    memset(c.val, 0, (size_t)host_csr_nnz(&c) * sizeof *first);
    assert_ok(ctx, aggregation_product(ctx, &b->level, &b->a, &b->p, &c));
    assert_true(same_bits(first, c.val, host_csr_nnz(&c)));
    free(first);
    host_csr_release(ctx, &r);
    host_csr_release(ctx, &ap);
    host_csr_release(ctx, &expected);
    host_csr_release(ctx, &c);
}

/* Widths 1, 3 and 6, another one, and different ones: vectors that are equal on some aggregates. */
static void products_by_nodes_are_those_of_matrices(void **state)
{
    tess_context *ctx = open_cpu(2);
    double *modes = elastic_modes(ctx, 5), *random = random_values(729 * 4, 3, -1.0, 1.0);
    built b[] = {build(ctx, "laplace3d 9", 1, NULL, 0),
                 build(ctx, "elasticity3d 5", 3, NULL, 0),
                 build(ctx, "elasticity3d 5", 3, modes, 6),
                 build(ctx, "laplace3d 9", 1, random, 4),
                 {0}};

    (void)state;
    for (int64_t i = 0; i < 729; i++) {
        if (i % 729 > 300) { random[729 + i] = random[i]; } /* dependent on some aggregates only */
    }
    b[4] = build(ctx, "laplace3d 9", 1, random, 2);
    assert_true(coarse_rows(&b[4]) < 2 * b[4].level.aggregates.count);
    assert_true(coarse_rows(&b[4]) > b[4].level.aggregates.count);
    for (int i = 0; i < 5; i++) {
        check_product(ctx, &b[i]);
        discard_built(ctx, &b[i]);
    }
    free(modes);
    free(random);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_sizes_follow_from_the_pattern),
        cmocka_unit_test(some_groups_may_be_broken),
        cmocka_unit_test(fixed_nodes_do_not_count),
        cmocka_unit_test(aggregates_cover_all_nodes),
        cmocka_unit_test(strength_is_relative_to_the_strongest),
        cmocka_unit_test(nothing_depends_on_the_threads),
        cmocka_unit_test(tentative_prolongator_reproduces_vectors),
        cmocka_unit_test(dependent_vectors_are_dropped),
        cmocka_unit_test(modes_are_orthonormal_and_free_of_energy),
        cmocka_unit_test(modes_of_special_bodies),
        cmocka_unit_test(smoothing_keeps_what_costs_no_energy),
        cmocka_unit_test(products_by_nodes_are_those_of_matrices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
