/* SPDX-License-Identifier: Apache-2.0 */
/* The rule for the precision of a level, on a host and on a GPU. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_LEVEL_PRECISION_H
#define TESS_PRECOND_MULTIGRID_CYCLE_LEVEL_PRECISION_H

#include "precond/multigrid/cycle/cycle.h"
#include "precond/multigrid/cycle/store.h"

/* What the options want level l in: its own precision, or `otherwise`. AUTO is settled: FP16 on a GPU, FP32 on a CPU,
   which converts FP16 too slowly to gain. */
tess_amg_precision amg_wanted_precision(const amg_cycle *c, int l, tess_amg_precision otherwise);
/* The precision of the cycle's vectors: FP64 if a level is. */
tess_precision amg_vector_precision(const amg_cycle *c, int count, tess_amg_precision otherwise);
/* Whether the entries decide. */
static inline bool amg_entries_decide(tess_amg_precision wanted)
{
    return wanted != TESS_AMG_PRECISION_FP64 && wanted != TESS_AMG_PRECISION_FP32;
}
/* The wanted precision if it holds entries of these magnitudes, else FP32. */
tess_precision amg_choose_precision(tess_amg_precision wanted, const amg_range *range);
/* The range of two matrices together. */
amg_range amg_join_ranges(amg_range a, amg_range b);
/* Whether rounding the finest level to 11 bits or less costs no iterations, because the factors of S differ little. */
bool amg_is_even(double least, double most);

#endif
