/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial convergence at work (Yang et al. 2024, section III-D): before each product of an iteration the segments of its vector are looked
 * at, and the product uses the tiles of their columns as policy/narrowing_rules.h says. README.md has the whole.
 */
#ifndef TESS_SOLVER_NARROWING_NARROWING_H
#define TESS_SOLVER_NARROWING_NARROWING_H

#include <tessera/matrix.h>

#include "base/loop_state.h"
#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "policy/narrowing_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tess_solver;

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

/* Sets up s->krylov.narrowing where the options ask for it. UNSUPPORTED: not with this method, recurrence, format or layout. */
tess_status narrowing_setup(struct tess_solver *s);
void narrowing_destroy(struct tess_solver *s);
/* Of its arrays on the device. */
int64_t narrowing_bytes(const solver_narrowing *w);
/* Before each solve: nothing is narrowed yet, nothing counted. */
tess_status narrowing_start(struct tess_solver *s);
/* Before each cycle, whose residual stands in krylov.r, of that norm, over 2^exponent. */
tess_status narrowing_start_cycle(struct tess_solver *s, double rhs_norm, double norm, int exponent);
/* The cycle that has ended was misled: from now on tiles are used as they are stored. */
tess_status narrowing_stop(struct tess_solver *s);
/* Whether the cycle that has ended might be narrowed; whether some segment's tiles were when it ended. */
bool narrowing_is_active(const struct tess_solver *s);
tess_status narrowing_acts(const struct tess_solver *s, bool *acts);
tess_status narrowing_report(struct tess_solver *s);
/* Adds the report of an inner solve. */
void narrowing_add_report(const tess_papers_result *inner, tess_papers_result *sum);

#ifdef __cplusplus
}
#endif

#endif
