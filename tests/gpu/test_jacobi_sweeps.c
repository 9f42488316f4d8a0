/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner jacobi-sweeps on the GPU: the tests of the host, and host and GPU side by side. */
#define TESTS_ON_GPU
#include "../unit/test_jacobi_sweeps.c" /* the same tests, in another context */

/* Within what a step rounds; a solve takes about as many iterations. */
static void host_and_gpu_agree(void **state)
{
    oracle_csr a = with_weak_rows(oracle_laplace2d(30), true);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), z[2][900];
    const tess_precond_options o = sweeps(4, NULL, 0.0);
    tess_context *contexts[2] = {open_cpu(1), open_device(0)};
    int64_t iterations[2];

    (void)state;
    for (int d = 0; d < 2; d++) {
        tess_matrix *matrix = make_matrix(contexts[d], &a);
        tess_precond *m = NULL;

        assert_ok(contexts[d], tess_precond_create(matrix, &o, &m));
        apply_precond(m, a.nrows, b, z[d]);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        iterations[d] = solve_with_steps(contexts[d], &a, b, TESS_SOLVER_CG, 4, NULL).iterations;
        tess_context_destroy(contexts[d]);
    }
    assert_at_most(largest_difference(z[0], z[1], a.nrows), 8.0 * U32);
    assert_at_most(fabs((double)(iterations[0] - iterations[1])), 2.0);
    free(b);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JACOBI_SWEEPS,
        cmocka_unit_test(host_and_gpu_agree),
    };

    return run_gpu_tests(tests, NULL);
}
