/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of the condition number and of the error of x, from what a solve leaves behind. */
#ifndef TESS_AUTO_CONDITION_H
#define TESS_AUTO_CONDITION_H

#include "auto/error_rows.h"
#include "auto/lanczos.h"
#include "solver/solver.h"

/* Fills source, condition and forward_error of a result as far as `solver`, the last one (NULL: it is not known), its
   preconditioner or other factors, and the record tell. Errors: memory. */
tess_status estimate_error(const method_solver *solver, const tess_precond *precond, const lanczos_record *record,
                           const error_of_x *e, tess_accuracy_result *out);

#endif
