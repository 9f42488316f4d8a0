/* SPDX-License-Identifier: Apache-2.0 */
/* Values of x that processes send each other, in FP64, FP32 or FP16. */
#ifndef TESS_PETSC_HALO_H
#define TESS_PETSC_HALO_H

#include <petscmat.h>
#include <tessera/matrix.h>
#include <tessera/vector.h>

/*
 * A message has a power of two, and the values over it: FP16 keeps 11 bits of the largest values of a message, and an
 * error of 2^-25 of the largest one in the smallest. Both are far above what FP64 sends.
 */
typedef struct tp_halo {
    MPI_Comm comm;
    PetscMPIInt tag;
    tess_precision precision;
    PetscInt nsends, nreceives, nghosts;
    PetscMPIInt *send_rank, *receive_rank;
    PetscInt *send_at, *send_index;       /* which local values go to each process */
    PetscInt *receive_at, *receive_index; /* which ghosts come from each process */
    PetscBool in_order;                   /* ghosts are in the order of receive_index */
    void *picked;                         /* values in the order of send_index */
    tess_precision values;                /* their precision */
    PetscBool unsent;                     /* picked on a GPU, and not yet sent */
    void *unordered;                      /* values in the order of receive_index; NULL: that of the ghosts */
    void *arrived;                        /* ghosts on their way to a GPU; NULL on a host */
    char *sent, *received;                /* the messages */
    PetscBool pinned;                     /* picked, arrived and received are page-locked: a GPU reads them in place */
    MPI_Request *request;
    tess_matrix *selection[2]; /* on a GPU: whose product with x is `selected`, what is sent; made, and stored */
    tess_vector *selected;
    PetscBool carries;       /* this exchange: see tp_halo_carry_reset */
    double *owed, *error;    /* to each value that is sent; what rounding took from the last ones */
    double *rounded, length; /* what those became; L below, 0 before the first step */
    double bytes, exchanges; /* sent by this process so far */
    double largest_error;    /* of a sent value, over the largest of its message */
} tp_halo;

/* For a matrix mpiaij: its ghosts are the columns of its off-diagonal block. Collective. */
PetscErrorCode tp_halo_create(Mat A, tess_precision precision, tp_halo **out);
PetscErrorCode tp_halo_begin(tp_halo *halo, const PetscScalar *local);
PetscErrorCode tp_halo_end(tp_halo *halo, PetscScalar *ghosts);
/* The same with vectors in FP64 or FP32 where the context computes. From a GPU only what is sent goes to the host. It
   is rounded and sent at the end, so that the GPU computes meanwhile what was launched in between. */
PetscErrorCode tp_halo_begin_vector(tp_halo *halo, const tess_vector *local);
PetscErrorCode tp_halo_end_vector(tp_halo *halo, tess_vector *ghosts);
PetscErrorCode tp_halo_destroy(tp_halo **halo);

/*
 * For sums over exchanges, x = sum of length[k] * p[k] with rounded values q[k] of p[k]: an exchange that carries sends
 * p + owed / L, where L is the length of the last step, or nine tenths of the last L if that is longer. The step then
 * adds length * (p - q) to what is owed. So the sum of length[k] * (p[k] - q[k]) is what is owed at the end: the
 * roundings of the last exchanges, not of all. Vectors in FP64.
 */
PetscErrorCode tp_halo_carry_reset(tp_halo *halo); /* of one below FP64 */
void tp_halo_carry_step(tp_halo *halo, double length);
/* The exchange was that of a first x, whose length of 1 tells nothing of steps. */
void tp_halo_carry_guess(tp_halo *halo);

#endif
