/* SPDX-License-Identifier: Apache-2.0 */
#include "support/polynomial.h"

tess_precond_options polynomial_options(int degree, tess_precision storage, tess_arithmetic arithmetic)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_POLYNOMIAL;
    options.polynomial.degree = degree;
    options.role = (tess_role_precision){1, storage, arithmetic};
    return options;
}

tess_precond *make_polynomial(const tess_matrix *m, const tess_precond_options *options)
{
    tess_precond *made = NULL;

    assert_ok(tess_matrix_context(m), tess_precond_create(m, options, &made));
    return made;
}

double distance(const double *x, const double *y, int64_t n)
{
    wide sum = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += ((wide)x[i] - y[i]) * ((wide)x[i] - y[i]);
    }
    return (double)wide_sqrt(sum);
}

/* ---- in wide arithmetic ---- */

typedef struct complex_vector {
    wide *re, *im;
} complex_vector;

static void multiply_wide(const oracle_csr *a, const wide *x, wide *y)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = 0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            y[i] += a->val[k] * x[a->col_ind[k]];
        }
    }
}

/* total += prod / theta, prod -= A prod / theta */
static void apply_factor(const oracle_csr *a, wide re, wide im, complex_vector prod, wide *total,
                         complex_vector product)
{
    const wide square = re * re + im * im, c = re / square, d = -im / square; /* 1 / theta = c + i d */

    multiply_wide(a, prod.re, product.re);
    multiply_wide(a, prod.im, product.im);
    for (int64_t i = 0; i < a->nrows; i++) {
        total[i] += prod.re[i] * c - prod.im[i] * d; /* imaginary parts cancel over a pair */
        prod.re[i] -= product.re[i] * c - product.im[i] * d;
        prod.im[i] -= product.re[i] * d + product.im[i] * c;
    }
}

void evaluate_roots(const oracle_csr *a, const polynomial_roots *roots, const double *r, double *z)
{
    const int64_t n = a->nrows;
    wide *workspace = test_allocate(5 * n, sizeof *workspace), *total = workspace + 4 * n;
    complex_vector prod = {workspace, workspace + n}, product = {workspace + 2 * n, workspace + 3 * n};

    for (int64_t i = 0; i < n; i++) {
        prod.re[i] = r[i];
        prod.im[i] = total[i] = 0;
    }
    for (int k = 0; k < roots->count; k++) {
        const polynomial_root theta = roots->root[k];

        apply_factor(a, theta.re, theta.im, prod, total, product);
        if (theta.im > 0.0) { apply_factor(a, theta.re, -theta.im, prod, total, product); }
    }
    for (int64_t i = 0; i < n; i++) {
        z[i] = (double)total[i];
    }
    free(workspace);
}

/* ---- error bounds ---- */

/* Dense n by n matrices, row-major. */
static void densify(const oracle_csr *a, double *dense)
{
    memset(dense, 0, (size_t)(a->nrows * a->nrows) * sizeof *dense);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            dense[i * a->nrows + a->col_ind[k]] += a->val[k];
        }
    }
}

/* out := s I + x T + y T A; out is neither. */
static void combine_transfers(int64_t n, double s, double x, double y, const double *t, const double *dense,
                              double *out)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0.0;

            for (int64_t k = 0; k < n; k++) {
                sum += t[i * n + k] * dense[k * n + j];
            }
            out[i * n + j] = (i == j ? s : 0.0) + x * t[i * n + j] + y * sum;
        }
    }
}

static double frobenius(int64_t n, const double *t)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n * n; i++) {
        sum += t[i] * t[i];
    }
    return sqrt(sum);
}

/* Computes y = alpha A x + beta base; returns the norm of the magnitudes of the sum's terms. */
static double step_forward(const oracle_csr *a, double alpha, const double *x, double beta, const double *base,
                           double *y)
{
    const int64_t n = a->nrows;
    wide *product = test_allocate(n, sizeof *product);
    double *magnitude = test_allocate(n, sizeof *magnitude), sum = 0.0;

    oracle_multiply(a, false, x, product, magnitude);
    for (int64_t i = 0; i < n; i++) {
        magnitude[i] = fabs(alpha) * magnitude[i] + fabs(beta * base[i]);
        y[i] = alpha * (double)product[i] + beta * base[i];
        sum += magnitude[i] * magnitude[i];
    }
    free(product);
    free(magnitude);
    return sqrt(sum);
}

/* Magnitudes of the results of each root: of prod after it, and of y within a pair. */
static void measure_steps(const oracle_csr *a, const polynomial_roots *roots, const double *r, double *of_prod,
                          double *of_y, double *of_total)
{
    const int64_t n = a->nrows;
    double *prod = test_allocate(2 * n, sizeof *prod), *y = prod + n, *next = test_allocate(n, sizeof *next);

    memcpy(prod, r, (size_t)n * sizeof *prod);
    *of_total = 0.0;
    for (int k = 0; k < roots->count; k++) {
        const polynomial_root theta = roots->root[k];
        const double size = hypot(theta.re, theta.im);

        *of_total += (double)oracle_norm2(prod, n) / size;
        if (theta.im > 0.0) {
            of_y[k] = step_forward(a, -1.0 / size, prod, 2.0 * theta.re / size, prod, y);
            *of_total += (double)oracle_norm2(y, n) / size;
            of_prod[k] = step_forward(a, -1.0 / size, y, 1.0, prod, next);
        } else {
            of_y[k] = 0.0;
            of_prod[k] = step_forward(a, -1.0 / theta.re, prod, 1.0, prod, next);
        }
        memcpy(prod, next, (size_t)n * sizeof *prod);
    }
    free(prod);
    free(next);
}

double roots_error_bound(const oracle_csr *a, const polynomial_roots *roots, const double *r, double u)
{
    const int64_t n = a->nrows, size = n * n;
    const int count = roots->count;
    const double rounding = ((double)oracle_longest_row(a, false) + 3.0) * u;
    double *dense = test_allocate(4 * size, sizeof *dense), *tail = dense + size, *next = tail + size,
           *of_pair = next + size;
    double *of_prod = test_allocate(2 * count, sizeof *of_prod), *of_y = of_prod + count, of_total = 0.0, bound = 0.0;

    densify(a, dense);
    measure_steps(a, roots, r, of_prod, of_y, &of_total);
    memset(tail, 0,
           (size_t)size * sizeof *tail); /* the effect on the total of an error in prod after root k; none at the end */
    for (int k = count - 1; k >= 0; k--) {
        const polynomial_root theta = roots->root[k];
        const double s = hypot(theta.re, theta.im);

        bound += rounding * of_prod[k] * frobenius(n, tail);
        if (theta.im > 0.0) {
            combine_transfers(n, 1.0 / s, 0.0, -1.0 / s, tail, dense, of_pair); /* of an error in y */
            bound += rounding * of_y[k] * frobenius(n, of_pair);
            combine_transfers(n, 0.0, 2.0 * theta.re / s, -1.0 / s, of_pair, dense, next);
            for (int64_t i = 0; i < size; i++) {
                next[i] += tail[i];
            }
        } else {
            combine_transfers(n, 1.0 / theta.re, 1.0, -1.0 / theta.re, tail, dense, next);
        }
        memcpy(tail, next, (size_t)size * sizeof *tail);
    }
    /* each addition to the total rounds the sum and the added term; r may have been rounded */
    bound += (2.0 * polynomial_count_roots(roots) + 2.0) * u * of_total;
    bound += u * (double)oracle_norm2(r, n) * frobenius(n, tail);
    free(dense);
    free(of_prod);
    return 1.5 * bound;
}
