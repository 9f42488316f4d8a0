/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a method's table (tess_method.choose): one with complex scalars for the form of a complex matrix. */
#ifndef TESS_SOLVER_COMPLEX_CHOICE_H
#define TESS_SOLVER_COMPLEX_CHOICE_H

#include "solver/krylov.h"

tess_status complex_choose_bicgstab(const method_solver *s, const tess_method **other);
tess_status complex_choose_gmres(const method_solver *s, const tess_method **other);
tess_status complex_choose_fgmres(const method_solver *s, const tess_method **other);

#endif
