/* SPDX-License-Identifier: Apache-2.0 */
/* What fails on one process alone is an error, or a reason, on all of them: none is left waiting for another one. The
   last process has other options than the rest. */
#include "support.h"

#include <string.h>

/* On the last process alone. */
static PetscErrorCode option_of_last(const char *name, const char *value)
{
    PetscMPIInt rank, ranks;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    if (rank == ranks - 1) { PetscCall(option(name, value)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of a call, of which PETSc's handler says nothing. */
#define FAILS(call)                                                           \
    do {                                                                      \
        PetscErrorCode code_;                                                 \
        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));      \
        code_ = (call);                                                       \
        PetscCall(PetscPopErrorHandler());                                    \
        CHECK(code_ != PETSC_SUCCESS, "%s: no error on this process", #call); \
    } while (0)

/* A method for a matrix, with options of a prefix, not yet set up. */
static PetscErrorCode make_solver(Mat A, const char *prefix, KSP *ksp)
{
    PetscFunctionBegin;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* First of all cases: there is no context yet. */
static PetscErrorCode a_context(void)
{
    KSP ksp;
    Mat A;

    PetscFunctionBegin;
    PetscCall(laplacian(8, "c_", &A));
    PetscCall(option("-c_ksp_type", "tessera"));
    PetscCall(option("-c_pc_type", "none"));
    PetscCall(make_solver(A, "c_", &ksp));
    PetscCall(option_of_last("-tessera_device", "abacus"));
    FAILS(KSPSetUp(ksp));
    PetscCall(option_of_last("-tessera_device", ""));
    PetscCall(KSPSetUp(ksp));
    DESTROY(&ksp, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words that the set-up of a preconditioner refuses. */
static PetscErrorCode words_of_a_preconditioner(void)
{
    static const char *const words[][3] = {{"ilu0", "-p_pc_tessera_type", "ilu00"},
                                           {"jacobi", "-p_pc_tessera_precision", "fp65"},
                                           {"gamg", "-p_pc_tessera_halo", "bf16"},
                                           {"gamg", "-p_pc_tessera_vectors", "fp16"}};
    KSP ksp;
    Mat A;

    PetscFunctionBegin;
    PetscCall(laplacian(8, "p_", &A));
    PetscCall(option("-p_pc_type", "tessera"));
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        PetscCall(option("-p_pc_tessera_type", words[k][0]));
        PetscCall(option_of_last(words[k][1], words[k][2]));
        PetscCall(make_solver(A, "p_", &ksp));
        FAILS(KSPSetUp(ksp));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(option_of_last(words[k][1], ""));
    }
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last process has a zero on its diagonal; or, for gamg, no entries in its own columns. */
static PetscErrorCode zero_pivot(const char *method, const char *kind)
{
    const PetscBool empty = strcmp(kind, "gamg") == 0 ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt n = 9;
    KSPConvergedReason reason;
    PetscInt first, last;
    Vec x, b;
    Mat A;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 1, NULL, 1, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        PetscCall(MatSetValue(A, r, empty && last == n ? 0 : r, r < n - 1 ? 2 : 0, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(option("-z_ksp_type", method));
    PetscCall(option("-z_pc_type", "tessera"));
    PetscCall(option("-z_pc_tessera_type", kind));
    PetscCall(make_solver(A, "z_", &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason == KSP_DIVERGED_PC_FAILED, "%s, %s: reason %d", method, kind, (int)reason);
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pivots(void)
{
    PetscFunctionBegin;
    PetscCall(zero_pivot("tessera", "gamg"));
    PetscCall(zero_pivot("gmres", "gamg"));
    PetscCall(zero_pivot("tessera", "ilu0"));
    PetscCall(zero_pivot("tessera", "ic0"));
    PetscCall(zero_pivot("gmres", "ilu0"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of PETSc's block Jacobi whose last row has no diagonal entry: PETSc's ILU refuses it, on its process alone.
 */
static PetscErrorCode a_block_of_petsc(void)
{
    const PetscInt n = 9;
    PetscInt first, last;
    Vec x, b;
    Mat A;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 1, NULL, 0, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        PetscCall(MatSetValue(A, r, r < n - 1 ? r : r - 1, 2, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(option("-b_ksp_type", "tessera"));
    PetscCall(option("-b_pc_type", "bjacobi"));
    PetscCall(make_solver(A, "b_", &ksp));
    FAILS(KSPSolve(ksp, b, x));
    DESTROY(&x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose storage the last process refuses: no policy loses twice a value. */
static PetscErrorCode storage_of_a_matrix(void)
{
    Mat A, B = NULL;

    PetscFunctionBegin;
    PetscCall(option("-m_mat_type", "aij"));
    PetscCall(laplacian(8, "m_", &A));
    PetscCall(option("-m_mat_tessera_policy", "lossless:0.1"));
    PetscCall(option_of_last("-m_mat_tessera_policy", "lossless:2"));
    FAILS(MatConvert(A, MATTESSERA, MAT_INITIAL_MATRIX, &B));
    PetscCall(option("-m_mat_tessera_policy", ""));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode words_of_a_matrix(void)
{
    Mat A, B = NULL;

    PetscFunctionBegin;
    PetscCall(option("-w_mat_type", "aij"));
    PetscCall(laplacian(8, "w_", &A));
    PetscCall(option_of_last("-w_mat_tessera_halo", "fp8"));
    FAILS(MatConvert(A, MATTESSERA, MAT_INITIAL_MATRIX, &B));
    PetscCall(option_of_last("-w_mat_tessera_halo", ""));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        CASE(a_context),         CASE(words_of_a_preconditioner), CASE(pivots), CASE(storage_of_a_matrix),
        CASE(words_of_a_matrix), CASE(a_block_of_petsc),          {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
