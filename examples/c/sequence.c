/* SPDX-License-Identifier: Apache-2.0 */
/* Implicit time steps, (I + dt K(t)) u_new = u_old + dt f: a sequence of systems on one pattern. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { N = 10000, NNZ = 3 * N - 2, STEPS = 10 };

static int64_t row_ptr[N + 1];
static int32_t col_ind[NNZ];
static double val[NNZ], b[N], u[N];

/* A rod of N cells whose conductivity changes with the time. */
static void assemble(double t)
{
    int64_t k = 0;

    for (int i = 0; i < N; i++) {
        const double left = 1e3 * exp(0.5 * sin(1e-3 * i + t)), right = 1e3 * exp(0.5 * sin(1e-3 * (i + 1) + t));

        if (i > 0) { col_ind[k] = i - 1, val[k++] = -left; }
        col_ind[k] = i, val[k++] = 1.0 + left + right;
        if (i + 1 < N) { col_ind[k] = i + 1, val[k++] = -right; }
        row_ptr[i + 1] = k;
    }
}

int main(void)
{
    tess_csr_arrays arrays = {.size = sizeof arrays,
                              .nrows = N,
                              .ncols = N,
                              .nnz = NNZ,
                              .row_ptr = row_ptr,
                              .col_ind = col_ind,
                              .val = val,
                              .row_ptr_bits = 64,
                              .col_ind_bits = 32};
    const tess_sequence_values values = tess_sequence_values_of(NNZ, val, TESS_MEMORY_HOST);
    tess_solve_options options;
    tess_context *ctx = NULL;
    tess_matrix *a = NULL;
    tess_sequence *sequence = NULL;
    tess_vector *vb = NULL, *vu = NULL;
    int verified = 0;

    assemble(0.0);
    tess_solve_options_init(&options);
    options.solver = TESS_SOLVER_CG;
    options.precond.kind = TESS_PRECOND_AMG;
    options.rtol = 1e-8;
    if (tess_context_create(NULL, &ctx) == TESS_SUCCESS && tess_matrix_create_csr(ctx, &arrays, &a) == TESS_SUCCESS &&
        tess_sequence_create(a, &options, NULL, &sequence) == TESS_SUCCESS &&
        tess_vector_create(ctx, N, TESS_PRECISION_FP64, &vb) == TESS_SUCCESS &&
        tess_vector_create(ctx, N, TESS_PRECISION_FP64, &vu) == TESS_SUCCESS) {
        for (int k = 0; k < STEPS; k++) {
            tess_solve_result result;

            assemble(0.02 * k);
            for (int i = 0; i < N; i++) {
                b[i] = u[i] + (1.0 + 0.1 * k) * (i < N / 2);
            }
            tess_solve_result_init(&result);
            if (tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST) != TESS_SUCCESS ||
                tess_sequence_solve(sequence, &values, vb, vu, &result) != TESS_SUCCESS ||
                tess_vector_get(vu, u, TESS_PRECISION_FP64, TESS_MEMORY_HOST) != TESS_SUCCESS) {
                break;
            }
            verified += result.verified;
            printf("step %d: %d iterations; %s\n", k, (int)result.iterations, tess_sequence_why(sequence));
        }
    }
    if (ctx && verified < STEPS) { fprintf(stderr, "%s\n", tess_context_last_error(ctx)->message); }
    tess_sequence_destroy(sequence);
    tess_vector_destroy(vb);
    tess_vector_destroy(vu);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return verified == STEPS ? EXIT_SUCCESS : EXIT_FAILURE;
}
