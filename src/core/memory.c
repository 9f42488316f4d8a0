/* SPDX-License-Identifier: Apache-2.0 */
/* Host and device memory, checked for overflow and counted. */
#include "core/internal.h"
#include "core/stages.h"

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

tess_status tess_host_allocate(tess_context *ctx, int64_t count, size_t size, void **out)
{
    size_t bytes = checked_bytes(count, size);

    *out = bytes ? ctx->host_allocator.allocate(ctx->host_allocator.user, bytes) : NULL;
    if (!*out) {
        return tess_fail(ctx, TESS_OUT_OF_MEMORY, "free memory, or solve a smaller system",
                         "could not allocate %lld values of %zu bytes in host memory", (long long)count, size);
    }
    if (ctx->device == TESS_DEVICE_CPU) { count_held(ctx, (int64_t)bytes); }
    return TESS_SUCCESS;
}

void tess_host_release(tess_context *ctx, void *pointer, int64_t count, size_t size)
{
    size_t bytes = 0;

    if (!pointer) { return; }
    bytes = checked_bytes(count, size);
    ctx->host_allocator.release(ctx->host_allocator.user, pointer, bytes);
    if (ctx->device == TESS_DEVICE_CPU) { count_held(ctx, -(int64_t)bytes); }
}

tess_status tess_device_allocate(tess_context *ctx, int64_t count, size_t size, void **out)
{
    size_t bytes = checked_bytes(count, size);

    if (ctx->device == TESS_DEVICE_CPU) { return tess_host_allocate(ctx, count, size, out); }
    *out = bytes ? ctx->backend->allocate(ctx, bytes) : NULL;
    if (!*out) {
        return tess_fail(ctx, TESS_OUT_OF_DEVICE_MEMORY,
                         "free device memory, choose another device, or store the matrix in a lower precision",
                         "could not allocate %lld values of %zu bytes on %s (this context holds %lld bytes)",
                         (long long)count, size, ctx->device_name, (long long)ctx->held_bytes);
    }
    count_held(ctx, (int64_t)bytes);
    return tess_stage_end(ctx, "allocating device memory");
}

void tess_device_release(tess_context *ctx, void *pointer, int64_t count, size_t size)
{
    size_t bytes = 0;

    if (!pointer) { return; }
    if (ctx->device == TESS_DEVICE_CPU) {
        tess_host_release(ctx, pointer, count, size);
        return;
    }
    bytes = checked_bytes(count, size);
    ctx->backend->release(ctx, pointer, bytes);
    count_held(ctx, -(int64_t)bytes);
    (void)tess_stage_end(ctx, "releasing device memory");
}

tess_status tess_device_upload(tess_context *ctx, const void *host, int64_t count, size_t size, void **out)
{
    const tess_status status = tess_device_allocate(ctx, count, size, out);

    return status == TESS_SUCCESS ? ctx->backend->upload(ctx, *out, host, (size_t)count * size) : status;
}
