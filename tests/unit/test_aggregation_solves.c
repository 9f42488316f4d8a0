/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with multigrid by aggregation: iterations, what auto chooses, new values, what is refused. */
#include "support/elastic.h"
#include "support/gallery.h"
#include "support/solve.h"

static tess_solve_options aggregation_solve(tess_amg_coarsening coarsening)
{
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    options.rtol = 1e-8;
    options.precond.kind = TESS_PRECOND_AMG;
    options.precond.amg.coarsening = coarsening;
    return options;
}

static tess_amg_levels levels_of(tess_context *ctx, const char *problem, const tess_precond_options *options)
{
    tess_amg_levels levels = {.size = sizeof levels};
    tess_matrix *a = NULL;
    tess_precond *m = NULL;

    assert_ok(ctx, create_problem(ctx, problem, &a));
    assert_ok(ctx, tess_precond_create(a, options, &m));
    assert_ok(ctx, tess_precond_get_levels(m, &levels));
    tess_precond_destroy(m);
    tess_matrix_destroy(a);
    return levels;
}

#ifndef TESTS_ON_GPU
/* Iterations for b = 1, which must converge and be honest. */
static int64_t iterations_of(const char *problem, const tess_solve_options *options)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = generate_problem(problem, 2);
    double *b = test_allocate(a.nrows, sizeof *b), *x = test_allocate(a.nrows, sizeof *x);
    tess_solve_result result;

    for (int64_t i = 0; i < a.nrows; i++) {
        b[i] = 1.0;
        x[i] = 0.0;
    }
    result = solve_once(ctx, &a, options, b, x);
    check_honest(&a, b, x, options, &result);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    free(b);
    free(x);
    oracle_free(&a);
    tess_context_destroy(ctx);
    return result.iterations;
}

/* ---- iterations ---- */

/* At most so many as PyAMG 5.4.1 took, plus two: bench/pyamg_iterations.py, docs/results/multigrid.md. */
static void iterations_are_those_of_pyamg(void **state)
{
    enum { K = 8, MORE = 2 };
    tess_context *ctx = open_cpu(1);
    double *modes = elastic_modes(ctx, K);
    tess_solve_options options = aggregation_solve(TESS_AMG_AGGREGATION);

    (void)state;
    assert_at_most((double)iterations_of("laplace3d 24", &options), 8 + MORE);
    options.precond.amg.near_nullspace = modes;
    options.precond.amg.near_nullspace_columns = 6;
    options.precond.amg.block_size = 3;
    options.precond.amg.strength = 0.5; /* inclusions a thousand times as stiff */
    assert_at_most((double)iterations_of("elasticity3d 8", &options), 55 + MORE);
    free(modes);
    tess_context_destroy(ctx);
}

/* Rigid-body modes take fewer iterations than constants, by a third or more. */
static void modes_take_fewer_iterations(void **state)
{
    enum { K = 12 };
    tess_context *ctx = open_cpu(1);
    double *modes = elastic_modes(ctx, K);
    tess_solve_options options = aggregation_solve(TESS_AMG_AUTO);
    const int64_t constants = iterations_of("elasticity3d 12", &options);

    (void)state;
    options.precond.amg.near_nullspace = modes;
    options.precond.amg.near_nullspace_columns = 6;
    assert_at_most(1.5 * (double)iterations_of("elasticity3d 12", &options), (double)constants);
    free(modes);
    tess_context_destroy(ctx);
}

#endif

/* ---- what auto takes ---- */

static void auto_takes_aggregation_for_systems(void **state)
{
    tess_context *ctx = open_device(2);
    tess_precond_options options;
    double *ones = test_allocate(1000, sizeof *ones);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        ones[i] = 1.0;
    }
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    assert_int_equal(levels_of(ctx, "laplace3d 10", &options).coarsening, TESS_AMG_CLASSICAL);
    assert_int_equal(levels_of(ctx, "elasticity3d 5", &options).coarsening, TESS_AMG_AGGREGATION);
    options.amg.block_size = 1;
    assert_int_equal(levels_of(ctx, "elasticity3d 5", &options).coarsening, TESS_AMG_CLASSICAL);
    options.amg.block_size = 2;
    assert_int_equal(levels_of(ctx, "laplace3d 10", &options).coarsening, TESS_AMG_AGGREGATION);
    options.amg.block_size = 0;
    options.amg.near_nullspace = ones;
    options.amg.near_nullspace_columns = 1;
    assert_int_equal(levels_of(ctx, "laplace3d 10", &options).coarsening, TESS_AMG_AGGREGATION);
    free(ones);
    tess_context_destroy(ctx);
}

/* ---- hierarchies ---- */

/* Nodes without neighbours, and a matrix of such nodes alone, have no aggregates and still a solution. */
static void isolated_unknowns_are_solved(void **state)
{
    tess_solve_options options = aggregation_solve(TESS_AMG_AGGREGATION);
    oracle_csr a = oracle_laplace2d(20), mixed = oracle_open(500, 500);
    double values[500], *b = random_values(500, 3, -1.0, 1.0), x[500] = {0};
    tess_context *ctx = open_device(2);
    tess_solve_result result;

    (void)state;
    for (int64_t i = 0; i < 500; i++) {
        for (int64_t k = i < 400 ? a.row_ptr[i] : 0; i < 400 && k < a.row_ptr[i + 1]; k++) {
            oracle_push(&mixed, a.col_ind[k], a.val[k]);
        }
        if (i >= 400) { oracle_push(&mixed, i, (double)i); }
        oracle_end_row(&mixed, i);
        values[i] = (double)(i + 1);
    }
    options.precond.amg.coarsest = 10;
    result = solve_once(ctx, &mixed, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(&mixed, b, x, &options, &result);
    oracle_free(&mixed);
    mixed = oracle_diagonal(500, values);
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &mixed, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(&mixed, b, x, &options, &result);
    oracle_free(&mixed);
    oracle_free(&a);
    free(b);
    tess_context_destroy(ctx);
}

/* New values on the pattern: the same as a preconditioner made for them. */
static void new_values_are_those_of_a_new_set_up(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = generate_problem("elasticity3d 6", 1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double *r = random_values(a.nrows, 9, -1.0, 1.0), *z[2] = {NULL, NULL};
    tess_vector *in = make_vector(ctx, a.nrows, r), *out = make_zeros(ctx, a.nrows);
    tess_precond_options options;
    tess_precond *renewed = NULL, *fresh = NULL;

    (void)state;
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg.precision = TESS_AMG_PRECISION_FP64;
    options.amg.coarsest = 50;
    assert_ok(ctx, tess_precond_create(matrix, &options, &renewed));
    for (int64_t i = 0; i < a.nrows; i++) { /* the diagonal grows: strengths and aggregates stay as they are */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] *= 1.5; }
        }
    }
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(renewed));
    assert_ok(ctx, tess_precond_create(matrix, &options, &fresh));
    for (int i = 0; i < 2; i++) {
        z[i] = test_allocate(a.nrows, sizeof *z[i]);
        assert_ok(ctx, tess_precond_apply(i == 0 ? renewed : fresh, in, out));
        read_vector(out, z[i]);
    }
    assert_true(same_bits(z[0], z[1], a.nrows));
    for (int i = 0; i < 2; i++) {
        free(z[i]);
    }
    free(r);
    tess_precond_destroy(renewed);
    tess_precond_destroy(fresh);
    tess_vector_destroy(in);
    tess_vector_destroy(out);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void refused(tess_context *ctx, const tess_matrix *a, const tess_precond_options *options, const char *word)
{
    tess_precond *m = NULL;

    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(a, options, &m));
    assert_null(m);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, word));
}

static void bad_options_are_refused(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_laplace2d(5);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options;
    double near[25] = {0};

    (void)state;
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg.block_size = 2; /* 25 rows */
    refused(ctx, matrix, &options, "--amg-block-size");
    options.amg.block_size = 7;
    refused(ctx, matrix, &options, "--amg-block-size");
    options.amg.block_size = 0;
    options.amg.near_nullspace = near;
    refused(ctx, matrix, &options, "near_nullspace");
    options.amg.near_nullspace_columns = TESS_MAX_NEAR_NULLSPACE + 1;
    refused(ctx, matrix, &options, "has 17 vectors, but amg takes 16 at most");
    options.amg.near_nullspace = NULL;
    options.amg.near_nullspace_columns = 1;
    refused(ctx, matrix, &options, "near_nullspace");
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* A near-nullspace is a space: the length of its vectors says nothing, and zeros add nothing. */
static void lengths_of_vectors_do_not_matter(void **state)
{
    static const double lengths[] = {1.0, 1e170, 1e-170, 1e-310, 1e300};
    enum { N = 1000, COLUMNS = 3 };
    tess_context *ctx = open_device(2);
    double *near = test_allocate(COLUMNS * N, sizeof *near);
    tess_precond_options options;
    tess_amg_levels first = {.size = sizeof first};

    (void)state;
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg.near_nullspace = near;
    options.amg.near_nullspace_columns = COLUMNS;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        for (int i = 0; i < N; i++) {
            near[i] = 0.0;
            near[N + i] = lengths[k];
            near[2 * N + i] = lengths[sizeof lengths / sizeof *lengths - 1 - k] * i / N;
        }
        const tess_amg_levels levels = levels_of(ctx, "laplace3d 10", &options);

        if (k == 0) { first = levels; }
        assert_int_equal(levels.coarsening, TESS_AMG_AGGREGATION);
        assert_int_equal(levels.count, first.count);
        assert_true(levels.count > 1);
        for (int l = 0; l < levels.count; l++) {
            assert_int_equal(levels.level[l].rows, first.level[l].rows);
        }
    }
    free(near);
    tess_context_destroy(ctx);
}

static void vectors_that_are_none_are_refused(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_laplace2d(5);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options;
    double near[2 * 25] = {0};

    (void)state;
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg.near_nullspace = near;
    options.amg.near_nullspace_columns = 2;
    refused(ctx, matrix, &options, "the near-nullspace is zero");
    near[0] = 1.0;
    near[30] = NAN;
    refused(ctx, matrix, &options, "column 2 of the near-nullspace has NaN or Inf");
    near[30] = -INFINITY;
    refused(ctx, matrix, &options, "column 2 of the near-nullspace has NaN or Inf");
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Blocks and vectors belong to the rows of the matrix: a solve that changes their order or scale refuses them. */
static void other_orders_are_refused(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = generate_problem("elasticity3d 3", 1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_solve_options options = aggregation_solve(TESS_AMG_AGGREGATION);
    tess_solver *solver = NULL;

    (void)state;
    options.precond.amg.block_size = 3;
    options.reorder = TESS_REORDERING_RCM;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(matrix, &options, &solver));
    options.reorder = TESS_REORDERING_NONE;
    options.scale = TESS_SCALING_SYMMETRIC;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(matrix, &options, &solver));
    options.precond.amg.block_size = 0;
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

#define AGGREGATION_TESTS                                                                                  \
    cmocka_unit_test(auto_takes_aggregation_for_systems), cmocka_unit_test(isolated_unknowns_are_solved),  \
        cmocka_unit_test(new_values_are_those_of_a_new_set_up), cmocka_unit_test(bad_options_are_refused), \
        cmocka_unit_test(other_orders_are_refused), cmocka_unit_test(lengths_of_vectors_do_not_matter),    \
        cmocka_unit_test(vectors_that_are_none_are_refused)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(iterations_are_those_of_pyamg),
                                       cmocka_unit_test(modes_take_fewer_iterations), AGGREGATION_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
