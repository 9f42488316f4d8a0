/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads a process takes: one where idle threads would spin, else its share of the processors. */
#include "context.h"
#include "register.h"
#include "support.h"

#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

static PetscErrorCode threads_with(const char *name, const char *value, const char *threads, int *out)
{
    tess_context *ctx;

    if (name) { (void)setenv(name, value, 1); }
    PetscCall(PetscInitialize(NULL, NULL, NULL, NULL));
    PetscFunctionBegin;
    PetscCall(option("-tessera_threads", threads));
    PetscCall(tessera_petsc_register());
    PetscCall(tp_context(&ctx));
    *out = tess_context_threads(ctx);
    PetscStackPop;
    PetscCall(PetscFinalize());
    if (name) { (void)unsetenv(name); }
    return PETSC_SUCCESS;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
    static const char *const values[] = {"passive", "1000", "0"};
    int ranks, share, threads;

    MPI_Init(&argc, &argv); /* PETSc starts several times */
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    share = PetscMin((int)sysconf(_SC_NPROCESSORS_ONLN) / ranks, omp_get_num_procs());
    (void)unsetenv("OMP_NUM_THREADS");
    for (int k = 0; k < 3; k++) {
        (void)unsetenv(names[k]);
    }
    PetscCall(threads_with(NULL, NULL, "", &threads));
    CHECK(threads == 1, "%d threads, which would spin", threads);
    for (int k = 0; k < 3; k++) {
        PetscCall(threads_with(names[k], values[k], "", &threads));
        CHECK(threads >= 1 && threads <= PetscMax(share, 1), "%s: %d threads of %d", names[k], threads, share);
        CHECK(share < 2 || threads > 1, "%s: one thread of %d", names[k], share);
    }
    PetscCall(threads_with(NULL, NULL, "3", &threads));
    CHECK(threads == 3, "%d threads, not 3", threads);
    MPI_Finalize();
    return 0;
}
