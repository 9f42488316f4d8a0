/* SPDX-License-Identifier: Apache-2.0 */
/* libtessera_klu.so, a library of its own: KLU and what it needs are loaded where a matrix suits them. */
#include "precond/direct/klu_module.h"

extern const klu_module tess_klu_module __attribute__((visibility("default")));
const klu_module tess_klu_module = {KLU_MODULE_VERSION, klu_defaults, klu_analyze, klu_factor,        klu_refactor,
                                    klu_rgrowth,        klu_solve,    klu_tsolve,  klu_free_symbolic, klu_free_numeric};
