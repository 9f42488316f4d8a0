/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves a system from CSR arrays of one's own: the one-dimensional Laplacian plus a diagonal, b = A * ones.
 * Shows: matrix from arrays, solver with options, result, new values on the same pattern, errors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { N = 1000, NNZ = 3 * N - 2 };

/* Row i of A: -1, 2 + shift, -1. */
static void fill_tridiagonal(double shift, int32_t *row_ptr, int32_t *col_ind, double *val)
{
    int32_t k = 0;

    for (int32_t i = 0; i < N; i++) {
        row_ptr[i] = k;
        for (int32_t j = i - 1; j <= i + 1; j++) {
            if (j >= 0 && j < N) {
                col_ind[k] = j;
                val[k++] = i == j ? 2.0 + shift : -1.0;
            }
        }
    }
    row_ptr[N] = k;
}

/* Prints why `call` failed. Every function of the library returns a status; the context holds the detail. */
static int check(const tess_context *ctx, tess_status status, const char *call)
{
    if (status == TESS_SUCCESS) { return 1; }
    fprintf(stderr, "%s: %s", call, tess_status_text(status));
    if (ctx) { fprintf(stderr, ": %s", tess_context_last_error(ctx)->message); }
    fprintf(stderr, "\n");
    return 0;
}

#define TRY(call)                                         \
    do {                                                  \
        if (!check(ctx, (call), #call)) { goto cleanup; } \
    } while (0)

/* b := A * ones, x := 0, solve; returns the largest error of x, or infinity when the solve did not converge. */
static double solve_for_ones(tess_context *ctx, const tess_matrix *a, tess_solver *solver, tess_vector *b,
                             tess_vector *x)
{
    double answer[N], worst = INFINITY;
    tess_solve_result result;

    TRY(tess_vector_fill(x, 1.0));
    TRY(tess_matrix_spmv(a, TESS_OP_NONE, 1.0, x, 0.0, b));
    TRY(tess_vector_fill(x, 0.0));
    tess_solve_result_init(&result);
    TRY(tess_solver_solve(solver, b, x, &result));
    TRY(tess_vector_get(x, answer, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    printf("%s after %lld iterations, true relative residual %.2e\n", tess_reason_text(result.reason),
           (long long)result.iterations, result.relative_residual);
    if (!result.converged) { goto cleanup; }
    worst = 0.0;
    for (int i = 0; i < N; i++) {
        worst = fmax(worst, fabs(answer[i] - 1.0));
    }
cleanup:
    return worst;
}

int main(void)
{
    int32_t row_ptr[N + 1], col_ind[NNZ];
    double val[NNZ], error = INFINITY;
    tess_context *ctx = NULL;
    tess_matrix *a = NULL;
    tess_solver *solver = NULL;
    tess_vector *b = NULL, *x = NULL;
    tess_solve_options options;
    int ok = 0;

    fill_tridiagonal(0.01, row_ptr, col_ind, val);
    TRY(tess_context_create(NULL, &ctx)); /* NULL: the GPU when there is one, otherwise the CPU */
    printf("Tessera %s on %s\n", tess_version(), tess_context_device_name(ctx));

    tess_csr_arrays arrays = {.size = sizeof arrays,
                              .nrows = N,
                              .ncols = N,
                              .nnz = NNZ,
                              .row_ptr = row_ptr,
                              .col_ind = col_ind,
                              .val = val,
                              .row_ptr_bits = 32,
                              .col_ind_bits = 32,
                              .where = TESS_MEMORY_HOST,
                              .ownership = TESS_COPY};
    TRY(tess_matrix_create_csr(ctx, &arrays, &a));
    TRY(tess_vector_create(ctx, N, TESS_PRECISION_FP64, &b));
    TRY(tess_vector_create(ctx, N, TESS_PRECISION_FP64, &x));

    tess_solve_options_init(&options);
    options.solver = TESS_SOLVER_CG;
    options.precond.kind = TESS_PRECOND_JACOBI;
    options.rtol = 1e-12;
    TRY(tess_solver_create(a, &options, &solver));
    error = solve_for_ones(ctx, a, solver, b, x);

    /* New values on the same pattern: the solver notices, its set-up stays. */
    fill_tridiagonal(0.05, row_ptr, col_ind, val);
    TRY(tess_matrix_update_values(a, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    error = fmax(error, solve_for_ones(ctx, a, solver, b, x));

    /* |x - 1| <= ||b - A x|| / (smallest eigenvalue), which is 1e-12 * ||b|| / 0.01 at most, and ||b|| < 2.2 here. */
    printf("largest error %.2e\n", error);
    ok = error < 2.2e-10;
cleanup:
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
