/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of processes that use one GPU, handed to one of them: a GPU serves processes in turn, and each wait of one is a
   turn of all. */
#ifndef TESS_PETSC_GATHER_H
#define TESS_PETSC_GATHER_H

#include <petscmat.h>

/* The processes with their own number as leader hold the rows of those that name them. */
typedef struct tp_gather {
    MPI_Comm comm;
    PetscMPIInt tag, rank, ranks, leaders;
    PetscMPIInt *leader; /* of each process */
} tp_gather;

/* Into how many groups the processes of each machine go in turn, or one of these. */
enum { TP_GATHER_AUTO = 0 /* those that use one GPU */, TP_GATHER_NONE = -1 };

/* Reads `auto`, which the empty word is too, `none` or a number; false: it is none of them. */
PetscBool tp_gather_parse(const char *word, PetscMPIInt *groups);
/* *out is NULL where each process is alone. Collective. */
PetscErrorCode tp_gather_create(MPI_Comm comm, PetscMPIInt groups, tp_gather **out);
/* A matrix that derives from AIJ with the rows and columns of the leaders: a new one. Collective. */
PetscErrorCode tp_gather_matrix(const tp_gather *g, Mat A, Mat *out);
/* A vector for such a matrix, and what brings the values of one like `own` there and back. Collective. */
PetscErrorCode tp_gather_vector(const tp_gather *g, Vec own, Vec *out, VecScatter *scatter);
PetscBool tp_gather_leads(const tp_gather *g); /* this process has rows; also without a gather */
PetscErrorCode tp_gather_destroy(tp_gather **g);

#endif
