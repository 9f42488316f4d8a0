/* SPDX-License-Identifier: Apache-2.0 */
/* The small problem of GMRES, min || gamma e1 - H y ||, by Givens rotations (Saad 2003, section 6.5.3), one column at a
   time. One thread runs it; the same code on host and device. */
#ifndef TESS_SOLVER_GMRES_HESSENBERG_H
#define TESS_SOLVER_GMRES_HESSENBERG_H

#include <math.h>

#include <tessera/export.h>

#include "base/precision_traits.h"
#include "device/iteration_end.h"
#include "solver/gmres/arnoldi.h"

/* The rest of a product after two projections is rounding error if its norm is below this many roundoffs of the
   product's: the space is invariant. */
#define ARNOLDI_ROUNDOFFS 0x1p-50
/* The estimate of a norm is at least this times the previous norm: a smaller one is rounding error. */
#define ARNOLDI_MIN_SHARE 0x1p-26

/* The power of two for stored columns: entries of a vector of norm 1 are at most 1, and usually small. 0 if the range
   is at least that of FP32. */
TESS_HD int arnoldi_exponent(tess_precision precision)
{
    return precision_has_narrow_range(precision) ? precision_traits_of(precision).emax - 1 : 0;
}

/* The divisor of a vector after the second pass, before it is stored: about its norm, and zero only if the norm is.
   Squares: of the norm before that pass, of the part that the pass removes. */
TESS_HD double arnoldi_divisor(double once, double removed)
{
    const double least = ARNOLDI_MIN_SHARE * sqrt(once), twice = once - removed;
    double norm;

    norm = twice > 0.0 ? sqrt(twice) : 0.0;
    norm = norm > least ? norm : least;
    return norm > 0.0 ? norm : 1.0;
}

/* Rotates (x, y); both are written. */
TESS_HD void arnoldi_rotate(double c, double s, double *x, double *y)
{
    double turned = c * *x + s * *y;

    *y = c * *y - s * *x;
    *x = turned;
}

/*
 * Closes column j of the triangle: `column` holds H's first j + 1 entries, with `next` below them. Computes its
 * rotations, the residual estimate, and the tests of the loop. least: a column of this length is rounding error. The
 * loop stops with reason RUNNING when the basis is full, and with BREAKDOWN if the column adds nothing; the column is
 * then left out.
 */
TESS_HD void arnoldi_close_column(const arnoldi_small *a, int j, double *column, double next, double least,
                                  tess_loop_state *s)
{
    double length;

    for (int k = 0; k < j; k++) {
        arnoldi_rotate(a->cosine[k], a->sine[k], &column[k], &column[k + 1]);
    }
    length = scalar_length(column[j], next);
    if (!scalar_is_finite(length) || !scalar_is_finite(least)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
        return;
    }
    if (length <= least) { /* A M^-1 is singular on this space */
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_BREAKDOWN);
        return;
    }
    a->cosine[j] = column[j] / length;
    a->sine[j] = next / length;
    column[j] = length;
    a->g[j + 1] = -a->sine[j] * a->g[j];
    a->g[j] *= a->cosine[j];
    *a->last = j + 1;
    s->residual_norm = fabs(a->g[j + 1]);
    loop_end_iteration(s, TESS_LOOP_STOPPED);
    if (s->phase == TESS_LOOP_RUNNING && j + 1 == a->most) { loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_RUNNING); }
}

/* CGS2: closes an iteration. divisor: what the new vector was divided by; power: arnoldi_exponent. */
TESS_HD void arnoldi_close(const arnoldi_small *a, double divisor, int power, tess_loop_state *s)
{
    const int j = *a->last;
    const double unit = a->unit[j], whole = sqrt(a->norms[ARNOLDI_WHOLE]);
    double *column = a->r + (int64_t)j * (j + 1) / 2;
    double norm = sqrt(a->norms[ARNOLDI_TWICE]);

    if (norm <= ARNOLDI_ROUNDOFFS * whole) { norm = 0.0; }
    for (int k = 0; k <= j; k++) {
        column[k] = unit * (a->first[k] + a->second[k]);
    }
    a->unit[j + 1] = norm > 0.0 ? divisor / norm : 0.0;
    a->scale[j + 1] = ldexp(a->unit[j + 1], -power);
    arnoldi_close_column(a, j, column, unit * norm, ARNOLDI_ROUNDOFFS * unit * whole, s);
}

/* ---- delayed ---- */

/*
 * Entry i of the column of H that iteration k closes, column k - 1 (k >= 1, i < k). With names from arnoldi.h, of the
 * iteration before where primed: A u' = Q t' + nu' u with t' = (Q'^T w', q'^T w'), u' = Q' s' + alpha' q', u = Q s +
 * alpha q, and A Q' = Q H', so that A q' = (Q (t' + nu' s - H' s') + nu' alpha q) / alpha'. product: entry i of H' s'.
 */
TESS_HD double arnoldi_delayed_entry(const arnoldi_small *a, int i, double product)
{
    return (a->first_before[i] + a->carried[ARNOLDI_NU] * a->second[i] - product) / a->carried[ARNOLDI_ALPHA];
}

/* Term l of entry i of H' s'. */
TESS_HD double arnoldi_delayed_term(const arnoldi_small *a, int i, int l)
{
    return i <= l + 1 ? a->h[(int64_t)l * (l + 3) / 2 + i] * a->second_before[l] : 0.0;
}

/* Squares that differ by less than this share are equal up to rounding. */
#define ARNOLDI_SQUARE_ROUNDOFFS 0x1p-44

/* ||u - Q s||; 0 if that is rounding error. The second square: of s. */
TESS_HD double arnoldi_delayed_alpha(const arnoldi_small *a, double removed)
{
    const double square = a->norms[0], left = square - removed;

    return left > ARNOLDI_SQUARE_ROUNDOFFS * square ? sqrt(left) : left - left; /* NaN and Inf are kept */
}

/* The entry below column k - 1 of H, for closing that column; *least: see arnoldi_close_column. */
TESS_HD double arnoldi_delayed_next(const arnoldi_small *a, double alpha, double *least)
{
    const double next = a->carried[ARNOLDI_NU] * alpha / a->carried[ARNOLDI_ALPHA];

    *least = ARNOLDI_ROUNDOFFS * a->carried[ARNOLDI_WHOLE_BEFORE] / a->carried[ARNOLDI_ALPHA];
    return next <= *least ? 0.0 : next;
}

/* The rest of iteration k: the coefficient of q, the divisor of the next u, and the values that the next iteration
   needs. The sums: of second times first, of the squares of first. */
TESS_HD void arnoldi_continue_delayed(const arnoldi_small *a, int k, double alpha, double cross, double removed,
                                      int power, tess_loop_state *s)
{
    const double along = (a->norms[1] - cross) / alpha;

    if (!scalar_is_finite(along) || !(alpha > 0.0)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
        return;
    }
    if (k == 0) { a->g[0] *= alpha; }
    a->first[k] = along;
    a->carried[ARNOLDI_ALPHA] = alpha;
    a->carried[ARNOLDI_NU] = arnoldi_divisor(a->norms[2], removed + along * along);
    a->carried[ARNOLDI_WHOLE_BEFORE] = sqrt(a->norms[2]);
    a->scale[k] = ldexp(1.0, -power);
    *a->stored = k + 1;
}

/* y from the triangle, by back substitution; then times the columns' scales. */
TESS_HD void arnoldi_solve(const arnoldi_small *a)
{
    for (int i = *a->last - 1; i >= 0; i--) {
        double sum = a->g[i];

        for (int k = i + 1; k < *a->last; k++) {
            sum -= a->r[(int64_t)k * (k + 1) / 2 + i] * a->y[k];
        }
        a->y[i] = sum / a->r[(int64_t)i * (i + 1) / 2 + i];
    }
    for (int i = 0; i < *a->last; i++) {
        a->y[i] *= a->scale[i];
    }
}

#endif
