/* SPDX-License-Identifier: Apache-2.0 */
/* Which coarsening `auto` takes where the structure of a matrix does not say: both are set up, and a few cycles tell.
 */
#ifndef TESS_PRECOND_MULTIGRID_CHOICE_H
#define TESS_PRECOND_MULTIGRID_CHOICE_H

#include "precond/multigrid/cycle/cycle.h"

/* Levels, as stored. */
typedef struct amg_candidate {
    amg_hierarchy hierarchy;
    amg_cycle cycle;
} amg_candidate;

double amg_operator_complexity(const amg_cycle *c);
/* Whether auto looks at the other coarsening too: the levels of the first have too many entries, or there is one level
   alone. */
bool amg_is_doubtful(const amg_candidate *first);
/* The other of classical coarsening and aggregation. */
tess_amg_coarsening amg_other_coarsening(tess_amg_coarsening kind);
/* By how much a cycle reduces the error, after a few for A e = 0 from random e. */
tess_status amg_measure_factor(const amg_cycle *c, const tess_matrix *a, double *factor);
/* Whether the second should take less time: by bytes of a cycle over the digits that CG gains with it. */
bool amg_is_better(const amg_cycle *first, double first_factor, const amg_cycle *second, double second_factor);

#endif
