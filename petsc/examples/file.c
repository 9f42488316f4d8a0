/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix from a file of PETSc, which `tessera convert A.mtx A.petsc` writes; b = A 1. Nothing here knows of Tessera.
 *
 *     mpirun -n 2 file -file A.petsc -dll_append $plugin -mat_type tessera -ksp_type tessera
 *
 * Options: -file FILE; those of solve.h.
 */
#include "solve.h"

int main(int argc, char **argv)
{
    char name[PETSC_MAX_PATH_LEN];
    PetscViewer viewer;
    PetscBool given;
    Vec ones, b;
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-file", name, sizeof name, &given));
    PetscCheck(given, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-file FILE is missing");
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, &viewer));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatLoad(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(MatCreateVecs(A, &ones, &b));
    PetscCall(VecSet(ones, 1));
    PetscCall(MatMult(A, ones, b));
    PetscCall(solve(A, b));
    PetscCall(VecDestroy(&ones));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return 0;
}
