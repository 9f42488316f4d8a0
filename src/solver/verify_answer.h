/* SPDX-License-Identifier: Apache-2.0 */
/* The verification of an x of any origin: what verify_answer.c, and verify_columns.c for several, share. */
#ifndef TESS_SOLVER_VERIFY_ANSWER_H
#define TESS_SOLVER_VERIFY_ANSWER_H

#include <tessera/verify.h>

#include "matrix/matrix.h"
#include "solver/verify.h"

/* The caller's options, checked; stop_norm is never AUTO. */
tess_status verify_take_options(tess_context *ctx, const tess_verify_options *given, tess_verify_options *o);
/* b and x are vectors of the device; `a` is assembled or a shell. */
tess_status verify_answer(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                          const tess_verify_options *o, tess_verification *out);

/* Its steps behind the residual: out->nonfinite_rhs, and then all the rest but the forward error, which is NaN. */
tess_status verify_find_nonfinite_rhs(const tess_matrix *a, const tess_vector *b, const true_residual *now,
                                      tess_verification *out);
tess_status verify_finish(const tess_matrix *a, const tess_vector *x, const tess_verify_options *o,
                          const true_residual *now, tess_verification *out);

#endif
