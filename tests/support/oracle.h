/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow, trustworthy answers. Matrices as plain CSR arrays on the host; arithmetic in the widest type the compiler has
 * (113 bits of significand on the machines we test on), so that its own rounding is far below every tolerance here.
 */
#ifndef TESS_TESTS_SUPPORT_ORACLE_H
#define TESS_TESTS_SUPPORT_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 wide;
#else
typedef long double wide;
#endif

/* Unit roundoff of FP64. */
#define U64 0x1p-53

/* n u / (1 - n u): the bound on the relative error of n roundings (Higham, section 3.1). */
double gamma_of(double n);

wide wide_abs(wide x);
/* Square root of the double nearest to x's exponent scaling, good to 60 bits; for any x >= 0 in the range of wide. */
wide wide_sqrt(wide x);

typedef struct oracle_csr {
    int64_t nrows, ncols, nnz, capacity;
    int64_t *row_ptr; /* nrows + 1 */
    int32_t *col_ind;
    double *val;
} oracle_csr;

/* An empty matrix, to be filled row by row: oracle_push for each entry, oracle_end_row after each row. */
oracle_csr oracle_open(int64_t nrows, int64_t ncols);
void oracle_push(oracle_csr *a, int64_t col, double value);
/* Closes row `row`, whose entries are those pushed since the last call. */
void oracle_end_row(oracle_csr *a, int64_t row);
void oracle_free(oracle_csr *a);

/* Model matrices. */
oracle_csr oracle_tridiagonal(int64_t n, double lower, double diagonal, double upper);
oracle_csr oracle_laplace2d(int64_t k);
/* Upwinded convection and diffusion on a k by k grid: unsymmetric, diagonally dominant. */
oracle_csr oracle_convection2d(int64_t k, double wind);
/* A power of two for row i, from -range to range and in no order: of matrices whose rows have units of their own. */
static inline int oracle_power(int64_t i, int range)
{
    return (int)(i * 29 % (2 * range + 1)) - range;
}
oracle_csr oracle_hilbert(int64_t n);
/* Rows of 0 to 2 per_row entries in random columns, values in (-1, 1). */
oracle_csr oracle_random(int64_t nrows, int64_t ncols, int64_t per_row, uint64_t seed);
/* Row i has about n / (i + 1) entries: a few very long rows, many short ones. */
oracle_csr oracle_power_law(int64_t n, uint64_t seed);
/* Two entries a row, but none in rows 0, 3, 6, ... and in the last hundred. */
oracle_csr oracle_with_empty_rows(int64_t n);
/* A diagonal matrix of the n values. */
oracle_csr oracle_diagonal(int64_t n, const double *values);
oracle_csr oracle_copy(const oracle_csr *a);
/* The values rounded to FP32, as FP32 storage does. */
void oracle_round_to_fp32(oracle_csr *a);

/* product[i] = (op(A) x)_i; magnitude[i] = (|op(A)| |x|)_i, may be NULL. */
void oracle_multiply(const oracle_csr *a, bool transpose, const double *x, wide *product, double *magnitude);

/* Entries in the longest row (of the transpose, where asked). */
int64_t oracle_longest_row(const oracle_csr *a, bool transpose);

/* ||b - A x||_2 */
wide oracle_residual_norm(const oracle_csr *a, const double *b, const double *x);
wide oracle_norm2(const double *x, int64_t n);
wide oracle_dot(const double *x, const double *y, int64_t n);

/* Dense LU with partial pivoting in long double; false when a pivot is zero. For n of a few hundred. */
bool oracle_solve_dense(const oracle_csr *a, const double *b, double *x);

/* SplitMix64, independent of the library's generator. */
uint64_t oracle_random_bits(uint64_t *state);
double oracle_uniform(uint64_t *state, double low, double high);

#endif
