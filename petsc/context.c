/* SPDX-License-Identifier: Apache-2.0 */
/* The one context that all objects of a process share. */
#include "context.h"

#include "device.h"
#include "versions.h"

#include <omp.h>
#include <tessera/status.h>
#include <unistd.h>

static tess_context *the_context;
static PetscBool shared;

static PetscErrorCode forget(void)
{
    PetscFunctionBegin;
    tess_context_destroy(the_context);
    the_context = NULL;
    shared = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a process knows of the others on its machine. */
static struct {
    int number, threads;
} place;

/* Whether the environment says how idle threads of OpenMP wait. The loader says so where they sleep by its own doing.
 */
static PetscBool waiting_is_chosen(void)
{
    return getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME") ? PETSC_TRUE : PETSC_FALSE;
}

/* Processors that this process may run on; those of the machine where that is unknown. */
static int processors(void)
{
    const int online = (int)sysconf(_SC_NPROCESSORS_ONLN), own = omp_get_num_procs();

    return own > 0 && own < online ? own : online;
}

/*
 * The threads of a process. OMP_NUM_THREADS decides. Else processes of a machine share its processors; but where idle
 * threads spin, as gcc's runtime has it by default, each process has one: beside other work a thread that spins takes
 * the time of the one that it waits for.
 */
static int share_of(int ranks)
{
    const int share = (int)sysconf(_SC_NPROCESSORS_ONLN) / ranks;

    if (getenv("OMP_NUM_THREADS")) { return 0; }
    return waiting_is_chosen() ? PetscMax(1, PetscMin(share, processors())) : 1;
}

PetscErrorCode tp_find_place(void)
{
    MPI_Comm node;
    PetscMPIInt ranks = 1;
    PetscInt given = 0;
    PetscBool set;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_size(node, &ranks));
    PetscCallMPI(MPI_Comm_rank(node, &place.number));
    PetscCallMPI(MPI_Comm_free(&node));
    place.threads = share_of(ranks);
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-tessera_threads", &given, &set));
    PetscCheck(!set || (given >= 1 && given <= TESS_MAX_THREADS), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-tessera_threads %" PetscInt_FMT ": give a number from 1 to %d", given, (int)TESS_MAX_THREADS);
    if (set) { place.threads = (int)given; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_context(tess_context **out)
{
    tess_context_options options;
    tess_status status;

    PetscFunctionBegin;
    if (!the_context) {
        tess_context_options_init(&options);
        options.threads = place.threads;
        options.first_number = 0; /* as PETSc counts */
        PetscCall(tp_choose_device(place.number, &options));
        status = tess_context_create(&options, &the_context);
        PetscCheck(status == TESS_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_LIB, "Tessera cannot start: %s",
                   tess_status_text(status));
        shared = options.stream && tess_context_device(the_context) == TESS_DEVICE_GPU ? PETSC_TRUE : PETSC_FALSE;
        PetscCall(PetscRegisterFinalize(forget));
    }
    *out = the_context;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_shares_gpu(PetscBool *out)
{
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    *out = shared;
    PetscFunctionReturn(PETSC_SUCCESS);
}

const tess_error *tp_last_error(void)
{
    return the_context ? tess_context_last_error(the_context) : NULL;
}
