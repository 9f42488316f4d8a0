/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every format does with the sum of a row: it computes y_i and the dot products of the epilogue. Formats in parts
 * also have scales, updates and shadows: the second half.
 */
#ifndef TESS_FORMAT_ROW_EPILOGUE_H
#define TESS_FORMAT_ROW_EPILOGUE_H

#include "matrix/format.h"
#include "policy/rules.h"
#include <tessera/export.h>

/* The value that the product writes to y_i, given (A x)_i. */
TESS_HD double spmv_result(const tess_spmv_args *args, int64_t i, double product)
{
    if (args->residual) { return args->residual[i] - product; }
    if (args->beta == 0.0) { return args->alpha * product; }
    return args->alpha * product + args->beta * args->y[i];
}

/* Adds y_i's terms to the dot products of the reduction. */
TESS_HD void spmv_add_dots(const tess_reduction *reduction, const double *y, int64_t i, double value, double *dots)
{
    for (int k = 0; k < reduction->ndots; k++) {
        dots[k] += value * (reduction->with[k] == y ? value : reduction->with[k][i]);
    }
}

/* ---- rows of a part ---- */

/* The row of y of row i, by the fields of a view. */
TESS_HD int64_t part_row_target(const int32_t *row_of, int64_t row_shift, int64_t i)
{
    return row_of ? row_of[i] : row_shift + i;
}

/* The factor for the sum of row i: its values are stored over that number. */
TESS_HD double part_row_scale(const int16_t *exponent, int64_t i)
{
    return exponent ? tess_power_of_two(exponent[i]) : 1.0;
}

/* Element i of the multiplied vector, if rows and columns are numbered alike. */
TESS_HD double spmv_previous(const tess_spmv_args *args, int64_t i)
{
    return args->x ? args->x[i] : (double)args->x_shadow[i];
}

/* The next element of an iteration, from (A x)_i. Tezcan et al. 2022, Algorithm 1, line 4, and Algorithm 2, line 4. */
TESS_HD double spmv_updated(const tess_spmv_args *args, int64_t i, double product)
{
    const tess_update *u = &args->update;
    double x, next;

    if (u->kind == TESS_UPDATE_TIME_STEP) { return product + u->scale[i] * spmv_previous(args, i); }
    next = (u->rhs[i] - product) * u->scale[i];
    if (u->omega == 1.0) { return next; }
    x = spmv_previous(args, i);
    return x + u->omega * (next - x);
}

/* Writes y_i and its shadow, given (A x)_i. Returns y_i. */
TESS_HD double spmv_finish_row(const tess_spmv_args *args, int64_t i, double product)
{
    double value =
        args->update.kind == TESS_UPDATE_NONE ? spmv_result(args, i, product) : spmv_updated(args, i, product);

    if (args->y) { args->y[i] = value; }
    if (args->y_shadow) { args->y_shadow[i] = (float)value; }
    return value;
}

/* Adds row i to the dot products: as many as the reduction has, at most `most`, which is a constant in time-critical
   callers. */
TESS_HD void spmv_add_row_dots(const tess_spmv_args *args, int most, int64_t i, double value, double *dots)
{
    if (most > 0 && args->update.kind == TESS_UPDATE_JACOBI) {
        double residual = (value - spmv_previous(args, i)) / (args->update.omega * args->update.scale[i]);

        dots[0] += residual * residual;
        return;
    }
    for (int k = 0; k < most && k < args->reduction.ndots; k++) {
        dots[k] += value * (args->reduction.with[k] == args->y ? value : args->reduction.with[k][i]);
    }
}

/* ---- FP32 vectors, and steps of a polynomial ---- */

/* Element i of an FP32 or FP64 array; `fp32` is a constant in time-critical callers. */
TESS_HD double spmv_element(const void *array, bool fp32, int64_t i)
{
    return fp32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

TESS_HD void spmv_store_element(void *array, bool fp32, int64_t i, double value)
{
    if (fp32) {
        ((float *)array)[i] = (float)value;
    } else {
        ((double *)array)[i] = value;
    }
}

/* The value that the product writes to y_i in FP32, given (A x)_i in the arithmetic. */
TESS_HD float spmv_result_fp32(const tess_spmv_args *args, tess_arithmetic arithmetic, int64_t i, double product)
{
    if (arithmetic == TESS_ARITHMETIC_FP32) {
        float scaled = (float)args->alpha * (float)product;

        return args->beta == 0.0 ? scaled : scaled + (float)args->beta * args->y_fp32[i];
    }
    if (args->beta == 0.0) { return (float)(args->alpha * product); }
    return (float)(args->alpha * product + args->beta * (double)args->y_fp32[i]);
}

/* Row i of a product in formats of one part, for FP32 vectors or the update POLYNOMIAL. */
TESS_HD void spmv_finish_step(const tess_spmv_args *args, bool fp32, int64_t i, double sum)
{
    const tess_update *u = &args->update;
    const bool polynomial = u->kind == TESS_UPDATE_POLYNOMIAL;
    void *const y = fp32 ? (void *)args->y_fp32 : (void *)args->y;
    double value = args->alpha * sum;

    if (args->beta != 0.0) { value += args->beta * spmv_element(polynomial ? u->base : y, fp32, i); }
    if (y) { spmv_store_element(y, fp32, i, value); }
    if (!polynomial || !u->total) { return; }
    value = spmv_element(u->total, fp32, i) + u->gamma * value;
    if (u->wide_total) {
        u->wide_total[i] = value;
    } else {
        spmv_store_element(u->total, fp32, i, value);
    }
}

/* Row i of a product in formats of one part, for any vectors and update. */
TESS_HD void spmv_finish_single(const tess_spmv_args *args, int64_t i, double sum, double *dots)
{
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;

    if (fp32 || args->update.kind == TESS_UPDATE_POLYNOMIAL) {
        spmv_finish_step(args, fp32, i, sum);
    } else {
        const double value = spmv_result(args, i, sum);

        args->y[i] = value;
        spmv_add_dots(&args->reduction, args->y, i, value, dots);
    }
}

#ifdef __cplusplus

/* For device code, with a constant number of dot products: writes y_row and adds it to them. For formats of one part.
 */
template <int NDOTS>
TESS_HD void finish_row(const tess_spmv_args &args, int64_t row, double sum, double *dots)
{
    double value = spmv_result(&args, row, sum);

    args.y[row] = value;
    for (int k = 0; k < NDOTS && k < args.reduction.ndots; k++) {
        dots[k] += value * (args.reduction.with[k] == args.y ? value : args.reduction.with[k][row]);
    }
}

#endif

#endif
