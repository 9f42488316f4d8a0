/* SPDX-License-Identifier: Apache-2.0 */
/* The reference class in kernels: thread t has values t, t + threads, ..; eight loads are on their way at a time. */
#include <algorithm>
#include <vector>

#include "harness/cuda_check.h"
#include "papers/roofline_reference.cuh"

namespace {

constexpr int reference_threads = 256, reference_blocks = 8, reference_ahead = 8;

int grid_blocks()
{
    int device = 0, multiprocessors = 0;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    return multiprocessors * reference_blocks;
}

template <int STEPS, typename Access>
__global__ void __launch_bounds__(reference_threads) read_kernel(Access x, int64_t n, uint64_t *out)
{
    using T = typename Access::arithmetic;
    const int64_t step = static_cast<int64_t>(gridDim.x) * reference_threads;
    const int64_t own = static_cast<int64_t>(blockIdx.x) * reference_threads + threadIdx.x;
    uint64_t bits = 0;

    for (int64_t i = own; i < n; i += reference_ahead * step) {
        T value[reference_ahead];

#pragma unroll
        for (int u = 0; u < reference_ahead; u++) {
            value[u] = x.get(i + u * step);
        }
#pragma unroll
        for (int u = 0; u < reference_ahead; u++) {
            bits ^= reference_use<STEPS>(value[u]);
        }
    }
    out[own] = bits;
}

template <typename Access>
__global__ void __launch_bounds__(reference_threads) update_kernel(Access x, int64_t n)
{
    using T = typename Access::arithmetic;
    const int64_t step = static_cast<int64_t>(gridDim.x) * reference_threads;

#pragma unroll 8
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * reference_threads + threadIdx.x; i < n; i += step) {
        x.update(i, static_cast<T>(0.5), static_cast<T>(0.25));
    }
}

template <typename Storage>
__global__ void fill_reference_kernel(Storage *data, int64_t n)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        data[i] = reference_value<Storage>(i);
    }
}

/* The words of the array, of which each counts with its place. */
__global__ void fold_kernel(const uint64_t *data, int64_t words, uint64_t *out)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const int64_t own = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t bits = 0;

    for (int64_t i = own; i < words; i += step) {
        bits ^= data[i] * (2 * static_cast<uint64_t>(i) + 1);
    }
    out[own] = bits;
}

template <typename Access>
void launch_reference(bench_reference_loop *loop)
{
    const Access x(loop->data, loop->n);
    const unsigned blocks = static_cast<unsigned>(grid_blocks());
    const cudaStream_t stream = static_cast<cudaStream_t>(loop->stream);

    switch (loop->work) {
    case BENCH_REFERENCE_SUM: read_kernel<0><<<blocks, reference_threads, 0, stream>>>(x, loop->n, loop->bits); break;
    case BENCH_REFERENCE_STEPS:
        read_kernel<16><<<blocks, reference_threads, 0, stream>>>(x, loop->n, loop->bits);
        break;
    default: update_kernel<<<blocks, reference_threads, 0, stream>>>(x, loop->n); break;
    }
}

} // namespace

extern "C" tess_status bench_reference_on_gpu(void *user, int)
{
    bench_reference_loop *loop = static_cast<bench_reference_loop *>(user);

    with_pair(loop->pair, [&](auto arithmetic, auto storage) {
        using A = decltype(arithmetic);
        using S = decltype(storage);

        loop->by_reference ? launch_reference<by_reference<A, S>>(loop) : launch_reference<by_hand<A, S>>(loop);
    });
    return cudaGetLastError() == cudaSuccess ? TESS_SUCCESS : TESS_DEVICE;
}

extern "C" void bench_reference_fill_gpu(const bench_reference_loop *loop)
{
    with_pair(loop->pair, [&](auto, auto storage) {
        fill_reference_kernel<<<static_cast<unsigned>(grid_blocks()), reference_threads, 0,
                                static_cast<cudaStream_t>(loop->stream)>>>(static_cast<decltype(storage) *>(loop->data),
                                                                           loop->n);
    });
    BENCH_CUDA_CHECK(cudaGetLastError());
}

extern "C" uint64_t bench_reference_fold_gpu(const bench_reference_loop *loop)
{
    const size_t threads = static_cast<size_t>(grid_blocks()) * reference_threads;
    const cudaStream_t stream = static_cast<cudaStream_t>(loop->stream);
    std::vector<uint64_t> host(threads);
    uint64_t bits = 0;

    if (loop->work == BENCH_REFERENCE_UPDATE) {
        int64_t words = 0;

        with_pair(loop->pair, [&](auto, auto storage) { words = loop->n * static_cast<int64_t>(sizeof storage) / 8; });
        fold_kernel<<<static_cast<unsigned>(grid_blocks()), reference_threads, 0, stream>>>(
            static_cast<const uint64_t *>(loop->data), words, loop->bits);
    }
    BENCH_CUDA_CHECK(
        cudaMemcpyAsync(host.data(), loop->bits, threads * sizeof host[0], cudaMemcpyDeviceToHost, stream));
    BENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
    for (size_t t = 0; t < threads; t++) {
        bits ^= host[t] * (2 * t + 1);
    }
    return bits;
}

extern "C" void bench_reference_open_gpu(bench_reference_loop *loop, int64_t *bytes)
{
    const int64_t threads = static_cast<int64_t>(grid_blocks()) * reference_threads;
    const int64_t round = threads * reference_ahead * 8;

    *bytes = std::max<int64_t>(*bytes / round, 1) * round;
    BENCH_CUDA_CHECK(cudaMalloc(&loop->data, static_cast<size_t>(*bytes)));
    BENCH_CUDA_CHECK(cudaMalloc(&loop->bits, static_cast<size_t>(threads) * sizeof *loop->bits));
}

extern "C" void bench_reference_close_gpu(bench_reference_loop *loop)
{
    BENCH_CUDA_CHECK(cudaFree(loop->data));
    BENCH_CUDA_CHECK(cudaFree(loop->bits));
}
