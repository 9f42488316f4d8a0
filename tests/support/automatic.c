/* SPDX-License-Identifier: Apache-2.0 */
#include "support/automatic.h"

/* The second difference applied twice: with its condition number above 1e9, CG needs many times more iterations than
   there are rows. Incomplete factors on its five diagonals are complete. */
oracle_csr slow_system(int64_t n)
{
    const double values[] = {1.0, -4.0, 6.0, -4.0, 1.0};
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - 2; j <= i + 2; j++) {
            if (j >= 0 && j < n) { oracle_push(&a, j, values[j - i + 2]); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* A tolerance that FP64 can reach for it. */
tess_solve_options slow_options(void)
{
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    options.rtol = 1e-6;
    options.max_iterations = 100000;
    return options;
}

tess_solve_options automatic_options(void)
{
    return solve_options(TESS_SOLVER_AUTO);
}

automatic_run open_automatic(tess_context *ctx, oracle_csr a, tess_solve_options options)
{
    automatic_run t = {.ctx = ctx, .a = a, .options = options};

    t.matrix = make_matrix(ctx, &t.a);
    t.b = test_allocate(t.a.nrows, sizeof *t.b);
    t.x = test_allocate(t.a.nrows, sizeof *t.x);
    for (int64_t i = 0; i < t.a.nrows; i++) {
        t.b[i] = 1.0;
    }
    assert_ok(ctx, tess_solver_create(t.matrix, &t.options, &t.solver));
    return t;
}

void run_automatic(automatic_run *t)
{
    memset(t->x, 0, (size_t)t->a.nrows * sizeof *t->x);
    t->result = solve_with(t->solver, t->ctx, t->a.nrows, t->b, t->x);
    t->count = tess_solver_attempts(t->solver, &t->attempts);
    check_honest(&t->a, t->b, t->x, &t->options, &t->result);
}

void close_automatic(automatic_run *t)
{
    tess_solver_destroy(t->solver);
    tess_matrix_destroy(t->matrix);
    oracle_free(&t->a);
    free(t->b);
    free(t->x);
}

void assert_why(const automatic_run *t, const char *words)
{
    if (!strstr(tess_solver_why(t->solver), words)) {
        fail_msg("'%s' is not in: %s", words, tess_solver_why(t->solver));
    }
}
