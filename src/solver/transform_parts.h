/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a transformed solve: set-up in transform.c, solves in refine.c. */
#ifndef TESS_SOLVER_TRANSFORM_PARTS_H
#define TESS_SOLVER_TRANSFORM_PARTS_H

#include "order/row_order.h"
#include "solver/solver.h"

/* The state of such a solver. */
typedef struct solver_transform {
    uint64_t values_version;   /* revision of the original's values that the other parts were made from; 0: there are
                                  none */
    row_order order;           /* by clusters, of a system that is not scaled; perm NULL: there is none */
    tess_matrix *matrix;       /* B */
    tess_matrix *to_rows;      /* c = to_rows b */
    tess_matrix *from_columns; /* x = from_columns y */
    tess_solver *inner;        /* of B */
    tess_vector *residual;     /* b - A x */
    tess_vector *rhs;          /* of the system for the correction */
    tess_vector *correction;   /* its solution */
    tess_vector *candidate;    /* x and the correction, while it is judged, and after the solve the last one */
    tess_vector *best;         /* the best x so far */
    const tess_vector *base;   /* while an inner solve runs: the x that gets 2^exponent times its correction */
    int exponent;
    char *why; /* of the whole; NULL: nothing was asked */
} solver_transform;

/* tess_solver_solve for such a solver; the vectors are checked (refine.c). */
tess_status solve_transformed(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);

/* Renews the system after tess_matrix_update_values: all of it, because other values have another matching. */
tess_status renew_system(const tess_solver *s);

#endif
