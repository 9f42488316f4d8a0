/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU a process takes, and which processes share one. */
#ifndef TESS_PETSC_GPU_USERS_H
#define TESS_PETSC_GPU_USERS_H

#include <petscsys.h>
#include <string.h>

/* The GPU of the process with that number on its machine, as PETSc counts them; -1: the machine has none. */
static inline int tp_gpu_of(int process, int gpus)
{
    return gpus > 0 ? process % gpus : -1;
}

/* A process of a machine, and its GPU by tess_context_gpu_id; empty: it has none. */
typedef struct tp_gpu_user {
    char gpu[40];
    int rank;
} tp_gpu_user;

/* How many processes use the GPU of a process; 0: it has none. */
static inline int tp_count_users(const tp_gpu_user *all, int processes, int process)
{
    int users = 0;

    for (int k = 0; k < processes; k++) {
        users += all[process].gpu[0] && strcmp(all[k].gpu, all[process].gpu) == 0;
    }
    return users;
}

/* The first of them; the process itself where it has none. */
static inline int tp_first_user(const tp_gpu_user *all, int processes, int process)
{
    for (int k = 0; k < processes; k++) {
        if (all[process].gpu[0] && strcmp(all[k].gpu, all[process].gpu) == 0) { return k; }
    }
    return process;
}

/* Of the processes of this one's machine: how many use its GPU with PETSc, and the first of them by its number in the
   communicator; 0 and itself where it has none. Collective. */
PetscErrorCode tp_gpu_users(MPI_Comm comm, PetscMPIInt *users, PetscMPIInt *first);
/* Whether each process shares a GPU with PETSc, and with no other process of its machine. Collective. */
PetscErrorCode tp_has_own_gpu(MPI_Comm comm, PetscBool *out);

#endif
