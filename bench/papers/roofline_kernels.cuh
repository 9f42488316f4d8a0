/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the rooflines: one loop for all configurations. */
#ifndef TESS_BENCH_PAPERS_ROOFLINE_KERNELS_CUH
#define TESS_BENCH_PAPERS_ROOFLINE_KERNELS_CUH

#include <cstring>

#include <tessera/accessor.cuh>

#include "base/random.h"
#include "papers/roofline.h"

namespace {

constexpr int block_threads = 256, resident_blocks = 4, default_blocks = 16;
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

/* Where a pack is, and how what was loaded from there is decoded. */
template <typename T>
struct plain_source {
    using arithmetic = T;
    using fetched = typename builtin<T>::type;
    static constexpr int width = 16 / sizeof(T);
    const fetched *data;

    plain_source(const void *from, int64_t) : data(static_cast<const fetched *>(from))
    {
    }
    __device__ const void *at(int64_t pack) const
    {
        return data + pack;
    }
    __device__ static fetched read(const void *from)
    {
        return *static_cast<const fetched *>(from);
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
    __device__ const void *at(int64_t pack) const
    {
        return x->data() + pack * width;
    }
    __device__ static fetched read(const void *from)
    {
        return tess::load_pack<width>(static_cast<const Storage *>(from));
    }
    __device__ static void decode(const fetched &from, Arithmetic (&to)[width])
    {
        tess::decode_pack(from, to);
    }
};

/* Words as they are. */
struct raw_source {
    using fetched = uint4;
    const uint4 *data;

    __device__ const void *at(int64_t pack) const
    {
        return data + pack;
    }
    __device__ static uint4 read(const void *from)
    {
        return *static_cast<const uint4 *>(from);
    }
};

/* ---- how they come: each thread has `loads` packs on their way into its own places in shared memory ---- */

__device__ void start_copy(uint4 *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))), "l"(from)
                 : "memory");
}

/* Ends the copies that belong together, be there any or none. */
__device__ void close_group()
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/* All groups but the last COUNT are there. */
template <int COUNT>
__device__ void await_groups()
{
    asm volatile("cp.async.wait_group %0;" : : "n"(COUNT) : "memory");
}

/* Hands the thread's packs to `use`, TOGETHER at a time; as soon as those are read, as many follow behind the last. */
template <int TOGETHER, typename Source, typename Use>
__device__ void stream(const Source &source, int64_t packs, Use use)
{
    __shared__ uint4 workspace[loads][block_threads];
    constexpr int groups = loads / TOGETHER;
    const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads;
    int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x;

#pragma unroll
    for (int u = 0; u < loads; u++) {
        start_copy(&workspace[u][threadIdx.x], source.at(i + u * step));
        if (u % TOGETHER == TOGETHER - 1) { close_group(); }
    }
#pragma unroll 1
    for (int place = 0; i < packs; i += TOGETHER * step, place = (place + TOGETHER) % loads) {
        typename Source::fetched taken[TOGETHER];

        await_groups<groups - 1>();
#pragma unroll
        for (int t = 0; t < TOGETHER; t++) {
            taken[t] = Source::read(&workspace[place + t][threadIdx.x]);
        }
        use(taken, [&] {
            if (i + loads * step < packs) {
#pragma unroll
                for (int t = 0; t < TOGETHER; t++) {
                    start_copy(&workspace[place + t][threadIdx.x], source.at(i + (loads + t) * step));
                }
            }
            close_group();
        });
    }
}

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

template <typename Source, int EXPONENT>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    pass_kernel(Source source, int64_t packs, int chunks, outcome out)
{
    using T = typename Source::arithmetic;
    constexpr int width = Source::width,
                  together = width < chains ? chains / width : 1; /* packs with a value per chain */
    T chain[chains] = {};
    uint32_t bits = 0;

    stream<together>(source, packs, [&](const auto &taken, auto go_on) {
        T value[together * width];

#pragma unroll
        for (int t = 0; t < together; t++) {
            T some[width];

            source.decode(taken[t], some);
#pragma unroll
            for (int k = 0; k < width; k++) {
                value[t * width + k] = some[k];
            }
        }
        go_on();
        use<EXPONENT>(value, chunks, chain, bits);
    });
    leave(chain, bits, out);
}

/* The same loads without decoding. */
__global__ void __launch_bounds__(block_threads, resident_blocks)
    raw_kernel(const uint4 *data, int64_t packs, outcome out)
{
    const float chain[chains] = {};
    uint32_t bits = 0;

    stream<1>(raw_source{data}, packs, [&](const auto &taken, auto go_on) {
        bits ^= taken[0].x ^ taken[0].y ^ taken[0].z ^ taken[0].w;
        go_on();
    });
    leave(chain, bits, out);
}

/* ---- work in registers ---- */

struct decode_patterns {
    uint32_t mask, word[BENCH_ROOFLINE_PATTERNS];
};

template <typename Storage, bool FMA>
__global__ void __launch_bounds__(block_threads) decode_kernel(decode_patterns by, int rounds, outcome out)
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
__global__ void __launch_bounds__(block_threads) peak_kernel(int chunks, outcome out)
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
