/* SPDX-License-Identifier: Apache-2.0 */
/** @file findings.h  What is wrong with a system whose solve failed. A tool: tessera solve, after a failure. */
#ifndef TESSERA_FINDINGS_H
#define TESSERA_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/vector.h>

TESS_BEGIN_DECLS

/** A number of things of one kind, and where the first is; indices count from 0, and are -1 where there is none. */
typedef struct tess_finding {
    int64_t count;
    int64_t row, column; /**< of the first; -1: none, or the kind has no row or column */
} tess_finding;

/** What tess_find_problems found. */
typedef struct tess_findings {
    size_t size; /**< sizeof(tess_findings) */
    int64_t nrows, ncols;
    int64_t structural_rank;     /**< largest matching of rows and columns; -1: the search took too long */
    tess_finding unmatched_rows; /**< rows without a partner in that matching; columns: below */
    tess_finding empty_rows;     /**< rows whose entries are all 0 or absent */
    tess_finding empty_columns;  /**< likewise columns */
    tess_finding zero_diagonal;  /**< square matrices: diagonal entries that are 0 or absent */
    tess_finding duplicate_rows; /**< nonempty rows equal to a row before; `column` is the index of that row */
    tess_finding nonfinite;      /**< entries that are NaN or Inf */
    tess_finding nonfinite_rhs;  /**< elements of b that are NaN or Inf; the index is in `row` */
    int constant_null_vector;    /**< 1: A times the vector of ones is 0, up to rounding */
    double attainable_residual;  /**< u (||A||_F ||x|| + ||b||) / ||b||: about the least relative residual of an x of
                                    this size; NaN if b or x was not given, or is not finite */
    /** No x has a smaller relative residual; 0: none is known. Where each column of a square A, or of a part of it
        without couplings to other rows, sums to exactly 0: the root of the sum over the parts of
        (1^T b)^2 / rows, over ||b||. */
    double inconsistency;
    tess_finding unmatched_columns; /**< columns without a partner in the matching of structural_rank */
    tess_finding inconsistent_rows; /**< rows of the part that adds most to inconsistency */
} tess_findings;

/** Sets `size`, and all else to nothing found. */
TESS_EXPORT void tess_findings_init_sized(tess_findings *findings, size_t size);
static inline void tess_findings_init(tess_findings *findings)
{
    tess_findings_init_sized(findings, sizeof *findings);
}

/**
 * Looks for reasons why A x = b may have no solution, many, or none that a method reaches.
 * @param a  assembled, of any shape
 * @param b, x  right-hand side and the x that a solve returned, FP64; each may be NULL
 * @param out  initialised by tess_findings_init
 * A structural rank below min(nrows, ncols) proves that A is singular for any values. A full one proves nothing.
 * Cost: O(nnz) time and 40 (nrows + ncols) bytes on the host, and a search for the rank that is cut at 200 nnz steps.
 * Errors: UNSUPPORTED (shell or stored matrix), DIMENSION_MISMATCH, INVALID_ARGUMENT, memory.
 * Source of the matching: I. S. Duff, ACM Trans. Math. Softw. 7 (1981) (MC21). Test: tests/unit/test_findings.c
 */
TESS_EXPORT tess_status tess_find_problems(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                                           tess_findings *out);

TESS_END_DECLS

#endif
