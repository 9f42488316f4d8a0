/* SPDX-License-Identifier: Apache-2.0 */
/* Slow and trustworthy: products in extended precision and residuals in quadruple precision, on the host. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "harness/harness.h"

tess_status bench_csr_get(const tess_matrix *a, bench_csr *out)
{
    *out = (bench_csr){.nrows = tess_matrix_nrows(a), .ncols = tess_matrix_ncols(a), .nnz = tess_matrix_nnz(a)};
    out->row_ptr = bench_allocate((size_t)out->nrows + 1, sizeof *out->row_ptr);
    out->col_ind = bench_allocate((size_t)out->nnz, sizeof *out->col_ind);
    out->val = bench_allocate((size_t)out->nnz, sizeof *out->val);
    return tess_matrix_get_csr(a, out->row_ptr, out->col_ind, out->val);
}

void bench_csr_free(bench_csr *csr)
{
    free(csr->row_ptr);
    free(csr->col_ind);
    free(csr->val);
    *csr = (bench_csr){0};
}

/* Roundings of a kernel. */
typedef struct rounding {
    double arithmetic, result; /* unit roundoffs; result 0: that of the arithmetic */
    double underflow;          /* smallest magnitude of the result's precision */
} rounding;

/* Bound for any order of summation: gamma(row length + 2) |A| |x|, an underflow per product, and the rounding of y. */
static void make_product(const bench_csr *a, const double *x, rounding r, bench_product *out)
{
    const double u = r.arithmetic;

    out->nrows = a->nrows;
    out->value = bench_allocate((size_t)a->nrows, sizeof *out->value);
    out->bound = bench_allocate((size_t)a->nrows, sizeof *out->bound);
#pragma omp parallel for schedule(dynamic, 1024)
    for (int64_t i = 0; i < a->nrows; i++) {
        long double sum = 0.0L, magnitude = 0.0L;
        double terms = (double)(a->row_ptr[i + 1] - a->row_ptr[i]) + 2.0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            long double product = (long double)a->val[k] * (long double)x[a->col_ind[k]];

            sum += product;
            magnitude += fabsl(product);
        }
        out->value[i] = (double)sum;
        out->bound[i] = terms * u / (1.0 - terms * u) * (double)magnitude + terms * r.underflow +
                        r.result * (1.0 + terms * u) * (double)magnitude;
    }
}

void bench_product_make(const bench_csr *a, const double *x, bench_product *out)
{
    make_product(a, x, (rounding){0.5 * DBL_EPSILON, 0.0, DBL_TRUE_MIN}, out);
}

void bench_product_make_pairs(const bench_csr *a, const double *x, bench_product *out)
{
    /* (row length + 1) 2^-44, and numbers below 2^-74 lose their second word */
    make_product(a, x, (rounding){0x1p-44, 0.5 * DBL_EPSILON, 0x1p-98}, out);
}

void bench_product_make_fp32(const bench_csr *a, const double *x, tess_arithmetic arithmetic, bench_product *out)
{
    const double u = 0.5 * (double)FLT_EPSILON, tiny = (double)FLT_TRUE_MIN;

    /* in FP32 arithmetic values beyond FP32 are rounded first: one more rounding than terms count */
    make_product(a, x,
                 arithmetic == TESS_ARITHMETIC_FP64 ? (rounding){0.5 * DBL_EPSILON, u, tiny} : (rounding){u, 0.0, tiny},
                 out);
}

void bench_product_free(bench_product *product)
{
    free(product->value);
    free(product->bound);
    *product = (bench_product){0};
}

double bench_product_compare(const bench_product *product, const double *y)
{
    double worst = 0.0;

    for (int64_t i = 0; i < product->nrows; i++) {
        double exact = product->value[i];

        if (!isfinite(exact) || !isfinite(y[i])) {
            /* an infinite bound excuses an overflow within the sum */
            if (isfinite(exact) != isfinite(y[i]) && isfinite(product->bound[i])) { return INFINITY; }
            continue;
        }
        worst = fmax(worst, fabs(y[i] - exact) / product->bound[i]);
    }
    return worst;
}

/* Squares of b - A x and of b over a block of rows. */
static void add_residual(const bench_csr *a, const double *b, const double *x, int64_t from, int64_t to,
                         __float128 *sums)
{
    for (int64_t i = from; i < to; i++) {
        __float128 r = b[i];

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            r -= (__float128)a->val[k] * (__float128)x[a->col_ind[k]];
        }
        sums[0] += r * r;
        sums[1] += (__float128)b[i] * b[i];
    }
}

bench_residual bench_true_residual(const bench_csr *a, const double *b, const double *x)
{
    enum { BLOCK = 4096 };
    const int64_t blocks = (a->nrows + BLOCK - 1) / BLOCK;
    __float128 *part = bench_allocate(2 * (size_t)blocks, sizeof *part), residual = 0, rhs = 0;

#pragma omp parallel for
    for (int64_t k = 0; k < blocks; k++) {
        add_residual(a, b, x, k * BLOCK, (k + 1) * BLOCK < a->nrows ? (k + 1) * BLOCK : a->nrows, part + 2 * k);
    }
    for (int64_t k = 0; k < blocks; k++) {
        residual += part[2 * k];
        rhs += part[2 * k + 1];
    }
    free(part);
    /* squares of doubles may leave the range of double; long double has quadruple's exponents */
    return (bench_residual){(double)sqrtl((long double)residual), (double)sqrtl((long double)rhs)};
}

int64_t bench_spmv_bytes(int64_t nrows, int64_t ncols, int64_t nnz, int value_bytes)
{
    int64_t offset_bytes = nnz < INT64_C(2147483648) ? 4 : 8;

    return nnz * (value_bytes + 4) + (nrows + 1) * offset_bytes + 8 * ncols + 8 * nrows;
}

long double bench_exact_dot(int64_t n, const double *x, const double *y, long double *magnitude)
{
    enum { BLOCK = 4096 };
    const int64_t blocks = (n + BLOCK - 1) / BLOCK;
    long double *part = bench_allocate(2 * (size_t)blocks, sizeof *part), sum = 0.0L, sizes = 0.0L;

#pragma omp parallel for
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t end = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;

        for (int64_t i = b * BLOCK; i < end; i++) {
            part[2 * b] += (long double)x[i] * y[i];
            part[2 * b + 1] += fabsl((long double)x[i] * y[i]);
        }
    }
    for (int64_t b = 0; b < blocks; b++) {
        sum += part[2 * b];
        sizes += part[2 * b + 1];
    }
    if (magnitude) { *magnitude = sizes; }
    free(part);
    return sum;
}
