/* SPDX-License-Identifier: Apache-2.0 */
/* What PETSc loads: looks at PETSc, and then loads the types, which another PETSc could not load. */
#include <tessera_petsc.h>

#include <dlfcn.h>
#include <petsc/private/petscimpl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
#define PETSC_SUCCESS 0
#endif

typedef PetscErrorCode (*register_function)(void);

/* The PETSc that runs may be another one than the headers told of. */
static PetscErrorCode check_petsc(void)
{
    PetscInt major, minor, subminor, release;
    PetscDataType scalar;
    PetscBool known;
    size_t index_bytes;

    PetscFunctionBegin;
    PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, &release));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera's plug-in was built for PETSc %d.%d, and this is %d.%d: build it again (make petsc)",
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)major, (int)minor);
    PetscCall(PetscDataTypeFromString("scalar", &scalar, &known));
    PetscCheck(!known || scalar == PETSC_DOUBLE, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera's plug-in takes real scalars in double precision, and this PETSc has %s: "
               "use a PETSc with real double scalars (Debian: libpetsc-real-dev)",
               scalar == PETSC_COMPLEX ? "complex ones" : "another precision");
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &index_bytes));
    PetscCheck(index_bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera's plug-in was built for %d-bit indices, and this PETSc has others: build it again (make petsc)",
               (int)(8 * sizeof(PetscInt)));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A library beside this one. */
static PetscErrorCode load(const char *name, void **handle)
{
    char path[PETSC_MAX_PATH_LEN];
    const char *slash;
    Dl_info here;

    PetscFunctionBegin;
    PetscCheck(dladdr((void *)(uintptr_t)TesseraPetscInitialize, &here), PETSC_COMM_SELF, PETSC_ERR_LIB,
               "where libtessera_petsc.so is cannot be told");
    slash = strrchr(here.dli_fname, '/');
    (void)snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - here.dli_fname + 1) : 0, here.dli_fname, name);
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    PetscCheck(*handle, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s", dlerror());
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode load_and_register(void)
{
    void *types, *symbol;
    register_function register_types;

    PetscFunctionBegin;
    PetscCall(load(TP_TYPES, &types));
    symbol = dlsym(types, "tessera_petsc_register");
    PetscCheck(symbol, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s is of another version", TP_TYPES);
    memcpy(&register_types, &symbol, sizeof symbol);
    PetscCall((*register_types)());
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- how idle threads wait ---- */

/* OpenMP's runtimes read their settings when they are loaded, which a PETSc that links one has done already. */
static PetscBool runtime_is_loaded(void)
{
    static const char *const names[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
    void *handle = NULL;

    for (size_t k = 0; !handle && k < sizeof names / sizeof names[0]; k++) {
        handle = dlopen(names[k], RTLD_LAZY | RTLD_NOLOAD);
    }
    if (handle) { (void)dlclose(handle); }
    return handle ? PETSC_TRUE : PETSC_FALSE;
}

/* Where the types bring the runtime, idle threads sleep after some microseconds, unless the environment says how they
   wait: beside other work they would take the time that others need. */
PetscErrorCode TesseraPetscInitialize(void)
{
    const PetscBool chosen = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME");
    static PetscBool ours = PETSC_FALSE; /* the types have brought the runtime */
    PetscErrorCode code;
    PetscBool lent;

    PetscFunctionBegin;
    PetscCall(check_petsc());
    if (!chosen && !runtime_is_loaded()) { ours = PETSC_TRUE; }
    lent = !chosen && ours ? PETSC_TRUE : PETSC_FALSE;
    if (lent) {
        (void)setenv("GOMP_SPINCOUNT", "1000", 0);
        (void)setenv("KMP_BLOCKTIME", "0", 0);
    }
    code = load_and_register();
    if (lent) {
        (void)unsetenv("GOMP_SPINCOUNT");
        (void)unsetenv("KMP_BLOCKTIME");
    }
    PetscCall(code);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscDLLibraryRegister_tessera_petsc(void)
{
    PetscFunctionBegin;
    PetscCall(TesseraPetscInitialize());
    PetscFunctionReturn(PETSC_SUCCESS);
}
