/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU side of the rooflines: the array, launches, and the comparison of what threads leave with what they must. */
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "harness/cuda_check.h"
#include "papers/roofline.h"
#include "papers/roofline_kernels.cuh"

/* ---- the array ---- */

struct bench_roofline_gpu {
    cudaStream_t stream;
    void *data;
    uint32_t *result;
    int blocks;
    bench_roofline_shape shape;
    int stored; /* the precision that the array holds; -1: none yet */
    bool checking;
};

extern "C" bench_roofline_gpu *bench_roofline_gpu_create(void *stream, int64_t bytes, int blocks)
{
    bench_roofline_gpu *gpu = new bench_roofline_gpu();
    int device = 0, multiprocessors = 0;
    size_t free_bytes = 0, total_bytes = 0;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    BENCH_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    gpu->stream = static_cast<cudaStream_t>(stream);
    gpu->blocks = multiprocessors * (blocks > 0 ? blocks : default_blocks);
    gpu->stored = -1;
    gpu->shape.threads = static_cast<int64_t>(gpu->blocks) * block_threads;
    int64_t round = gpu->shape.threads * loads * 16; /* bytes; a multiple of it leaves no tail */
    bytes = std::min<int64_t>(bytes, static_cast<int64_t>(free_bytes / 2));
    gpu->shape.bytes = std::max<int64_t>(bytes / round, 1) * round;
    BENCH_CUDA_CHECK(cudaMalloc(&gpu->data, static_cast<size_t>(gpu->shape.bytes)));
    BENCH_CUDA_CHECK(cudaMalloc(&gpu->result, static_cast<size_t>(gpu->shape.threads) * sizeof *gpu->result));
    return gpu;
}

extern "C" void bench_roofline_gpu_destroy(bench_roofline_gpu *gpu)
{
    if (!gpu) { return; }
    BENCH_CUDA_CHECK(cudaFree(gpu->data));
    BENCH_CUDA_CHECK(cudaFree(gpu->result));
    delete gpu;
}

extern "C" bench_roofline_shape bench_roofline_gpu_shape(const bench_roofline_gpu *gpu)
{
    return gpu->shape;
}

template <typename Storage>
static void fill(const bench_roofline_gpu *gpu)
{
    fill_kernel<<<gpu->blocks, block_threads, 0, gpu->stream>>>(
        static_cast<Storage *>(gpu->data), gpu->shape.bytes / static_cast<int64_t>(sizeof(Storage)));
}

extern "C" void bench_roofline_gpu_fill(bench_roofline_gpu *gpu, tess_precision storage)
{
    if (gpu->stored == static_cast<int>(storage)) { return; }
    switch (storage) {
    case TESS_PRECISION_FP64: fill<double>(gpu); break;
    case TESS_PRECISION_FP32: fill<float>(gpu); break;
    case TESS_PRECISION_BF16: fill<tess::bf16>(gpu); break;
    case TESS_PRECISION_FP16: fill<tess::fp16>(gpu); break;
    case TESS_PRECISION_E4M3: fill<tess::e4m3>(gpu); break;
    case TESS_PRECISION_E5M2: fill<tess::e5m2>(gpu); break;
    }
    BENCH_CUDA_CHECK(cudaGetLastError());
    BENCH_CUDA_CHECK(cudaStreamSynchronize(gpu->stream));
    gpu->stored = static_cast<int>(storage);
}

/* ---- launches ---- */

/* Every thread's result is stored, or those of threads whose bits are one in 2^32: nobody reads them. */
static outcome outcome_of(const bench_roofline_gpu *gpu)
{
    return gpu->checking ? outcome{gpu->result, 0U, 0U} : outcome{gpu->result, ~0U, 0x7ff5a5a5U};
}

template <typename Source, int EXPONENT>
static void launch(const bench_roofline_gpu *gpu, int chunks)
{
    int64_t packs = gpu->shape.bytes / 16;

    pass_kernel<Source, EXPONENT><<<gpu->blocks, block_threads, 0, gpu->stream>>>(
        Source(gpu->data, packs * Source::width), packs, chunks, outcome_of(gpu));
}

template <typename Source>
static void launch_at(const bench_roofline_gpu *gpu, int exponent)
{
    switch (exponent) {
    case -2: launch<Source, -2>(gpu, 1); break;
    case -1: launch<Source, -1>(gpu, 1); break;
    case 0: launch<Source, 0>(gpu, 1); break;
    case 1: launch<Source, 1>(gpu, 1); break;
    case 2: launch<Source, 2>(gpu, 1); break;
    case 3: launch<Source, 3>(gpu, 1); break;
    case 4: launch<Source, 4>(gpu, 1); break;
    default: launch<Source, chunk_exponent>(gpu, 1 << (exponent - chunk_exponent)); break;
    }
}

static void launch_pass(const bench_roofline_gpu *gpu, bench_roofline_config config, int exponent)
{
    switch (config) {
    case BENCH_ROOFLINE_PLAIN_FP64: launch_at<plain_source<double>>(gpu, exponent); break;
    case BENCH_ROOFLINE_ACCESSOR_FP64: launch_at<accessor_source<double, double>>(gpu, exponent); break;
    case BENCH_ROOFLINE_PLAIN_FP32: launch_at<plain_source<float>>(gpu, exponent); break;
    case BENCH_ROOFLINE_ACCESSOR_FP32: launch_at<accessor_source<float, float>>(gpu, exponent); break;
    case BENCH_ROOFLINE_ACCESSOR_FP64_FP32: launch_at<accessor_source<double, float>>(gpu, exponent); break;
    case BENCH_ROOFLINE_ACCESSOR_FP64_FP16: launch_at<accessor_source<double, tess::fp16>>(gpu, exponent); break;
    case BENCH_ROOFLINE_ACCESSOR_FP64_BF16: launch_at<accessor_source<double, tess::bf16>>(gpu, exponent); break;
    case BENCH_ROOFLINE_ACCESSOR_FP64_E4M3: launch_at<accessor_source<double, tess::e4m3>>(gpu, exponent); break;
    case BENCH_ROOFLINE_ACCESSOR_FP64_E5M2: launch_at<accessor_source<double, tess::e5m2>>(gpu, exponent); break;
    case BENCH_ROOFLINE_CONFIGS: break;
    }
}

static decode_patterns patterns_of(tess_precision storage)
{
    decode_patterns by;

    by.mask = bench_roofline_pattern_mask(storage);
    for (int p = 0; p < BENCH_ROOFLINE_PATTERNS; p++) {
        by.word[p] = bench_roofline_pattern(storage, p);
    }
    return by;
}

template <typename Storage>
static void launch_decode(const bench_roofline_gpu *gpu, bool steps)
{
    decode_patterns by = patterns_of(tess::storage_traits<Storage>::precision);

    auto kernel = steps ? decode_kernel<Storage, true> : decode_kernel<Storage, false>;

    kernel<<<gpu->blocks, block_threads, 0, gpu->stream>>>(by, BENCH_ROOFLINE_DECODE_ROUNDS, outcome_of(gpu));
}

static void launch_decode_of(const bench_roofline_gpu *gpu, tess_precision storage, bool steps)
{
    switch (storage) {
    case TESS_PRECISION_FP64: bench_die("FP64 storage is not decoded");
    case TESS_PRECISION_FP32: launch_decode<float>(gpu, steps); break;
    case TESS_PRECISION_BF16: launch_decode<tess::bf16>(gpu, steps); break;
    case TESS_PRECISION_FP16: launch_decode<tess::fp16>(gpu, steps); break;
    case TESS_PRECISION_E4M3: launch_decode<tess::e4m3>(gpu, steps); break;
    case TESS_PRECISION_E5M2: launch_decode<tess::e5m2>(gpu, steps); break;
    }
}

static void launch_peak(const bench_roofline_gpu *gpu, tess_arithmetic arithmetic)
{
    auto kernel = arithmetic == TESS_ARITHMETIC_FP32 ? peak_kernel<float> : peak_kernel<double>;

    kernel<<<gpu->blocks, block_threads, 0, gpu->stream>>>(BENCH_ROOFLINE_PEAK_STEPS / chunk, outcome_of(gpu));
}

extern "C" tess_status bench_roofline_gpu_call(void *user, int)
{
    const bench_roofline_launch *l = static_cast<const bench_roofline_launch *>(user);
    const bench_roofline_info *info = &bench_roofline_infos[l->config];

    switch (l->work) {
    case BENCH_ROOFLINE_PASS: launch_pass(l->gpu, l->config, l->exponent); break;
    case BENCH_ROOFLINE_RAW:
        raw_kernel<<<l->gpu->blocks, block_threads, 0, l->gpu->stream>>>(static_cast<const uint4 *>(l->gpu->data),
                                                                         l->gpu->shape.bytes / 16, outcome_of(l->gpu));
        break;
    case BENCH_ROOFLINE_DECODE_XOR: launch_decode_of(l->gpu, info->storage, false); break;
    case BENCH_ROOFLINE_DECODE_FMA: launch_decode_of(l->gpu, info->storage, true); break;
    case BENCH_ROOFLINE_PEAK: launch_peak(l->gpu, info->arithmetic); break;
    }
    return cudaGetLastError() == cudaSuccess ? TESS_SUCCESS : TESS_DEVICE;
}

extern "C" double bench_roofline_gpu_amount(const bench_roofline_launch *l)
{
    const bench_roofline_shape *shape = &l->gpu->shape;
    double bytes = static_cast<double>(tess_precision_bytes(bench_roofline_infos[l->config].storage));
    double threads = static_cast<double>(shape->threads);

    switch (l->work) {
    case BENCH_ROOFLINE_PASS: return static_cast<double>(shape->bytes) / bytes;
    case BENCH_ROOFLINE_RAW: return static_cast<double>(shape->bytes);
    case BENCH_ROOFLINE_DECODE_XOR:
    case BENCH_ROOFLINE_DECODE_FMA:
        return threads * BENCH_ROOFLINE_DECODE_ROUNDS * BENCH_ROOFLINE_PATTERNS * 16.0 / bytes;
    case BENCH_ROOFLINE_PEAK: return threads * BENCH_ROOFLINE_PEAK_STEPS * chains * 2.0;
    }
    return 0.0;
}

/* ---- checks ---- */

namespace {

/* As many threads, spread over the grid with its ends, as the host recomputes in about 20 ms. */
int64_t threads_to_compare(const bench_roofline_launch *l)
{
    double steps = l->work == BENCH_ROOFLINE_PASS ? std::max(8.0, std::ldexp(0.5, l->exponent)) : 8.0;
    double work = bench_roofline_gpu_amount(l) / static_cast<double>(l->gpu->shape.threads) * steps;

    return std::min<int64_t>(std::max<int64_t>(static_cast<int64_t>(4e6 / work), 3), 64);
}

} // namespace

extern "C" int bench_roofline_gpu_check(const bench_roofline_launch *l, int *compared)
{
    bench_roofline_gpu *gpu = l->gpu;
    std::vector<uint32_t> result(static_cast<size_t>(gpu->shape.threads));
    size_t bytes = result.size() * sizeof result[0];
    int64_t count = threads_to_compare(l), wrong = 0;
    bench_roofline_launch again = *l;

    BENCH_CUDA_CHECK(cudaMemsetAsync(gpu->result, 0xa5, bytes, gpu->stream));
    gpu->checking = true;
    if (bench_roofline_gpu_call(&again, 0) != TESS_SUCCESS) { bench_die("a roofline kernel failed"); }
    gpu->checking = false;
    BENCH_CUDA_CHECK(cudaMemcpyAsync(result.data(), gpu->result, bytes, cudaMemcpyDeviceToHost, gpu->stream));
    BENCH_CUDA_CHECK(cudaStreamSynchronize(gpu->stream));
    for (int64_t k = 0; k < count; k++) {
        int64_t thread = k * (gpu->shape.threads - 1) / (count - 1);

        wrong += result[static_cast<size_t>(thread)] != bench_roofline_expected(l, &gpu->shape, thread);
    }
    *compared = static_cast<int>(count);
    return static_cast<int>(wrong);
}

extern "C" void bench_roofline_gpu_theory(double *bandwidth, double *fp64, double *fp32)
{
    int device = 0, major = 0, minor = 0, kilohertz = 0, memory_kilohertz = 0, bus_bits = 0, multiprocessors = 0;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&memory_kilohertz, cudaDevAttrMemoryClockRate, device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    /* Fused steps per multiprocessor and clock (CUDA C++ Programming Guide, arithmetic instructions). */
    bool known = major == 7 || major == 8 || major == 9;
    int per_clock_64 = major == 9 ? 64 : minor == 0 || major == 7 ? 32 : 2;
    int per_clock_32 = major == 9 || (major == 8 && minor > 0) ? 128 : 64;
    double clocks = 1e3 * kilohertz * multiprocessors;

    *bandwidth = 2e3 * memory_kilohertz * bus_bits / 8.0; /* two transfers per clock */
    *fp64 = known ? 2.0 * clocks * per_clock_64 : 0.0;
    *fp32 = known ? 2.0 * clocks * per_clock_32 : 0.0;
}
