/* SPDX-License-Identifier: Apache-2.0 */
/* libtessera_klu.so, a library of its own: KLU and what it needs are loaded where a matrix suits them. */
#include "precond/direct/klu_module.h"

/* With the transpose, not its conjugate. */
static int solve_transposed(klu_symbolic *symbolic, klu_numeric *numeric, int n, int columns, double *rhs,
                            klu_common *common)
{
    return klu_z_tsolve(symbolic, numeric, n, columns, rhs, 0, common);
}

extern const klu_module tess_klu_module __attribute__((visibility("default")));
const klu_module tess_klu_module = {
    KLU_MODULE_VERSION,
    klu_defaults,
    klu_analyze,
    klu_free_symbolic,
    {klu_factor, klu_refactor, klu_rgrowth, klu_solve, klu_tsolve, klu_free_numeric},
    {klu_z_factor, klu_z_refactor, klu_z_rgrowth, klu_z_solve, solve_transposed, klu_z_free_numeric}};
