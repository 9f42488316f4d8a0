/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: what a solve should take beside what it takes; solves that cannot fit. */
#include <tessera/estimate.h>
#include <tessera/gallery.h>
#include <tessera/io.h>

#include "base/context.h"
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
    assert_true(e.total == e.stored + e.precond + e.vectors + e.history);
    assert_true(e.matrix == tess_matrix_bytes(a) && e.spare > 0);
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    used = (double)ctx->held_bytes - before + 16.0 * N;
    if ((double)e.total < 0.6 * used || (double)e.total > 2.0 * used) {
        fail_msg("%s with %s: %g bytes estimated, %g used", tess_solver_kind_name(kind), precond, (double)e.total,
                 used);
    }
    tess_solver_destroy(solver);
}

static void estimates_are_near(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG,    TESS_SOLVER_BICGSTAB, TESS_SOLVER_MINRES,
                                             TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR, TESS_SOLVER_FGMRES,
                                             TESS_SOLVER_IDR,   TESS_SOLVER_LSQR};
    static const char *const preconds[] = {"jacobi", "block-jacobi:16", "polynomial:4", "ilu0",
                                           "ic0",    "iluk:1",          "amg",          "jacobi-sweeps:3"};
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(estimates_are_near),
                                       cmocka_unit_test(what_cannot_fit_is_refused),
                                       cmocka_unit_test(rows_without_entries_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
