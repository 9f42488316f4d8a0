/* SPDX-License-Identifier: Apache-2.0 */
/* What decides between cycles, for guard.c and its kin, and for batches on host and device. */
#ifndef TESS_SOLVER_GUARD_LIMITS_H
#define TESS_SOLVER_GUARD_LIMITS_H

/* To count as progress, a cycle must reduce the true residual by at least this share of its goal. */
#define PROGRESS_SHARE 0.5
/* A cycle that ended with a full basis counts as progress if the residual fell by more than rounding: restarted methods
   may be slow. */
#define RESTART_FACTOR (1.0 - 0x1p-20)
/* The loop stops this much below the tolerance, so that the last rounding of the estimate needs no repair. */
#define STOP_SHARE 0.999
/* So many cycles in a row may make no progress. */
enum { FRUITLESS_CYCLES = 3 };

/* A cycle after the first that another norm than the given one asks for aims at this share of what that one needs. */
#define SECOND_SHARE 0.5
/* And at so much of it for each cycle in a row without progress: large rows may hide the others. */
#define HIDDEN_SHARE 1e-8

/* A cycle whose residual norm is outside 2^-300 .. 2^300 works on the residual scaled by a power of two, so that no
   inner product overflows or underflows. The exponent is limited so that the scale and its inverse are normal numbers.
   */
enum { UNSCALED_EXPONENT = 300, MAX_EXPONENT = 1000 };

/* A residual within this factor of the rounding error of x itself is as small as it becomes. */
#define ROUNDING_FACTOR 64.0
/* A matrix is symmetric whose asymmetric part is below this share of its Frobenius norm. */
#define ASYMMETRY_LIMIT 1e-9

#endif
