/* SPDX-License-Identifier: Apache-2.0 */
/* -A x = -b: CG, MINRES and their preconditioners take as many iterations as for A x = b, and find the same x. */
#include "precond/direct/direct.h"
#include "precond/direct/mumps.h"
#include "support/solve.h"

enum { GRID = 12, N = GRID * GRID };

static tess_context *ctx = NULL;

static tess_solve_result solve_signed(double sign, const tess_solve_options *options, double *x)
{
    oracle_csr a = oracle_laplace2d(GRID);
    double *b = random_values(N, 3, -1.0, 1.0);
    tess_solve_result result;

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= sign;
    }
    for (int i = 0; i < N; i++) {
        b[i] *= sign;
        x[i] = 0.0;
    }
    result = solve_once(ctx, &a, options, b, x);
    check_honest(&a, b, x, options, &result);
    oracle_free(&a);
    free(b);
    return result;
}

/* Signs change no rounding, but where libraries have their own order of operations. */
static void check_same(const tess_solve_options *options, const char *name)
{
    double plus[N], minus[N], size = 0.0;
    const tess_solve_result positive = solve_signed(1.0, options, plus), negative = solve_signed(-1.0, options, minus);

    if (!positive.verified || !negative.verified || negative.iterations != positive.iterations) {
        fail_msg("%s: %d iterations for A, %d (reason %d) for -A", name, (int)positive.iterations,
                 (int)negative.iterations, (int)negative.reason);
    }
    for (int i = 0; i < N; i++) {
        size = fmax(size, fabs(plus[i]));
    }
    for (int i = 0; i < N; i++) {
        assert_at_most(fabs(plus[i] - minus[i]), 1e-8 * size); /* both to 1e-10; the condition number is 70 */
    }
}

static void preconditioners_of_minus_a(void **state)
{
    static const tess_precond_kind kinds[] = {
        TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI,  TESS_PRECOND_POLYNOMIAL,
        TESS_PRECOND_ILU0, TESS_PRECOND_IC0,    TESS_PRECOND_ICT,           TESS_PRECOND_ILUK,
        TESS_PRECOND_AMG,  TESS_PRECOND_LU,     TESS_PRECOND_JACOBI_SWEEPS, TESS_PRECOND_CHOLESKY,
        TESS_PRECOND_FSAI};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const bool complete = kinds[k] == TESS_PRECOND_LU || kinds[k] == TESS_PRECOND_CHOLESKY;
        tess_solve_options options = solve_options(TESS_SOLVER_CG);

        if (complete && !mumps_is_here()) { continue; }
        options.precond.kind = kinds[k];
        check_same(&options, tess_precond_kind_name(kinds[k]));
        options.solver = TESS_SOLVER_MINRES;
        if (kinds[k] != TESS_PRECOND_ILU0 && kinds[k] != TESS_PRECOND_ILUK) {
            check_same(&options, tess_precond_kind_name(kinds[k]));
        }
    }
}

static void cycles_of_minus_a(void **state)
{
    static const tess_amg_options ways[] = {
        {.cycle = TESS_AMG_K},
        {.smoother = TESS_AMG_JACOBI},
        {.smoother = TESS_AMG_L1_JACOBI},
        {.smoother = TESS_AMG_ILU0},
        {.coarsening = TESS_AMG_AGGREGATION},
        {.coarsening = TESS_AMG_AGGREGATION, .smoother = TESS_AMG_JACOBI},
        {.coarsening = TESS_AMG_AGGREGATION, .smoother = TESS_AMG_BLOCK_JACOBI, .block_size = 2}};

    (void)state;
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        tess_solve_options options = solve_options(ways[k].cycle == TESS_AMG_K ? TESS_SOLVER_FGMRES : TESS_SOLVER_CG);
        char name[16];

        options.precond.kind = TESS_PRECOND_AMG;
        options.precond.amg.precision = TESS_AMG_PRECISION_FP64;
        options.precond.amg.coarsest = 10; /* levels whose smoothers count */
        options.precond.amg.cycle = ways[k].cycle;
        options.precond.amg.smoother = ways[k].smoother;
        options.precond.amg.coarsening = ways[k].coarsening;
        options.precond.amg.block_size = ways[k].block_size;
        (void)snprintf(name, sizeof name, "amg, way %d", (int)k);
        check_same(&options, name);
    }
}

static void recurrences_of_minus_a(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);

        options.cg.recurrence = TESS_RECURRENCE_PREDICT_AND_RECOMPUTE;
        options.precond.kind = k == 0 ? TESS_PRECOND_NONE : TESS_PRECOND_JACOBI;
        check_same(&options, "predict and recompute");
    }
}

/* One method, without a list of attempts: a diagonal of one sign takes CG. */
static void a_single_automatic_solve_takes_cg(void **state)
{
    double x[N];
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    (void)state;
    options.guard = TESS_GUARD_REPORT;
    assert_int_equal(solve_signed(-1.0, &options, x).solver, TESS_SOLVER_CG);
}

/* IC of a matrix with diagonal entries of both signs has its shift, as ever; new values may have the other sign. */
static void values_change_their_sign(void **state)
{
    oracle_csr a = oracle_laplace2d(GRID);
    double *b = random_values(N, 3, -1.0, 1.0), x[N];
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        options.precond.kind = kind == 0 ? TESS_PRECOND_IC0 : TESS_PRECOND_AMG;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int turn = 0; turn < 3; turn++) {
            tess_solve_result result;

            memset(x, 0, sizeof x);
            result = solve_with(solver, ctx, N, b, x);
            assert_true(result.verified);
            check_honest(&a, b, x, &options, &result);
            for (int64_t k = 0; k < a.nnz; k++) {
                a.val[k] = -a.val[k];
            }
            assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
}

/* Curvatures of both signs, the first one negative; and a preconditioner of the other sign than A. */
static void a_change_of_sign_is_found(void **state)
{
    double values[N], *b = random_values(N, 3, -1.0, 1.0), x[N] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    oracle_csr a;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = i < 3 ? 1.0 + i : -1.0 - i;
    }
    a = oracle_diagonal(N, values);
    assert_int_equal(solve_once(ctx, &a, &options, b, x).reason, TESS_REASON_INDEFINITE_MATRIX);
    oracle_free(&a);
    free(b);
}

#define NEGATIVE_TESTS                                                                                 \
    cmocka_unit_test(preconditioners_of_minus_a), cmocka_unit_test(cycles_of_minus_a),                 \
        cmocka_unit_test(recurrences_of_minus_a), cmocka_unit_test(a_single_automatic_solve_takes_cg), \
        cmocka_unit_test(values_change_their_sign), cmocka_unit_test(a_change_of_sign_is_found)

#ifndef TESTS_ON_GPU
static int open_all(void **state)
{
    (void)state;
    ctx = open_device(2);
    return ctx ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {NEGATIVE_TESTS};

    return cmocka_run_group_tests(tests, open_all, close_all);
}
#endif
