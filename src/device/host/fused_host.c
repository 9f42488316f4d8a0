/* SPDX-License-Identifier: Apache-2.0 */
/* Fused vector operations on the host: one blocked loop, its body chosen by a constant that folds away. */
#include "device/fused_bodies.h"
#include "device/host/columns.h"
#include "device/host/host.h"

#include <tessera/codec.h>

/* Values that a BLAS operation decodes at a time, and its running sums: as many as eight vectors of two doubles or two
   of eight. */
enum { STRIP = 256, LANES = 16 };

#define REAL double
#define WIDENS_FP32 true
#define NAMED(f) f##_fp64
#include "device/host/blas_host.h"
#undef REAL
#undef WIDENS_FP32
#undef NAMED
#define REAL float
#define WIDENS_FP32 false
#define NAMED(f) f##_fp32
#include "device/host/blas_host.h"
#undef REAL
#undef WIDENS_FP32
#undef NAMED

typedef void (*fused_block)(const tess_fused *op, tess_scalars scalars, int64_t begin, int64_t end, double *dots);

/* One function per pass of the solvers: elements begin .. end - 1, with two running sums that the compiler may
 * vectorise. */
#define TESS_FUSED(NAME, function, ndots)                                                                              \
    static void block_##function(const tess_fused *op, tess_scalars scalars, int64_t begin, int64_t end, double *dots) \
    {                                                                                                                  \
        const tess_fused local = *op;                                                                                  \
        double d0 = 0.0, d1 = 0.0;                                                                                     \
                                                                                                                       \
        _Pragma("omp simd reduction(+ : d0, d1)") for (int64_t i = begin; i < end; i++)                                \
        {                                                                                                              \
            double element[2] = {0.0, 0.0};                                                                            \
                                                                                                                       \
            function(&local, scalars, i, i, element);                                                                  \
            d0 += element[0];                                                                                          \
            d1 += element[1];                                                                                          \
        }                                                                                                              \
        dots[0] = d0;                                                                                                  \
        dots[1] = d1;                                                                                                  \
    }
#define TESS_BLAS(NAME, function, operands, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED

/* The function that runs an operation, by arithmetic; the solvers' passes exist in FP64 only. */
static const struct fused_entry {
    fused_block block[2];
    int ndots;
} entries[] = {
#define TESS_FUSED(NAME, function, ndots) [TESS_FUSED_##NAME] = {{block_##function, block_##function}, ndots},
#define TESS_BLAS(NAME, function, operands, ndots) \
    [TESS_FUSED_##NAME] = {{block_##function##_fp64, block_##function##_fp32}, ndots},
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
};

static tess_scalars read_scalars(const tess_loop_state *state)
{
    tess_scalars none = {0.0, 0.0, 0.0};

    return state ? (tess_scalars){state->alpha, state->beta, state->omega} : none;
}

/* FP32 arithmetic also adds its partial sums in FP32: one is left. */
static int64_t add_in_fp32(double *partials, int64_t count)
{
    float sum = 0.0F;

    for (int64_t i = 0; i < count; i++) {
        sum += (float)partials[i];
    }
    partials[0] = (double)sum;
    return 1;
}

tess_status host_fused(tess_context *ctx, const tess_fused *op)
{
    fused_block block = entries[op->op].block[op->arithmetic];
    int ndots = entries[op->op].ndots;
    int64_t nblocks = (op->n + HOST_BLOCK - 1) / HOST_BLOCK;
    tess_scalars scalars = read_scalars(op->state);
    double *partials = NULL;

    if (op->columns > 1) { return host_columns_fused(ctx, op); }
    if (!host_enter(op->state, op->finishing, ndots > 0)) { return TESS_SUCCESS; }
    if (ndots > 0) {
        tess_status status = host_partials(ctx, ndots * nblocks, &partials);

        if (status != TESS_SUCCESS) { return status; }
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (op->n > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t end = (b + 1) * HOST_BLOCK < op->n ? (b + 1) * HOST_BLOCK : op->n;
        double dots[2];

        block(op, scalars, b * HOST_BLOCK, end, dots);
        for (int k = 0; k < ndots; k++) {
            partials[k * nblocks + b] = dots[k];
        }
    }
    if (ndots > 0 && op->arithmetic == TESS_ARITHMETIC_FP32 && nblocks > 0) {
        nblocks = add_in_fp32(partials, nblocks);
    }
    if (ndots > 0) { host_finish_reduction(partials, nblocks, ndots, op->scalar, op->state); }
    return TESS_SUCCESS;
}
