/* SPDX-License-Identifier: Apache-2.0 */
/* Context, errors, memory and objects as the library's own sources see them. */
#ifndef TESS_CORE_INTERNAL_H
#define TESS_CORE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/tessera.h>

#include "base/device.h"
#include "base/phases.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Host arrays that were released, the oldest first: memory that is known to the system already. */
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
    tess_device device; /* CPU or GPU */
    const tess_backend *backend;
    const tess_backend *host; /* always the host backend */
    int threads;
    tess_allocator host_allocator, device_allocator;
    tess_kept_arrays kept;
    tess_log_function log;
    void *log_user;
    tess_log_level log_level;
    tess_error error;
    int64_t held_bytes, peak_bytes; /* in the memory of the context's device */
    char device_name[256];
    void *device_state;             /* the backend's own: stream, events, scratch */
    tess_loop_state *scratch_state; /* on the device: results of reductions outside loops */
    tess_phase_clock *clock;        /* on the device; NULL: time is not measured */
    tess_phase phase;               /* of what is enqueued next */
    struct tess_stages *stages;     /* base/stages.h; NULL: nothing is waited for */
};

/* ---- errors and log ---- */

/* Records the failure and returns `status`, so that callers write `return tess_fail(...)`. hint may be NULL. */
tess_status tess_fail(tess_context *ctx, tess_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a place in an input file; line 0: the file as a whole. */
tess_status tess_fail_at(tess_context *ctx, tess_status status, const char *file, int64_t line, const char *hint,
                         const char *format, ...) __attribute__((format(printf, 6, 7)));
void tess_log(tess_context *ctx, tess_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Evaluates a call; on failure leaves it in `status` and goes to `cleanup`. */
#define TESS_TRY(call)                                \
    do {                                              \
        status = (call);                              \
        if (status != TESS_SUCCESS) { goto cleanup; } \
    } while (0)

/* What is enqueued next belongs to `phase`. */
void tess_enter_phase(tess_context *ctx, tess_phase phase);

/* ---- memory ---- */

/* Host memory through the context's allocator. On failure the error is recorded and *out is NULL. count * size is
   checked for overflow; count 0 gives a valid pointer. */
tess_status tess_host_allocate(tess_context *ctx, int64_t count, size_t size, void **out);
void tess_host_release(tess_context *ctx, void *pointer, int64_t count, size_t size);
/* Gives back the arrays that the context keeps. */
void tess_host_trim(tess_context *ctx);
/* Memory of the context's device (host memory for a CPU context). */
tess_status tess_device_allocate(tess_context *ctx, int64_t count, size_t size, void **out);
void tess_device_release(tess_context *ctx, void *pointer, int64_t count, size_t size);
/* A copy of a host array on the device; to be released, also on failure. */
tess_status tess_device_upload(tess_context *ctx, const void *host, int64_t count, size_t size, void **out);

/* ---- vectors ---- */

struct tess_vector {
    tess_context *ctx;
    int64_t n;
    tess_precision precision;
    void *data;
    bool owned;
    float *shadow; /* NULL or n floats */
};

/* Checks that v is an FP64 vector of n values in ctx; the error names it as `role`. */
tess_status tess_vector_require(tess_context *ctx, const tess_vector *v, int64_t n, const char *role);
/* A place of n values that a transfer reads or writes. */
typedef struct tess_value_array {
    void *data;
    tess_precision precision;
    bool on_device; /* in the memory of the context's device, where that is not the host */
} tess_value_array;

/* Moves n values between host and device or within one, converting where the precisions differ. */
tess_status tess_move_values(tess_context *ctx, int64_t n, tess_value_array from, tess_value_array to);
tess_status tess_vector_require_in(tess_context *ctx, const tess_vector *v, int64_t n, tess_precision precision,
                                   const char *role);
/* Runs a reducing pass outside a loop and brings its dot products to the host. */
tess_status tess_fused_dots(tess_context *ctx, tess_fused *op, int ndots, double *dots);
/* Whether a sum of squares in FP64 has neither overflowed nor lost digits to underflow. False for NaN. */
static inline bool tess_squares_are_whole(double squares)
{
    return squares >= 0x1p-900 && squares <= 0x1p1000;
}

/* ---- matrices ---- */

struct tess_matrix {
    tess_context *ctx;
    tess_format format;
    tess_precision precision;
    int64_t nrows, ncols, nnz;
    const tess_format_ops *ops;  /* NULL for a shell */
    void *storage;               /* the format's own, on the context's device */
    const tess_matrix *original; /* what this was converted from (borrowed); NULL for an assembled matrix or a shell */
    bool keeps_order;            /* update_values may take the caller's order */
    uint64_t values_version;     /* counts update_values */
    double
        loss; /* the most that a value loses in storage, relatively; Inf: unknown. Of parts: beyond what their policy allows */
    double accepted_loss; /* what `loss` was looked for up to */
    tess_shell_operator shell;
};

/*
 * Assembled matrix from host arrays that the library allocated with tess_host_allocate; they are taken, also on failure.
 * row_ptr has nrows + 1 entries, int32_t when nnz < 2^31 (row_ptr_bits 32), else int64_t; rows sorted, no duplicates:
 * the caller vouches for both. On a GPU context the arrays go to the device and are freed.
 */
tess_status tess_matrix_adopt_csr(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, void *row_ptr,
                                  int row_ptr_bits, int32_t *col_ind, double *val, tess_matrix **out);

/* The same for arrays on the context's device (allocated with tess_device_allocate; taken, also on failure). */
tess_status tess_matrix_adopt_device_csr(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, void *row_ptr,
                                         int row_ptr_bits, int32_t *col_ind, double *val, tess_matrix **out);

/* Host copy of an assembled matrix as a matrix of a CPU context of its own (*host_ctx, to be destroyed by the caller
   after *out). For a CPU context's matrix: *out = a and *host_ctx = NULL. */
tess_status tess_matrix_on_host(const tess_matrix *a, tess_context **host_ctx, const tess_matrix **out);

/* y := op(A) x through the user's function. */
tess_status tess_matrix_apply_shell(const tess_matrix *a, tess_operation operation, const double *x, double *y);
/* The diagonal of an assembled or shell matrix to an array on the device. */
tess_status tess_matrix_raw_diagonal(const tess_matrix *a, double *diagonal);

/* What formats and solvers that know FP64 arithmetic or FP64 vectors alone answer to the others. */
tess_status tess_storage_require_fp64_arithmetic(tess_context *ctx, const tess_storage_options *options,
                                                 const char *purpose);
tess_status tess_spmv_require_fp64_vectors(const tess_matrix *a, const tess_spmv_args *args);
/* A transposed product by the matrix that a stored one was made from: it holds the very values, if the other is exact. */
tess_status tess_spmv_of_original(const tess_matrix *a, const tess_spmv_args *args);

/* Renews a stored matrix whose original has new values. */
tess_status tess_matrix_refresh(tess_matrix *a);
/* What the parts of split and composite, or tiles, were assigned; NULL for other formats. */
const tess_assignment_summary *tess_matrix_assigned_to(const tess_matrix *a);
/* The most that storage changes a value by, relatively, where that is known; else, and where parts are multiplied in FP32, Inf. */
double tess_matrix_bounded_loss(const tess_matrix *a);

/* Whether a policy decides the precisions of the format's parts; else the matrix has one, which policy lossless may choose. */
bool tess_format_takes_parts(tess_format format);
/* The precision of a format that has one, by options->precision or policy lossless, and what it loses, as in tess_matrix. */
tess_status tess_matrix_choose_precision(const tess_matrix *a, const tess_storage_options *options,
                                         tess_precision *precision, double *loss);
/* What a precision loses of the values of an assembled matrix: 0 or the accepted loss where they keep to that, else Inf. */
tess_status tess_matrix_find_loss(const tess_matrix *a, tess_precision precision, double accepted, double *loss);

double tess_wall_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
