/* SPDX-License-Identifier: Apache-2.0 */
/* What every format does with the sum of a row: the value of y_i, and the dot products that go with it. */
#ifndef TESS_FORMAT_ROW_EPILOGUE_H
#define TESS_FORMAT_ROW_EPILOGUE_H

#include "backend/backend.h"
#include <tessera/export.h>

/* The value that the product writes to y_i, given (A x)_i. */
TESS_HD double spmv_result(const tess_spmv_args *args, int64_t i, double product)
{
    if (args->residual) { return args->residual[i] - product; }
    if (args->beta == 0.0) { return args->alpha * product; }
    return args->alpha * product + args->beta * args->y[i];
}

/* Adds y_i to the dot products that the reduction asks for. */
TESS_HD void spmv_add_dots(const tess_reduction *reduction, const double *y, int64_t i, double value, double *dots)
{
    for (int k = 0; k < reduction->ndots; k++) {
        dots[k] += value * (reduction->with[k] == y ? value : reduction->with[k][i]);
    }
}

#ifdef __cplusplus

/* The same with a constant number of dot products, for device code: writes y_row and adds it to them. */
template <int NDOTS>
TESS_HD void finish_row(const tess_spmv_args &args, int64_t row, double sum, double *dots)
{
    double value = spmv_result(&args, row, sum);

    args.y[row] = value;
    for (int k = 0; k < NDOTS; k++) {
        dots[k] += value * (args.reduction.with[k] == args.y ? value : args.reduction.with[k][row]);
    }
}

#endif

#endif
