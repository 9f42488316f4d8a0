/* SPDX-License-Identifier: Apache-2.0 */
/* KSPMatSolve: each column of X solves its system, whether the library runs the columns together or not. */
#include "support.h"

#include <math.h>

enum { SIDE = 15, K = 5 };

static PetscErrorCode make(Mat A, PetscInt limit, KSP *ksp)
{
    PetscFunctionBegin;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOptionsPrefix(*ksp, "c_"));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetType(*ksp, KSPTESSERA));
    PetscCall(KSPSetTolerances(*ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, limit));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_columns(Mat A, Mat *B, Mat *X)
{
    PetscInt local, n;

    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &local, NULL));
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, n, K, NULL, B));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, n, K, NULL, X));
    for (PetscInt c = 0; c < K; c++) {
        Vec b;
        PetscCall(MatDenseGetColumnVecWrite(*B, c, &b));
        PetscCall(fill(b, (int)c + 1));
        PetscCall(MatDenseRestoreColumnVecWrite(*B, c, &b));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_columns(Mat A, Mat B, Mat X, const char *what)
{
    PetscFunctionBegin;
    for (PetscInt c = 0; c < K; c++) {
        Vec b, x;
        double residual;
        PetscCall(MatDenseGetColumnVecRead(B, c, &b));
        PetscCall(MatDenseGetColumnVecRead(X, c, &x));
        PetscCall(relative_residual(A, b, x, &residual));
        CHECK(residual <= 1.01e-10, "%s: column %d has the residual %g", what, (int)c, residual);
        PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
        PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode watch(KSP ksp, PetscInt iteration, PetscReal norm, void *calls)
{
    PetscFunctionBegin;
    (void)ksp;
    (void)norm;
    if (iteration == 0) { ++*(PetscInt *)calls; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_method(const char *method, const char *precond, PetscInt batch, PetscBool watched)
{
    Mat A, B, X;
    KSP ksp;
    KSPConvergedReason reason;
    PetscInt starts = 0, iterations;

    PetscFunctionBegin;
    PetscCall(option("-c_ksp_tessera_solver", method));
    PetscCall(option("-c_pc_type", precond));
    PetscCall(laplacian(SIDE, "c_", &A));
    PetscCall(make_columns(A, &B, &X));
    PetscCall(make(A, 3000, &ksp));
    PetscCall(KSPSetMatSolveBatchSize(ksp, batch));
    if (watched) { PetscCall(KSPMonitorSet(ksp, watch, &starts, NULL)); }
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    CHECK(reason == KSP_CONVERGED_RTOL && iterations > 0, "%s %s: reason %d", method, precond, (int)reason);
    CHECK(!watched || starts == K, "a monitor has seen the start of %d columns", (int)starts);
    PetscCall(check_columns(A, B, X, method));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    CHECK(iterations == 0, "%s %s: %d iterations from the solution", method, precond, (int)iterations);
    DESTROY(&ksp, &X, &B, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode every_column_is_solved(void)
{
    PetscFunctionBegin;
    PetscCall(check_method("cg", "none", PETSC_DECIDE, PETSC_FALSE));
    PetscCall(check_method("cg", "jacobi", PETSC_DECIDE, PETSC_FALSE));
    PetscCall(check_method("minres", "none", 2, PETSC_FALSE));
    PetscCall(check_method("bicgstab", "bjacobi", PETSC_DECIDE, PETSC_FALSE));
    PetscCall(check_method("gmres", "none", PETSC_DECIDE, PETSC_FALSE));
    PetscCall(check_method("auto", "none", PETSC_DECIDE, PETSC_FALSE));
    PetscCall(check_method("cg", "none", PETSC_DECIDE, PETSC_TRUE));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode the_worst_column_gives_the_reason(void)
{
    Mat A, B, X;
    Vec b;
    KSP ksp;
    KSPConvergedReason reason;

    PetscFunctionBegin;
    PetscCall(option("-c_ksp_tessera_solver", "cg"));
    PetscCall(option("-c_pc_type", "none"));
    PetscCall(laplacian(SIDE, "c_", &A));
    PetscCall(make_columns(A, &B, &X));
    PetscCall(MatDenseGetColumnVecWrite(B, K - 1, &b));
    PetscCall(VecSet(b, 0)); /* the last column needs no iteration */
    PetscCall(MatDenseRestoreColumnVecWrite(B, K - 1, &b));
    PetscCall(make(A, 2, &ksp));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason == KSP_DIVERGED_ITS, "reason %d", (int)reason);
    DESTROY(&ksp, &X, &B, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMatApply: each column as PCApply has it, but for the order of sums. */
static PetscErrorCode check_precond(const char *kind)
{
    Mat A, B, X, Y;
    PC pc;
    PetscReal norm, difference;

    PetscFunctionBegin;
    PetscCall(option("-c_pc_type", "tessera"));
    PetscCall(option("-c_pc_tessera_type", kind));
    PetscCall(laplacian(SIDE, "c_", &A));
    PetscCall(make_columns(A, &B, &X));
    PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOptionsPrefix(pc, "c_"));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCTESSERA));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PCMatApply(pc, B, X));
    for (PetscInt c = 0; c < K; c++) {
        Vec b, y;
        PetscCall(MatDenseGetColumnVecRead(B, c, &b));
        PetscCall(MatDenseGetColumnVecWrite(Y, c, &y));
        PetscCall(PCApply(pc, b, y));
        PetscCall(MatDenseRestoreColumnVecWrite(Y, c, &y));
        PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
    }
    PetscCall(MatNorm(Y, NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(X, -1, Y, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(X, NORM_FROBENIUS, &difference));
    CHECK(norm > 0 && difference <= SIDE * SIDE * PETSC_MACHINE_EPSILON * norm, "%s: PCMatApply differs by %g of %g",
          kind, (double)difference, (double)norm);
    PetscCall(PCDestroy(&pc));
    DESTROY(&Y, &X, &B, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode preconditioners_take_columns(void)
{
    static const char *const kinds[] = {"jacobi", "block-jacobi:4", "ilu0", "amg", "gamg"};

    PetscFunctionBegin;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        PetscCall(check_precond(kinds[k]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(every_column_is_solved),
                                      CASE(the_worst_column_gives_the_reason),
                                      CASE(preconditioners_take_columns),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
