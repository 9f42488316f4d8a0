/* SPDX-License-Identifier: Apache-2.0 */
/* Block Jacobi as the smoother of multigrid: nodes of one size and of several, new values, singular blocks. */
#include "support/elastic.h"
#include "support/multigrid.h"

/* Nodes to each side of an elastic body. */
static int64_t body_size(void)
{
    return on_gpu_or_emulated(6, 3);
}

/* A body with inclusions, its rigid-body modes, and amg by blocks. */
typedef struct body {
    tess_context *ctx;
    oracle_csr a;
    double *modes;
    tess_precond_options options;
} body;

static body open_body(int64_t size, int threads)
{
    char request[32];
    body b = {.ctx = open_device(threads), .options = amg_options(TESS_AMG_PRECISION_AUTO)};

    (void)snprintf(request, sizeof request, "elasticity3d %d", (int)size);
    b.a = generate_problem(request, 2);
    b.modes = elastic_modes(b.ctx, size);
    b.options.amg.coarsening = TESS_AMG_AUTO;
    b.options.amg.smoother = TESS_AMG_BLOCK_JACOBI;
    b.options.amg.near_nullspace = b.modes;
    b.options.amg.near_nullspace_columns = 6;
    b.options.amg.coarsest = 40; /* so that there are levels */
    return b;
}

static void close_body(body *b)
{
    free(b->modes);
    oracle_free(&b->a);
    tess_context_destroy(b->ctx);
}

static tess_solve_result solve_body(const body *b, tess_solver_kind solver)
{
    tess_solve_options options = amg_solve(solver);

    options.precond = b->options;
    return solve_random(&b->a, &options, false);
}

/* ---- iterations ---- */

/* Blocks see how the displacements of a node depend on each other. */
static void blocks_take_fewer_iterations(void **state)
{
    static const tess_amg_smoother others[] = {TESS_AMG_L1_JACOBI, TESS_AMG_JACOBI, TESS_AMG_CHEBYSHEV};
    body b = open_body(body_size(), 2);
    const tess_solve_result blocks = solve_body(&b, TESS_SOLVER_CG);

    (void)state;
    assert_true(blocks.converged && !blocks.escalated);
    for (int k = 0; k < 3; k++) {
        tess_solve_result other;

        b.options.amg.smoother = others[k];
        other = solve_body(&b, TESS_SOLVER_CG);
        assert_true(other.converged);
        assert_true(blocks.iterations < other.iterations);
    }
    close_body(&b);
}

static void each_cycle_and_degree_converges(void **state)
{
    body b = open_body(on_gpu_or_emulated(4, 3), 2);

    (void)state;
    for (int cycle = 0; cycle < 3; cycle++) {
        for (int degree = 1; degree <= 4; degree++) {
            tess_solve_result result;

            b.options.amg.cycle = (tess_amg_cycle)cycle;
            b.options.amg.degree = degree;
            result = solve_body(&b, cycle == TESS_AMG_K ? TESS_SOLVER_FGMRES : TESS_SOLVER_CG);
            assert_true(result.converged && !result.escalated);
        }
    }
    close_body(&b);
}

/* Without nodes the blocks have one row: the polynomial of the matrix scaled by its diagonal. */
static void unknowns_without_nodes_are_blocks_of_their_own(void **state)
{
    tess_solve_options options = amg_solve(TESS_SOLVER_CG);
    const char *const problem = sized("laplace2d 60", "laplace2d 14");
    const tess_solve_result polynomial = solve_problem(problem, &options);
    tess_solve_result blocks;

    (void)state;
    options.precond.amg.smoother = TESS_AMG_BLOCK_JACOBI;
    for (int c = TESS_AMG_CLASSICAL; c <= TESS_AMG_PLAIN; c++) {
        options.precond.amg.coarsening = (tess_amg_coarsening)c;
        blocks = solve_problem(problem, &options);
        assert_true(blocks.converged && !blocks.escalated);
        if (c == TESS_AMG_CLASSICAL) { assert_true(blocks.iterations <= polynomial.iterations + 1); }
    }
}

/* ---- symmetry ---- */

/* (M x, y) against (x, M y), and whether (M x, x) is positive. */
static double asymmetry(tess_context *ctx, const oracle_csr *a, const tess_precond_options *options, bool *positive)
{
    const int64_t n = a->nrows;
    double *x = random_values(n, 3, -1.0, 1.0), *y = random_values(n, 4, -1.0, 1.0);
    double *mx = test_allocate(n, sizeof *mx), *my = test_allocate(n, sizeof *my), gap = 0.0;
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;

    assert_ok(ctx, tess_precond_create(matrix, options, &m));
    apply_precond(m, n, x, mx);
    apply_precond(m, n, y, my);
    gap = fabs((double)(oracle_dot(mx, y, n) - oracle_dot(x, my, n)));
    gap /= sqrt((double)(oracle_dot(mx, mx, n) * oracle_dot(y, y, n)));
    *positive = oracle_dot(mx, x, n) > 0.0;
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    free(x);
    free(y);
    free(mx);
    free(my);
    return gap;
}

/* Some ten products and sums of rows of up to 81 entries; blocks of inclusions have condition numbers of about 10. */
#define ROUNDING 1e4

static void applications_are_symmetric(void **state)
{
    body b = open_body(on_gpu_or_emulated(4, 3), 2);

    (void)state;
    for (int c = 0; c < 4; c++) {
        bool positive = false;

        b.options.amg.precision = c % 2 ? TESS_AMG_PRECISION_FP64 : TESS_AMG_PRECISION_FP16;
        b.options.amg.degree = c & 2 ? 3 : 1;
        assert_at_most(asymmetry(b.ctx, &b.a, &b.options, &positive), ROUNDING * (c % 2 ? U64 : 0x1p-24));
        assert_true(positive);
    }
    close_body(&b);
}

static void threads_do_not_change_bits(void **state)
{
    double *z[2] = {NULL, NULL}, *r = NULL;
    int64_t n = 0;

    (void)state;
    for (int k = 0; k < 2; k++) {
        body b = open_body(4, k == 0 ? 1 : 3);
        tess_matrix *matrix = make_matrix(b.ctx, &b.a);
        tess_precond *m = NULL;

        n = b.a.nrows;
        z[k] = test_allocate(n, sizeof *z[k]);
        if (!r) { r = random_values(n, 3, -1.0, 1.0); }
        assert_ok(b.ctx, tess_precond_create(matrix, &b.options, &m));
        apply_precond(m, n, r, z[k]);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        close_body(&b);
    }
    assert_true(same_bits(z[0], z[1], n));
    free(z[0]);
    free(z[1]);
    free(r);
}

/* ---- nodes ---- */

/* The first vector is zero on a quarter of the rows, the second on half of them: coarse nodes have 0, 1 or 2 unknowns.
 */
static void nodes_differ_in_size(void **state)
{
    tess_solve_options options = amg_solve(TESS_SOLVER_CG);
    oracle_csr a = generate_problem("laplace2d 24", 2);
    double *near = test_allocate(2 * a.nrows, sizeof *near);
    tess_solve_result result;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        near[i] = i < a.nrows / 4 ? 0.0 : 1.0;
        near[a.nrows + i] = i < a.nrows / 2 ? 0.0 : (double)i;
    }
    options.precond.amg.coarsening = TESS_AMG_AGGREGATION;
    options.precond.amg.smoother = TESS_AMG_BLOCK_JACOBI;
    options.precond.amg.near_nullspace = near;
    options.precond.amg.near_nullspace_columns = 2;
    options.precond.amg.coarsest = 10;
    result = solve_random(&a, &options, false);
    assert_true(result.converged && !result.escalated);
    free(near);
    oracle_free(&a);
}

/* The unknowns of node `broken` couple to each other by ones, a singular block; other nodes have [2, 1; 1, 2] for each
   coupling of a grid. */
static oracle_csr with_singular_block(int64_t side, int64_t broken)
{
    oracle_csr grid = oracle_laplace2d(side), a = oracle_open(2 * grid.nrows, 2 * grid.nrows);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = grid.row_ptr[i / 2]; k < grid.row_ptr[i / 2 + 1]; k++) {
            const bool singular = i / 2 == broken && grid.col_ind[k] == broken;

            for (int64_t c = 0; c < 2; c++) {
                oracle_push(&a, 2 * grid.col_ind[k] + c, singular ? 8.0 : grid.val[k] * (c == i % 2 ? 2.0 : 1.0));
            }
        }
        oracle_end_row(&a, i);
    }
    oracle_free(&grid);
    return a;
}

/* The unknowns of its node are scaled one by one. The matrix is indefinite, but M stays symmetric. */
static void singular_blocks_are_scaled_by_their_diagonal(void **state)
{
    tess_solve_options options = amg_solve(TESS_SOLVER_FGMRES);
    oracle_csr a = with_singular_block(12, 50);
    tess_context *ctx = open_device(2);
    tess_solve_result result;
    bool positive = false;

    (void)state;
    options.precond.amg.coarsening = TESS_AMG_AUTO;
    options.precond.amg.smoother = TESS_AMG_BLOCK_JACOBI;
    options.precond.amg.coarsest = 20;
    options.precond.amg.precision = TESS_AMG_PRECISION_FP64; /* no other one comes to help */
    result = solve_random(&a, &options, false);
    assert_true(result.converged);
    assert_at_most(asymmetry(ctx, &a, &options.precond, &positive), ROUNDING * U64);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- new values ---- */

/* The blocks are renewed too: the same bits as of a new set-up. */
static void new_values_have_new_blocks(void **state)
{
    body b = open_body(on_gpu_or_emulated(5, 3), 2);
    const int64_t n = b.a.nrows;
    double *r = random_values(n, 9, -1.0, 1.0), *renewed = test_allocate(n, sizeof *r),
           *made = test_allocate(n, sizeof *r);
    tess_matrix *matrix = make_matrix(b.ctx, &b.a);
    tess_precond *m = NULL, *fresh = NULL;

    (void)state;
    b.options.amg.precision = TESS_AMG_PRECISION_FP64;
    assert_ok(b.ctx, tess_precond_create(matrix, &b.options, &m));
    for (int64_t i = 0; i < n; i++) { /* the diagonal grows: strengths and aggregates stay as they are */
        for (int64_t k = b.a.row_ptr[i]; k < b.a.row_ptr[i + 1]; k++) {
            if (b.a.col_ind[k] == i) { b.a.val[k] *= 1.5; }
        }
    }
    assert_ok(b.ctx, tess_matrix_update_values(matrix, b.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(b.ctx, tess_precond_update(m));
    assert_ok(b.ctx, tess_precond_create(matrix, &b.options, &fresh));
    apply_precond(m, n, r, renewed);
    apply_precond(fresh, n, r, made);
    assert_true(same_bits(renewed, made, n));
    tess_precond_destroy(m);
    tess_precond_destroy(fresh);
    tess_matrix_destroy(matrix);
    free(r);
    free(renewed);
    free(made);
    close_body(&b);
}

#define MULTIGRID_BLOCKS_TESTS                                                                                  \
    cmocka_unit_test(blocks_take_fewer_iterations), cmocka_unit_test(each_cycle_and_degree_converges),          \
        cmocka_unit_test(unknowns_without_nodes_are_blocks_of_their_own),                                       \
        cmocka_unit_test(applications_are_symmetric), cmocka_unit_test(threads_do_not_change_bits),             \
        cmocka_unit_test(nodes_differ_in_size), cmocka_unit_test(singular_blocks_are_scaled_by_their_diagonal), \
        cmocka_unit_test(new_values_have_new_blocks)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {MULTIGRID_BLOCKS_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
