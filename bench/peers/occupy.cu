/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that does nothing, on half of the multiprocessors: with all of their shared memory, so that no other block
 * fits beside. */
#include "harness/cuda_check.h"
#include "peers/occupy.h"

namespace {

__device__ long long now()
{
    long long time = 0;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

__global__ void occupy(long long nanoseconds)
{
    const long long end = now() + nanoseconds;

    while (now() < end) {
        __nanosleep(1000);
    }
}

} // namespace

struct bench_occupant {
    cudaStream_t stream = nullptr;
    int blocks = 0, shared_bytes = 0;
};

extern "C" bench_occupant *bench_occupant_open(void)
{
    bench_occupant *o = new bench_occupant;
    int device = 0, processors = 0;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    BENCH_CUDA_CHECK(cudaDeviceGetAttribute(&o->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    BENCH_CUDA_CHECK(cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, o->shared_bytes));
    BENCH_CUDA_CHECK(cudaStreamCreateWithFlags(&o->stream, cudaStreamNonBlocking));
    o->blocks = processors / 2;
    return o;
}

extern "C" void bench_occupant_start(bench_occupant *o, double seconds)
{
    occupy<<<o->blocks, 32, static_cast<size_t>(o->shared_bytes), o->stream>>>(static_cast<long long>(1e9 * seconds));
    BENCH_CUDA_CHECK(cudaGetLastError());
}

extern "C" void bench_occupant_close(bench_occupant *o)
{
    if (!o) { return; }
    BENCH_CUDA_CHECK(cudaStreamSynchronize(o->stream));
    cudaStreamDestroy(o->stream);
    delete o;
}
