/* SPDX-License-Identifier: Apache-2.0 */
/* Solvers with complete factors: both precisions, and set-ups that fail. */
#include <tessera/many.h>

#include "precond/direct/direct.h"
#include "precond/precond.h"
#include "support/direct.h"
#include "support/solve.h"

enum { EDGE = 12, ROWS = EDGE * EDGE };
#ifndef BY_CUDSS
#define SOLVER_EDGE on_gpu_or_emulated(40, 12)
#endif

/* FP32 factors in every solver: few iterations to 1e-12, and the same bits again. */
static void every_solver_takes_them(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD};
    const int64_t edge = SOLVER_EDGE, n = edge * edge;
    oracle_csr symmetric = oracle_laplace2d(edge), convection = oracle_convection2d(edge, 5.0);
    double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(n, sizeof *x);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int c = 0; c < 15; c++) {
        const oracle_csr *a = c % 5 > 0 && c < 5 ? &convection : &symmetric;
        tess_solve_options options = solve_options(solvers[c % 5]);
        tess_solve_result result;

        options.rtol = 1e-12;
        options.precond.kind = c < 10 ? TESS_PRECOND_LU : TESS_PRECOND_CHOLESKY; /* fp32 without being asked */
        memset(x, 0, (size_t)n * sizeof *x);
        result = solve_once(ctx, a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.iterations <= 8);
        assert_true(result.precond.factor_nonzeros > a->nnz / 2);
        check_honest(a, b, x, &options, &result);
        check_repeats(ctx, a, &options, 2);
    }
    tess_context_destroy(ctx);
    oracle_free(&symmetric);
    oracle_free(&convection);
    free(b);
    free(x);
}

/* ---- several columns ---- */

/* x and y are solutions of one system, each within n u times the condition. */
static void check_near(const double *x, const double *y, int64_t n, double tolerance)
{
    double difference = 0.0, size = 0.0;

    for (int64_t i = 0; i < n; i++) {
        difference = fmax(difference, fabs(x[i] - y[i]));
        size = fmax(size, fabs(y[i]));
    }
    assert_true(difference <= tolerance * size);
}

/* Columns by rows through the factors, of any size and none: each is what it is alone. */
static void factors_take_several_columns(void **state)
{
    enum { COLUMNS = 8, ODD = 5 };
    static const int exponents[COLUMNS] = {0, 250, -250, 600, -600};
    oracle_csr a = oracle_convection2d(EDGE, 3.0);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int p = 0; p < 2; p++) {
        const tess_precond_options options =
            direct_options(TESS_PRECOND_LU, p == 0 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);
        double *r = random_values(ROWS * COLUMNS, 3, -1.0, 1.0), z[ROWS * COLUMNS], own[ROWS], alone[ROWS];
        double *device_r = NULL, *device_z = NULL;
        tess_precond *m = NULL;

        for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
            r[i] = i % COLUMNS == ODD ? 0.0 : ldexp(r[i], exponents[i % COLUMNS]);
        }
        r[9 * COLUMNS + ODD + 1] = (double)INFINITY;
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        assert_true(m->ops->takes_columns(m));
        assert_ok(ctx, tess_device_upload(ctx, r, ROWS * COLUMNS, sizeof *r, (void **)&device_r));
        assert_ok(ctx, tess_device_allocate(ctx, ROWS * COLUMNS, sizeof *r, (void **)&device_z));
        assert_ok(ctx, m->ops->apply_columns(m, 4, device_r, device_z)); /* another view of the same values */
        assert_ok(ctx, m->ops->apply_columns(m, COLUMNS, device_r, device_z));
        assert_ok(ctx, ctx->backend->download(ctx, z, device_z, sizeof z));
        for (int c = 0; c < COLUMNS; c++) {
            for (int64_t i = 0; i < ROWS; i++) {
                own[i] = r[i * COLUMNS + c];
            }
            apply_precond(m, ROWS, own, alone);
            for (int64_t i = 0; i < ROWS; i++) {
                own[i] = z[i * COLUMNS + c];
                if (c == ODD) { assert_true(own[i] == 0.0); }
                if (c == ODD + 1) { assert_true(isnan(own[i]) && isnan(alone[i])); }
            }
            if (c == ODD || c == ODD + 1) { continue; }
            check_near(own, alone, ROWS, 2 * ROWS * 200.0 * (p == 0 ? 0x1p-24 : 0x1p-53));
        }
        tess_device_release(ctx, device_r, ROWS * COLUMNS, sizeof *r);
        tess_device_release(ctx, device_z, ROWS * COLUMNS, sizeof *r);
        tess_precond_destroy(m);
        free(r);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* k columns at once: each is verified, in as many iterations as alone, or so many more. */
static void check_columns_of(const oracle_csr *a, const tess_solve_options *options, int64_t k, int64_t together,
                             int64_t more)
{
    const int64_t n = a->nrows;
    double *b = random_values(n * k, 7, -1.0, 1.0), *x = test_allocate(n * k, sizeof *x),
           *alone = test_allocate(n, sizeof *alone);
    tess_solve_result *results = test_allocate(k, sizeof *results);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_solver *solver = NULL;
    const tess_columns right = tess_columns_by_column(n, k, b, TESS_MEMORY_HOST),
                       left = tess_columns_by_column(n, k, x, TESS_MEMORY_HOST);

    memset(x, 0, (size_t)(n * k) * sizeof *x);
    memset(b, 0, (size_t)n * sizeof *b); /* the first needs nothing */
    for (int64_t c = 0; c < k; c++) {
        tess_solve_result_init(&results[c]);
    }
    assert_ok(ctx, tess_solver_create(matrix, options, &solver));
    assert_int_equal(tess_solver_columns_together(solver, k), together);
    assert_ok(ctx, tess_solver_solve_many(solver, &right, &left, results));
    for (int64_t c = 0; c < k; c++) {
        const tess_solve_result one = solve_once(ctx, a, options, b + c * n, alone);

        assert_int_equal(results[c].verified, 1);
        assert_int_equal(results[c].reason, one.reason);
        assert_int_equal(results[c].solver, one.solver);
        assert_true(results[c].iterations <= one.iterations + more);
        check_honest(a, b + c * n, x + c * n, options, &results[c]);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    free(b);
    free(x);
    free(alone);
    free(results);
}

static void every_solver_shares_them_among_columns(void **state)
{
    static const struct {
        tess_solver_kind solver;
        tess_precond_kind precond;
        bool symmetric, together;
    } cases[] = {
        {TESS_SOLVER_CG, TESS_PRECOND_CHOLESKY, true, true},  {TESS_SOLVER_MINRES, TESS_PRECOND_CHOLESKY, true, true},
        {TESS_SOLVER_BICGSTAB, TESS_PRECOND_LU, false, true}, {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, false, true},
        {TESS_SOLVER_GMRES, TESS_PRECOND_LU, false, true},    {TESS_SOLVER_GMRES, TESS_PRECOND_CHOLESKY, true, true},
        {TESS_SOLVER_GMRES_IR, TESS_PRECOND_LU, false, true}, {TESS_SOLVER_GMRES_FD, TESS_PRECOND_LU, false, false},
        {TESS_SOLVER_IDR, TESS_PRECOND_LU, false, true}};
    oracle_csr symmetric = oracle_laplace2d(EDGE), convection = oracle_convection2d(EDGE, 3.0);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_solve_options options = solve_options(cases[i].solver);
        const int64_t k = i % 2 ? 5 : 2;

        options.rtol = 1e-12;
        options.precond.kind = cases[i].precond;
        check_columns_of(cases[i].symmetric ? &symmetric : &convection, &options, k, cases[i].together ? k : 1, 3);
    }
    oracle_free(&symmetric);
    oracle_free(&convection);
}

/* FP32 factors of a matrix with a condition of about 10^9: refinement gains little, and the method goes on alone. */
static void columns_that_refinement_does_not_solve_go_on(void **state)
{
    enum { LENGTH = 200 };
    oracle_csr a = oracle_tridiagonal(LENGTH, -1.0, 2.0, -1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_FGMRES);

    (void)state;
    a.val[0] = a.val[a.nnz - 1] = 1.0 + 0x1p-20; /* constant vectors are nearly null vectors */
    options.rtol = 1e-6;
    options.precond = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    check_columns_of(&a, &options, 3, 3, options.max_iterations); /* each column ends refinement for itself */
    oracle_free(&a);
}

/* Two iterations to 1e-13, which FP32 factors do not reach. */
static void fp64_factors_are_fp64(void **state)
{
    double *b = random_values(ROWS, 3, 0.5, 1.0), x[ROWS] = {0.0};
    oracle_csr a = oracle_laplace2d(EDGE);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_device(1);
    tess_solve_result result;

    (void)state;
    options.rtol = 1e-13;
    options.precond = direct_options(TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP64);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_true(result.iterations <= 2);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Arrays by columns are solved in place, others by slices; extreme columns go the other way, too. */
static void columns_have_the_same_bits_wherever_they_lie(void **state)
{
    enum { COLUMNS = 7 };
    static const double odd[] = {1.0, 0.0, 0x1p300, 0x1p-300, (double)NAN};
    oracle_csr a = oracle_laplace2d(EDGE);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP64);
    double *r = random_values(ROWS * COLUMNS, 3, -1.0, 1.0), *z = test_allocate(ROWS * COLUMNS, sizeof *z);
    double *y = test_allocate(ROWS * COLUMNS, sizeof *y);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        const tess_columns from = tess_columns_by_column(ROWS, COLUMNS, r, TESS_MEMORY_HOST);
        const tess_columns to = tess_columns_by_column(ROWS, COLUMNS, z, TESS_MEMORY_HOST);
        const tess_columns by_row = tess_columns_by_row(ROWS, COLUMNS, y, TESS_MEMORY_HOST);

        for (int64_t i = 0; i < ROWS; i++) {
            r[2 * ROWS + i] = odd[k] * (double)(i + 1);
        }
        assert_ok(ctx, tess_precond_apply_columns(m, &from, &to));
        assert_ok(ctx, tess_precond_apply_columns(m, &from, &by_row));
        for (int64_t i = 0; i < ROWS; i++) {
            for (int c = 0; c < COLUMNS; c++) {
                const double one = z[c * ROWS + i], other = y[i * COLUMNS + c];

                assert_true(one == other || (isnan(one) && isnan(other)));
            }
        }
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(z);
    free(y);
}

static int count_and_stop(void *user, const tess_progress *progress)
{
    int *left = user;

    assert_true(progress->iteration >= 1 && progress->residual_norm >= 0.0);
    *left -= 1;
    return *left == 0;
}

/* One application of FP64 factors, a few of FP32 ones, whatever the method; its history and its monitor see them. */
static void factors_are_applied_before_iterations(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG,    TESS_SOLVER_MINRES, TESS_SOLVER_BICGSTAB,
                                               TESS_SOLVER_GMRES, TESS_SOLVER_FGMRES, TESS_SOLVER_IDR};
    double *b = random_values(ROWS, 3, 0.5, 1.0), x[ROWS];
    oracle_csr a = oracle_laplace2d(EDGE);
    tess_context *ctx = open_device(1);

    (void)state;
    for (int c = 0; c < 12; c++) {
        const tess_precision precision = c < 6 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;
        const tess_precond_kind kind = c % 6 == 1 ? TESS_PRECOND_CHOLESKY : TESS_PRECOND_LU;
        tess_solve_options options = solve_options(solvers[c % 6]);
        tess_solve_result result;
        int left = 100;

        options.rtol = 1e-12;
        options.precond = direct_options(kind, precision);
        options.monitor = count_and_stop;
        options.monitor_user = &left;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.verified && result.iterations >= 1 && result.iterations <= (c < 6 ? 1 : 3));
        assert_true(TEST_DEVICE == TESS_DEVICE_GPU || left == 100 - (int)result.iterations);
        assert_true(result.estimated_residual_norm == result.residual_norm);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* A monitor ends a solve after a step; a guard that reports leaves all to the method; factors that gain too little do,
   too. */
static void steps_with_factors_end_where_they_should(void **state)
{
    enum { LENGTH = 200 };
    double *b = random_values(LENGTH, 3, 0.5, 1.0), x[LENGTH] = {0.0};
    oracle_csr a = oracle_laplace2d(EDGE), hard = oracle_tridiagonal(LENGTH, -1.0, 2.0, -1.0);
    tess_context *ctx = open_device(1);
    tess_solve_options options = solve_options(TESS_SOLVER_FGMRES);
    tess_solve_result result;
    int left = 1;

    (void)state;
    options.rtol = 1e-13;
    options.precond = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP32);
    options.monitor = count_and_stop;
    options.monitor_user = &left;
    result = solve_once(ctx, &a, &options, b, x);
    assert_true(result.reason == TESS_REASON_CANCELLED && result.iterations == 1 && !result.converged);
    assert_true(result.relative_residual < 1e-3 && oracle_norm2(x, ROWS) > 0.0L);
    options.monitor = NULL;
    options.max_iterations = 1;
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &a, &options, b, x);
    assert_true(result.reason == TESS_REASON_ITERATIONS && result.iterations == 1);
    options.max_iterations = 100;
    hard.val[0] = hard.val[hard.nnz - 1] = 1.0 + 0x1p-20; /* constant vectors are nearly null vectors */
    options.rtol = 1e-6;
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &hard, &options, b, x);
    assert_true(result.verified && result.iterations > 1);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&hard);
    free(b);
}

/* A failed set-up ends a solve with its reason; later values work. */
static void a_solve_reports_the_set_up(void **state)
{
    oracle_csr good = oracle_laplace2d(EDGE), bad = oracle_laplace2d(EDGE);
    double *b = random_values(ROWS, 3, -1.0, 1.0), x[ROWS];
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t k = 0; k < bad.nnz; k++) {
        if (bad.val[k] > 0.0) { bad.val[k] = 3.0; } /* eigenvalues from -1 */
    }
    matrix = make_matrix(ctx, &bad);
    options.precond.kind = TESS_PRECOND_CHOLESKY;
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    for (int turn = 0; turn < 4; turn++) {
        tess_solve_result result;

        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, ROWS, b, x);
        assert_int_equal(result.reason, turn % 2 == 0 ? TESS_REASON_PRECOND_SETUP : TESS_REASON_RTOL);
        replace_values(ctx, matrix, turn % 2 == 0 ? &good : &bad);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&good);
    oracle_free(&bad);
    free(b);
}

#define DIRECT_SOLVE_TESTS                                                                                            \
    cmocka_unit_test(every_solver_takes_them), cmocka_unit_test(fp64_factors_are_fp64),                               \
        cmocka_unit_test(factors_take_several_columns), cmocka_unit_test(every_solver_shares_them_among_columns),     \
        cmocka_unit_test(columns_that_refinement_does_not_solve_go_on), cmocka_unit_test(a_solve_reports_the_set_up), \
        cmocka_unit_test(factors_are_applied_before_iterations),                                                      \
        cmocka_unit_test(steps_with_factors_end_where_they_should),                                                   \
        cmocka_unit_test(columns_have_the_same_bits_wherever_they_lie)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {DIRECT_SOLVE_TESTS};

    if (!mumps_is_here()) {
        puts("skipped: this build has no MUMPS");
        return TEST_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
