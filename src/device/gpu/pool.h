/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of a context's device memory. */
#ifndef TESS_DEVICE_GPU_POOL_H
#define TESS_DEVICE_GPU_POOL_H

#include <stdint.h>

#include "device/gpu/vendor.h"

/* Bytes. Kernels read whole cache lines, so every array of the library ends with its cache line. */
enum { GPU_ALLOCATION_UNIT = 128, GPU_MAX_POOLED = 256 };

/*
 * Released memory is kept: allocations of the device take longer than kernels, and wait for them. The memory of a
 * request may still be in use by work that its last owner queued on the stream, which ends before the new owner's work.
 *
 * Where the device has memory pools, the driver's pool serves any later request from what was released. Elsewhere
 * released arrays are listed, and one serves a later request of its own size.
 */
typedef struct gpu_pool {
    GPU(MemPool_t) driver;        /* NULL: released arrays are listed */
    GPU(Stream_t) stream;         /* the context's, also while a loop is recorded on another */
    size_t used;                  /* bytes of the driver's pool that have owners */
    size_t limit;                 /* bytes without an owner; the driver's pool keeps up to twice as many */
    size_t kept_steps;            /* of `limit`, that the driver's pool was last told to keep */
    void *memory[GPU_MAX_POOLED]; /* what is listed, the oldest first */
    size_t bytes[GPU_MAX_POOLED];
    int count;
    size_t held; /* bytes listed */
} gpu_pool;

/* Fills *pool, for work on `stream`. `total`: bytes of the device's memory. */
void gpu_pool_open(gpu_pool *pool, int device, size_t total, GPU(Stream_t) stream);
/* All memory was given back. Waits for queued work. */
void gpu_pool_close(gpu_pool *pool);

/* NULL: there is no memory, even without what the pool keeps. */
void *gpu_pool_take(gpu_pool *pool, size_t bytes);
/* `bytes` is what was requested. */
void gpu_pool_give(gpu_pool *pool, void *pointer, size_t bytes);

/* Returns what has no owner to the device. The caller has waited for queued work. */
void gpu_pool_trim(gpu_pool *pool);
/* Bytes of the driver's pool without an owner: any request of the process can have them, although the device counts
   them as used. */
size_t gpu_pool_unused(const gpu_pool *pool);

#endif
