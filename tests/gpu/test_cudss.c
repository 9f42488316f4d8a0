/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complete factors on a GPU by cuDSS: the tests of the host's factors, and what a library at run time needs: loading,
 * calls that fail, new values, objects that are freed. Without a GPU of the vendor, tests/cudss stands in for cuDSS.
 */
#define TESTS_ON_GPU
#define BY_CUDSS
#define SOLVER_EDGE (control ? 12 : 40) /* the stand-in's factors are dense */
#define RANGE_CASES (control ? 2 : 3)   /* and it matches no rows with columns */
/* cuDSS looks for pivots within blocks: n u times the condition. */
#define RANGE_TOLERANCE (control ? 2e-4 : N * ldexp(200.0, -24))
static struct cudss_control *control; /* NULL: this is cuDSS itself */
#include "../unit/test_direct.c"      /* the same tests, in another context */
#include "../unit/test_direct_solves.c"

#include <stdlib.h>

#include <tessera/automatic.h>

#include "base/deadline.h"
#include "cudss/stand_in.h"
#include "precond/direct/cudss_library.h"
#include "precond/direct/direct_device.h"

/* Of the emulated GPU, whose streams run beside the program. */
extern int emulatedStreamSynchronize(void *stream) __attribute__((weak));
extern void emulatedShareMemory(int shared) __attribute__((weak));

static void take_memory(const cudss_control *c)
{
    if (emulatedStreamSynchronize) { (void)emulatedStreamSynchronize(c->stream); }
    if (emulatedShareMemory) { emulatedShareMemory(1); }
}

static void give_memory_back(const cudss_control *c)
{
    (void)c;
    if (emulatedShareMemory) { emulatedShareMemory(0); }
}

static void matrices_without_cudss_factors_are_named(void **state)
{
    const tess_precond_options cholesky = direct_options(TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP32),
                               lu = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    oracle_csr indefinite = oracle_tridiagonal(4, 2.0, 1.0, 2.0), zero = oracle_tridiagonal(4, 0.0, 0.0, 0.0);

    (void)state;
    expect_refusal(&indefinite, &cholesky, TESS_SINGULAR, "not positive definite in fp32");
    expect_refusal(&zero, &lu, TESS_SINGULAR, "singular in fp32");
    oracle_free(&indefinite);
    oracle_free(&zero);
}

static void predicted_memory_is_limited(void **state)
{
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    oracle_csr a = oracle_laplace2d(K);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    direct_prediction prediction;

    (void)state;
    options.direct.memory_limit = 1000;
    expect_refusal(&a, &options, TESS_OUT_OF_MEMORY, "may take 0.001 MB");
    assert_ok(ctx, direct_predict(matrix, false, TESS_PRECISION_FP32, 1000, &prediction));
    assert_false(prediction.possible);
    assert_ok(ctx, direct_predict(matrix, false, TESS_PRECISION_FP32, 0, &prediction));
    assert_true(prediction.possible && prediction.on_device && prediction.flops > 0.0 && prediction.bytes > 1000);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void time_is_limited(void **state)
{
    const tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    oracle_csr a = oracle_laplace2d(K);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;
    const double before = tess_deadline_begin(ctx, 1e-9);

    (void)state;
    assert_fails(ctx, TESS_TIMED_OUT, tess_precond_create(matrix, &options, &m));
    tess_deadline_restore(ctx, before);
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static oracle_csr transposed_of(const oracle_csr *a)
{
    oracle_csr t = oracle_open(a->ncols, a->nrows);

    for (int64_t i = 0; i < a->ncols; i++) {
        for (int64_t j = 0; j < a->nrows; j++) {
            for (int64_t k = a->row_ptr[j]; k < a->row_ptr[j + 1]; k++) {
                if (a->col_ind[k] == i) { oracle_push(&t, j, a->val[k]); }
            }
        }
        oracle_end_row(&t, i);
    }
    return t;
}

/* A^T z = r, for what estimates the condition. */
static void the_transpose_is_solved(void **state)
{
    const tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP64);
    oracle_csr a = oracle_convection2d(K, 3.0), t = transposed_of(&a);
    double *r = random_values(N, 3, -1.0, 1.0), z[N];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int transposed = 0; transposed < 2; transposed++) {
        assert_ok(ctx, m->ops->solve_on_host(m, transposed == 1, r, z));
        check_backward_error(transposed == 1 ? &t : &a, r, z, TESS_PRECISION_FP64);
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&t);
    free(r);
}

/* What constraint c, of m, says of the unknown u, of 2 m: 0 for most. */
static double coefficient(int64_t m, int64_t c, int64_t u)
{
    const bool there = u == 2 * c || u == 2 * c + 1 || u == (2 * c + 7) % (2 * m);

    return there ? 1.0 + 0.25 * (double)((3 * c + 5 * u) % 7) : 0.0;
}

/* [c B; B^T D] with m constraints before 2 m unknowns; c on the diagonal, where it is not 0. D is small: no elimination
   without exchanges is stable. */
static oracle_csr constrained(int64_t m, double c)
{
    oracle_csr a = oracle_open(3 * m, 3 * m);

    for (int64_t i = 0; i < 3 * m; i++) {
        if (i < m && c != 0.0) { oracle_push(&a, i, c); }
        for (int64_t j = 0; j < m && i >= m; j++) {
            if (coefficient(m, j, i - m) != 0.0) { oracle_push(&a, j, coefficient(m, j, i - m)); }
        }
        for (int64_t j = m; j < 3 * m && i < m; j++) {
            if (coefficient(m, i, j - m) != 0.0) { oracle_push(&a, j, coefficient(m, i, j - m)); }
        }
        if (i >= m) { oracle_push(&a, i, 1e-3); }
        oracle_end_row(&a, i);
    }
    return a;
}

static void check_constrained(double c, tess_precision precision)
{
    const int64_t m = control ? 20 : 1500;
    const tess_precond_options options = direct_options(TESS_PRECOND_LU, precision);
    oracle_csr a = constrained(m, c);
    double *r = random_values(3 * m, 7, -1.0, 1.0), *z = random_values(3 * m, 8, -1.0, 1.0);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *factors = NULL;

    assert_ok(ctx, tess_precond_create(matrix, &options, &factors));
    assert_ok(ctx, factors->ops->solve_on_host(factors, false, r, z));
    check_backward_error(&a, r, z, precision);
    tess_precond_destroy(factors);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(z);
}

/* cuDSS 1.0.0 matches no rows with columns where factors shall repeat: those of an indefinite matrix may not. A
   diagonal of one sign does not tell that a matrix is one; pivots that were changed do. */
static void saddle_points_have_factors(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        check_constrained(k == 0 ? 0.0 : 1e-60, TESS_PRECISION_FP64);
        check_constrained(k == 0 ? 0.0 : 1e-30, TESS_PRECISION_FP32);
    }
}

/* An automatic solve tells that a pivot was too small; the rest of the residual is the iterations' work. */
static void changed_pivots_are_told(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.0, 2.0, -1.0);
    double *x = random_values(50, 5, -1.0, 1.0), b[50];
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    a.val[0] = a.val[a.nnz - 1] = 1.0; /* row sums are 0 */
    for (int64_t i = 0; i < 50; i++) {
        wide sum = 0;

        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            sum += (wide)a.val[k] * (wide)x[a.col_ind[k]];
        }
        b[i] = (double)sum;
    }
    matrix = make_matrix(ctx, &a);
    options.precond = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    memset(x, 0, 50 * sizeof *x);
    result = solve_with(solver, ctx, 50, b, x);
    assert_true(result.verified);
    assert_non_null(strstr(tess_solver_why(solver), "cuDSS changed 1 pivot of 50"));
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
}

/* ---- with the stand-in ---- */

/* Set-up, application and an update. */
static tess_status run_once(tess_context *ctx, tess_matrix *matrix, const double *r)
{
    const tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    tess_vector *vr = make_vector(ctx, N, r), *vz = make_zeros(ctx, N);
    tess_precond *m = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_precond_create(matrix, &options, &m));
    TESS_TRY(tess_precond_apply(m, vr, vz));
    status = tess_precond_update(m);
cleanup:
    tess_precond_destroy(m);
    tess_vector_destroy(vr);
    tess_vector_destroy(vz);
    return status;
}

static void each_call_fails_once(void **state)
{
    static const struct {
        int code;
        tess_status status;
    } failures[] = {{1, TESS_DEVICE}, {2, TESS_OUT_OF_DEVICE_MEMORY}, {4, TESS_UNSUPPORTED}, {5, TESS_DEVICE}};
    oracle_csr a = oracle_convection2d(K, 3.0);
    double *r = random_values(N, 3, -1.0, 1.0);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    int64_t calls = 0, hosts = 0;
    tess_status status = TESS_SUCCESS;

    (void)state;
    if (!control) { skip(); }
    for (size_t f = 0; f < sizeof failures / sizeof failures[0]; f++) {
        control->calls = 0;
        control->fail_at = -1;
        assert_ok(ctx, run_once(ctx, matrix, r));
        calls = control->calls;
        assert_true(calls >= 15);
        for (int64_t k = 0; k < calls; k++) {
            control->calls = 0;
            control->fail_at = k;
            control->fail_with = failures[f].code;
            status = run_once(ctx, matrix, r);
            assert_int_equal(control->live, 0);
            if (status == TESS_SUCCESS && failures[f].status == TESS_UNSUPPORTED && mumps_is_here()) {
                hosts++; /* in a set-up */
                continue;
            }
            assert_int_equal(status, failures[f].status);
            assert_non_null(strstr(tess_context_last_error(ctx)->message, "cuDSS"));
        }
    }
    assert_true(!mumps_is_here() || hosts >= 10);
    control->fail_at = -1;
    assert_ok(ctx, run_once(ctx, matrix, r));
    assert_int_equal(control->live, 0);
    assert_int_equal(control->wrong, 0);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* New values are factored by the analysis that is there; a prediction's analysis is taken over, and freed if not. */
static void analyses_are_kept(void **state)
{
    const tess_precond_options options = direct_options(TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP32);
    oracle_csr a = oracle_laplace2d(K);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    const int64_t analyses = control ? control->analyses : 0, factors = control ? control->factorizations : 0;
    direct_prediction prediction;
    tess_precond *m = NULL;

    (void)state;
    if (!control) { skip(); }
    assert_ok(ctx, direct_predict(matrix, true, TESS_PRECISION_FP32, 0, &prediction));
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ptr_equal(control->stream, ctx->backend->stream(ctx));
    for (int turn = 0; turn < 3; turn++) {
        replace_values(ctx, matrix, &a);
        assert_ok(ctx, tess_precond_update(m));
    }
    assert_int_equal(control->analyses - analyses, 1);
    assert_int_equal(control->factorizations - factors, 4);
    assert_ok(ctx, direct_predict(matrix, true, TESS_PRECISION_FP32, 0, &prediction));
    tess_precond_destroy(m);
    assert_true(control->live > 0); /* the prediction's */
    tess_matrix_destroy(matrix);
    assert_int_equal(control->live, 0);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void libraries_that_do_not_fit_are_refused(void **state)
{
    char folder[] = TESS_CUDSS_STAND_IN, why[256];
    cudss_library library;

    (void)state;
    if (!control) { skip(); }
    assert_false(cudss_load("/nowhere/at/all", &library, why, sizeof why));
    assert_non_null(strstr(why, "/nowhere/at/all"));
    assert_false(cudss_load("libm.so.6", &library, why, sizeof why));
    assert_non_null(strstr(why, "no function cudssGetProperty"));
    control->major = 0;
    control->minor = 8;
    assert_false(cudss_load(TESS_CUDSS_STAND_IN, &library, why, sizeof why));
    assert_non_null(strstr(why, "version 0.8 is too old"));
    control->major = 1;
    control->minor = 2;
    *strrchr(folder, '/') = '\0';
    assert_true(cudss_load(folder, &library, why, sizeof why));
    assert_int_equal(library.version, 102);
    control->minor = 0;
}

/* Whether cuDSS, or what stands in for it, is there. */
static bool find_cudss(void)
{
    void *library = NULL;
    cudss_control_function *get = NULL;

    if (tess_has_gpu_backend() && !gpu_is_emulated()) { return cudss_is_here(); }
    setenv("TESSERA_CUDSS", TESS_CUDSS_STAND_IN, 1);
    if (!cudss_is_here()) { fail_msg("the stand-in cannot be loaded: %s", cudss_absence()); }
    library = dlopen(TESS_CUDSS_STAND_IN, RTLD_NOW | RTLD_NOLOAD);
    *(void **)&get = dlsym(library, CUDSS_CONTROL);
    control = get();
    control->begin = take_memory;
    control->end = give_memory_back;
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions_have_small_backward_errors),
                                       cmocka_unit_test(any_range_is_factored),
                                       cmocka_unit_test(updates_follow_the_values),
                                       cmocka_unit_test(singular_systems_may_have_solutions),
                                       cmocka_unit_test(a_prediction_is_used),
                                       cmocka_unit_test(wrong_requests_are_refused),
                                       cmocka_unit_test(every_solver_takes_them),
                                       cmocka_unit_test(fp64_factors_are_fp64),
                                       cmocka_unit_test(factors_take_several_columns),
                                       cmocka_unit_test(every_solver_shares_them_among_columns),
                                       cmocka_unit_test(columns_that_refinement_does_not_solve_go_on),
                                       cmocka_unit_test(a_solve_reports_the_set_up),
                                       cmocka_unit_test(factors_are_applied_before_iterations),
                                       cmocka_unit_test(steps_with_factors_end_where_they_should),
                                       cmocka_unit_test(columns_have_the_same_bits_wherever_they_lie),
                                       cmocka_unit_test(small_systems),
                                       cmocka_unit_test(matrices_without_cudss_factors_are_named),
                                       cmocka_unit_test(predicted_memory_is_limited),
                                       cmocka_unit_test(time_is_limited),
                                       cmocka_unit_test(the_transpose_is_solved),
                                       cmocka_unit_test(saddle_points_have_factors),
                                       cmocka_unit_test(changed_pivots_are_told),
                                       cmocka_unit_test(each_call_fails_once),
                                       cmocka_unit_test(analyses_are_kept),
                                       cmocka_unit_test(libraries_that_do_not_fit_are_refused)};

    if (!find_cudss()) {
        printf("SKIPPED: cuDSS is not here (%s); %s\n", cudss_absence(), DIRECT_CUDSS_HINT);
        return TEST_SKIPPED;
    }
    return run_gpu_tests(tests, NULL);
}
