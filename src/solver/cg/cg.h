/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the recurrences of CG. */
#ifndef TESS_SOLVER_CG_CG_H
#define TESS_SOLVER_CG_CG_H

#include "solver/krylov.h"

extern const tess_method tess_method_cg; /* two reductions an iteration */

/* Members of that table, for block CG with one right-hand side. */
int cg_vectors(const tess_precond *m);
tess_status cg_start(tess_krylov *k);
tess_status cg_iterate(void *krylov);

/* r -= alpha A p, and z = M^-1 r if that is a pass of its own; beta, unless it was predicted, and the end of the
   iteration. */
tess_status cg_close_iteration(const tess_krylov *k, const double *q, double *z, bool predicted);

#endif
