/* SPDX-License-Identifier: Apache-2.0 */
/* The solvers of this build: solvers.def has the list. */
#include "solver/krylov.h"

#define SOLVER(name) extern const tess_method tess_method_##name;
#include "registry/solvers.def"
#undef SOLVER

#define SOLVER(name) &tess_method_##name,
static const tess_method *const methods[] = {
#include "registry/solvers.def"
    NULL};
#undef SOLVER

const tess_method *tess_find_method(tess_solver_kind kind)
{
    for (const tess_method *const *m = methods; *m; m++) {
        if ((*m)->kind == kind) { return *m; }
    }
    return NULL;
}
