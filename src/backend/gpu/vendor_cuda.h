/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA under the names that GPU sources use. */
#ifndef TESS_BACKEND_GPU_VENDOR_CUDA_H
#define TESS_BACKEND_GPU_VENDOR_CUDA_H

#include <cuda_runtime.h>

/* GPU(Malloc) is cudaMalloc or hipMalloc; the two runtimes agree on the rest of the names used here. */
#define GPU(name) cuda##name

typedef cudaDeviceProp gpu_properties;

#define GPU_NAME "cuda"
#define GPU_WAVE 32 /* threads of a warp */

/* At most `threads` threads a block, and registers for `blocks` blocks on a multiprocessor. */
#define GPU_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)

#define GPU_SHUFFLE_DOWN(value, distance, width) __shfl_down_sync(0xffffffffU, value, distance, width)
#define GPU_LOAD_L2(pointer) __ldcg(pointer)

/* A loop on the device through a WHILE node, from CUDA 12.4 on. */
#define GPU_HAS_WHILE_NODE (CUDART_VERSION >= 12040)

#if CUDART_VERSION >= 13000
#define GPU_GRAPH_ADD_NODE(node, graph, parameters) cudaGraphAddNode(node, graph, NULL, NULL, 0, parameters)
#else
#define GPU_GRAPH_ADD_NODE(node, graph, parameters) cudaGraphAddNode(node, graph, NULL, 0, parameters)
#endif

/*
 * Overlapped launches (Hopper on): a kernel may start while the one before it drains, reads what no kernel of the loop
 * writes, and then waits for the other's results.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GPU_LET_NEXT_START() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define GPU_WAIT_FOR_PREVIOUS() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define GPU_LET_NEXT_START() ((void)0)
#define GPU_WAIT_FOR_PREVIOUS() ((void)0)
#endif
#define GPU_OVERLAP_CAPABILITY 9

/* Loads of what is read once per kernel and never written by it: they leave the first-level cache to others. */
__device__ static inline int32_t gpu_load_once(const int32_t *pointer)
{
    int32_t value;

    asm("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(value) : "l"(pointer));
    return value;
}

__device__ static inline double gpu_load_once(const double *pointer)
{
    double value;

    asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(value) : "l"(pointer));
    return value;
}

__device__ static inline float gpu_load_once(const float *pointer)
{
    float value;

    asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(value) : "l"(pointer));
    return value;
}

/* Fetch-and-add that publishes the thread's earlier writes and sees those of the threads before it. */
__device__ static inline unsigned gpu_count_up(unsigned *counter)
{
    unsigned before;

#if __CUDA_ARCH__ >= 700 || !defined(__CUDA_ARCH__)
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
#else
    __threadfence();
    before = atomicAdd(counter, 1U);
    __threadfence();
#endif
    return before;
}

template <typename... PARAMETERS, typename... ARGUMENTS>
static inline void gpu_launch_overlapped(void (*kernel)(PARAMETERS...), unsigned grid, unsigned block, size_t shared,
                                         cudaStream_t stream, const ARGUMENTS &...arguments)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};

    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    (void)cudaLaunchKernelEx(&config, kernel, PARAMETERS(arguments)...); /* cudaGetLastError tells */
}

#define GPU_HOST_ALLOC_MAPPED(pointer, bytes) cudaHostAlloc(pointer, bytes, cudaHostAllocMapped)
#define GPU_HOST_FREE(pointer) cudaFreeHost(pointer)
#define GPU_GRAPH_INSTANTIATE(executable, graph) cudaGraphInstantiate(executable, graph, 0)

#endif
