/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GMRES polynomial preconditioner. pi(z) = prod (1 - z / theta_i) over the harmonic Ritz values theta_i of d + 1
 * Arnoldi steps from a random vector is the residual polynomial of GMRES after those steps; M^-1 = p(A) with p(z) = (1
 * - pi(z)) / z of degree d. Loe, Thornquist, Boman, Polynomial preconditioned GMRES in Trilinos, SIAM PP (2020); roots
 * added for stability: Embree, Loe, Morgan, Polynomial preconditioned Arnoldi with stability control, SIAM J. Sci.
 * Comput. 43 (2021).
 *
 * polynomial.c: set-up and application; polynomial_arnoldi.c: Arnoldi's process; polynomial_roots.c: its harmonic Ritz
 * values, their order and their copies; polynomial_steps.c: the products that evaluate p.
 */
#ifndef TESS_PRECOND_POLYNOMIAL_POLYNOMIAL_H
#define TESS_PRECOND_POLYNOMIAL_POLYNOMIAL_H

#include <tessera/precond.h>

#include "matrix/matrix.h"

/* re + i im with im >= 0; where im > 0 it stands for its conjugate too. */
typedef struct polynomial_root {
    double re, im;
} polynomial_root;

typedef struct polynomial_roots {
    polynomial_root *root; /* on the host, in the order of their evaluation */
    int count, capacity;
} polynomial_roots;

/*
 * One product: y = alpha A x + beta base, total += gamma y. x is the y of the previous step (r in the first), base is
 * x; if `closes_pair`, base is the x of the previous step. The last step writes no y.
 */
typedef struct polynomial_step {
    double alpha, beta, gamma;
    bool closes_pair;
} polynomial_step;

/* p(A) r = total, which begins as first times r. */
typedef struct polynomial_steps {
    double first;
    polynomial_step *step; /* on the host */
    int count, capacity;
} polynomial_steps;

typedef struct tess_polynomial {
    tess_context *ctx;
    int64_t n;
    const tess_matrix *matrix; /* assembled or shell; borrowed */
    tess_matrix *copy;         /* the matrix that is multiplied instead, if it is stored in a lower precision */
    int degree;
    int most; /* steps of Arnoldi's process: degree + 1, or fewer after polynomial_mend */
    tess_polynomial_form form;
    uint64_t seed;
    tess_precision precision; /* of the vectors: FP64 or FP32 */
    polynomial_roots roots;   /* empty: there is no polynomial */
    polynomial_steps steps;
    void *work[2], *total; /* n values each */
    double *wide[2];       /* `room` times n values each, for several columns; NULL until there were some */
    int room, columns;     /* columns: of the vectors, where n counts the values of all; 0 or 1: one */
    void *product;         /* n values, for an operator given by a function; else NULL */
    uint64_t revision;     /* counts set-ups, so that recordings with older numbers are known to be out of date */
} tess_polynomial;

/* Arnoldi's process: H is (steps + 1) by steps, column-major with columns `ld` apart; h is zero below its last row. */
typedef struct polynomial_arnoldi {
    double *h; /* on the host */
    int ld, steps;
} polynomial_arnoldi;

/*
 * Sets up a polynomial for a square matrix; options are checked. After SINGULAR *out exists too: later values may have
 * a polynomial.
 */
tess_status polynomial_create(const tess_matrix *a, const tess_precond_options *options, tess_polynomial **out);
/* Finds the polynomial of the matrix's present values. */
tess_status polynomial_renew(tess_polynomial *p);
/*
 * For a symmetric positive definite matrix on whose spectrum p was found not to be positive: a polynomial of lower
 * degree with an odd number of roots. Its pi is negative beyond the largest root, so that p is positive there; that of
 * an even number grows above 1. If the number was odd, gaps of the spectrum are the cause, and half the degree is
 * tried. *mended: p has changed.
 */
tess_status polynomial_mend(tess_polynomial *p, bool *mended);
/* z := p(A) r; r and z have the precision `vectors`, FP64 or FP32. `state`: of the loop that calls it, or NULL. */
tess_status polynomial_apply(const tess_polynomial *p, tess_precision vectors, const void *r, void *z,
                             tess_loop_state *state);
/* The same for FP64 vectors of several columns, by rows, if it takes them; after prepare it allocates nothing. */
bool polynomial_takes_columns(const tess_polynomial *p);
tess_status polynomial_prepare_columns(tess_polynomial *p, int columns);
tess_status polynomial_apply_columns(tess_polynomial *p, int columns, const double *r, double *z);
/* Bytes on the device that it owns. */
int64_t polynomial_bytes(const tess_polynomial *p);
void polynomial_destroy(tess_polynomial *p);

/* y := A x in the polynomial's precisions. */
tess_status polynomial_multiply(const tess_polynomial *p, const void *x, void *y);

/*
 * Up to `most` steps, fewer if the space becomes invariant; arnoldi->h has space for them. Errors: SINGULAR (NaN or
 * Inf), memory, and those of the product.
 */
tess_status polynomial_run_arnoldi(const tess_polynomial *p, int most, polynomial_arnoldi *arnoldi);

/*
 * The harmonic Ritz values of the most steps for which all are finite and none is rounding error, in modified Leja
 * order; `workspace` has at least arnoldi->steps entries. `precision` is that of the process. Errors: SINGULAR (there
 * are none), memory.
 */
tess_status polynomial_find_roots(tess_context *ctx, const polynomial_arnoldi *arnoldi, tess_precision precision,
                                  polynomial_roots *roots);
/* Modified Leja order: each root has the largest product of distances to the roots before it; conjugates stay together.
 */
void polynomial_order_roots(polynomial_roots *roots);
/* Adds copies of roots with a steep product to roots in order; roots->root may move. */
tess_status polynomial_add_roots(tess_context *ctx, tess_precision precision, polynomial_roots *roots);
/* log10 of prod_{i != k} |1 - theta_k / theta_i|, conjugates counted. */
double polynomial_steepness(const polynomial_roots *roots, int k);
/* Number of roots, conjugates counted. */
int polynomial_count_roots(const polynomial_roots *roots);

/* The steps of either form; `capacity` has space for polynomial_count_roots. Errors: OUT_OF_RANGE (coefficients). */
tess_status polynomial_plan_steps(const tess_polynomial *p, polynomial_steps *steps);

#endif
