/* SPDX-License-Identifier: Apache-2.0 */
#include "support/solve.h"
#include "support/papers.h"

const tess_solver_kind loop_methods[LOOP_METHODS] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_MINRES,
                                                     TESS_SOLVER_IDR};

tess_solve_options solve_options_to(tess_solver_kind solver, double error)
{
    tess_solve_options options;

    tess_solve_options_init(&options);
    options.solver = solver;
    options.accuracy.forward = error;
    options.max_iterations = 2000;
    return options;
}

tess_solve_options solve_options(tess_solver_kind solver)
{
    tess_solve_options options;

    tess_solve_options_init(&options);
    options.solver = solver;
    options.rtol = 1e-10;
    options.max_iterations = 2000;
    return options;
}

tess_solve_options single_options(tess_solver_kind kind, tess_recurrence recurrence)
{
    tess_solve_options options = solve_options(kind);

    options.engine = TESS_ENGINE_SINGLE_KERNEL;
    ask_recurrence(&options, recurrence);
    return options;
}

bool is_gmres(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_GMRES || solver == TESS_SOLVER_GMRES_IR || solver == TESS_SOLVER_GMRES_FD ||
           solver == TESS_SOLVER_FGMRES;
}

tess_solve_options gmres_basis_options(int restart, tess_precision basis, int way)
{
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);

    options.gmres.restart = restart;
    options.gmres.basis = (tess_role_precision){.given = 1, .storage = basis};
    options.gmres.orthogonalization = (tess_orthogonalization)way;
    return options;
}

tess_solve_result solve_with(tess_solver *solver, tess_context *ctx, int64_t n, const double *b, double *x)
{
    tess_vector *vb = make_vector(ctx, n, b), *vx = make_vector(ctx, n, x);
    tess_solve_result result;

    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    read_vector(vx, x);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    return result;
}

tess_solve_result solve_once(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options, const double *b,
                             double *x)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_solver *solver = NULL;
    tess_solve_result result;

    assert_ok(ctx, tess_solver_create(m, options, &solver));
    result = solve_with(solver, ctx, a->nrows, b, x);
    result.history = NULL;
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    return result;
}

void check_honest(const oracle_csr *a, const double *b, const double *x, const tess_solve_options *options,
                  const tess_solve_result *result)
{
    wide exact = oracle_residual_norm(a, b, x), norm_b = oracle_norm2(b, a->nrows);
    wide tolerance = (wide)options->rtol * norm_b;

    tolerance = tolerance > (wide)options->atol ? tolerance : (wide)options->atol;
    assert_at_most((double)wide_abs((wide)result->residual_norm - exact), result->residual_bound);
    assert_true(result->converged == (result->reason > 0));
    if (result->converged) { assert_at_most((double)exact, (double)tolerance * (1.0 + 0x1p-40)); }
    assert_true(result->iterations >= 0 && result->iterations <= options->max_iterations);
}

void check_engines_agree(tess_context *gpu, const oracle_csr *a, tess_solve_options options)
{
    const int64_t n = a->nrows;
    double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(2 * n, sizeof *x);
    tess_solve_result result[2];

    for (int engine = 0; engine < 2; engine++) {
        double *solution = x + engine * n;

        options.engine = engine ? TESS_ENGINE_GRAPH : TESS_ENGINE_PLAIN;
        memset(solution, 0, (size_t)n * sizeof *solution);
        result[engine] = solve_once(gpu, a, &options, b, solution);
        assert_int_equal(result[engine].reason, TESS_REASON_RTOL);
        check_honest(a, b, solution, &options, &result[engine]);
    }
    assert_int_equal(result[0].iterations, result[1].iterations);
    assert_true(same_bits(x, x + n, n));
    free(b);
    free(x);
}

solved solve_here(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options, const double *b)
{
    solved s = {.x = test_allocate(a->nrows, sizeof *s.x)};
    tess_matrix *m = make_matrix(ctx, a);
    tess_solver *solver = NULL;

    assert_ok(ctx, tess_solver_create(m, options, &solver));
    s.result = solve_with(solver, ctx, a->nrows, b, s.x);
    tess_papers_result_init(&s.papers);
    assert_ok(ctx, tess_solver_papers_result(solver, &s.papers));
    s.history = test_allocate(s.result.history_length, sizeof *s.history);
    memcpy(s.history, s.result.history, (size_t)s.result.history_length * sizeof *s.history);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    return s;
}

void discard(solved *s)
{
    free(s->x);
    free(s->history);
}

void check_limits_are_exact(tess_context *ctx, const oracle_csr *a, const double *b, tess_solve_options options)
{
    options.rtol = 0.0;
    for (int64_t limit = 0; limit <= 19; limit++) {
        solved s;

        options.max_iterations = limit;
        s = solve_here(ctx, a, &options, b);
        assert_int_equal(s.result.iterations, limit);
        assert_int_equal(s.result.reason, TESS_REASON_ITERATIONS);
        check_honest(a, b, s.x, &options, &s.result);
        discard(&s);
    }
}

void check_repeats(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options, int times)
{
    const int64_t n = a->nrows;
    double *b = random_values(n, 3, -1.0, 1.0), *first = test_allocate(n, sizeof *first),
           *x = test_allocate(n, sizeof *x);
    tess_matrix *m = make_matrix(ctx, a);
    int64_t iterations = 0;

    for (int t = 0; t < times; t++) {
        tess_solver *solver = NULL;
        tess_solve_result result;

        memset(x, 0, (size_t)n * sizeof *x);
        assert_ok(ctx, tess_solver_create(m, options, &solver));
        result = solve_with(solver, ctx, n, b, x);
        tess_solver_destroy(solver);
        if (t == 0) {
            assert_true(result.iterations > 0);
            iterations = result.iterations;
            memcpy(first, x, (size_t)n * sizeof *x);
        }
        assert_int_equal(result.iterations, iterations);
        assert_true(same_bits(x, first, n));
    }
    tess_matrix_destroy(m);
    free(b);
    free(first);
    free(x);
}

int run_group_with_system(const char *name, const struct CMUnitTest *tests, size_t count, tess_context *context,
                          int side, shared_system shared)
{
    oracle_csr laplacian = oracle_laplace2d(side);
    int failed;

    *shared.a = make_matrix(context, &laplacian);
    *shared.b = make_zeros(context, laplacian.nrows);
    *shared.x = make_zeros(context, laplacian.nrows);
    assert_ok(context, tess_vector_fill(*shared.b, 1.0));
    oracle_free(&laplacian);
    failed = run_group_with_context(name, tests, count, context, shared.ctx);
    tess_vector_destroy(*shared.b);
    tess_vector_destroy(*shared.x);
    tess_matrix_destroy(*shared.a);
    return failed;
}
