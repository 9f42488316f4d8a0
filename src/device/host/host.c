/* SPDX-License-Identifier: Apache-2.0 */
/* The host backend: memory, conversions, and its table. */
#include "device/host/host.h"

#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "base/random.h"
#include "base/spare_memory.h"

/* Values converted at a time: their doubles stay in the first-level cache. */
enum { CONVERT_RUN = 256 };

typedef struct host_state {
    double *partials;
    int64_t capacity;
} host_state;

static tess_status open_host(tess_context *ctx, const tess_context_options *options)
{
    host_state *state = NULL;
    tess_status status = tess_host_allocate(ctx, 1, sizeof *state, (void **)&state);

    (void)options;
    if (status != TESS_SUCCESS) { return status; }
    memset(state, 0, sizeof *state);
    ctx->device_state = state;
    snprintf(ctx->device_name, sizeof ctx->device_name, "CPU, %s", tess_count(ctx->threads, "thread").text);
    return TESS_SUCCESS;
}

static void close_host(tess_context *ctx)
{
    host_state *state = ctx->device_state;

    if (!state) { return; }
    tess_host_release(ctx, state->partials, state->capacity, sizeof(double));
    tess_host_release(ctx, state, 1, sizeof *state);
}

tess_status host_partials(tess_context *ctx, int64_t count, double **out)
{
    host_state *state = ctx->device_state;
    tess_status status = TESS_SUCCESS;

    if (count > state->capacity) {
        double *workspace = NULL;

        status = tess_host_allocate(ctx, count, sizeof *workspace, (void **)&workspace);
        if (status != TESS_SUCCESS) { return status; }
        tess_host_release(ctx, state->partials, state->capacity, sizeof(double));
        state->partials = workspace;
        state->capacity = count;
    }
    *out = state->partials;
    return status;
}

static tess_status synchronize_host(tess_context *ctx)
{
    (void)ctx;
    return TESS_SUCCESS;
}

static void *host_stream(const tess_context *ctx)
{
    (void)ctx;
    return NULL;
}

static void *allocate_host(tess_context *ctx, size_t bytes)
{
    return ctx->host_allocator.allocate(ctx->host_allocator.user, bytes);
}

static void release_host(tess_context *ctx, void *pointer, size_t bytes)
{
    ctx->host_allocator.release(ctx->host_allocator.user, pointer, bytes);
}

static tess_status copy_host(tess_context *ctx, void *destination, const void *source, size_t bytes)
{
    (void)ctx;
    if (bytes > 0) { memmove(destination, source, bytes); }
    return TESS_SUCCESS;
}

static tess_status zero_host(tess_context *ctx, void *pointer, size_t bytes)
{
    (void)ctx;
    memset(pointer, 0, bytes);
    return TESS_SUCCESS;
}

static tess_status fill_host(tess_context *ctx, int64_t n, double value, double *destination)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < n; i++) {
        destination[i] = value;
    }
    return TESS_SUCCESS;
}

static tess_status random_host(tess_context *ctx, int64_t n, uint64_t seed, double low, double high,
                               double *destination)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < n; i++) {
        destination[i] = tess_random_in(seed, (uint64_t)i, low, high);
    }
    return TESS_SUCCESS;
}

/* Values first .. first + count - 1, through FP64, which holds every precision. */
static void convert_run(tess_operand from, tess_precision to, void *destination, int64_t first, int count)
{
    double workspace[CONVERT_RUN];

    if (to == TESS_PRECISION_FP64) {
        (void)host_read_fp64(from, first, count, (double *)destination + first);
    } else {
        const double *values = host_read_fp64(from, first, count, workspace);

        host_write_fp64(to, destination, first, count, values);
    }
}

static tess_status convert_host(tess_context *ctx, int64_t n, tess_precision from, const void *source,
                                tess_precision to, void *destination)
{
    const tess_operand x = {source, from};

    if (from == to) { return copy_host(ctx, destination, source, (size_t)n * tess_precision_bytes(to)); }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > HOST_SERIAL_WORK)
    for (int64_t first = 0; first < n; first += CONVERT_RUN) {
        convert_run(x, to, destination, first, n - first < CONVERT_RUN ? (int)(n - first) : CONVERT_RUN);
    }
    return TESS_SUCCESS;
}

static void release_no_graph(tess_context *ctx, void *graph)
{
    (void)ctx;
    (void)graph;
}

static tess_status within_host(tess_context *ctx, tess_status (*call)(void *user), void *user)
{
    (void)ctx;
    return call(user);
}

static int64_t spare_host(tess_context *ctx)
{
    (void)ctx;
    return tess_spare_memory();
}

const tess_backend tess_host_backend = {
    .name = "cpu",
    .open = open_host,
    .close = close_host,
    .synchronize = synchronize_host,
    .trim = synchronize_host, /* the host keeps nothing */
    .stream = host_stream,
    .within = within_host,
    .allocate = allocate_host,
    .release = release_host,
    .spare = spare_host,
    .upload = copy_host,
    .download = copy_host,
    .copy = copy_host,
    .zero = zero_host,
    .fused = host_fused,
    .convert = convert_host,
    .fill = fill_host,
    .random = random_host,
    .run_loop = host_run_loop,
    .repeat = host_repeat,
    .release_graph = release_no_graph,
};
