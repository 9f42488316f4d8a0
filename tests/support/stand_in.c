/* SPDX-License-Identifier: Apache-2.0 */
#include "support/stand_in.h"

#include "base/context.h"

static stand_in *of(const tess_context *ctx)
{
    return ctx->device_allocator.user;
}

/* Every operation begins with this. */
static tess_status count_call(tess_context *ctx, const char *name)
{
    stand_in *s = of(ctx);

    if (s->calls++ != s->fail_at) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_DEVICE, NULL, "the stand-in was told to fail: %s", name);
}

static void check_place(tess_context *ctx, const void *pointer, size_t bytes, bool on_device)
{
    stand_in *s = of(ctx);

    if (bytes > 0 && heap_holds(&s->memory, pointer, bytes) != on_device) { s->misplaced += 1; }
}

static void *allocate(tess_context *ctx, size_t bytes)
{
    const tess_allocator a = heap_allocator(&of(ctx)->memory);

    return a.allocate(a.user, bytes);
}

static void release(tess_context *ctx, void *pointer, size_t bytes)
{
    const tess_allocator a = heap_allocator(&of(ctx)->memory);

    a.release(a.user, pointer, bytes);
}

static tess_status synchronize(tess_context *ctx)
{
    return count_call(ctx, "synchronize");
}

static tess_status upload(tess_context *ctx, void *device, const void *host, size_t bytes)
{
    const tess_status status = count_call(ctx, "upload");

    check_place(ctx, device, bytes, true);
    check_place(ctx, host, bytes, false);
    return status == TESS_SUCCESS ? ctx->host->upload(ctx, device, host, bytes) : status;
}

static tess_status download(tess_context *ctx, void *host, const void *device, size_t bytes)
{
    const tess_status status = count_call(ctx, "download");

    check_place(ctx, device, bytes, true);
    check_place(ctx, host, bytes, false);
    return status == TESS_SUCCESS ? ctx->host->download(ctx, host, device, bytes) : status;
}

static tess_status copy(tess_context *ctx, void *destination, const void *source, size_t bytes)
{
    const tess_status status = count_call(ctx, "copy");

    check_place(ctx, destination, bytes, true);
    check_place(ctx, source, bytes, true);
    return status == TESS_SUCCESS ? ctx->host->copy(ctx, destination, source, bytes) : status;
}

static tess_status zero(tess_context *ctx, void *pointer, size_t bytes)
{
    const tess_status status = count_call(ctx, "zero");

    check_place(ctx, pointer, bytes, true);
    return status == TESS_SUCCESS ? ctx->host->zero(ctx, pointer, bytes) : status;
}

static tess_status fused(tess_context *ctx, const tess_fused *op)
{
    const tess_status status = count_call(ctx, "fused");

    return status == TESS_SUCCESS ? ctx->host->fused(ctx, op) : status;
}

static tess_status convert(tess_context *ctx, int64_t n, tess_precision from, const void *source, tess_precision to,
                           void *destination)
{
    const tess_status status = count_call(ctx, "convert");

    check_place(ctx, source, (size_t)n * tess_precision_bytes(from), true);
    check_place(ctx, destination, (size_t)n * tess_precision_bytes(to), true);
    return status == TESS_SUCCESS ? ctx->host->convert(ctx, n, from, source, to, destination) : status;
}

static tess_status fill(tess_context *ctx, int64_t n, double value, double *destination)
{
    const tess_status status = count_call(ctx, "fill");

    check_place(ctx, destination, (size_t)n * sizeof *destination, true);
    return status == TESS_SUCCESS ? ctx->host->fill(ctx, n, value, destination) : status;
}

static tess_status randomize(tess_context *ctx, int64_t n, uint64_t seed, double low, double high, double *destination)
{
    const tess_status status = count_call(ctx, "random");

    check_place(ctx, destination, (size_t)n * sizeof *destination, true);
    return status == TESS_SUCCESS ? ctx->host->random(ctx, n, seed, low, high, destination) : status;
}

static tess_status run_loop(tess_context *ctx, tess_loop *loop)
{
    const tess_status status = count_call(ctx, "run_loop");

    return status == TESS_SUCCESS ? ctx->host->run_loop(ctx, loop) : status;
}

static tess_status repeat(tess_context *ctx, tess_status (*body)(void *user), void *user, int64_t count,
                          void **graph_slot)
{
    const tess_status status = count_call(ctx, "repeat");

    return status == TESS_SUCCESS ? ctx->host->repeat(ctx, body, user, count, graph_slot) : status;
}

bool stand_in_is_possible(void)
{
    if (!tess_has_gpu_backend()) { return true; }
    print_message("SKIPPED: this build has a GPU backend, so nothing can stand in for it\n");
    return false;
}

tess_context *open_stand_in(stand_in *s, heap *host, int threads)
{
    static tess_backend table; /* the same for all */
    tess_context_options options;
    tess_context *ctx = NULL;

    *s = (stand_in){.memory = {.fail_at = -1}, .fail_at = -1};
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = threads;
    if (host) { options.host_allocator = heap_allocator(host); }
    assert_ok(NULL, tess_context_create(&options, &ctx));
    table = tess_host_backend;
    table.name = "stand-in";
    table.synchronize = table.trim = synchronize;
    table.allocate = allocate;
    table.release = release;
    table.upload = upload;
    table.download = download;
    table.copy = copy;
    table.zero = zero;
    table.fused = fused;
    table.convert = convert;
    table.fill = fill;
    table.random = randomize;
    table.run_loop = run_loop;
    table.repeat = repeat;
    /* What the context holds on its device moves. */
    tess_device_release(ctx, ctx->scratch_state, 1, sizeof *ctx->scratch_state);
    ctx->device_allocator.user = s;
    ctx->device = TESS_DEVICE_GPU;
    ctx->backend = &table;
    snprintf(ctx->device_name, sizeof ctx->device_name, "stand-in");
    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof *ctx->scratch_state, (void **)&ctx->scratch_state));
    assert_ok(ctx, table.zero(ctx, ctx->scratch_state, sizeof *ctx->scratch_state));
    ctx->held_bytes = ctx->peak_bytes = 0;
    return ctx;
}

tess_context *open_stand_in_as_gpu(void)
{
    enum { MOST = 1024 };
    static stand_in devices[MOST]; /* of contexts that may be destroyed in any order */
    static int count = 0;

    if (!getenv("TESSERA_STAND_IN") || tess_has_gpu_backend()) { return NULL; }
    assert_true(count < MOST);
    return open_stand_in(&devices[count++], NULL, 1);
}

void stand_in_fail_at(stand_in *s, int64_t k)
{
    s->calls = 0;
    s->fail_at = k;
}

/* Triangular solves by the host need a plan of the host, which a matrix on a device does not have. */
bool stand_in_takes(const char *scenario)
{
    static const char *const names[] = {"ilu0",
                                        "ic0",
                                        "merged levels",
                                        "ic0 by the host, with shifts",
                                        "merged levels of factors of the host",
                                        "factors whose triangles are swept",
                                        "factors by sweeps",
                                        "factors by colors",
                                        "ilut",
                                        "ict",
                                        "iluk"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(scenario, names[i]) == 0) { return false; }
    }
    return true;
}
