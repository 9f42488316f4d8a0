/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: what a solve should take beside what it takes; solves that cannot fit. */
#include <tessera/advise.h>
#include <tessera/estimate.h>
#include <tessera/gallery.h>
#include <tessera/io.h>
#include <tessera/many.h>

#include "base/context.h"
#include "precond/direct/mumps.h"
#include "solver/many.h"
#include "support/gallery.h"
#include "support/solve.h"

enum { SIDE = 150, N = SIDE * SIDE };

static tess_solve_options options_of(tess_solver_kind solver, const char *precond)
{
    tess_solve_options o;

    tess_solve_options_init(&o);
    o.solver = solver;
    o.history_capacity = 1000;
    assert_int_equal(tess_precond_options_parse(precond, &o.precond), TESS_SUCCESS);
    if (solver == TESS_SOLVER_FGMRES) { o.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
    return o;
}

static void check_near(const char *precond, double estimated, double used)
{
    if (!(estimated >= 0.6 * used && estimated <= 2.0 * used)) {
        fail_msg("with %s: %g bytes estimated, %g used", precond, estimated, used);
    }
}

/* What the set-up leaves in use, beside what was estimated; b and x belong to the caller. */
static void check_estimate(const tess_matrix *a, tess_context *ctx, tess_solver_kind kind, const char *precond)
{
    const tess_solve_options o = options_of(kind, precond);
    const double before = (double)((tess_context *)ctx)->held_bytes;
    tess_solve_estimate e;
    tess_solver *solver = NULL;
    double used = 0.0;

    tess_solve_estimate_init(&e);
    assert_ok(ctx, tess_solve_estimate_memory(a, &o, &e));
    assert_true(e.total == e.stored + e.precond + e.setup + e.vectors + e.history);
    assert_true(e.matrix == tess_matrix_bytes(a) && e.spare > 0);
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    used = (double)ctx->held_bytes - before + 16.0 * N;
    check_near(precond, (double)(e.total - e.setup), used);
    tess_solver_destroy(solver);
}

static void estimates_are_near(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG,    TESS_SOLVER_BICGSTAB, TESS_SOLVER_MINRES,
                                             TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR, TESS_SOLVER_FGMRES,
                                             TESS_SOLVER_IDR,   TESS_SOLVER_LSQR};
    static const char *const preconds[] = {"jacobi", "block-jacobi:16", "polynomial:4", "ilu0",
                                           "ic0",    "iluk:1",          "amg",          "jacobi-sweeps:3",
                                           "fsai:2", "isai:2",          "fsai:adaptive"};
    oracle_csr laplacian = oracle_laplace2d(SIDE);
    tess_context *ctx = open_cpu(1);
    tess_matrix *a = make_matrix(ctx, &laplacian);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        check_estimate(a, ctx, kinds[k], "none");
    }
    for (size_t k = 0; k < sizeof preconds / sizeof *preconds; k++) {
        check_estimate(a, ctx, TESS_SOLVER_GMRES, preconds[k]);
    }
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
}

/* At its peak the set-up of an inverse takes more than what it keeps, with each thread. */
static void check_peak(const oracle_csr *matrix, int threads, const char *precond, tess_amg_smoother smoother)
{
    tess_context *ctx = open_cpu(threads);
    tess_matrix *a = make_matrix(ctx, matrix);
    tess_solve_options o = options_of(TESS_SOLVER_CG, precond);
    const double before = (double)ctx->held_bytes;
    tess_solve_estimate e;
    tess_solver *solver = NULL;

    o.precond.amg.smoother = smoother;
    tess_solve_estimate_init(&e);
    assert_ok(ctx, tess_solve_estimate_memory(a, &o, &e));
    ctx->peak_bytes = ctx->held_bytes;
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    check_near(precond, (double)e.total, (double)ctx->peak_bytes - before + 16.0 * (double)matrix->nrows);
    tess_solver_destroy(solver);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
}

static void peaks_of_inverses_are_near(void **state)
{
    static const char *const preconds[] = {"fsai:1", "fsai:2", "fsai:3", "isai:2", "fsai:adaptive"};
    oracle_csr problems[] = {oracle_laplace2d(SIDE), generate_problem("laplace3d27 24", 1)};

    (void)state;
    for (int p = 0; p < 2; p++) {
        for (size_t k = 0; k < sizeof preconds / sizeof *preconds; k++) {
            check_peak(&problems[p], 2, preconds[k], TESS_AMG_SMOOTHER_AUTO);
        }
        check_peak(&problems[p], 12, "fsai:adaptive", TESS_AMG_SMOOTHER_AUTO);
        check_peak(&problems[p], 2, "amg", TESS_AMG_FSAI);
        oracle_free(&problems[p]);
    }
}

/* Of rows of one length, of rows that differ, and of hubs, whose rows become nearly dense. */
static void fill_is_near(void **state)
{
    static const char *const problems[] = {"laplace3d 24", "randomspd 3000", "powerlaw 600"};

    (void)state;
    for (int p = 0; p < 3; p++) {
        oracle_csr matrix = generate_problem(problems[p], 1);

        for (int level = 1; level <= 3; level++) {
            char precond[16];

            (void)snprintf(precond, sizeof precond, "iluk:%d", level);
            check_peak(&matrix, 2, precond, TESS_AMG_SMOOTHER_AUTO);
        }
        oracle_free(&matrix);
    }
}

/* 10^6 vectors of 10^6 values are 8 TB. */
static void what_cannot_fit_is_refused(void **state)
{
    const char *side = "1000";
    tess_context *ctx = open_cpu(2);
    tess_solve_options o = options_of(TESS_SOLVER_GMRES, "none");
    tess_matrix *a = NULL;
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_gallery_create(ctx, "laplace2d", 1, &side, &a));
    o.gmres.restart = 1 << 20;
    assert_fails(ctx, TESS_OUT_OF_MEMORY, tess_solver_create(a, &o, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "GB for vectors"));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "--restart"));
    o.gmres.restart = 10;
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    tess_solver_destroy(solver);
    o = options_of(TESS_SOLVER_CG, "fsai:adaptive"); /* columns of each thread */
    ctx->threads = 1 << 20;
    assert_fails(ctx, TESS_OUT_OF_MEMORY, tess_solver_create(a, &o, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "GB more to set it up"));
    ctx->threads = 2;
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
}

/* ---- requests ---- */

static void refuse(const tess_matrix *a, tess_context *ctx, tess_status status, tess_solve_options o, const char *text)
{
    tess_solve_estimate e;
    tess_solver *solver = NULL;

    tess_solve_estimate_init(&e);
    assert_fails(ctx, status, tess_solve_estimate_memory(a, &o, &e));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, text));
    assert_fails(ctx, status, tess_solver_create(a, &o, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, text));
}

/* As tess_solver_create refuses it, in the same words. */
static void what_no_solve_takes_has_no_estimate(void **state)
{
    oracle_csr laplacian = oracle_laplace2d(6), wide = oracle_open(2, 3);
    tess_context *ctx = open_cpu(1);
    tess_solve_options o = options_of(TESS_SOLVER_CG, "none");
    tess_matrix *a = make_matrix(ctx, &laplacian), *b = NULL;

    (void)state;
    oracle_push(&wide, 0, 1.0);
    oracle_end_row(&wide, 0);
    oracle_push(&wide, 2, 1.0);
    oracle_end_row(&wide, 1);
    b = make_matrix(ctx, &wide);
    refuse(a, ctx, TESS_INVALID_ARGUMENT, options_of(TESS_SOLVER_LSQR, "ilu0"), "takes no preconditioner but jacobi");
    refuse(b, ctx, TESS_DIMENSION_MISMATCH, o, "needs a square matrix");
    o.gmres.restart = 7;
    refuse(a, ctx, TESS_INVALID_ARGUMENT, o, "--restart is for");
    o = options_of(TESS_SOLVER_CG, "none");
    o.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
    refuse(a, ctx, TESS_INVALID_ARGUMENT, o, "policy mean-range");
    tess_matrix_destroy(a);
    tess_matrix_destroy(b);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
    oracle_free(&wide);
}

/* The numbers are those of the attempt by hand. */
static void check_first(const tess_matrix *a, tess_context *ctx, const tess_solve_options *o)
{
    tess_solve_estimate automatic, named;
    tess_advice advice;
    tess_solve_options first = *o;

    tess_solve_estimate_init(&automatic);
    tess_solve_estimate_init(&named);
    tess_advice_init(&advice);
    assert_ok(ctx, tess_advise(a, o, &advice));
    assert_true(advice.count > 0);
    assert_ok(ctx, tess_advised_options(&advice.attempt[0], &first));
    assert_ok(ctx, tess_solve_estimate_memory(a, o, &automatic));
    assert_ok(ctx, tess_solve_estimate_memory(a, &first, &named));
    assert_int_equal(automatic.solver, advice.attempt[0].solver);
    assert_int_equal(automatic.precond_kind, advice.attempt[0].precond);
    assert_true(automatic.total == named.total && automatic.precond == named.precond);
}

static void automatic_estimates_are_of_the_first_advice(void **state)
{
    static const char *const problems[] = {"indefinite", "skew", "laplace2d"};
    const char *size = "40", *bad = "9";
    tess_context *ctx = open_cpu(1);
    tess_solve_options o;
    tess_solve_estimate e;
    tess_matrix *a = NULL;

    (void)state;
    tess_solve_options_init(&o);
    tess_solve_estimate_init(&e);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        assert_ok(ctx, tess_gallery_create(ctx, problems[i], 1, &size, &a));
        o.precond.kind = TESS_PRECOND_AUTO;
        check_first(a, ctx, &o);
        o.precond.kind = TESS_PRECOND_POLYNOMIAL;
        check_first(a, ctx, &o);
        tess_matrix_destroy(a);
    }
    o.precond.kind = TESS_PRECOND_AUTO;
    o.scale = TESS_SCALING_SYMMETRIC; /* and the other system */
    assert_ok(ctx, tess_gallery_create(ctx, "indefinite", 1, &size, &a));
    assert_ok(ctx, tess_solve_estimate_memory(a, &o, &e));
    assert_true(e.solver == TESS_SOLVER_MINRES && e.vectors > 10 * 8 * 40);
    tess_matrix_destroy(a);
    o.scale = TESS_SCALING_NONE;
    assert_ok(ctx, tess_gallery_create(ctx, "nan", 1, &bad, &a)); /* no advice */
    assert_ok(ctx, tess_solve_estimate_memory(a, &o, &e));
    assert_int_equal(e.solver, TESS_SOLVER_CG);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
}

/* A file of 69 bytes must not take memory for the rows that it announces. */
static void rows_without_entries_are_refused(void **state)
{
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n2147483647 2147483647 1\n1 1 1\n";
    tess_context *ctx = open_cpu(1);
    tess_matrix *a = NULL;

    (void)state;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_read_memory(ctx, "few.mtx", text, sizeof text - 1, &a, NULL));
    assert_int_equal(tess_context_last_error(ctx)->line, 2);
    assert_true(tess_context_peak_bytes(ctx) < 100000000);
    tess_context_destroy(ctx);
}

/* MUMPS counts in megabytes: 0 for small factors. */
static void small_factors_count(void **state)
{
    static const char *const preconds[] = {"lu", "cholesky"};
    oracle_csr laplacian = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);
    tess_matrix *a = make_matrix(ctx, &laplacian);

    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_solve_options o = options_of(TESS_SOLVER_FGMRES, preconds[k]);
        tess_precond_factors facts = {.size = sizeof facts};
        tess_precond *m = NULL;
        tess_solve_estimate e;

        tess_solve_estimate_init(&e);
        assert_ok(ctx, tess_solve_estimate_memory(a, &o, &e));
        if (!mumps_is_here()) {
            assert_true(e.precond == 0);
            continue;
        }
        assert_ok(ctx, tess_precond_create(a, &o.precond, &m));
        assert_ok(ctx, tess_precond_get_factors(m, &facts));
        assert_true(e.precond >= 4 * facts.nonzeros);
        assert_true(e.precond < 100 * facts.nonzeros);
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
}

/* ---- several columns ---- */

/* What a solve of k columns holds at its peak beside what it was given, and the columns that it takes at once. Its few
   iterations need all of that. */
static void check_columns(tess_context *ctx, const tess_matrix *a, tess_solver_kind kind, const char *precond, int k)
{
    tess_solve_options o = options_of(kind, precond);
    const double before = (double)ctx->held_bytes;
    double *b = random_values((int64_t)N * k, 3, -1.0, 1.0), *x = test_allocate((int64_t)N * k, sizeof *x);
    const tess_columns right = tess_columns_by_column(N, k, b, TESS_MEMORY_HOST);
    const tess_columns solution = tess_columns_by_row(N, k, x, TESS_MEMORY_HOST);
    tess_solve_result *results = test_allocate(k, sizeof *results);
    tess_solver *solver = NULL;
    tess_solve_estimate e, one;
    double used = 0.0;

    tess_solve_estimate_init(&e);
    tess_solve_estimate_init(&one);
    for (int c = 0; c < k; c++) {
        tess_solve_result_init(&results[c]);
    }
    o.max_iterations = 5;
    assert_ok(ctx, tess_solve_estimate_columns(a, &o, k, &e));
    assert_ok(ctx, tess_solve_estimate_columns(a, &o, 1, &one));
    assert_true(one.together == 0 && one.loop == 0 && one.arrays == 0);
    assert_true(e.total == one.total + e.loop + e.arrays && e.arrays == 16 * (int64_t)N * k);
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    assert_true(e.together == tess_solver_columns_together(solver, k));
    ctx->peak_bytes = ctx->held_bytes;
    assert_ok(ctx, tess_solver_solve_many(solver, &right, &solution, results));
    used = (double)tess_context_peak_bytes(ctx) - before;
    if (!((double)(e.total - e.arrays) >= 0.6 * used && (double)(e.total - e.arrays) <= 2.0 * used)) {
        fail_msg("%s with %s: %g bytes estimated, %g used", tess_solver_kind_name(kind), precond,
                 (double)(e.total - e.arrays), used);
    }
    tess_solver_destroy(solver);
    free(b);
    free(x);
    free(results);
}

static void several_columns_are_told(void **state)
{
    oracle_csr laplacian = oracle_laplace2d(SIDE);
    tess_context *ctx = open_cpu(2);
    tess_matrix *a = make_matrix(ctx, &laplacian);
    tess_solve_options o = options_of(TESS_SOLVER_CG, "jacobi");
    tess_solve_estimate e;

    (void)state;
    check_columns(ctx, a, TESS_SOLVER_CG, "jacobi", 9);
    check_columns(ctx, a, TESS_SOLVER_CG, "jacobi", 3);
    check_columns(ctx, a, TESS_SOLVER_CG, "amg", 8);
    check_columns(ctx, a, TESS_SOLVER_BICGSTAB, "ilu0", 2);
    check_columns(ctx, a, TESS_SOLVER_BLOCK_CG, "ic0", 4);
    if (mumps_is_here()) { check_columns(ctx, a, TESS_SOLVER_FGMRES, "lu", 4); }
    tess_solve_estimate_init(&e);
    o.guard = TESS_GUARD_REPORT;
    assert_ok(ctx, tess_solve_estimate_columns(a, &o, 8, &e));
    assert_int_equal(e.together, 1);
    for (int k = 0; k < 2; k++) {
        const int64_t wrong[] = {0, INT64_C(1) << 40};

        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solve_estimate_columns(a, &o, wrong[k], &e));
    }
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
}

/* Two columns of 360,000 unknowns, with 20 vectors, take 58 MB. */
static int64_t little(tess_context *ctx)
{
    (void)ctx;
    return INT64_C(60000000);
}

static void short_memory_cuts_the_columns(void **state)
{
    const char *side = "600";
    const many_need need = {.n = 1000, .history = 10, .alone = 4, .shared = 4, .shrinks = true};
    tess_context *ctx = open_cpu(2);
    const tess_backend *kept = ctx->backend;
    tess_backend poor = *kept;
    tess_solve_options o = options_of(TESS_SOLVER_CG, "none");
    tess_matrix *a = NULL;
    tess_solver *solver = NULL;

    (void)state;
    assert_true(many_loop_bytes(&need, 8) == 8 * (1000 * (4 * 8 + 4 * 12) + 80));
    assert_int_equal(many_that_fit(&need, 7, INT64_MAX), 7);
    assert_int_equal(many_that_fit(&need, 7, many_loop_bytes(&need, 7) - 1), 4);
    assert_int_equal(many_that_fit(&need, 7, 0), 1);
    assert_ok(ctx, tess_gallery_create(ctx, "laplace2d", 1, &side, &a));
    o.history_capacity = 0;
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    assert_int_equal(tess_solver_columns_together(solver, 32), 8);
    poor.spare = little;
    ctx->backend = &poor;
    assert_int_equal(tess_solver_columns_together(solver, 32), 2);
    ctx->backend = kept;
    tess_solver_destroy(solver);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(estimates_are_near),
                                       cmocka_unit_test(peaks_of_inverses_are_near),
                                       cmocka_unit_test(fill_is_near),
                                       cmocka_unit_test(what_cannot_fit_is_refused),
                                       cmocka_unit_test(what_no_solve_takes_has_no_estimate),
                                       cmocka_unit_test(automatic_estimates_are_of_the_first_advice),
                                       cmocka_unit_test(rows_without_entries_are_refused),
                                       cmocka_unit_test(small_factors_count),
                                       cmocka_unit_test(several_columns_are_told),
                                       cmocka_unit_test(short_memory_cuts_the_columns)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
