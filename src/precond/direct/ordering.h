/* SPDX-License-Identifier: Apache-2.0 */
/* Nested dissection by METIS: an order of the rows whose factors are much smaller than those of local orders, on meshes
   in three dimensions above all. Source: Karypis, Kumar, SIAM J. Sci. Comput. 20 (1998). */
#ifndef TESS_PRECOND_DIRECT_ORDERING_H
#define TESS_PRECOND_DIRECT_ORDERING_H

#include "precond/direct/direct.h"

/* position[i], n of them: where row i comes in the order, from 1. *found is false in a build without METIS, where METIS
   fails, and where its integers cannot hold the pattern. The same pattern gives the same order. Errors: memory. */
tess_status direct_nested_dissection(const direct_system *s, int32_t *position, bool *found);

#endif
