/* SPDX-License-Identifier: Apache-2.0 */
/* The same solve has the same bits on every run of a GPU: each engine, method and preconditioner. `kernel paper` adds
   by atomic operations and is the exception (docs/concepts/verification.md). */
#include "support/solve.h"

static tess_context *gpu = NULL;

enum { EDGE = 24, TIMES = 100, EMULATED_TIMES = 3, STEPS = 12 };

static tess_solve_options few_steps(tess_solver_kind solver, tess_engine engine)
{
    tess_solve_options options = solve_options(solver);

    options.engine = engine;
    options.max_iterations = STEPS;
    if (is_gmres(options.solver)) { options.gmres.restart = 5; }
    return options;
}

static void engines(void **state)
{
    static const tess_engine kinds[] = {TESS_ENGINE_PLAIN, TESS_ENGINE_GRAPH, TESS_ENGINE_SINGLE_KERNEL};
    oracle_csr a = oracle_laplace2d(EDGE);

    (void)state;
    for (int at = 0; at < RECORDED_METHODS; at++) {
        const tess_solver_kind solver = loop_methods[at];

        for (int e = 0; e < (solver == TESS_SOLVER_MINRES ? 2 : 3); e++) {
            const tess_solve_options options = few_steps(solver, kinds[e]);

            check_repeats(gpu, &a, &options, (int)on_gpu_or_emulated(TIMES, EMULATED_TIMES));
        }
    }
    oracle_free(&a);
}

static void methods(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_GMRES,  TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD,
                                             TESS_SOLVER_JACOBI, TESS_SOLVER_FGMRES,   TESS_SOLVER_IDR};
    oracle_csr a = oracle_laplace2d(EDGE);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const tess_solve_options options = few_steps(kinds[k], TESS_ENGINE_AUTO);

        check_repeats(gpu, &a, &options, (int)on_gpu_or_emulated(TIMES, EMULATED_TIMES));
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
        tess_solve_options options = few_steps(TESS_SOLVER_BICGSTAB, TESS_ENGINE_GRAPH);

        assert_int_equal(tess_precond_options_parse(names[k], &options.precond), TESS_SUCCESS);
        check_repeats(gpu, &a, &options, (int)on_gpu_or_emulated(TIMES, EMULATED_TIMES));
    }
    oracle_free(&a);
}

static void formats(void **state)
{
    oracle_csr a = oracle_laplace2d(EDGE);

    (void)state;
    for (int at = 0; at < tess_format_count(); at++) {
        const tess_format format = tess_format_at(at);
        tess_solve_options options = few_steps(TESS_SOLVER_CG, TESS_ENGINE_PLAIN);

        options.storage.format = format;
        if (tess_format_can(format)->takes_parts) { options.storage.policy.policy = TESS_POLICY_MEAN_RANGE; }
        check_repeats(gpu, &a, &options, (int)on_gpu_or_emulated(TIMES, EMULATED_TIMES));
    }
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines),
        cmocka_unit_test(methods),
        cmocka_unit_test(preconditioners),
        cmocka_unit_test(formats),
    };

    return run_gpu_tests(tests, &gpu);
}
