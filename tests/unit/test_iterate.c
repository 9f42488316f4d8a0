/* SPDX-License-Identifier: Apache-2.0 */
/* The iterate that a monitor copies has the residual norm that the monitor sees. */
#include "support/solve.h"

enum { EDGE = 12, N = EDGE * EDGE };

typedef struct watcher {
    tess_solver *solver;
    const oracle_csr *a;
    const double *b;
    double norms[2]; /* the largest difference of the iterate's residual norm and the monitor's; the largest norm */
    int calls;
    tess_status status;
} watcher;

static double residual_norm(const oracle_csr *a, const double *b, const double *x)
{
    double sum = 0.0;

    for (int64_t i = 0; i < a->nrows; i++) {
        double r = b[i];

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            r -= a->val[k] * x[a->col_ind[k]];
        }
        sum += r * r;
    }
    return sqrt(sum);
}

static int compare_norms(void *user, const tess_progress *progress)
{
    watcher *w = user;
    double x[N], norm = 0.0;

    w->status = tess_solver_get_iterate(w->solver, x);
    if (w->status != TESS_SUCCESS) { return 1; }
    norm = residual_norm(w->a, w->b, x);
    w->norms[0] = fmax(w->norms[0], fabs(norm - progress->residual_norm));
    w->norms[1] = fmax(w->norms[1], progress->residual_norm);
    w->calls += 1;
    return 0;
}

static tess_solve_result watch(tess_solver_kind kind, int exponent, watcher *w)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_laplace2d(EDGE);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = solve_options(kind);
    double *b = random_values(N, 3, -1.0, 1.0), *x = random_values(N, 4, -1.0, 1.0);
    tess_solve_result result;

    for (int i = 0; i < N; i++) {
        b[i] = ldexp(b[i], exponent);
        x[i] = ldexp(x[i], exponent);
    }
    options.monitor = compare_norms;
    options.monitor_user = w;
    *w = (watcher){.a = &a, .b = b};
    assert_ok(ctx, tess_solver_create(m, &options, &w->solver));
    result = solve_with(w->solver, ctx, N, b, x);
    result.history = NULL;
    assert_int_equal(tess_solver_get_iterate(w->solver, x), TESS_UNSUPPORTED); /* no monitor is running */
    assert_int_equal(tess_solver_get_iterate(w->solver, NULL), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_solver_get_iterate(NULL, x), TESS_INVALID_ARGUMENT);
    tess_solver_destroy(w->solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
    return result;
}

/* Recurrences drift by some roundoffs of the largest residual: 1e-12 is 4,500 of them. Exponent 400: scaled cycles. */
static void iterates_have_the_norms_that_monitors_see(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_MINRES, TESS_SOLVER_IDR};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int exponent = 0; exponent <= 400; exponent += 400) {
            watcher w;
            const tess_solve_result result = watch(kinds[k], exponent, &w);

            assert_true(result.converged);
            assert_true(w.calls >= result.iterations && w.calls > 5);
            assert_true(w.norms[0] <= 1e-12 * w.norms[1]);
        }
    }
}

static void others_say_that_they_have_none(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_GMRES, TESS_SOLVER_AUTO, TESS_SOLVER_LSMR, TESS_SOLVER_JACOBI};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        watcher w;

        watch(kinds[k], 0, &w);
        assert_int_equal(w.status, TESS_UNSUPPORTED);
        assert_int_equal(w.calls, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(iterates_have_the_norms_that_monitors_see),
                                       cmocka_unit_test(others_say_that_they_have_none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
