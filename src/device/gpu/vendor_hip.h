/* SPDX-License-Identifier: Apache-2.0 */
/* HIP under the names that GPU sources use. */
#ifndef TESS_DEVICE_GPU_VENDOR_HIP_H
#define TESS_DEVICE_GPU_VENDOR_HIP_H

#include <string.h>

#include <hip/hip_runtime.h>

#define GPU(name) hip##name

typedef hipDeviceProp_t gpu_properties;
typedef uint64_t gpu_lanes; /* of a ballot */

/* What tells GPUs of a machine apart, in every process: older properties have no UUID. */
#define GPU_ID_BYTES 12
static inline void gpu_id_bytes(const gpu_properties *properties, unsigned char *bytes)
{
    const int address[3] = {properties->pciDomainID, properties->pciBusID, properties->pciDeviceID};

    memcpy(bytes, address, GPU_ID_BYTES);
}

#define GPU_NAME "hip"
#define GPU_NODES "/dev/kfd"
#define GPU_VISIBLE "HIP_VISIBLE_DEVICES"
#define GPU_WAVE 64 /* threads of a wave on CDNA */

/* HIP's second bound counts waves of an execution unit, not blocks; the compiler chooses. */
#define GPU_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads)

/* The device's clock, the same on all multiprocessors: 100 MHz. The compiler's pass for the host knows no such
 * function. */
__device__ static inline int64_t gpu_nanoseconds(void)
{
#if defined(__HIP_DEVICE_COMPILE__)
    return 10 * (int64_t)__builtin_amdgcn_s_memrealtime();
#else
    return 0;
#endif
}
#define GPU_NANOSECONDS() gpu_nanoseconds()

#define GPU_SHUFFLE(value, source, width) __shfl(value, source, width)
#define GPU_SHUFFLE_DOWN(value, distance, width) __shfl_down(value, distance, width)
#define GPU_SHUFFLE_UP(value, distance, width) __shfl_up(value, distance, width)
#define GPU_SHUFFLE_XOR(value, mask) __shfl_xor(value, mask)
#define GPU_BALLOT(predicate) __ballot(predicate)
#define GPU_SYNC_WAVE() (__threadfence_block(), __builtin_amdgcn_wave_barrier())

template <int GROUP>
__device__ static inline int gpu_group_sum(int value)
{
#pragma unroll
    for (int distance = GROUP / 2; distance > 0; distance /= 2) {
        value += __shfl_xor(value, distance);
    }
    return value;
}

template <bool MOST>
__device__ static inline int gpu_wave_extreme(int value)
{
    for (int mask = GPU_WAVE / 2; mask > 0; mask /= 2) {
        const int other = __shfl_xor(value, mask);

        value = (other > value) == MOST ? other : value;
    }
    return value;
}
#define GPU_WAVE_MAX(value) gpu_wave_extreme<true>(value)
#define GPU_WAVE_MIN(value) gpu_wave_extreme<false>(value)
#if !defined(__OPTIMIZE__)
/* Those of AMD's device library have a branch for other architectures, which does not compile unless it is removed. */
__device__ static inline int gpu_count_in_block(int predicate)
{
    __shared__ int found;
    int count;

    if (threadIdx.x == 0) { found = 0; }
    __syncthreads();
    if (predicate) { atomicAdd(&found, 1); }
    __syncthreads();
    count = found;
    __syncthreads(); /* before the next call clears it */
    return count;
}
#define __syncthreads_count(predicate) gpu_count_in_block(predicate)
#define __syncthreads_or(predicate) gpu_count_in_block(predicate)
#endif
/* The same value, but the compiler does not know it: what depends on it is computed again rather than kept in
   registers. */
__device__ static inline uint32_t gpu_unknown(uint32_t value)
{
    asm("" : "+v"(value));
    return value;
}
#define GPU_UNKNOWN(value) gpu_unknown(value)
#define GPU_COUNT_LANES(lanes) __popcll(lanes)
#define GPU_LOAD_L2(pointer) __builtin_nontemporal_load(pointer)

/* HIP has no overlapped launches. */
#define GPU_LET_NEXT_START() ((void)0)
#define GPU_WAIT_FOR_PREVIOUS() ((void)0)
#define GPU_OVERLAP_CAPABILITY 1000

template <typename... PARAMETERS, typename... ARGUMENTS>
static inline void gpu_launch_overlapped(void (*kernel)(PARAMETERS...), unsigned grid, unsigned block, size_t shared,
                                         hipStream_t stream, const ARGUMENTS &...arguments)
{
    kernel<<<grid, block, shared, stream>>>(PARAMETERS(arguments)...);
}

template <typename T>
__device__ static inline T gpu_load_once(const T *pointer)
{
    T value;

    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "size");
    if constexpr (sizeof(T) == 1) {
        uint8_t bits = __builtin_nontemporal_load(reinterpret_cast<const uint8_t *>(pointer));
        memcpy(&value, &bits, sizeof value);
    } else if constexpr (sizeof(T) == 2) {
        uint16_t bits = __builtin_nontemporal_load(reinterpret_cast<const uint16_t *>(pointer));
        memcpy(&value, &bits, sizeof value);
    } else if constexpr (sizeof(T) == 4) {
        uint32_t bits = __builtin_nontemporal_load(reinterpret_cast<const uint32_t *>(pointer));
        memcpy(&value, &bits, sizeof value);
    } else {
        uint64_t bits[sizeof(T) / 8];

        for (unsigned i = 0; i < sizeof(T) / 8; i++) {
            bits[i] = __builtin_nontemporal_load(reinterpret_cast<const uint64_t *>(pointer) + i);
        }
        memcpy(&value, bits, sizeof value);
    }
    return value;
}

template <typename T>
__device__ static inline T gpu_load_streaming(const T *pointer)
{
    return gpu_load_once(pointer);
}

template <typename T>
__device__ static inline void gpu_store_streaming(T *pointer, const T &value)
{
    uint64_t bits[sizeof(T) / 8];

    static_assert(sizeof(T) % 8 == 0, "whole words");
    memcpy(bits, &value, sizeof bits);
    for (unsigned i = 0; i < sizeof(T) / 8; i++) {
        __builtin_nontemporal_store(bits[i], reinterpret_cast<uint64_t *>(pointer) + i);
    }
}

template <typename T>
__device__ static inline void gpu_store_whole(T *pointer, const T &value)
{
    *pointer = value;
}

/* HIP has no asynchronous copies into shared memory. */
#define GPU_HAS_BULK_COPY 0
typedef uint64_t gpu_arrival;

#define GPU_SHARED_PER_MULTIPROCESSOR(properties) ((properties).maxSharedMemoryPerMultiProcessor)
#define GPU_SHARED_PER_BLOCK(properties) ((properties).sharedMemPerBlock)
#define GPU_STATIC_SHARED 2048

__device__ static inline unsigned gpu_count_up(unsigned *counter)
{
    return __hip_atomic_fetch_add(counter, 1U, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}

/* One or two words written by other blocks of a running kernel. Each 8-byte word is whole, and is the newest value in
   device memory. */
template <int N>
__device__ static inline void gpu_peek(const uint64_t *from, uint64_t (&word)[N])
{
    for (int i = 0; i < N; i++) {
        word[i] = __hip_atomic_load(from + i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
}

template <int N>
__device__ static inline void gpu_post(uint64_t *to, const uint64_t (&word)[N])
{
    for (int i = 0; i < N; i++) {
        __hip_atomic_store(to + i, word[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
}

/* A number, after the thread's earlier writes and those that its block made before its last barrier. */
__device__ static inline void gpu_publish(uint64_t *to, uint64_t number)
{
    __hip_atomic_store(to, number, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

/* Of the kernels whose blocks wait for one another, those of whole solves are here, by cooperative launches. They have
   not run on a device, so that a solve takes one only where it is asked for. Blocks of a cluster are not here: the
   functions compile and are never called. */
#define GPU_HAS_RESIDENT_GRIDS 0
#define GPU_HAS_COOPERATIVE_GRIDS 1
#define GPU_TRIES_GRIDS false
#define GPU_CLUSTER_CAPABILITY 1000
#define __grid_constant__ /* a parameter that kernels read in place: CUDA's */
#define hipDevAttrCooperativeLaunch hipDeviceAttributeCooperativeLaunch
#define hipDevAttrComputeCapabilityMajor hipDeviceAttributeComputeCapabilityMajor

__device__ static inline void gpu_cluster_barrier(void)
{
    __syncthreads();
}

__device__ static inline double gpu_cluster_load(const double *mine, unsigned)
{
    return *mine;
}

__device__ static inline void gpu_cluster_store(double *mine, unsigned, double value)
{
    *mine = value;
}

template <typename PARAMETER>
static inline bool gpu_cluster_fits(void (*)(PARAMETER), unsigned, unsigned, size_t)
{
    return false;
}

template <typename PARAMETER>
static inline hipError_t gpu_allow_large_clusters(void (*)(PARAMETER))
{
    return hipErrorNotSupported;
}

/* A cooperative launch, which fails if the blocks cannot all be resident. */
template <typename PARAMETER>
static inline void gpu_launch_resident(void (*kernel)(PARAMETER), bool, unsigned grid, unsigned block, size_t shared,
                                       hipStream_t stream, const PARAMETER &argument)
{
    PARAMETER own = argument;
    void *arguments[] = {&own};

    (void)hipLaunchCooperativeKernel((const void *)kernel, dim3(grid), dim3(block), arguments, (unsigned)shared,
                                     stream); /* hipGetLastError tells */
}

/* Times of kernels say something. */
#define GPU_HAS_CLOCK 1

/* What depends on this int is computed from here on, not hoisted out of a loop: for rare branches that would need
   registers. */
#define GPU_NOT_BEFORE(value) asm volatile("" : "+v"(value))

/* Lets other waves run for a while. */
#define GPU_PAUSE(nanoseconds) ((void)(nanoseconds), __builtin_amdgcn_s_sleep(4))

/* No WHILE node: the recorded body is launched again and again, one launch ahead of the host's read of its phase. */
#define GPU_HAS_WHILE_NODE 0

#define hipDevAttrMemoryPoolsSupported hipDeviceAttributeMemoryPoolsSupported
#define GPU_HOST_ALLOC_MAPPED(pointer, bytes) hipHostMalloc(pointer, bytes, hipHostMallocMapped)
#define GPU_HOST_FREE(pointer) hipHostFree(pointer)
#define GPU_GRAPH_INSTANTIATE(executable, graph) hipGraphInstantiate(executable, graph, NULL, NULL, 0)

#endif
