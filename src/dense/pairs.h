/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over complex vectors: arrays of pairs, re and im in turn (matrix/complex_form.h). Sizes count pairs. The
 * backends share what is done to a pair.
 */
#ifndef TESS_DENSE_PAIRS_H
#define TESS_DENSE_PAIRS_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PAIRS_MOST = 4 }; /* vectors of a combination; inner products of a pass */

typedef struct pair {
    double re, im;
} pair;

/* y := sum of factor[j] x[j]; y may be one of them. */
typedef struct pair_combination {
    int64_t n;
    int count;
    pair factor[PAIRS_MOST];
    const double *x[PAIRS_MOST];
    double *y;
} pair_combination;

/* (x[j], y[j]), the sum of conj(x) y. */
typedef struct pair_products {
    int64_t n;
    int count;
    const double *x[PAIRS_MOST], *y[PAIRS_MOST];
} pair_products;

/* The functions of a device. */
typedef struct pairs_ops {
    tess_status (*combine)(tess_context *ctx, const pair_combination *c);
    tess_status (*products)(tess_context *ctx, const pair_products *p, pair *sums); /* to the host */
    /* y := D x, where d is the diagonal of D */
    tess_status (*turn)(tess_context *ctx, int64_t n, const double *d, const double *x, double *y);
} pairs_ops;

extern const pairs_ops pairs_host_ops;
const pairs_ops *pairs_gpu_ops(void);
const pairs_ops *pairs_ops_of(const tess_context *ctx);

TESS_HD pair pair_at(const double *x, int64_t i)
{
    const pair value = {x[2 * i], x[2 * i + 1]};

    return value;
}

TESS_HD void pair_combine(const pair_combination *c, int64_t i)
{
    pair sum = {0.0, 0.0};

    for (int j = 0; j < c->count; j++) {
        const pair x = pair_at(c->x[j], i), f = c->factor[j];

        sum.re += f.re * x.re - f.im * x.im;
        sum.im += f.re * x.im + f.im * x.re;
    }
    c->y[2 * i] = sum.re;
    c->y[2 * i + 1] = sum.im;
}

TESS_HD void pair_turn(const double *d, const double *x, double *y, int64_t i)
{
    const pair f = pair_at(d, i), value = pair_at(x, i);

    y[2 * i] = f.re * value.re - f.im * value.im;
    y[2 * i + 1] = f.re * value.im + f.im * value.re;
}

TESS_HD void pair_multiply(const pair_products *p, int64_t i, pair *sums)
{
    for (int j = 0; j < p->count; j++) {
        const pair x = pair_at(p->x[j], i), y = pair_at(p->y[j], i);

        sums[j].re += x.re * y.re + x.im * y.im;
        sums[j].im += x.re * y.im - x.im * y.re;
    }
}

#ifdef __cplusplus
}
#endif

#endif
