/* SPDX-License-Identifier: Apache-2.0 */
/* The Lanczos matrix of a solve by CG. */
#ifndef TESS_AUTO_LANCZOS_H
#define TESS_AUTO_LANCZOS_H

#include "auto/error_rows.h"
#include "solver/solver.h"

/* The Lanczos matrix of CG: diagonal and off-diagonal of T, whose eigenvalues approximate those of M^-1 A (Saad,
   Iterative Methods for Sparse Linear Systems, 2nd ed. 2003, section 6.7.3). Each cycle of CG is a block of its own. */
typedef struct lanczos_record {
    int64_t capacity, count;
    double *diagonal, *beside; /* beside[k] couples k and k + 1; 0 between cycles */
    double alpha, beta;        /* of the iteration before */
    int64_t cycle;
    tess_precond_kind precond; /* M */
} lanczos_record;

tess_status lanczos_allocate(tess_context *ctx, int64_t capacity, lanczos_record *out);
void lanczos_release(tess_context *ctx, lanczos_record *record);
/* Takes the last iteration of a solver that runs CG on a CPU without a preconditioner or with jacobi; of any other,
   the record becomes empty. */
void lanczos_note(lanczos_record *record, const method_solver *running);
/* Whether a method is CG with M the identity or a diagonal in FP64. */
bool lanczos_fits(const method_facts *f);
/* The record of the solve, and that of a random right-hand side, which has a part of every eigenvector. Without the
   second one the values are estimates, which may have missed the least eigenvalue. Errors: memory. */
tess_status error_by_lanczos(const tess_precond *m, const lanczos_record *t, const error_of_x *e,
                             tess_accuracy_result *out);

#endif
