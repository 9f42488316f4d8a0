/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner saddle on the GPU: the tests of the host, and host and GPU side by side. */
#define TESTS_ON_GPU
#include "../unit/test_saddle.c" /* the same tests, in another context */

/* Rounding of the blocks' solves, and of the levels in fp16 there. */
static void host_and_gpu_agree(void **state)
{
    oracle_csr a = chain_of(-0.75, true, 0.0);
    double *r = random_values(ROWS, 3, -1.0, 1.0), z[2][ROWS];
    const tess_precond_options exact = saddle(TESS_SADDLE_FULL, TESS_SCHUR_SELFP, TESS_PRECOND_ILU0),
                               flow = precond_of(TESS_PRECOND_SADDLE, 0);
    tess_context *contexts[2] = {open_cpu(1), open_device(0)};
    int64_t iterations[2];

    (void)state;
    for (int d = 0; d < 2; d++) {
        apply_once(contexts[d], &a, &exact, r, z[d]);
        iterations[d] = iterations_of(contexts[d], "stokes2d 9", TESS_SOLVER_FGMRES, &flow);
        tess_context_destroy(contexts[d]);
    }
    for (int64_t i = 0; i < ROWS; i++) {
        assert_at_most(fabs(z[0][i] - z[1][i]), ROUNDING);
    }
    assert_at_most(fabs((double)(iterations[0] - iterations[1])), 6.0);
    oracle_free(&a);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SADDLE,
        cmocka_unit_test(host_and_gpu_agree),
    };

    return run_gpu_tests(tests, NULL);
}
