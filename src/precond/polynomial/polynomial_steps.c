/* SPDX-License-Identifier: Apache-2.0 */
/* The products that evaluate p(A) r, by roots and by powers. */
#include <float.h>
#include <math.h>

#include "precond/polynomial/polynomial.h"

static double magnitude_of(polynomial_root a)
{
    return hypot(a.re, a.im);
}

/* The part of prod that the total gets at once, before a root's own products. */
static double share_of(const polynomial_roots *roots, int k)
{
    return k < roots->count && !(roots->root[k].im > 0.0) ? 1.0 / roots->root[k].re : 0.0;
}

/*
 * With prod_k the product of the factors before root k: total = sum over k of prod_k r / theta_k. A real root: prod -=
 * A prod / theta. A pair a +- i b of magnitude s: y = (2 a prod - A prod) / s, total += y / s, prod -= A y / s (Loe,
 * Thornquist, Boman 2020, Algorithm 1; y divided by s so that every factor is of order 1).
 */
static void plan_roots(const polynomial_roots *roots, polynomial_steps *steps)
{
    steps->count = 0;
    steps->first = share_of(roots, 0);
    for (int k = 0; k < roots->count; k++) {
        const polynomial_root theta = roots->root[k];
        const double size = magnitude_of(theta), next = share_of(roots, k + 1);

        if (theta.im > 0.0) {
            steps->step[steps->count++] = (polynomial_step){-1.0 / size, 2.0 * (theta.re / size), 1.0 / size, false};
        }
        if (k + 1 == roots->count) { break; } /* prod is not needed any more */
        if (theta.im > 0.0) {
            steps->step[steps->count++] = (polynomial_step){-1.0 / size, 1.0, next, true};
        } else {
            steps->step[steps->count++] = (polynomial_step){-1.0 / theta.re, 1.0, next, false};
        }
    }
}

/* Multiplies the polynomial of `degree` in c by 1 + linear t + square t^2. */
static void multiply_by_factor(long double *c, int degree, long double linear, long double square)
{
    for (int k = degree + 2; k > 0; k--) {
        const long double one = k <= degree + 1 ? c[k - 1] : 0.0L, two = k >= 2 ? c[k - 2] : 0.0L;

        c[k] = (k <= degree ? c[k] : 0.0L) + linear * one + square * two;
    }
}

/* Coefficients of the residual polynomial in t = z / sigma to c, which has space for two more than there are roots and
 * one. */
static int expand_roots(const polynomial_roots *roots, double sigma, long double *c)
{
    int degree = 0;

    c[0] = 1.0L;
    for (int k = 0; k < roots->count; k++) {
        const polynomial_root theta = roots->root[k];
        const long double size = magnitude_of(theta), mu = sigma / size, cosine = theta.re / size;

        if (theta.im > 0.0) {
            multiply_by_factor(c, degree, -2.0L * mu * cosine, mu * mu);
            degree += 2;
        } else {
            multiply_by_factor(c, degree, -mu * cosine, 0.0L);
            degree += 1;
        }
    }
    return degree;
}

/* A power of two about the largest root: powers of A / sigma neither grow nor vanish with the scale of A. */
static double choose_scale(const polynomial_roots *roots)
{
    double largest = 0.0;
    int exponent = 0;

    for (int k = 0; k < roots->count; k++) {
        largest = fmax(largest, magnitude_of(roots->root[k]));
    }
    (void)frexp(largest, &exponent);
    return ldexp(1.0, exponent - 1);
}

/* p(A) r = -1 / sigma sum c_{k+1} (A / sigma)^k r, one power at a time. */
static tess_status plan_powers(const tess_polynomial *p, polynomial_steps *steps)
{
    const double sigma = choose_scale(&p->roots), most = p->precision == TESS_PRECISION_FP64 ? DBL_MAX : FLT_MAX;
    const int64_t capacity = polynomial_count_roots(&p->roots) + 3;
    long double *c = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(p->ctx, capacity, sizeof *c, (void **)&c));
    steps->count = expand_roots(&p->roots, sigma, c) - 1;
    for (int k = 0; k <= steps->count; k++) {
        const long double value = -c[k + 1] / sigma;

        if (!(fabsl(value) <= most)) {
            status = tess_fail(p->ctx, TESS_OUT_OF_RANGE, "use --polynomial-form roots",
                               "the coefficients of a polynomial of degree %d overflow", steps->count);
            break;
        }
        if (k == 0) {
            steps->first = (double)value;
        } else {
            steps->step[k - 1] = (polynomial_step){1.0 / sigma, 0.0, (double)value, false};
        }
    }
cleanup:
    tess_host_release(p->ctx, c, capacity, sizeof *c);
    return status;
}

tess_status polynomial_plan_steps(const tess_polynomial *p, polynomial_steps *steps)
{
    if (p->form == TESS_POLYNOMIAL_POWERS) { return plan_powers(p, steps); }
    plan_roots(&p->roots, steps);
    return TESS_SUCCESS;
}
