/* SPDX-License-Identifier: Apache-2.0 */
/* The guess of a step of a sequence: the best combination of the last solutions. */
#ifndef TESS_SOLVER_SEQUENCE_GUESS_H
#define TESS_SOLVER_SEQUENCE_GUESS_H

#include "dense/vector.h"
#include "matrix/matrix.h"

/* The most solutions. */
enum { GUESS_MOST = 16 };

/*
 * The last solutions: column 0 is the last one, and the others are differences of one and the next, in any order. They
 * span the same space as the solutions, and their products of two are far better conditioned. Both arrays are on the
 * device, column after column.
 */
typedef struct sequence_guess {
    tess_context *ctx;
    int64_t nrows, ncols;
    int most, count, oldest; /* columns there may be, columns there are, and the difference that goes next */
    double *v, *w;           /* V, and A V */
    double *small;           /* on the device: the projected system, most by most + 1 */
    double *gram;            /* the same on the host */
    tess_vector *trial, *residual;
    uint64_t products_of; /* values of A in W; 0: W is out of date */
    int pending;          /* the difference that W lacks, with column 0; 0: column 0 alone; -1: W is complete */
} sequence_guess;

/* What a step starts from. Norms are NaN where they were not measured. */
typedef struct guess_found {
    bool given, projected; /* x as it was given, or the projection; neither: zero */
    int solutions;
    double residual, given_residual;
    int64_t products;
    double seconds;
} guess_found;

void guess_open(sequence_guess *g, const tess_matrix *a, int most);
void guess_close(sequence_guess *g);
/* There are no solutions. */
void guess_forget(sequence_guess *g);
/* x := the best guess. definite: the energy norm decides which combination of the solutions is tried. */
tess_status guess_find(sequence_guess *g, const tess_matrix *a, const tess_vector *b, tess_vector *x, bool definite,
                       guess_found *out);
/* Takes in the solution of a step. */
tess_status guess_remember(sequence_guess *g, const tess_vector *x);

/* Least squares or Galerkin: solves the m by m system at gram, of leading dimension ld, with the right-hand side in
   column m, for as many columns as are independent up to rounding. *y: m coefficients, 0 for the others. Returns how
   many columns it took. */
int guess_solve_small(int m, int ld, const double *gram, double *y);

#endif
