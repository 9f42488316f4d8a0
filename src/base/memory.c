/* SPDX-License-Identifier: Apache-2.0 */
/* Host and device memory, with checks for overflow and counts of bytes. */
#include <string.h>

#include <tessera/names.h>

#include "base/context.h"
#include "base/fork.h"
#include "base/handed_over.h"
#include "base/stages.h"

/* Tells the sanitizer about arrays that are kept, and about the space beyond the end of the others: using either is an
   error. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HAS_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#endif

/* Bytes of count values, at least 1, or 0 when the product overflows. */
static size_t checked_bytes(int64_t count, size_t size)
{
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / size) { return 0; }
    return count ? (size_t)count * size : 1;
}

static void count_held(tess_context *ctx, int64_t bytes)
{
    ctx->held_bytes += bytes;
    if (ctx->held_bytes > ctx->peak_bytes) { ctx->peak_bytes = ctx->held_bytes; }
}

/* ---- host arrays that a context keeps ---- */

/* Arrays from MIN_KEPT bytes are kept, MAX_KEPT bytes together. */
enum { MIN_KEPT = 1 << 14, MAX_KEPT = 1 << 28, MAX_POOLED = 8 };

/* The size that is allocated for a request. Requests of nearly the same size share one, at most an eighth larger. */
static size_t kept_size(const tess_context *ctx, size_t bytes)
{
    size_t step = MIN_KEPT / MAX_POOLED;

    if (!ctx->kept.enabled || bytes < MIN_KEPT || bytes > MAX_KEPT) { return bytes; }
    while (step * MAX_POOLED <= bytes / 2) {
        step *= 2;
    }
    return (bytes + step - 1) / step * step;
}

/* Removes array i from the list, because its memory is returned. */
static void *take_kept(tess_context *ctx, int i)
{
    tess_kept_arrays *k = &ctx->kept;
    const tess_kept_array a = k->array[i];

    k->count -= 1;
    k->bytes -= a.bytes;
    memmove(&k->array[i], &k->array[i + 1], (size_t)(k->count - i) * sizeof a);
    ASAN_UNPOISON_MEMORY_REGION(a.memory, a.bytes);
    return a.memory;
}

static void release_oldest(tess_context *ctx)
{
    const size_t bytes = ctx->kept.array[0].bytes;

    ctx->host_allocator.release(ctx->host_allocator.user, take_kept(ctx, 0), bytes);
}

void tess_host_trim(tess_context *ctx)
{
    while (ctx->kept.count > 0) {
        release_oldest(ctx);
    }
}

/* The most recently kept array of that size; NULL: there is none. */
static void *find_kept(tess_context *ctx, size_t bytes)
{
    for (int i = ctx->kept.count - 1; i >= 0; i--) {
        if (ctx->kept.array[i].bytes == bytes) { return take_kept(ctx, i); }
    }
    return NULL;
}

/* Keeps the array if its size qualifies. To make space, the oldest others are freed. */
static bool keep(tess_context *ctx, void *memory, size_t bytes)
{
    tess_kept_arrays *k = &ctx->kept;

    if (!k->enabled || bytes < MIN_KEPT || bytes > MAX_KEPT) { return false; }
    while (k->count == TESS_KEPT_ARRAYS || k->bytes + bytes > MAX_KEPT) {
        release_oldest(ctx);
    }
    ASAN_POISON_MEMORY_REGION(memory, bytes);
    k->array[k->count++] = (tess_kept_array){memory, bytes};
    k->bytes += bytes;
    return true;
}

/* ---- host memory ---- */

/* Bytes, rounded as kept_size does. */
static void *allocate_host(tess_context *ctx, size_t bytes)
{
    const tess_allocator *a = &ctx->host_allocator;
    void *memory = a->allocate(a->user, bytes);

    if (memory || ctx->kept.count == 0) { return memory; }
    tess_host_trim(ctx);
    return a->allocate(a->user, bytes);
}

/* `scratch`: a kept array may serve. */
static tess_status allocate_checked(tess_context *ctx, int64_t count, size_t size, bool scratch, void **out)
{
    const size_t bytes = checked_bytes(count, size), whole = kept_size(ctx, bytes);

    *out = bytes && scratch ? find_kept(ctx, whole) : NULL;
    if (bytes && !*out) { *out = allocate_host(ctx, whole); }
    if (!*out) {
        return tess_fail(ctx, TESS_OUT_OF_MEMORY, "solve a smaller system, or free memory",
                         "host memory is exhausted: %s of %s could not be allocated", tess_count(count, "value").text,
                         tess_count((int64_t)size, "byte").text);
    }
    ASAN_POISON_MEMORY_REGION((char *)*out + bytes, whole - bytes);
    if (ctx->device == TESS_DEVICE_CPU) { count_held(ctx, (int64_t)bytes); }
    return TESS_SUCCESS;
}

static void release_checked(tess_context *ctx, void *pointer, int64_t count, size_t size, bool scratch)
{
    size_t bytes = 0, whole = 0;

    if (!pointer) { return; }
    bytes = checked_bytes(count, size);
    whole = kept_size(ctx, bytes);
    ASAN_UNPOISON_MEMORY_REGION(pointer, whole);
    if (!scratch || !keep(ctx, pointer, whole)) {
        ctx->host_allocator.release(ctx->host_allocator.user, pointer, whole);
    }
    if (ctx->device == TESS_DEVICE_CPU) { count_held(ctx, -(int64_t)bytes); }
}

tess_status tess_host_allocate(tess_context *ctx, int64_t count, size_t size, void **out)
{
    return allocate_checked(ctx, count, size, true, out);
}

/* The releasing code may hold a const pointer to the array. The array's life ends here, so no const data changes. */
static void *ended(const void *pointer)
{
    return (void *)(uintptr_t)pointer;
}

void tess_host_release(tess_context *ctx, const void *pointer, int64_t count, size_t size)
{
    release_checked(ctx, ended(pointer), count, size, true);
}

/* ---- memory of several contexts ---- */

void tess_host_forget(tess_context *ctx, int64_t count, size_t size)
{
    if (ctx->device == TESS_DEVICE_CPU) { count_held(ctx, -(int64_t)checked_bytes(count, size)); }
}

/* The default allocator does not read the size, which only a context knows that keeps arrays. */
void tess_host_free(const tess_allocator *allocator, const void *pointer, int64_t count, size_t size)
{
    if (pointer) { allocator->release(allocator->user, ended(pointer), checked_bytes(count, size)); }
}

/* ---- device memory ---- */

/* CPU contexts allocate new memory each time, so that it lies near the threads that write it first. */
tess_status tess_device_allocate(tess_context *ctx, int64_t count, size_t size, void **out)
{
    size_t bytes = checked_bytes(count, size);

    if (ctx->device == TESS_DEVICE_CPU) { return allocate_checked(ctx, count, size, false, out); }
    *out = NULL;
    if (fork_require_device(ctx) != TESS_SUCCESS) { return TESS_UNSUPPORTED; }
    *out = bytes ? ctx->backend->allocate(ctx, bytes) : NULL;
    if (!*out) {
        return tess_fail(ctx, TESS_OUT_OF_DEVICE_MEMORY,
                         "store the matrix in a lower precision, choose another device, or free device memory",
                         "device memory is exhausted: %s of %s could not be allocated on %s (this context holds %s)",
                         tess_count(count, "value").text, tess_count((int64_t)size, "byte").text, ctx->device_name,
                         tess_count(ctx->held_bytes, "byte").text);
    }
    count_held(ctx, (int64_t)bytes);
    return tess_stage_note(ctx, "allocating device memory");
}

void tess_device_release(tess_context *ctx, const void *pointer, int64_t count, size_t size)
{
    size_t bytes = 0;

    if (!pointer) { return; }
    if (ctx->device == TESS_DEVICE_CPU) {
        release_checked(ctx, ended(pointer), count, size, false);
        return;
    }
    bytes = checked_bytes(count, size);
    ctx->backend->release(ctx, ended(pointer), bytes);
    count_held(ctx, -(int64_t)bytes);
    (void)tess_stage_note(ctx, "releasing device memory");
}

tess_status tess_device_upload(tess_context *ctx, const void *host, int64_t count, size_t size, void **out)
{
    const tess_status status = tess_device_allocate(ctx, count, size, out);

    return status == TESS_SUCCESS ? ctx->backend->upload(ctx, *out, host, (size_t)count * size) : status;
}
