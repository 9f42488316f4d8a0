/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gram-Schmidt against a basis that is stored in FP32, with sums in FP64: h := V^T w, w := w - V h.
 * Shows: dense views, storage apart from arithmetic.
 */
#include <math.h>
#include <stdio.h>

#include <tessera/tessera.h>

enum { N = 1000, COLUMNS = 4 };

static float basis[COLUMNS * N]; /* column by column: cosines, orthogonal but for rounding */
static double w[N], h[COLUMNS];

static void fill(void)
{
    const double pi = 3.14159265358979323846;

    for (int i = 0; i < N; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            basis[j * N + i] = (float)(sqrt(2.0 / N) * cos(pi * (i + 0.5) * (j + 1) / N));
        }
        w[i] = 1.0 / (i + 1);
    }
}

static double largest(const double *v, int n)
{
    double most = 0.0;

    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(v[i]));
    }
    return most;
}

int main(void)
{
    tess_dense_view v = {.nrows = N, .ncols = COLUMNS, .ld = N, .precision = TESS_PRECISION_FP32, .data = basis};
    tess_dense_view x = {.nrows = N, .ncols = 1, .ld = N, .precision = TESS_PRECISION_FP64, .data = w};
    tess_dense_view y = {.nrows = COLUMNS, .ncols = 1, .ld = COLUMNS, .precision = TESS_PRECISION_FP64, .data = h};
    tess_context_options options;
    tess_context *ctx = NULL;
    int failed = 1;

    fill();
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU; /* the arrays are the host's */
    if (tess_context_create(&options, &ctx)) { return 1; }
    for (int pass = 0; pass < 3; pass++) {
        if (tess_gemv(ctx, TESS_OP_TRANSPOSE, 1.0, &v, &x, 0.0, &y, TESS_ARITHMETIC_FP64)) { goto cleanup; }
        printf("before pass %d: |V^T w| is at most %.1e\n", pass + 1, largest(h, COLUMNS));
        if (tess_gemv(ctx, TESS_OP_NONE, -1.0, &v, &y, 1.0, &x, TESS_ARITHMETIC_FP64)) { goto cleanup; }
    }
    failed = 0;
cleanup:
    if (failed) { fprintf(stderr, "%s\n", tess_context_last_error(ctx)->message); }
    tess_context_destroy(ctx);
    return failed;
}
