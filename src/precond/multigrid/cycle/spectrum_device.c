/* SPDX-License-Identifier: Apache-2.0 */
/* The smoothers of all levels on a GPU: their spectra are estimated together, with one wait. */
#include "precond/multigrid/cycle/spectrum.h"
#include "precond/multigrid/device.h"

tess_status amg_device_begin_spectra(amg_cycle *c, const amg_hierarchy *h, const amg_device_scale *scale,
                                     amg_device_tridiagonal **out)
{
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    c->has_bounds = !c->has_blocks; /* those with blocks are estimated by amg_find_bound */
    if (!c->estimates || c->has_blocks) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(c->ctx, h->count, sizeof **out, (void **)out));
    status =
        amg_device_ops_of(c->ctx)->estimate_spectra(c->ctx, h->count, h->device->level, scale, c->options.seed, *out);
cleanup:
    return status;
}

tess_status amg_device_end_spectra(amg_cycle *c, const amg_hierarchy *h, const amg_device_tridiagonal *found)
{
    double largest[TESS_MAX_AMG_LEVELS] = {0.0};
    tess_status status = TESS_SUCCESS;

    if (found) {
        TESS_TRY(amg_device_ops_of(c->ctx)->read_spectra(c->ctx, h->count, h->device->level, found, largest));
    }
    for (int l = 0; l < h->count; l++) {
        amg_set_bound(c, largest[l], &c->level[l]);
    }
cleanup:
    return status;
}

void amg_device_close_spectra(const amg_cycle *c, const amg_hierarchy *h, amg_device_tridiagonal *found)
{
    tess_device_release(c->ctx, found, h->count, sizeof *found);
}
