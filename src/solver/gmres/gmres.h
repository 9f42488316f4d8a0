/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the sources of GMRES. */
#ifndef TESS_SOLVER_GMRES_GMRES_H
#define TESS_SOLVER_GMRES_GMRES_H

#include "solver/gmres/arnoldi.h"
#include "solver/many.h"

typedef struct tess_gmres {
    tess_arnoldi arnoldi;
    double *numbers; /* memory of the small problem */
    int64_t nnumbers;
    int copy; /* of a composite matrix */
    /* FGMRES with a preconditioner: column j is M_j^-1 times the vector that was multiplied in iteration j. In the
       precision of the vectors, ld rows apart; NULL: d = M^-1 V y. */
    bool flexible;
    void *preconditioned;
    tess_precision preconditioned_precision;
} tess_gmres;

/* Distributes `numbers` among the arrays of the small problem; if there is no space, returns how many are needed. */
int64_t gmres_place_numbers(arnoldi_small *small, double *numbers);

/* ---- several columns: gmres_columns.c ---- */

int gmres_count_bases(const tess_solve_options *o);
bool gmres_expects_columns(const tess_solve_options *o);
int64_t gmres_column_bytes(const tess_solve_options *o, int64_t n);
tess_status gmres_run_columns(many_columns *m);

/* ---- gmres_options.c ---- */

/* The precision of a basis by options that may still leave it open. */
tess_precision gmres_basis_precision(const tess_solve_options *o);
/* Checks the options and settles the precisions that they leave open. */
tess_status gmres_complete_options(method_solver *s);

#endif
