/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner jacobi-sweeps: against naive iterations, its symmetry, within methods, its range, bad requests. */
#include "support/precond.h"
#include "support/precond_of.h"
#include "support/solve.h"
#include "support/sweep.h"

enum { N = 150, ROW = 12 };
static const double U32 = 0x1p-24;

static tess_precond_options sweeps(int count, const char *steps, double omega)
{
    tess_precond_options o;

    tess_precond_options_init(&o);
    o.kind = TESS_PRECOND_JACOBI_SWEEPS;
    o.jacobi_sweeps.count = count;
    o.jacobi_sweeps.omega = omega;
    if (steps) { o.jacobi_sweeps.schedule = schedule_of(steps); }
    o.jacobi_sweeps.storage.policy.at_most_one = 1;
    o.jacobi_sweeps.storage.slices.max_padding = 100.0;
    return o;
}

/* Every third row: values beside the diagonal a hundredth of the others'; such rows are low. */
static oracle_csr with_weak_rows(oracle_csr a, bool symmetric)
{
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            const bool weak = i % 3 == 0 || (symmetric && a.col_ind[k] % 3 == 0);

            if (a.col_ind[k] != i && weak) { a.val[k] *= 1e-2 / 3.0; }
        }
    }
    return a;
}

static tess_precond_sweeps described(tess_context *ctx, const tess_precond *m)
{
    tess_precond_sweeps s = {.size = sizeof s};

    assert_ok(ctx, tess_precond_get_sweeps(m, &s));
    return s;
}

/* ---- against naive iterations ---- */

typedef struct storage_case {
    tess_format format;
    tess_granularity granularity;
    const char *steps;
    bool low;
} storage_case;

static const storage_case storages[] = {{TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "fp64", false},
                                        {TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW, "fp64", false},
                                        {TESS_FORMAT_COMPOSITE, TESS_GRANULARITY_ROW, "fp64", false},
                                        {TESS_FORMAT_COMPOSITE, TESS_GRANULARITY_ROW, NULL, true},
                                        {TESS_FORMAT_COMPOSITE, TESS_GRANULARITY_ROW, "fp32", true},
                                        {TESS_FORMAT_COMPOSITE, TESS_GRANULARITY_ROW, "mixed,fp64", true},
                                        {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ROW, NULL, true},
                                        {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ENTRY, NULL, true}};

/* A sweep in low precision rounds a value, x, their product and x again: 4 u |D^-1| |R| |x|. */
static void applications_are_naive_iterations(void **state)
{
    oracle_csr a = with_weak_rows(dominant_matrix(N, ROW, 1.25, 2, 11), false);
    double *r = random_values(N, 3, -5.0, 5.0);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < (int)(sizeof storages / sizeof *storages) * 14; k++) {
        const storage_case *c = &storages[k / 14];
        const int count = 1 + k % 7;
        const double omega = k % 14 < 7 ? 1.0 : 0.7;
        tess_precond_options o = sweeps(count, c->steps, omega);
        double z[N], naive[N] = {0.0}, size = naive_jacobi(&a, r, omega, count, naive), difference;
        tess_precond *m = NULL;
        tess_precond_sweeps s;

        o.jacobi_sweeps.storage.format = c->format;
        o.jacobi_sweeps.storage.policy.granularity = c->granularity;
        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        s = described(ctx, m);
        apply_precond(m, N, r, z);
        difference = largest_difference(z, naive, N);
        assert_at_most(difference, (double)count * ((c->low ? 4.5 * U32 : 0.0) + 2.0 * gamma_of(ROW + 7)) * 2.0 * size);
        assert_int_equal(s.count, count);
        assert_true(s.omega == omega && s.raised == 0);
        if (c->low && count > 3) { assert_true(difference > 1e-4 * U32 * size); } /* it was FP32 indeed */
        if (c->low) { assert_true(s.nonzeros_per_precision[TESS_PRECISION_FP32] > N / 4); }
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* A power of two times A is its inverse times z, although x would be near 2^60 in FP32. */
static void scales_pass_through(void **state)
{
    oracle_csr a = with_weak_rows(dominant_matrix(N, ROW, 1.25, 2, 11), false);
    double *r = random_values(N, 3, -5.0, 5.0), z[2][N];
    const tess_precond_options o = sweeps(4, NULL, 1.0);
    tess_context *ctx = open_device(1);

    (void)state;
    for (int side = 0; side < 2; side++) {
        tess_matrix *matrix = NULL;
        tess_precond *m = NULL;

        for (int64_t k = 0; k < a.nnz && side == 1; k++) {
            a.val[k] = ldexp(a.val[k], -60);
        }
        matrix = make_matrix(ctx, &a);
        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        apply_precond(m, N, r, z[side]);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
    }
    for (int i = 0; i < N; i++) {
        z[1][i] = ldexp(z[1][i], -60);
    }
    assert_true(same_bits(z[0], z[1], N));
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* ---- symmetry ---- */

/* Positive values beside the diagonal, so that eigenvalues of D^-1 A are above 2. */
static oracle_csr positive_everywhere(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i > 4 ? i - 4 : 0; j <= i + 4 && j < n; j++) {
            oracle_push(&a, j, j == i ? 4.1 : i % 3 == 0 || j % 3 == 0 ? 0.05 : 0.9);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* x' M^-1 y = y' M^-1 x but for roundings, and x' M^-1 x > 0 for each count: also where the eigenvalues of D^-1 A reach
   beyond 2, so that the weight has to be below 1. */
static void sweeps_are_symmetric_and_definite(void **state)
{
    enum { SIZE = 144 };
    oracle_csr matrices[] = {with_weak_rows(oracle_laplace2d(12), true), positive_everywhere(SIZE)};
    tess_context *ctx = open_device(1);

    (void)state;
    for (int k = 0; k < 2 * 6; k++) {
        oracle_csr *a = &matrices[k / 6];
        const tess_precond_options o = sweeps(1 + k % 6, NULL, 0.0);
        double *x = random_values(SIZE, 3, -1.0, 1.0), *y = random_values(SIZE, 4, -1.0, 1.0), mx[SIZE], my[SIZE];
        tess_matrix *matrix = make_matrix(ctx, a);
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        assert_true(k < 6 ? described(ctx, m).omega == 1.0 : described(ctx, m).omega < 1.0);
        apply_precond(m, SIZE, x, mx);
        apply_precond(m, SIZE, y, my);
        assert_at_most(fabs(dot(x, my, SIZE) - dot(y, mx, SIZE)),
                       16.0 * U32 * sqrt(dot(x, x, SIZE) * dot(my, my, SIZE)) +
                           16.0 * U32 * sqrt(dot(y, y, SIZE) * dot(mx, mx, SIZE)));
        assert_true(dot(x, mx, SIZE) > 0.0 && dot(y, my, SIZE) > 0.0);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        free(x);
        free(y);
    }
    oracle_free(&matrices[0]);
    oracle_free(&matrices[1]);
    tess_context_destroy(ctx);
}

/* ---- within methods ---- */

static tess_solve_result solve_with_steps(tess_context *ctx, const oracle_csr *a, const double *b,
                                          tess_solver_kind kind, int count, const char *steps)
{
    tess_solve_options options = solve_options(kind);
    double *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    if (count > 0) { options.precond = sweeps(count, steps, 0.0); }
    result = solve_once(ctx, a, &options, b, x);
    assert_true(result.converged);
    check_honest(a, b, x, &options, &result);
    free(x);
    return result;
}

/* Low steps cost no iterations, or few, and several sweeps save many. */
static void methods_take_fewer_iterations(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                             TESS_SOLVER_GMRES_IR};
    oracle_csr symmetric = with_weak_rows(oracle_laplace2d(40), true);
    oracle_csr general = with_weak_rows(oracle_convection2d(40, 4.0), false);
    double *b = random_values(1600, 7, -1.0, 1.0);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 4; k++) {
        const oracle_csr *a = k == 0 ? &symmetric : &general;
        const tess_solve_result none = solve_with_steps(ctx, a, b, kinds[k], 0, NULL);
        const tess_solve_result high = solve_with_steps(ctx, a, b, kinds[k], 4, "fp64");
        const tess_solve_result low = solve_with_steps(ctx, a, b, kinds[k], 4, "fp32,mixed,fp64");

        assert_true(2 * high.iterations < none.iterations + 2);
        assert_at_most((double)low.iterations, 1.25 * (double)high.iterations + 2.0);
    }
    tess_context_destroy(ctx);
    oracle_free(&symmetric);
    oracle_free(&general);
    free(b);
}

/* All values are Inf in FP32: the first applications give Inf or NaN, and sweeps in FP64 take over. */
static void values_beyond_fp32_raise_the_sweeps(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    double *b = random_values(144, 7, -1.0, 1.0);
    tess_context *ctx = open_device(1);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1e60;
    }
    (void)solve_with_steps(ctx, &a, b, TESS_SOLVER_CG, 3, "fp32");
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* ---- handles and requests ---- */

static void new_values_are_noticed(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    const tess_precond_options o = sweeps(3, NULL, 0.0);
    double *r = random_values(144, 3, -1.0, 1.0), z[144], naive[144] = {0.0}, diagonal = a.val[0], size;
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &o, &m));
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= a.val[k] < 0.0 ? 3.0 : 1.0; /* g is 4 now */
    }
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    assert_true(described(ctx, m).omega == 0.5);
    apply_precond(m, 144, r, z);
    size = naive_jacobi(&a, r, 0.5, 3, naive);
    assert_at_most(largest_difference(z, naive, 144), 3.0 * (4.5 * U32 + 2.0 * gamma_of(12)) * 2.0 * size);
    a.val[0] = 0.0;
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
    a.val[0] = diagonal;
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    apply_precond(m, 144, r, z);
    assert_at_most(largest_difference(z, naive, 144), 3.0 * (4.5 * U32 + 2.0 * gamma_of(12)) * 2.0 * size);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

static void wrong_requests_are_refused(void **state)
{
    oracle_csr a = oracle_tridiagonal(4, -1.0, 4.0, -1.0);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options o;
    tess_precond *m = NULL;
    tess_precond_sweeps s = {.size = 1};

    (void)state;
    o = sweeps(0, NULL, 0.0);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    o = sweeps(TESS_MAX_JACOBI_SWEEPS + 1, NULL, 0.0);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    o = sweeps(3, NULL, -1.0);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    o = sweeps(3, NULL, NAN);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    o = sweeps(3, NULL, 0.0);
    o.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    o = sweeps(3, NULL, 0.0);
    o.jacobi_sweeps.storage.format = TESS_FORMAT_TILES;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    o = sweeps(3, NULL, 0.0);
    assert_ok(ctx, tess_precond_create(matrix, &o, &m));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_get_sweeps(m, &s));
    assert_true(tess_precond_bytes(m) > 0);
    tess_precond_destroy(m);
    o = precond_of(TESS_PRECOND_JACOBI, 0);
    assert_ok(ctx, tess_precond_create(matrix, &o, &m));
    s.size = sizeof s;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_get_sweeps(m, &s));
    tess_precond_destroy(m);
    assert_int_equal(tess_precond_options_parse("jacobi-sweeps:7", &o), TESS_SUCCESS);
    assert_int_equal(o.jacobi_sweeps.count, 7);
    assert_int_equal(tess_precond_options_parse("jacobi-sweeps:0", &o), TESS_INVALID_ARGUMENT);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* What stands here, for a GPU too. */
#define JACOBI_SWEEPS                                                                                         \
    cmocka_unit_test(applications_are_naive_iterations), cmocka_unit_test(scales_pass_through),               \
        cmocka_unit_test(sweeps_are_symmetric_and_definite), cmocka_unit_test(methods_take_fewer_iterations), \
        cmocka_unit_test(values_beyond_fp32_raise_the_sweeps), cmocka_unit_test(new_values_are_noticed),      \
        cmocka_unit_test(wrong_requests_are_refused)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        JACOBI_SWEEPS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
