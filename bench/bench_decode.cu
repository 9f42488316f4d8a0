/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to decode packs on the device (TESS_DECODE_STRATEGY): one sum per thread over an array larger than the cache, 16 bytes
 * a load. Alone: nvcc -std=c++17 -O3 -arch=sm_90 -Iinclude bench/bench_decode.cu && ./a.out. Goes with the ways not chosen.
 */
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include <tessera/storage.cuh>

static const int64_t bytes = INT64_C(4) << 30;
static const int block = 256, grid = 132 * 8, repeats = 10, unroll = 4;

template <typename Storage, int Strategy>
__global__ void sum_all(const Storage *from, int64_t packs, double *out)
{
    constexpr int width = tess::full_pack<Storage>::count;
    int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, me = i;
    double sum[4] = {};

    for (; i < packs; i += threads * unroll) {
        tess::full_pack<Storage> some[unroll];

#pragma unroll
        for (int u = 0; u < unroll; u++) { /* packs is a multiple of threads * unroll */
            some[u] = tess::load_pack<width>(from + (i + u * threads) * width);
        }
#pragma unroll
        for (int u = 0; u < unroll; u++) {
            double values[width];

            tess::decode_pack<double, Strategy>(some[u], values);
#pragma unroll
            for (int k = 0; k < width; k++) {
                sum[k % 4] += values[k];
            }
        }
    }
    out[me] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Codes of 0.25 to 3.5, so that sums are exact or nearly and no code is special. */
template <typename Storage>
__global__ void fill(Storage *to, int64_t n)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    for (; i < n; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
        to[i] = tess::encode<Storage>(static_cast<double>(i * 7 % 14 + 1) * 0.25 * (i % 3 ? 1.0 : -1.0));
    }
}

template <typename Storage, int Strategy>
static std::vector<double> measure(const char *name, const Storage *from, double *out)
{
    const int64_t threads = static_cast<int64_t>(grid) * block;
    const int64_t packs = bytes / 16 / (threads * unroll) * (threads * unroll);
    std::vector<double> sums(static_cast<size_t>(threads));
    cudaEvent_t start, end;
    float ms = 0.0F;

    cudaEventCreate(&start);
    cudaEventCreate(&end);
    sum_all<Storage, Strategy><<<grid, block>>>(from, packs, out);
    cudaEventRecord(start);
    for (int r = 0; r < repeats; r++) {
        sum_all<Storage, Strategy><<<grid, block>>>(from, packs, out);
    }
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, start, end);
    cudaMemcpy(sums.data(), out, sums.size() * sizeof(double), cudaMemcpyDeviceToHost);
    std::printf("%s strategy %d: %7.1f GB/s, %7.1f G values/s (%s)\n", name, Strategy,
                static_cast<double>(packs) * 16.0 * repeats / ms / 1e6,
                static_cast<double>(packs) * tess::full_pack<Storage>::count * repeats / ms / 1e6,
                cudaGetErrorString(cudaGetLastError()));
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return sums;
}

template <typename Storage>
static bool compare(const char *name, void *memory, double *out)
{
    Storage *from = static_cast<Storage *>(memory);

    fill<<<grid, block>>>(from, bytes / static_cast<int64_t>(sizeof(Storage)));
    std::vector<double> sums = measure<Storage, 0>(name, from, out);
    bool same = measure<Storage, 1>(name, from, out) == sums;
    same = measure<Storage, 2>(name, from, out) == sums && same;
    same = measure<Storage, 3>(name, from, out) == sums && same;
    if (!same) { std::printf("%s: the sums DIFFER\n", name); }
    return same;
}

int main()
{
    void *memory = nullptr;
    double *out = nullptr;
    bool same = true;

    if (cudaMalloc(&memory, static_cast<size_t>(bytes)) != cudaSuccess ||
        cudaMalloc(&out, static_cast<size_t>(grid) * block * sizeof(double)) != cudaSuccess) {
        std::printf("no GPU, or too little memory\n");
        return 77;
    }
    fill<<<grid, block>>>(static_cast<double *>(memory), bytes / 8);
    measure<double, 0>("fp64", static_cast<double *>(memory), out);
    same = compare<tess::bf16>("bf16", memory, out) && same;
    same = compare<tess::fp16>("fp16", memory, out) && same;
    same = compare<tess::e4m3>("e4m3", memory, out) && same;
    same = compare<tess::e5m2>("e5m2", memory, out) && same;
    cudaFree(memory);
    cudaFree(out);
    return same ? 0 : 1;
}
