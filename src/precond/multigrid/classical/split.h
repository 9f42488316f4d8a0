/* SPDX-License-Identifier: Apache-2.0 */
/* Which couplings are strong, and which unknowns go to the coarser level. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_SPLIT_H
#define TESS_PRECOND_MULTIGRID_CLASSICAL_SPLIT_H

#include "matrix/host_csr.h"

/* Couplings of unknowns: entry k of row i says that i depends strongly on col_ind[k]. */
typedef struct amg_graph {
    int64_t n;
    const int64_t *row_ptr;
    const int32_t *col_ind;
    const uint8_t *strong; /* per entry; NULL: all but the diagonal */
} amg_graph;

static inline bool amg_is_strong(const amg_graph *g, int64_t i, int64_t k)
{
    return g->strong ? g->strong[k] != 0 : g->col_ind[k] != i;
}

enum { AMG_FINE = 0, AMG_COARSE = 1 };

/* strong[k] for each entry of a. Source: Ruge, Stueben (1987): j with -a_ij sign(a_ii) >= theta times the largest of
   the row. Rows whose sum exceeds max_row_sum |a_ii| have none; 1: no row is left out. */
void amg_find_strong(const tess_context *ctx, const host_csr *a, double theta, double max_row_sum, uint8_t *strong);

/*
 * PMIS: split[i] of g->n values. Each round takes an independent set: unknowns whose measure is the largest among the
 * undecided ones that they are coupled with. Rounds read what the round before left, so that threads do not matter.
 * Source: De Sterck, Yang, Heys, SIAM J. Matrix Anal. Appl. 27 (2006), Algorithm 1.
 */
tess_status amg_split(tess_context *ctx, const amg_graph *g, uint64_t seed, uint8_t *split);

/*
 * As Ruge and Stueben have it: first the unknowns that most others depend on. `second`: fine unknowns that depend on
 * one another share a coarse one. More unknowns than PMIS, better placed; one thread of the host.
 */
tess_status amg_split_in_turn(tess_context *ctx, const amg_graph *g, bool second, uint8_t *split);

/* number[i] of the coarse unknowns, in their order; -1 for others. Returns how many. */
int64_t amg_number_coarse(int64_t n, const uint8_t *split, int32_t *number);

#endif
