/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of time within set-ups. A limit that is over when the set-up begins (1e-9 s) ends each kind of factors and
 * multigrid, without a clock in the test; factors that MUMPS should take longer for than is left are not begun, and an
 * automatic solve goes on without them. A caller's flag ends set-ups as well.
 */
#include <tessera/automatic.h>
#include <tessera/gallery.h>

#include "precond/direct/mumps.h"
#include "support/solve.h"

enum { SIDE = 12, N = SIDE * SIDE };
#define OVER 1e-9 /* seconds: a limit that has passed before any set-up is done */

static tess_context *ctx;
static tess_matrix *a;
static tess_vector *b, *x;

static tess_solve_options options_of(const char *precond, double limit)
{
    tess_solve_options o;

    tess_solve_options_init(&o);
    o.solver = TESS_SOLVER_GMRES;
    o.rtol = 1e-8;
    o.time_limit = limit;
    assert_ok(ctx, tess_precond_options_parse(precond, &o.precond));
    return o;
}

static tess_solve_result solve(tess_solver *solver)
{
    tess_solve_result result;

    tess_solve_result_init(&result);
    assert_ok(ctx, tess_vector_fill(x, 0.25));
    assert_ok(ctx, tess_solver_solve(solver, b, x, &result));
    return result;
}

/* Nothing was done: x is the initial guess, and the error says what was being set up. */
static void check_refused(const tess_solve_result *result, const char *what)
{
    double values[N];

    assert_int_equal(result->reason, TESS_REASON_TIME_LIMIT);
    assert_int_equal(result->iterations, 0);
    assert_false(result->converged);
    assert_int_equal(tess_context_last_error(ctx)->status, TESS_TIMED_OUT);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, what));
    assert_ok(ctx, tess_vector_get(x, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int i = 0; i < N; i++) {
        assert_true(values[i] == 0.25);
    }
}

static const char *const kinds[] = {"ilu0", "ic0", "ilut", "ict", "iluk", "amg", "lu", "cholesky"};

/* False: this build has no MUMPS. */
static bool create(const char *kind, double limit, tess_solver **solver)
{
    const tess_solve_options o = options_of(kind, limit);
    const tess_status status = tess_solver_create(a, &o, solver);

    if (status == TESS_UNSUPPORTED) { return false; }
    assert_ok(ctx, status);
    return true;
}

static void test_limit_is_over(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solver *solver = NULL;

        if (!create(kinds[k], OVER, &solver)) { continue; }
        const tess_solve_result result = solve(solver);

        check_refused(&result, kinds[k]);
        tess_solver_destroy(solver);
        assert_true(create(kinds[k], 0.0, &solver)); /* the limit is that of one call */
        assert_true(solve(solver).verified);
        tess_solver_destroy(solver);
    }
}

/* The set-up for new values is cut, and a later solve with more time makes it. */
static void test_new_values(void **state)
{
    static int64_t row_ptr[N + 1];
    static int32_t col_ind[5 * N];
    static double values[5 * N];

    (void)state;
    assert_true(tess_matrix_nnz(a) <= 5 * N);
    assert_ok(ctx, tess_matrix_get_csr(a, row_ptr, col_ind, values));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solver *solver = NULL;

        if (!create(kinds[k], 0.0, &solver)) { continue; }
        tess_solve_options o = options_of(kinds[k], OVER);

        assert_true(solve(solver).verified);
        assert_ok(ctx, tess_matrix_update_values(a, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_solver_set_limits(solver, &o));
        assert_int_equal(solve(solver).reason, TESS_REASON_TIME_LIMIT);
        o.time_limit = 0.0;
        assert_ok(ctx, tess_solver_set_limits(solver, &o));
        assert_true(solve(solver).verified);
        tess_solver_destroy(solver);
    }
}

/* 7e10 operations are 5 s with OpenBLAS, 20 s without, by the library's own reckoning, which is all that decides. */
static void test_factors_are_not_begun(void **state)
{
    enum { CUBE = 44 };
    static const char *const argument[] = {"44"};
    const tess_solve_options o = options_of("lu", 3.0);
    tess_matrix *cube = NULL;
    tess_vector *right = make_zeros(ctx, CUBE * CUBE * CUBE), *left = make_zeros(ctx, CUBE * CUBE * CUBE);
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_gallery_create(ctx, "laplace3d", 1, argument, &cube));
    if (tess_solver_create(cube, &o, &solver) == TESS_SUCCESS) {
        assert_ok(ctx, tess_vector_fill(right, 1.0));
        assert_ok(ctx, tess_solver_solve(solver, right, left, &result));
        assert_int_equal(result.reason, TESS_REASON_TIME_LIMIT);
        assert_int_equal(result.iterations, 0);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "lu: the"));
    } else {
        assert_int_equal(tess_context_last_error(ctx)->status, TESS_UNSUPPORTED);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(cube);
    tess_vector_destroy(right);
    tess_vector_destroy(left);
}

/* The attempts of an automatic solve end with the limit too. */
static void test_automatic(void **state)
{
    tess_solve_options o;
    tess_solver *solver = NULL;

    (void)state;
    tess_solve_options_init(&o);
    o.rtol = 1e-10;
    o.time_limit = OVER;
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    assert_int_equal(solve(solver).reason, TESS_REASON_TIME_LIMIT);
    o.time_limit = 0.0;
    assert_ok(ctx, tess_solver_set_limits(solver, &o));
    assert_true(solve(solver).verified);
    tess_solver_destroy(solver);
}

/* ---- signals ---- */

static volatile int interrupted; /* as a signal handler sets it */

/* A set-up ends, and the solve says why and does nothing. */
static void test_interrupt(void **state)
{
    (void)state;
    assert_ok(ctx, tess_context_set_interrupt(ctx, &interrupted));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solver *solver = NULL;

        interrupted = 1;
        if (!create(kinds[k], 0.0, &solver)) { continue; }
        const tess_solve_result result = solve(solver);

        assert_int_equal(result.reason, TESS_REASON_INTERRUPTED);
        assert_int_equal(result.iterations, 0);
        assert_int_equal(tess_context_last_error(ctx)->status, TESS_TIMED_OUT);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "interrupted in the set-up"));
        tess_solver_destroy(solver);
        interrupted = 0;
        assert_true(create(kinds[k], 0.0, &solver));
        assert_true(solve(solver).verified);
        interrupted = 1; /* no set-up is left to end */
        assert_true(solve(solver).verified);
        interrupted = 0;
        tess_solver_destroy(solver);
    }
    assert_ok(ctx, tess_context_set_interrupt(ctx, NULL));
}

/* ---- an automatic solve goes on ---- */

/* Differences in three directions, to the left and to the right: a skew matrix, of which BiCGSTAB finds nothing. */
static oracle_csr skew_cube(int64_t side)
{
    const int64_t n = side * side * side, strides[] = {side * side, side, 1};
    oracle_csr s = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            if (i / strides[d] % side > 0) { oracle_push(&s, i - strides[d], -1.0); }
        }
        for (int d = 2; d >= 0; d--) {
            if (i / strides[d] % side + 1 < side) { oracle_push(&s, i + strides[d], 1.0); }
        }
        oracle_end_row(&s, i);
    }
    return s;
}

static int refused_factors(const tess_solver *solver, int *after)
{
    const tess_attempt *attempts = NULL;
    const int count = tess_solver_attempts(solver, &attempts);
    int refused = 0;

    *after = 0;
    for (int i = 0; i < count; i++) {
        refused += attempts[i].precond == TESS_PRECOND_LU && attempts[i].status == TESS_TIMED_OUT;
        *after += refused > 0 && attempts[i].status == TESS_SUCCESS;
    }
    return refused;
}

/* What follows the factors need not go on. */
static int stop_after_factors(void *user, const tess_progress *progress)
{
    tess_solver *const *solver = user;
    int after = 0;

    (void)progress;
    return *solver && refused_factors(*solver, &after) == 2;
}

/* Complete factors of 64,000 rows take 5 s or more by the library's own reckoning: more than the limit.
   The attempts that follow are made. `row`: what its entries are multiplied by; where rows are apart, attempts solve a
   system of scaled rows. */
static void goes_on_without_factors(double row)
{
    enum { CUBE = 40, ROWS = CUBE * CUBE * CUBE };
    oracle_csr skew = skew_cube(CUBE);
    tess_matrix *cube = NULL;
    double *values = random_values(ROWS, 3, -1.0, 1.0);
    tess_vector *right = make_vector(ctx, ROWS, values), *left = make_zeros(ctx, ROWS);
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_solve_options o;
    int refused = 0, after = 0;

    for (int64_t k = 0; k < skew.row_ptr[1]; k++) {
        skew.val[k] *= row;
    }
    cube = make_matrix(ctx, &skew);
    tess_solve_options_init(&o);
    o.time_limit = 3.0; /* the matrix is left unsolved then */
    o.monitor = stop_after_factors;
    o.monitor_user = &solver;
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_create(cube, &o, &solver));
    assert_ok(ctx, tess_solver_solve(solver, right, left, &result));
    refused = refused_factors(solver, &after);
    if (mumps_is_here()) {
        assert_int_equal(refused, 2); /* in FP32 and in FP64 */
        assert_true(after >= 1);
        assert_non_null(strstr(tess_solver_why(solver), "lu in fp32"));
        assert_non_null(
            strstr(tess_solver_why(solver), " s are left of the limit of time")); /* and what it would take */
    }
    assert_true(result.iterations > 0);
    tess_solver_destroy(solver);
    tess_matrix_destroy(cube);
    tess_vector_destroy(right);
    tess_vector_destroy(left);
    oracle_free(&skew);
    free(values);
}

static void test_automatic_goes_on_without_factors(void **state)
{
    (void)state;
    goes_on_without_factors(1.0);
    goes_on_without_factors(0x1p40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limit_is_over),
                                       cmocka_unit_test(test_new_values),
                                       cmocka_unit_test(test_factors_are_not_begun),
                                       cmocka_unit_test(test_automatic),
                                       cmocka_unit_test(test_interrupt),
                                       cmocka_unit_test(test_automatic_goes_on_without_factors)};

    return run_with_system(open_device(2), SIDE, tests, &ctx, &a, &b, &x);
}
