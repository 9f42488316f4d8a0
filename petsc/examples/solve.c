/* SPDX-License-Identifier: Apache-2.0 */
#include "solve.h"

#include <stdlib.h>
#include <time.h>

enum { MOST_VARIANTS = 10, MOST_REPEATS = 100 };

typedef struct variant {
    char prefix[8], type[32];
    Mat A;
    KSP ksp;
    Vec x, b;
    PetscLogDouble setup, seconds[MOST_REPEATS];
} variant;

/* Wall time, or with -processor_time that of the process, which other programs do not lengthen. */
static PetscErrorCode read_clock(PetscLogDouble *out)
{
    struct timespec time;
    PetscBool processor;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsHasName(NULL, NULL, "-processor_time", &processor));
    (void)clock_gettime(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    *out = (PetscLogDouble)time.tv_sec + 1e-9 * (PetscLogDouble)time.tv_nsec;
    PetscFunctionReturn(0);
}

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

static PetscErrorCode set_up(Mat A, Vec b, PetscInt number, PetscBool alone, variant *v)
{
    PetscLogDouble begin = 0;

    PetscFunctionBeginUser;
    if (alone) {
        PetscCall(PetscObjectReference((PetscObject)A));
        v->A = A;
    } else {
        PetscCall(PetscSNPrintf(v->prefix, sizeof v->prefix, "v%d_", (int)number));
        PetscCall(own_matrix(A, v));
    }
    PetscCall(MatCreateVecs(v->A, &v->x, &v->b)); /* in the memory where the matrix computes */
    PetscCall(VecCopy(b, v->b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &v->ksp));
    PetscCall(KSPSetOptionsPrefix(v->ksp, v->prefix));
    PetscCall(KSPSetOperators(v->ksp, v->A, v->A));
    PetscCall(KSPSetFromOptions(v->ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(read_clock(&begin));
    PetscCall(KSPSetUp(v->ksp));
    PetscCall(read_clock(&v->setup));
    v->setup -= begin;
    PetscFunctionReturn(0);
}

static int ascending(const void *a, const void *b)
{
    const PetscLogDouble x = *(const PetscLogDouble *)a, y = *(const PetscLogDouble *)b;

    return (x > y) - (x < y);
}

/* ||b - A x|| of AIJ's values in long double, for a product in FP64 may err by more than is left. x comes to every
   process whole: this is no way to treat large systems. */
static PetscErrorCode true_residual(Mat A, Vec b, Vec x, PetscReal *norm)
{
    const PetscScalar *all_x, *own_b;
    VecScatter scatter;
    Vec all;
    PetscInt first, last;
    long double sum = 0;

    PetscFunctionBeginUser;
    PetscCall(VecScatterCreateToAll(x, &scatter, &all));
    PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetArrayRead(all, &all_x));
    PetscCall(VecGetArrayRead(b, &own_b));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt row = first; row < last; row++) {
        long double r = own_b[row - first];
        const PetscInt *column;
        const PetscScalar *value;
        PetscInt n;
        PetscCall(MatGetRow(A, row, &n, &column, &value));
        for (PetscInt k = 0; k < n; k++) {
            r -= (long double)value[k] * all_x[column[k]];
        }
        PetscCall(MatRestoreRow(A, row, &n, &column, &value));
        sum += r * r;
    }
    PetscCall(VecRestoreArrayRead(b, &own_b));
    PetscCall(VecRestoreArrayRead(all, &all_x));
    PetscCall(VecScatterDestroy(&scatter));
    PetscCall(VecDestroy(&all));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    *norm = PetscSqrtReal((PetscReal)sum);
    PetscFunctionReturn(0);
}

static PetscErrorCode report(Mat A, Vec b, PetscInt repeat, variant *v)
{
    PetscReal norm = 0, of_b = 0;
    PetscInt iterations;
    KSPConvergedReason reason;

    PetscFunctionBeginUser;
    PetscCall(true_residual(A, b, v->x, &norm));
    PetscCall(VecNorm(b, NORM_2, &of_b));
    PetscCall(KSPGetIterationNumber(v->ksp, &iterations));
    PetscCall(KSPGetConvergedReason(v->ksp, &reason));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v->seconds, (int)repeat, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &v->setup, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    qsort(v->seconds, (size_t)repeat, sizeof v->seconds[0], ascending);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s%s, %d iterations, relative residual %.2e, %.6f s, set-up %.4f s",
                          v->prefix, v->prefix[0] ? " " : "", KSPConvergedReasons[reason], (int)iterations,
                          (double)(norm / of_b), v->seconds[0], v->setup));
    if (repeat > 1) { PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", median %.6f s", v->seconds[repeat / 2])); }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    PetscFunctionReturn(0);
}

PetscErrorCode solve(Mat A, Vec b)
{
    PetscInt repeat = 1, variants = 0;
    variant v[MOST_VARIANTS] = {0};
    PetscLogDouble begin = 0, end = 0;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-variants", &variants, NULL));
    PetscCheck(repeat >= 1 && repeat <= MOST_REPEATS && variants >= 0 && variants <= MOST_VARIANTS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "-repeat takes 1 to %d, -variants 0 to %d", MOST_REPEATS, MOST_VARIANTS);
    for (PetscInt k = 0; k < PetscMax(variants, 1); k++) {
        PetscCall(set_up(A, b, k, variants == 0, &v[k]));
    }
    for (PetscInt r = 0; r < repeat; r++) {
        for (PetscInt k = 0; k < PetscMax(variants, 1); k++) {
            PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
            PetscCall(read_clock(&begin));
            PetscCall(KSPSolve(v[k].ksp, v[k].b, v[k].x));
            PetscCall(read_clock(&end));
            v[k].seconds[r] = end - begin;
        }
    }
    for (PetscInt k = 0; k < PetscMax(variants, 1); k++) {
        PetscCall(report(A, b, repeat, &v[k]));
        PetscCall(KSPDestroy(&v[k].ksp));
        PetscCall(VecDestroy(&v[k].x));
        PetscCall(VecDestroy(&v[k].b));
        PetscCall(MatDestroy(&v[k].A));
    }
    PetscFunctionReturn(0);
}
