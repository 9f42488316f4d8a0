/* SPDX-License-Identifier: Apache-2.0 */
/* The same solve has the same bits on every run: 100 runs of each method, preconditioner and format, with threads; 10
   under sanitizers, which look for other faults, and where branches are counted. */
#include "support/solve.h"

#ifdef TESS_INSTRUMENTED
enum { TIMES = 10 };
#else
enum { TIMES = 100 };
#endif
enum { EDGE = 60, STEPS = 6 }; /* 17,760 nonzeros: enough for several threads */

static tess_solve_options few_steps(tess_solver_kind solver)
{
    tess_solve_options options = solve_options(solver);

    options.max_iterations = STEPS;
    if (is_gmres(solver)) { options.gmres.restart = 4; }
    return options;
}

static void check_on_threads(const oracle_csr *a, const tess_solve_options *options)
{
    tess_context *ctx = open_cpu(3);

    check_repeats(ctx, a, options, TIMES);
    tess_context_destroy(ctx);
}

static void methods(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG,       TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                             TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD, TESS_SOLVER_JACOBI,
                                             TESS_SOLVER_MINRES,   TESS_SOLVER_FGMRES,   TESS_SOLVER_IDR};
    oracle_csr a = oracle_laplace2d(EDGE);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const tess_solve_options options = few_steps(kinds[k]);

        check_on_threads(&a, &options);
    }
    oracle_free(&a);
}

static void preconditioners(void **state)
{
    static const char *const names[] = {"jacobi", "block-jacobi:8", "polynomial:5", "ilu0",
                                        "ic0",    "ilut",           "ict",          "iluk"};
    oracle_csr a = oracle_laplace2d(EDGE);

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        tess_solve_options options = few_steps(TESS_SOLVER_BICGSTAB);

        assert_int_equal(tess_precond_options_parse(names[k], &options.precond), TESS_SUCCESS);
        check_on_threads(&a, &options);
    }
    oracle_free(&a);
}

static void formats(void **state)
{
    oracle_csr a = oracle_laplace2d(EDGE);

    (void)state;
    for (int at = 0; at < tess_format_count(); at++) {
        const tess_format format = tess_format_at(at);
        tess_solve_options options = few_steps(TESS_SOLVER_CG);

        options.storage.format = format;
        if (tess_format_can(format)->takes_parts) { options.storage.policy.policy = TESS_POLICY_MEAN_RANGE; }
        check_on_threads(&a, &options);
    }
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods),
        cmocka_unit_test(preconditioners),
        cmocka_unit_test(formats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
