/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between versions and builds of PETSc. */
#ifndef TESS_PETSC_VERSIONS_H
#define TESS_PETSC_VERSIONS_H

#include <petscsys.h>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
#define PETSC_SUCCESS 0
#endif
/* From 3.23 PetscOptionItems is a pointer itself. */
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *tp_option_items;
#else
typedef PetscOptionItems tp_option_items;
#endif

/* A PETSc built with CUDA that tells its stream, which 3.18 does not. */
#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
#define TP_HAVE_CUDA 1
#else
#define TP_HAVE_CUDA 0
#endif

#endif
