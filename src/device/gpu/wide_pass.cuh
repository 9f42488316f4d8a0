/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes that take most of CG's time besides the products, on the GPU: two elements at a time in loads of 16 bytes.
 * The next loads are in flight while the last are processed, and the first begin before the scalars of the loop are
 * known. Data that is not read again before other vectors have passed through the second-level cache is evicted first;
 * data that the next kernel reads stays.
 */
#ifndef TESS_DEVICE_GPU_WIDE_PASS_CUH
#define TESS_DEVICE_GPU_WIDE_PASS_CUH

#include "device/gpu/solver_pass.cuh"

#include <tessera/storage.cuh> /* after the vendor's header: HIP declares memcpy for the device there */

/* Which vectors a pass reads (inputs), and reads and writes (outputs); one without inputs has no wide pass.
   STREAMED_INPUTS, STREAMED_OUTPUTS: bits of those that are not kept in the cache. */
template <tess_fused_op OP>
struct wide_shape {
    static constexpr int INPUTS = 0, OUTPUTS = 0;
};

/*
 * Tuning parameters, here and in wide_tuning. BACKWARD: from the end of the vectors to their beginning, so that a pass
 * begins with the data that the previous one touched last. A product goes forward, and so does the pass after it,
 * because another order would change the rounding of its sums.
 */
template <>
struct wide_shape<TESS_FUSED_CG_RESIDUAL> { /* q is not needed any more; the next kernel reads r */
    static constexpr int INPUTS = 1, OUTPUTS = 1;
    static constexpr unsigned STREAMED_INPUTS = 1U, STREAMED_OUTPUTS = 0U;
    static constexpr bool BACKWARD = false;
};

template <>
struct wide_shape<TESS_FUSED_CG_DIRECTION> { /* the following product reads p, but not z and x */
    static constexpr int INPUTS = 1, OUTPUTS = 2;
    static constexpr unsigned STREAMED_INPUTS = 1U, STREAMED_OUTPUTS = 1U;
    static constexpr bool BACKWARD = true;
};

/* DEPTH: loads of each vector that a thread has in flight. BLOCKS: blocks per multiprocessor, for which registers must
   suffice. */
struct wide_tuning {
    static constexpr int DEPTH = 2;
    static constexpr int BLOCKS = 4;
};

typedef tess::full_pack<double> wide_pair;

template <bool STREAMED>
__device__ static inline wide_pair load_pair(const double *from, int64_t pair)
{
    const wide_pair *place = (const wide_pair *)from + pair;

    if constexpr (STREAMED) {
        return gpu_load_streaming(place);
    } else {
        return tess::load_pack<wide_pair::count>((const double *)place);
    }
}

__device__ static inline int64_t thread_of_grid()
{
    return (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
}

__device__ static inline int64_t threads_of_grid()
{
    return (int64_t)gridDim.x * GPU_BLOCK;
}

/* A pass of the fused kernel (fused_pass.cuh). SCALED: with a diagonal preconditioner. */
template <tess_fused_op OP, bool SCALED>
struct wide_pass {
    typedef double REAL;
    typedef wide_shape<OP> shape;
    static constexpr bool settled = false;
    static constexpr int count = wide_pair::count, depth = wide_tuning::DEPTH, blocks = wide_tuning::BLOCKS;

    wide_pair in[shape::INPUTS][depth], out[shape::OUTPUTS][depth], scale[depth];

    /* The position of pair `p` in the order of the pass. */
    __device__ static inline int64_t place_of(int64_t pairs, int64_t p)
    {
        return shape::BACKWARD ? pairs - 1 - p : p;
    }

    /* Slot u loads pair p, if there is one. */
    __device__ inline void load(const tess_fused &op, int u, int64_t pairs, int64_t p)
    {
        const int64_t at = place_of(pairs, p);

        if (p >= pairs) { return; }
#pragma unroll
        for (int k = 0; k < shape::INPUTS; k++) {
            in[k][u] =
                shape::STREAMED_INPUTS >> k & 1U ? load_pair<true>(op.in[k], at) : load_pair<false>(op.in[k], at);
        }
#pragma unroll
        for (int k = 0; k < shape::OUTPUTS; k++) {
            out[k][u] =
                shape::STREAMED_OUTPUTS >> k & 1U ? load_pair<true>(op.out[k], at) : load_pair<false>(op.out[k], at);
        }
        if (SCALED) { scale[u] = load_pair<false>(op.scale, at); }
    }

    /* The body of the operation, which finds a pair's elements at 0 and 1. */
    template <int N>
    __device__ inline void apply(const tess_fused &op, const tess_scalars &scalars, int u, int64_t at,
                                 double (&dots)[N])
    {
        tess_fused own = {};

#pragma unroll
        for (int k = 0; k < shape::INPUTS; k++) {
            own.in[k] = in[k][u].value;
        }
#pragma unroll
        for (int k = 0; k < shape::OUTPUTS; k++) {
            own.out[k] = out[k][u].value;
        }
        if (SCALED) { own.scale = scale[u].value; }
#pragma unroll
        for (int e = 0; e < count; e++) {
            apply_body<OP>(&own, scalars, e, e, dots);
        }
#pragma unroll
        for (int k = 0; k < shape::OUTPUTS; k++) {
            wide_pair *place = (wide_pair *)op.out[k] + at;

            if (shape::STREAMED_OUTPUTS >> k & 1U) {
                gpu_store_streaming(place, out[k][u]);
            } else {
                tess::store_pack((double *)place, out[k][u]);
            }
        }
    }

    /* Work that needs no scalars; it comes after the previous kernel, which has written some of the vectors. */
    __device__ inline void begin(const tess_fused &op)
    {
        GPU_WAIT_FOR_PREVIOUS();
#pragma unroll
        for (int u = 0; u < depth; u++) {
            load(op, u, op.n / count, thread_of_grid() + u * threads_of_grid());
        }
    }

    template <int N>
    __device__ inline void run(const tess_fused &op, const tess_scalars &scalars, double (&dots)[N])
    {
        const int64_t step = threads_of_grid(), pairs = op.n / count, tail = pairs * count + thread_of_grid();

        for (int64_t first = thread_of_grid(); first < pairs; first += depth * step) {
#pragma unroll
            for (int u = 0; u < depth; u++) {
                const int64_t p = first + u * step;

                if (p >= pairs) { break; }
                apply(op, scalars, u, place_of(pairs, p), dots);
                load(op, u, pairs, p + depth * step);
            }
        }
        if (tail < op.n) { apply_body<OP>(&op, scalars, tail, tail, dots); }
    }
};

/* Whether all vectors of the pass can be read in pairs, and the pass does nothing else. */
template <tess_fused_op OP>
static inline bool wide_fits(const tess_fused *op)
{
    uintptr_t places = (uintptr_t)op->scale;

    for (int k = 0; k < wide_shape<OP>::INPUTS; k++) {
        places |= (uintptr_t)op->in[k];
    }
    for (int k = 0; k < wide_shape<OP>::OUTPUTS; k++) {
        places |= (uintptr_t)op->out[k];
    }
    return places % sizeof(wide_pair) == 0 && !op->shadow;
}

#endif
