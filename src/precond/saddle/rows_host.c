/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of vectors on the host. */
#include "device/host/host.h"
#include "precond/saddle/rows.h"

static bool has_stopped(const tess_loop_state *state)
{
    return state && state->phase != TESS_LOOP_RUNNING;
}

static tess_status take(tess_context *ctx, int64_t n, const int32_t *rows, tess_precision precision, const void *whole,
                        double *part, const tess_loop_state *state)
{
    const double *wide = whole;
    const float *narrow = whole;

    if (has_stopped(state)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(host_threads_for(ctx, n)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        part[i] = precision == TESS_PRECISION_FP64 ? wide[rows[i]] : (double)narrow[rows[i]];
    }
    return TESS_SUCCESS;
}

static tess_status put(tess_context *ctx, int64_t n, const int32_t *rows, double factor, const double *part,
                       tess_precision precision, void *whole, const tess_loop_state *state)
{
    double *wide = whole;
    float *narrow = whole;

    if (has_stopped(state)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(host_threads_for(ctx, n)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        if (precision == TESS_PRECISION_FP64) {
            wide[rows[i]] = factor * part[i];
        } else {
            narrow[rows[i]] = (float)(factor * part[i]);
        }
    }
    return TESS_SUCCESS;
}

const rows_ops rows_host_ops = {take, put};
