/* SPDX-License-Identifier: Apache-2.0 */
/* For each line of standard input, which has options: what a solve with them says, as PETSc's error has it, on a line
   of standard output; "solved" where it is none. */
#include "support.h"

#include <stdio.h>
#include <string.h>

/* The message of the place that found the error. */
static PetscErrorCode take_message(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                   PetscErrorType type, const char *message, void *text)
{
    (void)comm, (void)line, (void)function, (void)file;
    if (type == PETSC_ERROR_INITIAL) { snprintf(text, 1024, "%s", message ? message : ""); }
    return code;
}

static PetscErrorCode solve_with_options(void)
{
    Mat A;
    Vec b, x;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(laplacian(4, "", &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPTESSERA));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    char options[1024], text[1024];

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(TesseraPetscInitialize());
    while (fgets(options, sizeof options, stdin)) {
        PetscErrorCode code;

        options[strcspn(options, "\n")] = '\0';
        PetscCall(PetscOptionsClear(NULL));
        PetscCall(PetscOptionsInsertString(NULL, options));
        snprintf(text, sizeof text, "solved");
        PetscCall(PetscPushErrorHandler(take_message, text));
        code = solve_with_options();
        PetscCall(PetscPopErrorHandler());
        printf("%s\n", code ? text : "solved");
    }
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscOptionsSetValue(NULL, "-options_left", "0"));
    PetscCall(PetscFinalize());
    return 0;
}
