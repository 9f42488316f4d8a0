/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file context.h  The context: device, stream, allocators, threads, log and last error.
 *
 *     tess_context_create(NULL, &ctx);                       a GPU if there is one, else the CPU
 *     ...
 *     fprintf(stderr, "%s\n", tess_context_last_error(ctx)->message);
 *     tess_context_destroy(ctx);
 *
 * Every object belongs to one context and keeps it: the last one that is destroyed frees it. One thread at a time may
 * use a context and its objects. Different contexts are independent, and may share a matrix (tess_matrix_share). The
 * library has no global state, never prints, and leaves the caller's current CUDA device and OpenMP settings alone.
 */
#ifndef TESSERA_CONTEXT_H
#define TESSERA_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>
#include <tessera/version.h>

TESS_BEGIN_DECLS

typedef struct tess_context tess_context;

/** Most host threads of a context. */
enum { TESS_MAX_THREADS = 4096 };

/** Where a context computes. */
typedef enum tess_device {
    TESS_DEVICE_AUTO = 0, /**< the GPU if this build and this machine have one, else the CPU */
    TESS_DEVICE_CPU = 1,  /**< the host's threads */
    TESS_DEVICE_GPU = 2   /**< a GPU of the build's backend */
} tess_device;

/** Which memory holds an array of the caller. */
typedef enum tess_memory {
    TESS_MEMORY_HOST = 0,  /**< host memory */
    TESS_MEMORY_DEVICE = 1 /**< memory of the context's device */
} tess_memory;

/** Whether the library copies the caller's arrays or reads them in place. */
typedef enum tess_ownership {
    TESS_COPY = 0,  /**< copy: the caller may free the arrays */
    TESS_BORROW = 1 /**< read in place: the arrays must outlive the object */
} tess_ownership;

/** Which messages the log function gets: those of its level and of the levels before it. */
typedef enum tess_log_level {
    TESS_LOG_NONE = 0, /**< none (default) */
    TESS_LOG_WARN = 1, /**< surprises */
    TESS_LOG_INFO = 2, /**< choices that the library made */
    TESS_LOG_DEBUG = 3 /**< everything */
} tess_log_level;

/**
 * Allocation functions. @c allocate returns NULL if it cannot serve @p bytes. It must align host memory to 64 bytes and
 * device memory to 256. @c release gets the size that was requested.
 *
 * Without an allocator of the caller, a context keeps released memory for its own later use:
 * - device memory up to a quarter of the device's, in the order of its stream. Before the owner of an array is
 *   destroyed, work that other streams do with the array must be finished. CUDA's IPC cannot share such an array.
 * - up to 64 host arrays of 16 KB and more, 256 MB in all.
 * @ref tess_context_trim frees both. Reported byte counts treat kept memory as released.
 */
typedef struct tess_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *pointer, size_t bytes);
    void *user;
} tess_allocator;

/** Receives log messages. */
typedef void (*tess_log_function)(void *user, tess_log_level level, const char *message);

/** Options of a context. tess_context_options_init sets the defaults. */
typedef struct tess_context_options {
    size_t size; /**< sizeof(tess_context_options) */
    tess_device device;
    int device_index; /**< number of the GPU among the visible ones; -1: the caller's current one */
    void *stream;     /**< cudaStream_t or hipStream_t; NULL: the context makes its own */
    /** OpenMP threads of host kernels, up to TESS_MAX_THREADS. 0: OMP_NUM_THREADS; if that is not set, the processors
        that the process may use (its affinity and the CPU quota of its control group, rounded up). If the system does
        not start so many, the context takes half of those that it starts, and logs a warning. */
    int threads;
    tess_allocator host_allocator;   /**< all zero: aligned_alloc and free */
    tess_allocator device_allocator; /**< all zero: the device runtime's allocation */
    tess_log_function log;           /**< NULL: silent */
    void *log_user;
    tess_log_level log_level;
    int first_number;    /**< the first row and column in messages: 1 (the default, as in Matrix Market files) or 0 */
    int64_t reserved[4]; /**< zeros */
} tess_context_options;

/** Detail of the last failure in a context: what, where, and what would help. */
typedef struct tess_error {
    tess_status status;
    char message[512]; /**< what went wrong, with the offending value */
    char hint[256];    /**< what would help; may be empty */
    char file[256];    /**< the input file, if any; else empty */
    int64_t line;      /**< line in @c file, from 1; 0: none */
    /** 1, with UNSUPPORTED: the request holds elsewhere; this matrix does not suit the format, or a library is not
        installed. 0: the options do not go together, or all else. */
    int circumstance;
} tess_error;

/** Sets `size` and the defaults: device AUTO, own stream, default allocators, silent. */
TESS_EXPORT void tess_context_options_init_sized(tess_context_options *options, size_t size);
static inline void tess_context_options_init(tess_context_options *options)
{
    tess_context_options_init_sized(options, sizeof *options);
}

/**
 * Creates a context.
 * @param options  NULL: the defaults
 * Errors: NO_DEVICE (device GPU, and none is usable; AUTO takes the CPU instead), OUT_OF_MEMORY, INVALID_ARGUMENT,
 * DEVICE. On failure *out is NULL. Without a context there is no error detail: tess_status_text describes the status.
 */
TESS_EXPORT tess_status tess_context_create(const tess_context_options *options, tess_context **out);

/** Frees the context, when its last object is destroyed too; not a stream of the caller. NULL is allowed. */
TESS_EXPORT void tess_context_destroy(tess_context *ctx);

/** Waits for all work queued on the context's stream. Reports errors of asynchronous work. */
TESS_EXPORT tess_status tess_context_synchronize(tess_context *ctx);

/** Frees the memory that the context keeps for later use. Waits for queued work. */
TESS_EXPORT tess_status tess_context_trim(tess_context *ctx);

/** The last failure in @p ctx; its status is SUCCESS if there was none. Valid until the next call that fails. */
TESS_EXPORT const tess_error *tess_context_last_error(const tess_context *ctx);

/** The device in use: CPU or GPU, never AUTO. */
TESS_EXPORT tess_device tess_context_device(const tess_context *ctx);

/** Name of the device for people, such as the GPU's product name. Valid while the context exists. */
TESS_EXPORT const char *tess_context_device_name(const tess_context *ctx);

/**
 * Tells GPUs of a machine apart: hexadecimal digits, "" on the host. All processes that use a GPU get the same ones,
 * whatever number it has for each of them. Valid while the context exists.
 * Source: the UUID by the driver; with HIP the address on the PCI bus. tests/unit/test_context.c
 */
TESS_EXPORT const char *tess_context_gpu_id(const tess_context *ctx);

/** The most OpenMP threads of this context's host kernels; 1 in a forked child (docs/reference/limits.md). Beside other
    processes that keep processors busy, kernels take fewer, unless the environment has OMP_DYNAMIC=false when the
    context is made. Results do not depend on it. tests/unit/test_busy.c */
TESS_EXPORT int tess_context_threads(const tess_context *ctx);

/** The stream in use (cudaStream_t or hipStream_t), or NULL on the CPU. */
TESS_EXPORT void *tess_context_stream(const tess_context *ctx);

/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_device_name(tess_device device);
TESS_EXPORT tess_status tess_device_parse(const char *name, tess_device *out);
TESS_EXPORT const char *tess_memory_name(tess_memory memory);
TESS_EXPORT tess_status tess_memory_parse(const char *name, tess_memory *out);
TESS_EXPORT const char *tess_ownership_name(tess_ownership ownership);
TESS_EXPORT tess_status tess_ownership_parse(const char *name, tess_ownership *out);
TESS_EXPORT const char *tess_log_level_name(tess_log_level level);
TESS_EXPORT tess_status tess_log_level_parse(const char *name, tess_log_level *out);

/** The most bytes that this context ever used on its device (host bytes for a CPU context), without kept memory. */
TESS_EXPORT int64_t tess_context_peak_bytes(const tess_context *ctx);

/**
 * Set-ups of preconditioners end soon after *flag is not 0, as after a limit of time: a solve then has the reason
 * INTERRUPTED. A signal handler may set it, since sig_atomic_t is int. Without it, monitors alone see signals, between
 * iterations. Calls of other libraries, such as the factorization of lu, run to their end.
 * @param flag  borrowed while the context exists; NULL (default): none
 * Errors: INVALID_ARGUMENT (ctx NULL). tests/unit/test_setup_time.c
 */
TESS_EXPORT tess_status tess_context_set_interrupt(tess_context *ctx, const volatile int *flag);

/** A function that says whether to stop: not 0 stops. It may call no function of the library. */
typedef int (*tess_interrupt_check)(void *user);

/**
 * Solves and set-ups of preconditioners call @p check about every 50 ms and end soon after it returns not 0, as above;
 * a solve then has the reason INTERRUPTED. For languages whose signal handlers wait for their interpreter. Only the
 * thread that calls this function calls it. In solves on a GPU it is called in set-ups alone.
 * @param check  NULL (default): none. Each call of this function also forgets that an earlier check said stop
 * Errors: INVALID_ARGUMENT (ctx NULL). tests/unit/test_interrupt_check.c
 */
TESS_EXPORT tess_status tess_context_set_interrupt_check(tess_context *ctx, tess_interrupt_check check, void *user);

/** 1 if this build of the library has a GPU backend, else 0. */
TESS_EXPORT int tess_has_gpu_backend(void);

/** Name of the GPU backend in this build: "cuda", "hip" or "none". */
TESS_EXPORT const char *tess_gpu_backend(void);

/** GPUs that this process sees, numbered from 0: what tess_context_options.device_index chooses from. 0: none. */
TESS_EXPORT int tess_gpu_count(void);

TESS_END_DECLS

#endif
