/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/deadline.h"
#include "base/spare_memory.h"
#include "base/stages.h"
#include "precond/multigrid/device.h"

void amg_add_seconds(double *since, double *sum)
{
    const double now = tess_wall_seconds();

    *sum += now - *since;
    *since = now;
}

/* R of a level; of new values with the pattern that it has. */
static tess_status restrict_level(const amg_hierarchy *h, int level)
{
    tess_context *ctx = h->ctx;
    amg_level *fine = &h->level[level];
    tess_status status = TESS_SUCCESS;

    if (h->coarsening->restriction) {
        TESS_TRY(h->coarsening->restriction(ctx, h->state, level, &fine->a, &fine->p, &fine->r));
    } else {
        host_csr_release(ctx, &fine->r);
        TESS_TRY(host_csr_transpose(ctx, &fine->p, &fine->r));
    }
    status = tess_stage_end(ctx, "restriction");
cleanup:
    return status;
}

/* R, and the matrix of the next level R A P. */
static tess_status galerkin(const amg_hierarchy *h, int level, host_csr *coarse)
{
    tess_context *ctx = h->ctx;
    amg_level *fine = &h->level[level];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(restrict_level(h, level));
    if (h->coarsening->product) {
        TESS_TRY(h->coarsening->product(ctx, h->state, level, &fine->a, &fine->p, coarse));
    } else {
        TESS_TRY(host_csr_multiply_triple(ctx, &fine->r, &fine->a, &fine->p, coarse));
    }
    status = tess_stage_end(ctx, "Galerkin products");
cleanup:
    return status;
}

static bool coarsens(const amg_level *fine)
{
    const host_csr *p = &fine->p;

    return p->row_ptr && p->ncols > 0 && (double)p->ncols <= AMG_LEAST_REDUCTION * (double)fine->a.nrows;
}

/* Levels from the finest, until one is small or does not become smaller. */
static tess_status add_levels(amg_hierarchy *h)
{
    const double of_finest = (double)host_csr_nnz(&h->level[0].a);
    double entries = of_finest;
    tess_status status = TESS_SUCCESS;

    for (int l = 0; l + 1 < h->options.max_levels && h->level[l].a.nrows > h->options.coarsest; l++) {
        amg_level *fine = &h->level[l];
        double since = tess_wall_seconds();

        TESS_TRY(tess_deadline_check(h->ctx, "amg"));
        TESS_TRY(h->coarsening->coarsen(h->ctx, h->state, l, &fine->a, &fine->p));
        amg_add_seconds(&since, &h->coarsening_seconds);
        if (!coarsens(fine)) {
            host_csr_release(h->ctx, &fine->p);
            break;
        }
        TESS_TRY(galerkin(h, l, &h->level[l + 1].a));
        amg_add_seconds(&since, &h->product_seconds);
        h->count += 1;
        entries += (double)host_csr_nnz(&h->level[l + 1].a);
        if (h->most_entries > 0.0 && entries > h->most_entries * of_finest) {
            h->too_large = true;
            status = tess_fail(h->ctx, TESS_OUT_OF_RANGE, "leave the choice of the levels to the library",
                               "amg: the levels have more than %g times the entries of the matrix", h->most_entries);
            goto cleanup;
        }
    }
cleanup:
    return status;
}

/* The coarsening's own record of its stages, or NULL. */
static double *recorded_stages(const amg_hierarchy *h)
{
    return h->state && h->coarsening->stage_seconds ? h->coarsening->stage_seconds(h->state) : NULL;
}

static void clear_seconds(amg_hierarchy *h)
{
    double *recorded = recorded_stages(h);

    h->coarsening_seconds = h->product_seconds = 0.0;
    memset(h->stage_seconds, 0, sizeof h->stage_seconds);
    if (recorded) { memset(recorded, 0, sizeof h->stage_seconds); }
}

static void collect_seconds(amg_hierarchy *h)
{
    double *s = h->stage_seconds;

    if (h->device) {
        h->coarsening_seconds = s[AMG_STAGE_STRENGTH] + s[AMG_STAGE_SPLIT] + s[AMG_STAGE_INTERPOLATION];
        h->product_seconds = s[AMG_STAGE_PRODUCT];
    } else if (recorded_stages(h)) {
        memcpy(s, recorded_stages(h), sizeof h->stage_seconds);
        s[AMG_STAGE_PRODUCT] = h->product_seconds;
    }
}

/* Measured: 2 to 2.5 times the entries for 7 points without aggressive levels, less for more points. */
int64_t amg_predict_bytes(const tess_matrix *a)
{
    const double entries = 3.0 * (double)a->nnz, rows = 2.0 * (double)a->nrows;

    return (int64_t)(entries * (12 + 8 + 1) + rows * (4 * 2 * 20 + 64));
}

static tess_status check_memory(const tess_matrix *a)
{
    const int64_t needed = amg_predict_bytes(a), spare = tess_spare_memory();

    if (needed <= spare) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_OUT_OF_MEMORY, "choose jacobi or polynomial, which need less",
                     "amg: the set-up needs about %.3g MB on the host, which has %.3g MB to spare",
                     (double)needed / 1e6, (double)spare / 1e6);
}

/* On the GPU where it can. Where its memory does not do, or its offsets, the host builds the levels. */
static tess_status build_on_device(amg_hierarchy *h, const tess_matrix *a)
{
    const tess_status status = amg_device_build(h, a);

    if (status != TESS_OUT_OF_DEVICE_MEMORY && status != TESS_OUT_OF_RANGE) { return status; }
    amg_device_close(h);
    h->count = 0;
    tess_log(h->ctx, TESS_LOG_INFO, "amg: the device cannot build the levels, so the host does: %s",
             tess_context_last_error(h->ctx)->message);
    return TESS_SUCCESS;
}

static tess_status build_on_host(amg_hierarchy *h, const tess_matrix *a)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_memory(a));
    memset(h->level, 0, (size_t)h->options.max_levels * sizeof *h->level);
    TESS_TRY(host_csr_from_matrix(a, &h->level[0].a));
    h->count = 1;
    TESS_TRY(tess_stage_end(h->ctx, "reading the matrix"));
    h->coarsening = amg_choose_coarsening(&h->options, &h->level[0].a);
    TESS_TRY(h->coarsening->begin(h->ctx, &h->options, &h->level[0].a, &h->state));
    status = add_levels(h);
cleanup:
    return status;
}

tess_status amg_hierarchy_build(amg_hierarchy *h, const tess_matrix *a)
{
    tess_status status = TESS_SUCCESS;

    clear_seconds(h);
    TESS_TRY(tess_deadline_check(h->ctx, "amg"));
    TESS_TRY(tess_host_allocate(h->ctx, h->options.max_levels, sizeof *h->level, (void **)&h->level));
    memset(h->level, 0, (size_t)h->options.max_levels * sizeof *h->level);
    TESS_TRY(build_on_device(h, a));
    if (!h->device) { TESS_TRY(build_on_host(h, a)); }
    collect_seconds(h);
cleanup:
    return status;
}

/* P's new values also go to R. */
static tess_status renew_level(amg_hierarchy *h, int l)
{
    amg_level *fine = &h->level[l];
    double since = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    TESS_TRY(h->coarsening->renew(h->ctx, h->state, l, &fine->a, &fine->p));
    TESS_TRY(tess_stage_end(h->ctx, "interpolation"));
    amg_add_seconds(&since, &h->coarsening_seconds);
    TESS_TRY(restrict_level(h, l));
    if (h->coarsening->product) {
        TESS_TRY(h->coarsening->product(h->ctx, h->state, l, &fine->a, &fine->p, &h->level[l + 1].a));
    } else {
        TESS_TRY(host_csr_multiply_triple_again(h->ctx, &fine->r, &fine->a, &fine->p, &fine->ap, &h->level[l + 1].a));
    }
    amg_add_seconds(&since, &h->product_seconds);
    status = tess_stage_end(h->ctx, "Galerkin products");
cleanup:
    return status;
}

static tess_status renew_on_host(amg_hierarchy *h, const tess_matrix *a)
{
    tess_status status = TESS_SUCCESS;

    host_csr_release(h->ctx, &h->level[0].a);
    TESS_TRY(host_csr_from_matrix(a, &h->level[0].a));
    for (int l = 0; l + 1 < h->count; l++) {
        TESS_TRY(renew_level(h, l));
    }
cleanup:
    return status;
}

tess_status amg_hierarchy_renew(amg_hierarchy *h, const tess_matrix *a)
{
    tess_status status = TESS_SUCCESS;

    clear_seconds(h);
    TESS_TRY(tess_deadline_check(h->ctx, "amg"));
    TESS_TRY(h->device ? amg_device_renew(h, a) : renew_on_host(h, a));
    collect_seconds(h);
cleanup:
    return status;
}

void amg_hierarchy_close(amg_hierarchy *h)
{
    if (h->coarsening) { h->coarsening->end(h->ctx, h->state); }
    amg_device_close(h);
    for (int l = 0; h->level && l < h->options.max_levels; l++) {
        host_csr_release(h->ctx, &h->level[l].a);
        host_csr_release(h->ctx, &h->level[l].p);
        host_csr_release(h->ctx, &h->level[l].r);
        host_csr_release(h->ctx, &h->level[l].ap);
    }
    tess_host_release(h->ctx, h->level, h->options.max_levels, sizeof *h->level);
    h->level = NULL;
    h->state = NULL;
    h->count = 0;
}
