/* SPDX-License-Identifier: Apache-2.0 */
/* The device on which the context of a process computes. */
#ifndef TESS_PETSC_DEVICE_H
#define TESS_PETSC_DEVICE_H

#include <petscsys.h>
#include <tessera/context.h>

/* PETSc's GPU of this process and its stream, or the host; process: its number on its machine. */
PetscErrorCode tp_choose_device(int process, tess_context_options *options);

#endif
