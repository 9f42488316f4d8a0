/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the library become errors of PETSc, and those of one process errors of all. */
#include "errors.h"

#include "context.h"
#include "options.h"

PetscErrorCode tp_check(tess_status status, const char *call)
{
    const tess_error *error;
    char message[2 * sizeof error->message], hint[2 * sizeof error->hint] = "";

    PetscFunctionBegin;
    if (status == TESS_SUCCESS) { PetscFunctionReturn(PETSC_SUCCESS); }
    error = tp_last_error();
    (void)tp_spell(error && error->message[0] ? error->message : tess_status_text(status), message, sizeof message);
    if (error) { (void)tp_spell(error->hint, hint, sizeof hint); }
    SETERRQ(PETSC_COMM_SELF, status == TESS_OUT_OF_MEMORY ? PETSC_ERR_MEM : PETSC_ERR_LIB, "Tessera: %s%s%s (%s)",
            message, hint[0] ? "; " : "", hint, call);
}

PetscErrorCode tp_agree(MPI_Comm comm, PetscErrorCode code)
{
    int worst = (int)code;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm));
    PetscCall(code);
    PetscCheck(!worst, PETSC_COMM_SELF, (PetscErrorCode)worst, "another process has failed here, and says why");
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_warn(MPI_Comm comm, const char *message)
{
    PetscFunctionBegin;
    PetscCall(PetscFPrintf(comm, PETSC_STDERR, "tessera: %s\n", message));
    PetscFunctionReturn(PETSC_SUCCESS);
}
