/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New values for levels on a GPU: splits and patterns stay. The first renewal also plans where values go; where rows
 * are too long for a plan, or memory is too small, values are found as the first time.
 */
#include "precond/multigrid/aggregation/aggregation_device.h"

void amg_device_plan_release(tess_context *ctx, amg_device_plan *plan)
{
    tess_device_release(ctx, plan->first, plan->n + 1, sizeof *plan->first);
    tess_device_release(ctx, plan->place, plan->near, sizeof *plan->place);
    tess_device_release(ctx, plan->diagonal, plan->n, sizeof *plan->diagonal);
    tess_device_release(ctx, plan->start, plan->nrows + 1, sizeof *plan->start);
    tess_device_release(ctx, plan->code, plan->units * AMG_DEVICE_PLAN_UNIT, sizeof *plan->code);
    tess_device_release(ctx, plan->rows, plan->nrows, sizeof *plan->rows);
    *plan = (amg_device_plan){0};
}

static int64_t plan_bytes(const amg_device_plan *plan)
{
    const int64_t offsets = (plan->n + 1) + (plan->nrows + 1) + (plan->rows ? plan->nrows : 0);

    return plan->code
               ? offsets * (int64_t)sizeof *plan->first + plan->near + plan->n + plan->units * AMG_DEVICE_PLAN_UNIT
               : 0;
}

int64_t amg_device_plans_bytes(const amg_device_level *own)
{
    return plan_bytes(&own->plan) + plan_bytes(&own->second_plan) + device_csr_plan_bytes(&own->ap_plan) +
           device_csr_plan_bytes(&own->coarse_plan);
}

void amg_device_release_plans(tess_context *ctx, amg_device_level *own)
{
    amg_device_plan_release(ctx, &own->plan);
    amg_device_plan_release(ctx, &own->second_plan);
    device_csr_plan_release(ctx, &own->ap_plan);
    device_csr_plan_release(ctx, &own->coarse_plan);
}

/* Without memory for a plan a renewal takes longer, but does not fail. */
static tess_status settle(tess_context *ctx, const tess_error *before, tess_status status, bool *made)
{
    if (status != TESS_OUT_OF_DEVICE_MEMORY) { return status; }
    ctx->error = *before;
    *made = true;
    return TESS_SUCCESS;
}

/* ---- interpolation ---- */

static tess_status plan_weights(tess_context *ctx, const amg_device_interpolation *to, const device_csr *p,
                                amg_device_plan *plan)
{
    const tess_error before = ctx->error;

    return settle(ctx, &before, amg_device_ops_of(ctx)->plan_weights(ctx, to, p, plan), &plan->made);
}

/* Plans of P, or of P_1 and P_2. */
static tess_status make_plans(const amg_hierarchy *h, amg_device_level *own)
{
    tess_context *ctx = h->ctx;
    amg_device_interpolation to = {.a = own->a,
                                   .strong = own->strong,
                                   .split = own->split,
                                   .nrows = own->a.nrows,
                                   .truncation = h->options.truncation};
    amg_device_numbers coarse = {0}, fewer = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_device_make_numbers(ctx, own->a.nrows, own->split, &coarse));
    to.number = coarse.number;
    to.ncoarse = coarse.count;
    TESS_TRY(plan_weights(ctx, &to, own->second ? &own->p1 : &own->p, &own->plan));
    if (!own->second || !own->plan.code) { goto cleanup; }
    TESS_TRY(amg_device_make_numbers(ctx, own->a.nrows, own->second, &fewer));
    to.split = own->second;
    to.number = fewer.number;
    to.ncoarse = fewer.count;
    to.rows = coarse.list;
    to.nrows = coarse.count;
    status = plan_weights(ctx, &to, &own->p2, &own->second_plan);
cleanup:
    amg_device_free_numbers(ctx, &fewer);
    amg_device_free_numbers(ctx, &coarse);
    return status;
}

static tess_status weigh_twice(tess_context *ctx, amg_device_level *own)
{
    const amg_device_ops *ops = amg_device_ops_of(ctx);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ops->weigh_again(ctx, &own->a, &own->plan, &own->p1));
    TESS_TRY(ops->weigh_again(ctx, &own->a, &own->second_plan, &own->p2));
    status = ops->join_again(ctx, &own->p1, &own->p2, &own->p);
cleanup:
    device_csr_release_values(ctx, &own->p1);
    device_csr_release_values(ctx, &own->p2);
    return status;
}

static tess_status interpolate_again(const amg_hierarchy *h, amg_device_level *own)
{
    tess_status status = TESS_SUCCESS;

    if (!own->plan.made) { TESS_TRY(make_plans(h, own)); }
    if (!own->plan.code || (own->second && !own->second_plan.code)) {
        status = amg_device_interpolate_level(h, true, own);
    } else if (own->second) {
        status = weigh_twice(h->ctx, own);
    } else {
        status = amg_device_ops_of(h->ctx)->weigh_again(h->ctx, &own->a, &own->plan, &own->p);
    }
cleanup:
    return status;
}

/* ---- products ---- */

static tess_status multiply_again(tess_context *ctx, const device_csr *a, const device_csr *b, device_csr_plan *plan,
                                  device_csr *c)
{
    const device_csr_ops *ops = device_csr_ops_of(ctx);
    const tess_error before = ctx->error;
    tess_status status = TESS_SUCCESS;

    if (!plan->made) { TESS_TRY(settle(ctx, &before, ops->plan(ctx, a, b, c, plan), &plan->made)); }
    status = plan->code ? ops->multiply_planned(ctx, a, b, plan, c) : ops->multiply_again(ctx, a, b, c);
cleanup:
    return status;
}

/* ---- levels ---- */

static tess_status renew_level(amg_hierarchy *h, int l, double *since)
{
    tess_context *ctx = h->ctx;
    amg_device_level *own = &h->device->level[l];
    tess_status status = TESS_SUCCESS;

    if (h->device->nodes) { return amg_device_nodes_renew(h, l, since); }
    TESS_TRY(interpolate_again(h, own));
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_INTERPOLATION, "interpolation", since));
    TESS_TRY(device_csr_ops_of(ctx)->gather(ctx, own->p.nnz, own->p.val, own->source, own->r.val));
    TESS_TRY(multiply_again(ctx, &own->a, &own->p, &own->ap_plan, &own->ap));
    TESS_TRY(multiply_again(ctx, &own->r, &own->ap, &own->coarse_plan, &own[1].a));
    device_csr_release_values(ctx, &own->ap);
    status = amg_device_end_stage(h, AMG_STAGE_PRODUCT, "Galerkin products", since);
cleanup:
    return status;
}

tess_status amg_device_renew(amg_hierarchy *h, const tess_matrix *a)
{
    double since = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    device_csr_borrow(a, &h->device->level[0].a);
    for (int l = 0; l + 1 < h->count; l++) {
        TESS_TRY(renew_level(h, l, &since));
    }
cleanup:
    return status;
}
