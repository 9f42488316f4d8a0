/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop of one's own over a matrix in any precision: y = A x with A stored in 8 to 1 bytes per value and computed with
 * in FP64. Only headers are used: cc -std=c17 -O3 -I include examples/c/accessor.c -lm Shows: ranges, one function for
 * all precisions, a scale for each row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/accessor.h>

enum { M = 200, N = 300 };

/* The user's loop. It does not know how A is stored. */
static void multiply(tess_range a, const double *x, double *y)
{
    for (int64_t i = 0; i < tess_range_length(a, 0); i++) {
        double sum = 0.0;

        for (int64_t j = 0; j < tess_range_length(a, 1); j++) {
            sum += tess_range_get2(a, i, j) * x[j];
        }
        y[i] = sum;
    }
}

/* The example's matrix: rows of very different magnitudes, from 1e-6 to 1e6. */
static double entry(int64_t i, int64_t j)
{
    return pow(10.0, (double)(i % 13) - 6.0) * (0.5 + 0.5 * sin((double)(i + 3 * j)));
}

/* One power of two per row brings each row to the top of the precision's range. */
static void choose_scales(tess_precision precision, double *scale)
{
    for (int64_t i = 0; i < M; i++) {
        double largest = 0.0;

        for (int64_t j = 0; j < N; j++) {
            largest = fmax(largest, fabs(entry(i, j)));
        }
        scale[i] = tess_scale_for(precision, largest);
    }
}

/* Largest |y_i - exact_i| / sum_j |a_ij x_j|. */
static double error_of(const double *x, const double *y)
{
    double worst = 0.0;

    for (int64_t i = 0; i < M; i++) {
        double exact = 0.0, magnitude = 0.0;

        for (int64_t j = 0; j < N; j++) {
            exact += entry(i, j) * x[j];
            magnitude += fabs(entry(i, j) * x[j]);
        }
        worst = fmax(worst, fabs(y[i] - exact) / magnitude);
    }
    return worst;
}

int main(void)
{
    /* unit: largest relative error of storing a normal number; the smallest values of a row may be subnormal */
    static const struct {
        tess_precision precision;
        const char *name;
        double unit;
    } kinds[] = {{TESS_PRECISION_FP64, "fp64", 0x1p-53}, {TESS_PRECISION_FP32, "fp32", 0x1p-24},
                 {TESS_PRECISION_FP16, "fp16", 0x1p-11}, {TESS_PRECISION_BF16, "bf16", 0x1p-8},
                 {TESS_PRECISION_E4M3, "e4m3", 0x1p-4},  {TESS_PRECISION_E5M2, "e5m2", 0x1p-3}};
    double *memory = malloc(sizeof(double) * M * N); /* enough for each of them */
    double x[N], y[M], scale[M];
    int ok = memory != NULL;

    for (int j = 0; j < N; j++) {
        x[j] = cos((double)j);
    }
    for (size_t k = 0; ok && k < sizeof kinds / sizeof *kinds; k++) {
        tess_range a = tess_range_matrix(memory, kinds[k].precision, M, N, N);
        double error;

        choose_scales(kinds[k].precision, scale);
        a = tess_range_scaled(a, scale, 1); /* bit 0: the scale varies along dimension 0, the rows */
        for (int64_t i = 0; i < M; i++) {
            for (int64_t j = 0; j < N; j++) {
                tess_range_set2(a, i, j, entry(i, j));
            }
        }
        multiply(a, x, y);
        error = error_of(x, y);
        printf("%s: %6zu bytes, error %.1e\n", kinds[k].name, tess_storage_bytes(kinds[k].precision) * M * N, error);
        /* storing: unit; summing, here and in error_of: N roundings of FP64 each */
        ok = error <= kinds[k].unit + 2.0 * N * 0x1p-53;
    }
    free(memory);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
