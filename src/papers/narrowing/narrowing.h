/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial convergence at work (Yang et al. 2024, section III-D): before each product of an iteration the segments of
 * its vector are looked at, and the product uses the tiles of their columns as papers/narrowing/narrowing_rules.h says.
 * README.md has the whole.
 */
#ifndef TESS_PAPERS_NARROWING_NARROWING_H
#define TESS_PAPERS_NARROWING_NARROWING_H

#include <tessera/matrix.h>

#include "base/loop_state.h"
#include "matrix/matrix.h"
#include "papers/narrowing/narrowing_rules.h"
#include "policy/assignment.h"
#include "solver/krylov.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Products of tiles, by the precision that they were made in; NARROWING_BYPASSED: passed over. */
enum { NARROWING_BYPASSED = TESS_PRECISION_COUNT, NARROWING_COUNTS = TESS_PRECISION_COUNT + 1 };

/* What a pass over the segments works on; arrays are on the backend's device. */
typedef struct narrowing_pass {
    int64_t n, nsegments;
    int nlevels;
    unsigned precisions;        /* of level l in bits 4 l to 4 l + 3 */
    int32_t *tiles;             /* nlevels of each segment: tiles in its columns, by level */
    narrowing_bounds *bounds;   /* of the cycle */
    narrowing_segment *segment; /* nsegments */
    uint8_t *use;               /* nsegments: out, for the product at hand */
    uint64_t *counts;           /* NARROWING_COUNTS */
    bool for_good;
    int nproducts;
} narrowing_pass;

/* What a device supplies. */
typedef struct narrowing_ops {
    /* Adds the tiles of the assignment to p->tiles, which the caller has cleared. */
    tess_status (*count_tiles)(tess_context *ctx, const tess_assignment *assignment, const narrowing_pass *p);
    /* Levels from x, for product 0 or 1, in a loop with this state. */
    tess_status (*mark)(tess_context *ctx, const narrowing_pass *p, const double *x, int product,
                        tess_loop_state *state);
} narrowing_ops;

extern const narrowing_ops narrowing_host_ops;
const narrowing_ops *narrowing_gpu_ops(void);
const narrowing_ops *narrowing_ops_of(const tess_context *ctx);

/* What a solver keeps. */
typedef struct solver_narrowing {
    tess_narrowing mode;
    bool active; /* not once it has misled this solve */
    narrowing_pass pass;
} solver_narrowing;

/* Adds products of tiles that are stored in this precision and used in this way to the counts. */
TESS_HD void narrowing_count_products(tess_precision stored, int use, uint64_t products, uint64_t *counts)
{
    const int place = use == NARROWING_BYPASS ? (int)NARROWING_BYPASSED : (int)narrowing_precision(stored, use);

    counts[place] += products;
}

/* Adds a segment's tiles, used in this way, to the counts. */
TESS_HD void narrowing_count(const narrowing_pass *p, int64_t segment, int use, uint64_t *counts)
{
    for (int l = 0; l < p->nlevels; l++) {
        const tess_precision stored = (tess_precision)(p->precisions >> (4 * l) & 15U);

        narrowing_count_products(stored, use, (uint64_t)p->tiles[segment * p->nlevels + l], counts);
    }
}

/* That of a solve which has it. */
static inline solver_narrowing *narrowing_of(const tess_krylov *k)
{
    return (solver_narrowing *)k->extended;
}

#ifdef __cplusplus
}
#endif

#endif
