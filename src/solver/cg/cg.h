/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the recurrences of CG. */
#ifndef TESS_SOLVER_CG_CG_H
#define TESS_SOLVER_CG_CG_H

#include "solver/krylov.h"

extern const tess_method tess_method_cg; /* two reductions an iteration */

/* CG with FP32 vectors, for the inner iterations of the nested solver. krylov.own: a cg_resume. */
extern const tess_method tess_method_cg_fp32;

/* How a loop of cg_fp32 starts: anew, or from the direction of the one before, which is to be multiplied by `factor`.
 */
typedef struct cg_resume {
    bool resumes;
    double factor;
} cg_resume;

/* Members of that table, for block CG with one right-hand side. */
int cg_vectors(const tess_precond *m);
tess_status cg_start(tess_krylov *k);
tess_status cg_iterate(void *krylov);

/* r -= alpha A p, and z = M^-1 r if that is a pass of its own; beta, unless it was predicted, and the end of the
   iteration. */
tess_status cg_close_iteration(const tess_krylov *k, const double *q, double *z, bool predicted);

#endif
