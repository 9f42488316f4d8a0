/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand small systems of one pattern in one call; each solution is verified. */
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { SYSTEMS = 1000, N = 64, NNZ = 3 * N - 2 };

static int32_t row_ptr[N + 1], col_ind[NNZ];
static double val[SYSTEMS][NNZ], b[SYSTEMS][N], x[SYSTEMS][N]; /* x is the initial guess, 0 */
static tess_batch_result results[SYSTEMS];

/* Rows -1, 2 + s / 1000, -1 of system s. */
static void make_systems(void)
{
    for (int i = 0; i < N; i++) {
        int k = row_ptr[i];

        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, k++) {
            col_ind[k] = j;
            for (int s = 0; s < SYSTEMS; s++) {
                val[s][k] = j == i ? 2.0 + s / 1000.0 : -1.0;
            }
        }
        row_ptr[i + 1] = k;
        for (int s = 0; s < SYSTEMS; s++) {
            b[s][i] = 1.0;
        }
    }
}

int main(void)
{
    tess_context *ctx = NULL;
    tess_solve_options options;
    tess_batch batch;
    int verified = 0;

    make_systems();
    tess_solve_options_init(&options);
    options.rtol = 1e-10;
    tess_batch_init(&batch);
    batch.systems = SYSTEMS;
    batch.n = N;
    batch.nnz = NNZ;
    batch.row_ptr = row_ptr;
    batch.row_ptr_bits = 32;
    batch.col_ind = col_ind;
    batch.col_ind_bits = 32;
    batch.val = val[0];
    batch.b = b[0];
    batch.x = x[0];
    if (tess_context_create(NULL, &ctx) == TESS_SUCCESS &&
        tess_batch_solve(ctx, &batch, &options, results) == TESS_SUCCESS) {
        for (int s = 0; s < SYSTEMS; s++) {
            verified += results[s].verified;
        }
    } else if (ctx) {
        fprintf(stderr, "%s\n", tess_context_last_error(ctx)->message);
    }
    printf("%d of %d systems verified\n", verified, SYSTEMS);
    tess_context_destroy(ctx);
    return verified == SYSTEMS ? EXIT_SUCCESS : EXIT_FAILURE;
}
