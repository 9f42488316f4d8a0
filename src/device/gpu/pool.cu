/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of a context's device memory: the driver's, or a list. */
#include <string.h>

#include "device/gpu/pool.h"

/* Bytes. Up to LIST_SMALL allocations of the list are powers of two; above there are LIST_STEPS sizes between one power
   of two and the next, so that an array of nearly the same size serves. One byte in POOL_SHARE of the device may be
   unused. */
enum { LIST_SMALL = 1 << 16, LIST_STEPS = 32, POOL_SHARE = 8 };

/* The bytes that kernels may read for a request. */
static size_t lines_of(size_t bytes)
{
    return (bytes + GPU_ALLOCATION_UNIT - 1) / GPU_ALLOCATION_UNIT * GPU_ALLOCATION_UNIT;
}

/* Errors here are no one's: the caller reports that there is no memory. */
static bool works(GPU(Error_t) error)
{
    if (error == GPU(Success)) { return true; }
    (void)GPU(GetLastError)();
    return false;
}

/* ---- the driver's pool ---- */

static void make_driver_pool(gpu_pool *pool, int device)
{
    GPU(MemPoolProps) properties;
    int supported = 0;

    if (!works(GPU(DeviceGetAttribute)(&supported, GPU(DevAttrMemoryPoolsSupported), device)) || !supported) { return; }
    memset(&properties, 0, sizeof properties);
    properties.allocType = GPU(MemAllocationTypePinned);
    properties.handleTypes = GPU(MemHandleTypeNone);
    properties.location.type = GPU(MemLocationTypeDevice);
    properties.location.id = device;
    if (!works(GPU(MemPoolCreate)(&pool->driver, &properties))) { pool->driver = NULL; }
}

/* The driver's pool counts memory with an owner among what it keeps, and frees what is above its threshold whenever the
   host waits. So the threshold follows the memory in use, in few steps. */
static void keep_unused(gpu_pool *pool)
{
    const size_t steps = pool->used / pool->limit + 2;
    uint64_t threshold = (uint64_t)steps * pool->limit;

    if (steps == pool->kept_steps) { return; }
    if (works(GPU(MemPoolSetAttribute)(pool->driver, GPU(MemPoolAttrReleaseThreshold), &threshold))) {
        pool->kept_steps = steps;
    }
}

static void *take_from_driver(gpu_pool *pool, size_t bytes)
{
    const size_t lines = lines_of(bytes);
    void *pointer = NULL;

    if (!works(GPU(MallocFromPoolAsync)(&pointer, lines, pool->driver, pool->stream))) {
        (void)works(GPU(StreamSynchronize)(pool->stream)); /* what queued work still uses becomes free */
        gpu_pool_trim(pool);
        if (!works(GPU(MallocFromPoolAsync)(&pointer, lines, pool->driver, pool->stream))) { return NULL; }
    }
    pool->used += lines;
    keep_unused(pool);
    return pointer;
}

static void give_to_driver(gpu_pool *pool, void *pointer, size_t bytes)
{
    (void)works(GPU(FreeAsync)(pointer, pool->stream));
    pool->used -= lines_of(bytes);
    keep_unused(pool);
}

/* ---- the list ---- */

/* The size that is allocated for a request. There are few sizes, so that listed memory fits. */
static size_t capacity_of(size_t bytes)
{
    size_t power = GPU_ALLOCATION_UNIT, unit = 1;

    while (power < bytes) {
        power *= 2;
    }
    if (bytes > LIST_SMALL) { unit = power / (2 * LIST_STEPS); }
    return bytes > LIST_SMALL ? (bytes + unit - 1) / unit * unit : power;
}

static void *take_listed(gpu_pool *pool, int i)
{
    void *memory = pool->memory[i];

    pool->held -= pool->bytes[i];
    pool->count -= 1;
    for (; i < pool->count; i++) {
        pool->memory[i] = pool->memory[i + 1];
        pool->bytes[i] = pool->bytes[i + 1];
    }
    return memory;
}

/* Frees the oldest memory until `more` bytes fit. */
static void shrink_list(gpu_pool *pool, size_t more)
{
    while (pool->count > 0 && (pool->count == GPU_MAX_POOLED || pool->held + more > pool->limit)) {
        (void)GPU(Free)(take_listed(pool, 0));
    }
}

static void *allocate_new(gpu_pool *pool, size_t capacity)
{
    void *pointer = NULL;

    if (works(GPU(Malloc)(&pointer, capacity))) { return pointer; }
    shrink_list(pool, pool->limit);
    return works(GPU(Malloc)(&pointer, capacity)) ? pointer : NULL;
}

static void *take_from_list(gpu_pool *pool, size_t bytes)
{
    const size_t capacity = capacity_of(bytes);
    void *pointer = NULL;

    for (int i = pool->count - 1; i >= 0 && !pointer; i--) { /* what is oldest may then be freed */
        if (pool->bytes[i] == capacity) { pointer = take_listed(pool, i); }
    }
    if (!pointer) { pointer = allocate_new(pool, capacity); }
    if (pointer) { GPU_KEEP_WITHIN(pointer, lines_of(bytes), capacity, pool->stream); }
    return pointer;
}

static void give_to_list(gpu_pool *pool, void *pointer, size_t bytes)
{
    const size_t capacity = capacity_of(bytes);

    if (capacity > pool->limit) {
        (void)GPU(Free)(pointer);
        return;
    }
    shrink_list(pool, capacity);
    pool->memory[pool->count] = pointer;
    pool->bytes[pool->count] = capacity;
    pool->held += capacity;
    pool->count += 1;
}

/* ---- either ---- */

void gpu_pool_open(gpu_pool *pool, int device, size_t total, GPU(Stream_t) stream)
{
    memset(pool, 0, sizeof *pool);
    pool->limit = total / POOL_SHARE + 1;
    pool->stream = stream;
    make_driver_pool(pool, device);
}

void gpu_pool_close(gpu_pool *pool)
{
    if (pool->limit == 0) { return; } /* it was not opened */
    (void)works(GPU(StreamSynchronize)(pool->stream));
    gpu_pool_trim(pool);
    if (pool->driver) { (void)works(GPU(MemPoolDestroy)(pool->driver)); }
}

void *gpu_pool_take(gpu_pool *pool, size_t bytes)
{
    return pool->driver ? take_from_driver(pool, bytes) : take_from_list(pool, bytes);
}

void gpu_pool_give(gpu_pool *pool, void *pointer, size_t bytes)
{
    if (pool->driver) {
        give_to_driver(pool, pointer, bytes);
    } else {
        give_to_list(pool, pointer, bytes);
    }
}

void gpu_pool_trim(gpu_pool *pool)
{
    if (pool->driver) {
        (void)works(GPU(MemPoolTrimTo)(pool->driver, 0));
    } else {
        shrink_list(pool, pool->limit);
    }
}

size_t gpu_pool_unused(const gpu_pool *pool)
{
    uint64_t reserved = 0;

    if (!pool->driver) { return 0; } /* other libraries cannot have what is listed */
    if (!works(GPU(MemPoolGetAttribute)(pool->driver, GPU(MemPoolAttrReservedMemCurrent), &reserved))) { return 0; }
    return reserved > pool->used ? (size_t)reserved - pool->used : 0;
}
