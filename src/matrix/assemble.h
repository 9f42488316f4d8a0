/* SPDX-License-Identifier: Apache-2.0 */
/* From entries in any order to assembled CSR: in parallel, with the same bits for any number of threads. */
#ifndef TESS_MATRIX_ASSEMBLE_H
#define TESS_MATRIX_ASSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The meaning of a triangle given as entries; the values are those of tess_mtx_info. */
typedef enum tess_symmetry {
    TESS_SYMMETRY_GENERAL = 0,
    TESS_SYMMETRY_SYMMETRIC = 1,
    TESS_SYMMETRY_SKEW = 2,
    TESS_SYMMETRY_HERMITIAN = 3 /* of complex entries alone */
} tess_symmetry;

/* Entries, base 0, in any order, indices already checked. Entries off the diagonal are mirrored unless GENERAL. */
typedef struct tess_entries {
    int64_t nrows, ncols, count;
    const int32_t *row;
    const int32_t *col;
    const double *val; /* NULL: every value is 1 */
    tess_symmetry symmetry;
    bool is_complex; /* val has re and im of each entry; the result is the real form (matrix/complex_form.h) */
} tess_entries;

/*
 * Assembled CSR: rows ascending, no duplicates. The arrays come from tess_host_allocate with exactly nrows + 1, nnz and
 * nnz values, ready for tess_matrix_adopt_csr. row_ptr is int32_t when nnz < 2^31 (row_ptr_bits 32), else int64_t.
 */
typedef struct tess_assembled {
    int64_t nrows;
    int64_t nnz;
    int64_t duplicates; /* entries (after mirroring) that were summed into another */
    void *row_ptr;
    int row_ptr_bits;
    int32_t *col_ind;
    double *val;
} tess_assembled;

/*
 * Assembles entries; duplicates are summed in the order of the entries. The inputs stay with the caller. On failure
 * *out holds nothing. Work space: one counter per row and thread (fewer threads where that would exceed the entries).
 */
tess_status tess_assemble_entries(tess_context *ctx, const tess_entries *entries, tess_assembled *out);

/*
 * The same, without a copy, for entries that are the assembled matrix already: ascending rows, in each row ascending
 * columns, none twice. Then col and val, which must come from tess_host_allocate with exactly `count` values, are the
 * result's. Otherwise *out holds nothing, and nothing is taken. Indices are checked already.
 */
tess_status tess_assemble_sorted(tess_context *ctx, int64_t nrows, int64_t count, const int32_t *row, int32_t *col,
                                 double *val, tess_assembled *out);

/* The same for plain COO arrays without symmetry. */
tess_status tess_assemble_coo(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, const int32_t *row,
                              const int32_t *col, const double *val, tess_assembled *out);

/*
 * The same for CSR with rows in any order: col_ind and val are sorted and summed in place and, if there is no
 * duplicate, used for the result. All three arrays must come from tess_host_allocate (nrows + 1, nnz, nnz values). The
 * function takes them, also on failure.
 */
tess_status tess_assemble_csr(tess_context *ctx, int64_t nrows, int64_t nnz, int64_t *row_ptr, int32_t *col_ind,
                              double *val, tess_assembled *out);

/* Number of threads that is worth waking for so many entries or rows; results never depend on it. */
static inline int tess_io_threads(const tess_context *ctx, int64_t items)
{
    int64_t useful = items / 4096 + 1;

    return useful < ctx->threads ? (int)useful : ctx->threads;
}

/* Returns the arrays to the context, for a caller that fails between assembling and adopting. */
void tess_assembled_release(tess_context *ctx, tess_assembled *assembled);

#ifdef __cplusplus
}
#endif

#endif
