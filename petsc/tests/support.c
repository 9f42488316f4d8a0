/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <math.h>
#include <stdint.h>

/* A number from -1 to 1 of two places, the same for any number of processes. */
static double hashed(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + 1;

    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return 2 * ((double)((h ^ (h >> 31)) >> 11) * 0x1p-53) - 1;
}

PetscErrorCode random_matrix(PetscInt nrows, PetscInt ncols, random_pair *out)
{
    Mat *const both[2] = {&out->a, &out->magnitudes};
    PetscInt first, last;

    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        PetscCall(
            MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, nrows, ncols, 12, NULL, 12, NULL, both[k]));
        PetscCall(MatGetOwnershipRange(*both[k], &first, &last));
        for (PetscInt r = first; r < last; r++) {
            for (PetscInt e = 0; e < 10; e++) {
                /* two thirds near the diagonal, the others anywhere, row 7 empty */
                const double place = hashed((uint64_t)r, (uint64_t)(e + 100));
                const PetscInt near = (PetscInt)((double)r * (double)ncols / (double)nrows + 8 * place);
                const PetscInt far = (PetscInt)((0.5 + 0.4999 * place) * (double)ncols);
                const PetscInt c = e % 3 ? PetscMin(PetscMax(near, 0), ncols - 1) : far;
                const double value = hashed((uint64_t)r, (uint64_t)e) * (r % 5 ? 1 : 1e3);
                if (r == 7) { continue; }
                PetscCall(MatSetValue(*both[k], r, c, k ? fabs(value) : value, ADD_VALUES));
            }
        }
        PetscCall(MatAssemblyBegin(*both[k], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(*both[k], MAT_FINAL_ASSEMBLY));
    }
    out->longest = 10;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode destroy_pair(random_pair *pair)
{
    PetscFunctionBegin;
    PetscCall(MatDestroy(&pair->a));
    PetscCall(MatDestroy(&pair->magnitudes));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode laplacian(PetscInt m, const char *prefix, Mat *out)
{
    PetscInt first, last;
    Mat A;

    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m * m, m * m));
    PetscCall(MatSetOptionsPrefix(A, prefix));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSeqAIJSetPreallocation(A, 5, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 5, NULL, 4, NULL));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        const PetscInt i = r / m, j = r % m;
        if (i > 0) { PetscCall(MatSetValue(A, r, r - m, -1, INSERT_VALUES)); }
        if (j > 0) { PetscCall(MatSetValue(A, r, r - 1, -1, INSERT_VALUES)); }
        PetscCall(MatSetValue(A, r, r, 4, INSERT_VALUES));
        if (j < m - 1) { PetscCall(MatSetValue(A, r, r + 1, -1, INSERT_VALUES)); }
        if (i < m - 1) { PetscCall(MatSetValue(A, r, r + m, -1, INSERT_VALUES)); }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    *out = A;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fill(Vec v, int seed)
{
    PetscInt first, last;
    PetscScalar *array;

    PetscFunctionBegin;
    PetscCall(VecGetOwnershipRange(v, &first, &last));
    PetscCall(VecGetArrayWrite(v, &array));
    for (PetscInt r = first; r < last; r++) {
        array[r - first] = hashed((uint64_t)r, (uint64_t)(seed + 1000));
    }
    PetscCall(VecRestoreArrayWrite(v, &array));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode relative_residual(Mat A, Vec b, Vec x, double *out)
{
    Mat plain;
    Vec r;
    double norm;

    PetscFunctionBegin;
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &plain));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(plain, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, out));
    PetscCall(VecNorm(b, NORM_2, &norm));
    *out /= norm;
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&plain));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode option(const char *name, const char *value)
{
    PetscFunctionBegin;
    if (value[0]) {
        PetscCall(PetscOptionsSetValue(NULL, name, value));
    } else {
        PetscCall(PetscOptionsClearValue(NULL, name));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode rank_count(int *ranks)
{
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, ranks));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode type_begins(Mat A, const char *word, PetscBool *out)
{
    MatType type;

    PetscFunctionBegin;
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscStrbeginswith(type, word, out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode destroy_all(void *const *objects)
{
    PetscFunctionBegin;
    for (; *objects; objects++) {
        PetscCall(PetscObjectDestroy((PetscObject *)*objects));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_cases(const test_case *cases)
{
    PetscFunctionBegin;
    for (; cases->name; cases++) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", cases->name));
        PetscCall((*cases->run)());
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

int run_tests(int argc, char **argv, PetscErrorCode (*initialize)(void), const test_case *cases)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall((*initialize)());
    PetscCall(run_cases(cases));
    PetscCall(PetscFinalize());
    return 0;
}
