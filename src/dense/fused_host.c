/* SPDX-License-Identifier: Apache-2.0 */
/* Fused vector operations on the host: one blocked loop, its body chosen by a constant that folds away. */
#include "backend/host/host.h"
#include "dense/fused_bodies.h"

typedef void (*fused_block)(const tess_fused *op, tess_scalars scalars, int64_t begin, int64_t end, double *dots);

/* One function per operation: elements begin .. end - 1, with two running sums that the compiler may vectorise. */
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
            function(&local, scalars, i, element);                                                                     \
            d0 += element[0];                                                                                          \
            d1 += element[1];                                                                                          \
        }                                                                                                              \
        dots[0] = d0;                                                                                                  \
        dots[1] = d1;                                                                                                  \
    }
#include "dense/fused.def"
#undef TESS_FUSED

static const fused_block blocks[] = {
#define TESS_FUSED(NAME, function, ndots) [TESS_FUSED_##NAME] = block_##function,
#include "dense/fused.def"
#undef TESS_FUSED
};

static const int dot_counts[] = {
#define TESS_FUSED(NAME, function, ndots) [TESS_FUSED_##NAME] = (ndots),
#include "dense/fused.def"
#undef TESS_FUSED
};

static tess_scalars read_scalars(const tess_loop_state *state)
{
    tess_scalars none = {0.0, 0.0, 0.0};

    return state ? (tess_scalars){state->alpha, state->beta, state->omega} : none;
}

tess_status host_fused(tess_context *ctx, const tess_fused *op)
{
    fused_block block = blocks[op->op];
    int ndots = dot_counts[op->op];
    int64_t nblocks = (op->n + HOST_BLOCK - 1) / HOST_BLOCK;
    tess_scalars scalars = read_scalars(op->state);
    double *partials = NULL;

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
    if (ndots > 0) { host_finish_reduction(partials, nblocks, ndots, op->step, op->state); }
    return TESS_SUCCESS;
}
