/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_PETSC_EXAMPLES_SOLVE_H
#define TESS_PETSC_EXAMPLES_SOLVE_H

#include <petscksp.h>

/*
 * Solves A x = b with the options given, and prints what came out. -repeat R (1): the least time of R solves.
 * -processor_time: of the slowest process, not by the clock on the wall.
 * -variants V: V solves in turn, each with its own options, which begin with -v0_, -v1_, ...; so that what else the
 * machine does meets all of them: -variants 2 -v1_mat_type tessera
 */
PetscErrorCode solve(Mat A, Vec b);

#endif
