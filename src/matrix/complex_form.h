/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real form of a complex matrix: an n x m matrix becomes 2n x 2m, and the entry re + i im of row i and column j
 * becomes the block [[re, -im], [im, re]] of rows 2i, 2i + 1 and columns 2j, 2j + 1. A complex vector is the array of
 * its numbers as C, Fortran and NumPy hold them: re and im in turn. So products, norms and residuals of the real form
 * are those of the complex matrix, and the form of a Hermitian matrix is symmetric. Blocks are whole: a part that is 0
 * is stored.
 */
#ifndef TESS_MATRIX_COMPLEX_FORM_H
#define TESS_MATRIX_COMPLEX_FORM_H

#include "matrix/assemble.h"
#include "matrix/assembled.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most rows or columns of a complex matrix. */
#define TESS_MAX_COMPLEX_ROWS (TESS_MAX_ROWS / 2)

/* The real form of entries->is_complex; sizes of `entries` are those of the complex matrix, sizes of `out` of the real
   form. Duplicates are those of complex entries. Errors: OUT_OF_RANGE (too many rows), memory. */
tess_status tess_assemble_complex_entries(tess_context *ctx, const tess_entries *entries, tess_assembled *out);

/* As tess_assemble_csr, of nrows, nnz, row_ptr and col_ind of the complex matrix, and 2 nnz numbers in val. */
tess_status tess_assemble_complex_csr(tess_context *ctx, int64_t nrows, int64_t nnz, int64_t *row_ptr, int32_t *col_ind,
                                      double *val, tess_assembled *out);

/* Of an assembled matrix made from such a form. */
void tess_matrix_mark_complex(tess_matrix *a);

/* The caller's number of a row, or of a column: that of the complex matrix. -1 stays. */
static inline int64_t tess_complex_row(const tess_matrix *a, int64_t row)
{
    return a->is_complex && row > 0 ? row / 2 : row;
}

/* New values for the form's pattern, on the host: nnz / 2 numbers of `precision` to nnz in FP64. `view` is the form's;
   it may lie on the device. */
tess_status tess_complex_spell_values(tess_context *ctx, const csr_view *view, tess_precision precision,
                                      const void *val, double *to);

#ifdef __cplusplus
}
#endif

#endif
