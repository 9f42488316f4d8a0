/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at the matrix tells about the methods that may solve with it. */
#ifndef TESS_AUTO_FACTS_H
#define TESS_AUTO_FACTS_H

#include "auto/fact_rows.h"
#include "matrix/assembled.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entries are those other than 0. */
typedef struct matrix_facts {
    int64_t n, nnz;
    bool symmetric, finite;
    bool is_complex; /* the real form of a complex matrix, whose facts these are: symmetric if that is Hermitian */
    int64_t positive, negative, zero; /* diagonal entries; a missing one counts as zero */
    int64_t empty_rows;
    int64_t dominant_rows; /* |a_ii| >= sum of the others, for a_ii != 0 */
    /* Pairs i, j with a_ij a_ji >= a_ii a_jj. Of a symmetric matrix each one proves that A is not positive definite. */
    int64_t improper_minors;
    /* Of the lower triangle: rows of one level depend on earlier levels alone. 0: find_levels was not asked. */
    int64_t levels;
    int64_t null_rows;      /* those that sum to 0 up to rounding */
    int64_t near_null_rows; /* |sum| <= 2^-10 of the sum of magnitudes; not empty */
    int64_t same_sign;      /* entries beside the diagonal that have the sign of their row's diagonal */
    int64_t above, below;   /* entries above and below the diagonal */
    int64_t among_zeros;    /* entries whose row and column both have no diagonal */
    int64_t longest_row;    /* of stored entries */
    int64_t bandwidth;      /* the largest |i - j| of an entry */
    /* Of rows with an entry other than 0: the least and the greatest of their largest magnitudes; 0: there is none. */
    double least_row, greatest_row;
    double least_diagonal, greatest_diagonal; /* magnitudes other than 0; 0: there is none */
    double row_ratio; /* beside the diagonal, the largest over the least magnitude of a row: its greatest; 0: none */
    double one_way;   /* how far entries outweigh those of the transpose, from 0 to 1; 0 if symmetric */
    double far_share; /* of magnitudes beside the diagonal: of those beyond half of the bandwidth */
} matrix_facts;

/* The functions of a device. Each gives the same bits on every device. */
typedef struct facts_ops {
    /* All rows; diagonal: of A, on the device. */
    tess_status (*look)(const tess_matrix *a, const double *diagonal, fact_sums *sums);
    /* Rows 0, step, 2 step ... below n; ways: one for each, on the device. */
    tess_status (*pair)(const tess_matrix *a, int64_t step, int64_t reach, fact_way *ways);
    /* A host counts; a GPU has a lower bound (facts_levels_device.cu). */
    tess_status (*levels)(const tess_matrix *a, int64_t *levels);
    /* A hash of where entries are stored: a sum over them, in any order. */
    tess_status (*pattern)(const tess_matrix *a, uint64_t *hash);
} facts_ops;

extern const facts_ops facts_host_ops;
const facts_ops *facts_gpu_ops(void);
tess_status facts_levels_gpu(const tess_matrix *a, int64_t *levels);
/* Counts one row after the other; arrays of the host. */
tess_status facts_levels_host(tess_context *ctx, const csr_view *v, int64_t *levels);
const facts_ops *facts_ops_of(const tess_context *ctx);

/* All but levels. Errors: memory, those of a product. */
tess_status find_facts(const tess_matrix *a, matrix_facts *facts);
/* facts->levels: what triangles cost on a GPU, where a step has some. Errors: memory. */
tess_status find_levels(const tess_matrix *a, matrix_facts *facts);

/* Whether rows differ so much in size that the norm of a residual says little of the small ones. */
bool rows_are_apart(const matrix_facts *facts);
/* A^T = A, and nothing speaks against a positive definite matrix. */
bool may_be_positive_definite(const matrix_facts *facts);
/* The same of -A. */
bool may_be_negative_definite(const matrix_facts *facts);
/* No entry above the diagonal, or none below, and a full diagonal: substitution solves. */
bool is_lower_triangular(const matrix_facts *facts);
bool is_upper_triangular(const matrix_facts *facts);
/* Rows without a diagonal have no entries in one another's columns: a saddle point. A triangle is none. */
bool has_zero_block(const matrix_facts *facts);

#ifdef __cplusplus
}
#endif

#endif
