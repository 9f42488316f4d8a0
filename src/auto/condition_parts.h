/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to estimate the error of x: by complete factors, and by the Lanczos matrix of CG. */
#ifndef TESS_AUTO_CONDITION_PARTS_H
#define TESS_AUTO_CONDITION_PARTS_H

#include <math.h>

#include "auto/condition.h"

/* Of a result: nothing is known. */
static inline void error_forget(tess_accuracy_result *out)
{
    out->source = TESS_CONDITION_UNKNOWN;
    out->condition = out->row_condition = out->forward_error = NAN;
}

/* By LAPACK's estimators and refined solves. Factors whose solves cannot be refined tell nothing of the error; in FP64
   they still tell the condition number. Errors: memory. */
tess_status error_by_factors(const tess_precond *m, const error_of_x *e, tess_accuracy_result *out);
/* Whether a method is CG with M the identity or a diagonal in FP64. */
bool lanczos_fits(const method_facts *f);
/* The record of the solve, and that of a random right-hand side, which has a part of every eigenvector. Without the
   second one the values are estimates, which may have missed the least eigenvalue. Errors: memory. */
tess_status error_by_lanczos(const tess_precond *m, const lanczos_record *t, const error_of_x *e,
                             tess_accuracy_result *out);

#endif
