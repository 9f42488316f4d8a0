/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU a process takes. */
#ifndef TESSERA_PETSC_DEVICE_H
#define TESSERA_PETSC_DEVICE_H

/* The GPU of the process with that number on its machine, as PETSc counts them; -1: the machine has none. */
static inline int tp_gpu_of(int process, int gpus)
{
    return gpus > 0 ? process % gpus : -1;
}

/* Whether one process alone has the GPU which it has: gpu[k] is that of process k of the machine, -1 for none. */
static inline int tp_is_alone(const int *gpu, int processes, int process)
{
    int others = 0;

    for (int k = 0; k < processes; k++) {
        others += k != process && gpu[k] == gpu[process];
    }
    return gpu[process] >= 0 && others == 0;
}

#endif
