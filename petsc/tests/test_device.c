/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a GPU, and that a program without one says what is wrong. */
#include "../gpu_users.h"
#include "support.h"

#include <petscdevice.h>

static PetscErrorCode processes_take_gpus_in_turn(void)
{
    static const int gpus[] = {1, 2, 3, 8};

    PetscFunctionBegin;
    CHECK(tp_gpu_of(0, 0) == -1 && tp_gpu_of(3, 0) == -1, "a GPU of a machine that has none");
    for (int g = 0; g < 4; g++) {
        int count[8] = {0};
        for (int process = 0; process < 3 * gpus[g]; process++) {
            const int chosen = tp_gpu_of(process, gpus[g]);
            CHECK(chosen >= 0 && chosen < gpus[g], "GPU %d of %d", chosen, gpus[g]);
            count[chosen]++;
        }
        for (int k = 0; k < gpus[g]; k++) {
            CHECK(count[k] == 3, "%d processes on GPU %d of %d", count[k], k, gpus[g]);
        }
    }
    CHECK(tp_gpu_of(1, 2) == 1 && tp_gpu_of(2, 2) == 0, "PETSc takes the number modulo the GPUs");
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode a_shared_gpu_is_noticed(void)
{
    static const tp_gpu_user own[] = {{"a", 0}, {"b", 1}}, none[] = {{"", 0}, {"", 1}},
                             shared[] = {{"a", 0}, {"b", 1}, {"", 2}, {"b", 3}, {"a", 4}, {"a", 5}};
    static const int count[] = {3, 2, 0, 2, 3, 3}, first[] = {0, 1, 2, 1, 0, 0};

    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        CHECK(tp_count_users(own, 2, k) == 1 && tp_first_user(own, 2, k) == k, "two GPUs for two processes");
        CHECK(tp_count_users(none, 2, k) == 0 && tp_first_user(none, 2, k) == k, "no GPU at all");
    }
    for (int k = 0; k < 6; k++) {
        CHECK(tp_count_users(shared, 6, k) == count[k], "%d users", tp_count_users(shared, 6, k));
        CHECK(tp_first_user(shared, 6, k) == first[k], "process %d first", tp_first_user(shared, 6, k));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Skipped by a PETSc that has a GPU. */
static PetscErrorCode without_a_gpu_setup_there_is_refused(void)
{
    Mat A;
    PC pc;
    PetscErrorCode code;

    PetscFunctionBegin;
    if (PETSC_DEVICE_DEFAULT() == PETSC_DEVICE_CUDA) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(option("-d_pc_tessera_type", "gamg"));
    PetscCall(option("-d_pc_tessera_setup", "gpu"));
    PetscCall(laplacian(20, "d_", &A));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOptionsPrefix(pc, "d_"));
    PetscCall(PCSetType(pc, "tessera"));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    CHECK(code == PETSC_ERR_SUP, "-pc_tessera_setup gpu without a GPU: %d", (int)code);
    DESTROY(&pc, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(processes_take_gpus_in_turn),
                                      CASE(a_shared_gpu_is_noticed),
                                      CASE(without_a_gpu_setup_there_is_refused),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
