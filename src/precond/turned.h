/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preconditioners of a complex matrix whose diagonal is not real. They are made of D A, where D turns each row so that
 * its diagonal entry is real and positive, and are applied to D r: M^-1 = (D A)^~1 D. In the real form of A itself the
 * diagonal has the real parts alone: those of i L are zeros, with which no Jacobi and no incomplete factors work.
 */
#ifndef TESS_PRECOND_TURNED_H
#define TESS_PRECOND_TURNED_H

#include "precond/precond.h"

/* Whether a preconditioner of that kind is made of turned rows of a: it is complex, and a diagonal entry is not real.
 */
tess_status turned_is_wanted(const tess_matrix *a, tess_precond_kind kind, bool *wanted);

/* Such a preconditioner, with the status of `create`, which makes one of the turned matrix. */
tess_status turned_create(const tess_matrix *a, const tess_precond_options *options,
                          tess_status (*create)(const tess_matrix *turned, const tess_precond_options *options,
                                                tess_precond **out),
                          tess_precond **out);

/* The preconditioner of the turned matrix; any other one itself. */
const tess_precond *turned_inside(const tess_precond *m);

#endif
