/* SPDX-License-Identifier: Apache-2.0 */
/* Applications of preconditioners. */
#ifndef TESS_TESTS_SUPPORT_PRECOND_H
#define TESS_TESTS_SUPPORT_PRECOND_H

#include "precond/precond.h"
#include "support/test.h"

/* z := M^-1 r through the public function. */
void apply_precond(const tess_precond *m, int64_t n, const double *r, double *z);

#endif
