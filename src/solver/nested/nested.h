/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the sources of the nested solver. */
#ifndef TESS_SOLVER_NESTED_NESTED_H
#define TESS_SOLVER_NESTED_NESTED_H

#include "solver/method_solver.h"

/* The outer iteration of a symmetric matrix whose diagonal has one sign: flexible CG. */
extern const tess_method tess_method_nested_cg;

/* That table for such a matrix; *other stays NULL for others. Errors: UNSUPPORTED for a shell. */
tess_status nested_choose(const method_solver *s, const tess_method **other);
/* The inner iteration, as the preconditioner of the outer one; `given`: the caller's, or NULL. It exists also after
   SINGULAR and the like, which the preconditioner inside it gave. */
tess_status nested_make(const method_solver *s, const tess_precond *given, tess_precond **out);
/* What the inner iterations of a solve did. */
void nested_describe(const method_solver *s, tess_solve_result *r);
void nested_report(const method_solver *s, tess_solve_result *r);
/* Before each solve: counts begin at 0, and precisions are those of the options. */
tess_status nested_begin(const method_solver *s);

#endif
