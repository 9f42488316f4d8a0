/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA under the names that GPU sources use. */
#ifndef TESS_DEVICE_GPU_VENDOR_CUDA_H
#define TESS_DEVICE_GPU_VENDOR_CUDA_H

#include <stdint.h>
#include <string.h>

#include <cuda_runtime.h>

/* GPU(Malloc) is cudaMalloc or hipMalloc; the two runtimes agree on the rest of the names used here. */
#define GPU(name) cuda##name

typedef cudaDeviceProp gpu_properties;
typedef uint32_t gpu_lanes; /* of a ballot */

/* What tells GPUs of a machine apart, in every process. */
#define GPU_ID_BYTES 16
static inline void gpu_id_bytes(const gpu_properties *properties, unsigned char *bytes)
{
    memcpy(bytes, properties->uuid.bytes, GPU_ID_BYTES);
}

#define GPU_NAME "cuda"
/* Files of which the driver of a machine with GPUs makes one, and the variable that hides GPUs. */
#define GPU_NODES "/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg"
#define GPU_VISIBLE "CUDA_VISIBLE_DEVICES"
#define GPU_WAVE 32 /* threads of a warp */

/* At most `threads` threads a block, and registers for `blocks` blocks on a multiprocessor. */
#define GPU_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)

/* The device's clock, the same on all multiprocessors. */
__device__ static inline int64_t gpu_nanoseconds(void)
{
    int64_t now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#define GPU_NANOSECONDS() gpu_nanoseconds()

#define GPU_SHUFFLE(value, source, width) __shfl_sync(0xffffffffU, value, source, width)
#define GPU_SHUFFLE_DOWN(value, distance, width) __shfl_down_sync(0xffffffffU, value, distance, width)
#define GPU_SHUFFLE_UP(value, distance, width) __shfl_up_sync(0xffffffffU, value, distance, width)
#define GPU_SHUFFLE_XOR(value, mask) __shfl_xor_sync(0xffffffffU, value, mask)
/* A bit for each lane of the wave in which `predicate` holds. All lanes call it. */
#define GPU_BALLOT(predicate) __ballot_sync(0xffffffffU, predicate)
/* After this call, lanes of the wave see what the others have written to memory. */
#define GPU_SYNC_WAVE() __syncwarp()
/* Extremes over the wave of a nonnegative number. All lanes call it. */
#define GPU_WAVE_MAX(value) ((int)__reduce_max_sync(0xffffffffU, (unsigned)(value)))
#define GPU_WAVE_MIN(value) ((int)__reduce_min_sync(0xffffffffU, (unsigned)(value)))
/* The sum over 16 or 32 neighbouring threads of numbers up to 2^10. All lanes of the wave call it. */
template <int GROUP>
__device__ static inline int gpu_group_sum(int value)
{
    const unsigned shift = GROUP == 32 ? 0U : threadIdx.x % 32 / 16 * 16;

    return (int)(__reduce_add_sync(0xffffffffU, (unsigned)value << shift) >> shift & 0xffffU);
}

/* The same value, but the compiler does not know it: what depends on it is computed again rather than kept in
   registers. */
__device__ static inline uint32_t gpu_unknown(uint32_t value)
{
    asm("" : "+r"(value));
    return value;
}
#define GPU_UNKNOWN(value) gpu_unknown(value)
#define GPU_COUNT_LANES(lanes) __popc(lanes)
#define GPU_LOAD_L2(pointer) __ldcg(pointer)

/* A loop on the device through a WHILE node, from CUDA 12.4 on. */
#define GPU_HAS_WHILE_NODE (CUDART_VERSION >= 12040)

#if CUDART_VERSION >= 13000
#define GPU_GRAPH_ADD_NODE(node, graph, parameters) cudaGraphAddNode(node, graph, NULL, NULL, 0, parameters)
#else
#define GPU_GRAPH_ADD_NODE(node, graph, parameters) cudaGraphAddNode(node, graph, NULL, 0, parameters)
#endif

/*
 * Overlapped launches (Hopper and later): a kernel may start while the previous one drains. It reads only memory that
 * no kernel of the loop writes, and then waits for the previous results.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GPU_LET_NEXT_START() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define GPU_WAIT_FOR_PREVIOUS() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define GPU_LET_NEXT_START() ((void)0)
#define GPU_WAIT_FOR_PREVIOUS() ((void)0)
#endif
#define GPU_OVERLAP_CAPABILITY 9

/* Loads of data that a kernel reads once and never writes: they do not fill the first-level cache. Any plain type of 1,
   2, 4, 8 or 16 bytes. */
template <typename T>
__device__ static inline T gpu_load_once(const T *pointer)
{
    T value;

    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "size");
    if constexpr (sizeof(T) <= 2) {
        uint16_t bits;

        if constexpr (sizeof(T) == 1) {
            asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(bits) : "l"(pointer));
        } else {
            asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(bits) : "l"(pointer));
        }
        memcpy(&value, &bits, sizeof value);
    } else if constexpr (sizeof(T) == 4) {
        uint32_t bits;

        asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(bits) : "l"(pointer));
        memcpy(&value, &bits, sizeof value);
    } else if constexpr (sizeof(T) == 8) {
        uint64_t bits;

        asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(bits) : "l"(pointer));
        memcpy(&value, &bits, sizeof value);
    } else {
        uint4 bits;

        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
            : "l"(pointer));
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

/* A plain type of the same size. */
template <size_t BYTES>
struct gpu_plain;
template <>
struct gpu_plain<1> {
    typedef unsigned char type;
};
template <>
struct gpu_plain<2> {
    typedef unsigned short type;
};
template <>
struct gpu_plain<4> {
    typedef unsigned int type;
};
template <>
struct gpu_plain<8> {
    typedef unsigned long long type;
};
template <>
struct gpu_plain<16> {
    typedef uint4 type;
};

/* Loads and stores of data that is not needed again before other data has passed through the second-level cache: it is
   evicted first. Any plain type of 1, 2, 4, 8 or 16 bytes; the kernel may write what it loads. */
template <typename T>
__device__ static inline T gpu_load_streaming(const T *pointer)
{
    typedef typename gpu_plain<sizeof(T)>::type plain;
    const plain bits = __ldcs((const plain *)pointer);
    T value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
__device__ static inline void gpu_store_streaming(T *pointer, const T &value)
{
    typedef typename gpu_plain<sizeof(T)>::type plain;
    plain bits;

    memcpy(&bits, &value, sizeof bits);
    __stcs((plain *)pointer, bits);
}

/* A plain store that compilers do not split. */
template <typename T>
__device__ static inline void gpu_store_whole(T *pointer, const T &value)
{
    typedef typename gpu_plain<sizeof(T)>::type plain;
    plain bits;

    memcpy(&bits, &value, sizeof bits);
    __stwb((plain *)pointer, bits);
}

/*
 * Asynchronous copies of contiguous data into shared memory (Hopper and later): one thread starts them, all threads
 * wait for the bytes that the arrival expects. Addresses and sizes are multiples of 16 bytes. Without them
 * GPU_HAS_BULK_COPY is 0, and the threads of a block copy.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GPU_HAS_BULK_COPY 1
#else
#define GPU_HAS_BULK_COPY 0
#endif

typedef uint64_t gpu_arrival;

/* Shared memory of a multiprocessor, the most that a block may request, and the most that static variables of the
   kernels use. */
#define GPU_SHARED_PER_MULTIPROCESSOR(properties) ((properties).sharedMemPerMultiprocessor)
#define GPU_SHARED_PER_BLOCK(properties) ((properties).sharedMemPerBlockOptin)
#define GPU_STATIC_SHARED 2048

#if GPU_HAS_BULK_COPY
__device__ static inline uint32_t gpu_shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* Called by one thread, before a barrier of the block. */
__device__ static inline void gpu_arrival_create(gpu_arrival *arrival)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(gpu_shared_address(arrival)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* The thread that starts the copies calls this first, with the number of bytes. Reads by other threads before it are
   complete. */
__device__ static inline void gpu_arrival_expect(gpu_arrival *arrival, uint32_t bytes)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gpu_shared_address(arrival)), "r"(bytes)
                 : "memory");
}

__device__ static inline void gpu_bulk_copy(void *to, const void *from, uint32_t bytes, gpu_arrival *arrival)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     gpu_shared_address(to)),
                 "l"(from), "r"(bytes), "r"(gpu_shared_address(arrival))
                 : "memory");
}

/* Waits for the arrival whose number has this parity. */
__device__ static inline void gpu_arrival_wait(gpu_arrival *arrival, uint32_t parity)
{
    uint32_t done;

    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(gpu_shared_address(arrival)), "r"(parity)
                     : "memory");
    } while (!done);
}
#endif

/* Fetch-and-add that publishes the thread's earlier writes and sees those of the threads that added before. */
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

/* One or two words written by other blocks of a running kernel. Each 8-byte word is whole, and is the newest value in
   device memory. Two neighbouring words (16-byte aligned) travel together, but may differ in age. They order no other
   access. */
template <int N>
__device__ static inline void gpu_peek(const uint64_t *from, uint64_t (&word)[N])
{
    static_assert(N == 1 || N == 2, "one or two words");
    if constexpr (N == 1) {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word[0]) : "l"(from));
    } else {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(word[0]), "=l"(word[1]) : "l"(from));
    }
}

template <int N>
__device__ static inline void gpu_post(uint64_t *to, const uint64_t (&word)[N])
{
    static_assert(N == 1 || N == 2, "one or two words");
    if constexpr (N == 1) {
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word[0]));
    } else {
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(word[0]), "l"(word[1]));
    }
}

/* A number, after the thread's earlier writes and those that its block made before its last barrier. */
__device__ static inline void gpu_publish(uint64_t *to, uint64_t number)
{
#if __CUDA_ARCH__ >= 700 || !defined(__CUDA_ARCH__)
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(number) : "memory");
#else
    __threadfence();
    *(volatile uint64_t *)to = number;
#endif
}

/*
 * Kernels whose blocks wait for one another: all blocks are resident at once, as a grid (a cooperative launch) or as
 * one cluster, whose blocks read and write one another's shared memory (Hopper and later). Clusters are never launched
 * on other devices.
 */
#define GPU_HAS_RESIDENT_GRIDS 1
#define GPU_HAS_COOPERATIVE_GRIDS 1 /* solves in one kernel; GPU_TRIES_GRIDS: unless asked for otherwise */
#define GPU_TRIES_GRIDS true
/* Times of kernels say something. */
#define GPU_HAS_CLOCK 1
#define GPU_CLUSTER_CAPABILITY 9

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/* All threads of all blocks call it. Afterwards all see the earlier writes of the others, also to any block's shared
   memory. */
__device__ static inline void gpu_cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
}

/* A double at the place of `mine` in the shared memory of block `rank`. */
__device__ static inline uint32_t gpu_cluster_address(const double *mine, unsigned rank)
{
    uint32_t address;

    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(address)
        : "r"((uint32_t)__cvta_generic_to_shared(mine)), "r"(rank));
    return address;
}

__device__ static inline double gpu_cluster_load(const double *mine, unsigned rank)
{
    double value;

    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(value) : "r"(gpu_cluster_address(mine, rank)) : "memory");
    return value;
}

__device__ static inline void gpu_cluster_store(double *mine, unsigned rank, double value)
{
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(gpu_cluster_address(mine, rank)), "d"(value) : "memory");
}
#else
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
#endif

/* Configuration of a launch with one attribute, which may be filled in later. */
static inline cudaLaunchConfig_t gpu_launch_config(cudaLaunchAttribute *attribute, unsigned grid, unsigned block,
                                                   size_t shared, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};

    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

/* Clusters of so many blocks: blockIdx.x is the number of a block within its cluster, blockIdx.y that of the cluster.
 */
template <typename PARAMETER>
static inline void gpu_launch_clusters(void (*kernel)(PARAMETER), unsigned clusters, unsigned blocks, unsigned block,
                                       size_t shared, cudaStream_t stream, const PARAMETER &argument)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = gpu_launch_config(&attribute, blocks, block, shared, stream);

    config.gridDim.y = clusters;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    (void)cudaLaunchKernelEx(&config, kernel, argument); /* cudaGetLastError tells */
}

/* cluster: one cluster of all blocks; else a cooperative launch, which fails if the blocks cannot all be resident. */
template <typename PARAMETER>
static inline void gpu_launch_resident(void (*kernel)(PARAMETER), bool cluster, unsigned grid, unsigned block,
                                       size_t shared, cudaStream_t stream, const PARAMETER &argument)
{
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = gpu_launch_config(&attribute, grid, block, shared, stream);

    attribute.id = cluster ? cudaLaunchAttributeClusterDimension : cudaLaunchAttributeCooperative;
    if (cluster) {
        attribute.val.clusterDim.x = grid;
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    } else {
        attribute.val.cooperative = 1;
    }
    (void)cudaLaunchKernelEx(&config, kernel, argument); /* cudaGetLastError tells */
}

/* Whether a cluster of so many blocks can be resident. For more than 8 the kernel must allow it first. */
template <typename PARAMETER>
static inline bool gpu_cluster_fits(void (*kernel)(PARAMETER), unsigned blocks, unsigned threads, size_t shared)
{
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = gpu_launch_config(&attribute, blocks, threads, shared, NULL);
    int count = 0;

    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    if (cudaOccupancyMaxActiveClusters(&count, kernel, &config) != cudaSuccess) { count = 0; }
    (void)cudaGetLastError(); /* no space is no error */
    return count > 0;
}

template <typename PARAMETER>
static inline cudaError_t gpu_allow_large_clusters(void (*kernel)(PARAMETER))
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

/* What depends on this int is computed from here on, not hoisted out of a loop: for rare branches that would need
   registers. */
#define GPU_NOT_BEFORE(value) asm volatile("" : "+r"(value))

/* Lets other waves run for about so many nanoseconds. */
#define GPU_PAUSE(nanoseconds) __nanosleep(nanoseconds)

template <typename... PARAMETERS, typename... ARGUMENTS>
static inline void gpu_launch_overlapped(void (*kernel)(PARAMETERS...), unsigned grid, unsigned block, size_t shared,
                                         cudaStream_t stream, const ARGUMENTS &...arguments)
{
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = gpu_launch_config(&attribute, grid, block, shared, stream);

    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    (void)cudaLaunchKernelEx(&config, kernel, PARAMETERS(arguments)...); /* cudaGetLastError tells */
}

#define GPU_HOST_ALLOC_MAPPED(pointer, bytes) cudaHostAlloc(pointer, bytes, cudaHostAllocMapped)
#define GPU_HOST_FREE(pointer) cudaFreeHost(pointer)
#define GPU_GRAPH_INSTANTIATE(executable, graph) cudaGraphInstantiate(executable, graph, 0)

#endif
