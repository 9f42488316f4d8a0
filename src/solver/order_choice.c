/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a solver orders its system itself. Where neighbours in the pattern have numbers far apart, a product fetches
 * a line of x for nearly each entry, from beyond the caches where x is larger than they are. Clusters of rows cost
 * some tens of products, so they are made where the options leave the choice to the library, x is large, and a sample
 * of rows says that they pay. They depend on the pattern alone: new values keep the order.
 */
#include "precond/precond.h"
#include "solver/estimate.h"
#include "solver/extension.h"
#include "solver/solver.h"
#include "solver/transform.h"

/* Of smaller matrices x stays in the caches, or nearly so: on a host of 1 MiB of L2 a product of a random mesh gains a
   fifth at 200,000 rows, and half at 500,000. */
enum { LEAST_ROWS = 1 << 18 };
/* Shorter solves do not earn the order back. */
enum { LEAST_ITERATIONS = 100 };
/* Lines of x for an entry: below, rows find their neighbours near; and the share of them that an order must leave at
   most. A random numbering has 0.7 to 1, a grid by lines 0.06, and clusters of a mesh 0.06 to 0.1. */
#define LEAST_FETCHED 0.3
#define MOST_LEFT 0.5

/* Whether format or solver is auto, and nothing else speaks of the order, the matrix or a study. */
static bool is_open(const tess_solve_options *o)
{
    const bool solver_auto = o->solver == TESS_SOLVER_AUTO && !o->automatic.format_given;

    return !o->keep_order && !wants_transform(o) && (o->storage.format == TESS_FORMAT_AUTO || solver_auto) &&
           !wants_accuracy(o) && !tess_find_extension(o);
}

/* A run to a tolerance that may take long, by one of the methods that transformed systems take as they are. */
static bool may_pay(const tess_solve_options *o)
{
    return o->guard == TESS_GUARD_REPAIR && (o->rtol > 0.0 || o->atol > 0.0) && o->max_iterations >= LEAST_ITERATIONS &&
           o->engine == TESS_ENGINE_AUTO && o->stop_norm != TESS_STOP_NORM_PRECONDITIONED &&
           o->solver != TESS_SOLVER_JACOBI && solve_options_recurrence(o) == TESS_RECURRENCE_AUTO &&
           !tess_precond_needs_order(&o->precond);
}

static tess_status find_order(tess_solver *s)
{
    const tess_matrix *a = s->original;
    row_order found = {.ctx = s->ctx};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(order_measure_fetch(a, NULL, NULL, &s->fetched[0]));
    if (s->fetched[0] < LEAST_FETCHED) { return TESS_SUCCESS; }
    TESS_TRY(row_order_find(a, &found));
    TESS_TRY(order_measure_fetch(a, found.perm, found.place, &s->fetched[1]));
    tess_log(s->ctx, TESS_LOG_INFO, "lines of x for an entry: %.3f as given, %.3f by clusters", s->fetched[0],
             s->fetched[1]);
    if (s->fetched[1] > MOST_LEFT * s->fetched[0]) { goto cleanup; }
    s->options.reorder = TESS_REORDERING_CLUSTERS;
    TESS_TRY(solver_require_memory(a, &s->options));
    s->order = found;
    return TESS_SUCCESS;
cleanup:
    s->options.reorder = TESS_REORDERING_NONE;
    s->fetched[1] = 0.0; /* no order was chosen */
    row_order_release(&found);
    return status;
}

tess_status solver_choose_order(tess_solver *s)
{
    const tess_matrix *a = s->original;
    const bool open = is_open(&s->options);
    const tess_error before = s->ctx->error;
    tess_status status = TESS_SUCCESS;

    s->keeps_order = s->options.keep_order;
    s->options.keep_order = 1; /* solvers that this one makes ask no more */
    if (!open || !may_pay(&s->options) || !a->ops || s->given || a->nrows != a->ncols || a->nrows < LEAST_ROWS ||
        a->is_complex || !row_order_applies(a)) { /* cells need not keep re and im together */
        return TESS_SUCCESS;
    }
    status = find_order(s);
    if (status != TESS_OUT_OF_MEMORY && status != TESS_OUT_OF_DEVICE_MEMORY) { return status; }
    s->ctx->error = before; /* the order that the matrix has needs less */
    return TESS_SUCCESS;
}
