/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the rooflines: one loop for all configurations. */
#ifndef TESS_BENCH_HARNESS_ROOFLINE_KERNELS_CUH
#define TESS_BENCH_HARNESS_ROOFLINE_KERNELS_CUH

#include <cstring>

#include <tessera/accessor.cuh>

#include "core/random.h"
#include "harness_roofline.h"

namespace {

constexpr int block_threads = 256, resident_blocks = 3, default_blocks = 18;
constexpr int loads = BENCH_ROOFLINE_LOADS, chains = BENCH_ROOFLINE_CHAINS;
constexpr int chunk = 16;         /* steps unrolled; more of them are a loop over chunks */
constexpr int chunk_exponent = 5; /* 32 operations per value are one chunk */

/* ---- where values come from: 16 bytes per load ---- */

template <typename T>
struct builtin;
template <>
struct builtin<double> {
    using type = double2;
};
template <>
struct builtin<float> {
    using type = float4;
};

/*
 * fetch only loads, decode only converts: all loads of a round are in flight before the first value is needed.
 */
template <typename T>
struct plain_source {
    using arithmetic = T;
    using fetched = typename builtin<T>::type;
    static constexpr int width = 16 / sizeof(T);
    const fetched *data;

    plain_source(const void *from, int64_t) : data(static_cast<const fetched *>(from))
    {
    }
    __device__ fetched fetch(int64_t pack) const
    {
        return data[pack];
    }
    __device__ static void decode(const fetched &from, T (&to)[width])
    {
        to[0] = from.x, to[1] = from.y;
        if constexpr (width == 4) { to[2] = from.z, to[3] = from.w; }
    }
};

template <typename Arithmetic, typename Storage>
struct accessor_source {
    using arithmetic = Arithmetic;
    using fetched = tess::full_pack<Storage>;
    static constexpr int width = fetched::count;
    tess::range<tess::reduced_row_major<1, Arithmetic, const Storage>> x;

    accessor_source(const void *from, int64_t n) : x(tess::shape(n), static_cast<const Storage *>(from))
    {
    }
    __device__ fetched fetch(int64_t pack) const
    {
        return tess::load_pack<width>(x->data() + pack * width);
    }
    __device__ static void decode(const fetched &from, Arithmetic (&to)[width])
    {
        tess::decode_pack(from, to);
    }
};

/* ---- what becomes of them ---- */

__device__ uint32_t fold(double value)
{
    return static_cast<uint32_t>(__double2hiint(value)) ^ static_cast<uint32_t>(__double2loint(value));
}

__device__ uint32_t fold(float value)
{
    return __float_as_uint(value);
}

/* Decides at run time whether a thread's result is stored: always to check it, never (in fact) to time it. */
struct outcome {
    uint32_t *result;
    uint32_t mask, wanted;
};

template <typename T>
__device__ void leave(const T (&chain)[chains], uint32_t bits, const outcome &out)
{
#pragma unroll
    for (int j = 0; j < chains; j++) {
        bits ^= fold(chain[j]);
    }
    if ((bits & out.mask) == out.wanted) { out.result[blockIdx.x * block_threads + threadIdx.x] = bits; }
}

/* Value number w of those taken together, with 2^EXPONENT operations. */
template <int EXPONENT, typename T>
__device__ void use_below_two(T value, int w, T (&chain)[chains], uint32_t &bits)
{
    constexpr int period = EXPONENT < 0 ? 1 << -EXPONENT : 1;

    if (w % period == 0) {
        chain[w / period % chains] += value;
    } else {
        bits ^= fold(value);
    }
}

/* The factor is part of the instruction: in a register it costs a tenth of the rate where operands share a bank. */
template <int STEPS, typename T>
__device__ void use_group(const T (&value)[chains], T (&chain)[chains])
{
    constexpr T factor = static_cast<T>(BENCH_ROOFLINE_FACTOR);

#pragma unroll
    for (int s = 0; s < STEPS; s++) {
#pragma unroll
        for (int j = 0; j < chains; j++) {
            chain[j] = fma(chain[j], factor, value[j]);
        }
    }
}

/* Values taken together. EXPONENT 5: `chunks` times 32 operations. */
template <int EXPONENT, int COUNT, typename T>
__device__ void use(const T (&value)[COUNT], int chunks, T (&chain)[chains], uint32_t &bits)
{
    if constexpr (EXPONENT < 1) {
#pragma unroll
        for (int w = 0; w < COUNT; w++) {
            use_below_two<EXPONENT>(value[w], w, chain, bits);
        }
    } else {
#pragma unroll
        for (int w = 0; w < COUNT; w += chains) {
            T group[chains];

#pragma unroll
            for (int j = 0; j < chains; j++) {
                group[j] = value[w + j];
            }
            if constexpr (EXPONENT < chunk_exponent) {
                use_group<(1 << EXPONENT) / 2>(group, chain);
            } else {
#pragma unroll 1
                for (int c = 0; c < chunks; c++) {
                    use_group<chunk>(group, chain);
                }
            }
        }
    }
}

/* COUNT packs from number `first` of the thread's stride on. */
template <typename Source, int COUNT>
__device__ void fetch_packs(const Source &source, int64_t first, int64_t step, typename Source::fetched *to)
{
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        to[u] = source.fetch(first + u * step);
    }
}

/* `loads` packs are always on their way: as soon as the first are taken, as many follow behind the last. */
template <typename Source, int EXPONENT>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    pass_kernel(Source source, int64_t packs, int chunks, outcome out)
{
    using T = typename Source::arithmetic;
    constexpr int width = Source::width,
                  together = width < chains ? chains / width : 1; /* packs with a value per chain */
    const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads;
    int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x;
    typename Source::fetched coming[loads];
    T chain[chains] = {};
    uint32_t bits = 0;

    fetch_packs<Source, loads>(source, i, step, coming);
#pragma unroll 1
    for (; i < packs; i += together * step) {
        typename Source::fetched taken[together];
        T value[together * width];

#pragma unroll
        for (int t = 0; t < together; t++) {
            taken[t] = coming[t];
        }
#pragma unroll
        for (int t = together; t < loads; t++) {
            coming[t - together] = coming[t];
        }
        if (i + loads * step < packs) {
            fetch_packs<Source, together>(source, i + loads * step, step, coming + loads - together);
        }
#pragma unroll
        for (int t = 0; t < together; t++) {
            T some[width];

            source.decode(taken[t], some);
#pragma unroll
            for (int k = 0; k < width; k++) {
                value[t * width + k] = some[k];
            }
        }
        use<EXPONENT>(value, chunks, chain, bits);
    }
    leave(chain, bits, out);
}

/* The same loads without decoding. */
__global__ void __launch_bounds__(block_threads, resident_blocks)
    raw_kernel(const uint4 *data, int64_t packs, outcome out)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads;
    const float chain[chains] = {};
    uint32_t bits = 0;

#pragma unroll 1
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x; i < packs; i += loads * step) {
        uint4 value[loads];

#pragma unroll
        for (int u = 0; u < loads; u++) {
            value[u] = data[i + u * step];
        }
#pragma unroll
        for (int u = 0; u < loads; u++) {
            bits ^= value[u].x ^ value[u].y ^ value[u].z ^ value[u].w;
        }
    }
    leave(chain, bits, out);
}

/* ---- work in registers ---- */

struct decode_patterns {
    uint32_t mask, word[BENCH_ROOFLINE_PATTERNS];
};

template <typename Storage, bool FMA>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    decode_kernel(decode_patterns by, int rounds, outcome out)
{
    constexpr int width = 16 / sizeof(Storage);
    double chain[chains] = {};
    uint32_t word[4], bits = 0;

#pragma unroll
    for (int w = 0; w < 4; w++) {
        word[w] = bench_roofline_start(blockIdx.x * block_threads + threadIdx.x, w) & by.mask;
    }
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int p = 0; p < BENCH_ROOFLINE_PATTERNS; p++) {
            tess::full_pack<Storage> pack;
            double value[width];

#pragma unroll
            for (int w = 0; w < 4; w++) {
                word[w] ^= by.word[p];
            }
            memcpy(&pack, word, sizeof pack);
            tess::decode_pack(pack, value);
#pragma unroll
            for (int k = 0; k < width; k++) {
                if constexpr (FMA) {
                    chain[k % chains] = fma(chain[k % chains], BENCH_ROOFLINE_FACTOR, value[k]);
                } else {
                    bits ^= fold(value[k]);
                }
            }
        }
    }
    leave(chain, bits, out);
}

template <typename T>
__global__ void __launch_bounds__(block_threads, resident_blocks) peak_kernel(int chunks, outcome out)
{
    T chain[chains] = {}, value[chains];

#pragma unroll
    for (int j = 0; j < chains; j++) {
        value[j] = static_cast<T>(bench_roofline_peak_value(blockIdx.x * block_threads + threadIdx.x, j));
    }
#pragma unroll 1
    for (int c = 0; c < chunks; c++) {
        use_group<chunk>(value, chain);
    }
    leave(chain, 0U, out);
}

template <typename Storage>
__global__ void fill_kernel(Storage *data, int64_t n)
{
    int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        data[i] = tess::encode<Storage>(tess_random_in(BENCH_ROOFLINE_SEED, static_cast<uint64_t>(i), -1.0, 1.0));
    }
}

} // namespace

#endif
