/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poisson's equation on a cube or a bar, as a user of PETSc writes it: nothing here knows of Tessera.
 *
 *     mpirun -n 2 poisson -points 40 -dll_append $plugin -mat_type tessera -ksp_type cg -pc_type jacobi
 *
 * Options: -points N (20) on each side; -depth D (N): in the third direction, along which processes share the bar;
 * -jump J (1): the coefficient of one half; -random: the right-hand side, in place of 1; those of solve.h.
 */
#include "solve.h"

static PetscErrorCode assemble(PetscInt m, PetscInt depth, PetscReal jump, Mat *out)
{
    PetscInt first, last;
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m * m * depth, m * m * depth));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSeqAIJSetPreallocation(A, 7, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 7, NULL, 6, NULL));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        const PetscInt at[3] = {r % m, r / m % m, r / (m * m)}, step[3] = {1, m, m * m}, side[3] = {m, m, depth};
        const PetscScalar k = at[2] < depth / 2 ? 1 : jump, diagonal = 6 * k;
        for (int d = 0; d < 3; d++) {
            /* the coefficient of a face is that of the lower point: A stays symmetric */
            const PetscScalar below = d == 2 && at[2] == depth / 2 ? -1 : -k, above = -k;
            const PetscInt lower = r - step[d], upper = r + step[d];
            if (at[d] > 0) { PetscCall(MatSetValues(A, 1, &r, 1, &lower, &below, INSERT_VALUES)); }
            if (at[d] < side[d] - 1) { PetscCall(MatSetValues(A, 1, &r, 1, &upper, &above, INSERT_VALUES)); }
        }
        PetscCall(MatSetValues(A, 1, &r, 1, &r, &diagonal, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    *out = A;
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt points = 20, depth;
    PetscReal jump = 1;
    PetscBool random;
    Mat A;
    Vec b;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, NULL));
    depth = points;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-depth", &depth, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &jump, NULL));
    PetscCall(assemble(points, depth, jump, &A));
    PetscCall(MatCreateVecs(A, NULL, &b));
    PetscCall(PetscOptionsHasName(NULL, NULL, "-random", &random));
    PetscCall(random ? VecSetRandom(b, NULL) : VecSet(b, 1));
    PetscCall(solve(A, b));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return 0;
}
