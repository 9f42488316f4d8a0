/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tessera/tessera.h>

int main(int argc, char **argv)
{
    tess_context *ctx = NULL;
    tess_matrix *a = NULL;
    tess_vector *b = NULL, *x = NULL;
    tess_solver *solver = NULL;
    tess_solve_options options;
    tess_solve_result result;

    if (argc != 2 || tess_context_create(NULL, &ctx)) { return 2; } /* the GPU if there is one, else the CPU */
    tess_solve_options_init(&options);
    tess_solve_result_init(&result);
    options.rtol = 1e-8;
    if (tess_matrix_read(ctx, argv[1], &a, NULL) || /* or tess_matrix_create_csr, from your own arrays */
        tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &b) ||
        tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &x) || tess_vector_fill(b, 1.0) ||
        tess_solver_create(a, &options, &solver) || /* one set-up serves many right-hand sides */
        tess_solver_solve(solver, b, x, &result)) {
        fprintf(stderr, "%s\n", tess_context_last_error(ctx)->message);
    } else {
        printf("%s; true relative residual %.2e\n", tess_reason_text(result.reason), result.relative_residual);
    }
    tess_solver_destroy(solver);
    tess_vector_destroy(x);
    tess_vector_destroy(b);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return result.converged ? 0 : 1;
}
