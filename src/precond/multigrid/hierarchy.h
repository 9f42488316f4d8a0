/* SPDX-License-Identifier: Apache-2.0 */
/* The levels of algebraic multigrid while they are built, and what a coarsening is asked for. */
#ifndef TESS_PRECOND_MULTIGRID_HIERARCHY_H
#define TESS_PRECOND_MULTIGRID_HIERARCHY_H

#include <float.h>
#include <math.h>

#include <tessera/precond.h>

#include "matrix/host_csr.h"

/* A level in FP64 on the host. p leads from level l + 1 to level l, r back, mostly as P^T; both are empty on the
   coarsest. A renewal leaves the pattern of A P, without values. */
typedef struct amg_level {
    host_csr a, p, r, ap;
} amg_level;

/* A level that keeps more than this share of the rows is not worth it. */
#define AMG_LEAST_REDUCTION 0.95

/* Stages of a set-up whose seconds are told apart, on the host and on a GPU. */
typedef enum amg_set_up_stage {
    AMG_STAGE_STRENGTH = 0,
    AMG_STAGE_SPLIT = 1,
    AMG_STAGE_INTERPOLATION = 2,
    AMG_STAGE_PRODUCT = 3,
    AMG_STAGES = 4
} amg_set_up_stage;

typedef struct amg_hierarchy {
    tess_context *ctx;
    tess_amg_options options;
    int count;
    amg_level *level; /* options.max_levels of them */
    void *state;      /* the coarsening's own */
    const struct amg_coarsening *coarsening;
    struct amg_device *device; /* levels of a GPU (device.h); then level[] has only their sizes. NULL: of the host */
    double most_entries;       /* of all levels of a host over those of the finest; 0: any number */
    bool too_large;            /* a set-up ended with TESS_OUT_OF_RANGE, since there were more */
    double coarsening_seconds, product_seconds; /* of the last set-up or renewal */
    double stage_seconds[AMG_STAGES];           /* the same by stages; zeros: the coarsening does not tell */
} amg_hierarchy;

/* Adds the seconds since *since to *sum, and begins anew. */
void amg_add_seconds(double *since, double *sum);

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
    /* Fills r, sorted; only the values, if r has a pattern already. NULL: P^T. */
    tess_status (*restriction)(tess_context *ctx, void *state, int level, const host_csr *a, const host_csr *p,
                               host_csr *r);
    /* coarse := P^T A P, sorted; only the values, if coarse has a pattern already. NULL: as a product of matrices. */
    tess_status (*product)(tess_context *ctx, void *state, int level, const host_csr *a, const host_csr *p,
                           host_csr *coarse);
    /* New values of a on the same pattern: fills p's values anew on its pattern; nothing else changes. */
    tess_status (*renew)(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p);
    void (*end)(tess_context *ctx, void *state); /* frees the state, which may be NULL */
    /* Bytes of the state beside what the levels hold. NULL: it is small. */
    int64_t (*bytes)(const void *state, int levels);
    /* The nodes of a level, and their sizes. NULL: the coarsening has none. */
    const struct aggregation_level *(*nodes)(const void *state, int level);
    /* A byte for each row: AMG_COARSE or AMG_FINE (classical/split.h). NULL: the coarsening has no such split. */
    const uint8_t *(*split)(const void *state, int level);
    /* AMG_STAGES sums, which coarsen and renew add to. NULL: it does not tell. */
    double *(*stage_seconds)(void *state);
} amg_coarsening;

/* The power of two by which entries are multiplied before they are multiplied by one another, so that products stay in
   range: sums of these count against one another alone. */
static inline double amg_square_scale(double largest)
{
    enum { MOST = 1000 };
    int exponent = 0;

    if (!(largest > 0.0 && largest <= DBL_MAX)) { return 1.0; }
    (void)frexp(largest, &exponent);
    return ldexp(1.0, exponent > -MOST ? -exponent : MOST);
}

/* Groups of rows, as a pattern of blocks would have them. */
typedef struct amg_groups {
    int64_t all;
    int64_t fixed;  /* whose rows have their diagonal entries alone: nodes that are held fixed, which say nothing */
    int64_t broken; /* of the others: not of one pattern of whole groups of columns */
} amg_groups;

/* Whether they are those of a matrix of blocks. Nodes with a single fixed unknown are broken. */
static inline bool amg_shows_blocks(const amg_groups *g)
{
    const double whole_share = 0.9;

    return g->all > g->fixed && (double)g->broken <= (1.0 - whole_share) * (double)(g->all - g->fixed);
}

/* The coarsening that the options ask for; auto: aggregation for nodes of several unknowns and for near-nullspace
   vectors, given or to be found, else classical. */
const amg_coarsening *amg_choose_coarsening(const tess_amg_options *options, const host_csr *a);
/* What a set-up on the host may hold at once: levels of 3 times the entries, in FP64 and stored, and a product. */
int64_t amg_predict_bytes(const tess_matrix *a);
/* The unknowns of a node of the finest level; 1: the coarsening knows no nodes. */
int amg_unknowns_of_node(const amg_hierarchy *h);
/* Builds the levels of an assembled matrix; ctx and options are set. On the host it fails with TESS_OUT_OF_MEMORY if
   that has less memory to spare. Close it also after a failure. */
tess_status amg_hierarchy_build(amg_hierarchy *h, const tess_matrix *a);
/* New values on the same pattern: only values change. */
tess_status amg_hierarchy_renew(amg_hierarchy *h, const tess_matrix *a);
void amg_hierarchy_close(amg_hierarchy *h);

/* The strength that counts for classical coarsening, and how many first levels auto coarsens aggressively. */
double amg_classical_strength(const tess_amg_options *options);
int amg_choose_aggressive(int64_t n, int64_t nnz, int64_t strong);
/* The strength that counts for aggregation on a level. */
double amg_aggregation_strength(const tess_amg_options *options, bool plain, int level);

extern const amg_coarsening amg_classical;
extern const amg_coarsening amg_aggregation;
extern const amg_coarsening amg_plain;

#endif
