/* SPDX-License-Identifier: Apache-2.0 */
/* Smoother, split and restriction for the matrix, where the options leave them to the library. */
#ifndef TESS_PRECOND_MULTIGRID_BY_MATRIX_H
#define TESS_PRECOND_MULTIGRID_BY_MATRIX_H

#include "precond/multigrid/hierarchy.h"

/* What rows picked at random say. */
typedef struct amg_matrix_facts {
    double unsymmetry; /* sum of |a_ij - a_ji| over that of |a_ij + a_ji| off the diagonal, of A or, if that is less,
                          of A with its rows divided by the diagonal: 0 symmetric, 1 upwind differences alone */
    double other_sign; /* share of the magnitudes off the diagonal that have the diagonal's sign: rotated anisotropy */
    double mean_row;   /* entries */
} amg_matrix_facts;

typedef enum amg_matrix_kind {
    AMG_MATRIX_PLAIN = 0,
    AMG_MATRIX_ANISOTROPIC = 1,
    AMG_MATRIX_CONVECTION = 2,       /* beside diffusion */
    AMG_MATRIX_STRONG_CONVECTION = 3 /* little diffusion */
} amg_matrix_kind;

/* Of a matrix in CSR on a host or a GPU, which find the same up to rounding. Errors: memory. */
tess_status amg_find_matrix_facts(const tess_matrix *a, uint64_t seed, amg_matrix_facts *facts);
amg_matrix_kind amg_kind_of(const amg_matrix_facts *facts);

/*
 * Fills what is auto of smoother, split and restriction. The matrix decides where all three are auto and classical
 * coarsening takes it; *kind says how. Else the plain choice, or what goes with those that are given. On a GPU
 * convection chooses the degree of the smoother, and its levels are plain otherwise.
 */
tess_status amg_choose_by_matrix(const tess_matrix *a, tess_amg_options *options, amg_matrix_kind *kind);
/* The choice without a look at the matrix. */
void amg_choose_plainly(tess_amg_options *options);
/* The coarsening that the options settle, and the one that does, such as "--amg-modes". AUTO: the matrix decides. */
tess_amg_coarsening amg_settled_coarsening(const tess_amg_options *options, const char **by);
/* Whether a cycle of a symmetric matrix is not symmetric. */
bool amg_loses_symmetry(const tess_amg_options *options);
/* An option that is given, and that levels of this coarsening do not read, such as "--amg-truncation"; NULL: none. */
const char *amg_find_unread(const tess_amg_options *options, tess_amg_coarsening kind);

#endif
