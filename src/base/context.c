/* SPDX-License-Identifier: Apache-2.0 */
/* Context, its last error and its log. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <sys/mman.h>

#include <tessera/names.h>

#include "base/context.h"
#include "base/fork.h"
#include "base/options.h"
#include "base/threads.h"

#ifndef TESS_VERSION
#error "the build defines TESS_VERSION"
#endif

const char *tess_version(void)
{
    return TESS_VERSION;
}

int tess_version_number(void)
{
    return TESS_VERSION_NUMBER;
}

int tess_has_gpu_backend(void)
{
    return tess_gpu_backend_table() != NULL;
}

const char *tess_gpu_backend(void)
{
    const tess_backend *gpu = tess_gpu_backend_table();

    return gpu ? gpu->name : "none";
}

int tess_gpu_count(void)
{
    const tess_backend *gpu = tess_gpu_backend_table();

    return gpu ? gpu->count() : 0;
}

double tess_wall_seconds(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void tess_enter_phase(tess_context *ctx, tess_phase phase)
{
    if (!ctx->clock) { return; }
    ctx->phase = phase;
    if (ctx->device == TESS_DEVICE_CPU) {
        phase_stamp(ctx->clock, (int32_t)phase, (int64_t)(1e9 * tess_wall_seconds()));
    }
}

/* ---- default host allocator ---- */

/* Large arrays ask for huge pages: faulting in small pages takes longer than many a set-up computes. */
enum { HOST_ALIGNMENT = 64, HUGE_PAGE = 2 << 20, HUGE_PAGES = 2 };

static void *allocate_aligned(void *user, size_t bytes)
{
    const size_t alignment = bytes < (size_t)HUGE_PAGES * HUGE_PAGE ? HOST_ALIGNMENT : HUGE_PAGE;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = rounded < bytes ? NULL : aligned_alloc(alignment, rounded);

    (void)user;
#ifdef MADV_HUGEPAGE
    if (memory && alignment == HUGE_PAGE) { (void)madvise(memory, rounded, MADV_HUGEPAGE); }
#endif
    return memory;
}

static void release_aligned(void *user, void *pointer, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(pointer);
}

/* ---- create and destroy ---- */

void tess_context_options_init_sized(tess_context_options *options, size_t size)
{
    tess_context_options o;

    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    o.device = TESS_DEVICE_AUTO;
    o.device_index = -1;
    o.log_level = TESS_LOG_WARN;
    o.first_number = 1;
    options_init(options, size, &o, sizeof o);
}

static tess_status check_options(const tess_context_options *o)
{
    bool pairs = !o->host_allocator.allocate == !o->host_allocator.release &&
                 !o->device_allocator.allocate == !o->device_allocator.release;

    return pairs && o->threads >= 0 && o->threads <= TESS_MAX_THREADS && o->device >= TESS_DEVICE_AUTO &&
                   o->device <= TESS_DEVICE_GPU && o->log_level >= TESS_LOG_NONE && o->log_level <= TESS_LOG_DEBUG &&
                   (o->first_number == 0 || o->first_number == 1)
               ? TESS_SUCCESS
               : TESS_INVALID_ARGUMENT;
}

static tess_status open_device(tess_context *ctx, const tess_context_options *options)
{
    const tess_backend *gpu = tess_gpu_backend_table();
    tess_status status = TESS_NO_DEVICE;

    if (options->device != TESS_DEVICE_CPU && gpu) {
        ctx->device = TESS_DEVICE_GPU;
        ctx->backend = gpu;
        status = gpu->open(ctx, options);
        if (status != TESS_NO_DEVICE || options->device == TESS_DEVICE_GPU) { return status; }
    }
    if (options->device == TESS_DEVICE_GPU) { return TESS_NO_DEVICE; }
    ctx->device = TESS_DEVICE_CPU;
    ctx->backend = ctx->host;
    return ctx->backend->open(ctx, options);
}

static void choose_threads(tess_context *ctx, int asked)
{
    const int most = threads_by_default();
    const int wanted = asked ? asked : most < TESS_MAX_THREADS ? most : TESS_MAX_THREADS;

    const char *const dynamic = getenv("OMP_DYNAMIC");

    ctx->keeps_threads = dynamic && strcasecmp(dynamic, "false") == 0;
    if (fork_lost_threads()) { /* the next parallel region of several threads would not end */
        ctx->threads = ctx->most_threads = 1;
        return;
    }
    ctx->threads = ctx->most_threads = threads_that_start(wanted);
    if (ctx->threads < wanted) {
        tess_log(ctx, TESS_LOG_WARN,
                 "%s instead of %d: the system does not start so many (limits of processes or address space)",
                 tess_count(ctx->threads, "thread").text, wanted);
    }
}

tess_status tess_context_create(const tess_context_options *options, tess_context **out)
{
    if (!out) { return TESS_INVALID_ARGUMENT; }
    tess_context_options taken;
    tess_allocator host = {allocate_aligned, release_aligned, NULL};
    tess_context *ctx = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    if (options && (options->size < sizeof options->size || options->size > sizeof taken)) {
        return TESS_INVALID_ARGUMENT;
    }
    tess_context_options_init(&taken);
    options_take(NULL, "tess_context_options", options, &taken, sizeof taken); /* its size is right */
    options = &taken;
    if (check_options(options) != TESS_SUCCESS) { return TESS_INVALID_ARGUMENT; }
    host = options->host_allocator.allocate ? options->host_allocator : host;
    ctx = host.allocate(host.user, sizeof *ctx);
    if (!ctx) { return TESS_OUT_OF_MEMORY; }
    memset(ctx, 0, sizeof *ctx);
    ctx->holders = 1;
    ctx->host_allocator = host;
    ctx->kept.enabled = !options->host_allocator.allocate;
    ctx->device_allocator = options->device_allocator;
    ctx->log = options->log;
    ctx->log_user = options->log_user;
    ctx->log_level = options->log_level;
    ctx->first_number = options->first_number;
    choose_threads(ctx, options->threads);
    fork_watch(ctx);
    ctx->host = &tess_host_backend;
    TESS_TRY(open_device(ctx, options));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *ctx->scratch_state, (void **)&ctx->scratch_state));
    TESS_TRY(ctx->backend->zero(ctx, ctx->scratch_state, sizeof *ctx->scratch_state));
    ctx->peak_bytes = 0;
    ctx->held_bytes = 0;
    *out = ctx;
cleanup:
    if (status != TESS_SUCCESS) { tess_context_destroy(ctx); }
    return status;
}

void tess_context_hold(tess_context *ctx)
{
    ctx->holders += 1;
}

void tess_context_destroy(tess_context *ctx)
{
    tess_allocator host;

    if (!ctx) { return; }
    ctx->holders -= 1;
    if (ctx->holders > 0) { return; }
    host = ctx->host_allocator;
    fork_forget(ctx);
    tess_device_release(ctx, ctx->scratch_state, 1, sizeof *ctx->scratch_state);
    if (ctx->backend) { ctx->backend->close(ctx); }
    tess_host_trim(ctx);
    host.release(host.user, ctx, sizeof *ctx);
}

tess_status tess_context_synchronize(tess_context *ctx)
{
    TESS_REQUIRE(NULL, ctx);
    return ctx->backend->synchronize(ctx);
}

tess_status tess_context_trim(tess_context *ctx)
{
    TESS_REQUIRE(NULL, ctx);
    tess_host_trim(ctx);
    return ctx->backend->trim(ctx);
}

const tess_error *tess_context_last_error(const tess_context *ctx)
{
    static const tess_error no_context = {.status = TESS_INVALID_ARGUMENT,
                                          .message = "there is no context: the pointer is NULL"};

    return ctx ? &ctx->error : &no_context;
}

tess_device tess_context_device(const tess_context *ctx)
{
    if (!ctx) { return TESS_DEVICE_AUTO; }
    return ctx->device;
}

const char *tess_context_device_name(const tess_context *ctx)
{
    if (!ctx) { return ""; }
    return ctx->device_name;
}

const char *tess_context_gpu_id(const tess_context *ctx)
{
    if (!ctx) { return ""; }
    return ctx->gpu_id;
}

int tess_context_threads(const tess_context *ctx)
{
    if (!ctx) { return 0; }
    return ctx->most_threads;
}

void *tess_context_stream(const tess_context *ctx)
{
    if (!ctx) { return NULL; }
    return ctx->backend->stream(ctx);
}

int64_t tess_context_peak_bytes(const tess_context *ctx)
{
    if (!ctx) { return 0; }
    return ctx->peak_bytes;
}

/* ---- errors and log ---- */

static void record_error(tess_context *ctx, tess_status status, const char *hint, const char *format, va_list args)
{
    tess_error *e = &ctx->error;

    memset(e, 0, sizeof *e);
    e->status = status;
    vsnprintf(e->message, sizeof e->message, format, args);
    if (hint) { snprintf(e->hint, sizeof e->hint, "%s", hint); }
}

tess_status tess_fail(tess_context *ctx, tess_status status, const char *hint, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record_error(ctx, status, hint, format, args);
    va_end(args);
    return status;
}

tess_status tess_fail_here(tess_context *ctx, const char *hint, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record_error(ctx, TESS_UNSUPPORTED, hint, format, args);
    va_end(args);
    ctx->error.circumstance = 1;
    return TESS_UNSUPPORTED;
}

tess_status tess_fail_null(tess_context *ctx, const char *function, const char *argument)
{
    if (!ctx) { return TESS_INVALID_ARGUMENT; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                     "pass an object or an array; include/tessera says what each argument is",
                     "%s: the argument %s is NULL", function, argument);
}

tess_status tess_fail_at(tess_context *ctx, tess_status status, const char *file, int64_t line, const char *hint,
                         const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record_error(ctx, status, hint, format, args);
    va_end(args);
    snprintf(ctx->error.file, sizeof ctx->error.file, "%s", file ? file : "");
    ctx->error.line = line;
    return status;
}

void tess_log(tess_context *ctx, tess_log_level level, const char *format, ...)
{
    char message[512];
    va_list args;

    if (!ctx->log || level > ctx->log_level) { return; }
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ctx->log(ctx->log_user, level, message);
}
