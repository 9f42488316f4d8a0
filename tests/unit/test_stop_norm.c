/* SPDX-License-Identifier: Apache-2.0 */
/* The norm that a solve stops by: rows that a penalty hides are solved where they count, and said to be unsolved where
   they do not. */
#include "support/solve.h"

enum { K = 12, N = K * K };

typedef struct penalty_system {
    oracle_csr a;
    double *b, *x; /* x: the solution by dense LU */
} penalty_system;

/* The Poisson problem on a grid; its edge is held at values from 1 to 2 by a penalty on the diagonal. */
static penalty_system penalty_of(double penalty)
{
    penalty_system s = {oracle_laplace2d(K), test_allocate(N, sizeof(double)), test_allocate(N, sizeof(double))};

    for (int64_t i = 0; i < N; i++) {
        const bool edge = i / K == 0 || i / K == K - 1 || i % K == 0 || i % K == K - 1;

        s.b[i] = edge ? penalty * (1.0 + (double)i / N) : 0.0;
        for (int64_t k = s.a.row_ptr[i]; k < s.a.row_ptr[i + 1]; k++) {
            if (edge && s.a.col_ind[k] == i) { s.a.val[k] += penalty; }
        }
    }
    assert_true(oracle_solve_dense(&s.a, s.b, s.x));
    return s;
}

static void free_system(penalty_system *s)
{
    oracle_free(&s->a);
    free(s->b);
    free(s->x);
}

/* ||x - x*|| / ||x*||, and the result, of a solve. */
static double solve_penalty(const penalty_system *s, const tess_solve_options *o, tess_solve_result *r)
{
    tess_context *ctx = open_cpu(2);
    double x[N] = {0.0}, error[N];

    *r = solve_once(ctx, &s->a, o, s->b, x);
    for (int i = 0; i < N; i++) {
        error[i] = x[i] - s->x[i];
    }
    tess_context_destroy(ctx);
    return (double)(oracle_norm2(error, N) / oracle_norm2(s->x, N));
}

static const double penalties[] = {1e6, 1e12, 1e30};

static void auto_sees_all_rows(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof penalties / sizeof *penalties; p++) {
        penalty_system s = penalty_of(penalties[p]);
        tess_solve_options o = solve_options(TESS_SOLVER_AUTO);
        tess_solve_result r;

        o.rtol = 1e-8;
        assert_at_most(solve_penalty(&s, &o, &r), 1e-5); /* rtol times a condition of some 100 */
        assert_true(r.converged && r.verified && r.rows.met && r.stop_norm == TESS_STOP_NORM_BOTH);
        free_system(&s);
    }
}

/* The norm as given is met at once, and the result says what it hides. */
static void the_norm_as_given_is_not_verified(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof penalties / sizeof *penalties; p++) {
        penalty_system s = penalty_of(penalties[p]);
        tess_solve_options o = solve_options(TESS_SOLVER_CG);
        tess_solve_result r;

        o.rtol = 1e-5;
        o.precond.kind = TESS_PRECOND_JACOBI;
        assert_true(solve_penalty(&s, &o, &r) > 0.01);
        assert_true(r.converged && !r.verified && !r.rows.met && r.stop_norm == TESS_STOP_NORM_GIVEN);
        assert_true(r.rows.norm > TESS_ROWS_SLACK * r.rows.tolerance);
        assert_true(r.rows.backward_error > 0.1 && r.rows.backward_row >= 0);
        free_system(&s);
    }
}

static void named_methods_meet_the_norm_that_is_asked_for(void **state)
{
    static const tess_stop_norm norms[] = {TESS_STOP_NORM_ROWS, TESS_STOP_NORM_BOTH, TESS_STOP_NORM_PRECONDITIONED};
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_MINRES,
                                               TESS_SOLVER_GMRES};

    (void)state;
    for (size_t c = 0; c < 12; c++) {
        penalty_system s = penalty_of(1e6);
        tess_solve_options o = solve_options(solvers[c % 4]);
        tess_solve_result r;

        o.rtol = 1e-8;
        o.stop_norm = norms[c / 4];
        o.precond.kind = TESS_PRECOND_JACOBI;
        assert_at_most(solve_penalty(&s, &o, &r), 1e-5);
        assert_true(r.converged && r.stop_norm == norms[c / 4]);
        assert_true(o.stop_norm == TESS_STOP_NORM_PRECONDITIONED || (r.verified && r.rows.met));
        free_system(&s);
    }
}

/* A scaled system solves all rows, with the norm as given too. */
static void scaled_rows(void **state)
{
    static const tess_scaling scalings[] = {TESS_SCALING_SYMMETRIC, TESS_SCALING_ROWS};

    (void)state;
    for (size_t c = 0; c < sizeof scalings / sizeof *scalings; c++) {
        penalty_system s = penalty_of(1e30);
        tess_solve_options o = solve_options(c == 0 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);
        tess_solve_result r;

        o.rtol = 1e-8;
        o.scale = scalings[c];
        o.stop_norm = TESS_STOP_NORM_BOTH;
        assert_at_most(solve_penalty(&s, &o, &r), 1e-5);
        assert_true(r.verified && r.rows.met);
        free_system(&s);
    }
}

/* Rows of one size: the second norm takes no iteration more. */
static void rows_of_one_size_cost_nothing(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double b[400], x[400], again[400];
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int kind = 0; kind < LOOP_METHODS; kind++) {
        tess_solve_options o = solve_options(loop_methods[kind]);
        tess_solve_result given, both;

        memset(x, 0, sizeof x);
        memset(again, 0, sizeof again);
        for (int i = 0; i < 400; i++) {
            b[i] = 1.0;
        }
        given = solve_once(ctx, &a, &o, b, x);
        o.stop_norm = TESS_STOP_NORM_BOTH;
        both = solve_once(ctx, &a, &o, b, again);
        assert_true(given.verified && both.verified && given.rows.met);
        assert_int_equal(given.iterations, both.iterations);
        assert_memory_equal(x, again, sizeof x);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void check_refused(const tess_solve_options *o, tess_status expected)
{
    oracle_csr a = oracle_laplace2d(4);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;

    assert_fails(ctx, expected, tess_solver_create(m, o, &solver));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void impossible_norms_are_refused(void **state)
{
    tess_solve_options o = solve_options(TESS_SOLVER_LSQR);

    (void)state;
    o.stop_norm = TESS_STOP_NORM_ROWS;
    check_refused(&o, TESS_INVALID_ARGUMENT);
    o = solve_options(TESS_SOLVER_CG);
    o.stop_norm = TESS_STOP_NORM_PRECONDITIONED;
    check_refused(&o, TESS_INVALID_ARGUMENT); /* without a preconditioner */
    o.precond.kind = TESS_PRECOND_JACOBI;
    o.scale = TESS_SCALING_SYMMETRIC;
    check_refused(&o, TESS_INVALID_ARGUMENT);
    o.scale = TESS_SCALING_NONE;
    o.stop_norm = (tess_stop_norm)99;
    check_refused(&o, TESS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_sees_all_rows),
        cmocka_unit_test(the_norm_as_given_is_not_verified),
        cmocka_unit_test(named_methods_meet_the_norm_that_is_asked_for),
        cmocka_unit_test(scaled_rows),
        cmocka_unit_test(rows_of_one_size_cost_nothing),
        cmocka_unit_test(impossible_norms_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
