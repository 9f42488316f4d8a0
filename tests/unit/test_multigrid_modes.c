/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Near-null vectors that the set-up of multigrid finds. tests/gpu/test_multigrid_modes.c runs the tests of MODES_TESTS
 * in a context of a GPU.
 */
#include "support/elastic.h"
#include "support/gallery.h"
#include "support/solve.h"

static tess_solve_options modes_solve(int modes)
{
    tess_solve_options o = solve_options(TESS_SOLVER_CG);

    o.rtol = 1e-8;
    o.precond.kind = TESS_PRECOND_AMG;
    o.precond.amg.coarsening = TESS_AMG_AGGREGATION;
    o.precond.amg.modes = modes;
    return o;
}

/* A solve for b = 1, which must converge and be honest; *found: vectors. */
static int64_t iterations_of(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options, int *found)
{
    double *b = test_allocate(a->nrows, sizeof *b), *x = test_allocate(a->nrows, sizeof *x);
    tess_amg_levels levels = {.size = sizeof levels};
    tess_matrix *m = make_matrix(ctx, a);
    tess_solver *solver = NULL;
    tess_solve_result r;

    for (int64_t i = 0; i < a->nrows; i++) {
        b[i] = 1.0;
        x[i] = 0.0;
    }
    assert_ok(ctx, tess_solver_create(m, options, &solver));
    r = solve_with(solver, ctx, a->nrows, b, x);
    assert_int_equal(r.reason, TESS_REASON_RTOL);
    check_honest(a, b, x, options, &r);
    assert_ok(ctx, tess_precond_get_levels(tess_solver_precond(solver), &levels));
    *found = levels.modes;
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    free(b);
    free(x);
    return r.iterations;
}

/* Rows and columns times numbers from 1/8 to 8 in no order: constants are no longer what smoothers leave. */
static oracle_csr make_scaled(void)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(48, 28));

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= ldexp(1.0, oracle_power(i, 3) + oracle_power(a.col_ind[k], 3));
        }
    }
    return a;
}

static void a_scaled_problem_takes_fewer_iterations(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_scaled();
    const tess_solve_options without = modes_solve(0), with = modes_solve(1);
    int found = 0;
    const double before = (double)iterations_of(ctx, &a, &without, &found);

    (void)state;
    assert_int_equal(found, 0);
    assert_at_most((double)iterations_of(ctx, &a, &with, &found), 0.6 * before);
    assert_int_equal(found, 1);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Six vectors beside the constants do as well as the rigid-body modes, within 1.3. */
static void an_elastic_body_needs_no_coordinates(void **state)
{
    const int64_t k = on_gpu_or_emulated(12, 6);
    tess_context *ctx = open_device(2);
    char name[32];
    double *rigid = elastic_modes(ctx, k);
    tess_solve_options given = modes_solve(0), found_by_cycles = modes_solve(6);
    oracle_csr a;
    int found = 0;
    double by_coordinates = 0.0;

    (void)state;
    snprintf(name, sizeof name, "elasticity3d %d", (int)k);
    a = generate_problem(name, 2);
    given.precond.amg.near_nullspace = rigid;
    given.precond.amg.near_nullspace_columns = 6;
    given.precond.amg.block_size = 3;
    by_coordinates = (double)iterations_of(ctx, &a, &given, &found);
    assert_at_most((double)iterations_of(ctx, &a, &found_by_cycles, &found), 1.3 * by_coordinates);
    assert_int_equal(found, 6);
    oracle_free(&a);
    free(rigid);
    tess_context_destroy(ctx);
}

/* A cycle that leaves nothing needs no vectors; an indefinite matrix gives none. */
static void vectors_are_found_where_they_are_missing(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(40, 28));
    tess_amg_levels levels = {.size = sizeof levels};
    tess_solve_options o = modes_solve(6);
    tess_matrix *m = NULL;
    tess_precond *precond = NULL;
    int found = 0;

    (void)state;
    (void)iterations_of(ctx, &a, &o, &found);
    assert_int_equal(found, 0);
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i && i % 2) { a.val[k] = -a.val[k]; }
        }
    }
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_precond_create(m, &o.precond, &precond));
    assert_ok(ctx, tess_precond_get_levels(precond, &levels));
    assert_ok(ctx, tess_precond_get_levels(precond, &levels));
    assert_int_equal(levels.modes, 0);
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* A Laplacian and a skew part that CG does not break down on. */
static oracle_csr make_skewed(void)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(40, 28));

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] += a.col_ind[k] > i ? 0.1 : a.col_ind[k] < i ? -0.1 : 0.0;
        }
    }
    return a;
}

/* -A has the vectors of A. An unsymmetric matrix has none, and `auto` chooses as without the wish. */
static void signs_and_symmetry_matter(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_scaled(), b = make_skewed();
    tess_solve_options o = modes_solve(1);
    tess_amg_levels levels = {.size = sizeof levels}, plain = {.size = sizeof plain};
    tess_matrix *m = make_matrix(ctx, &b);
    tess_precond *precond = NULL;
    int found = 0;
    const int64_t before = iterations_of(ctx, &a, &o, &found);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = -a.val[k];
    }
    assert_true(llabs((long long)(iterations_of(ctx, &a, &o, &found) - before)) <= 1);
    assert_int_equal(found, 1);
    o.precond.amg.coarsening = TESS_AMG_AUTO;
    assert_ok(ctx, tess_precond_create(m, &o.precond, &precond));
    assert_ok(ctx, tess_precond_get_levels(precond, &levels));
    tess_precond_destroy(precond);
    o.precond.amg.modes = 0;
    assert_ok(ctx, tess_precond_create(m, &o.precond, &precond));
    assert_ok(ctx, tess_precond_get_levels(precond, &plain));
    assert_int_equal(levels.modes, 0);
    assert_int_equal(levels.coarsening, plain.coarsening);
    assert_int_equal(levels.count, plain.count);
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    oracle_free(&a);
    oracle_free(&b);
    tess_context_destroy(ctx);
}

/* New values keep the vectors: the same numbers times a power of two give the same bits. */
static void new_values_keep_them(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_scaled();
    const tess_solve_options o = modes_solve(2);
    tess_amg_levels levels = {.size = sizeof levels};
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *precond = NULL;
    double *values = random_values(a.nrows, 3, -1.0, 1.0), *z = test_allocate(a.nrows, sizeof *z);
    double *again = test_allocate(a.nrows, sizeof *again);
    tess_vector *r = make_vector(ctx, a.nrows, values), *out = make_zeros(ctx, a.nrows);

    (void)state;
    assert_ok(ctx, tess_precond_create(m, &o.precond, &precond));
    assert_ok(ctx, tess_precond_apply(precond, r, out));
    read_vector(out, z);
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 4.0;
    }
    assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(precond));
    assert_ok(ctx, tess_precond_get_levels(precond, &levels));
    assert_true(levels.modes > 0);
    assert_ok(ctx, tess_precond_apply(precond, r, out));
    read_vector(out, again);
    for (int64_t i = 0; i < a.nrows; i++) {
        assert_at_most(fabs(4.0 * again[i] - z[i]), 1e-4 * fabs(z[i]) + 1e-9); /* the cycle is in FP16 or FP32 */
    }
    tess_vector_destroy(r);
    tess_vector_destroy(out);
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    free(values);
    free(z);
    free(again);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

#define MODES_TESTS                                                                                                    \
    cmocka_unit_test(a_scaled_problem_takes_fewer_iterations), cmocka_unit_test(an_elastic_body_needs_no_coordinates), \
        cmocka_unit_test(vectors_are_found_where_they_are_missing), cmocka_unit_test(signs_and_symmetry_matter),       \
        cmocka_unit_test(new_values_keep_them)

#ifndef TESTS_ON_GPU

static void wrong_numbers_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(20);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *precond = NULL;

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_precond_options o = modes_solve(k == 0 ? -1 : k == 1 ? 16 : 3).precond;

        if (k == 2) { o.amg.coarsening = TESS_AMG_CLASSICAL; }
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(m, &o, &precond));
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* With levels of more than four times the entries no more vectors are looked for. */
static void levels_stay_small(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_laplace2d(90);
    const tess_solve_options o = modes_solve(9);
    int found = 0;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= ldexp(1.0, oracle_power(i, 3) + oracle_power(a.col_ind[k], 3));
        }
    }
    (void)iterations_of(ctx, &a, &o, &found);
    assert_int_equal(found, 3);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Beside 15 vectors of the caller there is space for one. */
static void there_are_at_most_sixteen(void **state)
{
    enum { GIVEN = 15 };
    tess_context *ctx = open_cpu(2);
    oracle_csr a = make_scaled();
    tess_solve_options o = modes_solve(4);
    double *near = test_allocate(GIVEN * a.nrows, sizeof *near);
    int found = 0;

    (void)state;
    for (int64_t i = 0; i < GIVEN * a.nrows; i++) {
        near[i] = 1.0; /* fifteen times the same */
    }
    o.precond.amg.near_nullspace = near;
    o.precond.amg.near_nullspace_columns = GIVEN;
    (void)iterations_of(ctx, &a, &o, &found);
    assert_int_equal(found, 1);
    free(near);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The vectors, and so the iterations, do not depend on the threads. */
static void threads_do_not_matter(void **state)
{
    oracle_csr a = make_scaled();
    const tess_precond_options o = modes_solve(2).precond;
    double *values = random_values(a.nrows, 3, -1.0, 1.0), *z[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_context *ctx = open_cpu(k == 0 ? 1 : 3);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_precond *precond = NULL;
        tess_vector *r = make_vector(ctx, a.nrows, values), *out = make_zeros(ctx, a.nrows);

        z[k] = test_allocate(a.nrows, sizeof *z[k]);
        assert_ok(ctx, tess_precond_create(m, &o, &precond));
        assert_ok(ctx, tess_precond_apply(precond, r, out));
        read_vector(out, z[k]);
        tess_vector_destroy(r);
        tess_vector_destroy(out);
        tess_precond_destroy(precond);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    assert_true(same_bits(z[0], z[1], a.nrows));
    free(z[0]);
    free(z[1]);
    free(values);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {MODES_TESTS, cmocka_unit_test(wrong_numbers_are_refused),
                                       cmocka_unit_test(levels_stay_small), cmocka_unit_test(there_are_at_most_sixteen),
                                       cmocka_unit_test(threads_do_not_matter)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
