/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each BLAS operation on one element, in the arithmetic REAL; NAMED(f) is f's name for it. Included once per
 * arithmetic, so without a guard. x and y are decoded values. An operation adds its term to *sum and returns the value
 * to write (0 if it writes nothing).
 */

/* x . y */
TESS_HD REAL NAMED(blas_dot)(REAL a, REAL b, REAL x, REAL y, REAL *sum)
{
    (void)a;
    (void)b;
    *sum += x * y;
    return 0;
}

/* (a x) . (a x); a power of two in a keeps the sum in range */
TESS_HD REAL NAMED(blas_squares)(REAL a, REAL b, REAL x, REAL y, REAL *sum)
{
    REAL scaled = a * x;

    (void)b;
    (void)y;
    *sum += scaled * scaled;
    return 0;
}

/* a x + b y */
TESS_HD REAL NAMED(blas_axpby)(REAL a, REAL b, REAL x, REAL y, REAL *sum)
{
    (void)sum;
    return a * x + b * y;
}

/* a x */
TESS_HD REAL NAMED(blas_scale)(REAL a, REAL b, REAL x, REAL y, REAL *sum)
{
    (void)b;
    (void)y;
    (void)sum;
    return a * x;
}

/* Chooses the operation; `op` is a constant wherever this is inlined. */
TESS_HD REAL NAMED(apply_blas)(tess_fused_op op, REAL a, REAL b, REAL x, REAL y, REAL *sum)
{
    switch (op) {
#define TESS_BLAS(NAME, function, operands, ndots) \
    case TESS_FUSED_##NAME:                        \
        return NAMED(function)(a, b, x, y, sum);
#define TESS_FUSED(NAME, function, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    default: return 0;
    }
}
