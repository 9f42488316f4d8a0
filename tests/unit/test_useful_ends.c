/* SPDX-License-Identifier: Apache-2.0 */
/* Solves that do not converge and still return a useful x: the last iterate, least residuals of inconsistent systems,
   the part at fault; and calls from a monitor. */
#include <tessera/findings.h>

#include "support/solve.h"

enum { SIDE = 20, N = SIDE * SIDE };

/* The Laplacian of `parts` grids without boundary; of the first one, row 0 is held if `held`. Each sums to 0. */
static oracle_csr neumann(int parts, bool held)
{
    oracle_csr a = oracle_open(parts * N, parts * N);

    for (int k = 0; k < parts * N; k++) {
        const int i = k % N / SIDE, j = k % SIDE;
        const int degree = (i > 0) + (i + 1 < SIDE) + (j > 0) + (j + 1 < SIDE);

        if (i > 0) { oracle_push(&a, k - SIDE, -1.0); }
        if (j > 0) { oracle_push(&a, k - 1, -1.0); }
        oracle_push(&a, k, degree + (held && k == 0 ? 1.0 : 0.0));
        if (j + 1 < SIDE) { oracle_push(&a, k + 1, -1.0); }
        if (i + 1 < SIDE) { oracle_push(&a, k + SIDE, -1.0); }
        oracle_end_row(&a, k);
    }
    return a;
}

static tess_solve_result solve(tess_context *ctx, const oracle_csr *a, const double *b, tess_solve_options o, double *x)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = make_zeros(ctx, a->nrows), *vx = make_zeros(ctx, a->nrows);
    tess_solver *solver = NULL;
    tess_solve_result r;

    tess_solve_result_init(&r);
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_solver_create(m, &o, &solver));
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &r));
    assert_ok(ctx, tess_vector_get(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_solver_destroy(solver);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    return r;
}

/* CG minimises the energy of the error, whose residual may grow: after five steps that of b = 1 is above ||b||. */
static void the_last_iterate_is_an_option(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    double b[N], best[N], last[N], energy = 0.0;
    tess_context *ctx = open_cpu(1);
    tess_solve_options o = solve_options(TESS_SOLVER_CG);
    tess_solve_result r;

    (void)state;
    for (int i = 0; i < N; i++) {
        b[i] = 1.0;
    }
    o.rtol = 1e-10;
    o.max_iterations = 5;
    r = solve(ctx, &a, b, o, best);
    assert_true(!r.converged && r.relative_residual == 1.0 && best[0] == 0.0);
    o.return_last = 1;
    r = solve(ctx, &a, b, o, last);
    assert_true(!r.converged && r.reason == TESS_REASON_ITERATIONS && r.relative_residual > 1.0);
    for (int i = 0; i < N; i++) {
        energy += last[i]; /* b^T x = x^T A x of an iterate of CG, which grows with each step */
    }
    assert_true(energy > (double)N);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* b misses the range by eps times the vector of ones: the least residual is eps sqrt(n), and x that of b without it. */
static void slightly_inconsistent_systems_have_the_least_residual(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_MINRES, TESS_SOLVER_CG, TESS_SOLVER_AUTO};
    static const double eps[] = {1e-3, 1e-6, 1e-9, 1e-12,
                                 3e-14}; /* A sums to 0 exactly, and so does the sum of b tell */
    oracle_csr a = neumann(1, false);
    double *f = random_values(N, 7, -1.0, 1.0), b[N], x[N], mean = 0.0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = 0; i < N; i++) {
        mean += f[i] / N;
    }
    for (int k = 0; k < 15; k++) {
        tess_solve_options o = solve_options(kinds[k % 3]);
        tess_solve_result r;

        for (int i = 0; i < N; i++) {
            b[i] = f[i] - mean + eps[k / 3];
        }
        o.rtol = 1e-14;
        o.max_iterations = 3000;
        r = solve(ctx, &a, b, o, x);
        assert_false(r.converged);
        assert_int_equal(r.reason, TESS_REASON_STAGNATION);
        assert_at_most(r.residual_norm, 1.01 * eps[k / 3] * sqrt((double)N));
        assert_at_most((double)r.iterations, 2.0 * N);
    }
    free(f);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void multiply(const oracle_csr *a, const double *x, double *y)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = 0.0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            y[i] += a->val[k] * x[a->col_ind[k]];
        }
    }
}

/* D A D with D = diag(d): its null vector is 1 / d, which no sum shows. b is in the range but for eps times that vector
   of length 1. MINRES ends with the least residual, and so does the one that hands out a last iterate. */
static void minres_ends_with_the_least_residual(void **state)
{
    static const double eps[] = {1e-3, 1e-6, 1e-9, 1e-12};
    oracle_csr a = neumann(1, false);
    double *d = random_values(N, 3, 0.5, 2.0), *t = random_values(N, 5, -1.0, 1.0), b[N], x[N];
    double size = 0.0, of_null = 0.0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = 0; i < N; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= d[i] * d[a.col_ind[k]];
        }
        of_null += 1.0 / (d[i] * d[i]);
    }
    multiply(&a, t, x);
    size = (double)oracle_norm2(x, N);
    for (int k = 0; k < 8; k++) {
        tess_solve_options o = solve_options(TESS_SOLVER_MINRES);
        tess_solve_result r;

        multiply(&a, t, b);
        for (int i = 0; i < N; i++) {
            b[i] = b[i] / size + eps[k / 2] / d[i] / sqrt(of_null);
        }
        o.rtol = 1e-14;
        o.max_iterations = 10 * N;
        o.return_last = k % 2 == 0 ? 0 : 2;
        r = solve(ctx, &a, b, o, x);
        assert_false(r.converged);
        assert_int_equal(r.reason, TESS_REASON_STAGNATION);
        assert_at_most(r.residual_norm, 1.01 * eps[k / 2] + 1e-14);
    }
    free(d);
    free(t);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Two parts: of the first one sums tell, of the second, D A D, only MINRES. b misses the range of both; also with
   values in FP16, which are not judged at pauses. */
static void both_kinds_of_inconsistency(void **state)
{
    oracle_csr a = neumann(2, false);
    double *d = random_values(2 * N, 3, 0.5, 2.0), *t = random_values(2 * N, 5, -1.0, 1.0);
    double *b = test_allocate(2 * N, sizeof *b), *x = test_allocate(2 * N, sizeof *x), of_null = 0.0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = 0; i < 2 * N; i++) {
        d[i] = i < N ? 1.0 : d[i];
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= i < N ? 1.0 : d[i] * d[a.col_ind[k]];
        }
        of_null += i < N ? 0.0 : 1.0 / (d[i] * d[i]);
    }
    multiply(&a, t, b);
    for (int i = 0; i < 2 * N; i++) {
        b[i] += i < N ? 3e-3 / SIDE : 4e-3 / d[i] / sqrt(of_null);
    }
    for (int low = 0; low < 2; low++) {
        tess_solve_options o = solve_options(TESS_SOLVER_MINRES);
        tess_solve_result r;

        o.rtol = 1e-12;
        o.max_iterations = 20 * N;
        if (low) { o.storage.precision = TESS_PRECISION_FP16; }
        r = solve(ctx, &a, b, o, x);
        assert_false(r.converged);
        assert_at_most(r.residual_norm, 1.01 * 5e-3);
    }
    free(d);
    free(t);
    free(b);
    free(x);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* One eigenvalue of 4e-15 beside others from 1 to 4: for some iterations ||A r|| is below 1e-7 ||r||, as of a system
   without a solution, and then r falls. Pauses change nothing of it, also with a residual that cycles scale. */
static void pauses_end_no_cycle_that_falls(void **state)
{
    enum { ROWS = 60 };
    double values[ROWS], b[ROWS], x[ROWS];
    tess_context *ctx = open_cpu(1);
    tess_solve_options o = solve_options(TESS_SOLVER_MINRES);

    (void)state;
    o.rtol = 0.3;
    for (int kind = 0; kind < 3; kind++) {
        oracle_csr a;
        tess_solve_result r;

        for (int i = 0; i < ROWS; i++) {
            values[i] = i == 0 ? 4e-15 : 1.0 + 3.0 * i / ROWS;
            b[i] = (i == 0 ? 10.0 : 1.0) * (kind == 1 ? 1e-200 : 1.0);
        }
        a = oracle_diagonal(ROWS, values);
        o.guard = kind == 2 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
        r = solve(ctx, &a, b, o, x);
        assert_true(r.verified && r.refinements == 0);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* Named methods, with one consistent and one inconsistent part. */
static void named_methods_leave_out_what_no_x_changes(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_MINRES, TESS_SOLVER_BICGSTAB,
                                             TESS_SOLVER_GMRES, TESS_SOLVER_IDR};
    oracle_csr a = neumann(2, true);
    double *b = random_values(2 * N, 9, -1.0, 1.0), *x = test_allocate(2 * N, sizeof *x), sum = 0.0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = N; i < 2 * N; i++) {
        sum += b[i];
    }
    for (int k = 0; k < 5; k++) {
        tess_solve_options o = solve_options(kinds[k]);
        tess_solve_result r;

        o.rtol = 1e-8;
        o.max_iterations = 4000;
        if (is_gmres(o.solver)) { o.gmres.restart = 100; }
        r = solve(ctx, &a, b, o, x);
        assert_int_equal(r.reason, TESS_REASON_STAGNATION);
        assert_at_most(r.residual_norm, 1.01 * fabs(sum) / SIDE);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* After a breakdown the best iterate, at the limit of iterations the last one. */
static void the_last_iterate_only_at_the_limit(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    double b[N], x[N], best[N];
    tess_context *ctx = open_cpu(1);
    tess_solve_options o = solve_options(TESS_SOLVER_CG);
    tess_solve_result r;

    (void)state;
    for (int i = 0; i < N; i++) {
        b[i] = 1.0;
    }
    o.rtol = 1e-10;
    o.max_iterations = 5;
    o.return_last = 2;
    r = solve(ctx, &a, b, o, x);
    assert_true(r.reason == TESS_REASON_ITERATIONS && r.relative_residual > 1.0);
    for (int64_t k = 0; k < a.nnz; k++) {
        if (a.val[k] > 0.0) { a.val[k] -= 0.1; } /* indefinite */
    }
    o.max_iterations = 1000;
    r = solve(ctx, &a, b, o, x);
    assert_int_equal(r.reason, TESS_REASON_INDEFINITE_MATRIX);
    assert_at_most(r.relative_residual, 1.0);
    o.return_last = 0;
    (void)solve(ctx, &a, b, o, best);
    assert_memory_equal(x, best, sizeof best);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* One part holds a row and has a solution for any b, the other none. The same with a b that sums to 0 there. */
static void the_inconsistent_part_is_named(void **state)
{
    oracle_csr a = neumann(2, true);
    double *b = random_values(2 * N, 9, -1.0, 1.0), *x = test_allocate(2 * N, sizeof *x), sum = 0.0;
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *vb = make_zeros(ctx, 2 * N);
    tess_solve_options o = solve_options(TESS_SOLVER_AUTO);
    tess_solve_result r;
    tess_findings f;

    (void)state;
    o.rtol = 1e-8;
    r = solve(ctx, &a, b, o, x);
    assert_int_equal(r.reason, TESS_REASON_STAGNATION);
    tess_findings_init(&f);
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_find_problems(m, vb, NULL, &f));
    assert_true(f.inconsistent_rows.count == N && f.inconsistent_rows.row == N);
    for (int i = N; i < 2 * N; i++) {
        sum += b[i];
    }
    assert_at_most(fabs(f.inconsistency * (double)oracle_norm2(b, 2 * N) - fabs(sum) / SIDE), 1e-12);
    assert_at_most(r.residual_norm, 1.02 * fabs(sum) / SIDE);
    for (int i = N; i < 2 * N; i++) {
        b[i] -= sum / N;
    }
    r = solve(ctx, &a, b, o, x);
    assert_true(r.verified);
    tess_findings_init(&f);
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_find_problems(m, vb, NULL, &f));
    assert_true(f.inconsistency == 0.0 && f.inconsistent_rows.count == 0);
    tess_vector_destroy(vb);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

typedef struct caller {
    tess_solver *solver;
    tess_vector *b, *x;
    bool destroys;
} caller;

static int call(void *user, const tess_progress *progress)
{
    caller *c = user;
    tess_solve_options o = solve_options(TESS_SOLVER_CG);
    tess_solve_result r;

    (void)progress;
    tess_solve_result_init(&r);
    assert_int_equal(tess_solver_solve(c->solver, c->b, c->x, &r), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_solver_set_limits(c->solver, &o), TESS_INVALID_ARGUMENT);
    if (c->destroys) { tess_solver_destroy(c->solver); }
    return 0;
}

static void a_monitor_cannot_change_its_solver(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    caller c = {.b = make_zeros(ctx, N), .x = make_zeros(ctx, N)};
    tess_solve_options o = solve_options(TESS_SOLVER_CG);
    tess_solve_result r;

    (void)state;
    o.monitor = call;
    o.monitor_user = &c;
    assert_ok(ctx, tess_vector_fill(c.b, 1.0));
    assert_ok(ctx, tess_solver_create(m, &o, &c.solver));
    for (int k = 0; k < 2; k++) {
        tess_solve_result_init(&r);
        assert_ok(ctx, tess_vector_fill(c.x, 0.0));
        c.destroys = k == 1;
        assert_ok(ctx, tess_solver_solve(c.solver, c.b, c.x, &r));
        assert_true(r.verified);
    }
    tess_vector_destroy(c.b);
    tess_vector_destroy(c.x);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_iterate_is_an_option),
        cmocka_unit_test(slightly_inconsistent_systems_have_the_least_residual),
        cmocka_unit_test(minres_ends_with_the_least_residual),
        cmocka_unit_test(both_kinds_of_inconsistency),
        cmocka_unit_test(pauses_end_no_cycle_that_falls),
        cmocka_unit_test(named_methods_leave_out_what_no_x_changes),
        cmocka_unit_test(the_last_iterate_only_at_the_limit),
        cmocka_unit_test(the_inconsistent_part_is_named),
        cmocka_unit_test(a_monitor_cannot_change_its_solver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
