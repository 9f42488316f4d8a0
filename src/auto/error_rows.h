/* SPDX-License-Identifier: Apache-2.0 */
/* What the error of x is judged by, row by row, on the host: residuals in two words, sizes, ratios. */
#ifndef TESS_AUTO_ERROR_ROWS_H
#define TESS_AUTO_ERROR_ROWS_H

#include "matrix/assembled.h"
#include "matrix/residual_rows.h"

/* On the host: the system, x, its true residual, and |A| |x| + |b|. */
typedef struct error_of_x {
    const tess_matrix *a;
    const double *x, *residual, *magnitude;
    const struct lanczos_record *random; /* of a solve with a random right-hand side; NULL: there was none */
    double x_norm, residual_norm;        /* 2-norms */
} error_of_x;

/* On the host, without overflow. */
double vector_norm2(int64_t n, const double *v);
/* max_i |v_i| / size_i; a row that is 0 counts only if v_i is not. */
double largest_ratio(int64_t n, const double *v, const double *size);
/* The largest magnitude of each row. */
void find_row_sizes(const csr_view *a, double *size);
/* b - A x, or b - A^T x, of each row in two words. */
void rows_of_residual(const csr_view *a, bool transposed, const double *b, const double *x, tess_row_sum *rows);
/* b - A x in two words, rounded, and |A| |x| + |b|; on the host, n values each. */
tess_status find_rows(const tess_matrix *a, const double *b, const double *x, double *residual, double *magnitude);
/* max_i |r_i| / (|A| |x| + |b|)_i (Oettli, Prager, Numer. Math. 6 (1964)). */
double rowwise_backward_error(int64_t n, const double *residual, const double *magnitude);

#endif
