/* SPDX-License-Identifier: Apache-2.0 */
/* The levels of algebraic multigrid while they are built, and what a coarsening is asked for. */
#ifndef TESS_PRECOND_MULTIGRID_HIERARCHY_H
#define TESS_PRECOND_MULTIGRID_HIERARCHY_H

#include <tessera/precond.h>

#include "matrix/host_csr.h"

/* A level in FP64 on the host. p leads from level l + 1 to level l, r = P^T; both are empty on the coarsest. A renewal
   leaves the pattern of A P, without values. */
typedef struct amg_level {
    host_csr a, p, r, ap;
} amg_level;

typedef struct amg_hierarchy {
    tess_context *ctx;
    tess_amg_options options;
    int count;
    amg_level *level; /* options.max_levels of them */
    void *state;      /* the coarsening's own */
    const struct amg_coarsening *coarsening;
    double coarsening_seconds, product_seconds; /* of the last set-up or renewal */
} amg_hierarchy;

/*
 * A way to coarsen. The frame calls begin once, then coarsen for level 0, 1, ... with the Galerkin product as A of the
 * next level, until a level has few rows or coarsen leaves p empty (p->row_ptr NULL, or p->ncols = 0 or = a->nrows).
 * State carries from level to level what the coarsening needs, such as near-nullspace vectors, and keeps what a renewal
 * reuses: splits, strengths, aggregates. `begin` sees the assembled matrix only through its host copy.
 */
typedef struct amg_coarsening {
    tess_amg_coarsening kind;
    tess_status (*begin)(tess_context *ctx, const tess_amg_options *options, const host_csr *a, void **state);
    /* Fills p (sorted rows). a: the matrix of that level, sorted. */
    tess_status (*coarsen)(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p);
    /* coarse := P^T A P, sorted; only the values, if coarse has a pattern already. NULL: as a product of matrices. */
    tess_status (*product)(tess_context *ctx, void *state, int level, const host_csr *a, const host_csr *p,
                           host_csr *coarse);
    /* New values of a on the same pattern: fills p's values anew on its pattern; nothing else changes. */
    tess_status (*renew)(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p);
    void (*end)(tess_context *ctx, void *state); /* frees the state, which may be NULL */
} amg_coarsening;

/* The coarsening that the options ask for; auto: aggregation for nodes of several unknowns and for near-nullspace
   vectors, else classical. */
const amg_coarsening *amg_choose_coarsening(const tess_amg_options *options, const host_csr *a);
/* Builds the levels of an assembled matrix; ctx and options are set. Close it also after a failure. */
tess_status amg_hierarchy_build(amg_hierarchy *h, const tess_matrix *a);
/* New values on the same pattern: only values change. */
tess_status amg_hierarchy_renew(amg_hierarchy *h, const tess_matrix *a);
void amg_hierarchy_close(amg_hierarchy *h);

extern const amg_coarsening amg_classical;
extern const amg_coarsening amg_aggregation;

#endif
