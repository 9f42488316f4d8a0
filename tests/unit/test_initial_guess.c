/* SPDX-License-Identifier: Apache-2.0 */
/* A solve never returns an x that is worse than the initial guess, where both residuals have a bound: x is the guess,
   or its residual with its bound is at most that of the guess without. */
#include <string.h>

#include "support/solve.h"

enum { N = 12, TRIALS = 20 };

/* Random and symmetric, with a dominant diagonal; of kind 1 singular: the last row and column are those before. */
static oracle_csr random_symmetric(int kind, uint64_t *state)
{
    oracle_csr a = oracle_open(N, N);
    double values[N][N];

    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            values[i][j] = values[j][i] = oracle_uniform(state, -1.0, 1.0) + (i == j ? N : 0.0);
        }
    }
    for (int i = 0; i < N && kind == 1; i++) {
        values[N - 1][i] = values[N - 2][i];
    }
    for (int i = 0; i < N && kind == 1; i++) {
        values[i][N - 1] = values[i][N - 2];
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            oracle_push(&a, j, values[i][j]);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static bool is_worse(tess_context *ctx, const oracle_csr *a, const double *b, const double *guess, tess_solve_options o)
{
    tess_matrix *m = make_matrix(ctx, a);
    const int64_t n = a->nrows;
    tess_vector *vb = make_zeros(ctx, n), *vx = make_zeros(ctx, n), *residual = make_zeros(ctx, n);
    tess_solver *solver = NULL;
    tess_solve_result r;
    double x[N], norm = 0.0, bound = 0.0;
    bool worse = false;

    tess_solve_result_init(&r);
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_vector_set(vx, guess, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_verify_residual(m, vb, vx, residual, &norm, &bound));
    assert_ok(ctx, tess_solver_create(m, &o, &solver));
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &r));
    assert_ok(ctx, tess_vector_get(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    worse = memcmp(x, guess, (size_t)n * sizeof *x) != 0 && !r.converged &&
            r.residual_norm + r.residual_bound > norm - bound;
    tess_solver_destroy(solver);
    tess_vector_destroy(residual);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    return worse;
}

/* Guesses at the level of rounding, of a tolerance that none meets; also with rounds of a scaled system. */
static void never_worse_than_the_guess(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG,    TESS_SOLVER_MINRES, TESS_SOLVER_BICGSTAB,
                                             TESS_SOLVER_GMRES, TESS_SOLVER_IDR,    TESS_SOLVER_JACOBI};
    tess_context *ctx = open_cpu(1);
    uint64_t random = 5;
    int worse = 0;

    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        oracle_csr a = random_symmetric(trial % 2, &random);
        double exact[N], b[N], guess[N];

        for (int i = 0; i < N; i++) {
            exact[i] = oracle_uniform(&random, -1.0, 1.0);
        }
        for (int i = 0; i < N; i++) {
            b[i] = trial % 2 == 1 && i == N - 1 ? 2.0 : 0.0;
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                b[i] += a.val[k] * exact[a.col_ind[k]];
            }
        }
        for (int k = 0; k < 12; k++) {
            tess_solve_options o = solve_options(kinds[k % 6]);

            for (int i = 0; i < N; i++) {
                guess[i] = exact[i] * (1.0 + oracle_uniform(&random, -4.0, 4.0) * 0x1p-53);
            }
            o.rtol = 0x1p-60;
            o.max_iterations = 60;
            o.scale = k < 6 ? TESS_SCALING_NONE : TESS_SCALING_SYMMETRIC;
            if (is_worse(ctx, &a, b, guess, o)) { worse++; }
        }
        oracle_free(&a);
    }
    assert_int_equal(worse, 0);
    tess_context_destroy(ctx);
}

/* diag(6, 1) and b = (1, 3): the first step of CG leads to the residual (-3, 1), as large as b. Rounding decides which
   is the larger one, and no bound tells. Scaled, and by rounds of a reordered system. */
static void ties_leave_the_guess(void **state)
{
    tess_context *ctx = open_cpu(1);
    const double guess[2] = {0.0, 0.0};
    int worse = 0;

    (void)state;
    for (int k = 0; k < 40; k++) {
        const double weight = 1.0 + k / 2, values[2] = {6.0 * weight, weight}, b[2] = {1.0, 3.0};
        oracle_csr a = oracle_diagonal(2, values);
        tess_solve_options o = solve_options(TESS_SOLVER_CG);

        o.max_iterations = 1;
        o.reorder = k % 2 == 0 ? TESS_REORDERING_NONE : TESS_REORDERING_RCM;
        if (is_worse(ctx, &a, b, guess, o)) { worse++; }
        oracle_free(&a);
    }
    assert_int_equal(worse, 0);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_worse_than_the_guess),
        cmocka_unit_test(ties_leave_the_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
