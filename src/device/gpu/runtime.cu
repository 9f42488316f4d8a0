/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU backend: device, memory, conversions, and its table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gpu_found.h"
#include "base/random.h"
#include "base/stages.h"
#include "device/gpu/gpu.h"

tess_status gpu_check(tess_context *ctx, GPU(Error_t) error, const char *doing)
{
    tess_status status = error == GPU(ErrorMemoryAllocation) ? TESS_OUT_OF_DEVICE_MEMORY : TESS_DEVICE;

    if (error == GPU(Success)) { return TESS_SUCCESS; }
    (void)GPU(GetLastError)(); /* clears an error that is not sticky, so that the next call does not report it */
    return tess_fail(ctx, status, NULL, "%s failed on %s: %s (%s)", doing, ctx->device_name, GPU(GetErrorString)(error),
                     GPU(GetErrorName)(error));
}

tess_status gpu_check_wait(tess_context *ctx, GPU(Error_t) error, const char *doing)
{
    const gpu_state *state = gpu_state_of(ctx);
    tess_status status = gpu_check(ctx, error, doing);

    if (status != TESS_SUCCESS || *state->timed_out == 0) { return status; }
    *state->timed_out = 0;
    status = ctx->backend->zero(ctx, state->timeout.failure, sizeof *state->timeout.failure);
    if (status != TESS_SUCCESS) { return status; }
    return tess_fail(
        ctx, TESS_DEVICE, "use a preconditioner without triangular solves, such as jacobi",
        "a triangular solve or a factorization gave up: one block of threads waited %g s for another on %s",
        1e-9 * (double)state->timeout.nanoseconds, ctx->device_name);
}

tess_status gpu_check_launch(tess_context *ctx, const char *kernel)
{
    tess_status status = gpu_check(ctx, GPU(GetLastError)(), kernel);

    gpu_state_of(ctx)->launches += 1;
    return status == TESS_SUCCESS ? tess_stage_end(ctx, kernel) : status;
}

/* ---- device and stream ---- */

static int count_gpus(void)
{
    int count = 0;

    if (GPU(GetDeviceCount)(&count) == GPU(Success)) { return count; }
    (void)GPU(GetLastError)();
    return 0;
}

static tess_status choose_device(const tess_context_options *options, int *device)
{
    const int count = count_gpus();

    if (count == 0) { return TESS_NO_DEVICE; }
    *device = options->device_index;
    if (*device < 0 && GPU(GetDevice)(device) != GPU(Success)) { return TESS_NO_DEVICE; }
    return *device < count ? TESS_SUCCESS : TESS_NO_DEVICE;
}

tess_status gpu_allocate_mapped(tess_context *ctx, size_t bytes, gpu_mapped *out)
{
    tess_status status = TESS_SUCCESS;

    *out = {NULL, NULL};
    TESS_TRY(gpu_check(ctx, GPU_HOST_ALLOC_MAPPED(&out->host, bytes), "allocating mapped memory"));
    status = gpu_check(ctx, GPU(HostGetDevicePointer)(&out->device, out->host, 0), "mapping memory");
    if (status != TESS_SUCCESS) {
        (void)GPU_HOST_FREE(out->host);
        *out = {NULL, NULL};
    }
cleanup:
    return status;
}

static tess_status make_timeout(tess_context *ctx, gpu_state *state)
{
    gpu_mapped timed_out = {NULL, NULL};
    tess_status status = TESS_SUCCESS;

    state->timeout.nanoseconds = TESS_WAIT_TIMEOUT_NANOSECONDS;
    TESS_TRY(gpu_allocate_mapped(ctx, sizeof(int32_t), &timed_out));
    state->timed_out = (volatile int32_t *)timed_out.host;
    *state->timed_out = 0;
    state->timeout.timed_out = (int32_t *)timed_out.device;
    state->timeout.failure = (uint64_t *)ctx->backend->allocate(ctx, sizeof(uint64_t));
    if (!state->timeout.failure) { return TESS_OUT_OF_DEVICE_MEMORY; }
    status = ctx->backend->zero(ctx, state->timeout.failure, sizeof(uint64_t));
cleanup:
    return status;
}

/* Two digits a byte. */
static void write_id(tess_context *ctx, const gpu_properties *properties)
{
    unsigned char bytes[GPU_ID_BYTES];

    static_assert(2 * sizeof bytes < sizeof ctx->gpu_id, "the digits fit");
    gpu_id_bytes(properties, bytes);
    for (size_t k = 0; k < sizeof bytes; k++) {
        snprintf(ctx->gpu_id + 2 * k, 3, "%02x", bytes[k]);
    }
}

static tess_status fill_state(tess_context *ctx, const tess_context_options *options, gpu_state *state)
{
    gpu_properties properties;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_check(ctx, GPU(GetDeviceProperties)(&properties, state->device), "reading device properties"));
    state->multiprocessors = properties.multiProcessorCount;
    state->shared_bytes = (int64_t)GPU_SHARED_PER_MULTIPROCESSOR(properties);
    state->shared_bytes_per_block = (int64_t)GPU_SHARED_PER_BLOCK(properties);
    state->can_overlap = properties.major >= GPU_OVERLAP_CAPABILITY;
    snprintf(ctx->device_name, sizeof ctx->device_name, "%s", properties.name);
    write_id(ctx, &properties);
    state->stream = (GPU(Stream_t))options->stream;
    if (!state->stream) {
        TESS_TRY(
            gpu_check(ctx, GPU(StreamCreateWithFlags)(&state->stream, GPU(StreamNonBlocking)), "creating a stream"));
        state->owns_stream = true;
    }
    gpu_pool_open(&state->pool, state->device, properties.totalGlobalMem, state->stream);
    state->ticket = (unsigned *)ctx->backend->allocate(ctx, sizeof(unsigned));
    if (!state->ticket) { return TESS_OUT_OF_DEVICE_MEMORY; }
    TESS_TRY(ctx->backend->zero(ctx, state->ticket, sizeof(unsigned)));
    TESS_TRY(gpu_allocate_mapped(ctx, GPU_MAPPED_BYTES, &state->mapped));
    status = make_timeout(ctx, state);
cleanup:
    return status;
}

tess_status gpu_allow_shared(tess_context *ctx, const void *kernel)
{
    gpu_state *state = gpu_state_of(ctx);
    const void **known = &state->sharing[(uintptr_t)kernel / 16 % GPU_SHARING_KERNELS];
    tess_status status = TESS_SUCCESS;

    if (*known == kernel) { return TESS_SUCCESS; }
    TESS_TRY(gpu_check(ctx,
                       GPU(FuncSetAttribute)(kernel, GPU(FuncAttributeMaxDynamicSharedMemorySize),
                                             (int)state->shared_bytes_per_block - GPU_STATIC_SHARED),
                       "asking for shared memory"));
    TESS_TRY(gpu_check(ctx, GPU(FuncSetAttribute)(kernel, GPU(FuncAttributePreferredSharedMemoryCarveout), 100),
                       "preferring shared memory"));
    *known = kernel;
cleanup:
    return status;
}

static void release_workspace(tess_context *ctx, gpu_workspace *workspace)
{
    tess_device_release(ctx, workspace->memory, workspace->bytes, 1);
    for (int r = 0; r < workspace->nretired; r++) {
        tess_device_release(ctx, workspace->retired[r], workspace->retired_bytes[r], 1);
    }
}

static void close_gpu(tess_context *ctx)
{
    gpu_state *state = gpu_state_of(ctx);

    if (!state) { return; }
    {
        gpu_scope scope(ctx);

        if (state->stream) { (void)GPU(StreamSynchronize)(state->stream); }
        if (state->ticket) { ctx->backend->release(ctx, state->ticket, sizeof(unsigned)); }
        if (state->timeout.failure) { ctx->backend->release(ctx, state->timeout.failure, sizeof(uint64_t)); }
        if (state->timed_out) { (void)GPU_HOST_FREE((void *)(uintptr_t)state->timed_out); }
        if (state->mapped.host) { (void)GPU_HOST_FREE(state->mapped.host); }
        for (int i = 0; i < state->mailboxes; i++) {
            (void)GPU_HOST_FREE(state->mailbox[i].host);
        }
        if (state->recorder) { (void)GPU(StreamDestroy)(state->recorder); }
        release_workspace(ctx, &state->partials);
        release_workspace(ctx, &state->parts);
        release_workspace(ctx, &state->solves);
        gpu_pool_close(&state->pool);
        if (state->owns_stream) { (void)GPU(StreamDestroy)(state->stream); }
    }
    tess_host_release(ctx, state, 1, sizeof *state);
    ctx->device_state = NULL;
}

static tess_status open_gpu(tess_context *ctx, const tess_context_options *options)
{
    gpu_state *state = NULL;
    int device = -1;
    tess_status status = choose_device(options, &device);

    if (status != TESS_SUCCESS) { return status; }
    status = tess_host_allocate(ctx, 1, sizeof *state, (void **)&state);
    if (status != TESS_SUCCESS) { return status; }
    memset(state, 0, sizeof *state);
    state->device = device;
    ctx->device_state = state;
    {
        gpu_scope scope(ctx);

        status = fill_state(ctx, options, state);
    }
    if (status != TESS_SUCCESS) { close_gpu(ctx); }
    return status;
}

static tess_status synchronize_gpu(tess_context *ctx)
{
    gpu_scope scope(ctx);

    return gpu_check_wait(ctx, GPU(StreamSynchronize)(gpu_stream_of(ctx)), "waiting for queued work");
}

static tess_status trim_gpu(tess_context *ctx)
{
    gpu_scope scope(ctx);
    tess_status status = synchronize_gpu(ctx);

    if (status == TESS_SUCCESS) { gpu_pool_trim(&gpu_state_of(ctx)->pool); }
    return status;
}

static void *stream_gpu(const tess_context *ctx)
{
    return (void *)gpu_stream_of(ctx);
}

/* ---- memory ---- */

static void *allocate_gpu(tess_context *ctx, size_t bytes)
{
    gpu_scope scope(ctx);
    const tess_allocator *own = &ctx->device_allocator;

    return own->allocate ? own->allocate(own->user, bytes) : gpu_pool_take(&gpu_state_of(ctx)->pool, bytes);
}

static void release_gpu(tess_context *ctx, void *pointer, size_t bytes)
{
    gpu_scope scope(ctx);
    const tess_allocator *own = &ctx->device_allocator;

    if (own->release) {
        (void)GPU(StreamSynchronize)(gpu_stream_of(ctx)); /* the user's allocator may reuse it at once */
        (void)GPU(GetLastError)();
        own->release(own->user, pointer, bytes);
    } else {
        gpu_pool_give(&gpu_state_of(ctx)->pool, pointer, bytes);
    }
}

static tess_status transfer(tess_context *ctx, void *destination, const void *source, size_t bytes,
                            GPU(MemcpyKind) kind, const char *doing)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    if (bytes == 0) { return TESS_SUCCESS; }
    status = gpu_check(ctx, GPU(MemcpyAsync)(destination, source, bytes, kind, gpu_stream_of(ctx)), doing);
    if (status == TESS_SUCCESS && kind != GPU(MemcpyDeviceToDevice)) {
        status = gpu_check_wait(ctx, GPU(StreamSynchronize)(gpu_stream_of(ctx)), doing);
    }
    return status == TESS_SUCCESS ? tess_stage_end(ctx, doing) : status;
}

/* Data that travels to the device as a kernel's argument, so that nothing on the context's stream needs to wait. */
struct small_bytes {
    unsigned char byte[512];
};

__global__ static void __launch_bounds__(sizeof(small_bytes))
    store_small_kernel(unsigned char *to, const small_bytes from, unsigned count)
{
    if (threadIdx.x < count) { to[threadIdx.x] = from.byte[threadIdx.x]; }
}

static tess_status upload_gpu(tess_context *ctx, void *device, const void *host, size_t bytes)
{
    static const char doing[] = "copying to the device";
    small_bytes small;

    if (bytes > sizeof small) { return transfer(ctx, device, host, bytes, GPU(MemcpyHostToDevice), doing); }
    if (bytes == 0) { return TESS_SUCCESS; }
    gpu_scope scope(ctx);

    memcpy(small.byte, host, bytes);
    memset(small.byte + bytes, 0, sizeof small - bytes);
    store_small_kernel<<<1, (unsigned)sizeof small, 0, gpu_stream_of(ctx)>>>((unsigned char *)device, small,
                                                                             (unsigned)bytes);
    return gpu_check_launch(ctx, doing);
}

__global__ static void __launch_bounds__(sizeof(small_bytes))
    fetch_small_kernel(unsigned char *to, const unsigned char *from, unsigned count)
{
    if (threadIdx.x < count) { to[threadIdx.x] = from[threadIdx.x]; }
}

/* Small data goes through mapped memory that the device can write: the driver copies to other memory in pieces of its
   own, and a kernel follows another kernel sooner than it follows a copy. */
static tess_status download_gpu(tess_context *ctx, void *host, const void *device, size_t bytes)
{
    static const char doing[] = "copying from the device";
    const gpu_state *state = gpu_state_of(ctx);
    tess_status status = TESS_SUCCESS;

    if (bytes > GPU_MAPPED_BYTES) { return transfer(ctx, host, device, bytes, GPU(MemcpyDeviceToHost), doing); }
    if (bytes > sizeof(small_bytes)) {
        status = transfer(ctx, state->mapped.host, device, bytes, GPU(MemcpyDeviceToHost), doing);
    } else if (bytes > 0) {
        gpu_scope scope(ctx);

        fetch_small_kernel<<<1, (unsigned)sizeof(small_bytes), 0, state->stream>>>(
            (unsigned char *)state->mapped.device, (const unsigned char *)device, (unsigned)bytes);
        status = gpu_check(ctx, GPU(GetLastError)(), doing);
        if (status == TESS_SUCCESS) { status = gpu_check_wait(ctx, GPU(StreamSynchronize)(state->stream), doing); }
        if (status == TESS_SUCCESS) { status = tess_stage_end(ctx, doing); }
    }
    if (status == TESS_SUCCESS && bytes > 0) { memcpy(host, state->mapped.host, bytes); }
    return status;
}

static tess_status copy_gpu(tess_context *ctx, void *destination, const void *source, size_t bytes)
{
    return transfer(ctx, destination, source, bytes, GPU(MemcpyDeviceToDevice), "copying on the device");
}

static tess_status zero_gpu(tess_context *ctx, void *pointer, size_t bytes)
{
    static const char doing[] = "clearing device memory";
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    if (bytes == 0) { return TESS_SUCCESS; }
    status = gpu_check(ctx, GPU(MemsetAsync)(pointer, 0, bytes, gpu_stream_of(ctx)), doing);
    return status == TESS_SUCCESS ? tess_stage_end(ctx, doing) : status;
}

tess_status gpu_workspace_reserve(tess_context *ctx, gpu_workspace *workspace, int64_t bytes, bool zeroed)
{
    int64_t wanted = bytes > 2 * workspace->bytes ? bytes : 2 * workspace->bytes;
    void *memory = NULL;
    tess_status status = TESS_SUCCESS;

    if (bytes <= workspace->bytes) { return TESS_SUCCESS; }
    status = tess_device_allocate(ctx, wanted, 1, &memory);
    if (status == TESS_SUCCESS && zeroed) { status = ctx->backend->zero(ctx, memory, (size_t)wanted); }
    if (status != TESS_SUCCESS) {
        tess_device_release(ctx, memory, wanted, 1);
        return status;
    }
    if (workspace->memory) {
        workspace->retired[workspace->nretired] = workspace->memory;
        workspace->retired_bytes[workspace->nretired++] = workspace->bytes;
    }
    workspace->memory = memory;
    workspace->bytes = wanted;
    return TESS_SUCCESS;
}

tess_status gpu_partials(tess_context *ctx, int64_t count, double **out)
{
    gpu_workspace *workspace = &gpu_state_of(ctx)->partials;
    tess_status status = gpu_workspace_reserve(ctx, workspace, count * (int64_t)sizeof(double), false);

    *out = (double *)workspace->memory;
    return status;
}

tess_status gpu_parts(tess_context *ctx, int64_t count, double **out)
{
    gpu_workspace *workspace = &gpu_state_of(ctx)->parts;
    tess_status status = gpu_workspace_reserve(ctx, workspace, count * (int64_t)sizeof(double), false);

    *out = (double *)workspace->memory;
    return status;
}

/* ---- element-wise ---- */

__global__ static void fill_kernel(int64_t n, double value, double *destination)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        destination[i] = value;
    }
}

__global__ static void random_kernel(int64_t n, uint64_t seed, double low, double high, double *destination)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        destination[i] = tess_random_in(seed, (uint64_t)i, low, high);
    }
}

static tess_status fill_gpu(tess_context *ctx, int64_t n, double value, double *destination)
{
    gpu_scope scope(ctx);

    fill_kernel<<<gpu_grid(ctx, n, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, value, destination);
    return gpu_check_launch(ctx, "filling a vector");
}

static tess_status random_gpu(tess_context *ctx, int64_t n, uint64_t seed, double low, double high, double *destination)
{
    gpu_scope scope(ctx);

    random_kernel<<<gpu_grid(ctx, n, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, seed, low, high, destination);
    return gpu_check_launch(ctx, "filling a vector with random numbers");
}

/* A scaling by 1 converts between operands of different precisions. */
static tess_status convert_gpu(tess_context *ctx, int64_t n, tess_precision from, const void *source, tess_precision to,
                               void *destination)
{
    tess_fused op = {};

    if (from == to) { return copy_gpu(ctx, destination, source, (size_t)n * tess_precision_bytes(to)); }
    op.op = TESS_FUSED_SCALE;
    op.n = n;
    op.x.data = source;
    op.x.precision = from;
    op.y.precision = to;
    op.result = destination;
    op.a = 1.0;
    return gpu_fused(ctx, &op);
}

/* ---- the table ---- */

static tess_status within_gpu(tess_context *ctx, tess_status (*call)(void *user), void *user)
{
    const gpu_scope scope(ctx);

    return call(user);
}

static int64_t spare_gpu(tess_context *ctx)
{
    const gpu_scope scope(ctx);
    size_t spare = 0, total = 0;

    if (GPU(MemGetInfo)(&spare, &total) != GPU(Success)) { return INT64_MAX; }
    return (int64_t)(spare + gpu_pool_unused(&gpu_state_of(ctx)->pool));
}

static tess_backend make_table()
{
    tess_backend t;

    memset(&t, 0, sizeof t);
    t.name = GPU_NAME;
    t.count = count_gpus;
    t.open = open_gpu;
    t.close = close_gpu;
    t.synchronize = synchronize_gpu;
    t.trim = trim_gpu;
    t.stream = stream_gpu;
    t.within = within_gpu;
    t.allocate = allocate_gpu;
    t.release = release_gpu;
    t.spare = spare_gpu;
    t.upload = upload_gpu;
    t.download = download_gpu;
    t.copy = copy_gpu;
    t.zero = zero_gpu;
    t.fused = gpu_fused;
    t.convert = convert_gpu;
    t.fill = fill_gpu;
    t.random = random_gpu;
    t.run_loop = gpu_run_loop;
    t.repeat = gpu_repeat;
    t.release_graph = gpu_release_graph;
    return t;
}

/* A variable that hides all GPUs is empty or begins with a negative number. */
static bool is_hidden(const char *variable)
{
    const char *value = getenv(variable);

    return value && (value[0] == '\0' || value[0] == '-');
}

extern "C" bool tess_gpu_is_found(void)
{
    static const char *const nodes[] = {GPU_NODES};

    for (const char *node : nodes) {
        if (access(node, F_OK) == 0) { return !is_hidden(GPU_VISIBLE); }
    }
    return false;
}

extern "C" const tess_backend *tess_gpu_backend_table(void)
{
    static const tess_backend table = make_table();

    return &table;
}
