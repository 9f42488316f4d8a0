/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the library, and of one process among several. */
#ifndef TESS_PETSC_ERRORS_H
#define TESS_PETSC_ERRORS_H

#include "versions.h"

#include <tessera/status.h>

/* Turns a status of the library into an error of PETSc, with the library's message and hint. */
PetscErrorCode tp_check(tess_status status, const char *call);
#define TessCall(call) PetscCall(tp_check((call), #call))
/* An error of one process becomes an error of all, which would else wait for that one in what they do next: each gets
   its own, or is told of another's. Collective. */
PetscErrorCode tp_agree(MPI_Comm comm, PetscErrorCode code);
/* Prints a line on the standard error of the first process. */
PetscErrorCode tp_warn(MPI_Comm comm, const char *message);

#endif
