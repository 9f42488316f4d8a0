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
constexpr int loads_in_flight = 8;

/* Every thread keeps eight 16-byte loads in flight; the sums are kept so that nothing is optimised away. */
__global__ void __launch_bounds__(block_threads) read_kernel(const double2 *source, size_t n, double *sums)
{
    size_t step = static_cast<size_t>(gridDim.x) * block_threads;
    size_t i = static_cast<size_t>(blockIdx.x) * block_threads + threadIdx.x;
    double sum = 0.0;

    for (; i + (loads_in_flight - 1) * step < n; i += loads_in_flight * step) {
        double2 value[loads_in_flight];

#pragma unroll
        for (int k = 0; k < loads_in_flight; k++) {
            value[k] = __ldcs(source + i + k * step);
        }
#pragma unroll
        for (int k = 0; k < loads_in_flight; k++) {
            sum += value[k].x + value[k].y;
        }
    }
    for (; i < n; i += step) {
        sum += source[i].x + source[i].y;
    }
    sums[static_cast<size_t>(blockIdx.x) * block_threads + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(block_threads) copy_kernel(const double2 *source, size_t n, double2 *destination)
{
    size_t step = static_cast<size_t>(gridDim.x) * block_threads;
    size_t i = static_cast<size_t>(blockIdx.x) * block_threads + threadIdx.x;

    for (; i + 3 * step < n; i += 4 * step) {
        double2 value[4];

#pragma unroll
        for (int k = 0; k < 4; k++) {
            value[k] = __ldcs(source + i + k * step);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            __stcs(destination + i + k * step, value[k]);
        }
    }
    for (; i < n; i += step) {
        destination[i] = source[i];
    }
}

struct bandwidth_pass {
    cudaStream_t stream;
    const double2 *source;
    double2 *destination;
    double *sums;
    size_t n;
    int blocks;
};

tess_status enqueue_read(void *user, int)
{
    const bandwidth_pass *p = static_cast<bandwidth_pass *>(user);

    read_kernel<<<p->blocks, block_threads, 0, p->stream>>>(p->source, p->n, p->sums);
    return cudaGetLastError() == cudaSuccess ? TESS_SUCCESS : TESS_DEVICE;
}

tess_status enqueue_copy(void *user, int)
{
    const bandwidth_pass *p = static_cast<bandwidth_pass *>(user);

    copy_kernel<<<p->blocks, block_threads, 0, p->stream>>>(p->source, p->n, p->destination);
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
    out->read = best_rate(&pass, enqueue_read, static_cast<double>(bytes), properties.multiProcessorCount);
    out->copy = best_rate(&pass, enqueue_copy, 2.0 * static_cast<double>(bytes), properties.multiProcessorCount);
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
    json_object_set_new(root, "multiprocessors", json_integer(properties.multiProcessorCount));
    json_object_set_new(root, "l2_bytes", json_integer(properties.l2CacheSize));
    json_object_set_new(root, "cuda_driver", json_integer(driver));
    json_object_set_new(root, "cuda_runtime", json_integer(runtime));
}
