/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioners fsai and isai on the GPU: the tests of the host, and engines side by side. */
#define TESTS_ON_GPU
#include <tessera/estimate.h>

#include "../unit/test_inverse_solves.c" /* the same tests, in another context */

/* Recorded loops and those without a recording take the same steps. */
static void engines_agree(void **state)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(40, 16));
    tess_context *gpu = open_device(0);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    options.precond = precond_of(TESS_PRECOND_FSAI, 0);
    check_engines_agree(gpu, &a, options);
    options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
    check_engines_agree(gpu, &a, options);
    tess_context_destroy(gpu);
    oracle_free(&a);
}

/* What the set-up takes at its peak is in the estimate. Tables of products and of growing rows, of which there are as
   many as a GPU has places for, may be fewer than told. */
static void peaks_are_estimated(void **state)
{
    static const char *const preconds[] = {"fsai:1", "fsai:2", "fsai:3", "isai:2", "fsai:adaptive", "amg"};
    oracle_csr problems[] = {generate_problem(on_gpu_or_emulated(1, 0) ? "elasticity3d 20" : "elasticity3d 6", 1),
                             generate_problem(on_gpu_or_emulated(1, 0) ? "laplace3d27 40" : "laplace3d27 10", 1)};

    (void)state;
    for (int c = 0; c < 2 * 6; c++) {
        const oracle_csr *a = &problems[c / 6];
        tess_context *gpu = open_device(1);
        tess_matrix *matrix = make_matrix(gpu, a);
        tess_solve_options o = solve_options(TESS_SOLVER_CG);
        const double before = (double)gpu->held_bytes;
        tess_solve_estimate e;
        tess_precond *m = NULL;
        double peak = 0.0, told = 0.0;

        assert_int_equal(tess_precond_options_parse(preconds[c % 6], &o.precond), TESS_SUCCESS);
        if (c % 6 < 5) { o.precond.inverse.filter = 0.0; } /* what it leaves out is counted */
        if (c % 6 < 4) { o.precond.inverse.threshold = 0.0; }
        if (o.precond.kind == TESS_PRECOND_AMG) { o.precond.amg.smoother = TESS_AMG_FSAI; }
        tess_solve_estimate_init(&e);
        assert_ok(gpu, tess_solve_estimate_memory(matrix, &o, &e));
        gpu->peak_bytes = gpu->held_bytes;
        assert_ok(gpu, tess_precond_create(matrix, &o.precond, &m));
        peak = (double)gpu->peak_bytes - before;
        told = (double)(e.precond + e.setup);
        if (!(told >= 0.6 * peak && told <= (c % 6 == 4 ? 10.0 : 4.0) * peak)) {
            fail_msg("%s of problem %d: %g bytes estimated, %g used", preconds[c % 6], c / 6, told, peak);
        }
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(gpu);
    }
    oracle_free(&problems[0]);
    oracle_free(&problems[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INVERSE_SOLVE_TESTS,
        cmocka_unit_test(engines_agree),
        cmocka_unit_test(peaks_are_estimated),
    };

    return run_gpu_tests(tests, NULL);
}
