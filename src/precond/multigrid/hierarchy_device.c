/* SPDX-License-Identifier: Apache-2.0 */
/* Levels on a GPU: the steps of classical.c and hierarchy.c, with all arrays on the device. */
#include <string.h>

#include "base/deadline.h"
#include "base/stages.h"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/aggregation_device.h"
#include "precond/multigrid/classical/split.h"

/* ---- memory ---- */

static void free_level(tess_context *ctx, amg_device_level *l)
{
    tess_device_release(ctx, l->strong, l->a.nnz, sizeof *l->strong);
    tess_device_release(ctx, l->split, l->a.nrows, sizeof *l->split);
    tess_device_release(ctx, l->second, l->a.nrows, sizeof *l->second);
    tess_device_release(ctx, l->source, l->p.nnz, sizeof *l->source);
    amg_device_release_plans(ctx, l);
    device_csr_release(ctx, &l->p1);
    device_csr_release(ctx, &l->p2);
    device_csr_release(ctx, &l->ap);
    device_csr_release(ctx, &l->r);
    device_csr_release(ctx, &l->p);
    device_csr_release(ctx, &l->a);
    *l = (amg_device_level){0};
}

void amg_device_close(amg_hierarchy *h)
{
    amg_device *own = h->device;

    if (!own) { return; }
    for (int l = 0; own->level && l < own->max_levels; l++) {
        free_level(h->ctx, &own->level[l]);
    }
    amg_device_nodes_close(h);
    tess_host_release(h->ctx, own->level, own->max_levels, sizeof *own->level);
    tess_host_release(h->ctx, own, 1, sizeof *own);
    h->device = NULL;
}

int64_t amg_device_bytes(const amg_hierarchy *h)
{
    int64_t bytes = amg_device_nodes_bytes(h);

    for (int l = 0; h->device && l < h->count; l++) {
        const amg_device_level *own = &h->device->level[l];

        bytes += device_csr_bytes(&own->a) + device_csr_bytes(&own->p) + device_csr_bytes(&own->r) +
                 device_csr_bytes(&own->ap) + device_csr_bytes(&own->p1) + device_csr_bytes(&own->p2) +
                 (own->source ? own->p.nnz * (int64_t)sizeof *own->source : 0) + amg_device_plans_bytes(own);
        bytes += own->strong ? own->a.nnz + own->a.nrows * (own->second ? 2 : 1) : 0;
    }
    return bytes;
}

static tess_status open_levels(amg_hierarchy *h, const tess_matrix *a)
{
    amg_device *own = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(h->ctx, 1, sizeof *own, (void **)&own));
    *own = (amg_device){.max_levels = h->options.max_levels, .aggressive = h->options.aggressive};
    h->device = own;
    TESS_TRY(tess_host_allocate(h->ctx, own->max_levels, sizeof *own->level, (void **)&own->level));
    memset(own->level, 0, (size_t)own->max_levels * sizeof *own->level);
    device_csr_borrow(a, &own->level[0].a);
cleanup:
    return status;
}

/* ---- numbers of coarse unknowns ---- */

void amg_device_free_numbers(tess_context *ctx, amg_device_numbers *n)
{
    tess_device_release(ctx, n->number, n->n, sizeof *n->number);
    tess_device_release(ctx, n->list, n->n, sizeof *n->list);
}

tess_status amg_device_make_numbers(tess_context *ctx, int64_t n, const uint8_t *split, amg_device_numbers *out)
{
    tess_status status = TESS_SUCCESS;

    out->n = n;
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *out->number, (void **)&out->number));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *out->list, (void **)&out->list));
    status = amg_device_ops_of(ctx)->number(ctx, split, out);
cleanup:
    return status;
}

/* ---- splits ---- */

/* As split_again of classical.c. */
static tess_status split_again(const amg_hierarchy *h, amg_device_level *own)
{
    tess_context *ctx = h->ctx;
    const amg_device_ops *ops = amg_device_ops_of(ctx);
    amg_device_numbers coarse = {0};
    device_csr left = {0}, right = {0}, paths = {0};
    uint8_t *split = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, own->a.nrows, sizeof *own->second, (void **)&own->second));
    TESS_TRY(amg_device_make_numbers(ctx, own->a.nrows, own->split, &coarse));
    TESS_TRY(ops->take_part(ctx, &own->a, own->strong, &coarse, true, &left));
    TESS_TRY(ops->take_part(ctx, &own->a, own->strong, &coarse, false, &right));
    TESS_TRY(device_csr_ops_of(ctx)->multiply(ctx, &left, &right, &paths));
    TESS_TRY(tess_device_allocate(ctx, coarse.count, sizeof *split, (void **)&split));
    TESS_TRY(ops->split(ctx, &(amg_device_graph){.n = coarse.count, .row_ptr = paths.row_ptr, .col_ind = paths.col_ind},
                        h->options.seed + 1, split));
    status = ops->spread_split(ctx, &paths, &coarse, split, own->second);
cleanup:
    tess_device_release(ctx, split, coarse.count, sizeof *split);
    device_csr_release(ctx, &paths);
    device_csr_release(ctx, &right);
    device_csr_release(ctx, &left);
    amg_device_free_numbers(ctx, &coarse);
    return status;
}

static tess_status find_strong(const amg_hierarchy *h, amg_device_level *own)
{
    const tess_amg_options *o = &h->options;
    const bool decides = h->device->aggressive < 0;
    int64_t strong = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(h->ctx, own->a.nnz, sizeof *own->strong, (void **)&own->strong));
    TESS_TRY(amg_device_ops_of(h->ctx)->find_strong(h->ctx, &own->a, amg_classical_strength(o), o->max_row_sum,
                                                    own->strong, decides ? &strong : NULL));
    if (decides) { h->device->aggressive = amg_choose_aggressive(own->a.nrows, own->a.nnz, strong); }
cleanup:
    return status;
}

static tess_status make_splits(const amg_hierarchy *h, int level, amg_device_level *own)
{
    const amg_device_graph g = {
        .n = own->a.nrows, .row_ptr = own->a.row_ptr, .col_ind = own->a.col_ind, .strong = own->strong};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(h->ctx, own->a.nrows, sizeof *own->split, (void **)&own->split));
    TESS_TRY(amg_device_ops_of(h->ctx)->split(h->ctx, &g, h->options.seed, own->split));
    if (level < h->device->aggressive) { status = split_again(h, own); }
cleanup:
    return status;
}

/* ---- interpolation ---- */

/* P = P_1 P_2, as interpolate_twice of classical.c. */
static tess_status interpolate_twice(const amg_hierarchy *h, const amg_device_interpolation *first,
                                     const amg_device_numbers *coarse, bool known, amg_device_level *own)
{
    tess_context *ctx = h->ctx;
    const amg_device_ops *ops = amg_device_ops_of(ctx);
    amg_device_interpolation second = *first;
    amg_device_numbers fewer = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_device_make_numbers(ctx, own->a.nrows, own->second, &fewer));
    second.split = own->second;
    second.number = fewer.number;
    second.ncoarse = fewer.count;
    second.rows = coarse->list;
    second.nrows = coarse->count;
    TESS_TRY(ops->interpolate(ctx, first, known, &own->p1));
    TESS_TRY(ops->interpolate(ctx, &second, known, &own->p2));
    status = ops->join(ctx, &own->p1, &own->p2, h->options.truncation, known, &own->p);
    device_csr_release_values(ctx, &own->p1);
    device_csr_release_values(ctx, &own->p2);
cleanup:
    amg_device_free_numbers(ctx, &fewer);
    return status;
}

tess_status amg_device_interpolate_level(const amg_hierarchy *h, bool known, amg_device_level *own)
{
    tess_context *ctx = h->ctx;
    amg_device_numbers coarse = {0};
    amg_device_interpolation to = {.a = own->a,
                                   .strong = own->strong,
                                   .split = own->split,
                                   .nrows = own->a.nrows,
                                   .truncation = h->options.truncation};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_device_make_numbers(ctx, own->a.nrows, own->split, &coarse));
    to.number = coarse.number;
    to.ncoarse = coarse.count;
    status = own->second ? interpolate_twice(h, &to, &coarse, known, own)
                         : amg_device_ops_of(ctx)->interpolate(ctx, &to, known, &own->p);
cleanup:
    amg_device_free_numbers(ctx, &coarse);
    return status;
}

/* ---- levels ---- */

tess_status amg_device_end_stage(amg_hierarchy *h, amg_set_up_stage stage, const char *name, double *since)
{
    tess_status status = h->ctx->backend->synchronize(h->ctx);

    if (status != TESS_SUCCESS) { return status; }
    amg_add_seconds(since, &h->stage_seconds[stage]);
    return tess_stage_end(h->ctx, name);
}

static tess_status coarsen(amg_hierarchy *h, int level, double *since)
{
    amg_device_level *own = &h->device->level[level];
    tess_status status = TESS_SUCCESS;

    if (h->device->nodes) { return amg_device_nodes_coarsen(h, level, since); }
    TESS_TRY(find_strong(h, own));
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_STRENGTH, "strong couplings", since));
    TESS_TRY(make_splits(h, level, own));
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_SPLIT, "split", since));
    TESS_TRY(amg_device_interpolate_level(h, false, own));
    status = amg_device_end_stage(h, AMG_STAGE_INTERPOLATION, "interpolation", since);
cleanup:
    return status;
}

/* R = P^T and R (A P). The values of A P and R are used once. */
static tess_status multiply(amg_hierarchy *h, int level, double *since)
{
    tess_context *ctx = h->ctx;
    const device_csr_ops *ops = device_csr_ops_of(ctx);
    amg_device_level *own = &h->device->level[level];
    tess_status status = TESS_SUCCESS;

    if (h->device->nodes) { return amg_device_nodes_multiply(h, level, since); }
    TESS_TRY(ops->transpose(ctx, &own->p, &own->r, &own->source));
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_PRODUCT, "transposes", since));
    TESS_TRY(ops->multiply(ctx, &own->a, &own->p, &own->ap));
    TESS_TRY(ops->multiply(ctx, &own->r, &own->ap, &own[1].a));
    device_csr_release_values(ctx, &own->ap);
    status = amg_device_end_stage(h, AMG_STAGE_PRODUCT, "Galerkin products", since);
cleanup:
    return status;
}

static bool coarsens(const amg_device_level *own)
{
    return own->p.ncols > 0 && (double)own->p.ncols <= AMG_LEAST_REDUCTION * (double)own->a.nrows;
}

static void drop_interpolation(amg_hierarchy *h, amg_device_level *own)
{
    tess_device_release(h->ctx, own->strong, own->a.nnz, sizeof *own->strong);
    own->strong = NULL;
    device_csr_release(h->ctx, &own->p1);
    device_csr_release(h->ctx, &own->p2);
    device_csr_release(h->ctx, &own->p);
}

/* The host's level only tells its size. */
static void describe_level(amg_hierarchy *h, int l)
{
    const device_csr *a = &h->device->level[l].a;

    h->level[l].a = (host_csr){.nrows = a->nrows, .ncols = a->ncols};
}

static tess_status add_levels(amg_hierarchy *h)
{
    double since = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    h->count = 1;
    describe_level(h, 0);
    for (int l = 0; l + 1 < h->options.max_levels && h->level[l].a.nrows > h->options.coarsest; l++) {
        amg_device_level *own = &h->device->level[l];

        TESS_TRY(tess_deadline_check(h->ctx, "amg"));
        TESS_TRY(coarsen(h, l, &since));
        if (!coarsens(own)) {
            drop_interpolation(h, own);
            break;
        }
        TESS_TRY(multiply(h, l, &since));
        h->count += 1;
        describe_level(h, l + 1);
    }
cleanup:
    return status;
}

/* Whether there are kernels for the options and the matrix: smoothers that need no triangles and no split of the host,
   splits in parallel, and P^T. */
static bool is_taken(const amg_hierarchy *h, const tess_matrix *a)
{
    const tess_amg_options *o = &h->options;

    return amg_device_ops_of(h->ctx) && device_csr_takes(a) && o->smoother != TESS_AMG_ILU0 &&
           o->smoother != TESS_AMG_FC_JACOBI && o->split != TESS_AMG_SPLIT_RUGE_STUEBEN &&
           o->restriction != TESS_AMG_RESTRICTION_AIR;
}

tess_status amg_device_choose_coarsening(tess_context *ctx, const tess_amg_options *o, const tess_matrix *a,
                                         const amg_coarsening **coarsening, int *block)
{
    device_csr finest = {0};
    tess_status status = TESS_SUCCESS;

    *block = o->block_size;
    *coarsening = &amg_classical;
    if (o->coarsening == TESS_AMG_CLASSICAL) { return TESS_SUCCESS; }
    device_csr_borrow(a, &finest);
    if (*block == 0) { TESS_TRY(amg_device_ops_of(ctx)->find_block_size(ctx, &finest, block)); }
    if (o->coarsening == TESS_AMG_PLAIN) {
        *coarsening = &amg_plain;
    } else if (o->coarsening == TESS_AMG_AGGREGATION || o->near_nullspace || o->modes > 0 || *block > 1) {
        *coarsening = &amg_aggregation;
    }
cleanup:
    return status;
}

int amg_unknowns_of_node(const amg_hierarchy *h)
{
    if (h->device) { return h->device->nodes ? h->device->nodes[0].most_height : 1; }
    return h->coarsening->nodes ? h->coarsening->nodes(h->state, 0)->most_height : 1;
}

tess_status amg_device_build(amg_hierarchy *h, const tess_matrix *a)
{
    const amg_coarsening *coarsening = NULL;
    int block = 0;
    tess_status status = TESS_SUCCESS;

    if (!is_taken(h, a)) { return TESS_SUCCESS; }
    TESS_TRY(amg_device_choose_coarsening(h->ctx, &h->options, a, &coarsening, &block));
    if (coarsening == &amg_classical && (h->options.truncation < 1 || h->options.truncation > AMG_DEVICE_TRUNCATION)) {
        return TESS_SUCCESS; /* rows of P are too long */
    }
    h->coarsening = coarsening;
    TESS_TRY(open_levels(h, a));
    if (coarsening != &amg_classical) { TESS_TRY(amg_device_nodes_begin(h, block)); }
    status = add_levels(h);
cleanup:
    return status;
}
