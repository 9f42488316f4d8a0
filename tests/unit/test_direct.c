/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors: small backward errors in both precisions, badly scaled matrices, new values, failures, memory.
   test_direct_solves.c has solvers with them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, RTLD_DEEPBIND */
#endif
#include <dlfcn.h>

#include "precond/direct/direct.h"
#include "support/direct.h"
#include "support/solve.h"

enum { K = 12, N = K * K };
#ifndef BY_CUDSS
#define RANGE_CASES 3
#define RANGE_TOLERANCE (2 * N * 0x1p-24 * 200) /* two solutions in FP32, each within n u times the condition */
#endif

static void check_kind(const oracle_csr *a, tess_precond_kind kind)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_FP64};
    double *r = random_values(a->nrows, 3, -1.0, 1.0), *z = test_allocate(a->nrows, sizeof *z);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);

    for (int p = 0; p < 2; p++) {
        tess_precond_options options = direct_options(kind, precisions[p]);
        tess_precond_factors facts = {.size = sizeof facts};
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        apply_precond(m, a->nrows, r, z);
        check_backward_error(a, r, z, precisions[p]);
        assert_ok(ctx, tess_precond_get_factors(m, &facts));
        assert_true(facts.nonzeros >= a->nrows);
        assert_int_equal(facts.factorization,
                         direct_is_on_device(matrix) ? TESS_FACTORIZATION_DEVICE : TESS_FACTORIZATION_HOST);
        if (TEST_DEVICE == TESS_DEVICE_CPU || direct_is_on_device(matrix)) { /* else a GPU's memory holds none of it */
            assert_true(tess_precond_bytes(m) >= facts.nonzeros * (p == 0 ? 4 : 8));
        }
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    free(r);
    free(z);
}

/* [A B^T; B 0]: no diagonal in the last rows, eigenvalues of both signs. */
static oracle_csr saddle_point(void)
{
    oracle_csr laplace = oracle_laplace2d(6), a = oracle_open(42, 42);

    for (int64_t i = 0; i < 42; i++) {
        if (i < 36) {
            for (int64_t k = laplace.row_ptr[i]; k < laplace.row_ptr[i + 1]; k++) {
                oracle_push(&a, laplace.col_ind[k], laplace.val[k]);
            }
            oracle_push(&a, 36 + i / 6, 1.0 + (double)(i % 6));
        } else {
            for (int64_t j = 0; j < 6; j++) {
                oracle_push(&a, 6 * (i - 36) + j, 1.0 + (double)j);
            }
        }
        oracle_end_row(&a, i);
    }
    oracle_free(&laplace);
    return a;
}

static void solutions_have_small_backward_errors(void **state)
{
    oracle_csr symmetric = oracle_laplace2d(K), convection = oracle_convection2d(K, 3.0), saddle = saddle_point(),
               one = oracle_tridiagonal(1, 0.0, 3.0, 0.0);

    (void)state;
    check_kind(&symmetric, TESS_PRECOND_CHOLESKY);
    check_kind(&symmetric, TESS_PRECOND_LU);
    check_kind(&convection, TESS_PRECOND_LU);
    check_kind(&saddle, TESS_PRECOND_LU);
    check_kind(&one, TESS_PRECOND_LU);
    check_kind(&one, TESS_PRECOND_CHOLESKY);
    oracle_free(&symmetric);
    oracle_free(&convection);
    oracle_free(&saddle);
    oracle_free(&one);
}

/* Rows and columns times powers of two far beyond FP32's range, r near FP64's limits: the solution is that of the
   matrix as it was, to FP32. */
static void any_range_is_factored(void **state)
{
    (void)state;
    for (int c = 0; c < RANGE_CASES; c++) {
        const bool symmetric = c < 2;
        const tess_precond_kind kind = c == 0 ? TESS_PRECOND_CHOLESKY : TESS_PRECOND_LU;
        oracle_csr a = symmetric ? oracle_laplace2d(K) : oracle_convection2d(K, 1.0), scaled = oracle_copy(&a);
        double *r = random_values(N, 3, 0.5, 1.0), z[N], far[N];
        tess_precond_options options = direct_options(kind, TESS_PRECISION_FP32);
        tess_context *ctx = open_device(1);
        int rows[N], columns[N];

        for (int i = 0; i < N; i++) {
            rows[i] = (i * 37 % 401) - 200;
            columns[i] = symmetric ? rows[i] : (i * 53 % 601) - 300;
        }
        for (int i = 0; i < N; i++) {
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                scaled.val[k] = ldexp(a.val[k], rows[i] + columns[a.col_ind[k]]);
            }
        }
        for (int which = 0; which < 2; which++) {
            tess_matrix *matrix = make_matrix(ctx, which == 0 ? &a : &scaled);
            tess_precond *m = NULL;

            for (int i = 0; which == 1 && i < N; i++) {
                r[i] = ldexp(r[i], 700 + rows[i]);
            }
            assert_ok(ctx, tess_precond_create(matrix, &options, &m));
            apply_precond(m, N, r, which == 0 ? z : far);
            tess_precond_destroy(m);
            tess_matrix_destroy(matrix);
        }
        for (int i = 0; i < N; i++) { /* the condition is below 200 */
            assert_at_most(fabs(ldexp(far[i], columns[i] - 700) - z[i]), RANGE_TOLERANCE * fabs(z[i]));
        }
        tess_context_destroy(ctx);
        oracle_free(&a);
        oracle_free(&scaled);
        free(r);
    }
}

/* New values, also those that have no symmetry any more, that are singular, and that are not finite. */
static void updates_follow_the_values(void **state)
{
    oracle_csr symmetric = oracle_laplace2d(K), other = oracle_laplace2d(K), bad = oracle_laplace2d(K);
    double *r = random_values(N, 3, -1.0, 1.0), z[N];
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &symmetric);
    tess_vector *vr = make_vector(ctx, N, r), *vz = make_zeros(ctx, N);
    tess_precond *m = NULL;

    (void)state;
    for (int64_t k = 0; k < other.nnz; k++) {
        other.val[k] *= k % 3 == 0 ? 1e5 : 2e5;
    }
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int turn = 0; turn < 3; turn++) {
        const oracle_csr *now = turn == 1 ? &symmetric : &other;

        replace_values(ctx, matrix, now);
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, N, r, z);
        check_backward_error(now, r, z, TESS_PRECISION_FP32);
        memset(bad.val, 0, (size_t)bad.nnz * sizeof *bad.val);
        if (turn == 2) { bad.val[bad.row_ptr[7]] = (double)NAN; }
        replace_values(ctx, matrix, &bad);
        assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
        if (turn == 2) { assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 8")); }
        assert_fails(ctx, TESS_SINGULAR, tess_precond_apply(m, vr, vz));
    }
    tess_vector_destroy(vr);
    tess_vector_destroy(vz);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&symmetric);
    oracle_free(&other);
    oracle_free(&bad);
    free(r);
}

/* Row sums are 0, and the last pivot is: factors solve with the rest, and so does the solver, if b is in the range. */
static void singular_systems_may_have_solutions(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.0, 2.0, -1.0);
    double *x = random_values(50, 5, -1.0, 1.0), b[50];

    (void)state;
    a.val[0] = a.val[a.nnz - 1] = 1.0;
    for (int unsymmetric = 0; unsymmetric < 2; unsymmetric++) {
        for (int consistent = 0; consistent < 2; consistent++) {
            tess_solve_options options = solve_options(TESS_SOLVER_FGMRES);
            tess_context *ctx = open_device(1);
            tess_matrix *matrix = NULL;
            tess_solver *solver = NULL;
            tess_solve_result result;

            for (int64_t i = 0; i < 50; i++) { /* row i over i + 1 */
                const double scale = unsymmetric ? (double)(i + 1) : 1.0;
                wide sum = 0;

                for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                    const double own = a.col_ind[k] == i ? (i == 0 || i == 49 ? 1.0 : 2.0) : -1.0;

                    a.val[k] = own * scale;
                    sum += (wide)a.val[k] * (wide)x[a.col_ind[k]];
                }
                b[i] = (double)sum + (consistent ? 0.0 : 0.1);
            }
            matrix = make_matrix(ctx, &a);
            options.precond = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
            options.rtol = 1e-10;
            options.max_iterations = 300;
            assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
            memset(x, 0, 50 * sizeof *x);
            result = solve_with(solver, ctx, 50, b, x);
            assert_int_equal(result.verified, consistent);
            if (!consistent) { assert_true(result.reason < 0 && result.relative_residual > 1e-3); }
            tess_solver_destroy(solver);
            tess_matrix_destroy(matrix);
            tess_context_destroy(ctx);
            free(x);
            x = random_values(50, 5, -1.0, 1.0);
        }
    }
    free(x);
    oracle_free(&a);
}

/* Factors take the analysis over that a prediction made, if values, precision and symmetry are the same; they have the
   same bits as with one of their own. */
static void a_prediction_is_used(void **state)
{
    oracle_csr a = oracle_laplace2d(K);
    double *r = random_values(N, 3, -1.0, 1.0), z[4][N];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int turn = 0; turn < 4; turn++) { /* without; with one that fits; of another precision; of other values */
        const tess_precond_options options = direct_options(TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP32);
        direct_prediction prediction;
        tess_precond *m = NULL;

        if (turn > 0) {
            const tess_precision precision = turn == 2 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;

            assert_ok(ctx, direct_predict(matrix, true, precision, 0, &prediction));
            assert_true(prediction.possible && matrix->kept);
        }
        if (turn == 3) { replace_values(ctx, matrix, &a); }
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        assert_true((matrix->kept != NULL) == (turn >= 2));
        apply_precond(m, N, r, z[turn]);
        assert_true(same_bits(z[turn], z[0], N));
        tess_precond_destroy(m);
    }
    direct_drop_analysis(matrix);
    assert_null(matrix->kept);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

#ifndef BY_CUDSS
/* The stand-in for MPI that MUMPS brings must not take the place of the program's own. */
static void no_mpi_is_left_behind(void **state)
{
    oracle_csr a = oracle_laplace2d(3);

    (void)state;
    check_kind(&a, TESS_PRECOND_LU);
    assert_null(dlsym(RTLD_DEFAULT, "MPI_Init"));
    assert_null(dlsym(RTLD_DEFAULT, "dmumps_c"));
    oracle_free(&a);
}
#endif

static void expect_refusal(const oracle_csr *a, const tess_precond_options *options, tess_status status,
                           const char *words)
{
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;

    assert_fails(ctx, status, tess_precond_create(matrix, options, &m));
    assert_null(m);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, words));
    assert_int_equal(tess_context_last_error(ctx)->circumstance, strcmp(words, "needs MUMPS") == 0);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

#ifndef BY_CUDSS
static void matrices_without_factors_are_named(void **state)
{
    const tess_precond_options cholesky = direct_options(TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP32);
    oracle_csr indefinite = oracle_tridiagonal(4, 2.0, 1.0, 2.0), negative = oracle_tridiagonal(4, -1.0, 3.0, -1.0),
               empty_row = oracle_open(3, 3), ones = oracle_open(2, 2);

    (void)state;
    negative.val[negative.row_ptr[2] + 1] = -3.0;
    for (int64_t i = 0; i < 3; i++) {
        if (i != 1) { oracle_push(&empty_row, i, 1.0); }
        oracle_end_row(&empty_row, i);
    }
    for (int64_t i = 0; i < 2; i++) {
        oracle_push(&ones, 0, 1.0);
        oracle_push(&ones, 1, 1.0);
        oracle_end_row(&ones, i);
    }
    expect_refusal(&indefinite, &cholesky, TESS_SINGULAR, "2 of 4 pivots are negative"); /* eigenvalues 1 + 4 cos */
    expect_refusal(&negative, &cholesky, TESS_SINGULAR, "diagonal entry of row 3 is -3");
    expect_refusal(&ones, &cholesky, TESS_SINGULAR, "singular in fp32");
    expect_refusal(&empty_row, &cholesky, TESS_SINGULAR, "singular");
    oracle_free(&indefinite);
    oracle_free(&negative);
    oracle_free(&empty_row);
    oracle_free(&ones);
}

static void memory_is_limited(void **state)
{
    tess_precond_options options = direct_options(TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP64);
    oracle_csr a = oracle_laplace2d(90);

    (void)state;
    options.direct.memory_limit = 1000000;
    expect_refusal(&a, &options, TESS_OUT_OF_MEMORY, "may take 1 MB");
    options.direct.memory_limit = -1;
    expect_refusal(&a, &options, TESS_INVALID_ARGUMENT, "-1 bytes");
    options.direct.memory_limit = INT64_C(1) << 40;
    check_kind(&a, TESS_PRECOND_CHOLESKY);
    oracle_free(&a);
}

#endif

static int identity_operator(void *user, tess_operation operation, const double *x, double *y)
{
    (void)operation;
    memcpy(y, x, *(const size_t *)user);
    return 0;
}

static void wrong_requests_are_refused(void **state)
{
    size_t bytes = 4 * sizeof(double);
    const tess_shell_operator identity = {.apply = identity_operator, .user = &bytes};
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    oracle_csr a = oracle_laplace2d(3);
    tess_context *ctx = open_device(1);
    tess_matrix *shell = NULL;
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, 4, 4, &identity, &shell));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_create(shell, &options, &m));
    options.role.arithmetic = TESS_ARITHMETIC_FP64;
    expect_refusal(&a, &options, TESS_INVALID_ARGUMENT, "not fp32/fp64");
    options.role.storage = TESS_PRECISION_BF16;
    expect_refusal(&a, &options, TESS_INVALID_ARGUMENT, "bf16");
    options.role.storage = TESS_PRECISION_FP64;
    options.direct.reserved[1] = 1;
    expect_refusal(&a, &options, TESS_INVALID_ARGUMENT, "tess_direct_options.reserved");
    assert_int_equal(tess_precond_options_parse("lu:1", &options), TESS_INVALID_ARGUMENT);
    tess_matrix_destroy(shell);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

#ifndef TESTS_ON_GPU
/* Contexts of several threads at once: MUMPS itself is not reentrant. */
static void threads_do_not_disturb_each_other(void **state)
{
    enum { EDGE = 60, ROWS = EDGE * EDGE, TURNS = 8 };
    oracle_csr a = oracle_laplace2d(EDGE);
    double *r = random_values(ROWS, 3, -1.0, 1.0), *z[TURNS];

    (void)state;
    for (int t = 0; t < TURNS; t++) {
        z[t] = test_allocate(ROWS, sizeof *z[t]);
        memset(z[t], 0, ROWS * sizeof *z[t]);
    }
#pragma omp parallel for num_threads(4)
    for (int t = 0; t < TURNS; t++) {
        const tess_context_options on_cpu = {.size = sizeof on_cpu, .device = TESS_DEVICE_CPU, .threads = 1};
        const tess_csr_arrays arrays = csr_arrays_of(&a);
        tess_precond_options options =
            direct_options(TESS_PRECOND_CHOLESKY, t % 2 == 0 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);
        tess_context *ctx = NULL;
        tess_matrix *matrix = NULL;
        tess_precond *m = NULL;
        tess_vector *vr = NULL, *vz = NULL;

        if (tess_context_create(&on_cpu, &ctx) == TESS_SUCCESS &&
            tess_matrix_create_csr(ctx, &arrays, &matrix) == TESS_SUCCESS &&
            tess_precond_create(matrix, &options, &m) == TESS_SUCCESS &&
            tess_vector_create(ctx, ROWS, TESS_PRECISION_FP64, &vr) == TESS_SUCCESS &&
            tess_vector_create(ctx, ROWS, TESS_PRECISION_FP64, &vz) == TESS_SUCCESS &&
            tess_vector_set(vr, r, TESS_PRECISION_FP64, TESS_MEMORY_HOST) == TESS_SUCCESS &&
            tess_precond_apply(m, vr, vz) == TESS_SUCCESS) {
            (void)tess_vector_get(vz, z[t], TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        }
        tess_vector_destroy(vr);
        tess_vector_destroy(vz);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    for (int t = 0; t < TURNS; t++) {
        check_backward_error(&a, r, z[t], t % 2 == 0 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);
        assert_true(same_bits(z[t], z[t % 2], ROWS));
    }
    for (int t = 0; t < TURNS; t++) {
        free(z[t]);
    }
    oracle_free(&a);
    free(r);
}

static void a_build_without_mumps_says_so(void **state)
{
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    oracle_csr a = oracle_laplace2d(3);

    (void)state;
    expect_refusal(&a, &options, TESS_UNSUPPORTED, "needs MUMPS");
    oracle_free(&a);
}
#endif

static const tess_precond_kind all_kinds[] = {TESS_PRECOND_LU, TESS_PRECOND_CHOLESKY};

/* No rows, and one. */
static void small_systems(void **state)
{
    oracle_csr none = oracle_open(0, 0), one = oracle_tridiagonal(1, 0.0, 4.0, 0.0);
    tess_context *ctx = open_device(1);
    double r = 6.0, z = 0.0;

    (void)state;
    for (size_t k = 0; k < sizeof all_kinds / sizeof *all_kinds; k++) {
        const tess_precond_options options = direct_options(all_kinds[k], TESS_PRECISION_FP32);
        tess_matrix *empty = make_matrix(ctx, &none), *single = make_matrix(ctx, &one);
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(empty, &options, &m));
        apply_precond(m, 0, &r, &z);
        tess_precond_destroy(m);
        assert_ok(ctx, tess_precond_create(single, &options, &m));
        apply_precond(m, 1, &r, &z);
        assert_true(z == 1.5);
        tess_precond_destroy(m);
        tess_matrix_destroy(empty);
        tess_matrix_destroy(single);
    }
    tess_context_destroy(ctx);
    oracle_free(&none);
    oracle_free(&one);
}

#define DIRECT_TESTS                                                                                        \
    cmocka_unit_test(solutions_have_small_backward_errors), cmocka_unit_test(any_range_is_factored),        \
        cmocka_unit_test(updates_follow_the_values), cmocka_unit_test(singular_systems_may_have_solutions), \
        cmocka_unit_test(a_prediction_is_used), cmocka_unit_test(no_mpi_is_left_behind),                    \
        cmocka_unit_test(matrices_without_factors_are_named), cmocka_unit_test(memory_is_limited),          \
        cmocka_unit_test(wrong_requests_are_refused), cmocka_unit_test(small_systems)

#ifndef TESTS_ON_GPU
/* Upwind convection with couplings of 1e-15 against the wind: geometric means drive the factors of D_r and D_c apart by
   2^25 a row, which FP32 does not hold. */
static void small_couplings_do_not_spread_the_scaling(void **state)
{
    enum { ROWS = 64 };
    oracle_csr a = oracle_open(ROWS, ROWS);
    double b[ROWS];
    tess_context *ctx = open_device(1);
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    tess_precond *m = NULL;
    tess_matrix *matrix = NULL;
    double z[ROWS];

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        if (i > 0) { oracle_push(&a, i - 1, -50.0); }
        oracle_push(&a, i, 60.0);
        if (i + 1 < ROWS) { oracle_push(&a, i + 1, -1e-15); }
        oracle_end_row(&a, i);
        b[i] = 1.0;
    }
    matrix = make_matrix(ctx, &a);
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    apply_precond(m, ROWS, b, z);
    check_backward_error(&a, b, z, TESS_PRECISION_FP32);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DIRECT_TESTS, cmocka_unit_test(small_couplings_do_not_spread_the_scaling),
                                       cmocka_unit_test(threads_do_not_disturb_each_other)};
    const struct CMUnitTest without[] = {cmocka_unit_test(a_build_without_mumps_says_so)};

    if (!mumps_is_here()) { return cmocka_run_group_tests(without, NULL, NULL); }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
