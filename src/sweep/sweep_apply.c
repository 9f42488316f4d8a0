/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as an operator: z := M^-1 r by some iterations from zero, without anything that a device cannot record. */
#include <math.h>

#include "format/csr/csr.h"
#include "sweep/sweep.h"

/* The scale's square is a normal number. */
enum { MAX_SCALE = 400 };

int sweep_exponent(const tess_sweep *w)
{
    const int exponent = w->largest_exponent;

    return exponent > MAX_SCALE ? MAX_SCALE : exponent < -MAX_SCALE ? -MAX_SCALE : exponent;
}

static tess_status scale(const tess_sweep *w, tess_operand from, tess_operand to, int exponent)
{
    const tess_fused op = {.op = TESS_FUSED_SCALE,
                           .n = w->n,
                           .x = from,
                           .y = to,
                           .result = (void *)(uintptr_t)to.data,
                           .a = ldexp(1.0, exponent)};

    return w->ctx->backend->fused(w->ctx, &op);
}

/* In the order of the rows' precisions; w->x[1] is free. */
static tess_status load(tess_sweep *w, tess_precision vectors, const void *r)
{
    double *place = w->row_at ? w->x[1] : w->rhs;
    const bool as_is = vectors == TESS_PRECISION_FP64 && sweep_exponent(w) == 0;
    tess_status status = TESS_SUCCESS;

    if (as_is) { return sweep_load_rhs(w, r); }
    TESS_TRY(scale(w, (tess_operand){r, vectors}, (tess_operand){place, TESS_PRECISION_FP64}, -sweep_exponent(w)));
    if (w->row_at) { status = csr_ops_of(w->ctx)->gather(w->ctx, w->n, place, w->row_at, w->rhs); }
cleanup:
    return status;
}

/* The first iteration from zero has no product: x := omega D^-1 b. */
static tess_status start(tess_sweep *w)
{
    const bool whole = w->request.omega == 1.0;
    const tess_fused op = {.op = TESS_FUSED_DIAGONAL,
                           .n = w->n,
                           .in = {w->rhs},
                           .out = {w->x[0]},
                           .scale = w->scale,
                           .shadow = whole ? w->low[0] : NULL};
    const tess_operand x = {w->x[0], TESS_PRECISION_FP64};
    tess_fused weighted = {.op = TESS_FUSED_SCALE, .n = w->n, .x = x, .y = x, .result = w->x[0], .a = w->request.omega};
    tess_status status = TESS_SUCCESS;

    w->now = 0;
    w->has = true;
    w->has_low = whole && w->low[0] != NULL;
    TESS_TRY(w->ctx->backend->fused(w->ctx, &op));
    if (!whole) { status = w->ctx->backend->fused(w->ctx, &weighted); }
cleanup:
    return status;
}

static tess_status store(tess_sweep *w, tess_precision vectors, void *z)
{
    const double *x = NULL;
    tess_status status = TESS_SUCCESS;

    if (vectors == TESS_PRECISION_FP64 && sweep_exponent(w) == 0) { return sweep_store(w, z); }
    TESS_TRY(sweep_store(w, w->x[1 - w->now]));
    x = w->x[1 - w->now];
    status = scale(w, (tess_operand){x, TESS_PRECISION_FP64}, (tess_operand){z, vectors}, sweep_exponent(w));
cleanup:
    return status;
}

tess_status sweep_apply(tess_sweep *w, const int64_t *counts, tess_precision vectors, const void *r, void *z)
{
    bool started = false;
    tess_status status = TESS_SUCCESS;

    if (w->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(load(w, vectors, r));
    TESS_TRY(start(w));
    for (int i = 0; i < w->request.schedule.count; i++) {
        const int64_t products = counts[i] > 0 && !started ? counts[i] - 1 : counts[i];

        started = started || counts[i] > 0;
        TESS_TRY(sweep_run(w, w->request.schedule.entry[i].what, products));
    }
    status = store(w, vectors, z);
cleanup:
    return status;
}
