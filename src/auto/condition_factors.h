/* SPDX-License-Identifier: Apache-2.0 */
/* The condition number and the error of x by complete factors. */
#ifndef TESS_AUTO_CONDITION_FACTORS_H
#define TESS_AUTO_CONDITION_FACTORS_H

#include <math.h>
#include <tessera/accuracy.h>

#include "auto/error_rows.h"
#include "precond/precond.h"

/* Of a result: nothing is known. */
static inline void error_forget(tess_accuracy_result *out)
{
    out->source = TESS_CONDITION_UNKNOWN;
    out->condition = out->row_condition = out->forward_error = NAN;
}

/* By LAPACK's estimators and refined solves. Factors whose solves cannot be refined tell nothing of the error; in FP64
   they still tell the condition number. Errors: memory. */
tess_status error_by_factors(const tess_precond *m, const error_of_x *e, tess_accuracy_result *out);

#endif
