/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves without a matrix: the operator is a function (the 5-point Laplacian on a square grid), so is the
 * preconditioner (symmetric Gauss-Seidel), and a monitor follows the solve. A shell works in the memory of its
 * context's device; this one is host code, so the context is a CPU one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { GRID = 100, UNKNOWNS = GRID * GRID };

/* Neighbours of point (i, j) summed; outside the grid the value is 0. */
static double sum_neighbours(const double *x, int i, int j)
{
    double sum = 0.0;

    if (i > 0) { sum += x[j * GRID + i - 1]; }
    if (i < GRID - 1) { sum += x[j * GRID + i + 1]; }
    if (j > 0) { sum += x[(j - 1) * GRID + i]; }
    if (j < GRID - 1) { sum += x[(j + 1) * GRID + i]; }
    return sum;
}

/* y := A x. A is symmetric, so the transpose is the same. Nonzero would report a failure. */
static int apply_laplacian(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    for (int j = 0; j < GRID; j++) {
        for (int i = 0; i < GRID; i++) {
            y[j * GRID + i] = 4.0 * x[j * GRID + i] - sum_neighbours(x, i, j);
        }
    }
    return 0;
}

/* z := M^-1 r with M = (D + L) D^-1 (D + U): a sweep forward from zero, a sweep backward. */
static int apply_gauss_seidel(void *user, const double *r, double *z)
{
    (void)user;
    for (int k = 0; k < UNKNOWNS; k++) {
        double lower = (k % GRID > 0 ? z[k - 1] : 0.0) + (k >= GRID ? z[k - GRID] : 0.0);

        z[k] = (r[k] + lower) / 4.0;
    }
    for (int k = UNKNOWNS - 1; k >= 0; k--) {
        double upper = (k % GRID < GRID - 1 ? z[k + 1] : 0.0) + (k < UNKNOWNS - GRID ? z[k + GRID] : 0.0);

        z[k] += upper / 4.0;
    }
    return 0;
}

/* Prints every tenth iteration; a nonzero return would cancel the solve. */
static int print_progress(void *user, const tess_progress *progress)
{
    (void)user;
    if (progress->iteration % 10 == 0) {
        printf("%6lld  %.3e\n", (long long)progress->iteration, progress->residual_norm);
    }
    return 0;
}

/* ||b - A x|| / ||b|| by this program's own means. */
static double relative_residual(const double *b, const double *x)
{
    double r2 = 0.0, b2 = 0.0;
    double *ax = malloc(UNKNOWNS * sizeof *ax);

    if (!ax) { return INFINITY; }
    apply_laplacian(NULL, TESS_OP_NONE, x, ax);
    for (int k = 0; k < UNKNOWNS; k++) {
        r2 += (b[k] - ax[k]) * (b[k] - ax[k]);
        b2 += b[k] * b[k];
    }
    free(ax);
    return sqrt(r2 / b2);
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != TESS_SUCCESS) {                                                              \
            fprintf(stderr, "%s: %s\n", #call, ctx ? tess_context_last_error(ctx)->message : "?"); \
            goto cleanup;                                                                          \
        }                                                                                          \
    } while (0)

int main(void)
{
    tess_context *ctx = NULL;
    tess_matrix *a = NULL;
    tess_precond *m = NULL;
    tess_solver *solver = NULL;
    tess_vector *b = NULL, *x = NULL;
    tess_context_options context_options;
    tess_solve_options options;
    tess_solve_result result;
    const tess_shell_operator laplacian = {.apply = apply_laplacian};
    const tess_shell_precond gauss_seidel = {.apply = apply_gauss_seidel};
    int ok = 0;

    tess_context_options_init(&context_options);
    context_options.device = TESS_DEVICE_CPU;
    TRY(tess_context_create(&context_options, &ctx));
    TRY(tess_matrix_create_shell(ctx, UNKNOWNS, UNKNOWNS, &laplacian, &a));
    TRY(tess_precond_create_shell(ctx, UNKNOWNS, &gauss_seidel, &m));
    TRY(tess_vector_create(ctx, UNKNOWNS, TESS_PRECISION_FP64, &b));
    TRY(tess_vector_create(ctx, UNKNOWNS, TESS_PRECISION_FP64, &x));
    TRY(tess_vector_set_random(b, 1, -1.0, 1.0));

    tess_solve_options_init(&options);
    options.solver = TESS_SOLVER_CG;
    options.rtol = 1e-9;
    options.monitor = print_progress;
    TRY(tess_solver_create_with_precond(a, m, &options, &solver));
    tess_solve_result_init(&result);
    TRY(tess_solver_solve(solver, b, x, &result));
    double own = relative_residual(tess_vector_data_const(b), tess_vector_data_const(x));
    printf("%s after %lld iterations; true relative residual %.3e, recomputed here %.3e\n",
           tess_reason_text(result.reason), (long long)result.iterations, result.relative_residual, own);
    ok = result.converged && own <= 1.01e-9;
cleanup:
    tess_solver_destroy(solver);
    tess_precond_destroy(m);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
