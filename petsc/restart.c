/* SPDX-License-Identifier: Apache-2.0 */
/* PETSc's restart, -ksp_gmres_restart and KSPGMRESSetRestart, in the library's options. */
#include "ksp.h"

#include <tessera/options.h>

void tp_take_restart(const tp_ksp *k, tess_solve_options *options)
{
    switch (options->solver) {
    case TESS_SOLVER_GMRES:
    case TESS_SOLVER_GMRES_IR:
    case TESS_SOLVER_GMRES_FD:
    case TESS_SOLVER_FGMRES:
    case TESS_SOLVER_NESTED:
        if (k->restart > 0 && !tess_options_is_set(&k->words.options, "restart")) {
            options->gmres.restart = (int)k->restart;
        }
        break;
    default: break; /* as PETSc's methods without one */
    }
}
