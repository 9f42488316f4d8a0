/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_JACOBI_JACOBI_H
#define TESS_SOLVER_JACOBI_JACOBI_H

#include "solver/sweep/sweep.h"

/* What a solver of this kind has beside the rest. */
typedef struct tess_jacobi {
    tess_sweep *main;
    tess_sweep *fp64;    /* NULL until a repair needs it and main has no copy in FP64 */
    bool diverged;       /* how the last cycle ended */
    tess_step_list done; /* of the present solve, with the iterations of each */
} tess_jacobi;

#endif
