/* SPDX-License-Identifier: Apache-2.0 */
/* Time by phases: it adds up, sleeps are found in the phase that slept, failures leave no clock behind. */
#include <time.h>

#include "matrix/matrix.h"
#include "support/solve.h"

enum { SIDE = 20, N = SIDE * SIDE };

static const tess_solver_kind solvers[] = {TESS_SOLVER_CG,       TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                           TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD, TESS_SOLVER_MINRES,
                                           TESS_SOLVER_FGMRES,   TESS_SOLVER_IDR};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

static bool has_basis(tess_solver_kind kind)
{
    return kind == TESS_SOLVER_GMRES || kind == TESS_SOLVER_GMRES_IR || kind == TESS_SOLVER_GMRES_FD ||
           kind == TESS_SOLVER_FGMRES || kind == TESS_SOLVER_IDR;
}

/* The sum is that of TESS_PHASE_COUNT numbers, one of which is made by as many subtractions. Stamps are of whole
   nanoseconds, two for each loop: far below 1e-6 s. */
static void check_sum(const tess_solve_result *r)
{
    double sum = 0.0, size = fabs(r->solve_seconds);

    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        assert_true(r->phase_seconds[p] >= -1e-6);
        sum += r->phase_seconds[p];
        size += fabs(r->phase_seconds[p]);
    }
    assert_at_most(fabs(sum - r->solve_seconds), gamma_of(2.0 * TESS_PHASE_COUNT) * size);
}

static void check_phases(tess_context *ctx, tess_solve_options options, const oracle_csr *a, const double *b)
{
    const bool polynomial = options.precond.kind == TESS_PRECOND_POLYNOMIAL;
    double x[N] = {0.0};
    tess_solve_result r = solve_once(ctx, a, &options, b, x);

    assert_int_equal(r.reason, TESS_REASON_RTOL);
    assert_int_equal(r.timed, 1);
    check_sum(&r);
    assert_true(r.phase_seconds[TESS_PHASE_SPMV] > 0.0);
    assert_true(r.phase_seconds[TESS_PHASE_REFINEMENT] > 0.0);
    assert_true((r.phase_seconds[TESS_PHASE_PRECOND] > 0.0) == polynomial);
    assert_true((r.phase_seconds[TESS_PHASE_GEMV_T] > 0.0) == has_basis(options.solver));
    assert_true((r.phase_seconds[TESS_PHASE_GEMV_N] > 0.0) == has_basis(options.solver));
    /* the small problem, where a cycle ends, is no pass over the basis */
    assert_true(!has_basis(options.solver) || ctx->phase == TESS_PHASE_OTHER);
    assert_null(ctx->clock);
    options.timings = 0;
    memset(x, 0, sizeof x);
    r = solve_once(ctx, a, &options, b, x);
    assert_int_equal(r.timed, 0);
    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        assert_true(r.phase_seconds[p] == 0.0);
    }
}

static void phases_add_up(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_BF16};
    oracle_csr a = oracle_laplace2d(SIDE);
    double *b = random_values(N, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < SOLVERS * 16; k++) {
        tess_solve_options options = solve_options(solvers[k % SOLVERS]);
        const int variant = k / SOLVERS;

        options.timings = 1;
        if (is_gmres(options.solver)) {
            options.gmres.restart = 30;
            options.gmres.orthogonalization = (tess_orthogonalization)(variant & 1);
        }
        options.precond.kind = variant & 2 ? TESS_PRECOND_POLYNOMIAL : TESS_PRECOND_NONE;
        options.precond.polynomial.degree = 3;
        options.reorder = variant & 4 ? TESS_REORDERING_RCM : TESS_REORDERING_NONE;
        options.storage.precision = precisions[variant >> 3];
        check_phases(ctx, options, &a, b);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Nothing to solve, nothing to iterate. */
static void short_solves_add_up(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    double *b = random_values(N, 7, -1.0, 1.0), x[N] = {0.0}, zero[N] = {0.0};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < SOLVERS; k++) {
        tess_solve_options options = solve_options(solvers[k]);
        tess_solve_result r;

        options.timings = 1;
        r = solve_once(ctx, &a, &options, zero, x);
        assert_true(r.converged && r.timed == 1 && r.iterations == 0);
        check_sum(&r);
        options.max_iterations = 0;
        r = solve_once(ctx, &a, &options, b, x);
        assert_true(!r.converged && r.timed == 1);
        check_sum(&r);
        assert_true(r.phase_seconds[TESS_PHASE_SPMV] == 0.0);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* ---- functions that sleep ---- */

enum { PRODUCT_MILLISECONDS = 3, PRECOND_MILLISECONDS = 2, SMALL = 8 };

typedef struct sleeper {
    int products, preconds, fail_at; /* the number of the product that fails; 0: none */
} sleeper;

static void sleep_for(int milliseconds)
{
    const struct timespec pause = {0, milliseconds * 1000000L};

    nanosleep(&pause, NULL);
}

static int multiply_slowly(void *user, tess_operation operation, const double *x, double *y)
{
    sleeper *s = user;

    (void)operation;
    sleep_for(PRODUCT_MILLISECONDS);
    for (int i = 0; i < SMALL; i++) {
        y[i] = (1.0 + i % 3) * x[i];
    }
    s->products += 1;
    return s->products == s->fail_at;
}

static int precondition_slowly(void *user, const double *r, double *z)
{
    sleeper *s = user;

    sleep_for(PRECOND_MILLISECONDS);
    for (int i = 0; i < SMALL; i++) {
        z[i] = 0.5 * r[i];
    }
    s->preconds += 1;
    return 0;
}

/* Products between loops (of residuals) count as refinement; the first residual as other. */
static void sleeps_are_found_where_they_were(void **state)
{
    const double b[SMALL] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 4; k++) { /* cg, bicgstab, gmres both ways */
        tess_solve_options options = solve_options(solvers[k < 3 ? k : 2]);
        sleeper s = {0};
        const tess_shell_operator matrix = {.apply = multiply_slowly, .user = &s};
        const tess_shell_precond precond = {.apply = precondition_slowly, .user = &s};
        tess_matrix *m = NULL;
        tess_precond *p = NULL;
        tess_solver *solver = NULL;
        tess_solve_result r;
        double x[SMALL] = {0.0}, product = 1e-3 * PRODUCT_MILLISECONDS, between;

        options.timings = 1;
        options.gmres.orthogonalization = k == 3 ? TESS_ORTHOGONALIZATION_CGS2 : TESS_ORTHOGONALIZATION_CGS2_DELAYED;
        assert_ok(ctx, tess_matrix_create_shell(ctx, SMALL, SMALL, &matrix, &m));
        assert_ok(ctx, tess_precond_create_shell(ctx, SMALL, &precond, &p));
        assert_ok(ctx, tess_solver_create_with_precond(m, p, &options, &solver));
        s = (sleeper){0};
        r = solve_with(solver, ctx, SMALL, b, x);
        assert_int_equal(r.reason, TESS_REASON_RTOL);
        check_sum(&r);
        between = r.phase_seconds[TESS_PHASE_REFINEMENT];
        assert_true(between >= product);
        /* all products but the first residual, each in its phase */
        assert_at_most((s.products - 1) * product, r.phase_seconds[TESS_PHASE_SPMV] + between);
        assert_true(r.phase_seconds[TESS_PHASE_SPMV] >= (double)r.iterations * product);
        /* of GMRES the one that makes d is after the loop */
        assert_true(r.phase_seconds[TESS_PHASE_PRECOND] >= (s.preconds - (k >= 2)) * 1e-3 * PRECOND_MILLISECONDS);
        assert_true(r.phase_seconds[TESS_PHASE_OTHER] >= product);
        /* a product that fails leaves no clock, and the next solve is as good as any */
        s = (sleeper){.fail_at = 3};
        memset(x, 0, sizeof x);
        tess_vector *vb = make_vector(ctx, SMALL, b), *vx = make_zeros(ctx, SMALL);
        tess_solve_result_init(&r);
        assert_fails(ctx, TESS_CALLBACK, tess_solver_solve(solver, vb, vx, &r));
        assert_null(ctx->clock);
        tess_vector_destroy(vb);
        tess_vector_destroy(vx);
        r = solve_with(solver, ctx, SMALL, b, x);
        assert_int_equal(r.reason, TESS_REASON_RTOL);
        check_sum(&r);
        tess_solver_destroy(solver);
        tess_precond_destroy(p);
        tess_matrix_destroy(m);
    }
    tess_context_destroy(ctx);
}

/* ---- names ---- */

static void names_are_known(void **state)
{
    static const char *const names[TESS_PHASE_COUNT] = {"other", "spmv",    "gemv_t",    "gemv_n",
                                                        "norm",  "precond", "refinement"};
    tess_orthogonalization way = TESS_ORTHOGONALIZATION_CGS2;

    (void)state;
    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        assert_string_equal(tess_phase_name((tess_phase)p), names[p]);
    }
    assert_string_equal(tess_phase_name((tess_phase)TESS_PHASE_COUNT), "?");
    assert_int_equal(tess_orthogonalization_parse("cgs2-delayed", &way), TESS_SUCCESS);
    assert_int_equal(way, TESS_ORTHOGONALIZATION_CGS2_DELAYED);
    assert_int_equal(tess_orthogonalization_parse("cgs", &way), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_orthogonalization_parse("", &way), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_orthogonalization_parse("cgs2-delayed ", &way), TESS_INVALID_ARGUMENT);
    assert_int_equal(way, TESS_ORTHOGONALIZATION_CGS2_DELAYED);
    assert_int_equal(tess_orthogonalization_parse("cgs2", &way), TESS_SUCCESS);
    assert_int_equal(way, TESS_ORTHOGONALIZATION_CGS2);
    assert_string_equal(tess_orthogonalization_name(TESS_ORTHOGONALIZATION_CGS2_DELAYED), "cgs2-delayed");
    assert_string_equal(tess_orthogonalization_name((tess_orthogonalization)9), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_add_up),
        cmocka_unit_test(short_solves_add_up),
        cmocka_unit_test(sleeps_are_found_where_they_were),
        cmocka_unit_test(names_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
