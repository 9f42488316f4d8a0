/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with classical multigrid, on the device that a program asks for. */
#ifndef TESS_TESTS_SUPPORT_MULTIGRID_H
#define TESS_TESTS_SUPPORT_MULTIGRID_H

#include <tessera/solver.h>

#include "support/gallery.h"
#include "support/precond.h"
#include "support/solve.h"

/* A problem, or on the emulated GPU a smaller one that reaches the same code. */
static inline const char *sized(const char *problem, const char *emulated)
{
    return on_gpu_or_emulated(1, 0) ? problem : emulated;
}

static inline tess_precond_options amg_options(tess_amg_precision precision)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg.coarsening = TESS_AMG_CLASSICAL;
    options.amg.precision = precision;
    options.amg.aggressive = 0; /* auto has a test of its own */
    return options;
}

static inline tess_solve_options amg_solve(tess_solver_kind solver)
{
    tess_solve_options options = solve_options(solver);

    options.precond = amg_options(TESS_AMG_PRECISION_AUTO);
    return options;
}

/* Solves for a random right-hand side, or one that a singular symmetric matrix with constants in its null space has a
   solution for; checks what the result claims. */
static inline tess_solve_result solve_random(const oracle_csr *a, const tess_solve_options *options, bool singular)
{
    tess_context *ctx = open_device(2);
    double *b = random_values(a->nrows, 5, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x), mean = 0.0;
    tess_solve_result result;

    for (int64_t i = 0; i < a->nrows; i++) {
        mean += b[i] / (double)a->nrows;
        x[i] = 0.0;
    }
    for (int64_t i = 0; singular && i < a->nrows; i++) {
        b[i] -= mean;
    }
    result = solve_once(ctx, a, options, b, x);
    check_honest(a, b, x, options, &result);
    free(b);
    free(x);
    tess_context_destroy(ctx);
    return result;
}

static inline tess_solve_result solve_problem(const char *problem, const tess_solve_options *options)
{
    oracle_csr a = generate_problem(problem, 2);
    const tess_solve_result result = solve_random(&a, options, false);

    oracle_free(&a);
    return result;
}

static inline tess_amg_levels levels_of_options(const oracle_csr *a, int aggressive)
{
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond_options options = amg_options(TESS_AMG_PRECISION_AUTO);
    tess_amg_levels levels = {.size = sizeof levels};
    tess_precond *m = NULL;

    options.amg.aggressive = aggressive;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ok(ctx, tess_precond_get_levels(m, &levels));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return levels;
}

#endif
