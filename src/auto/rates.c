/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/rates.h"

#include "precond/direct/direct.h"

/*
 * The host: one core of an x86 server with the reference BLAS. Multigrid on laplace3d-64 and on finite elements of 115
 * thousand rows (docs/results/multigrid.md).
 *
 * The GPU: an H100 or H200. Entries and vectors: 12 and some 100 bytes at 3 to 4 TB/s; CG on laplace3d:150 takes 167 us
 * an iteration (docs/results/multigrid.md). Start: the kernels of a recorded iteration, 0.6 us each. Triangles: levels
 * take 0.3 us where they merge (Poisson 64 by 64, docs/results/preconditioners.md) and 2 us where they do not. Set-up
 * of incomplete factors: Poisson 64 by 64, and wathen120 in 16 ms (the same page). Multigrid: 43 ms of set-up
 * and 1.1 ms an iteration on laplace3d:150, which has 23.6 million entries, 175 and 3.7 ms on laplace3d:256. Levels
 * that the host makes, by aggregation, take longer.
 *
 * cuDSS: not measured here yet. Its analysis orders by nested dissection on the host, which takes some 1.5 us an entry
 * by METIS (precond/direct/analysis.c); the first use loads its kernels.
 */
#define WORK_OF_A_GPU                                                                                     \
    .sorts = true, .entry = 4e-12, .vector = 3e-11, .start = 3e-6, .triangle_passes = 2.5, .level = 1e-6, \
    .incomplete_start = 5e-3, .incomplete_entry = 28e-9, .threshold_entry = 560e-9, .cycle_passes = 12.0, \
    .cycle_start = 5e-4, .multigrid_start = 5e-3, .multigrid_entry = 1.6e-9, .direct_unsymmetric = 1.6

static const cost_rates rates[RATES_COUNT] = {
    [RATES_HOST] = {.name = "host",
                    .entry = 0.43e-9,
                    .vector = 2.5e-9,
                    .start = 2e-6,
                    .triangle_passes = 2.5,
                    .incomplete_entry = 56e-9,
                    .threshold_entry = 560e-9,
                    .cycle_passes = 20.0,
                    .multigrid_entry = 250e-9,
                    .direct_start = 1e-3,
                    .direct_row = 1.2e-6,
                    .direct_entry = 70e-9,
                    .direct_flop = DIRECT_FLOP_SECONDS,
                    .direct_unsymmetric = 1.6},
    [RATES_GPU] = {.name = "gpu",
                   WORK_OF_A_GPU,
                   .direct_start = 2e-3,
                   .direct_row = 1.2e-6,
                   .direct_entry = 72e-9, /* with two numbers of an entry over PCI Express */
                   .direct_flop = DIRECT_FLOP_SECONDS},
    [RATES_GPU_CUDSS] = {.name = "gpu with cuDSS",
                         WORK_OF_A_GPU,
                         .direct_start = 200e-3,
                         .direct_entry = 1.5e-6,
                         .direct_flop = DIRECT_DEVICE_FLOP_SECONDS}};

const cost_rates *rates_of_kind(rates_kind kind)
{
    return &rates[kind];
}

const cost_rates *rates_of(const tess_matrix *a)
{
    if (a->ctx->device != TESS_DEVICE_GPU) { return &rates[RATES_HOST]; }
    return &rates[direct_is_on_device(a) ? RATES_GPU_CUDSS : RATES_GPU];
}
