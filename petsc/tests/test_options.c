/* SPDX-License-Identifier: Apache-2.0 */
/* The library's list of options in PETSc: each option of an object is there, and what an object does not take, or what
   has no effect beside the rest, is an error on all processes. python/tests/test_option_pairs.py compares the words. */
#include "support.h"

/* The error of a solve with the prefix o_, of which PETSc's handler says nothing. */
static PetscErrorCode error_of_solve(PetscErrorCode *out)
{
    Mat A;
    Vec b, x;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(laplacian(8, "o_", &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "o_"));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPTESSERA));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    *out = KSPSetFromOptions(ksp);
    if (!*out) { *out = KSPSolve(ksp, b, x); }
    PetscCall(PetscPopErrorHandler());
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct given {
    const char *name, *value;
} given;

static PetscErrorCode set_all(const given words[3], PetscBool set)
{
    PetscFunctionBegin;
    for (int k = 0; k < 3 && words[k].name; k++) {
        PetscCall(option(words[k].name, set ? words[k].value : ""));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words that are none, on the last process alone: an error on all. */
static PetscErrorCode wrong_words(void)
{
    static const given words[] = {{"-o_ksp_tessera_solver", "cgg"},
                                  {"-o_ksp_tessera_restart", "0"},
                                  {"-o_ksp_tessera_inner_precision", "fp63"},
                                  {"-o_ksp_tessera_time_limit", "-1"},
                                  {"-o_pc_tessera_amg_degree", "5"},
                                  {"-o_pc_tessera_amg_strength", "strong"},
                                  {"-o_pc_tessera_leaf", "0"}};
    PetscMPIInt rank;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(option("-o_pc_type", "tessera"));
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        PetscErrorCode code;

        if (rank == ranks - 1) { PetscCall(option(words[k].name, words[k].value)); }
        PetscCall(error_of_solve(&code));
        CHECK(code != PETSC_SUCCESS, "%s %s was taken", words[k].name, words[k].value);
        CHECK(rank < ranks - 1 || code == PETSC_ERR_ARG_UNKNOWN_TYPE, "%s: %d", words[k].name, (int)code);
        if (rank == ranks - 1) { PetscCall(option(words[k].name, "")); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pairs_that_do_not_fit(void)
{
    static const given pairs[][3] = {
        {{"-o_ksp_tessera_solver", "cg"}, {"-o_ksp_tessera_restart", "7"}},
        {{"-o_ksp_tessera_restart", "7"}},
        {{"-o_ksp_tessera_solver", "gmres"}, {"-o_ksp_tessera_recurrence", "standard"}},
        {{"-o_ksp_tessera_solver", "cg"}, {"-o_pc_tessera_type", "ilu0"}, {"-o_pc_tessera_amg_cycle", "w"}},
        {{"-o_ksp_tessera_solver", "cg"}, {"-o_pc_tessera_type", "gamg"}, {"-o_pc_tessera_amg_cycle", "w"}},
        {{"-o_ksp_tessera_solver", "cg"}, {"-o_pc_tessera_type", "ilu0"}, {"-o_pc_tessera_leaf", "7"}}};

    PetscFunctionBegin;
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        PetscErrorCode code;

        PetscCall(set_all(pairs[k], PETSC_TRUE));
        PetscCall(error_of_solve(&code));
        PetscCall(set_all(pairs[k], PETSC_FALSE));
        CHECK(code == PETSC_ERR_ARG_INCOMP, "pair %d: %d", (int)k, (int)code);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the list gave: on one process the library's methods have all their options; on several PETSc's have their own.
 */
static PetscErrorCode options_of_methods(void)
{
    static const given words[][3] = {
        {{"-o_ksp_tessera_solver", "cg"}, {"-o_ksp_tessera_recurrence", "standard"}},
        {{"-o_ksp_tessera_solver", "gmres"}, {"-o_ksp_tessera_inner_precision", "fp32/fp64"}},
        {{"-o_ksp_tessera_solver", "bicgstab"}, {"-o_ksp_tessera_stop_norm", "rows"}},
        {{"-o_ksp_tessera_iterate", "last"}}};
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCall(option("-o_pc_tessera_type", "jacobi"));
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        PetscErrorCode code;

        PetscCall(set_all(words[k], PETSC_TRUE));
        PetscCall(error_of_solve(&code));
        PetscCall(set_all(words[k], PETSC_FALSE));
        CHECK(code == (ranks > 1 ? PETSC_ERR_ARG_INCOMP : PETSC_SUCCESS), "words %d: %d", (int)k, (int)code);
    }
    PetscCall(option("-o_ksp_tessera_solver", "gmres"));
    PetscCall(option("-o_ksp_tessera_restart", "7"));
    PetscCall(option("-o_pc_tessera_type", "polynomial"));
    PetscCall(option("-o_pc_tessera_polynomial_form", "powers"));
    for (int k = 0; k < 2; k++) {
        PetscErrorCode code;

        PetscCall(error_of_solve(&code));
        CHECK(code == PETSC_SUCCESS, "GMRES with a restart and a polynomial: %d", (int)code);
    }
    PetscCall(option("-o_pc_tessera_polynomial_form", ""));
    PetscCall(option("-o_pc_tessera_type", "jacobi"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A flag alone, a shorthand of a paper, a share. */
static PetscErrorCode options_of_a_matrix(void)
{
    static const given words[][3] = {
        {{"-m_mat_tessera_allow_underflow", NULL}, {"-m_mat_tessera_policy", "mean-range"}},
        {{"-m_mat_tessera_format", "pbp"}, {"-m_mat_tessera_levels", "fp64,fp32"}},
        {{"-m_mat_tessera_policy", "mean-range"}, {"-m_mat_tessera_share", "at-most-one"}}};

    PetscFunctionBegin;
    PetscCall(option("-m_mat_type", "tessera"));
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        Mat A;
        Vec x, y;

        for (int w = 0; w < 2; w++) {
            PetscCall(PetscOptionsSetValue(NULL, words[k][w].name, words[k][w].value));
        }
        PetscCall(laplacian(8, "m_", &A));
        PetscCall(MatCreateVecs(A, &x, &y));
        PetscCall(VecSet(x, 1));
        PetscCall(MatMult(A, x, y));
        DESTROY(&y, &x, &A);
        PetscCall(set_all(words[k], PETSC_FALSE));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(wrong_words),
                                      CASE(pairs_that_do_not_fit),
                                      CASE(options_of_methods),
                                      CASE(options_of_a_matrix),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
