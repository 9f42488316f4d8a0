/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file context.h  The context: device, stream, allocators, threads, log and last error.
 *
 * Every object belongs to one context and must be destroyed before it. A context and its objects are
 * used by one thread at a time; different contexts are independent. The library keeps no global state,
 * never prints, and leaves the caller's current CUDA device and OpenMP settings as they were.
 */
#ifndef TESSERA_CONTEXT_H
#define TESSERA_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

typedef struct tess_context tess_context;

/** Where a context computes. AUTO takes the GPU when this build and this machine have one. */
typedef enum tess_device {
    TESS_DEVICE_AUTO = 0, /**< the GPU if there is one, else the CPU */
    TESS_DEVICE_CPU = 1,  /**< the host's threads */
    TESS_DEVICE_GPU = 2   /**< a GPU of the build's backend */
} tess_device;

/** Where an array that the caller passes lies. */
typedef enum tess_memory {
    TESS_MEMORY_HOST = 0,  /**< the host's */
    TESS_MEMORY_DEVICE = 1 /**< that of the context's device */
} tess_memory;

/** Whether the library makes its own copy of the caller's arrays or reads them in place. */
typedef enum tess_ownership {
    TESS_COPY = 0,  /**< copied: the caller may free them */
    TESS_BORROW = 1 /**< read in place: they must outlive the object */
} tess_ownership;

/** Which messages the log function gets: those of a level and of all before it. */
typedef enum tess_log_level {
    TESS_LOG_NONE = 0, /**< none (default) */
    TESS_LOG_WARN = 1, /**< what may surprise */
    TESS_LOG_INFO = 2, /**< what was chosen */
    TESS_LOG_DEBUG = 3 /**< everything */
} tess_log_level;

/**
 * Allocation functions. @c allocate returns NULL when it cannot serve @p bytes; host memory must be aligned
 * to 64 bytes, device memory to 256. @c release gets the size that was asked for.
 *
 * Without a device allocator, a context keeps released device memory, up to a sixteenth of the device's, for
 * its own later use, in the order of its stream: finish what other streams do with an array before its owner is destroyed.
 * @ref tess_context_trim gives it back, and so it does host arrays: without a host allocator a context keeps those of
 * 16 KB and more that it needed for a while, up to 64 and 256 MB. They count as released.
 */
typedef struct tess_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *pointer, size_t bytes);
    void *user;
} tess_allocator;

typedef void (*tess_log_function)(void *user, tess_log_level level, const char *message);

typedef struct tess_context_options {
    tess_device device;
    int device_index;                /**< ordinal of the GPU among the visible ones; -1: the caller's current one */
    void *stream;                    /**< cudaStream_t / hipStream_t to work on; NULL: the context makes its own */
    int threads;                     /**< OpenMP threads of host kernels; 0: OpenMP's own default */
    tess_allocator host_allocator;   /**< all zero: aligned_alloc and free */
    tess_allocator device_allocator; /**< all zero: the device runtime's allocation */
    tess_log_function log;           /**< NULL: silent */
    void *log_user;
    tess_log_level log_level;
} tess_context_options;

/** Detail of the last failure in a context: what, where, and what would help. */
typedef struct tess_error {
    tess_status status;
    char message[512]; /**< what went wrong, with the offending value */
    char hint[256];    /**< what would help; may be empty */
    char file[256];    /**< input file concerned; may be empty */
    int64_t line;      /**< line in @c file, from 1; 0 when there is none */
} tess_error;

/** Fills @p options with the defaults (device AUTO, own stream, default allocators, silent). */
TESS_EXPORT void tess_context_options_init(tess_context_options *options);

/**
 * Creates a context. @p options may be NULL for the defaults.
 * Errors: NO_DEVICE when a GPU is asked for and none is usable (with DEVICE_AUTO the CPU is taken instead),
 * OUT_OF_MEMORY, INVALID_ARGUMENT, DEVICE. On failure *out is NULL; there is no context yet that could keep detail, so
 * the status is all that is said: tess_status_string has its words.
 */
TESS_EXPORT tess_status tess_context_create(const tess_context_options *options, tess_context **out);

/** Frees the context; NULL is allowed. A stream that the caller gave is left alone. */
TESS_EXPORT void tess_context_destroy(tess_context *ctx);

/** Waits for all work queued on the context's stream. Reports errors of asynchronous work. */
TESS_EXPORT tess_status tess_context_synchronize(tess_context *ctx);

/** Gives back the memory that the context keeps for later use; what is queued is waited for. */
TESS_EXPORT tess_status tess_context_trim(tess_context *ctx);

/** The last failure in @p ctx (status SUCCESS when there was none). Valid until the next failing call. */
TESS_EXPORT const tess_error *tess_context_last_error(const tess_context *ctx);

/** The device in use: CPU or GPU, never AUTO. */
TESS_EXPORT tess_device tess_context_device(const tess_context *ctx);

/** Human-readable name of the device, such as the GPU's product name; valid while the context lives. */
TESS_EXPORT const char *tess_context_device_name(const tess_context *ctx);

/** OpenMP threads that host kernels of this context use. */
TESS_EXPORT int tess_context_threads(const tess_context *ctx);

/** The stream in use (cudaStream_t / hipStream_t), or NULL on the CPU. */
TESS_EXPORT void *tess_context_stream(const tess_context *ctx);

/** Names of the enums above, and the reverse: INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT const char *tess_device_name(tess_device device);
TESS_EXPORT tess_status tess_device_parse(const char *name, tess_device *out);
TESS_EXPORT const char *tess_memory_name(tess_memory memory);
TESS_EXPORT tess_status tess_memory_parse(const char *name, tess_memory *out);
TESS_EXPORT const char *tess_ownership_name(tess_ownership ownership);
TESS_EXPORT tess_status tess_ownership_parse(const char *name, tess_ownership *out);
TESS_EXPORT const char *tess_log_level_name(tess_log_level level);
TESS_EXPORT tess_status tess_log_level_parse(const char *name, tess_log_level *out);

/** Largest number of bytes this context ever held on its device (host bytes for a CPU context), without what it keeps for
    later use. */
TESS_EXPORT int64_t tess_context_peak_bytes(const tess_context *ctx);

/** Library version "major.minor.patch". */
TESS_EXPORT const char *tess_version(void);

/** 1 when this build of the library contains a GPU backend ("cuda" or "hip" from tess_gpu_backend()), else 0. */
TESS_EXPORT int tess_has_gpu_backend(void);

/** Name of the GPU backend in this build: "cuda", "hip" or "none". */
TESS_EXPORT const char *tess_gpu_backend(void);

TESS_END_DECLS

#endif
