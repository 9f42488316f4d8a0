/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated GPU under the names that GPU sources use (device/gpu/vendor_cuda.h explains them), with the features of
   a Hopper device. */
#ifndef TESS_TESTS_EMULATOR_VENDOR_EMULATED_H
#define TESS_TESTS_EMULATOR_VENDOR_EMULATED_H

#include <stdlib.h>

#include <algorithm>

#include "emulator/emulator.h"
#include "emulator/runtime.h"

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ /* so that the compiler's own attribute of this name stays one */
#define __grid_constant__
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define __shared__ static thread_local /* a block's threads are one of the host's; translate.py does what is extern */
#define threadIdx (emulator::thread_index())
#define blockIdx (emulator::block_index())
#define blockDim (emulator::block_size())
#define gridDim (emulator::grid_size())

#define GPU(name) emulated##name

typedef emulatedDeviceProp gpu_properties;
#define GPU_ID_BYTES 1
static inline void gpu_id_bytes(const gpu_properties *, unsigned char *bytes)
{
    bytes[0] = 1;
}

template <typename T>
static inline emulatedError_t emulatedMalloc(T **pointer, size_t bytes)
{
    return emulatedMallocBytes((void **)pointer, bytes);
}

// AddressSanitizer hears of it.
#define GPU_KEEP_WITHIN(pointer, bytes, capacity, stream) emulatedKeepWithin(pointer, bytes, capacity, stream)
#define GPU_HOST_ALLOC_MAPPED(pointer, bytes) emulatedHostAllocMapped(pointer, bytes)
#define GPU_HOST_FREE(pointer) emulatedFreeHost(pointer)
#define GPU_GRAPH_INSTANTIATE(executable, graph) emulatedGraphInstantiate(executable, graph)

/* ---- what kernels call ---- */

struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

static inline void __syncthreads()
{
    emulator::sync_block();
}
static inline int __syncthreads_count(int predicate)
{
    return emulator::count_in_block(predicate != 0);
}
static inline int __syncthreads_or(int predicate)
{
    return emulator::count_in_block(predicate != 0) > 0;
}
static inline void __syncwarp()
{
    (void)emulator::ballot(true);
}
static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}
static inline int __ffs(unsigned bits)
{
    return __builtin_ffs((int)bits);
}
static inline double __dmul_rn(double a, double b)
{
    return a * b;
}
static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
static inline double __dsub_rn(double a, double b)
{
    return a - b;
}
static inline long long __double_as_longlong(double value)
{
    long long bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline double __longlong_as_double(long long bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T, typename U>
static inline typename std::common_type<T, U>::type min(T a, U b)
{
    typedef typename std::common_type<T, U>::type common;

    return (common)b < (common)a ? (common)b : (common)a;
}
template <typename T, typename U>
static inline typename std::common_type<T, U>::type max(T a, U b)
{
    typedef typename std::common_type<T, U>::type common;

    return (common)a < (common)b ? (common)b : (common)a;
}

/* Atomics on words by compare-and-exchange; they return the old value. */
template <typename T, typename CHANGE>
static inline T emulated_change(T *at, CHANGE change)
{
    T before, after;

    __atomic_load(at, &before, __ATOMIC_RELAXED);
    do {
        after = change(before);
    } while (!__atomic_compare_exchange(at, &before, &after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return before;
}
template <typename T, typename U>
static inline T atomicAdd(T *at, U value)
{
    return emulated_change(at, [&](T before) { return (T)(before + (T)value); });
}
template <typename T, typename U>
static inline T atomicMax(T *at, U value)
{
    return emulated_change(at, [&](T before) { return std::max(before, (T)value); });
}
template <typename T, typename U>
static inline T atomicMin(T *at, U value)
{
    return emulated_change(at, [&](T before) { return std::min(before, (T)value); });
}
template <typename T>
static inline T atomicCAS(T *at, T expected, T value)
{
    return emulated_change(at, [&](T before) { return before == expected ? value : before; });
}
template <typename T, typename U>
static inline T atomicOr(T *at, U value)
{
    return emulated_change(at, [&](T before) { return (T)(before | (T)value); });
}

/* ---- names of this library ---- */

typedef uint32_t gpu_lanes;

#define GPU_NAME "emulated"
#define GPU_NODES "/dev/null"
#define GPU_VISIBLE "TESS_EMULATOR_VISIBLE"
#define GPU_WAVE 32
#define GPU_LAUNCH_BOUNDS(threads, blocks)
#define GPU_NANOSECONDS() emulator::nanoseconds()
#define GPU_SHUFFLE(value, source, width) emulator::shuffle_from(value, (int)(source), width)
#define GPU_SHUFFLE_DOWN(value, distance, width) emulator::shuffle_by(value, (int)(distance), width)
#define GPU_SHUFFLE_UP(value, distance, width) emulator::shuffle_by(value, -(int)(distance), width)
#define GPU_SHUFFLE_XOR(value, mask) emulator::shuffle_xor(value, mask)
#define GPU_LANES_SUM(value, width) emulator::lanes_sum(value, width)
#define GPU_LANES_SUM_DOWN(value, width, least) emulator::lanes_sum_down(value, width, least)
#define GPU_BALLOT(predicate) emulator::ballot(predicate)
#define GPU_SYNC_WAVE() ((void)emulator::ballot(true))
#define GPU_WAVE_MAX(value) emulator::reduce_wave(value, [](int a, int b) { return std::max(a, b); })
#define GPU_WAVE_MIN(value) emulator::reduce_wave(value, [](int a, int b) { return std::min(a, b); })

template <int GROUP>
static inline int gpu_group_sum(int value)
{
    return GPU_LANES_SUM(value, GROUP);
}

#define GPU_UNKNOWN(value) ((uint32_t)(value))
#define GPU_COUNT_LANES(lanes) __builtin_popcount(lanes)
#define GPU_LOAD_L2(pointer) (*(pointer))
#define GPU_NOT_BEFORE(value) ((void)(value))
#define GPU_PAUSE(nanoseconds) ((void)(nanoseconds), emulator::yield())

/* No WHILE node. Kernels run one after another; those that could overlap have to wait all the same. */
#define GPU_LET_NEXT_START() ((void)0)
#define GPU_WAIT_FOR_PREVIOUS() emulator::wait_for_previous()
#define GPU_OVERLAP_CAPABILITY 0
#define GPU_HAS_WHILE_NODE 0

#define GPU_SHARED_PER_MULTIPROCESSOR(properties) ((properties).sharedMemPerMultiprocessor)
#define GPU_SHARED_PER_BLOCK(properties) ((properties).sharedMemPerBlockOptin)
#define GPU_STATIC_SHARED 2048

template <typename T>
static inline T gpu_load_once(const T *pointer)
{
    static_assert(sizeof(T) <= 16, "size");
    if ((uintptr_t)pointer % sizeof(T) != 0) { abort(); } /* as the device would not load it */
    return *pointer;
}
template <typename T>
static inline T gpu_load_streaming(const T *pointer)
{
    return gpu_load_once(pointer);
}
template <typename T>
static inline void gpu_store_streaming(T *pointer, const T &value)
{
    if ((uintptr_t)pointer % sizeof(T) != 0) { abort(); }
    *pointer = value;
}
template <typename T>
static inline void gpu_store_whole(T *pointer, const T &value)
{
    gpu_store_streaming(pointer, value);
}

/* Without bulk copies it is a device before Hopper, whose threads copy. */
#ifndef TESS_EMULATED_BULK_COPY
#define TESS_EMULATED_BULK_COPY 1
#endif
/* Bulk copies are there at once. Of an arrival: the number of times that it is complete, above bytes that are still
 * expected. */
#define GPU_HAS_BULK_COPY TESS_EMULATED_BULK_COPY
typedef uint64_t gpu_arrival;

static inline void gpu_arrival_create(gpu_arrival *arrival)
{
    *arrival = 0;
}
static inline void gpu_arrival_expect(gpu_arrival *arrival, uint32_t bytes)
{
    *arrival += bytes;
    if (bytes == 0) { *arrival += uint64_t{1} << 32; }
}
static inline void gpu_bulk_copy(void *to, const void *from, uint32_t bytes, gpu_arrival *arrival)
{
    if ((uintptr_t)to % 16 != 0 || (uintptr_t)from % 16 != 0 || bytes % 16 != 0 || (uint32_t)*arrival < bytes) {
        abort();
    }
    memcpy(to, from, bytes);
    *arrival -= bytes;
    if ((uint32_t)*arrival == 0) { *arrival += uint64_t{1} << 32; }
}
static inline void gpu_arrival_wait(gpu_arrival *arrival, uint32_t parity)
{
    while ((*(volatile gpu_arrival *)arrival >> 32) % 2 == parity) {
        emulator::yield();
    }
}

static inline unsigned gpu_count_up(unsigned *counter)
{
    return __atomic_fetch_add(counter, 1U, __ATOMIC_ACQ_REL);
}
template <int N>
static inline void gpu_peek(const uint64_t *from, uint64_t (&word)[N])
{
    emulator::look(from);
    for (int i = 0; i < N; i++) {
        word[i] = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
    }
}
template <int N>
static inline void gpu_post(uint64_t *to, const uint64_t (&word)[N])
{
    for (int i = 0; i < N; i++) {
        __atomic_store_n(to + i, word[i], __ATOMIC_RELEASE);
    }
}
static inline void gpu_publish(uint64_t *to, uint64_t number)
{
    __atomic_store_n(to, number, __ATOMIC_RELEASE);
}

#define GPU_HAS_RESIDENT_GRIDS 1
#define GPU_HAS_COOPERATIVE_GRIDS 1
#define GPU_TRIES_GRIDS true
#define GPU_HAS_CLOCK 0
#define GPU_CLUSTER_CAPABILITY 9

static inline void gpu_cluster_barrier()
{
    emulator::sync_cluster();
}
static inline double gpu_cluster_load(const double *mine, unsigned rank)
{
    return *(const double *)emulator::shared_of_block(mine, rank);
}
static inline void gpu_cluster_store(double *mine, unsigned rank, double value)
{
    *(double *)emulator::shared_of_block(mine, rank) = value;
}

/* One cluster after another. */
template <typename PARAMETER>
static inline void gpu_launch_clusters(void (*kernel)(PARAMETER), unsigned clusters, unsigned blocks, unsigned block,
                                       size_t shared, emulatedStream_t stream, const PARAMETER &argument)
{
    for (unsigned c = 0; c < clusters; c++) {
        emulator::enqueue_kernel({dim3(blocks), block, shared, stream, emulator::residence::cluster, c},
                                 [kernel, argument] { kernel(argument); });
    }
}

template <typename PARAMETER>
static inline void gpu_launch_resident(void (*kernel)(PARAMETER), bool cluster, unsigned grid, unsigned block,
                                       size_t shared, emulatedStream_t stream, const PARAMETER &argument)
{
    const auto together = cluster ? emulator::residence::cluster : emulator::residence::grid;

    emulator::enqueue_kernel({dim3(grid), block, shared, stream, together}, [kernel, argument] { kernel(argument); });
}
template <typename PARAMETER>
static inline bool gpu_cluster_fits(void (*)(PARAMETER), unsigned blocks, unsigned, size_t)
{
    return blocks <= (unsigned)emulator::MAX_CLUSTER;
}
template <typename PARAMETER>
static inline emulatedError_t gpu_allow_large_clusters(void (*)(PARAMETER))
{
    return emulatedSuccess;
}

template <typename... PARAMETERS, typename... ARGUMENTS>
static inline void gpu_launch_overlapped(void (*kernel)(PARAMETERS...), unsigned grid, unsigned block, size_t shared,
                                         emulatedStream_t stream, const ARGUMENTS &...arguments)
{
    auto launch = emulator::prepare(kernel, grid, block, shared, stream);

    launch.shape.overlapped = true;
    launch(PARAMETERS(arguments)...);
}

#endif
