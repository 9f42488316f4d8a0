/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/rates.h"

#include "precond/direct/cudss.h"
#include "precond/direct/direct.h"

/*
 * The host: one core of an x86 server with the reference BLAS. Multigrid on laplace3d-64 and on finite elements of 115
 * thousand rows (docs/results/multigrid.md).
 *
 * The GPU: an H200. CG with Jacobi takes 148 us an iteration on laplace3d:150, 651 us on laplace3d:256, 202 us on
 * laplace3d27:128 (by diagonals), 47 us on elasticity of 203 thousand rows (CSR), and 9 to 15 us where all is small;
 * MINRES 30 us on stokes2d:208. Triangles: levels take 0.3 us where they merge (Poisson 64 by 64,
 * docs/results/preconditioners.md) and 2 us where they do not. Set-up of incomplete factors: Poisson 64 by 64, and
 * wathen120 in 16 ms (the same page). A context starts in 120 to 400 ms, and the set-up of a solve in 1 to 3 ms.
 * Multigrid (docs/results/contest.md): an iteration of CG takes 0.95 ms on laplace3d:150, 3.3 ms on laplace3d:256,
 * 1.15 ms on laplace3d27:128 and 0.65 ms on elasticity3d:48; a set-up 33, 122, 35 and 29 ms, 11 ms where all is small,
 * and the first of a process some 10 ms more. Levels that the host makes take longer. The set-up of approximate
 * inverses: 17 ms on randomdiffusion3d:100, 59 ms on laplace3d:150, 88 ms on elasticity3d:48, 245 ms on
 * laplace3d27:128; the median of 63 smaller ones is 1.3 ms. fsai:2 in FP16 adds 76 us to an iteration of CG on
 * laplace3d:150, and 7 us where all is small.
 *
 * cuDSS 1.0 on the same GPU, with 16 threads for its analysis: that and factors take 15 ms on laser (3 thousand rows),
 * 29 ms on hangGlider_3 (10 thousand), 67 ms on bcsstk25, 0.11 s on x_kkt_CONT-201 and wang4, 0.30 s on G2_circuit,
 * 0.74 s on bentpipe2d:600, 0.88 s on laplace3d:64 and 1.0 s on elasticity3d:48; the first of a process 60 ms more. Of
 * a matrix of few operations this is the least.
 */
#define CUDSS_START 12e-3
#define CUDSS_FIRST_START 72e-3
#define WORK_OF_CUDSS .direct_row = 1.2e-6, .direct_entry = 25e-9, .direct_flop = DIRECT_DEVICE_FLOP_SECONDS
#define WORK_OF_A_GPU                                                                                                  \
    .solve_start = 2e-3, .context_start = 120e-3, .sorts = true, .entry = 3e-12, .vector = 2e-11, .start = 8e-6,       \
    .minres_start = 20e-6, .triangle_passes = 2.5, .level = 1e-6, .incomplete_start = 5e-3, .incomplete_entry = 28e-9, \
    .threshold_entry = 560e-9, .inverse_passes = 1.0, .inverse_start = 2e-3, .inverse_entry = 3.3e-9,                  \
    .cycle_passes = 4.0, .cycle_row = 1.5e-10, .cycle_start = 1.5e-4, .multigrid_start = 14e-3, .multigrid_row = 5e-9, \
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
                    .direct_unsymmetric = 1.6},
    /* Factors of a GPU by the host: two numbers of an entry go over PCI Express. */
    [RATES_GPU] = {.name = "gpu", WORK_OF_A_GPU, .direct_start = 2e-3, .direct_row = 1.2e-6, .direct_entry = 72e-9},
    [RATES_GPU_CUDSS] = {.name = "gpu with cuDSS", WORK_OF_A_GPU, .direct_start = CUDSS_START, WORK_OF_CUDSS},
    [RATES_GPU_CUDSS_FIRST] = {
        .name = "gpu with cuDSS, at first", WORK_OF_A_GPU, .direct_start = CUDSS_FIRST_START, WORK_OF_CUDSS}};

const cost_rates *rates_of_kind(rates_kind kind)
{
    return &rates[kind];
}

const cost_rates *rates_of(const tess_matrix *a)
{
    if (a->ctx->device != TESS_DEVICE_GPU) { return &rates[RATES_HOST]; }
    if (!direct_is_on_device(a)) { return &rates[RATES_GPU]; }
    return &rates[cudss_has_begun() ? RATES_GPU_CUDSS : RATES_GPU_CUDSS_FIRST];
}
