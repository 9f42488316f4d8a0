/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalar updates of preconditioned MINRES (Paige and Saunders, SIAM J. Numer. Anal. 12 (1975)). Their numbers do not
 * fit into the loop's state, which has a pointer to them: two sets, of which an update reads one and writes the other.
 * An update may so run in several blocks of a GPU at once, while other blocks read what it wrote: it writes each number
 * once, and each block the same.
 */
#ifndef TESS_SOLVER_MINRES_MINRES_SCALARS_H
#define TESS_SOLVER_MINRES_MINRES_SCALARS_H

#include <math.h>

#include "device/iteration_end.h"

/* The sets: MINRES_PRODUCT is complete after the product with A, MINRES_ROTATED after the rotation. */
enum { MINRES_PRODUCT, MINRES_ROTATED, MINRES_SETS };

/*
 * Iteration j: the Lanczos vector v_j, kept with a norm near 1, is g times a vector of norm 1 in M^-1 (g in the array
 * below is `length`). The tridiagonal matrix has alpha_j in its diagonal and beta_j beside it. Rotations [c s; s -c]
 * make it triangular: its column j is epsilon_j, delta_j, gamma_j.
 */
typedef struct minres_numbers {
    double lanczos[3];   /* coefficients of A z, v_j, v_(j-1) in the next Lanczos vector */
    double direction[3]; /* of z, of the last two directions in the next one, which is gamma_j times w_j */
    double advance[3];   /* of the direction in d; of r and of the Lanczos vector in the new r */
    double length, length_before;
    double beta, alpha;
    double sign;  /* of M: a negative definite one stands for -M, with z for -z */
    double scale; /* of the next Lanczos vector: beta_(j+1) over its length as kept */
    double cosine, sine;
    double delta_next;  /* the part of delta_(j+1) that is known before alpha_(j+1): dbar of the paper */
    double over_before; /* epsilon_(j+1) over gamma_(j-1) */
    double diagonal;    /* gamma_j before its rotation: gbar */
    double gamma;
    double residual; /* in the norm of M^-1, with its sign: phibar */
    double norm;     /* the largest column of the tridiagonal matrix in all cycles: at most ||A||, in M^-1 */
    double plateau;  /* |phibar| where ||A r|| became small beside ||A|| ||r||; 0: it is not */
    double wait;     /* with `plateau`: iterations to the next pause; 0: this one ends with it */
} minres_numbers;

/* A sum of squares below this share of the product's is rounding error: the Krylov space is invariant. */
#define MINRES_INVARIANT 0x1p-100
/* A diagonal entry below this share of its column is rounding error: A is singular on the Krylov space. */
#define MINRES_SINGULAR 0x1p-50
/*
 * Where ||A r|| is below this share of ||A|| ||r||, r may be the least residual of a system without a solution (Choi,
 * Paige, Saunders, SIAM J. Sci. Comput. 33 (2011)): x then grows along a null vector until its rounding errors exceed
 * r, while the recurrence shows nothing of it. The share is about the square root of the unit roundoff: less is not
 * reached. Or A is ill-conditioned, from about 1e14 on, and r falls later. So the cycle pauses, and the true
 * residual tells (guard_pause.c).
 */
#define MINRES_LEAST 0x1p-23
#define MINRES_PAUSE 64.0
/* It is over where r has fallen so much. */
#define MINRES_FALLEN 0.5

TESS_HD minres_numbers *minres_set(const tess_loop_state *s, int set)
{
    return (minres_numbers *)s->numbers + set;
}

/* dots[1] = (r, z): beta_1 = sqrt((r, z)), or with -z. v_1 is r itself. */
TESS_HD void update_minres_start(tess_loop_state *s)
{
    const double square = s->dots[1];
    minres_numbers *first = minres_set(s, MINRES_ROTATED);

    if (!scalar_is_finite(square)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
        return;
    }
    if (square == 0.0) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_INDEFINITE_PRECOND);
        return;
    }
    first->sign = square > 0.0 ? 1.0 : -1.0;
    first->length = first->residual = sqrt(fabs(square));
    first->length_before = first->gamma = 1.0;
    first->cosine = -1.0;
    first->beta = first->sine = first->delta_next = first->over_before = 0.0; /* the matrix has no beta_1 */
    first->plateau = first->wait = 0.0;
    if (s->iteration == 0) { first->norm = 0.0; } /* a later cycle keeps it */
}

/* Squares from here on have lost nothing to underflow. */
#define MINRES_LEAST_SQUARE 0x1p-900

/* ||A z||; if its square is out of range, the part along z, which is at most that. Never 0. */
TESS_HD double minres_scale(double along, double square, double length)
{
    const double norm = square >= MINRES_LEAST_SQUARE && scalar_is_finite(square) ? sqrt(square) : fabs(along) / length;

    return norm > 0.0 ? norm : 1.0;
}

/* dots = {(z, A z), ||A z||^2}: alpha_j, the last rotation applied to column j, and the coefficients of the passes. The
   numbers that stay are copied one by one: a copy of the whole set would write some of them twice. */
TESS_HD void update_minres_product(tess_loop_state *s)
{
    const minres_numbers *now = minres_set(s, MINRES_ROTATED);
    minres_numbers *next = minres_set(s, MINRES_PRODUCT);
    const double g = now->length, alpha = s->dots[0] / g / g, whole = minres_scale(s->dots[0], s->dots[1], g);

    if (!scalar_is_finite(alpha)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
        return;
    }
    next->length = g;
    next->sign = now->sign;
    next->beta = now->beta;
    next->cosine = now->cosine;
    next->sine = now->sine;
    next->gamma = now->gamma;
    next->residual = now->residual;
    next->norm = now->norm;
    next->plateau = now->plateau;
    next->wait = now->wait;
    next->alpha = alpha;
    /* v_(j+1) := (A z - alpha_j v_j - beta_j (g / g_before) v_(j-1)) / ||A z|| */
    next->lanczos[0] = now->sign / whole;
    next->lanczos[1] = alpha / whole;
    next->lanczos[2] = now->beta * (g / now->length_before) / whole;
    next->scale = whole / g;
    next->direction[0] = now->sign / g;
    next->direction[1] = (now->cosine * now->delta_next + now->sine * alpha) / now->gamma;
    next->direction[2] = now->over_before;
    next->diagonal = now->sine * now->delta_next - now->cosine * alpha;
}

/* Why iteration j must stop before its rotation, or RUNNING. The squares of v_(j+1): its own, in M^-1; `beta` follows
   from it. */
TESS_HD tess_reason minres_obstacle(const minres_numbers *now, double own, double square, double beta)
{
    const double gamma = scalar_length(now->diagonal, beta);
    const double column = scalar_length(scalar_length(now->alpha, now->beta), beta);

    if (!scalar_is_finite(own) || !scalar_is_finite(square)) { return TESS_REASON_NAN_OR_INF; }
    if (own > MINRES_INVARIANT && square <= 0.0) { return TESS_REASON_INDEFINITE_PRECOND; }
    return gamma <= MINRES_SINGULAR * column ? TESS_REASON_BREAKDOWN : TESS_REASON_RUNNING;
}

/* What is known of ||A||; and whether r is on a plateau, of which ||A r_(j-1)|| tells. After next->residual. */
TESS_HD void minres_watch(const minres_numbers *now, double beta, minres_numbers *next)
{
    const double column = scalar_length(scalar_length(now->alpha, now->beta), beta);
    const double norm = column > now->norm ? column : now->norm;
    const int begins = scalar_length(now->diagonal, now->cosine * beta) <= MINRES_LEAST * norm;
    const int lasts = now->plateau > 0.0 && fabs(next->residual) > MINRES_FALLEN * now->plateau;

    next->norm = norm;
    next->plateau = lasts ? now->plateau : begins ? fabs(now->residual) : 0.0;
    next->wait = !lasts ? 0.0 : now->wait > 0.0 ? now->wait - 1.0 : MINRES_PAUSE;
}

/* The rotation that removes beta_(j+1). Squares: see above; `product` is that of v_(j+1) and z. */
TESS_HD void minres_rotate(tess_loop_state *s, double own, double product)
{
    const minres_numbers *now = minres_set(s, MINRES_PRODUCT);
    minres_numbers *next = minres_set(s, MINRES_ROTATED);
    const double square = now->sign * product;
    const double length = own > MINRES_INVARIANT && square > 0.0 ? sqrt(square) : 0.0, beta = now->scale * length;
    const tess_reason obstacle = minres_obstacle(now, own, square, beta);

    if (obstacle != TESS_REASON_RUNNING) {
        loop_stop(s, TESS_LOOP_STOPPED, obstacle);
        return;
    }
    next->length_before = now->length;
    next->length = length;
    next->sign = now->sign;
    next->beta = beta;
    next->over_before = now->sine * beta / now->gamma;
    next->delta_next = -now->cosine * beta;
    next->gamma = scalar_length(now->diagonal, beta);
    next->cosine = now->diagonal / next->gamma;
    next->sine = beta / next->gamma;
    next->residual = next->sine * now->residual;
    minres_watch(now, beta, next);
    /* d += phi_j w_j; r_j = s^2 r_(j-1) - phibar c v_(j+1), of unit length */
    next->advance[0] = next->cosine * now->residual / next->gamma;
    next->advance[1] = next->sine * next->sine;
    next->advance[2] = length > 0.0 ? -next->residual * next->cosine / length : 0.0;
}

/* dots = {(v, v), (v, z)} from one pass. */
TESS_HD void update_minres_rotate(tess_loop_state *s)
{
    minres_rotate(s, s->dots[0], s->dots[1]);
}

/* The preconditioner's own pass gave dots[0] = (v, z); the pass before it left (v, v) in dots[1]. */
TESS_HD void update_minres_rotate_split(tess_loop_state *s)
{
    minres_rotate(s, s->dots[1], s->dots[0]);
}

/* The end of the iteration; dots[0] = (r, r). */
TESS_HD void update_minres_end(tess_loop_state *s)
{
    const minres_numbers *now = minres_set(s, MINRES_ROTATED);

    update_residual_end(s);
    if (s->phase == TESS_LOOP_RUNNING && now->plateau > 0.0 && now->wait == 0.0) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_RUNNING);
    }
    loop_end_if_stalled(s, TESS_LOOP_STOPPED);
}

#endif
