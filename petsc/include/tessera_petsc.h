/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tessera_petsc.h  Tessera's matrices, preconditioners and solvers as types of PETSc.
 *
 *     PetscInitialize(&argc, &argv, NULL, help);
 *     TesseraPetscInitialize();                       then: -mat_type tessera -pc_type tessera -ksp_type tessera
 *
 * A program that is not changed loads the plug-in instead: -dll_append /PATH/libtessera_petsc.so. docs/howto/petsc.md
 */
#ifndef TESSERA_PETSC_H
#define TESSERA_PETSC_H

#include <petscksp.h>

/** The types, for MatSetType, PCSetType and KSPSetType. */
#define MATTESSERA "tessera"
#define MATSEQTESSERA "seqaijtessera"
#define MATMPITESSERA "mpiaijtessera"
#define PCTESSERA "tessera"
#define KSPTESSERA "tessera"
#define KSPTESSERACG "tesseracg" /* conjugate gradients, for a halo below FP64 */

/**
 * Registers the types. Call it after PetscInitialize; a second call does nothing. Collective.
 * Errors: PETSC_ERR_SUP if PETSc has complex scalars, single precision or another release than the plug-in was built
 * for.
 */
PETSC_EXTERN PetscErrorCode TesseraPetscInitialize(void);

/** What PETSc calls when -dll_append loads the library: TesseraPetscInitialize. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_tessera_petsc(void);

#endif
