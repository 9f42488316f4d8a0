/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poisson's equation on a cube, as a user of PETSc writes it: nothing here knows of Tessera.
 *
 *     mpirun -n 2 poisson -points 40 -dll_append libtessera_petsc.so -mat_type tessera -ksp_type cg -pc_type jacobi
 *
 * Options: -points N (20) on each side; -jump J (1): the coefficient of one half; -repeat R (1) solves.
 */
#include <petscksp.h>

static PetscErrorCode assemble(PetscInt m, PetscReal jump, Mat *out)
{
    PetscInt first, last;
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m * m * m, m * m * m));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSeqAIJSetPreallocation(A, 7, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 7, NULL, 6, NULL));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        const PetscInt at[3] = {r % m, r / m % m, r / (m * m)}, step[3] = {1, m, m * m};
        const PetscScalar k = at[2] < m / 2 ? 1 : jump, diagonal = 6 * k;
        for (int d = 0; d < 3; d++) {
            /* the coefficient of a face is that of the lower point: A stays symmetric */
            const PetscScalar below = d == 2 && at[2] == m / 2 ? -1 : -k, above = -k;
            const PetscInt lower = r - step[d], upper = r + step[d];
            if (at[d] > 0) { PetscCall(MatSetValues(A, 1, &r, 1, &lower, &below, INSERT_VALUES)); }
            if (at[d] < m - 1) { PetscCall(MatSetValues(A, 1, &r, 1, &upper, &above, INSERT_VALUES)); }
        }
        PetscCall(MatSetValues(A, 1, &r, 1, &r, &diagonal, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    *out = A;
    PetscFunctionReturn(0);
}

/* Solves with the options given, and tells what the true residual is. */
static PetscErrorCode solve(Mat A, PetscInt repeat)
{
    KSP ksp;
    Vec x, b, r;
    PetscReal norm, of_b;
    PetscInt iterations;
    KSPConvergedReason reason;
    PetscLogDouble begin, end, least = PETSC_MAX_REAL;

    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
    for (PetscInt k = 0; k < repeat; k++) {
        PetscCall(PetscTime(&begin));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(PetscTime(&end));
        least = PetscMin(least, end - begin);
    }
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &of_b));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %d iterations, relative residual %.2e, %.4f s\n",
                          KSPConvergedReasons[reason], (int)iterations, (double)(norm / of_b), least));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt points = 20, repeat = 1;
    PetscReal jump = 1;
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &jump, NULL));
    PetscCall(assemble(points, jump, &A));
    PetscCall(solve(A, repeat));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return 0;
}
