/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors of the host with vectors of a GPU: the tests of the host; the engine. test_cudss.c has others. */
#define TESTS_ON_GPU
#include "../unit/test_direct.c" /* the same tests, in another context */
#include "../unit/test_direct_solves.c"

#include <stdlib.h>

#include <tessera/automatic.h>

/* The host applies them, so that nothing can record an application. */
static void engines_are_plain(void **state)
{
    oracle_csr a = oracle_laplace2d(K);
    double *b = random_values(N, 3, -1.0, 1.0), x[N] = {0.0};
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;
    tess_precond *m = NULL;

    (void)state;
    options.precond.kind = TESS_PRECOND_CHOLESKY;
    assert_int_equal(solve_once(ctx, &a, &options, b, x).engine, TESS_ENGINE_PLAIN);
    options.engine = TESS_ENGINE_GRAPH;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(matrix, &options, &solver));
    assert_ok(ctx, tess_precond_create(matrix, &options.precond, &m));
    options.precond.kind = TESS_PRECOND_NONE;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create_with_precond(matrix, m, &options, &solver));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* An automatic solve says why the host computes, and how to get what is missing. */
static void the_host_says_that_it_computes(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    for (int large = 0; large < 2; large++) { /* a small one is the host's in any case */
        const int64_t n = large ? 50000 : 100;
        oracle_csr a = oracle_tridiagonal(n, -1.0, 2.5, -1.0);
        double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(n, sizeof *x);
        tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_solver *solver = NULL;

        memset(x, 0, (size_t)n * sizeof *x);
        options.precond.kind = TESS_PRECOND_CHOLESKY;
        assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
        assert_true(solve_with(solver, ctx, n, b, x).verified);
        assert_int_equal(strstr(tess_solver_why(solver), "cuDSS was not found: pip install nvidia-cudss") != NULL,
                         large);
        tess_solver_destroy(solver);
        tess_matrix_destroy(matrix);
        oracle_free(&a);
        free(b);
        free(x);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DIRECT_TESTS, DIRECT_SOLVE_TESTS, cmocka_unit_test(engines_are_plain),
                                       cmocka_unit_test(the_host_says_that_it_computes)};

    setenv("TESSERA_CUDSS", "none", 1);
    if (!mumps_is_here()) {
        puts("skipped: this build has no MUMPS");
        return TEST_SKIPPED;
    }
    return run_gpu_tests(tests, NULL);
}
