/* SPDX-License-Identifier: Apache-2.0 */
#include "solve.h"

#include <stdlib.h>

enum { MOST_VARIANTS = 10, MOST_REPEATS = 100 };

typedef struct variant {
    char prefix[8], type[32];
    Mat A;
    KSP ksp;
    Vec x;
    PetscLogDouble setup, seconds[MOST_REPEATS];
} variant;

/* The matrix in the type of the variant's options, with the near-nullspace of the given one. */
static PetscErrorCode own_matrix(Mat A, variant *v)
{
    MatNullSpace modes;
    PetscBool symmetric, known, given;

    PetscFunctionBeginUser;
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &v->A));
    PetscCall(MatSetOptionsPrefix(v->A, v->prefix));
    PetscCall(PetscOptionsGetString(NULL, v->prefix, "-mat_type", v->type, sizeof v->type, &given));
    if (given) { PetscCall(MatConvert(v->A, v->type, MAT_INPLACE_MATRIX, &v->A)); }
    PetscCall(MatGetNearNullSpace(A, &modes));
    if (modes) { PetscCall(MatSetNearNullSpace(v->A, modes)); }
    PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
    if (known) { PetscCall(MatSetOption(v->A, MAT_SYMMETRIC, symmetric)); }
    PetscFunctionReturn(0);
}

static PetscErrorCode set_up(Mat A, PetscInt number, PetscBool alone, variant *v)
{
    PetscLogDouble begin;

    PetscFunctionBeginUser;
    if (alone) {
        PetscCall(PetscObjectReference((PetscObject)A));
        v->A = A;
    } else {
        PetscCall(PetscSNPrintf(v->prefix, sizeof v->prefix, "v%d_", (int)number));
        PetscCall(own_matrix(A, v));
    }
    PetscCall(MatCreateVecs(v->A, &v->x, NULL));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &v->ksp));
    PetscCall(KSPSetOptionsPrefix(v->ksp, v->prefix));
    PetscCall(KSPSetOperators(v->ksp, v->A, v->A));
    PetscCall(KSPSetFromOptions(v->ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&begin));
    PetscCall(KSPSetUp(v->ksp));
    PetscCall(PetscTime(&v->setup));
    v->setup -= begin;
    PetscFunctionReturn(0);
}

static int ascending(const void *a, const void *b)
{
    const PetscLogDouble x = *(const PetscLogDouble *)a, y = *(const PetscLogDouble *)b;

    return (x > y) - (x < y);
}

/* The true residual is that of the given matrix, not of the variant's. */
static PetscErrorCode report(Mat A, Vec b, PetscInt repeat, variant *v)
{
    Vec r;
    PetscReal norm, of_b;
    PetscInt iterations;
    KSPConvergedReason reason;

    PetscFunctionBeginUser;
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, v->x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &of_b));
    PetscCall(VecDestroy(&r));
    PetscCall(KSPGetIterationNumber(v->ksp, &iterations));
    PetscCall(KSPGetConvergedReason(v->ksp, &reason));
    qsort(v->seconds, (size_t)repeat, sizeof v->seconds[0], ascending);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s%s, %d iterations, relative residual %.2e, %.4f s, set-up %.4f s",
                          v->prefix, v->prefix[0] ? " " : "", KSPConvergedReasons[reason], (int)iterations,
                          (double)(norm / of_b), v->seconds[0], v->setup));
    if (repeat > 1) { PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", median %.4f s", v->seconds[repeat / 2])); }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    PetscFunctionReturn(0);
}

PetscErrorCode solve(Mat A, Vec b)
{
    PetscInt repeat = 1, variants = 0;
    variant v[MOST_VARIANTS] = {0};
    PetscLogDouble begin, end;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-variants", &variants, NULL));
    PetscCheck(repeat >= 1 && repeat <= MOST_REPEATS && variants >= 0 && variants <= MOST_VARIANTS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "-repeat takes 1 to %d, -variants 0 to %d", MOST_REPEATS, MOST_VARIANTS);
    for (PetscInt k = 0; k < PetscMax(variants, 1); k++) {
        PetscCall(set_up(A, k, variants == 0, &v[k]));
    }
    for (PetscInt r = 0; r < repeat; r++) {
        for (PetscInt k = 0; k < PetscMax(variants, 1); k++) {
            PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
            PetscCall(PetscTime(&begin));
            PetscCall(KSPSolve(v[k].ksp, b, v[k].x));
            PetscCall(PetscTime(&end));
            v[k].seconds[r] = end - begin;
        }
    }
    for (PetscInt k = 0; k < PetscMax(variants, 1); k++) {
        PetscCall(report(A, b, repeat, &v[k]));
        PetscCall(KSPDestroy(&v[k].ksp));
        PetscCall(VecDestroy(&v[k].x));
        PetscCall(MatDestroy(&v[k].A));
    }
    PetscFunctionReturn(0);
}
