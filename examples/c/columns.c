/* SPDX-License-Identifier: Apache-2.0 */
/* Several right-hand sides that share the passes over the matrix; each solution is verified. */
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { N = 100 * 100, K = 8 };

static double b[N][K], x[N][K]; /* by rows; x is the initial guess, 0 */

int main(void)
{
    const char *size[] = {"100"};
    tess_context *ctx = NULL;
    tess_matrix *a = NULL;
    tess_solver *solver = NULL;
    tess_solve_options options;
    tess_solve_result results[K];
    int verified = 0;

    for (int i = 0; i < N; i++) {
        for (int c = 0; c < K; c++) {
            b[i][c] = (double)(i % (c + 2)) - 1.0;
        }
    }
    for (int c = 0; c < K; c++) {
        tess_solve_result_init(&results[c]);
    }
    tess_solve_options_init(&options);
    options.solver = TESS_SOLVER_CG;
    options.precond.kind = TESS_PRECOND_JACOBI;
    options.rtol = 1e-8;
    const tess_columns right = tess_columns_by_row(N, K, b[0], TESS_MEMORY_HOST);
    const tess_columns solution = tess_columns_by_row(N, K, x[0], TESS_MEMORY_HOST);
    if (tess_context_create(NULL, &ctx) == TESS_SUCCESS &&
        tess_gallery_create(ctx, "laplace2d", 1, size, &a) == TESS_SUCCESS &&
        tess_solver_create(a, &options, &solver) == TESS_SUCCESS &&
        tess_solver_solve_many(solver, &right, &solution, results) == TESS_SUCCESS) {
        for (int c = 0; c < K; c++) {
            verified += results[c].verified;
        }
    } else if (ctx) {
        fprintf(stderr, "%s\n", tess_context_last_error(ctx)->message);
    }
    printf("%d of %d columns verified\n", verified, K);
    tess_solver_destroy(solver);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return verified == K ? EXIT_SUCCESS : EXIT_FAILURE;
}
