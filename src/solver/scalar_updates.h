/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar updates of all methods, a header each. They are compiled for host and device, and include only base and
   device. */
#ifndef TESS_SOLVER_SCALAR_UPDATES_H
#define TESS_SOLVER_SCALAR_UPDATES_H

#include "solver/bicgstab/bicgstab_scalars.h"
#include "solver/cg/cg_scalars.h"
#include "solver/minres/minres_scalars.h"

#endif
