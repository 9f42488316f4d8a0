/* SPDX-License-Identifier: Apache-2.0 */
/* Device events, measured bandwidth and the device's description. */
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "harness/cuda_check.h"
#include "harness/device.h"

extern "C" void bench_device_wake(void)
{
    BENCH_CUDA_CHECK(cudaFree(nullptr));
}

/* ---- timing ---- */

extern "C" tess_status bench_device_time(void *stream, int count, int calls, bench_call call, void *user,
                                         double *samples)
{
    cudaStream_t s = static_cast<cudaStream_t>(stream);
    std::vector<cudaEvent_t> events(static_cast<size_t>(count) + 1);
    tess_status status = TESS_SUCCESS;
    int k = 0;

    for (cudaEvent_t &event : events) {
        BENCH_CUDA_CHECK(cudaEventCreate(&event));
    }
    BENCH_CUDA_CHECK(cudaEventRecord(events[0], s));
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        for (int c = 0; c < calls && status == TESS_SUCCESS; c++) {
            status = call(user, k++);
        }
        BENCH_CUDA_CHECK(cudaEventRecord(events[static_cast<size_t>(i) + 1], s));
    }
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s));
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        float milliseconds = 0.0f;

        BENCH_CUDA_CHECK(
            cudaEventElapsedTime(&milliseconds, events[static_cast<size_t>(i)], events[static_cast<size_t>(i) + 1]));
        samples[i] = 1e-3 * milliseconds;
    }
    for (cudaEvent_t event : events) {
        BENCH_CUDA_CHECK(cudaEventDestroy(event));
    }
    return status;
}

/* ---- bandwidth ---- */

namespace {

constexpr int block_threads = 512;
/* Each thread keeps `loads` 16-byte loads in flight. It writes what it has read, or keeps its sum, so that nothing is
 * optimised away. */
template <int loads, bool copies>
__global__ void __launch_bounds__(block_threads)
    pass_kernel(const double2 *source, size_t n, double2 *destination, double *sums)
{
    const size_t step = static_cast<size_t>(gridDim.x) * block_threads;
    const size_t thread = static_cast<size_t>(blockIdx.x) * block_threads + threadIdx.x;
    size_t i = thread;
    double sum = 0.0;

    for (; i + (loads - 1) * step < n; i += loads * step) {
        double2 value[loads];

#pragma unroll
        for (int k = 0; k < loads; k++) {
            value[k] = __ldcs(source + i + k * step);
        }
#pragma unroll
        for (int k = 0; k < loads; k++) {
            if constexpr (copies) { __stcs(destination + i + k * step, value[k]); }
            if constexpr (!copies) { sum += value[k].x + value[k].y; }
        }
    }
    for (; i < n; i += step) {
        if constexpr (copies) { destination[i] = source[i]; }
        if constexpr (!copies) { sum += source[i].x + source[i].y; }
    }
    if constexpr (!copies) { sums[thread] = sum; }
}

struct bandwidth_pass {
    cudaStream_t stream;
    const double2 *source;
    double2 *destination;
    double *sums;
    size_t n;
    int blocks;
};

template <int loads, bool copies>
tess_status enqueue_pass(void *user, int)
{
    const bandwidth_pass *p = static_cast<bandwidth_pass *>(user);

    pass_kernel<loads, copies><<<p->blocks, block_threads, 0, p->stream>>>(p->source, p->n, p->destination, p->sums);
    return cudaGetLastError() == cudaSuccess ? TESS_SUCCESS : TESS_DEVICE;
}

/* Best over a few grid sizes, each by the median of its samples. */
double best_rate(bandwidth_pass *pass, bench_call call, double bytes, int multiprocessors)
{
    constexpr int samples = 20;
    double seconds[samples], best = 0.0;

    for (int per_multiprocessor : {2, 4, 8, 16}) {
        pass->blocks = per_multiprocessor * multiprocessors;
        if (call(pass, 0) != TESS_SUCCESS ||
            bench_device_time(pass->stream, samples, 1, call, pass, seconds) != TESS_SUCCESS) {
            bench_die("a bandwidth kernel failed");
        }
        best = std::max(best, bytes / bench_time_of_samples(seconds, samples, 1).median);
    }
    return best;
}

} // namespace

extern "C" void bench_device_ceiling(void *stream, bool quick, bench_ceiling *out)
{
    size_t bytes = quick ? size_t(512) << 20 : size_t(4) << 30, free_bytes = 0, total_bytes = 0;
    cudaDeviceProp properties;
    int device = 0;
    void *source = nullptr, *destination = nullptr, *sums = nullptr;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    BENCH_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    while (bytes > free_bytes / 3) {
        bytes /= 2;
    }
    BENCH_CUDA_CHECK(cudaMalloc(&source, bytes));
    BENCH_CUDA_CHECK(cudaMalloc(&destination, bytes));
    BENCH_CUDA_CHECK(cudaMalloc(&sums, sizeof(double) * 16 * properties.multiProcessorCount * block_threads));
    BENCH_CUDA_CHECK(cudaMemset(source, 0, bytes));
    BENCH_CUDA_CHECK(cudaMemset(destination, 0, bytes));
    bandwidth_pass pass = {
        static_cast<cudaStream_t>(stream), static_cast<double2 *>(source), static_cast<double2 *>(destination),
        static_cast<double *>(sums),       bytes / sizeof(double2),        0};
    out->read = best_rate(&pass, enqueue_pass<8, false>, static_cast<double>(bytes), properties.multiProcessorCount);
    out->copy =
        best_rate(&pass, enqueue_pass<4, true>, 2.0 * static_cast<double>(bytes), properties.multiProcessorCount);
    BENCH_CUDA_CHECK(cudaFree(source));
    BENCH_CUDA_CHECK(cudaFree(destination));
    BENCH_CUDA_CHECK(cudaFree(sums));
}

extern "C" int64_t bench_device_cache_bytes(void)
{
    int device = 0, bytes = 0;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
    return bytes;
}

extern "C" void bench_device_describe(json_t *root)
{
    int device = 0, driver = 0, runtime = 0;
    cudaDeviceProp properties;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    BENCH_CUDA_CHECK(cudaDriverGetVersion(&driver));
    BENCH_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    bench_set(root, "{s:i, s:i, s:i, s:i}", "multiprocessors", properties.multiProcessorCount, "l2_bytes",
              properties.l2CacheSize, "cuda_driver", driver, "cuda_runtime", runtime);
}
