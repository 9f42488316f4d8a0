/* SPDX-License-Identifier: Apache-2.0 */
/* The context, errors, memory and phases, for the library's own sources. */
#ifndef TESS_BASE_CONTEXT_H
#define TESS_BASE_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/phase.h>
#include <tessera/precision.h>

#include "base/busy.h"
#include "base/device.h"
#include "base/phases.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Released host arrays, oldest first. The system has mapped their memory already, so using them again is cheap. */
enum { TESS_KEPT_ARRAYS = 64 };

typedef struct tess_kept_array {
    void *memory;
    size_t bytes;
} tess_kept_array;

typedef struct tess_kept_arrays {
    bool enabled; /* the allocator is our own */
    int count;
    size_t bytes;
    tess_kept_array array[TESS_KEPT_ARRAYS];
} tess_kept_arrays;

struct tess_context {
    int64_t holders;    /* the caller and each object: the last one frees the context */
    tess_device device; /* of the CPU or of the GPU */
    const tess_backend *backend;
    const tess_backend *host; /* always the host backend */
    int threads;              /* of the next parallel loop */
    int most_threads;         /* the context's number */
    bool keeps_threads;       /* whatever else runs */
    busy_times busy;          /* base/busy.h: when it last looked */
    tess_allocator host_allocator, device_allocator;
    tess_kept_arrays kept;
    tess_log_function log;
    void *log_user;
    tess_log_level log_level;
    int first_number; /* of rows and columns in messages: 0 or 1 */
    tess_error error;
    int64_t held_bytes, peak_bytes; /* in the memory of the context's device */
    char device_name[256];
    char gpu_id[40];                /* hexadecimal digits; empty on the host */
    void *device_state;             /* the backend's own: stream, events, scratch */
    tess_loop_state *scratch_state; /* on the device: results of reductions outside loops */
    tess_phase_clock *clock;        /* on the device; NULL: time is not measured */
    tess_phase phase;               /* of the work that is enqueued next */
    struct tess_stages *stages;     /* base/stages.h; NULL: no stages are recorded */
    double deadline;                /* base/deadline.h, by tess_wall_seconds; 0: none */
    const volatile int *interrupt;  /* likewise: set-ups end when it is not 0; NULL: there is none */
    tess_interrupt_check check;     /* likewise: the caller's; NULL: there is none */
    void *check_user;
    pthread_t checker;                    /* the thread that calls it */
    int64_t next_check;                   /* in milliseconds, by a coarse clock */
    int stopped;                          /* the check said so; all threads read it */
    bool forked;                          /* in a child of the process that made the context (base/fork.h) */
    struct tess_context *previous, *next; /* in the list of all contexts (base/fork.c) */
};

/* ---- errors and log ---- */

/* Records the failure and returns `status`, so that callers write `return tess_fail(...)`. hint may be NULL. */
tess_status tess_fail(tess_context *ctx, tess_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for UNSUPPORTED where not the request is to blame: tess_error.circumstance is 1. */
tess_status tess_fail_here(tess_context *ctx, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a place in an input file; line 0: the file as a whole. */
tess_status tess_fail_at(tess_context *ctx, tess_status status, const char *file, int64_t line, const char *hint,
                         const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The number of a row or column in messages, as the caller counts. */
static inline long long tess_number(const tess_context *ctx, int64_t index)
{
    return (long long)index + ctx->first_number;
}

void tess_log(tess_context *ctx, tess_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The first lines of public functions: NULL where something is needed is INVALID_ARGUMENT, recorded in `ctx` unless
   that is NULL as well. */
#define TESS_REQUIRE(ctx, argument)                                             \
    do {                                                                        \
        if (!(argument)) { return tess_fail_null((ctx), __func__, #argument); } \
    } while (0)
/* The same for a function that makes an object from `from`: *out is NULL until it is made. */
#define TESS_REQUIRE_OUT(ctx, from, out) \
    do {                                 \
        TESS_REQUIRE(ctx, out);          \
        *(out) = NULL;                   \
        TESS_REQUIRE(NULL, from);        \
    } while (0)
tess_status tess_fail_null(tess_context *ctx, const char *function, const char *argument);

/* Evaluates a call; on failure leaves it in `status` and goes to `cleanup`. */
#define TESS_TRY(call)                                \
    do {                                              \
        status = (call);                              \
        if (status != TESS_SUCCESS) { goto cleanup; } \
    } while (0)

/* Work that is enqueued from now on belongs to `phase`. */
void tess_enter_phase(tess_context *ctx, tess_phase phase);

/* An object keeps its context until it is destroyed, whatever the order in which the caller destroys them. */
void tess_context_hold(tess_context *ctx);

/* ---- memory ---- */

/* Host memory through the context's allocator. On failure the error is recorded and *out is NULL. count * size is
   checked for overflow; count 0 gives a valid pointer. */
tess_status tess_host_allocate(tess_context *ctx, int64_t count, size_t size, void **out);
void tess_host_release(tess_context *ctx, const void *pointer, int64_t count, size_t size);
/* Frees the arrays that the context keeps. */
void tess_host_trim(tess_context *ctx);
/* Memory of the context's device (host memory for a CPU context). */
tess_status tess_device_allocate(tess_context *ctx, int64_t count, size_t size, void **out);
void tess_device_release(tess_context *ctx, const void *pointer, int64_t count, size_t size);
/* A copy of a host array on the device. Release it, also after a failure. */
tess_status tess_device_upload(tess_context *ctx, const void *host, int64_t count, size_t size, void **out);

double tess_wall_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
