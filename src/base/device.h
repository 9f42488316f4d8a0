/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every part of the library may ask of a device: memory, copies, fused passes over vectors, loops. src/device/ has
 * one table for the host and one for GPUs. What a single part needs of a device (products of a format, triangular
 * solves, ...) is in a table of that part, listed in src/registry/operations.def.
 */
#ifndef TESS_BASE_DEVICE_H
#define TESS_BASE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>

#include "base/fused.h"
#include "base/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tess_backend tess_backend;

struct tess_backend {
    const char *name;   /* "cpu", "cuda", "hip" */
    int (*count)(void); /* devices that this process sees; of a GPU */
    /* context */
    tess_status (*open)(tess_context *ctx, const tess_context_options *options);
    void (*close)(tess_context *ctx);
    tess_status (*synchronize)(tess_context *ctx);
    tess_status (*trim)(tess_context *ctx); /* frees the memory that is kept for later use */
    void *(*stream)(const tess_context *ctx);
    /* call(user), while the context's device is the thread's current one: for libraries that take that. */
    tess_status (*within)(tess_context *ctx, tess_status (*call)(void *user), void *user);
    /* memory; sizes in bytes. upload and download are complete on return. */
    void *(*allocate)(tess_context *ctx, size_t bytes);
    void (*release)(tess_context *ctx, void *pointer, size_t bytes);
    int64_t (*spare)(tess_context *ctx); /* bytes that others may still allocate; INT64_MAX: unknown */
    tess_status (*upload)(tess_context *ctx, void *device, const void *host, size_t bytes);
    tess_status (*download)(tess_context *ctx, void *host, const void *device, size_t bytes);
    tess_status (*copy)(tess_context *ctx, void *destination, const void *source, size_t bytes);
    tess_status (*zero)(tess_context *ctx, void *pointer, size_t bytes);
    /* vectors */
    tess_status (*fused)(tess_context *ctx, const tess_fused *op);
    tess_status (*convert)(tess_context *ctx, int64_t n, tess_precision from, const void *source, tess_precision to,
                           void *destination);
    tess_status (*fill)(tess_context *ctx, int64_t n, double value, double *destination);
    tess_status (*random)(tess_context *ctx, int64_t n, uint64_t seed, double low, double high, double *destination);
    /* loops */
    tess_status (*run_loop)(tess_context *ctx, tess_loop *loop);
    /* Runs body(user) `count` times. The body enqueues the same operations each time, and neither waits nor reduces. A
       device may record it once, for this call and later ones with the same slot (initially NULL, freed by
       release_graph). */
    tess_status (*repeat)(tess_context *ctx, tess_status (*body)(void *user), void *user, int64_t count,
                          void **graph_slot);
    void (*release_graph)(tess_context *ctx, void *graph);
};

/* How long a block of threads waits for another at most. Far longer than any wait for a running block, far shorter than
   a user takes for a hang. */
#define TESS_WAIT_TIMEOUT_NANOSECONDS INT64_C(4000000000)

extern const tess_backend tess_host_backend;
/* The GPU backend of this build, or NULL. */
const tess_backend *tess_gpu_backend_table(void);

#ifdef __cplusplus
}
#endif

#endif
