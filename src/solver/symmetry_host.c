/* SPDX-License-Identifier: Apache-2.0 */
/* The scaled probe of symmetry on the host. */
#include "device/host/host.h"
#include "solver/symmetry.h"

static tess_status sizes(tess_context *ctx, const scaled_probe *p, probe_sizes *out)
{
    probe_sizes_start(out);
#pragma omp parallel num_threads(host_threads_for(ctx, p->n))
    {
        probe_sizes mine;

        probe_sizes_start(&mine);
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < p->n; i++) {
            probe_sizes_take(p, i, &mine);
        }
#pragma omp critical(tess_probe)
        probe_sizes_join(out, &mine);
    }
    return TESS_SUCCESS;
}

static tess_status improve(tess_context *ctx, const scaled_probe *p, bool first)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, p->n)) schedule(static)
    for (int64_t i = 0; i < p->n; i++) {
        probe_improve(p, i, first);
    }
    return TESS_SUCCESS;
}

/* By blocks, in their order. */
static tess_status sums(tess_context *ctx, const scaled_probe *p, probe_sums *out)
{
    const int64_t nblocks = (p->n + HOST_BLOCK - 1) / HOST_BLOCK;
    double *partials = NULL;
    probe_sums *of_block = NULL;
    tess_status status = host_partials(ctx, (int64_t)(sizeof *out / sizeof *partials) * nblocks, &partials);

    if (status != TESS_SUCCESS) { return status; }
    of_block = (probe_sums *)(void *)partials;
#pragma omp parallel for num_threads(host_threads_for(ctx, p->n)) schedule(static)
    for (int64_t block = 0; block < nblocks; block++) {
        const int64_t end = (block + 1) * HOST_BLOCK < p->n ? (block + 1) * HOST_BLOCK : p->n;
        probe_sums mine = {0.0, 0.0, 0.0};

        for (int64_t i = block * HOST_BLOCK; i < end; i++) {
            probe_sums_take(p, i, &mine);
        }
        of_block[block] = mine;
    }
    *out = (probe_sums){0.0, 0.0, 0.0};
    for (int64_t block = 0; block < nblocks; block++) {
        probe_sums_join(out, &of_block[block]);
    }
    return TESS_SUCCESS;
}

const symmetry_ops symmetry_host_ops = {sizes, improve, sums};
