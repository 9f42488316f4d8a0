/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/rates.h"

#include "precond/direct/direct.h"

/*
 * The host: one core of an x86 server with the reference BLAS. Multigrid on laplace3d-64 and on finite elements of 115
 * thousand rows (docs/results/multigrid.md).
 *
 * The GPU: an H200. CG with Jacobi takes 148 us an iteration on laplace3d:150, 651 us on laplace3d:256, 202 us on
 * laplace3d27:128 (by diagonals), 47 us on elasticity of 203 thousand rows (CSR), and 9 to 15 us where all is small;
 * MINRES 20 us there. Triangles: levels take 0.3 us where they merge (Poisson 64 by 64,
 * docs/results/preconditioners.md) and 2 us where they do not. Set-up of incomplete factors: Poisson 64 by 64, and
 * wathen120 in 16 ms (the same page). Multigrid: set-up and an iteration of CG take 50 and 1.3 ms on laplace3d:150, 132
 * and 3.7 ms on laplace3d:256, 42 and 2.1 ms on laplace3d27:128, 36 and 1.4 ms on stretched2d:1500, 20 and 0.56 ms on
 * the elasticity. Levels that the host makes, by aggregation, take longer. A context starts in 120 to 400 ms, and the
 * set-up of a solve in 1 to 3 ms. fsai:2 in FP16: an iteration of CG takes 76 us more than with Jacobi on
 * laplace3d:150, 57 us on G2_circuit 14 times, 33 us on bcsstk17 24 times and 7 us where all is small; the median of 63
 * set-ups is 1.3 ms (docs/results/preconditioners.md), and that of an entry is not measured yet.
 *
 * cuDSS: not measured here yet. Its analysis orders by nested dissection on the host, which takes some 1.5 us an entry
 * by METIS (precond/direct/analysis.c); the first use loads its kernels.
 */
#define WORK_OF_A_GPU                                                                                                  \
    .solve_start = 2e-3, .context_start = 120e-3, .sorts = true, .entry = 3e-12, .vector = 2e-11, .start = 8e-6,       \
    .minres_start = 10e-6, .triangle_passes = 2.5, .level = 1e-6, .incomplete_start = 5e-3, .incomplete_entry = 28e-9, \
    .threshold_entry = 560e-9, .inverse_passes = 1.0, .inverse_start = 1e-3, .inverse_entry = 2e-9,                    \
    .cycle_passes = 12.0, .cycle_start = 1.5e-4, .multigrid_start = 14e-3, .multigrid_row = 5e-9,                      \
    .multigrid_entry = 0.25e-9, .direct_unsymmetric = 1.6

static const cost_rates rates[RATES_COUNT] = {
    [RATES_HOST] = {.name = "host",
                    .entry = 0.43e-9,
                    .vector = 2.5e-9,
                    .start = 2e-6,
                    .triangle_passes = 2.5,
                    .incomplete_entry = 56e-9,
                    .threshold_entry = 560e-9,
                    .inverse_passes = 2.0,
                    .inverse_entry = 400e-9,
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
