/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at the matrix tells about the methods that may solve with it. */
#ifndef TESS_AUTO_FACTS_H
#define TESS_AUTO_FACTS_H

#include "matrix/assembled.h"

typedef struct matrix_facts {
    int64_t n, nnz;
    bool symmetric, finite;
    int64_t positive, negative, zero; /* diagonal entries; a missing one counts as zero */
    int64_t empty_rows;
    int64_t dominant_rows; /* |a_ii| >= sum of the others, for a_ii != 0 */
    /* Pairs i, j with a_ij a_ji >= a_ii a_jj. Of a symmetric matrix each one proves that A is not positive definite. */
    int64_t improper_minors;
    int64_t levels;    /* on a GPU, of the lower triangle: rows of one level depend on earlier levels alone */
    bool null_sums;    /* each row sums to 0 up to rounding: A times the vector of ones is 0 */
    int64_t null_rows; /* rows that do */
    /* Of rows with an entry other than 0: the least and the greatest of their largest magnitudes; 0: there is none. */
    double least_row, greatest_row;
    double one_way; /* how far entries outweigh those of the transpose, from 0 to 1; 0 if symmetric */
} matrix_facts;

/* Errors: memory, those of a product. */
tess_status find_facts(const tess_matrix *a, matrix_facts *facts);

/* Whether a sum of so many terms, whose magnitudes have the second sum, is 0 up to rounding. */
bool is_null_sum(double sum, double magnitude, int64_t terms);
/* Whether rows differ so much in size that the norm of a residual says little of the small ones. */
bool rows_are_apart(const matrix_facts *facts);
/* A^T = A, and nothing speaks against a positive definite matrix. */
bool may_be_positive_definite(const matrix_facts *facts);

#endif
