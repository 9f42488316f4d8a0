/* SPDX-License-Identifier: Apache-2.0 */
/* Host or GPU: what a solve of a matrix of this size should take on each, by the rates. */
#include "auto/device_choice.h"

#include <stdio.h>

#include <tessera/names.h>

#include "auto/rates.h"

/* An automatic solve of a matrix of which nothing but its size is known: its iterations and all that its set-up reads
   count as so many iterations. Harder systems take more, which a GPU shortens; so this is not the least. */
#define ITERATIONS_OF_A_SOLVE 500.0

static double solve_cost(const cost_rates *r, double nrows, double nnz)
{
    return r->solve_start + ITERATIONS_OF_A_SOLVE * (r->start + r->entry * nnz + r->vector * nrows);
}

tess_device choose_device_by_rates(int64_t nrows, int64_t nnz, bool started, char *why, size_t length)
{
    const cost_rates *gpu_rates = rates_of_kind(RATES_GPU);
    const double host = solve_cost(rates_of_kind(RATES_HOST), (double)nrows, (double)nnz);
    const double gpu = solve_cost(gpu_rates, (double)nrows, (double)nnz) + (started ? 0.0 : gpu_rates->context_start);
    const tess_counted count = tess_count(nnz, "nonzero");

    if (host > gpu) {
        (void)snprintf(why, length, "%s should take %.2g s on a GPU%s, and %.2g s on the host", count.text, gpu,
                       started ? "" : " with its start", host);
        return TESS_DEVICE_GPU;
    }
    (void)snprintf(why, length, "%s should be solved %s", count.text,
                   started ? "faster than a GPU starts its kernels" : "before a GPU has started");
    return TESS_DEVICE_CPU;
}
