/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file columns.h  Arrays of several columns, as the caller has them: by columns, by rows, or with any strides.
 *
 *     tess_columns x = tess_columns_by_row(n, 8, in, TESS_MEMORY_HOST);
 *     tess_columns y = tess_columns_by_row(n, 8, out, TESS_MEMORY_HOST);
 *     tess_matrix_spmm(a, 1.0, &x, 0.0, &y);                                y := A x for 8 columns in one pass over A
 */
#ifndef TESSERA_COLUMNS_H
#define TESSERA_COLUMNS_H

#include <stdint.h>

#include <tessera/context.h>
#include <tessera/matrix.h>

TESS_BEGIN_DECLS

/** FP64 values of the caller, borrowed: value (i, c) is data[i * row_stride + c * column_stride]. */
typedef struct tess_columns {
    int64_t rows, columns;
    int64_t row_stride, column_stride; /**< in values; no two (i, c) of an array that is written share a place */
    double *data;
    tess_memory where;
} tess_columns;

/** @p rows times @p columns values, one column after another (column-major), or one row after another (row-major). */
static inline tess_columns tess_columns_by_column(int64_t rows, int64_t columns, double *data, tess_memory where)
{
    const tess_columns v = {rows, columns, 1, rows, data, where};

    return v;
}
static inline tess_columns tess_columns_by_row(int64_t rows, int64_t columns, double *data, tess_memory where)
{
    const tess_columns v = {rows, columns, columns, 1, data, where};

    return v;
}

/**
 * Y := alpha A X + beta Y, for all columns; waits for the device. With beta = 0, Y is not read.
 * @param x, y  of ncols and nrows rows, and as many columns; they do not overlap
 * Up to 32 columns are multiplied in one pass over A, in formats that can (docs/reference/formats.md); else one after
 * another. Accuracy: that of tess_matrix_spmv, whose bits may differ, for the order of a sum is another.
 * Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT, memory. Test: tests/unit/test_columns.c
 */
TESS_EXPORT tess_status tess_matrix_spmm(const tess_matrix *a, double alpha, const tess_columns *x, double beta,
                                         const tess_columns *y);

TESS_END_DECLS

#endif
