/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a method's table (tess_method.choose): one with complex scalars for the form of a complex matrix. */
#ifndef TESS_SOLVER_COMPLEX_CHOICE_H
#define TESS_SOLVER_COMPLEX_CHOICE_H

#include "solver/krylov.h"

/* That table for such options; NULL: there is none. */
const tess_method *complex_method_of(const tess_matrix *a, const tess_solve_options *o);
tess_status complex_choose(const method_solver *s, const tess_method **other);

#endif
